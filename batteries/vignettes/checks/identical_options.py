"""Search for two options of a question that can have the same text, with some choice of labels."""

import random
import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import prod

from batteries.vignettes.spec import BuildSpec, conditions_of
from batteries.vignettes.templates.labels import PROTAGONIST, label_slots, pov_labels, prefix_of
from batteries.vignettes.templates.markup import Compiler, Phrase, Piece, Slot, render
from batteries.vignettes.templates.tables import Tables
from batteries.vignettes.templates.template_set import ScenarioQuestion

_SPACES = re.compile(r"\s+")
_AN = re.compile(r"\b([Aa])n(?= )")
_MOST_DRAWS = 20_000
"""Maximum number of draws of labels to try. If more draws are possible, a random sample of this size is tried."""


def same_options(question: ScenarioQuestion, spec: BuildSpec, tables: Tables) -> Iterator[str]:
    """Yield a sentence for each pair of options that have the same text for at least one draw of labels."""
    story = question.story
    assert story is not None
    compiler = Compiler(story.switches, story.filler)
    pools = {slot.key: list(slot.pool) for slot in label_slots(story, tables, "third" in spec.pov)}
    for key, texts in story.coinflips.items():
        pools[key] = pools[f"otherside_{key.split('_')[-1]}"] = texts
    found: set[tuple[int, int]] = set()
    tried = set()
    levels = [level for level in spec.inference_levels if str(level) in story.filler]
    settings = product(conditions_of(question, spec), levels, spec.pov)
    for condition, level, pov in settings:
        links = tuple(question.qa.links[condition])
        options = [_comparable(compiler.resolve(text, links, str(level))) for text in question.qa.question.options]
        for (one, left), (other, right) in combinations(enumerate(options, start=1), 2):
            if (one, other) in found or (left, right, pov) in tried:
                continue
            tried.add((left, right, pov))
            text = _common_text(left, right, pools, pov)
            if text is not None:
                found.add((one, other))
                if any(_keys(piece) for piece in (*left, *right)):
                    yield (
                        f"the options {one} and {other} have the same text “{text}” if certain labels (names, "
                        "places or objects) are drawn. Fix: change one of the two options."
                    )
                else:
                    yield f"the options {one} and {other} have the same text “{text}”. Fix: change one of them."


def _common_text(
    left: tuple[Piece, ...], right: tuple[Piece, ...], pools: Mapping[str, list[str]], pov: str
) -> str | None:
    differing = _without_common_ends(left, right)
    if _never_the_same(*differing, pools):
        return None
    keys = {key for pieces in differing for piece in pieces for key in _keys(piece)}
    drawn = sorted((keys & pools.keys()) | ({PROTAGONIST} if keys & _named(pov) else set()))
    for labels in _draws({key: pools[key] for key in drawn}):
        everything = {**dict.fromkeys(pools, ""), **labels, **pov_labels(pov, labels.get(PROTAGONIST))}
        if render(differing[0], everything) == render(differing[1], everything):
            return render(left, {**{key: f"({key})" for key in pools}, **everything})
    return None


def _comparable(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return a text with single spaces, and with `a` instead of `an`.

    Texts that differ only in these points count as equal.
    """
    plain: list[Piece] = [
        _AN.sub(r"\1", _SPACES.sub(" ", piece)) if isinstance(piece, str) else piece for piece in pieces
    ]
    if plain and isinstance(plain[0], str):
        plain[0] = plain[0].lstrip()
    if plain and isinstance(plain[-1], str):
        plain[-1] = plain[-1].rstrip()
    return tuple(piece for piece in plain if piece != "")


def _without_common_ends(
    left: tuple[Piece, ...], right: tuple[Piece, ...]
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both texts without their common beginning and end."""
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return left, right


def _never_the_same(left: tuple[Piece, ...], right: tuple[Piece, ...], pools: Mapping[str, list[str]]) -> bool:
    """Return True if two texts always differ: by their fixed words, or because they are two different labels."""
    if not (left and right):
        return False
    for one, other, begins in ((left[0], right[0], str.startswith), (left[-1], right[-1], str.endswith)):
        if isinstance(one, str) and isinstance(other, str) and not (begins(one, other) or begins(other, one)):
            return True
    if len(left) == len(right) == 1:
        keys = {piece.key for piece in (left[0], right[0]) if isinstance(piece, Slot) and not piece.form}
        return len(keys) == 2 and keys <= {key for key in pools if prefix_of(key) not in {"coinflip", "otherside"}}
    return False


def _keys(piece: Piece) -> set[str]:
    if isinstance(piece, Slot):
        return {piece.key}
    return set().union(*map(_keys, piece.pieces)) if isinstance(piece, Phrase) else set()


def _named(pov: str) -> set[str]:
    """Return the `pov` slots that contain the protagonist's name."""
    return {"pov_1", "pov_9"} if pov == "third" else set()


def _draws(pools: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    """Yield draws with a different label for each key. If too many draws are possible, yield a random sample."""
    if prod(len(pool) for pool in pools.values()) <= _MOST_DRAWS:
        draws: Iterator[tuple[str, ...]] = product(*pools.values())
    else:
        rng = random.Random(0)
        draws = (tuple(pool[int(rng.random() * len(pool))] for pool in pools.values()) for _ in range(_MOST_DRAWS))
    for draw in draws:
        if len({label.casefold() for label in draw}) == len(draw):
            yield dict(zip(pools, draw, strict=True))
