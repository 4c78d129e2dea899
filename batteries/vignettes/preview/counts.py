"""Numbers of words, reading times, and the positions of the right option."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from batteries.items import Item
from batteries.vignettes.preview.factors import (
    by_factors,
    distinct_levels,
    kind_sort_key,
    level_sort_key,
    part_by,
    part_by_group,
)
from batteries.vignettes.preview.texts import ItemTexts
from batteries.vignettes.preview.wording import kind_words, span


@dataclass(frozen=True)
class WordRow:
    """Lowest, median and highest number of words of some items: in the story, and in the whole item."""

    label: str
    n_items: int
    story: tuple[float, float, float]
    whole: tuple[float, float, float]


def word_rows(items: list[Item]) -> list[WordRow]:
    """Return a row for all items, a row for each kind of question and condition, and a row for each level."""
    levels = distinct_levels(items, "inference_level")
    return [
        _word_row("all", items),
        *(_word_row(label, part) for label, part in _by_kind_and_condition(items)),
        *(
            _word_row(f"level {level}", [item for item in items if item.factors.get("inference_level") == level])
            for level in levels
            if len(levels) > 1
        ),
    ]


def _word_row(label: str, items: list[Item]) -> WordRow:
    texts = [ItemTexts.of(item.content) for item in items]
    story, whole = [one.n_story_words for one in texts], [one.n_words for one in texts]
    return WordRow(
        label,
        len(items),
        story=(min(story), median(story), max(story)),
        whole=(min(whole), median(whole), max(whole)),
    )


def _by_kind_and_condition(items: Iterable[Item]) -> list[tuple[str, list[Item]]]:
    """Return a label and the items for each kind of question and condition.

    If all items have the same kind and condition, return an empty list.
    """
    parts = part_by(items, by_factors("capability_type", "condition"))
    if len(parts) == 1:
        return []
    ordered = sorted(parts.items(), key=lambda part: (kind_sort_key(part[0][0]), level_sort_key(part[0][1])))
    return [
        (f"{kind_words(kind)} {'' if condition is None else condition}", part) for (kind, condition), part in ordered
    ]


@dataclass(frozen=True)
class Position:
    """Number of items with the right option in one position."""

    n: int
    share: float
    expected: float
    """The expected share of items, if every option of an item is equally often the right option.

    If some items have fewer options than others, the last positions have a lower share."""
    over_groups: str


def position_table(items: list[Item], groups: Mapping[str, int] | None) -> dict[str, Any] | None:
    """Return the table of the positions of the right option; None if no item has a right option.

    Ungraded items are left out. On the page, a bar with the share `full` has the full width.
    """
    items = [item for item in items if item.is_graded]
    if not items:
        return None
    n_options = max(_n_options(item) for item in items)
    parts = [("all", items), *_by_kind_and_condition(items)]
    rows: list[dict[str, Any]] = [
        {"label": label, "n_items": len(part), "positions": _positions(part, n_options, groups)}
        for label, part in parts
    ]
    return {
        "n_options": n_options,
        "rows": rows,
        "full": max(max(position.share, 2 * position.expected) for row in rows for position in row["positions"]),
        "same_answer": _same_answer(items),
        "same_answer_in_group": max(map(_same_answer, part_by_group(items, groups).values())) if groups else None,
    }


def _positions(items: list[Item], n_options: int, groups: Mapping[str, int] | None) -> list[Position]:
    sizes = [_n_options(item) for item in items]
    right = _right_positions(items)
    in_groups = [_right_positions(seen) for seen in part_by_group(items, groups).values()] if groups else []
    return [
        Position(
            right[position],
            right[position] / len(items),
            sum(1 / size for size in sizes if size >= position) / len(items),
            span(in_group[position] for in_group in in_groups) if in_groups else "",
        )
        for position in range(1, n_options + 1)
    ]


def _right_positions(items: list[Item]) -> Counter[Any]:
    """Return the number of items with a right option in each position. An item can have several right options."""
    return Counter(number for item in items for number in (item.key if isinstance(item.key, list) else [item.key]))


def _n_options(item: Item) -> int:
    return len(ItemTexts.of(item.content).options)


def _same_answer(items: list[Item]) -> float:
    """Return the highest possible accuracy of a participant who always chooses the same position."""
    return max(Counter(str(item.key) for item in items).values()) / len(items)
