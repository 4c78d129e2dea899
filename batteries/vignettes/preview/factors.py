"""Order of items and levels on the page, and division of items by their levels."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from batteries.items import Item, Level
from batteries.vignettes.templates.models import PREREQUISITES, natural_id

Factor = Level | None
"""A level of a factor. It is None if an item does not have the factor."""

_KINDS = (*PREREQUISITES, "single", "double")
"""Capability types in the order in which the page lists them."""
_SortKey = tuple[int, float, Sequence[tuple[bool, int, str]]]
_K = TypeVar("_K", bound=Hashable)


def level_sort_key(level: Factor) -> _SortKey:
    """Return a sort key for levels: first a missing level, then numbers by value, then texts (with 10 after 9)."""
    if level is None:
        return 0, 0.0, []
    if isinstance(level, str):
        return 2, 0.0, natural_id(level)
    return 1, float(level), []


def kind_sort_key(kind: Factor) -> tuple[int, str]:
    """Return a sort key for capability types. Unknown types are last."""
    return (_KINDS.index(kind), "") if kind in _KINDS else (len(_KINDS), str(kind))


def page_sort_key(item: Item) -> list[_SortKey]:
    """Return the sort key of an item: story, question, variant, then cell (condition and level)."""
    story = ("scenario_number", "scenario", "version", "template_id", "capability_type")
    names = (*story, "variant", "pov", "condition", "inference_level")
    return [*(level_sort_key(item.factors.get(name)) for name in names), level_sort_key(item.item_id)]


def distinct_levels(items: Iterable[Item], name: str) -> list[Factor]:
    """Return the sorted levels that a factor has in some items. Each level is listed once."""
    found = {item.factors[name] for item in items if name in item.factors}
    return sorted(found, key=kind_sort_key if name == "capability_type" else level_sort_key)


def by_factors(*names: str) -> Callable[[Item], tuple[Factor, ...]]:
    """Return a function from an item to its levels of the named factors."""
    return lambda item: tuple(item.factors.get(name) for name in names)


def part_by(items: Iterable[Item], key: Callable[[Item], _K]) -> dict[_K, list[Item]]:
    """Return a list of items for each value of `key`. The values are in the order of their first items."""
    parts: dict[_K, list[Item]] = defaultdict(list)
    for item in items:
        parts[key(item)].append(item)
    return dict(parts)


def part_by_group(items: Iterable[Item], groups: Mapping[str, int]) -> dict[int, list[Item]]:
    """Return the items of each counterbalance group, in the order of the groups."""
    return dict(sorted(part_by(items, lambda item: groups[item.item_id]).items()))


def cell_name(item: Item) -> str:
    """Return the short name of an item's condition and level, such as B2."""
    return "".join(str(item.factors[name]) for name in ("condition", "inference_level") if name in item.factors)
