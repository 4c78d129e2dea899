"""Labels: the names, places, items or numbers in the slots of a story, for each variant.

For each variant, new labels are drawn with the weights from the tables. Within a variant, all slots have different
labels. Two variants of a story differ in at least one label. Draws use only `random.Random.random()`, which returns the
same numbers in all versions of Python.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import fsum

from batteries.errors import InputError
from batteries.vignettes.templates.markup import parse_markup, render, slots_in
from batteries.vignettes.templates.models import ContextVersion
from batteries.vignettes.templates.tables import Tables

SMALL_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
BIG_NUMBERS = tuple(str(number) for number in range(50, 101))
PROTAGONIST = "pov name"
"""Key of the slot with the protagonist's name in the third person."""
_FIRST = ("you", "your", "are", "you", "you", "", "were", "have", "your", "")
_THIRD = ("{name}", "their", "is", "they", "them", "s", "was", "has", "{name}'s", "es")
N_POV_SLOTS = len(_FIRST)
NOT_DRAWN = ("filler", "coinflip", "otherside", "pov", "switch", "pseudo")
"""Prefixes of keys whose labels are not drawn from a pool."""
_ONSETS = (*"bdfgklmnprstvz", "bl", "dr", "fl", "gr", "pl", "st", "tr")
_VOWELS = tuple("aeiou")
_CODAS = ("", "", "", "b", "d", "k", "l", "m", "n", "p", "rn", "sk")
_TRIES = 1000
_MOST_LEFT = 100_000
"""Maximum number of unused combinations of labels to list after `_TRIES` random draws without an unused one."""


@dataclass(frozen=True)
class LabelSlot:
    """A slot with a label from a pool."""

    key: str
    pool: Mapping[str, float]
    """Weight of each label."""


def prefix_of(key: str) -> str:
    """Return the part of a key before the number, such as `name` for `name_2`."""
    return key.split("_", maxsplit=1)[0]


def label_slots(story: ContextVersion, tables: Tables, third_person: bool) -> list[LabelSlot]:
    """Return the slots of a story whose labels come from pools. Slots with small pools come first, and are drawn first.

    If the column of a pool is missing in the tables, the pool is empty. The checks report the missing column.
    """
    slots = []
    for key in dict.fromkeys([*story.variables, *sorted(story.items), *sorted(story.activities)]):
        prefix = prefix_of(key)
        if key in story.items:
            slots.append(LabelSlot(key, dict.fromkeys(tables.items.matching(story.items[key]), 1.0)))
        elif key in story.activities:
            slots.append(LabelSlot(key, dict.fromkeys(tables.activities.matching(story.activities[key]), 1.0)))
        elif prefix in {"smallnumber", "bignumber"}:
            slots.append(LabelSlot(key, dict.fromkeys(SMALL_NUMBERS if prefix == "smallnumber" else BIG_NUMBERS, 1.0)))
        elif prefix not in NOT_DRAWN:
            slots.append(LabelSlot(key, dict(sorted(tables.pools.get(prefix, {}).items()))))
    if third_person:
        slots.append(LabelSlot(PROTAGONIST, dict(sorted(tables.pools.get("name", {}).items()))))
    return sorted(slots, key=lambda slot: len(slot.pool))


def shown_keys(story: ContextVersion, levels: Iterable[int]) -> set[str]:
    """Return the keys whose labels appear in a story in every condition, and at every inference level of `levels`."""
    fillers = [story.filler[level] for level in map(str, levels) if level in story.filler]

    def shown(text: str, above: frozenset[str]) -> set[str]:
        found = set()
        for slot in slots_in(text):
            alternatives: Sequence[str] = story.switches.get(slot.key, ())
            if slot.key == "filler":
                alternatives = fillers
            elif slot.key.startswith(("coinflip_", "otherside_")):
                found.add(f"coinflip_{slot.key.split('_')[-1]}")
                alternatives = story.coinflips.get(f"coinflip_{slot.key.split('_')[-1]}", ())
            elif not slot.form:  # "they" does not distinguish two labels.
                found.add(slot.key)
            if alternatives and slot.key not in above:
                found |= set.intersection(*(shown(inner, above | {slot.key}) for inner in alternatives))
        return found

    return shown(story.context, frozenset())


def shortages(story: ContextVersion, slots: list[LabelSlot], n_variants: int, levels: Iterable[int]) -> dict[str, str]:
    """Return a sentence for each key with a pool that is too small. The result is empty if no draw can fail.

    Earlier slots can use up labels from the pool of a later slot. So this pool must have more labels than earlier slots
    can use. Also, every variant needs a different story. So the labels that appear in every instance must have enough
    different combinations.
    """
    found = {}
    for place, slot in enumerate(slots):
        labels = {label.casefold() for label in slot.pool}
        rivals = [other.key for other in slots[:place] if labels & {label.casefold() for label in other.pool}]
        if slot.pool and len(slot.pool) <= len(rivals):
            others = " and ".join(map(_named, rivals))
            found[slot.key] = (
                f"only {len(slot.pool)} labels are possible for {_named(slot.key)}, and {others} may use up these "
                "labels first. Fix: add labels, or require fewer attributes."
            )
    shown = shown_keys(story, levels)
    if found or any(prefix_of(key) == "pseudo" for key in shown) or not all(slot.pool for slot in slots):
        return found
    n_stories = sum(1 for _ in islice(_all_draws(story, slots, shown), n_variants))
    if n_stories < n_variants:
        varied = [slot for slot in slots if slot.key in shown]
        stories = f"{n_stories} different {'story' if n_stories == 1 else 'stories'}"
        small = f" ({varied[0].key} has {len(varied[0].pool)} labels)" if varied else ""
        found[varied[0].key if varied else "variables"] = (
            f"the labels are enough for {stories}{small}, but {n_variants} variants are needed. Fix: use fewer "
            "variants, add labels, or add a variable that appears in all conditions and levels."
        )
    return found


def draw_variants(
    story: ContextVersion, slots: list[LabelSlot], n_variants: int, levels: Iterable[int], rng: random.Random
) -> Iterator[dict[str, str]]:
    """Yield the labels of each variant, by key. The keys `pov_1` to `pov_10` (`pov_labels`) are not included.

    Raises
    ------
    InputError
        If there are not enough labels. `shortages` reports this earlier.
    """
    shown = sorted(shown_keys(story, levels))
    seen: set[tuple[str | None, ...]] = set()

    def identity(drawn: dict[str, str]) -> tuple[str | None, ...]:
        return tuple(drawn.get(key) for key in shown)

    for _ in range(n_variants):
        for _ in range(_TRIES):
            drawn = _draw(story, slots, {}, rng)
            if identity(drawn) not in seen:
                break
        else:
            left = (draw for draw in _all_draws(story, slots, set(shown)) if identity(draw) not in seen)
            rest = list(islice(left, _MOST_LEFT))
            if not rest:
                raise InputError("there are not enough labels for the variants. Fix: use fewer variants.")
            drawn = _draw(story, slots, rest[int(rng.random() * len(rest))], rng)
        seen.add(identity(drawn))
        yield _with_othersides(story, drawn)


def pov_labels(pov: str, name: str | None) -> dict[str, str]:
    """Return the labels of `pov_1` to `pov_10`. In the third person, they contain the protagonist's name."""
    forms = _FIRST if pov == "first" else _THIRD
    return {f"pov_{number}": form.format(name=name) for number, form in enumerate(forms, start=1)}


def _named(key: str) -> str:
    return "the third person's name" if key == PROTAGONIST else key


def _draw(
    story: ContextVersion, slots: list[LabelSlot], given: Mapping[str, str], rng: random.Random
) -> dict[str, str]:
    """Return a label for each slot, a new pseudo-word for each of its keys, and one of the two texts of each coinflip.

    Labels in `given` are kept.
    """
    drawn = dict(given)
    taken = {given[slot.key].casefold() for slot in slots if slot.key in given}
    for slot in slots:
        if slot.key in given:
            continue
        free = [(label, weight) for label, weight in slot.pool.items() if label.casefold() not in taken]
        if not free:
            raise InputError(f"no unused label is left for {_named(slot.key)}. Fix: add labels to the tables.")
        drawn[slot.key] = _weighted_choice(free, rng)
        taken.add(drawn[slot.key].casefold())
    for key in story.variables:
        if prefix_of(key) == "pseudo":
            while (word := _pseudo_word(rng)) in taken:
                pass
            taken.add(word)
            drawn[key] = word
    for key, texts in sorted(story.coinflips.items()):
        drawn.setdefault(key, texts[rng.random() < 0.5])
    return drawn


def _all_draws(story: ContextVersion, slots: list[LabelSlot], keys: set[str]) -> Iterator[dict[str, str]]:
    """Yield all possible draws for the labels and coinflips (pairs of texts) with these keys.

    Pseudo-words are left out.
    """

    def assignments(remaining: list[LabelSlot], drawn: dict[str, str]) -> Iterator[dict[str, str]]:
        if not remaining:
            yield drawn
            return
        taken = {label.casefold() for label in drawn.values()}
        for label in remaining[0].pool:
            if label.casefold() not in taken:
                yield from assignments(remaining[1:], {**drawn, remaining[0].key: label})

    coinflips = [(key, texts) for key, texts in sorted(story.coinflips.items()) if key in keys]
    for labels in assignments([slot for slot in slots if slot.key in keys], {}):
        for sides in product(*(texts for _, texts in coinflips)):
            yield labels | dict(zip((key for key, _ in coinflips), sides, strict=True))


def _with_othersides(story: ContextVersion, drawn: dict[str, str]) -> dict[str, str]:
    """Return the labels, with the drawn text and the other text of each coinflip (pair of texts)."""
    labels = dict(drawn)
    for key, texts in story.coinflips.items():
        other = texts[drawn[key] == texts[0]]
        for name, text in ((key, drawn[key]), (f"otherside_{key.split('_')[-1]}", other)):
            labels[name] = render(parse_markup(text), drawn)
    return labels


def _weighted_choice(choices: list[tuple[str, float]], rng: random.Random) -> str:
    # fsum, not sum: fsum rounds alike in every version of Python, so the battery is the same.
    remaining = rng.random() * fsum(weight for _, weight in choices)
    for label, weight in choices:
        remaining -= weight
        if remaining < 0:
            return label
    return choices[-1][0]  # Rounding can leave a small remainder.


def _pseudo_word(rng: random.Random) -> str:
    """Return a pronounceable word that has two or three syllables and 4 to 7 letters."""

    def one(of: tuple[str, ...]) -> str:
        return of[int(rng.random() * len(of))]

    while True:
        n_syllables = 2 + (rng.random() < 0.3)
        word = "".join(one(_ONSETS) + one(_VOWELS) for _ in range(n_syllables)) + one(_CODAS)
        if 4 <= len(word) <= 7:
            return word
