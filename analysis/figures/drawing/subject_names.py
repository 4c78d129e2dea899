"""Names of subjects at the left of a figure: the model in one column, and its condition in a second column."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.figures.drawing.lettering import LINE, SIZE, distinct_labels, text_width
from analysis.figures.drawing.sheet import FigureSheet

_GAP = 10.0
"""Space between the two columns, in points."""


def parts_of(subject: str, model: str | None = None) -> tuple[str, str]:
    """Return the model and the condition in the name of a subject; people have no condition.

    `model` is the name of the model, if it is known. A subject's name can begin with another name, such as a label of
    the researcher. Then the whole name is returned as the model. If `model` is None, the name of the model ends at the
    first comma.

    Examples
    --------
    >>> parts_of("gpt-4o, plain prompt, temperature 0.7"), parts_of("people")
    (('gpt-4o', 'plain prompt, temperature 0.7'), ('people', ''))
    >>> parts_of("Fast, cheap model", "gpt-4o-mini"), parts_of("Fast, cheap, temperature 1", "Fast, cheap")
    (('Fast, cheap model', ''), ('Fast, cheap', 'temperature 1'))
    """
    if model is None:
        model, _, condition = subject.partition(", ")
        return model, condition
    return (model, subject.removeprefix(f"{model}, ")) if subject.startswith(f"{model}, ") else (subject, "")


@dataclass(frozen=True)
class SubjectNames:
    """The names of the rows of a figure. A model is named once, in the first of its rows."""

    models: list[list[str]]
    conditions: list[list[str]]
    models_width: float
    width: float
    """Width of both columns, in points."""

    @classmethod
    def of(
        cls, parts: Sequence[tuple[str, str]], most: float, *, most_lines: int = 3, groups: Sequence[str] = ()
    ) -> "SubjectNames":
        """Return names whose two columns together are at most `most` points wide.

        `parts` has the model and the condition of each row (`parts_of`). `groups` has the group of each row, if any.
        """
        with_conditions = {model for model, condition in parts if condition}
        alone = [model not in with_conditions for model, _ in parts]
        narrow, wide = (
            distinct_labels([model for model, _ in parts], room, most_lines=most_lines)
            for room in (0.48 * (most - _GAP), most)
        )
        models = [over if is_alone else beside for over, beside, is_alone in zip(wide, narrow, alone, strict=True)]
        models_width = _widest([lines for lines, is_alone in zip(models, alone, strict=True) if not is_alone])
        conditions = (
            distinct_labels([condition for _, condition in parts], most - _GAP - models_width, most_lines=most_lines)
            if with_conditions
            else [[""]] * len(parts)
        )
        begins = list(zip(groups or [""] * len(parts), (model for model, _ in parts), strict=True))
        repeated = {place for place in range(1, len(begins)) if begins[place] == begins[place - 1]}
        models = [[""] if place in repeated else lines for place, lines in enumerate(models)]
        both = models_width + (_GAP + _widest(conditions) if with_conditions else 0)
        return cls(models, conditions, models_width, max(both, _widest(models)))

    @property
    def row_height(self) -> float:
        """Height of a row in which every name fits, in points."""
        return SIZE * LINE * max(map(len, [*self.models, *self.conditions])) + 4

    def columns(self, row: int) -> list[tuple[float, list[str]]]:
        """Return the two columns of a row: the position from the left in points, and the lines."""
        return [(0.0, self.models[row]), (self.models_width + _GAP, self.conditions[row])]

    def write(self, sheet: FigureSheet, left: float, middle: float, row: int) -> None:
        """Write the name of a row; `middle` is the middle of the row."""
        for x, lines in self.columns(row):
            if lines != [""]:
                sheet.write(left + x, middle, lines)


def _widest(labels: Sequence[Sequence[str]]) -> float:
    return max((text_width(line) for lines in labels for line in lines), default=0.0)
