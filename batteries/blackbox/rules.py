"""The rules of the Black Box game, for boards of any size.

The sample study `blackbox-predict` repeats a published study, which used these rules and a board of 8 x 8 cells.

A cell is written as (row, column). Rows and columns are numbered from 1, and row 1 is at the top. A port is one end of
a row or column, where rays enter and leave. If an atom is in the next cell of a ray's path, the atom absorbs the ray.
If an atom is diagonally ahead, the ray turns by 90 degrees, away from the atom. If there are atoms on both diagonals,
the ray turns back. If an atom is next to the entry cell, on the same edge, the ray is reflected at once. Absorption is
always tested first.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

Cell = tuple[int, int]
Atoms = frozenset[Cell]


class Side(StrEnum):
    """A side of the board."""

    NORTH = "north"
    SOUTH = "south"
    EAST = "east"
    WEST = "west"


@dataclass(frozen=True, order=True)
class Port:
    """A position at the edge where a ray can enter or leave. For example, `west-5` is the left end of row 5."""

    side: Side
    position: int
    """Number of the column (sides north and south) or of the row (sides east and west), from 1."""

    def __str__(self) -> str:
        return f"{self.side}-{self.position}"

    @classmethod
    def parse(cls, text: str, size: int = 8) -> "Port":
        """Read a port such as `north-3`.

        Raises
        ------
        ValueError
            If the text is not a port of a board of this size.
        """
        match = re.fullmatch(r"(north|south|east|west)-([1-9][0-9]?)", text)
        if match is None or int(match[2]) > size:
            raise ValueError(
                f"{text!r} is not a port. Fix: write a side and a number from 1 to {size}, such as north-3."
            )
        return cls(Side(match[1]), int(match[2]))


class Effect(StrEnum):
    """Effect of atoms on a ray."""

    ABSORBED = "absorbed"
    """The atom was in the next cell and absorbed the ray."""
    TURNED = "turned"
    """The atom was diagonally ahead and turned the ray by 90 degrees."""
    SENT_BACK = "sent_back"
    """Two atoms were diagonally ahead on both sides and sent the ray back."""
    KEPT_OUT = "kept_out"
    """One or two atoms beside the entry cell, on the same edge, reflected the ray before it entered."""


@dataclass(frozen=True)
class Encounter:
    """One or two atoms that changed the course of a ray."""

    effect: Effect
    atoms: tuple[Cell, ...]
    n_cells: int
    """Number of cells of the path before the encounter. The ray was in the last of these cells, or at its port if 0."""


@dataclass(frozen=True)
class Ray:
    """The end of a ray and its path."""

    outcome: str
    """`absorbed`, `reflected`, or the port by which the ray leaves, such as `west-5`."""
    path: tuple[Cell, ...]
    """Cells of the path. If an atom absorbs the ray, the last cell is the atom's cell.

    The path is empty if the ray is reflected before it enters the board."""
    encounters: tuple[Encounter, ...] = ()
    """The atoms that changed the course of the ray, in the order of the path."""


INWARD = {Side.NORTH: (1, 0), Side.SOUTH: (-1, 0), Side.WEST: (0, 1), Side.EAST: (0, -1)}
"""Steps (down, right) of a ray that enters from a side."""


def all_ports(size: int = 8) -> list[Port]:
    """Return all ports of a board, by side (north, south, east, west) and then by number."""
    return [Port(side, position) for side in Side for position in range(1, size + 1)]


def all_cells(size: int = 8) -> list[Cell]:
    """Return all cells of a board in reading order."""
    return [(row, column) for row in range(1, size + 1) for column in range(1, size + 1)]


def entry_cell(port: Port, size: int = 8) -> Cell:
    """Return the cell that is next to a port."""
    match port.side:
        case Side.NORTH:
            return (1, port.position)
        case Side.SOUTH:
            return (size, port.position)
        case Side.WEST:
            return (port.position, 1)
        case Side.EAST:
            return (port.position, size)


def trace(atoms: Atoms, entry: Port, size: int = 8) -> Ray:
    """Follow a ray from its entry port to its end.

    Parameters
    ----------
    atoms
        Cells that contain an atom, as (row, column). Rows and columns are numbered from 1.
    entry
        The port by which the ray enters.
    size
        Number of rows of the board. The board has as many columns as rows.

    Returns
    -------
    Ray
        Outcome, path and encounters of the ray. Paths are reversible: if a ray from port P leaves by port Q, then a ray
        from port Q leaves by port P.
    """
    row, column = entry_cell(entry, size)
    down, right = INWARD[entry.side]
    path = [(row, column)]
    encounters: list[Encounter] = []
    if (row, column) in atoms:
        return Ray("absorbed", tuple(path), (Encounter(Effect.ABSORBED, ((row, column),), 0),))
    beside = ((row + right, column + down), (row - right, column - down))
    if any(cell in atoms for cell in beside):
        keeping_out = tuple(cell for cell in beside if cell in atoms)
        return Ray("reflected", (), (Encounter(Effect.KEPT_OUT, keeping_out, 0),))
    while True:
        ahead = (row + down, column + right)
        if ahead in atoms:
            encounters.append(Encounter(Effect.ABSORBED, (ahead,), len(path)))
            return Ray("absorbed", (*path, ahead), tuple(encounters))
        # The two cells diagonally ahead are +-(right, down) from the cell ahead.
        one, other = (ahead[0] + right, ahead[1] + down), (ahead[0] - right, ahead[1] - down)
        if one in atoms and other in atoms:
            encounters.append(Encounter(Effect.SENT_BACK, (one, other), len(path)))
            down, right = -down, -right
        elif one in atoms:
            encounters.append(Encounter(Effect.TURNED, (one,), len(path)))
            down, right = -right, -down
        elif other in atoms:
            encounters.append(Encounter(Effect.TURNED, (other,), len(path)))
            down, right = right, down
        else:
            row, column = ahead
            if not (1 <= row <= size and 1 <= column <= size):
                exit_port = port_beyond(row, column, size)
                outcome = "reflected" if exit_port == entry else str(exit_port)
                return Ray(outcome, tuple(path), tuple(encounters))
            path.append((row, column))


def port_beyond(row: int, column: int, size: int) -> Port:
    """Return the port at a position just outside the board."""
    if row < 1:
        return Port(Side.NORTH, column)
    if row > size:
        return Port(Side.SOUTH, column)
    return Port(Side.WEST, row) if column < 1 else Port(Side.EAST, row)
