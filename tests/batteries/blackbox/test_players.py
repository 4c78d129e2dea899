"""Players keep the rules of the game; the ideal observer solves the published boards; the difficulty of boards."""

import csv
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.blackbox import Atoms, Port, all_ports, trace
from batteries.blackbox.difficulty import difficulty
from batteries.blackbox.observations import MAX_RAYS, Observation, game_score, observe, open_ports
from batteries.blackbox.outcome_table import OutcomeTable, outcome_table
from batteries.blackbox.players import (
    Fire,
    GreedyConsistent,
    Guess,
    IdealObserver,
    Player,
    RandomPlayer,
    play,
)
from batteries.blackbox.posterior import posterior_after
from batteries.blackbox.rules import all_cells
from tests.batteries.blackbox.published_boards import PUBLISHED_BOARDS


def test_the_ideal_observer_solves_the_published_boards() -> None:
    games = [play(IdealObserver(), atoms) for atoms in PUBLISHED_BOARDS]
    assert [game.n_atoms_correct for game in games] == [4] * 10
    assert [game.guess for game in games] == PUBLISHED_BOARDS
    assert mean(len(game.observations) for game in games) == 7.8
    assert mean(game.score for game in games) == 11.6


def test_the_difficulty_of_the_published_boards() -> None:
    found = [difficulty(atoms) for atoms in PUBLISHED_BOARDS]
    assert [board.n_rays for board in found] == [6, 7, 8, 8, 6, 9, 10, 7, 9, 8]
    assert [board.score for board in found] == [10, 10, 12, 12, 11, 15, 13, 10, 11, 12]
    assert {board.n_same_boards for board in found} == {1}


@pytest.mark.parametrize(("size", "n_atoms", "largest"), [(3, 3, 4), (4, 3, 2)])
def test_the_difficulty_counts_the_boards_that_no_ray_can_tell_apart(size: int, n_atoms: int, largest: int) -> None:
    boards = [frozenset(atoms) for atoms in combinations(all_cells(size), n_atoms)]
    outcomes = {atoms: tuple(trace(atoms, port, size).outcome for port in all_ports(size)) for atoms in boards}
    n_same = Counter(outcomes.values())
    assert max(n_same.values()) == largest
    some = {*boards[::8], *(atoms for atoms in boards if n_same[outcomes[atoms]] > 1)}
    found = {atoms: difficulty(atoms, size) for atoms in some}
    assert all(board.n_same_boards == n_same[outcomes[atoms]] for atoms, board in found.items())
    # The ideal observer finds all atoms if the rays can decide.
    assert all(board.n_atoms_correct == n_atoms for board in found.values() if board.n_same_boards == 1)


def test_a_full_board_can_be_one_of_five_that_no_ray_can_tell_apart() -> None:
    found = difficulty(frozenset({(1, 1), (1, 3), (3, 5), (8, 3)}))
    assert found.n_same_boards == 5
    assert found.n_atoms_correct == 3


players = st.integers(0, 10**6).flatmap(
    lambda seed: st.sampled_from(
        [IdealObserver(4, 2), GreedyConsistent(seed, size=4, n_atoms=2), RandomPlayer(seed, 4, 2)]
    )
)
boards = st.sampled_from([frozenset(atoms) for atoms in combinations(all_cells(4), 2)])


def check_rules(player: Player, atoms: Atoms, size: int) -> None:
    """Play a game and check each action."""
    observations: list[Observation] = []
    while isinstance(action := player.next_action(observations), Fire):
        assert action.port in open_ports(observations, size)
        assert action == player.next_action(tuple(observations))
        observations.append(observe(atoms, action.port, size))
        assert len(observations) <= MAX_RAYS
    assert isinstance(action, Guess)
    assert action.atoms <= set(all_cells(size))
    assert len(action.atoms) == len(atoms)
    game = play(player, atoms, size)
    assert (list(game.observations), game.guess) == (observations, action.atoms)
    assert game.n_atoms_correct == len(action.atoms & atoms)
    assert game.score == game_score(observations, len(atoms - action.atoms))
    table = outcome_table(size, len(atoms))
    posterior = posterior_after(table, game.observations)
    if isinstance(player, GreedyConsistent):
        assert posterior.is_consistent(game.guess)
    if isinstance(player, IdealObserver):
        assert game.guess == posterior.best_guess.atoms
        assert all(posterior.entropy_bits[port] == 0 for port in open_ports(observations, size))


@given(players, boards)
@settings(max_examples=60)
def test_players_keep_the_rules_on_small_boards(player: Player, atoms: Atoms) -> None:
    check_rules(player, atoms, 4)


@pytest.mark.parametrize("atoms", PUBLISHED_BOARDS[::3], ids=lambda atoms: str(sorted(atoms)))
def test_players_keep_the_rules_on_full_boards(atoms: Atoms) -> None:
    for player in (IdealObserver(), GreedyConsistent(seed=3), RandomPlayer(seed=4)):
        check_rules(player, atoms, 8)


def test_the_greedy_player_guesses_when_its_board_predicted_the_last_three_rays(table: OutcomeTable) -> None:
    n_possible = []
    for seed in range(8):
        atoms = table.atoms(Random(seed).randrange(table.n_boards))
        game = play(GreedyConsistent(seed), atoms)
        n_possible.append(posterior_after(table, game.observations).n_boards)
        assert n_possible[-1] == 1 or len(game.observations) >= 3
        longer = play(GreedyConsistent(seed, n_rays_in_a_row=30), atoms)
        assert longer.observations[: len(game.observations)] == game.observations
        assert posterior_after(table, longer.observations).n_boards == 1
    assert min(n_possible) == 1
    assert max(n_possible) > 1


def test_players_guess_after_twenty_rays_also_if_a_ray_could_tell_more(table: OutcomeTable) -> None:
    atoms = frozenset({(4, 6), (6, 4), (6, 8), (8, 6)})
    observations: list[Observation] = []
    for port in all_ports():
        if port in open_ports(observations) and len(observations) < MAX_RAYS:
            observations.append(observe(atoms, port))
    posterior = posterior_after(table, tuple(observations))
    assert any(posterior.entropy_bits[port] > 0 for port in open_ports(observations))
    for player in (IdealObserver(), GreedyConsistent(seed=1), RandomPlayer(seed=1)):
        assert isinstance(player.next_action(observations), Guess)
        assert isinstance(IdealObserver().next_action(observations[:-1]), Fire)


def test_the_random_player_fires_from_no_ray_to_twenty() -> None:
    n_rays = {len(play(RandomPlayer(seed), PUBLISHED_BOARDS[0]).observations) for seed in range(80)}
    assert (min(n_rays), max(n_rays)) == (0, 20)


def test_better_players_have_lower_scores(table: OutcomeTable) -> None:
    choose = Random(5)
    boards = [table.atoms(choose.randrange(table.n_boards)) for _ in range(20)]
    ideal = mean(play(IdealObserver(), atoms).score for atoms in boards)
    greedy = mean(play(GreedyConsistent(seed), atoms).score for seed, atoms in enumerate(boards))
    chance = mean(play(RandomPlayer(seed), atoms).score for seed, atoms in enumerate(boards))
    assert ideal < greedy - 2
    assert greedy < chance - 10


def test_seeds_make_different_games() -> None:
    games = {play(RandomPlayer(seed), PUBLISHED_BOARDS[0]).observations for seed in range(10)}
    assert len(games) >= 9
    assert len({play(GreedyConsistent(seed), PUBLISHED_BOARDS[0]).observations for seed in range(5)}) == 5


# Score and ports.


def test_a_used_entry_or_exit_is_closed() -> None:
    rays = [Observation(Port.parse("north-4"), "west-4"), Observation(Port.parse("east-1"), "absorbed")]
    closed = set(all_ports()) - set(open_ports(rays))
    assert {str(port) for port in closed} == {"north-4", "west-4", "east-1"}


def test_a_ray_costs_a_point_for_its_entry_and_its_exit_and_a_missed_atom_costs_five() -> None:
    outcomes = {"north-4": "west-4", "east-1": "absorbed", "south-2": "reflected", "south-10": "north-12"}
    rays = [Observation(Port.parse(entry, 12), outcome) for entry, outcome in outcomes.items()]
    assert game_score([], 0) == 0
    assert game_score(rays, 0) == 6
    assert game_score(rays, 3) == 21


def test_the_stored_scores_of_model_games_are_within_the_rules(test_data: Path) -> None:
    """The file of stored games has the number of rays and missed atoms, but not the rays."""
    with (test_data / "blackbox" / "play_games.csv").open(encoding="utf-8", newline="") as file:
        games = list(csv.DictReader(file))
    assert len(games) == 480
    ports = all_ports()
    for game in games:
        n_rays, n_missed = int(game["rays_used"]), int(game["atoms_missed"])
        absorbed = [Observation(port, "absorbed") for port in ports[:n_rays]]
        left = [Observation(port, "west-8") for port in ports[:n_rays]]
        assert n_rays <= MAX_RAYS
        assert game_score(absorbed, n_missed) <= int(game["score"]) <= game_score(left, n_missed)
