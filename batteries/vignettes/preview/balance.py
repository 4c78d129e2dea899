"""The counterbalance groups: numbers of items in each group, and properties of a balanced design."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from batteries.items import Battery, Item
from batteries.vignettes.preview.factors import by_factors, cell_name, distinct_levels, part_by, part_by_group
from batteries.vignettes.preview.texts import ItemTexts
from batteries.vignettes.preview.wording import number_with_noun, some, span


def group_rows(items: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    """Return the rows of the table of groups, with the numbers of items in each group."""
    conditions, levels = distinct_levels(items, "condition"), distinct_levels(items, "inference_level")
    has_cells = bool(conditions and levels)
    cells = {cell_name(item) for item in items}
    rows = []
    for group, seen in part_by_group(items, groups).items():
        in_cell = Counter(map(cell_name, seen))
        rows.append(
            {
                "group": group,
                "n_items": len(seen),
                "conditions": [sum(item.factors.get("condition") == one for item in seen) for one in conditions],
                "levels": [sum(item.factors.get("inference_level") == one for item in seen) for one in levels],
                "cells": span(in_cell[cell] for cell in cells) if has_cells else "",
                "words": sum(ItemTexts.of(item.content).n_words for item in seen),
            }
        )
    return {"conditions": conditions, "levels": levels, "has_cells": has_cells, "rows": rows}


@dataclass(frozen=True)
class Fact:
    """A sentence that says that the design has a property. `holds` is True if the sentence is true."""

    holds: bool
    sentence: str


def balance_facts(battery: Battery, groups: Mapping[str, int]) -> list[Fact]:
    """Return a sentence about each property of a balanced design, and check that the design has the property.

    If a property needs a factor that an item lacks, the property is left out.
    """
    items = sorted((item for item in battery.items if item.item_id in groups), key=lambda item: item.item_id)
    have = set.intersection(*(set(item.factors) for item in items))
    by_group = part_by_group(items, groups)
    facts = [_fact_of_items(battery, groups), _fact_of_sizes(by_group)]
    # Conditions of two kinds of question can have the same letter, so each kind is counted separately.
    kind = ("capability_type",) if len(distinct_levels(items, "capability_type")) > 1 else ()
    question = [name for name in ("scenario", "version", "template_id") if name in have]
    if {"scenario", "condition"} <= have:
        cell = [name for name in ("condition", "inference_level", "pov") if name in have]
        facts.append(_fact_of_cells(items, groups, question, cell))
    of_kind = " of a kind of question" if kind else ""
    for names, words in (
        (("condition",), "condition"),
        (("inference_level",), "level"),
        (("condition", "inference_level"), "condition at each level"),
    ):
        if have.issuperset(names):
            facts.append(_fact_of_evenness(by_group, by_factors(*kind), by_factors(*kind, *names), words + of_kind))
    if "scenario" in have:
        facts.append(_fact_of_stories(items, by_group, by_factors(*question), "question" if kind else "story"))
    if {"scenario", "condition"} <= have:
        of_kind = " in questions of one kind" if kind else ""
        facts.append(_fact_of_repeats(by_group, by_factors(*kind, "scenario", "condition"), of_kind))
    return facts


def _fact_of_items(battery: Battery, groups: Mapping[str, int]) -> Fact:
    unknown = sorted(item_id for item_id in groups if item_id not in battery.by_id)
    if unknown:
        return Fact(
            False,
            f"The groups name {number_with_noun(len(unknown), 'item')} that the battery does not have: "
            f"{some(unknown)}.",
        )
    return Fact(True, f"Every one of the {number_with_noun(len(groups), 'test item')} is in exactly one group.")


def _fact_of_sizes(by_group: Mapping[int, list[Item]]) -> Fact:
    missing = [group for group in range(1, max(by_group) + 1) if group not in by_group]
    if missing:
        return Fact(False, f"No item is in group {some(missing)}.")
    sizes = {len(seen) for seen in by_group.values()}
    holds = len(sizes) == 1
    items = "item" if sizes == {1} else "items"
    return Fact(holds, f"{'Every group sees' if holds else 'The groups see'} {span(sizes)} {items}.")


def _fact_of_cells(items: list[Item], groups: Mapping[str, int], question: Sequence[str], cell: Sequence[str]) -> Fact:
    """Check that exactly one group sees each question in each cell, and sees it only once."""
    if len(distinct_levels(items, "pov")) < 2:
        cell = [name for name in cell if name != "pov"]
    questions = part_by(items, by_factors(*question))
    if len(part_by(items, by_factors("scenario", "version"))) == len(questions):
        question = [name for name in question if name != "template_id"]
    names = {"template_id": "question", "inference_level": "level", "pov": "point of view"}
    words = " × ".join(names.get(name, name) for name in (*question, *cell))
    cells = part_by(items, by_factors(*question, *cell))
    n_seeing = [len({groups[item.item_id] for item in part}) for part in cells.values()]
    n_several = sum(n > 1 for n in n_seeing)
    n_again = sum(len(part) > n for part, n in zip(cells.values(), n_seeing, strict=True))
    kind = by_factors("capability_type")
    cells_of_kind = {
        one: prod(len(distinct_levels(part, name)) for name in cell) for one, part in part_by(items, kind).items()
    }
    n_crossed = sum(cells_of_kind[kind(part[0])] for part in questions.values())
    faults = [
        f"{_cells_are(n_several)} seen by more than one group" if n_several else "",
        f"{_cells_are(n_again)} seen more than once by the same group" if n_again else "",
        f"{_cells_are(n_crossed - len(cells))} seen by no group" if n_crossed > len(cells) else "",
    ]
    if not any(faults):
        return Fact(True, f"Every {words} is seen exactly once, by one group: {len(cells):,} of {n_crossed:,}.")
    example = next((part for part in cells.values() if len(part) > 1), None)
    such = f" Example: {some(item.item_id for item in example)}." if example else ""
    return Fact(False, f"Of {n_crossed:,} cells ({words}), {', '.join(fault for fault in faults if fault)}.{such}")


def _cells_are(n: int) -> str:
    return number_with_noun(n, "cell is", "cells are")


def _fact_of_evenness(
    by_group: Mapping[int, list[Item]],
    kind: Callable[[Item], Hashable],
    cell: Callable[[Item], Hashable],
    words: str,
) -> Fact:
    """Check that each group sees all cells of one kind of question equally often."""
    every: dict[Hashable, set[Hashable]] = defaultdict(set)
    for seen in by_group.values():
        for item in seen:
            every[kind(item)].add(cell(item))
    uneven: list[int] = []
    counts: set[int] = set()
    for group, seen in by_group.items():
        tally = Counter(map(cell, seen))
        in_group = [{tally[one] for one in cells} for cells in every.values()]
        counts.update(*in_group)
        if any(len(of_kind) > 1 for of_kind in in_group):
            uneven.append(group)
    if uneven:
        who = f"{len(uneven):,} of {number_with_noun(len(by_group), 'group')} (group {some(uneven)})"
        return Fact(False, f"Not every {words} is seen equally often in {who}: the counts are {span(counts)}.")
    return Fact(True, f"Within every group each {words} is seen equally often: {span(counts)} times.")


def _fact_of_stories(
    items: list[Item], by_group: Mapping[int, list[Item]], story: Callable[[Item], Hashable], word: str
) -> Fact:
    stories = set(map(story, items))
    tallies = [Counter(map(story, seen)) for seen in by_group.values()]
    times = {tally[one] for tally in tallies for one in stories}
    if times == {1}:
        return Fact(True, f"Every group sees each {word} once: {len(stories):,} of {len(stories):,}.")
    return Fact(False, f"Not every group sees each {word} once: the counts are {span(times)}.")


def _fact_of_repeats(by_group: Mapping[int, list[Item]], condition: Callable[[Item], Hashable], of_kind: str) -> Fact:
    repeats = {
        group: [part for part in part_by(seen, condition).values() if len(part) > 1] for group, seen in by_group.items()
    }
    twice = [group for group, parts in repeats.items() if parts]
    if not twice:
        return Fact(True, f"No participant sees the same condition of a scenario twice{of_kind}.")
    first = repeats[twice[0]][0]
    return Fact(
        False,
        f"In {len(twice):,} of {number_with_noun(len(by_group), 'group')} a participant sees the same condition of a "
        f"scenario twice{of_kind}, for example in group {twice[0]}: {some((item.item_id for item in first), 2)}.",
    )
