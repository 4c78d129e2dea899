"""The table of ray outcomes agrees with `trace`, ray by ray, and its cache never changes it."""

import hashlib
import json
import random
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from batteries.blackbox import Port, Side, all_ports, table_cache, trace
from batteries.blackbox.compute_outcomes import all_boards, board_index, compute_outcomes, symmetries
from batteries.blackbox.outcome_table import MAX_TABLE_BYTES, OutcomeTable, outcome_table
from batteries.blackbox.rules import all_cells
from batteries.errors import InputError

SMALL = [(1, 1), (2, 1), (2, 3), (3, 2), (3, 4), (4, 2), (5, 2), (5, 3), (9, 1), (15, 1)]


@pytest.mark.parametrize(("size", "n_atoms"), SMALL)
def test_all_rays_of_all_small_boards_agree_with_trace(size: int, n_atoms: int) -> None:
    table = outcome_table(size, n_atoms)
    boards = [frozenset(atoms) for atoms in combinations(all_cells(size), n_atoms)]
    assert [table.atoms(board) for board in range(table.n_boards)] == boards
    for port, codes in zip(all_ports(size), table.outcomes.tolist(), strict=True):
        assert [table.outcome_name(code) for code in codes] == [trace(atoms, port, size).outcome for atoms in boards]


def test_random_rays_of_full_boards_agree_with_trace(table: OutcomeTable) -> None:
    assert table.outcomes.shape == (32, 635_376)
    assert table.outcomes.nbytes <= MAX_TABLE_BYTES
    choose = random.Random(1)
    for _ in range(3000):
        board, port = choose.randrange(table.n_boards), choose.choice(table.ports)
        code = table.outcomes[table.port_index[port], board]
        assert table.outcome_name(code) == trace(table.atoms(board), port).outcome


def test_stored_rays_have_the_same_outcome_in_the_table(table: OutcomeTable, stored_runs: Path) -> None:
    n_rays = 0
    for result in json.loads(stored_runs.read_text(encoding="utf-8"))["results"]:
        atoms = np.array([[(row - 1) * 8 + column - 1] for row, column in sorted(result["atomConfig"])], dtype=np.uint8)
        (board,) = board_index(atoms, 64)
        for prediction in result["predictions"]:
            entry = prediction["rayResult"]["entry"]
            port = table.port_index[Port(Side(entry["side"]), entry["pos"])]
            assert table.outcomes[port, board] == table.outcome_code(prediction["actual"])
            n_rays += 1
    assert n_rays == 705


def test_the_table_has_not_changed_without_a_new_number_of_its_format(table: OutcomeTable) -> None:
    digest = hashlib.sha256(table.outcomes.tobytes()).hexdigest()
    assert (table_cache.FORMAT, digest[:16]) == (1, "8bd3be6b6078123e")


@pytest.mark.parametrize(("size", "n_atoms"), [(2, 1), (3, 2), (4, 3), (5, 1)])
def test_boards_are_in_order_and_are_found_again(size: int, n_atoms: int) -> None:
    boards = all_boards(size * size, n_atoms)
    assert boards.T.tolist() == [list(cells) for cells in combinations(range(size * size), n_atoms)]
    assert board_index(boards, size * size).tolist() == list(range(len(boards[0])))


def test_the_eight_symmetries_of_a_board_are_different() -> None:
    moves = symmetries(4)
    assert (
        len({tuple(move.cells.tolist()) for move in moves}) == len({tuple(move.ports.tolist()) for move in moves}) == 8
    )
    assert moves[0].ports.tolist() == list(range(16))


@pytest.mark.parametrize(
    ("size", "n_atoms", "message"),
    [
        (8, 5, "the table of ray outcomes would have 244 MB, and the limit is 25 MB. Fix: use at most 4 atoms"),
        (9, 4, "would have 60 MB, and the limit is 25 MB. Fix: use at most 3 atoms"),
        (16, 1, "the size is not supported. Fix: use 1 to 15 rows."),
        (0, 1, "the size is not supported"),
        (4, 0, "the number of atoms is not possible. Fix: use 1 to 16 atoms."),
        (4, 17, "the number of atoms is not possible"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused(size: int, n_atoms: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        outcome_table(size, n_atoms)
    assert message in str(error.value)
    assert f"{size} x {size} cells with {n_atoms} atoms" in str(error.value)


def test_an_invalid_outcome_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a port"):
        outcome_table(4, 2).outcome_code("north-5")


# The cache.


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that does not exist yet."""
    folder = tmp_path / "cache" / "equipoise"
    monkeypatch.setattr(table_cache, "cache_folder", lambda: folder)
    return folder


def new_outcomes(size: int = 4, n_atoms: int = 2) -> list[list[int]]:
    """Return the outcomes as a new process would read or compute them."""
    return outcome_table.__wrapped__(size, n_atoms).outcomes.tolist()


def test_a_stored_table_is_read_and_not_computed_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = new_outcomes()
    assert [file.name for file in own_cache.iterdir()] == ["blackbox-4x4-2-atoms-1.bin"]
    monkeypatch.setattr("batteries.blackbox.outcome_table.compute_outcomes", None)
    assert new_outcomes() == computed


@pytest.mark.parametrize("damage", ["empty", "cut", "longer", "changed", "a folder", "of another size"])
def test_a_damaged_file_is_replaced(own_cache: Path, damage: str) -> None:
    computed = new_outcomes()
    (file,) = own_cache.iterdir()
    whole = file.read_bytes()
    if damage == "a folder":
        file.unlink()
        file.mkdir()
    else:
        new_outcomes(4, 1)
        other = (own_cache / "blackbox-4x4-1-atoms-1.bin").read_bytes()
        changed = whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]
        damaged = {
            "empty": b"",
            "cut": whole[:-1],
            "longer": whole + b"\0",
            "changed": changed,
            "of another size": other,
        }
        file.write_bytes(damaged[damage])
    assert new_outcomes() == computed
    assert not list(own_cache.glob("*.part"))
    if damage != "a folder":
        assert file.read_bytes() == whole


def test_a_cache_folder_that_cannot_be_made_changes_nothing(own_cache: Path) -> None:
    own_cache.parent.parent.mkdir(exist_ok=True)
    own_cache.parent.write_text("a file is in the way", encoding="utf-8")
    assert new_outcomes() == compute_outcomes(4, all_boards(16, 2)).tolist()


def test_a_user_without_a_home_folder_gets_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_cache, "cache_folder", lambda: Path("~/.cache/equipoise"))
    assert new_outcomes() == compute_outcomes(4, all_boards(16, 2)).tolist()
    assert not list(tmp_path.iterdir())


def test_the_rules_are_imported_without_numpy() -> None:
    program = "import sys, batteries.blackbox; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
