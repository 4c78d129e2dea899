"""Computes the outcomes of rays on all boards at once, with NumPy.

`rules.trace` follows one ray on one board, which is too slow for millions of rays. Here the rules are a table of
transitions: the state of a ray (its cell and direction, or its port) and the atoms ahead of it give the next state.
The tests compare the outcomes with those of `rules.trace`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

from batteries.blackbox.rules import INWARD, Cell, Port, Side, all_cells, all_ports, entry_cell, port_beyond

ABSORBED, REFLECTED, FIRST_PORT = 0, 1, 2
"""Codes of outcomes. The code of the port at position i of `all_ports` is FIRST_PORT + i."""

OUTSIDE = 255
"""Number of a cell outside the board."""


def all_boards(n_cells: int, n_atoms: int) -> NDArray[np.uint8]:
    """Return all sets of cells, atoms x boards, in the order of `itertools.combinations`."""
    boards = np.arange(n_cells, dtype=np.uint8)[np.newaxis]
    for _ in range(n_atoms - 1):
        n_after = n_cells - 1 - boards[-1].astype(np.intp)  # number of cells after the last atom
        start = np.repeat(np.cumsum(n_after) - n_after, n_after)
        boards = np.repeat(boards, n_after, axis=1)
        next_atom = boards[-1] + 1 + (np.arange(len(start)) - start)
        boards = np.concatenate([boards, next_atom.astype(np.uint8)[np.newaxis]])
    return boards


def board_index(boards: NDArray[np.uint8], n_cells: int) -> NDArray[np.intp]:
    """Return the position of each board in `all_boards`. The cells of a board must be in ascending order."""
    n_atoms = len(boards)
    index = np.full(boards.shape[1], comb(n_cells, n_atoms) - 1, dtype=np.intp)
    for i, atoms in enumerate(boards):
        # Subtract the number of boards with the same atoms before this atom, and with a later atom here.
        index -= np.array([comb(n_cells - 1 - cell, n_atoms - i) for cell in range(n_cells)]).take(atoms)
    return index


def compute_outcomes(size: int, boards: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the codes of the outcomes of rays from all ports, ports x boards.

    Only rays from one half of the north side are traced. Mirrored and turned boards follow the same rules, so the
    outcomes of all other rays follow from these rays.
    """
    ports = all_ports(size)
    outcomes = np.empty((len(ports), boards.shape[1]), dtype=np.uint8)
    for port in range((size + 1) // 2):
        outcomes[port] = trace_boards(boards, port, size)
    _copy(outcomes, boards, Symmetry.of(_mirrored, size), range(size // 2))
    turned = Symmetry.of(_turned, size)
    for side in (Side.NORTH, Side.EAST, Side.SOUTH):
        first = list(Side).index(side) * size
        _copy(outcomes, boards, turned, range(first, first + size))
    return outcomes


def _copy(outcomes: NDArray[np.uint8], boards: NDArray[np.uint8], symmetry: "Symmetry", ports: Iterable[int]) -> None:
    """Fill in the outcomes of rays from the ports to which a symmetry moves some ports."""
    index = board_index(np.sort(symmetry.cells[boards], axis=0), len(symmetry.cells))
    for port in ports:
        outcomes[symmetry.ports[port], index] = symmetry.codes.take(outcomes[port])


Move = Callable[[Cell, int], Cell]
"""Function of a cell and the size of the board that returns the cell to which the cell is moved."""


def _mirrored(cell: Cell, size: int) -> Cell:
    return cell[0], size + 1 - cell[1]


def _turned(cell: Cell, size: int) -> Cell:
    """Turn the board by 90 degrees, clockwise."""
    return cell[1], size + 1 - cell[0]


@dataclass(frozen=True)
class Symmetry:
    """A movement of the board onto itself. Position i of an array is the number to which i is moved."""

    cells: NDArray[np.uint8]
    ports: NDArray[np.intp]
    codes: NDArray[np.uint8]

    @classmethod
    def of(cls, move: Move, size: int) -> "Symmetry":
        """Return the symmetry that moves each cell like a function, which also works just outside the board."""
        ports = all_ports(size)
        moved_ports = [ports.index(port_beyond(*move(_position_outside(port, size), size), size)) for port in ports]
        return cls(
            np.array([_cell_number(move(cell, size), size) for cell in all_cells(size)], dtype=np.uint8),
            np.array(moved_ports),
            np.array([ABSORBED, REFLECTED, *(FIRST_PORT + port for port in moved_ports)], dtype=np.uint8),
        )

    def then(self, other: "Symmetry") -> "Symmetry":
        """Return the symmetry that moves like this one, and then like the other."""
        return Symmetry(other.cells[self.cells], other.ports[self.ports], other.codes[self.codes])


@lru_cache(maxsize=16)
def symmetries(size: int) -> tuple[Symmetry, ...]:
    """Return the eight symmetries of the board. The first does not move anything."""
    turned = [Symmetry.of(lambda cell, _: cell, size)]
    for _ in range(3):
        turned.append(turned[-1].then(Symmetry.of(_turned, size)))
    return (*turned, *(symmetry.then(Symmetry.of(_mirrored, size)) for symmetry in turned))


def trace_boards(boards: NDArray[np.uint8], port: int, size: int) -> NDArray[np.uint8]:
    """Follow a ray from one port on all boards, and return the codes of its outcomes."""
    cells_ahead, next_state = _transitions(size)
    n_states = len(next_state)
    next_states = next_state.ravel()
    outcomes = np.empty(boards.shape[1], dtype=np.uint8)
    # The rays that have not ended: positions of their boards, and their states.
    board = np.arange(boards.shape[1])
    state = np.full(len(board), port)
    while len(board):
        situation = state * 8
        for cells, value in zip(cells_ahead, (4, 1, 2), strict=True):
            cell = cells.take(state)
            has_atom = (boards == cell).any(axis=0)
            situation += has_atom.view(np.uint8) * np.uint8(value)
        state = next_states.take(situation)
        goes_on = state < n_states
        ended = np.flatnonzero(~goes_on)
        outcomes[board[ended]] = state[ended] - n_states
        remaining = np.flatnonzero(goes_on)
        board, state, boards = board.take(remaining), state.take(remaining), boards.take(remaining, axis=1)
    outcomes[outcomes == FIRST_PORT + port] = REFLECTED
    return outcomes


def _transitions(size: int) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return the three cells ahead of each state, and the next state in each situation.

    The states are the ports, then all cells with all directions. The cells ahead are the next cell and the two cells
    beside it. A situation is a sum: 4 for an atom in the next cell, 1 and 2 for atoms in the cells beside it. A next
    state that is not less than the number of states is an end: this number plus the code of an outcome.
    """
    ports, directions = all_ports(size), list(INWARD.values())
    states = [*((_position_outside(port, size), INWARD[port.side]) for port in ports),
              *product(all_cells(size), directions)]  # fmt: skip
    number = {state: index for index, state in enumerate(states)}
    absorbed, reflected, first_port = (len(states) + code for code in (ABSORBED, REFLECTED, FIRST_PORT))
    cells_ahead, next_state = [], []
    for index, ((row, column), (down, right)) in enumerate(states):
        ahead = (row + down, column + right)
        beside = ((ahead[0] + right, ahead[1] + down), (ahead[0] - right, ahead[1] - down))
        cells_ahead.append([_cell_number(cell, size) for cell in (ahead, *beside)])
        if _cell_number(ahead, size) == OUTSIDE:
            straight_on = first_port + ports.index(port_beyond(*ahead, size))
        else:
            straight_on = number[ahead, (down, right)]
        if index < len(ports):
            without_hit = [straight_on, reflected, reflected, reflected]
        else:
            turned = ((-right, -down), (right, down), (-down, -right))
            without_hit = [straight_on, *(number[(row, column), direction] for direction in turned)]
        next_state.append(without_hit + 4 * [absorbed])
    return np.array(cells_ahead, dtype=np.uint8).T.copy(), np.array(next_state, dtype=np.intp)


def _cell_number(cell: Cell, size: int) -> int:
    """Return the position of a cell in `all_cells`, or OUTSIDE."""
    row, column = cell
    return (row - 1) * size + column - 1 if 1 <= row <= size and 1 <= column <= size else OUTSIDE


def _position_outside(port: Port, size: int) -> Cell:
    """Return the position of a port as a cell just outside the board."""
    (row, column), (down, right) = entry_cell(port, size), INWARD[port.side]
    return row - down, column - right
