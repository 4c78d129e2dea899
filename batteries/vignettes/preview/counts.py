"""Words and reading time, and the positions of the right answer."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from batteries.items import Item
from batteries.vignettes.preview.factors import (
    factors_of,
    kind_order,
    level_order,
    levels_of,
    part_by,
    part_by_group,
)
from batteries.vignettes.preview.texts import ItemTexts
from batteries.vignettes.preview.wording import kind_words, span


@dataclass(frozen=True)
class WordRow:
    """Number of words of some items: lowest, median and highest."""

    label: str
    n_items: int
    story: tuple[float, float, float]
    whole: tuple[float, float, float]


def word_rows(items: list[Item]) -> list[WordRow]:
    """Return all items, then each kind of question in each condition, then each level."""
    levels = levels_of(items, "inference_level")
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
    """Return the items of each kind of question in each condition, labelled; empty if all are alike."""
    parts = part_by(items, factors_of("capability_type", "condition"))
    if len(parts) == 1:
        return []
    ordered = sorted(parts.items(), key=lambda part: (kind_order(part[0][0]), level_order(part[0][1])))
    return [
        (f"{kind_words(kind)} {'' if condition is None else condition}", part) for (kind, condition), part in ordered
    ]


@dataclass(frozen=True)
class Position:
    """Frequency of the right answer in one position."""

    n: int
    share: float
    expected: float
    """The share in an even distribution; below 1/4 where some items have fewer options."""
    over_groups: str


def position_table(items: list[Item], groups: Mapping[str, int] | None) -> dict[str, Any]:
    """Return the rows of the answer positions, and the share at which a bar is full."""
    n_places = max(_n_options(item) for item in items)
    parts = [("all", items), *_by_kind_and_condition(items)]
    rows: list[dict[str, Any]] = [
        {"label": label, "n_items": len(part), "places": _positions(part, n_places, groups)} for label, part in parts
    ]
    return {
        "n_places": n_places,
        "rows": rows,
        "full": max(max(place.share, 2 * place.expected) for row in rows for place in row["places"]),
        "same_answer": _same_answer(items),
        "same_answer_in_group": max(map(_same_answer, part_by_group(items, groups).values())) if groups else None,
    }


def _positions(items: list[Item], n_places: int, groups: Mapping[str, int] | None) -> list[Position]:
    sizes = [_n_options(item) for item in items]
    right = Counter(item.key for item in items)
    in_groups = [Counter(item.key for item in seen) for seen in part_by_group(items, groups).values()] if groups else []
    return [
        Position(
            right[place],
            right[place] / len(items),
            sum(1 / size for size in sizes if size >= place) / len(items),
            span(in_group[place] for in_group in in_groups) if in_groups else "",
        )
        for place in range(1, n_places + 1)
    ]


def _n_options(item: Item) -> int:
    return len(ItemTexts.of(item.content).options)


def _same_answer(items: list[Item]) -> float:
    """Return the accuracy of a participant who always chooses the same option, the best one."""
    return max(Counter(item.key for item in items).values()) / len(items)
