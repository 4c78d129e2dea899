import random
from collections import Counter
from itertools import groupby, pairwise, permutations
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.order import shuffle_with_max_run, spread_slots


def longest_run(levels: list[str]) -> int:
    return max((len(list(run)) for _, run in groupby(levels)), default=0)


@given(st.lists(st.sampled_from("abc"), max_size=7), st.integers(1, 3), st.integers(0, 2**32), st.sampled_from([0, 9]))
def test_an_order_is_found_if_and_only_if_one_exists(
    levels: list[str], max_run: int, seed: int, most_shuffles: int
) -> None:
    possible = any(longest_run(list(order)) <= max_run for order in set(permutations(levels)))
    if possible:
        with patch("experiment.order.MOST_SHUFFLES", most_shuffles):  # with 0 shuffles, the order is always built
            order = shuffle_with_max_run(levels, levels, max_run, random.Random(seed))
        assert Counter(order) == Counter(levels)
        assert longest_run(order) <= max_run
    else:
        with pytest.raises(InputError, match="in a row"):
            shuffle_with_max_run(levels, levels, max_run, random.Random(seed))


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.integers(0, 2**32))
def test_a_long_list_keeps_the_constraint(levels: list[str], seed: int) -> None:
    counts = Counter(levels).most_common(1)
    most = counts[0][1] if counts else 0
    max_run = max(1, -(-most // (len(levels) - most + 1)))  # the shortest possible longest run
    order = shuffle_with_max_run(range(len(levels)), levels, max_run, random.Random(seed))
    assert sorted(order) == list(range(len(levels)))
    assert longest_run([levels[n] for n in order]) <= max_run


def test_with_a_constraint_every_allowed_order_is_equally_likely() -> None:
    levels = "aabbb"
    allowed = [order for order in permutations(range(5)) if longest_run([levels[n] for n in order]) <= 2]
    seen = Counter(tuple(shuffle_with_max_run(range(5), levels, 2, random.Random(seed))) for seed in range(8_400))
    assert set(seen) == set(allowed)
    expected = 8_400 / len(allowed)
    assert all(abs(count - expected) < 5 * expected**0.5 for count in seen.values())


def test_an_order_that_shuffling_never_finds_is_built() -> None:
    levels = "ab" * 12  # two of 2.7 million arrangements of the levels alternate
    order = shuffle_with_max_run(range(24), levels, 1, random.Random(1))
    assert longest_run([levels[n] for n in order]) == 1


def test_without_a_constraint_every_order_is_equally_likely() -> None:
    seen = Counter(tuple(shuffle_with_max_run("abc", "abc", None, random.Random(seed))) for seed in range(6_000))
    assert len(seen) == 6
    assert all(880 < count < 1_120 for count in seen.values())  # 1000 expected, four standard deviations are 115


@given(st.integers(0, 5), st.integers(0, 60), st.integers(1, 8), st.integers(0, 2**32))
def test_checks_are_neither_at_the_ends_nor_next_to_each_other(
    n_checks: int, n_trials: int, spacing: int, seed: int
) -> None:
    if n_checks and n_trials < spacing * (n_checks + 1):
        with pytest.raises(InputError, match="lower attention_check_spacing"):
            spread_slots(n_checks, n_trials, spacing, random.Random(seed))
        return
    slots = spread_slots(n_checks, n_trials, spacing, random.Random(seed))
    marks = [0, *slots, n_trials]
    assert len(slots) == n_checks
    assert not n_checks or all(after - before >= spacing for before, after in pairwise(marks))


def test_checks_reach_every_allowed_position() -> None:
    slots = Counter(spread_slots(1, 24, 5, random.Random(seed))[0] for seed in range(2_000))
    assert set(slots) == set(range(5, 20))
