"""The order of trials: drawn from a seed, within constraints."""

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import TypeVar

from batteries.errors import InputError

T = TypeVar("T")

MOST_SHUFFLES = 1_000
"""Shuffles tried before an order is built: if one order in 150 is allowed, one session in 800 needs this."""


def draw(rng: random.Random, n: int) -> int:
    """Return a number from 0 to n - 1.

    Only `random()` of the generator is called: the one method whose numbers Python promises to keep for a seed, over
    versions and machines.
    """
    return int(rng.random() * n)


def shuffle_with_max_run(
    entries: Sequence[T], levels: Sequence[Hashable], max_run: int | None, rng: random.Random
) -> list[T]:
    """Return the entries in random order, with at most `max_run` equal levels in a row.

    Whole shuffles are drawn until one keeps the constraint, so that all allowed orders are equally likely. If the
    constraint is so tight that `MOST_SHUFFLES` shuffles all break it, an order is built from its beginning instead: at
    each position, every remaining entry that allows an arrangement of the rest is equally likely. Every allowed order
    can then occur, though not all equally often.

    Parameters
    ----------
    entries
        The entries.
    levels
        The level of each entry, such as its condition.
    max_run
        Longest allowed run of equal levels; None for no limit.
    rng
        The source of randomness.

    Raises
    ------
    InputError
        If no order keeps the constraint.
    """
    limit = len(entries) if max_run is None else max_run
    counts = Counter(levels)
    if not _arrangeable(counts, limit):
        level, count = counts.most_common(1)[0]
        raise InputError(
            f"no order has at most {max_run} of {level!r} in a row: {count} of {len(entries)} trials have it. Fix: "
            "allow longer runs or balance the battery."
        )
    for _ in range(MOST_SHUFFLES):
        order = _shuffle(len(entries), rng)
        if all(len(list(run)) <= limit for _, run in groupby(order, key=levels.__getitem__)):
            return [entries[place] for place in order]
    return _build(entries, levels, limit, rng)


def _shuffle(n: int, rng: random.Random) -> list[int]:
    """Return 0 to n - 1 in random order (Fisher and Yates)."""
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = draw(rng, last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def _build(entries: Sequence[T], levels: Sequence[Hashable], limit: int, rng: random.Random) -> list[T]:
    remaining = list(zip(entries, levels, strict=True))
    counts = Counter(levels)
    ordered: list[T] = []
    last, run = None, 0
    while remaining:
        allowed = {level for level in counts if counts[level] and _allows(level, counts, last, run, limit)}
        places = [place for place, (_, level) in enumerate(remaining) if level in allowed]
        entry, level = remaining.pop(places[draw(rng, len(places))])
        ordered.append(entry)
        counts[level] -= 1
        last, run = level, run + 1 if level == last else 1
    return ordered


def spread_slots(n_checks: int, n_trials: int, spacing: int, rng: random.Random) -> list[int]:
    """Return, for each attention check, the number of test trials before it, ascending.

    At least `spacing` test trials are before the first check, between two, and after the last; the rest of the
    trials is split into as many equal bands as there are checks, and each check is drawn within its own band.

    Raises
    ------
    InputError
        If there are too few trials for so many checks.
    """
    if n_checks == 0:
        return []
    free = n_trials - spacing * (n_checks + 1)
    if free < 0:
        raise InputError(
            f"{n_checks} attention checks at least {spacing} trials from the ends and each other need "
            f"{spacing * (n_checks + 1)} test trials, and there are {n_trials}. Fix: lower attention_check_spacing."
        )
    slots = []
    for check in range(n_checks):
        first, last = free * check // n_checks, free * (check + 1) // n_checks
        slots.append(spacing * (check + 1) + first + draw(rng, last - first + 1))
    return slots


def _allows(level: Hashable, counts: Counter[Hashable], last: Hashable, run: int, limit: int) -> bool:
    """Return True if `level` may come next without making the rest impossible."""
    if level == last and run == limit:
        return False
    # The counts were possible before, and the next entry uses one of its own positions. The other levels must be
    # checked, because they lose a divider.
    return _arrangeable(counts - Counter([level]), limit)


def _arrangeable(counts: Counter[Hashable], limit: int) -> bool:
    """Return True if the counted entries have an order in which no level comes more than `limit` times in a row.

    The other levels are dividers between blocks of one level: n dividers make room for n + 1 blocks of `limit`. Blocks
    of different levels divide each other, so it is enough that each level alone fits.
    """
    total = sum(counts.values())
    return all(count <= (total - count + 1) * limit for count in counts.values())
