"""The posterior agrees with counts over all boards, ray by ray, and with counts that others published."""

from collections import Counter
from itertools import combinations, pairwise
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.blackbox import Atoms, Port, all_ports, trace
from batteries.blackbox.observations import Observation, observe, open_ports
from batteries.blackbox.outcome_table import OutcomeTable, outcome_table
from batteries.blackbox.posterior import posterior_after
from batteries.blackbox.ray_information import information_of_rays
from batteries.blackbox.rules import all_cells
from tests.batteries.blackbox.published_boards import PUBLISHED_BOARDS

PUBLISHED_COUNTS = {
    0: "north-2 west-1 30856, east-7 absorbed 10506, east-6 north-8 903, west-6 absorbed 341, west-5 north-1 34, "
    "north-5 absorbed 12, south-4 absorbed 4, west-4 south-5 1",
    1: "north-2 reflected 83463, south-4 east-2 4176, north-7 east-4 288, east-7 west-7 39, north-5 west-4 3, "
    "south-1 west-3 1",
    3: "north-2 absorbed 229246, north-3 reflected 58001, south-5 absorbed 18390, south-6 reflected 3652, "
    "south-3 west-2 75, north-6 east-7 8, west-4 reflected 1",
    5: "north-2 absorbed 229246, north-3 absorbed 41686, north-4 absorbed 6464, north-5 east-1 49, east-4 absorbed 11, "
    "east-5 south-3 1",
}
"""Rays and numbers of possible boards from the published study's own solver, a program that lists all boards."""

games = st.sampled_from([(4, 2), (5, 2), (3, 3)]).flatmap(
    lambda kind: st.tuples(
        st.just(kind[0]),
        st.sampled_from([frozenset(atoms) for atoms in combinations(all_cells(kind[0]), kind[1])]),
        st.lists(st.sampled_from(all_ports(kind[0])), max_size=5, unique=True),
    )
)


def boards_by_trace(size: int, n_atoms: int, observations: tuple[Observation, ...]) -> list[Atoms]:
    """Return the possible boards, ray by ray."""
    boards = [frozenset(atoms) for atoms in combinations(all_cells(size), n_atoms)]
    return [
        atoms for atoms in boards if all(trace(atoms, ray.entry, size).outcome == ray.outcome for ray in observations)
    ]


@given(games)
@settings(max_examples=40)
def test_the_posterior_of_a_small_board_agrees_with_a_count_of_all_boards(
    game: tuple[int, Atoms, list[Port]],
) -> None:
    size, atoms, ports = game
    rays = tuple(observe(atoms, port, size) for port in ports)
    table = outcome_table(size, len(atoms))
    posterior = posterior_after(table, rays)
    boards = boards_by_trace(size, len(atoms), rays)
    assert [table.atoms(board) for board in posterior.boards] == boards
    assert (posterior.n_boards, posterior.uncertainty_bits) == (len(boards), log2(len(boards)))

    for port in all_ports(size):
        outcomes = Counter(trace(board, port, size).outcome for board in boards)
        shares = [n / len(boards) for n in outcomes.values()]
        assert posterior.entropy_bits[port] == pytest.approx(-sum(share * log2(share) for share in shares), abs=1e-12)
        assert (posterior.entropy_bits[port] == 0) == (len(outcomes) == 1)
        n_exits = len(boards) - outcomes["absorbed"] - outcomes["reflected"]
        assert posterior.expected_points[port] == pytest.approx(1 + n_exits / len(boards))

    for cell, probability in posterior.atom_probabilities.items():
        assert probability == pytest.approx(sum(cell in board for board in boards) / len(boards))
    expected = {
        frozenset(guess): sum(len(board & set(guess)) for board in boards) / len(boards)
        for guess in combinations(all_cells(size), len(atoms))
    }
    assert posterior.best_guess.expected_atoms == pytest.approx(max(expected.values()))
    assert posterior.best_guess.expected_atoms == pytest.approx(expected[posterior.best_guess.atoms])

    allowed = {guess for guess in expected if posterior.is_consistent(guess)}
    assert allowed == set(boards)
    assert not posterior.is_consistent(frozenset(all_cells(size)[: len(atoms) + 1]))
    assert not posterior.is_consistent(frozenset({(0, 1), *sorted(atoms)[1:]}))


@given(games)
def test_the_order_of_rays_does_not_change_the_posterior(game: tuple[int, Atoms, list[Port]]) -> None:
    size, atoms, ports = game
    table = outcome_table(size, len(atoms))
    rays = tuple(observe(atoms, port, size) for port in ports)
    one, other = posterior_after(table, rays), posterior_after(table, rays[::-1])
    assert one.boards.tolist() == other.boards.tolist()
    assert one.entropy_bits == other.entropy_bits
    assert one.atom_probabilities == other.atom_probabilities


@given(games)
def test_the_bits_of_the_rays_of_a_game_sum_to_the_bits_of_the_game(game: tuple[int, Atoms, list[Port]]) -> None:
    size, atoms, ports = game
    table = outcome_table(size, len(atoms))
    observations: list[Observation] = []
    for port in ports:
        if port in open_ports(observations, size):
            observations.append(observe(atoms, port, size))
    rays = information_of_rays(table, observations)
    assert [ray.observation for ray in rays] == observations
    n_after = posterior_after(table, tuple(observations)).n_boards
    assert sum(ray.gained_bits for ray in rays) == pytest.approx(log2(table.n_boards / n_after))
    for ray, next_ray in pairwise(rays):
        assert ray.n_boards_after == next_ray.n_boards_before
    for number, ray in enumerate(rays):
        before = posterior_after(table, tuple(observations[:number]))
        available = [before.entropy_bits[port] for port in open_ports(observations[:number], size)]
        assert ray.expected_bits == before.entropy_bits[ray.observation.entry]
        assert ray.best_expected_bits == max(available)
        assert 0 <= ray.expected_bits <= ray.best_expected_bits
        assert ray.is_redundant == (ray.expected_bits == 0)
        assert ray.gained_bits == 0 or not ray.is_redundant
        assert 1 <= ray.n_boards_after <= ray.n_boards_before
        assert 0 <= ray.expected_atoms <= len(atoms)
        if ray.best_expected_bits:
            assert ray.share_of_best is not None
            assert 0 <= ray.share_of_best <= 1
        else:
            assert ray.share_of_best is None


def test_the_mean_gain_over_all_boards_is_the_entropy() -> None:
    table = outcome_table(4, 2)
    first = Port.parse("west-2")
    boards = [table.atoms(board) for board in range(table.n_boards)]
    for second in all_ports(4):
        gained = [information_of_rays(table, [observe(atoms, second, 4)])[0].gained_bits for atoms in boards]
        assert sum(gained) / len(gained) == pytest.approx(posterior_after(table, ()).entropy_bits[second])
    rays = [information_of_rays(table, [observe(atoms, first, 4), observe(atoms, Port.parse("north-3"), 4)])[1]
            for atoms in boards]  # fmt: skip
    assert sum(ray.gained_bits for ray in rays) == pytest.approx(sum(ray.expected_bits for ray in rays))


def test_a_ray_from_the_exit_of_a_ray_is_redundant() -> None:
    (ray, back) = information_of_rays(
        outcome_table(4, 2),
        [Observation(Port.parse("north-1"), "south-1"), Observation(Port.parse("south-1"), "north-1")],
    )
    assert not ray.is_redundant
    assert back.is_redundant
    assert (back.gained_bits, back.share_of_best) == (0, 0)


def test_observations_of_no_board_are_refused_and_the_ray_is_named() -> None:
    rays = (Observation(Port.parse("north-1"), "south-1"), Observation(Port.parse("south-1"), "absorbed"))
    with pytest.raises(ValueError, match="ray 2, south-1 to absorbed: no board with 2 atoms agrees"):
        posterior_after(outcome_table(4, 2), rays)


@pytest.mark.parametrize("index", PUBLISHED_COUNTS)
def test_the_numbers_of_possible_boards_are_those_of_the_published_solver(table: OutcomeTable, index: int) -> None:
    rays = [ray.split() for ray in PUBLISHED_COUNTS[index].split(", ")]
    observations = [observe(PUBLISHED_BOARDS[index], Port.parse(entry)) for entry, _, _ in rays]
    assert [ray.outcome for ray in observations] == [outcome for _, outcome, _ in rays]
    found = [ray.n_boards_after for ray in information_of_rays(table, observations)]
    assert found == [int(n_boards) for _, _, n_boards in rays]
    assert posterior_after(table, tuple(observations)).best_guess.atoms == PUBLISHED_BOARDS[index]


def test_the_first_ray_has_the_entropy_of_the_published_solver(table: OutcomeTable) -> None:
    start = posterior_after(table, ())
    assert start.entropy_bits[Port.parse("north-2")] == pytest.approx(3.3517, abs=5e-5)
    counts = start.outcome_counts[table.port_index[Port.parse("north-2")]]
    assert (counts > 0).sum() == 27
    assert (counts**2).sum() / table.n_boards == pytest.approx(112941.31, abs=0.005)


def test_the_counts_after_one_ray_are_right_on_all_sides(table: OutcomeTable) -> None:
    """These counts are moved from one half of the north side by a symmetry of the board."""
    for entry in table.ports[1::4]:
        posterior = posterior_after(table, (Observation(entry, "reflected"),))
        some = [posterior.table.outcomes[port].take(posterior.boards) for port in (0, 13, 22, 31)]
        for port, codes in zip((0, 13, 22, 31), some, strict=True):
            counts = {code: n for code, n in enumerate(posterior.outcome_counts[port].tolist()) if n}
            assert counts == Counter(codes.tolist())
        corner = (table.atom_cells[:, posterior.boards] == 7).any(axis=0).mean()
        assert posterior.atom_probabilities[1, 8] == pytest.approx(corner)
