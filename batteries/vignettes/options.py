"""Whether two options of a question could read the same, for some draw of the labels."""

import random
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import prod

from batteries.vignettes.labels import PROTAGONIST, label_slots, pov_labels
from batteries.vignettes.markup import Compiler, Phrase, Piece, Slot, render
from batteries.vignettes.spec import BuildSpec, conditions_of
from batteries.vignettes.tables import Tables
from batteries.vignettes.template_set import Question

_MOST_DRAWS = 20_000
"""Draws that are all tried; of more, this many at random."""


def same_options(question: Question, spec: BuildSpec, tables: Tables) -> Iterator[str]:
    """Yield a sentence for each pair of options that read the same, for at least one draw."""
    story = question.story
    assert story is not None
    compiler = Compiler(story.switches, story.filler)
    pools = {slot.key: list(slot.pool) for slot in label_slots(story, tables, "third" in spec.pov)}
    for key, texts in story.coinflips.items():
        pools[key] = pools[f"otherside_{key.split('_')[-1]}"] = texts
    found: set[tuple[int, int]] = set()
    tried = set()
    settings = product(conditions_of(question, spec), spec.inference_levels, spec.pov)
    for condition, level, pov in settings:
        links = tuple(question.qa.links[condition])
        options = [compiler.resolve(text, links, str(level)) for text in question.qa.question.options]
        for (one, left), (other, right) in combinations(enumerate(options, start=1), 2):
            if (one, other) in found or (left, right, pov) in tried:
                continue
            tried.add((left, right, pov))
            text = _common_text(left, right, pools, pov)
            if text is not None:
                found.add((one, other))
                yield f"the options {one} and {other} can both read “{text}”; make them different for every label."


def _common_text(
    left: tuple[Piece, ...], right: tuple[Piece, ...], pools: Mapping[str, list[str]], pov: str
) -> str | None:
    if _ends_differ(left, right):
        return None
    keys = sorted({key for piece in (*left, *right) for key in _keys(piece) if key in pools or key in _named(pov)})
    drawn = sorted({PROTAGONIST if key in _named(pov) else key for key in keys})
    for labels in _draws({key: pools.get(key, []) for key in drawn}):
        everything = {**labels, **pov_labels(pov, labels.get(PROTAGONIST))}
        text = render(left, everything)
        if text == render(right, everything):
            return text
    return None


def _ends_differ(left: tuple[Piece, ...], right: tuple[Piece, ...]) -> bool:
    """Return whether the texts' literal beginnings or ends already exclude that they read the same."""
    for one, other, begins in ((left, right, str.startswith), (left[::-1], right[::-1], str.endswith)):
        pairs = zip(one, other, strict=False)
        first, second = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
        if isinstance(first, str) and isinstance(second, str) and not (begins(first, second) or begins(second, first)):
            return True
    return False


def _keys(piece: Piece) -> Iterator[str]:
    if isinstance(piece, Slot):
        yield piece.key
    elif isinstance(piece, Phrase):
        for inner in piece.pieces:
            yield from _keys(inner)


def _named(pov: str) -> tuple[str, ...]:
    """Return the slots of the point of view that hold a name."""
    return ("pov_1", "pov_9") if pov == "third" else ()


def _draws(pools: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    """Yield draws of a label for each key, no label twice: all of them, or many at random."""
    if prod(len(pool) for pool in pools.values()) <= _MOST_DRAWS:
        draws: Iterator[tuple[str, ...]] = product(*pools.values())
    else:
        rng = random.Random(0)
        draws = (tuple(pool[int(rng.random() * len(pool))] for pool in pools.values()) for _ in range(_MOST_DRAWS))
    for draw in draws:
        if len({label.casefold() for label in draw}) == len(draw):
            yield dict(zip(pools, draw, strict=True))
