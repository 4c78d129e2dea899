"""The matrix of the counterbalance groups: a picture with one row per story and one column per group."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batteries.items import Item
from batteries.vignettes.preview.factors import Factor, by_factors, cell_name, distinct_levels, part_by, part_by_group
from batteries.vignettes.preview.wording import kind_words

_MOST_ROWS, _MOST_GROUPS = 240, 60
"""Maximum numbers of rows and columns of the picture."""


@dataclass(frozen=True)
class Square:
    """The items of one row (a story or question) that one group sees."""

    group: int
    label: str
    colour: int | None
    """Index of the condition that the group sees, which determines the colour.

    None for no condition or several conditions.
    """
    item_ids: tuple[str, ...]


@dataclass(frozen=True)
class MatrixRow:
    """A row of the matrix: a version of a scenario, or a question about a version."""

    label: str
    begins_scenario: bool
    squares: tuple[Square, ...]


def counterbalance_matrix(stories: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    """Return the matrix of stories (rows) and groups (columns), with at most 240 rows and 60 columns."""
    conditions = distinct_levels(stories, "condition")
    questions = part_by(stories, by_factors("scenario", "version", "capability_type", "template_id"))
    several = len({names[:2] for names in questions}) < len(questions)
    every_group = sorted({groups[item.item_id] for item in stories})
    columns = every_group[:_MOST_GROUPS]
    rows: list[MatrixRow] = []
    before: Factor = None
    for (scenario, version, kind, _), items in list(questions.items())[:_MOST_ROWS]:
        by_group = part_by_group(items, groups)
        words = [scenario, version, kind_words(kind) if several else None]
        label = " ".join(str(word) for word in words if word is not None)
        squares = tuple(_square(group, by_group.get(group, []), conditions) for group in columns)
        rows.append(MatrixRow(label, scenario != before, squares))
        before = scenario
    longest = max(len(square.label) for row in rows for square in row.squares)
    return {
        "columns": columns,
        "rows": rows,
        "n_more_rows": len(questions) - len(rows),
        "n_more_columns": len(every_group) - len(columns),
        # Widths in pixels, for font sizes of 12 and 13 pixels.
        "square_width": max(36, 8 * longest + 8),
        "label_width": 16 + 7 * max(len(row.label) for row in rows),
    }


def _square(group: int, items: list[Item], conditions: list[Factor]) -> Square:
    cells = Counter(cell_name(item) or "seen" for item in items)
    seen = {item.factors.get("condition") for item in items}
    colour = conditions.index(seen.pop()) if len(seen) == 1 and seen <= set(conditions) else None
    if len(cells) > 1:
        label = f"{len(items)} items"
    else:
        label = "".join(f"{name}×{n}" if n > 1 else name for name, n in cells.items())
    return Square(group, label, colour, tuple(item.item_id for item in items))
