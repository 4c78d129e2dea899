"""The exact table of ray outcomes: all boards with a number of atoms, and the outcome of a ray from each port.

For 8 x 8 cells and 4 atoms, the table has 635,376 boards and 32 ports, one byte each. The table is stored in the user's
cache folder. This module imports NumPy, so import it only where the table is used.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from batteries.blackbox.compute_outcomes import ABSORBED, FIRST_PORT, REFLECTED, all_boards, compute_outcomes
from batteries.blackbox.rules import Atoms, Port, all_ports
from batteries.blackbox.table_cache import read_cached_outcomes, write_cached_outcomes
from batteries.errors import InputError

MAX_TABLE_BYTES = 25_000_000
MAX_SIZE = 15
"""Cells are numbered in one byte, and one number is needed for "outside the board"."""


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """All boards of one size with one number of atoms, and the outcome of a ray from each port."""

    size: int
    """Number of rows and of columns of the boards."""
    n_atoms: int
    atom_cells: NDArray[np.uint8] = field(repr=False)
    """Cells with atoms, atoms x boards. Cells are numbered from 0 in reading order, and rise within a board."""
    outcomes: NDArray[np.uint8] = field(repr=False)
    """Codes of outcomes, ports (in the order of `all_ports`) x boards."""

    @property
    def n_boards(self) -> int:
        """Number of boards."""
        return len(self.atom_cells[0])

    @property
    def n_outcomes(self) -> int:
        """Number of codes of outcomes."""
        return FIRST_PORT + len(self.ports)

    @cached_property
    def outcomes_by_board(self) -> NDArray[np.uint8]:
        """The outcomes, boards x ports. In this order, all outcomes of a board are read from memory at once."""
        return np.ascontiguousarray(self.outcomes.T)

    @cached_property
    def ports(self) -> list[Port]:
        """All ports of a board."""
        return all_ports(self.size)

    @cached_property
    def port_index(self) -> dict[Port, int]:
        """Position of each port in `ports`."""
        return {port: index for index, port in enumerate(self.ports)}

    def outcome_code(self, outcome: str) -> int:
        """Return the code of `absorbed`, `reflected` or the name of a port.

        Raises
        ------
        ValueError
            If the text is not an outcome on boards of this size.
        """
        if outcome in {"absorbed", "reflected"}:
            return ABSORBED if outcome == "absorbed" else REFLECTED
        return FIRST_PORT + self.port_index[Port.parse(outcome, self.size)]

    def outcome_name(self, code: int) -> str:
        """Return the outcome with this code: `absorbed`, `reflected` or the name of a port."""
        return ("absorbed", "reflected")[code] if code < FIRST_PORT else str(self.ports[code - FIRST_PORT])

    def atoms(self, board: int) -> Atoms:
        """Return the cells with atoms of a board."""
        return frozenset((cell // self.size + 1, cell % self.size + 1) for cell in self.atom_cells[:, board].tolist())


@lru_cache(maxsize=4)
def outcome_table(size: int = 8, n_atoms: int = 4) -> OutcomeTable:
    """Return the table for boards of a size with a number of atoms.

    The outcomes are read from the user's cache folder if they are there. Otherwise they are computed and stored there.

    Raises
    ------
    InputError
        If there are no such boards, or if the table would be larger than 25 MB.
    """
    _check_size(size, n_atoms)
    atom_cells = all_boards(size * size, n_atoms)
    shape = (4 * size, atom_cells.shape[1])
    outcomes = read_cached_outcomes(size, n_atoms, shape)
    if outcomes is None:
        outcomes = compute_outcomes(size, atom_cells)
        write_cached_outcomes(size, n_atoms, outcomes)
    atom_cells.flags.writeable = outcomes.flags.writeable = False
    return OutcomeTable(size, n_atoms, atom_cells, outcomes)


def _check_size(size: int, n_atoms: int) -> None:
    board = f"a Black Box board of {size} x {size} cells with {n_atoms} atoms"
    if not 1 <= size <= MAX_SIZE:
        raise InputError(f"{board}: the size is not supported. Fix: use 1 to {MAX_SIZE} rows.")
    if not 1 <= n_atoms <= size * size:
        raise InputError(f"{board}: the number of atoms is not possible. Fix: use 1 to {size * size} atoms.")
    n_bytes = comb(size * size, n_atoms) * 4 * size
    if n_bytes > MAX_TABLE_BYTES:
        most = max(n for n in range(n_atoms) if comb(size * size, n) * 4 * size <= MAX_TABLE_BYTES)
        raise InputError(
            f"{board}: the table of ray outcomes would have {n_bytes / 1e6:,.0f} MB, and the limit is "
            f"{MAX_TABLE_BYTES / 1e6:.0f} MB. Fix: use at most {most} atoms on a board of this size."
        )
