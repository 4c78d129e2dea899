"""Random order of trials from a seed, within constraints."""

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import TypeVar

from batteries.errors import InputError

T = TypeVar("T")

MOST_SHUFFLES = 1_000
"""Maximum number of shuffles to find an order that the constraint allows.

If all shuffles fail, the order is built entry by entry. If the constraint allows only 1 in 150 orders, all shuffles
fail for 1 in 800 seeds.
"""


def draw(rng: random.Random, n: int) -> int:
    """Return a number from 0 to n - 1.

    Only the method `random()` of the generator is called, because it returns the same numbers in all versions of
    Python.
    """
    return int(rng.random() * n)


def shuffle_with_max_run(
    entries: Sequence[T], levels: Sequence[Hashable], max_run: int | None, rng: random.Random
) -> list[T]:
    """Return the entries in random order. At most `max_run` entries with the same level follow each other.

    All entries are shuffled until their order keeps the constraint, so that all allowed orders are equally likely. If
    all `MOST_SHUFFLES` shuffles break the constraint, the order is built entry by entry. Each entry is drawn from those
    after which the remaining entries still have an allowed order. Every allowed order can then occur, but some are more
    likely than others.

    Parameters
    ----------
    entries
        The entries to order.
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
            f"no order has at most {max_run} of {level!r} in a row: {count} of {len(entries)} trials have this level. "
            "Fix: allow longer runs or balance the battery."
        )
    for _ in range(MOST_SHUFFLES):
        order = _shuffle(len(entries), rng)
        if all(len(list(run)) <= limit for _, run in groupby(order, key=levels.__getitem__)):
            return [entries[index] for index in order]
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
        positions = [index for index, (_, level) in enumerate(remaining) if level in allowed]
        entry, level = remaining.pop(positions[draw(rng, len(positions))])
        ordered.append(entry)
        counts[level] -= 1
        last, run = level, run + 1 if level == last else 1
    return ordered


def spread_slots(
    n_checks: int, n_trials: int, spacing: int, rng: random.Random, trials: str = "test trials"
) -> list[int]:
    """Return the number of test trials before each attention check, in ascending order.

    At least `spacing` test trials are before the first check, between two checks, and after the last check. All other
    test trials are divided into equal parts, one part for each check. The position of a check is drawn within its part.
    If test trials form sequences, the numbers count sequences. `trials` names what is counted, for the error.

    Raises
    ------
    InputError
        If there are too few test trials for the checks.
    """
    if n_checks == 0:
        return []
    free = n_trials - spacing * (n_checks + 1)
    if free < 0:
        raise InputError(
            f"{n_checks} attention checks with an attention_check_spacing of {spacing} need "
            f"{spacing * (n_checks + 1)} {trials}, but there are {n_trials}. Fix: lower attention_check_spacing."
        )
    slots = []
    for check in range(n_checks):
        first, last = free * check // n_checks, free * (check + 1) // n_checks
        slots.append(spacing * (check + 1) + first + draw(rng, last - first + 1))
    return slots


def _allows(level: Hashable, counts: Counter[Hashable], last: Hashable, run: int, limit: int) -> bool:
    """Return True if `level` may come next, and if the remaining entries then have an allowed order."""
    if level == last and run == limit:
        return False
    # The remaining entries have an allowed order. The entries that remain after the next entry must have one too.
    return _arrangeable(counts - Counter([level]), limit)


def _arrangeable(counts: Counter[Hashable], limit: int) -> bool:
    """Return True if the counted entries have an order with at most `limit` entries of a level in a row.

    The n entries of all other levels can separate the entries of a level into n + 1 blocks of at most `limit` entries.
    It is enough to check each level alone, because the blocks of different levels separate each other.
    """
    total = sum(counts.values())
    return all(count <= (total - count + 1) * limit for count in counts.values())
