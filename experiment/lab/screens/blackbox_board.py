"""The Black Box board: grid, atoms, named ports, the entry, the chosen port, and the ray's path in feedback.

Marks differ by word and shape, never by colour alone. A board is never mirrored, not even in languages that are read
from right to left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist
from typing import Any

from batteries.blackbox import Port, Side, all_ports
from experiment.lab.screens.layout.canvas import Canvas, Point
from experiment.lab.screens.layout.sheet import Colour
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph
from experiment.lab.screens.trial_header import TrialMoment

_TURNED = {Side.NORTH: (1, 0), Side.EAST: (0, 1), Side.SOUTH: (-1, 0), Side.WEST: (0, -1)}
"""Cosine and sine of the angle by which the arrows of a side are rotated. Arrows at the top are not rotated."""
_INWARD = [(-0.2, 0.0), (0.2, 0.0), (0.0, 0.275)]
_RING = 0.46
"""Radius of the ring around an atom, in cells."""
_OUTWARD = [(-0.2, 0.275), (0.2, 0.275), (0.0, 0.0)]


@dataclass(frozen=True)
class _Look:
    fill: Colour
    border: Colour
    ink: Colour


_PLAIN = _Look(Colour.PANEL, Colour.GRID, Colour.INK)
_NOT_YET = _Look(Colour.PAPER, Colour.GRID, Colour.INK_SOFT)
_ENTRY = _Look(Colour.ACCENT, Colour.ACCENT, Colour.ON_ACCENT)
_CHOSEN = _Look(Colour.CHOICE, Colour.CHOICE, Colour.ON_CHOICE)
_OUTCOME = _Look(Colour.RIGHT, Colour.RIGHT, Colour.ON_RIGHT)


class Board:
    """A board at its position on a canvas.

    Parameters
    ----------
    canvas
        The canvas.
    content
        The item's content.
    moment
        The participant's current response, and the feedback.
    left, top
        Top left corner, in pixels, of the frame of ports around the board.
    cell_px
        Side of a cell, in pixels.
    """

    def __init__(
        self, canvas: Canvas, content: dict[str, Any], moment: TrialMoment, left: int, top: int, cell_px: int
    ) -> None:
        self._canvas, self._showing = canvas, moment
        self._left, self._top, self._cell_px = left, top, cell_px
        self._size: int = content["size"]
        self._atoms: Sequence[tuple[int, int]] = content["atoms"]
        self._entry: str = content["entry"]
        self._chosen = str(moment.response_state.chosen or "")

    def draw(self) -> None:
        """Draw the board, with the ray's path if there is feedback."""
        self._draw_grid()
        for atom in self._atoms:
            self._canvas.disc(self._centre(atom), 0.32 * self._cell_px, Colour.ATOM)
        if self._showing.feedback is None:
            for port in all_ports(self._size):
                self._draw_port(port, self._look(str(port)), self._mark(str(port)))
            if self._chosen not in {"", "absorbed", "reflected", self._entry}:
                self._draw_arrow(self._chosen, _OUTWARD, Colour.CHOICE)
            self._draw_arrow(self._entry, _INWARD, Colour.ACCENT)
        else:
            self._draw_feedback(self._showing.feedback.solution)

    def _draw_feedback(self, solution: Any) -> None:
        """Draw the ray's actual path and the ports. The ports can no longer be clicked."""
        outcome, path = solution["outcome"], solution["path"]
        leaves = {"absorbed": None, "reflected": self._entry}.get(outcome, outcome)
        for port in all_ports(self._size):
            name = str(port)
            look = _OUTCOME if name == leaves else self._look(name)
            self._draw_port(port, look, self._mark_in_feedback(name, leaves), has_tick=leaves == name == self._chosen)
        if path:
            ends = [self._edge(port, 0.15) for port in (self._entry, leaves) if port]  # Below the arrows of the ports.
            points = _corners([ends[0], *map(self._centre, path), *ends[1:]])
            if leaves is None:
                points[-1] = self._before_atom(points[-2], points[-1])
            # A wide line below a narrow line keeps the path visible over grid and atoms.
            for width, colour in ((0.2, Colour.PAPER), (0.1, Colour.RIGHT)):
                for start, end in pairwise(points):
                    self._canvas.stroke([start, end], width * self._cell_px, colour)
        self._draw_arrow(self._entry, _INWARD, Colour.ACCENT)
        if leaves and leaves != self._entry:
            self._draw_arrow(leaves, _OUTWARD, Colour.RIGHT)
        self._draw_encounters(solution["encounters"], path)

    def _look(self, port: str) -> _Look:
        if port == self._chosen:
            return _CHOSEN
        if port == self._entry:
            return _ENTRY
        return _NOT_YET if self._showing.is_reading else _PLAIN

    def _mark(self, port: str) -> str:
        if port == self._entry:
            return "mark_back" if port == self._chosen else "mark_in"
        return "mark_out" if port == self._chosen else ""

    def _mark_in_feedback(self, port: str, leaves: str | None) -> str:
        if port == leaves:
            return "" if port == self._chosen else "mark_ray"
        if port == self._chosen:
            return "mark_you"
        return "mark_in" if port == self._entry else ""

    def _draw_grid(self) -> None:
        cell, size, thin = self._cell_px, self._size, self._canvas.sheet.px(1)
        left, top = self._left + cell, self._top + cell
        end_x, end_y = left + size * cell, top + size * cell
        for number in range(1, size):
            x, y = left + number * cell, top + number * cell
            self._canvas.fill((x, top, x + thin, end_y), Colour.GRID)
            self._canvas.fill((left, y, end_x, y + thin), Colour.GRID)
        thick = 2 * thin
        for box in (
            (left - thick, top - thick, end_x + thick, top),
            (left - thick, end_y, end_x + thick, end_y + thick),
            (left - thick, top, left, end_y),
            (end_x, top, end_x + thick, end_y),
        ):
            self._canvas.fill(box, Colour.LINE_STRONG)

    def _draw_port(self, port: Port, look: _Look, mark: str, has_tick: bool = False) -> None:
        canvas, sheet, cell = self._canvas, self._canvas.sheet, self._cell_px
        row, column = self._frame_cell(port)
        left, top = self._left + column * cell, self._top + row * cell
        inset = max(sheet.px(2) + 1, round(0.05 * cell))
        box = (left + inset, top + inset, left + cell - inset, top + cell - inset)
        canvas.box(box, look.fill, look.border, sheet.px(1.5), round(0.15 * cell))
        if self._showing.feedback is None:
            canvas.region(str(port), box)
        name = paragraph(sheet, f"{port.side.value[0].upper()}{port.position}", round(0.34 * cell), cell)
        below = self._mark_text(mark) if mark else None
        below_px = below.height_px if below else round(0.32 * cell) if has_tick else 0
        y = top + (cell - name.height_px - below_px) // 2
        canvas.write(name, left, y, cell, look.ink, "centre")
        if below:
            canvas.write(below, left, y + name.height_px, cell, look.ink, "centre")
        elif has_tick:
            side, middle = round(0.3 * cell), left + cell // 2
            canvas.tick(
                (middle - side // 2, y + name.height_px, middle + side // 2, y + name.height_px + side), look.ink
            )

    def _mark_text(self, mark: str) -> Paragraph:
        """Return the word of a mark, in the study's language and the largest font size that fits the port."""
        sheet = self._canvas.sheet
        words, room_px = sheet.words.say(mark), round(0.84 * self._cell_px)
        for size_px in range(round(0.27 * self._cell_px), 6, -1):
            text = paragraph(sheet, words, size_px, self._cell_px * len(words), "bold")
            if text.width_px <= room_px:
                break
        return text

    def _draw_arrow(self, port: str, shape: list[Point], colour: Colour) -> None:
        cosine, sine = _TURNED[Port.parse(port, self._size).side]
        x0, y0 = self._edge(port)
        points = [
            (x0 + self._cell_px * (x * cosine - y * sine), y0 + self._cell_px * (x * sine + y * cosine))
            for x, y in shape
        ]
        self._canvas.stroke([*points, points[0]], 0.075 * self._cell_px, Colour.PAPER)
        self._canvas.polygon(points, colour)

    def _draw_encounters(self, encounters: Sequence[Any], path: Sequence[Sequence[int]]) -> None:
        """Mark the atoms that changed the course of the ray with rings and numbers, and the ray's turning points."""
        numbers: dict[tuple[int, int], list[int]] = {}
        for position, encounter in enumerate(encounters, start=1):
            if encounter["n_cells"] > 0:
                self._canvas.disc(self._centre(path[encounter["n_cells"] - 1]), 0.12 * self._cell_px, Colour.RIGHT)
            for row, column in encounter["atoms"]:
                numbers.setdefault((row, column), []).append(encounter.get("number", position))
        for cell, of_cell in numbers.items():
            self._draw_ring(cell, ",".join(map(str, of_cell)))

    def _draw_ring(self, cell: tuple[int, int], number: str) -> None:
        x, y = self._centre(cell)
        side = self._cell_px
        for radius, colour in ((_RING, Colour.RIGHT), (0.38, Colour.PAPER), (0.32, Colour.ATOM)):
            self._canvas.disc((x, y), radius * side, colour)
        name = paragraph(self._canvas.sheet, number, round(0.4 * side), side, "bold")
        self._canvas.write(name, round(x - side / 2), round(y - name.height_px / 2), side, Colour.PAPER, "centre")

    def _before_atom(self, start: Point, atom: Point) -> Point:
        """Return the point where a ray reaches the ring around an atom."""
        share = 1 - _RING * self._cell_px / dist(start, atom)
        return start[0] + share * (atom[0] - start[0]), start[1] + share * (atom[1] - start[1])

    def _frame_cell(self, port: Port) -> tuple[int, int]:
        """Return the row and the column of a port, from 0 to size + 1. The board's cells have the numbers 1 to size."""
        beyond = self._size + 1
        match port.side:
            case Side.NORTH:
                return 0, port.position
            case Side.SOUTH:
                return beyond, port.position
            case Side.WEST:
                return port.position, 0
            case Side.EAST:
                return port.position, beyond

    def _centre(self, cell: Sequence[int]) -> Point:
        row, column = cell
        return self._left + (column + 0.5) * self._cell_px, self._top + (row + 0.5) * self._cell_px

    def _edge(self, name: str, inside: float = 0.0) -> Point:
        """Return the middle of the edge between a port and the board.

        `inside` moves the point into the board, in cells.
        """
        port = Port.parse(name, self._size)
        x, y = self._centre(self._frame_cell(port))
        half = (0.5 + inside) * self._cell_px
        match port.side:
            case Side.NORTH:
                return x, y + half
            case Side.SOUTH:
                return x, y - half
            case Side.WEST:
                return x + half, y
            case Side.EAST:
                return x - half, y


def _corners(points: list[Point]) -> list[Point]:
    """Return a path along rows and columns, reduced to its ends and the points where it turns."""
    inner = [
        point
        for before, point, state_after in zip(points, points[1:], points[2:], strict=False)
        if not (before[0] == point[0] == state_after[0] or before[1] == point[1] == state_after[1])
    ]
    return [points[0], *inner, points[-1]]
