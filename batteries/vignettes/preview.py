"""The preview of a battery: one HTML page, for reading the instances side by side before a participant does.

Everything on the page is counted from the items; nothing is said of a design because it was meant that way.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import prod
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import jinja2

from batteries.errors import InputError
from batteries.items import Battery, Item, Level
from batteries.vignettes.published_csv import PERTURBATION_COLUMNS
from batteries.vignettes.templates import PREREQUISITES, natural_id

WORDS_A_MINUTE = 238
"""Silent reading of English prose by adults (Brysbaert, 2019, Journal of Memory and Language 109, 104047)."""
MOST_VARIANTS = 3
"""Variants of a question that are on the page, so that one of 5,760 items opens."""
MOST_PERTURBED = 12
"""Perturbed instances of a question that are on the page, if it has no more kinds of perturbation."""
MOST_LISTED = 200
"""Items of a plain list that are on the page."""
MOST_ROWS, MOST_GROUPS = 240, 60
"""Rows and columns of the picture of the counterbalance matrix."""
KINDS = (*PREREQUISITES, "single", "double")
"""Capability types, in the order of the page."""
LEVEL_MEANING = {0: "explained", 1: "hinted", 2: "nothing added", 3: "irrelevant text"}
REFERENCE_CONDITION, REFERENCE_LEVEL = "A", 2

Factor = Level | None
"""A level of a factor; None where an item does not have the factor."""
K = TypeVar("K", bound=Hashable)


def write_preview(battery: Battery, groups: Mapping[str, int] | None, path: Path) -> None:
    """Write a battery as one HTML page that needs no network and no JavaScript.

    Parameters
    ----------
    battery
        A battery of multiple-choice items. Those with the factor `scenario` are shown side by side by condition and
        level, others in a plain list.
    groups
        Counterbalance group (from 1) of every test item by its id, as a study has it; None for a battery alone.
    path
        The file; the same battery and groups always give the same bytes.

    Raises
    ------
    InputError
        If an item is not of the task `multiple_choice`, or none of the groups' items is in the battery.
    """
    path.write_bytes(render_preview(battery, groups).encode())


def render_preview(battery: Battery, groups: Mapping[str, int] | None) -> str:
    """Return the page that `write_preview` writes."""
    for item in battery.items:
        if item.task != "multiple_choice":
            raise InputError(
                f"the preview is for multiple-choice batteries; the item `{item.item_id}` is of the task {item.task}."
            )
    if groups is None:
        tested = [item for item in battery.items if "scenario" in item.factors] or list(battery.items)
    else:
        tested = [item for item in battery.items if item.item_id in groups]
    if not tested:
        raise InputError(f"no item of the groups is in the battery `{battery.battery}`; give the study's own battery.")
    tested.sort(key=_place)
    ids = {item.item_id for item in tested}
    stories = [item for item in tested if "scenario" in item.factors]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("batteries.vignettes", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"kind": kind_words, "reading": reading_time, "span": _span, "reading_span": reading_span}
    environment.globals |= {"count": count, "level_meaning": LEVEL_MEANING}
    return environment.get_template("preview.html").render(
        battery=battery,
        tested=tested,
        words_a_minute=WORDS_A_MINUTE,
        levels={name: _levels(tested, name) for name in _HEAD_FACTORS},
        n_perturbed=sum(item.clean is not None for item in tested),
        words=_word_rows(tested),
        positions=_position_table(tested, groups),
        groups=None if groups is None else _group_rows(tested, groups),
        facts=[] if groups is None else balance_facts(battery, groups),
        matrix=None if groups is None or not stories else counterbalance_matrix(stories, groups),
        conditions=_levels(stories, "condition"),
        scenarios=_scenarios(stories, groups or {}),
        listed=_listed(item for item in tested if "scenario" not in item.factors),
        apart=_listed(item for item in battery.items if item.item_id not in ids),
    )


# --- Words for readers ------------------------------------------------------------------------------------------------


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,}\u00a0{one if number == 1 else many or one + 's'}"


def kind_words(capability_type: Factor) -> str:
    """Return a capability type as a reader knows it."""
    return "question" if capability_type is None else str(capability_type).removesuffix("_check")


def reading_time(n_words: float) -> str:
    """Return how long words take to read."""
    seconds = 60 * n_words / WORDS_A_MINUTE
    return f"{seconds:.0f}\u00a0s" if seconds < 100 else f"{seconds / 60:.1f}\u00a0min"


def reading_span(words: Iterable[int]) -> str:
    """Return the shortest and the longest of some reading times."""
    words = list(words)
    low, high = reading_time(min(words)), reading_time(max(words))
    number, _, unit = low.partition("\u00a0")
    return low if low == high else f"{number if high.endswith(unit) else low} to {high}"


def _span(values: Iterable[int]) -> str:
    values = list(values)
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _some(names: Iterable[object], most: int = 3) -> str:
    words = [str(name) for name in names]
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


# --- What is asked of items everywhere --------------------------------------------------------------------------------

_HEAD_FACTORS = (
    "scenario",
    "version",
    "template_id",
    "capability_type",
    "condition",
    "inference_level",
    "pov",
    "variant",
)


@dataclass(frozen=True)
class Texts:
    """What a participant reads of an item."""

    story: str
    prompt: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Texts":
        """Return the texts of a multiple-choice content."""
        return cls(content.get("text", ""), content["prompt"], tuple(content["options"]))

    @property
    def n_words(self) -> int:
        """Words of story, question and options: what stands between spaces."""
        return sum(len(text.split()) for text in (self.story, self.prompt, *self.options))


def _order(level: Factor) -> tuple[int, float, Sequence[tuple[bool, int, str]]]:
    """Order levels of any kind: the missing one, then numbers by value, then texts with 10 after 9."""
    if level is None:
        return 0, 0.0, []
    return (2, 0.0, natural_id(level)) if isinstance(level, str) else (1, float(level), [])


def _place(item: Item) -> list[tuple[int, float, Sequence[tuple[bool, int, str]]]]:
    """Return the sort key of the page: by story, question, variant and cell."""
    names = ("scenario_number", *_HEAD_FACTORS[:4], "variant", "pov", "condition", "inference_level")
    return [*(_order(item.factors.get(name)) for name in names), _order(item.item_id)]


def _levels(items: Iterable[Item], name: str) -> list[Factor]:
    """Return the levels of a factor that the items have, in order."""
    found = {item.factors[name] for item in items if name in item.factors}
    return sorted(found, key=_kind_order if name == "capability_type" else _order)


def _kind_order(kind: Factor) -> tuple[int, str]:
    return (KINDS.index(kind), "") if kind in KINDS else (len(KINDS), str(kind))


def _by(items: Iterable[Item], key: Callable[[Item], K]) -> dict[K, list[Item]]:
    parts: dict[K, list[Item]] = defaultdict(list)
    for item in items:
        parts[key(item)].append(item)
    return dict(parts)


def _factors(*names: str) -> Callable[[Item], tuple[Factor, ...]]:
    return lambda item: tuple(item.factors.get(name) for name in names)


def _cell_name(item: Item) -> str:
    return "".join(str(item.factors[name]) for name in ("condition", "inference_level") if name in item.factors)


# --- Words, reading time and answer positions -------------------------------------------------------------------------


@dataclass(frozen=True)
class WordRow:
    """Words of some items: fewest, median and most."""

    label: str
    n_items: int
    story: tuple[float, float, float]
    whole: tuple[float, float, float]


def _word_rows(items: list[Item]) -> list[WordRow]:
    """Return all items, then each kind of question in each condition, then each level."""
    texts = {item.item_id: Texts.of(item.content) for item in items}

    def row(label: str, items: list[Item]) -> WordRow:
        story = [len(texts[item.item_id].story.split()) for item in items]
        whole = [texts[item.item_id].n_words for item in items]
        spread = [(min(words), median(words), max(words)) for words in (story, whole)]
        return WordRow(label, len(items), spread[0], spread[1])

    by_level = _by((item for item in items if "inference_level" in item.factors), _factors("inference_level"))
    levels = sorted(by_level.items(), key=lambda part: _order(part[0][0]))
    return [
        row("all", items),
        *(row(label, part) for label, part in _by_kind_and_condition(items)),
        *(row(f"level {level}", part) for (level,), part in levels if len(levels) > 1),
    ]


def _by_kind_and_condition(items: Iterable[Item]) -> list[tuple[str, list[Item]]]:
    parts = _by(items, _factors("capability_type", "condition"))
    if len(parts) == 1:
        return []
    ordered = sorted(parts.items(), key=lambda part: (_kind_order(part[0][0]), _order(part[0][1])))
    return [(" ".join((kind_words(kind), "" if condition is None else str(condition))), part)
            for (kind, condition), part in ordered]  # fmt: skip


@dataclass(frozen=True)
class Position:
    """How often the right answer stands in one place."""

    n: int
    share: float
    expected: float
    """The share that an even spread gives; below 1/4 where some items have fewer options."""
    over_groups: str


def _position_table(items: list[Item], groups: Mapping[str, int] | None) -> dict[str, Any]:
    """Return the rows of the answer positions, and the share at which a bar is full."""
    n_places = max(len(Texts.of(item.content).options) for item in items)

    def row(label: str, items: list[Item]) -> dict[str, Any]:
        sizes = [len(Texts.of(item.content).options) for item in items]
        right = Counter(item.key for item in items if isinstance(item.key, int))
        in_group = Counter((groups[item.item_id], item.key) for item in items if groups and isinstance(item.key, int))
        seen_by = {groups[item.item_id] for item in items} if groups else set()
        places = [
            Position(
                right[place],
                right[place] / len(items),
                sum(1 / size for size in sizes if size >= place) / len(items),
                _span(in_group[group, place] for group in seen_by) if seen_by else "",
            )
            for place in range(1, n_places + 1)
        ]
        return {"label": label, "n_items": len(items), "places": places}

    rows = [row("all", items), *(row(label, part) for label, part in _by_kind_and_condition(items))]
    shares = [share for line in rows for place in line["places"] for share in (place.share, 2 * place.expected)]
    return {
        "n_places": n_places,
        "rows": rows,
        "full": max(shares),
        "same_answer": max(place.share for place in rows[0]["places"]),
        "same_answer_in_group": max(_same_answer(seen) for seen in _by_group(items, groups).values())
        if groups
        else None,
    }


def _same_answer(items: list[Item]) -> float:
    """Return the share that is right for who always chooses the same option, the best one."""
    return Counter(str(item.key) for item in items).most_common(1)[0][1] / len(items)


def _by_group(items: Iterable[Item], groups: Mapping[str, int]) -> dict[int, list[Item]]:
    return dict(sorted(_by(items, lambda item: groups[item.item_id]).items()))


# --- The counterbalance groups ----------------------------------------------------------------------------------------


def _group_rows(items: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    """Return what each group sees, counted."""
    conditions, levels = _levels(items, "condition"), _levels(items, "inference_level")
    cells = {_cell_name(item) for item in items}
    rows = []
    for group, seen in _by_group(items, groups).items():
        in_cell = Counter(_cell_name(item) for item in seen)
        rows.append(
            {
                "group": group,
                "n_items": len(seen),
                "conditions": [sum(item.factors.get("condition") == one for item in seen) for one in conditions],
                "levels": [sum(item.factors.get("inference_level") == one for item in seen) for one in levels],
                "cells": _span(in_cell[cell] for cell in cells) if conditions and levels else "",
                "words": sum(Texts.of(item.content).n_words for item in seen),
            }
        )
    return {"conditions": conditions, "levels": levels, "has_cells": bool(conditions and levels), "rows": rows}


@dataclass(frozen=True)
class Fact:
    """A property of the design, and whether it holds."""

    holds: bool
    sentence: str


def balance_facts(battery: Battery, groups: Mapping[str, int]) -> list[Fact]:
    """Return what holds of a counterbalance design and what does not, found by counting.

    What the items have no factors for is not judged.
    """
    items = [item for item in battery.items if item.item_id in groups]
    have = {name for name in _HEAD_FACTORS if all(name in item.factors for item in items)}
    by_group = _by_group(items, groups)
    facts = [_fact_of_items(battery, groups), _fact_of_sizes(by_group)]
    # Two kinds of question have conditions of the same letters; they are counted each for itself.
    kind = ("capability_type",) if len(_levels(items, "capability_type")) > 1 else ()
    if {"scenario", "condition"} <= have:
        facts.append(_fact_of_cells(items, groups, have))
    for names, words in (
        (("condition",), "condition"),
        (("inference_level",), "level"),
        (("condition", "inference_level"), "condition at each level"),
    ):
        if have.issuperset(names):
            of_kind = " of a kind of question" if kind else ""
            facts.append(_fact_of_evenness(by_group, _factors(*kind), _factors(*kind, *names), words + of_kind))
    if "scenario" in have:
        story = [name for name in ("scenario", "version", "template_id") if name in have]
        facts.append(_fact_of_stories(items, by_group, _factors(*story), "question" if kind else "story"))
    if {"scenario", "condition"} <= have:
        of_kind = " in questions of one kind" if kind else ""
        facts.append(_fact_of_repeats(by_group, _factors(*kind, "scenario", "condition"), of_kind))
    return facts


def _fact_of_items(battery: Battery, groups: Mapping[str, int]) -> Fact:
    unknown = sorted(item_id for item_id in groups if item_id not in battery.by_id)
    if unknown:
        return Fact(
            False, f"The groups name {count(len(unknown), 'item')} that the battery does not have: {_some(unknown)}."
        )
    return Fact(True, f"Every one of the {count(len(groups), 'test item')} is seen by exactly one group.")


def _fact_of_sizes(by_group: Mapping[int, list[Item]]) -> Fact:
    missing = [group for group in range(1, max(by_group) + 1) if group not in by_group]
    if missing:
        return Fact(False, f"No item is in group {_some(missing)}.")
    sizes = {len(seen) for seen in by_group.values()}
    holds = len(sizes) == 1
    items = "item" if sizes == {1} else "items"
    return Fact(holds, f"{'Every group sees' if holds else 'The groups see'} {_span(sizes)} {items}.")


def _fact_of_cells(items: list[Item], groups: Mapping[str, int], have: set[str]) -> Fact:
    """Judge whether every question is seen in each of its cells, by one group, once."""
    question = [name for name in ("scenario", "version", "template_id") if name in have]
    cell = [name for name in ("condition", "inference_level", "pov") if name in have]
    if len(_levels(items, "pov")) < 2:
        cell = [name for name in cell if name != "pov"]
    questions = _by(items, _factors(*question))
    if len(_by(items, _factors("scenario", "version"))) == len(questions):
        question = [name for name in question if name != "template_id"]
    names = {"template_id": "question", "inference_level": "level", "pov": "point of view"}
    words = " × ".join(names.get(name, name) for name in question + cell)
    cells = _by(items, _factors(*question, *cell))
    n_seeing = [len({groups[item.item_id] for item in part}) for part in cells.values()]
    n_several = sum(n > 1 for n in n_seeing)
    n_again = sum(len(part) > n for part, n in zip(cells.values(), n_seeing, strict=True))
    by_kind = _by(items, _factors("capability_type"))
    n_crossed = sum(
        prod(len(_levels(by_kind[_factors("capability_type")(part[0])], name)) for name in cell)
        for part in questions.values()
    )
    faults = [
        f"{n_several:,} are seen by more than one group" if n_several else "",
        f"{n_again:,} more than once by the same group" if n_again else "",
        f"{n_crossed - len(cells):,} by no group" if n_crossed > len(cells) else "",
    ]
    if not any(faults):
        return Fact(True, f"Every {words} is seen by exactly one group, once: {len(cells):,} of {n_crossed:,}.")
    example = next((part for part in cells.values() if len(part) > 1), None)
    such = f", such as {_some(item.item_id for item in example)}" if example else ""
    return Fact(False, f"Of {n_crossed:,} ({words}), {', '.join(fault for fault in faults if fault)}{such}.")


def _fact_of_evenness(
    by_group: Mapping[int, list[Item]],
    kind: Callable[[Item], Hashable],
    cell: Callable[[Item], Hashable],
    words: str,
) -> Fact:
    """Judge whether each group sees all cells of a kind of question equally often."""
    every: dict[Hashable, set[Hashable]] = defaultdict(set)
    for seen in by_group.values():
        for item in seen:
            every[kind(item)].add(cell(item))
    uneven: list[int] = []
    counts: set[int] = set()
    for group, seen in by_group.items():
        tally = Counter(map(cell, seen))
        in_group = [{tally[one] for one in cells} for cells in every.values()]
        counts |= set().union(*in_group)
        uneven += [group] if any(len(of_kind) > 1 for of_kind in in_group) else []
    if uneven:
        who = f"{len(uneven):,} of {count(len(by_group), 'group')} (group {_some(uneven)})"
        return Fact(False, f"Not every {words} is seen equally often in {who}, but {_span(counts)} times.")
    return Fact(True, f"Within every group each {words} is seen equally often: {_span(counts)} times.")


def _fact_of_stories(
    items: list[Item], by_group: Mapping[int, list[Item]], story: Callable[[Item], Hashable], word: str
) -> Fact:
    stories = set(map(story, items))
    tallies = [Counter(map(story, seen)) for seen in by_group.values()]
    times = {tally[one] for tally in tallies for one in stories}
    if times == {1}:
        return Fact(True, f"Every group sees each {word} once: {len(stories):,} of {len(stories):,}.")
    return Fact(False, f"Not every group sees each {word} once, but {_span(times)} times.")


def _fact_of_repeats(by_group: Mapping[int, list[Item]], condition: Callable[[Item], Hashable], of_kind: str) -> Fact:
    repeats = {
        group: [part for part in _by(seen, condition).values() if len(part) > 1] for group, seen in by_group.items()
    }
    twice = [group for group, parts in repeats.items() if parts]
    if not twice:
        return Fact(True, f"Nobody sees the same condition of a scenario twice{of_kind}.")
    first = repeats[twice[0]][0]
    return Fact(
        False,
        f"In {len(twice):,} of {count(len(by_group), 'group')} somebody sees the same condition "
        f"of a scenario twice{of_kind}, such as group {twice[0]}: {_some((item.item_id for item in first), 2)}.",
    )


@dataclass(frozen=True)
class Square:
    """What one group sees of one story, in the picture of the matrix."""

    group: int
    label: str
    colour: int | None
    """Place of the condition among all conditions; None where several are seen, or none."""
    item_ids: tuple[str, ...]


@dataclass(frozen=True)
class MatrixRow:
    """A version of a scenario, or one question on it."""

    label: str
    begins_scenario: bool
    squares: tuple[Square, ...]


def counterbalance_matrix(stories: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    """Return the matrix of stories (rows) by groups, as much of it as a picture can hold."""
    conditions = _levels(stories, "condition")
    questions = _by(stories, _factors("scenario", "version", "capability_type", "template_id"))
    several = len({names[:2] for names in questions}) < len(questions)
    columns = sorted({groups[item.item_id] for item in stories})
    rows: list[MatrixRow] = []
    before: Factor = None
    for (scenario, version, kind, _), items in list(questions.items())[:MOST_ROWS]:
        by_group = _by_group(items, groups)
        words = [scenario, version, kind_words(kind) if several else None]
        label = " ".join(str(word) for word in words if word is not None)
        squares = (_square(group, by_group.get(group, []), conditions) for group in columns[:MOST_GROUPS])
        rows.append(MatrixRow(label, scenario != before, tuple(squares)))
        before = scenario
    longest = max(len(square.label) for row in rows for square in row.squares)
    return {
        "columns": columns[:MOST_GROUPS],
        "rows": rows,
        "n_more_rows": len(questions) - len(rows),
        "n_more_columns": len(columns[MOST_GROUPS:]),
        # Widths in pixels, for letters of 12 and 13 pixels.
        "square_width": max(36, 8 * longest + 8),
        "label_width": 16 + 7 * max(len(row.label) for row in rows),
    }


def _square(group: int, items: list[Item], conditions: list[Factor]) -> Square:
    cells = Counter(_cell_name(item) for item in items)
    seen = {item.factors.get("condition") for item in items}
    colour = conditions.index(next(iter(seen))) if len(seen) == 1 and seen <= set(conditions) else None
    names = [name or "seen" for name in cells]
    label = f"{len(items)} items" if len(names) > 1 else "".join(names) + (f"×{len(items)}" if len(items) > 1 else "")
    return Square(group, label, colour, tuple(item.item_id for item in items))


# --- What differs between two texts -----------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(?:\w+(?:['’-]\w+)*|[^\w\s])|\s+\Z")
"""A word or a punctuation mark, with the space before it."""


def tokens_of(text: str) -> list[str]:
    """Return the words and punctuation marks of a text; put together they are the text."""
    return _TOKEN.findall(text)


@dataclass(frozen=True)
class Piece:
    """A stretch of a text, and what it differs from."""

    text: str
    condition: bool = False
    level: bool = False


def differences(one: Sequence[str], other: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the places of the tokens of `one` that `other` has not, and those of `other` that `one` has not."""
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    # Matched texts are nearly alike; what is alike at both ends need not be searched.
    matcher = SequenceMatcher(None, one[start : len(one) - end], other[start : len(other) - end], autojunk=False)
    mine: set[int] = set()
    others: set[int] = set()
    for what, begin, stop, other_begin, other_stop in matcher.get_opcodes():
        if what != "equal":
            mine |= set(range(start + begin, start + stop))
            others |= set(range(start + other_begin, start + other_stop))
    return mine, others


def pieces(tokens: Sequence[str], condition: set[int], level: set[int]) -> tuple[Piece, ...]:
    """Return a text cut where marks begin and end.

    The space before a marked word is marked only where the space itself is what may differ, such as a doubled one.
    """
    cut: list[Piece] = []
    for place, token in enumerate(tokens):
        marks = place in condition, place in level
        word = token.lstrip() if token.strip() else token
        space = token[: len(token) - len(word)]
        if cut and (cut[-1].condition, cut[-1].level) == marks:
            cut[-1] = Piece(cut[-1].text + token, *marks)
        elif space and any(marks) and "  " not in space:
            cut += [Piece(space), Piece(word, *marks)]
        else:
            cut.append(Piece(token, *marks))
    return tuple(cut)


def _compared(texts: Mapping[K, Sequence[str]], reference: K) -> dict[K, "Comparison"]:
    """Compare texts with the reference; its own marks are the words that some other text has not."""
    found = {}
    of_reference: set[int] = set()
    for name, tokens in texts.items():
        if reference in texts and name != reference:
            lost, marks = differences(texts[reference], tokens)
            of_reference |= lost
            gone, new = (sum(bool(re.search(r"\w", words[place])) for place in places)
                         for words, places in ((texts[reference], lost), (tokens, marks)))  # fmt: skip
            found[name] = Comparison(marks, f"+{new} −{gone}" if lost or marks else "the same")
        else:
            found[name] = Comparison(set(), "")
    if reference in texts:
        found[reference] = Comparison(of_reference, "")
    return found


@dataclass(frozen=True)
class Comparison:
    """Places of the tokens that differ, and how many words are more and fewer, for a reader."""

    marks: set[int]
    words: str


# --- The instances, side by side --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """An instance in its place among the conditions and levels of its variant."""

    item_id: str
    group: int | None
    story: tuple[Piece, ...]
    n_words: int
    from_condition: str
    from_level: str
    prompt: tuple[Piece, ...]
    options: tuple[tuple[str, bool], ...]
    """Text, and whether it is right."""


Place = tuple[Factor, Factor]
"""Condition and level."""
Grid = dict[Place, Item]
"""The instances of one variant from one point of view."""


def _scenarios(stories: list[Item], groups: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return scenarios, with their questions, with their blocks, numbered so that each has an address."""
    scenarios = []
    numbers = iter(range(1, len(stories) + 1))
    for (number, scenario), items in _by(stories, _factors("scenario_number", "scenario")).items():
        questions = [
            {
                "number": next(numbers),
                "version": version,
                "kind": kind_words(kind),
                "template_id": template_id,
                **_question(of_question, groups),
            }
            for (version, template_id, kind), of_question in _by(
                items, _factors("version", "template_id", "capability_type")
            ).items()
        ]
        metadata = {
            name.replace("_", " "): _levels(items, name)[0]
            for name in ("causal_type", "causal_direction", "novelty", "provided", "required")
            if len(_levels(items, name)) == 1 and _levels(items, name) != [""]
        }
        scenarios.append({"number": number, "name": scenario, "questions": questions, "metadata": metadata})
    return scenarios


def _question(items: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    by_variant: dict[Factor, dict[Factor, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item, variant in _with_variants(items):
        by_variant[variant][item.factors.get("pov")].append(item)
    shown = list(by_variant.items())[:MOST_VARIANTS]
    hidden = list(by_variant.items())[MOST_VARIANTS:]
    parts = [(variant, pov, of_pov) for variant, povs in shown for pov, of_pov in povs.items()]
    first = _perturbed_to_show(parts[0][2])
    return {
        "blocks": [
            {**_block(*part, groups), "perturbed": [] if number else [_perturbed(item) for item in first]}
            for number, part in enumerate(parts)
        ],
        "n_hidden": len(hidden),
        "n_hidden_items": sum(len(of_pov) for _, povs in hidden for of_pov in povs.values()),
    }


def _with_variants(items: list[Item]) -> list[tuple[Item, Factor]]:
    """Return items with their variant; where a battery does not say it, the n-th item of a cell is of the n-th."""
    alike = Counter[Hashable]()
    found: list[tuple[Item, Factor]] = []
    cell = _factors("variant", "pov", "condition", "inference_level", *PERTURBATION_COLUMNS)
    for item in items:
        alike[key := (cell(item), item.clean is None)] += 1
        variant, copy = item.factors.get("variant"), alike[key]
        found.append((item, copy if variant is None else variant if copy == 1 else f"{variant}, copy {copy}"))
    return found


def _block(variant: Factor, pov: Factor, items: list[Item], groups: Mapping[str, int]) -> dict[str, Any]:
    """Return one variant from one point of view: its grid, and its question where all cells share it."""
    grid: Grid = {}
    for item in sorted(items, key=lambda item: item.clean is not None):
        # Without an unperturbed instance, the clean text of a perturbed one stands in the grid.
        clean = item if item.clean is None else item.model_copy(update={"content": item.clean})
        grid.setdefault((item.factors.get("condition"), item.factors.get("inference_level")), clean)
    conditions = sorted({condition for condition, _ in grid}, key=_order)
    levels = sorted({level for _, level in grid}, key=_order)
    cells = _cells(grid, conditions, levels, groups)
    texts = [Texts.of(item.content) for item in grid.values()]
    shared = len({(one.prompt, one.options) for one in texts}) == 1
    pov_words = "" if pov is None else f"{pov} person"
    return {
        "title": ", ".join(words for words in (f"Variant {variant}", pov_words) if words),
        "n_items": len(items),
        "columns": [_column(condition, conditions, grid) for condition in conditions],
        "rows": [(level, [cells.get((condition, level)) for condition in conditions]) for level in levels],
        "reference": (_reference(conditions, REFERENCE_CONDITION), _reference(levels, REFERENCE_LEVEL)),
        "shared": _shared_question(texts[0], conditions, grid) if shared else None,
        "n_perturbed": sum(item.clean is not None for item in items),
    }


def _reference(levels: list[Factor], usual: Level) -> Factor:
    return next((level for level in levels if level == usual), levels[0])


def _column(condition: Factor, conditions: list[Factor], grid: Grid) -> dict[str, Any]:
    """Return the head of a condition's column, with the demands that it adds to the reference condition."""

    def demands(of: Factor) -> list[str]:
        item = next(item for (condition, _), item in grid.items() if condition == of)
        return [name for name in str(item.factors.get("demands", "")).split("; ") if name]

    item = next(item for (one, _), item in grid.items() if one == condition)
    reference = demands(_reference(conditions, REFERENCE_CONDITION))
    added = [name for name in demands(condition) if name not in reference]
    return {"condition": condition, "demand_condition": item.factors.get("demand_condition"), "adds": added}


def _cells(grid: Grid, conditions: list[Factor], levels: list[Factor], groups: Mapping[str, int]) -> dict[Place, Cell]:
    condition, level = _reference(conditions, REFERENCE_CONDITION), _reference(levels, REFERENCE_LEVEL)
    texts = {place: Texts.of(item.content) for place, item in grid.items()}
    stories = {place: tokens_of(one.story) for place, one in texts.items()}
    prompts = {place: tokens_of(one.prompt) for place, one in texts.items()}
    across: dict[Place, Comparison] = {}
    prompts_across: dict[Place, Comparison] = {}
    down: dict[Place, Comparison] = {}
    for one in levels:
        row = [place for place in grid if place[1] == one]
        across |= _compared({place: stories[place] for place in row}, (condition, one))
        prompts_across |= _compared({place: prompts[place] for place in row}, (condition, one))
    for one in conditions:
        down |= _compared({place: stories[place] for place in grid if place[0] == one}, (one, level))
    return {
        place: Cell(
            item.item_id,
            groups.get(item.item_id),
            pieces(stories[place], across[place].marks, down[place].marks),
            len(texts[place].story.split()),
            across[place].words,
            down[place].words,
            pieces(prompts[place], prompts_across[place].marks, set()),
            tuple((option, number == item.key) for number, option in enumerate(texts[place].options, start=1)),
        )
        for place, item in grid.items()
    }


def _shared_question(texts: Texts, conditions: list[Factor], grid: Grid) -> dict[str, Any]:
    """Return a question that all cells share: of each option, at which levels it is right in each condition."""
    options = []
    for number, text in enumerate(texts.options, start=1):
        right = []
        for condition in conditions:
            levels = [(level, item.key == number) for (one, level), item in grid.items() if one == condition]
            at = [str(level) for level, is_right in levels if is_right]
            # The level is named only where it matters, which it should not.
            right.append("" if not at else "right" if len(at) == len(levels) else f"right at level {', '.join(at)}")
        options.append({"number": number, "text": text, "right": right})
    return {"prompt": texts.prompt, "options": options}


def _perturbed_to_show(items: list[Item]) -> list[Item]:
    """Return all perturbed items, or one for each perturbation where there are too many."""
    perturbed = [item for item in items if item.clean is not None]
    if len(perturbed) <= MOST_PERTURBED:
        return perturbed
    return [part[0] for part in _by(perturbed, _factors(*PERTURBATION_COLUMNS)).values()]


def _perturbed(item: Item) -> dict[str, Any]:
    assert item.clean is not None
    clean, shown = Texts.of(item.clean), Texts.of(item.content)
    pairs = [(clean.story, shown.story), (clean.prompt, shown.prompt)]
    pairs += zip(clean.options, shown.options, strict=False) if clean.options != shown.options else []
    tokens = [(tokens_of(before), tokens_of(after)) for before, after in pairs if before or after]
    degrees = {name: item.factors[name] for name in PERTURBATION_COLUMNS if item.factors.get(name)}
    return {
        "item_id": item.item_id,
        "cell": _cell_name(item),
        "degrees": ", ".join(f"{name.replace('_', ' ')} {degree}" for name, degree in degrees.items()),
        "pairs": [
            ("".join(before), pieces(after, differences(before, after)[1], set())) for before, after in tokens
        ],
    }  # fmt: skip


# --- Items that are no instances of a story ---------------------------------------------------------------------------


def _listed(items: Iterable[Item]) -> dict[str, Any]:
    items = sorted(items, key=lambda item: _order(item.item_id))
    shown = [
        {
            "item_id": item.item_id,
            "texts": (texts := Texts.of(item.content)),
            "options": [(option, number == item.key) for number, option in enumerate(texts.options, start=1)],
            "factors": item.factors,
        }
        for item in items[:MOST_LISTED]
    ]
    words = sum(Texts.of(item.content).n_words for item in items)
    return {"shown": shown, "n_items": len(items), "n_words": words}
