"""A diagram of a ray on a page: the board with the whole ray, and its steps in words beside the board."""

from pydantic import JsonValue

from experiment.lab.screens.blackbox_board import Board
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text.markdown import Block
from experiment.lab.screens.trial_header import ShownFeedback, TrialMoment
from experiment.study.blackbox_diagrams import Diagram, steps_of

_CELL = 2.0
"""Side of a cell of the board, as a multiple of the font size."""


class DiagramPiece:
    """A diagram as a part of a page. It stays on one page, with the paragraph before it.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    block
        The Markdown block.
    diagram
        The diagram in the block.
    size_px, gap_px
        Font size, and the space below the diagram, in pixels.
    """

    def __init__(self, sheet: Sheet, block: Block, diagram: Diagram, size_px: int, gap_px: int) -> None:
        self.block, self.gap_px = block, gap_px
        self._sheet, self._diagram = sheet, diagram
        self._steps = steps_of(diagram, sheet.words)
        self._cell_px = round(_CELL * size_px)
        self._board_px = (diagram.size + 2) * self._cell_px
        self._space_px = round(1.4 * size_px)
        self._words = ScreenColumn(sheet, sheet.column_px - self._board_px - self._space_px)
        self._words.text(diagram.caption, size_px, round(0.5 * size_px), style="bold")
        for number, step in enumerate(self._steps, start=1):
            self._words.text(f"{number}. {step.sentence}", size_px, round(0.3 * size_px))

    @property
    def height_px(self) -> int:
        """Height in pixels."""
        return max(self._board_px, self._words.height_px)

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        """Draw the diagram with its top left corner at (x, y)."""
        is_ltr = self._sheet.direction == "ltr"
        content = self._diagram.model_dump()
        board_left = x if is_ltr else x + self._sheet.column_px - self._board_px
        Board(canvas, content, self._moment(), board_left, y, self._cell_px).draw()
        self._words.draw(canvas, x + self._board_px + self._space_px if is_ltr else x, y)

    def _moment(self) -> TrialMoment:
        """Return the moment of a trial in which the ray is shown. The numbers of the atoms are those of the steps."""
        encounters: list[JsonValue] = [
            {
                "number": number,
                "atoms": [list(atom) for atom in step.encounter.atoms],
                "n_cells": step.encounter.n_cells,
            }
            for number, step in enumerate(self._steps, start=1)
            if step.encounter
        ]
        ray = self._diagram.ray
        path: list[JsonValue] = [list(cell) for cell in ray.path]
        solution: JsonValue = {"outcome": ray.outcome, "path": path, "encounters": encounters}
        return TrialMoment(feedback=ShownFeedback(True, "", solution))
