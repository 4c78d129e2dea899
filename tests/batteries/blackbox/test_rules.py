import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.blackbox import Effect, Encounter, Port, Ray, Side, all_ports, trace
from batteries.blackbox.rules import entry_cell

cells = st.tuples(st.integers(1, 8), st.integers(1, 8))
boards = st.frozensets(cells, min_size=1, max_size=6)
ports = st.sampled_from(all_ports())
INWARD = {Side.NORTH: (1, 0), Side.SOUTH: (-1, 0), Side.WEST: (0, 1), Side.EAST: (0, -1)}


def ray(atoms: set[tuple[int, int]], entry: str) -> Ray:
    return trace(frozenset(atoms), Port.parse(entry))


@pytest.mark.parametrize(
    ("atoms", "entry", "outcome"),
    [
        ({(5, 5)}, "north-1", "south-1"),
        ({(5, 5)}, "west-5", "absorbed"),
        ({(5, 5)}, "west-4", "north-4"),
        ({(5, 5)}, "west-6", "south-4"),
        ({(5, 5)}, "north-4", "west-4"),
        ({(5, 5)}, "east-4", "north-6"),
        ({(4, 4), (4, 6)}, "south-5", "reflected"),  # atoms at both diagonals turn the ray back
        ({(1, 3)}, "north-2", "reflected"),  # an atom next to the entry cell reflects the ray
        ({(1, 3)}, "north-3", "absorbed"),
        ({(1, 3), (1, 4)}, "north-3", "absorbed"),  # absorption is tested before reflection
        ({(3, 5), (4, 4), (4, 5)}, "west-4", "absorbed"),  # absorption is tested before deflection
        ({(1, 1)}, "north-2", "reflected"),
        ({(8, 8)}, "east-7", "reflected"),
    ],
)
def test_a_ray_follows_the_rules(atoms: set[tuple[int, int]], entry: str, outcome: str) -> None:
    assert ray(atoms, entry).outcome == outcome


def test_the_path_ends_in_the_atom_that_absorbed_the_ray_and_is_empty_for_a_ray_reflected_at_entry() -> None:
    assert ray({(5, 3)}, "west-5").path == ((5, 1), (5, 2), (5, 3))
    assert ray({(1, 3)}, "north-2").path == ()


def test_every_stored_ray_of_the_published_runs_has_the_same_outcome(stored_runs: Path) -> None:
    n_rays = 0
    for result in json.loads(stored_runs.read_text(encoding="utf-8"))["results"]:
        atoms = frozenset((row, column) for row, column in result["atomConfig"])
        for prediction in result["predictions"]:
            stored = prediction["rayResult"]
            entry = Port(Side(stored["entry"]["side"]), stored["entry"]["pos"])
            found = trace(atoms, entry)
            assert (found.outcome, found.path) == (prediction["actual"], tuple(map(tuple, stored["path"])))
            n_rays += 1
    assert n_rays == 705


@given(boards, ports)
def test_a_ray_that_enters_by_the_exit_of_another_ray_leaves_by_its_entry(
    atoms: frozenset[tuple[int, int]], entry: Port
) -> None:
    outcome = trace(atoms, entry).outcome
    if outcome not in {"absorbed", "reflected"}:
        assert trace(atoms, Port.parse(outcome)).outcome == str(entry)


@given(boards, ports)
def test_turning_the_board_turns_the_outcome(atoms: frozenset[tuple[int, int]], entry: Port) -> None:
    # A quarter turn clockwise takes (row, column) to (column, 9 - row).
    turned_side = {Side.NORTH: Side.EAST, Side.EAST: Side.SOUTH, Side.SOUTH: Side.WEST, Side.WEST: Side.NORTH}

    def turned(port: Port) -> Port:
        position = port.position if port.side in {Side.NORTH, Side.SOUTH} else 9 - port.position
        return Port(turned_side[port.side], position)

    outcome = trace(atoms, entry).outcome
    after = trace(frozenset((column, 9 - row) for row, column in atoms), turned(entry)).outcome
    assert after == (outcome if outcome in {"absorbed", "reflected"} else str(turned(Port.parse(outcome))))


@given(boards, ports)
def test_a_path_is_connected_and_meets_atoms_only_at_its_end(atoms: frozenset[tuple[int, int]], entry: Port) -> None:
    traced = trace(atoms, entry)
    if traced.path:
        assert traced.path[0] == entry_cell(entry)
    for (row, column), (next_row, next_column) in zip(traced.path, traced.path[1:], strict=False):
        assert abs(row - next_row) + abs(column - next_column) == 1
    hits = [cell for cell in traced.path if cell in atoms]
    assert hits == ([traced.path[-1]] if traced.outcome == "absorbed" else [])


@pytest.mark.parametrize("text", ["north-0", "north-9", "up-3", "north3", "north-03", "", "NORTH-3", "north-3 "])
def test_an_invalid_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a port"):
        Port.parse(text)


@pytest.mark.parametrize(
    ("atoms", "entry", "encounters"),
    [
        ({(1, 1)}, "west-4", []),
        ({(4, 3)}, "west-4", [(Effect.ABSORBED, {(4, 3)}, 2)]),
        ({(4, 1)}, "west-4", [(Effect.ABSORBED, {(4, 1)}, 0)]),
        ({(5, 5)}, "west-4", [(Effect.TURNED, {(5, 5)}, 4)]),
        ({(3, 5), (6, 3)}, "west-4", [(Effect.TURNED, {(3, 5)}, 4), (Effect.TURNED, {(6, 3)}, 5)]),
        ({(3, 5), (5, 5)}, "west-4", [(Effect.SENT_BACK, {(3, 5), (5, 5)}, 4)]),
        ({(5, 1)}, "west-4", [(Effect.KEPT_OUT, {(5, 1)}, 0)]),
        ({(3, 1), (5, 1)}, "west-4", [(Effect.KEPT_OUT, {(3, 1), (5, 1)}, 0)]),
    ],
)
def test_a_ray_names_the_atoms_that_changed_its_course(
    atoms: set[tuple[int, int]], entry: str, encounters: list[tuple[Effect, set[tuple[int, int]], int]]
) -> None:
    assert [(one.effect, set(one.atoms), one.n_cells) for one in ray(atoms, entry).encounters] == encounters


@given(boards, ports)
def test_a_ray_changes_its_course_only_at_atoms_in_front_of_it(atoms: frozenset[tuple[int, int]], entry: Port) -> None:
    found = trace(atoms, entry)
    # The cells outside the board complete the path, so that every direction is a difference of two cells.
    first, inward = entry_cell(entry), INWARD[entry.side]
    cells = [(first[0] - inward[0], first[1] - inward[1]), *found.path]
    turns = {one.n_cells: one for one in found.encounters}
    assert len(turns) == len(found.encounters) and all(one.atoms for one in found.encounters)
    assert all(set(one.atoms) <= atoms for one in found.encounters)
    for position in range(1, len(cells) - 1):
        before, here, after = cells[position - 1 : position + 2]
        direction = (here[0] - before[0], here[1] - before[1])
        next_direction = (after[0] - here[0], after[1] - here[1])
        ahead = (here[0] + direction[0], here[1] + direction[1])
        sides = [(ahead[0] + direction[1], ahead[1] + direction[0]), (ahead[0] - direction[1], ahead[1] - direction[0])]
        near = {cell for cell in sides if cell in atoms}
        if ahead in atoms:
            assert turns[position] == Encounter(Effect.ABSORBED, (ahead,), position)
        elif len(near) == 1:
            (atom,) = near
            assert turns[position].effect is Effect.TURNED and set(turns[position].atoms) == near
            # Away from the atom: the next cell is on the other side of the line along which the ray came.
            assert (atom[0] - ahead[0], atom[1] - ahead[1]) == (-next_direction[0], -next_direction[1])
        elif len(near) == 2:
            assert turns[position].effect is Effect.SENT_BACK and set(turns[position].atoms) == near
        else:
            assert position not in turns and next_direction == direction
