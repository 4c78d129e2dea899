from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.grim import grim, grimmer, nearest_means, rounding_bounds
from batteries.errors import InputError

ROUNDINGS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_HALF_DOWN)


def printed(value: Fraction, decimals: int, root: bool = False) -> set[str]:
    """Return a number, or its square root, as each kind of rounding prints it; computed with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        number = Decimal(value.numerator) / Decimal(value.denominator)
        number = number.sqrt() if root else number
        return {str(number.quantize(Decimal(1).scaleb(-decimals), rounding=way)) for way in ROUNDINGS}


def every_data_set(n, items, scale):
    return combinations_with_replacement(range(scale[0] * items, scale[1] * items + 1), n)


def moments(data, items, ddof=1):
    """Return mean and variance of participants' values; `data` are participants' sums over `items` responses."""
    n, total, squares = len(data), sum(data), sum(y**2 for y in data)
    return Fraction(total, n * items), Fraction(n * squares - total**2, n * (n - ddof) * items**2)


def steps(low, high, decimals):
    """Return every number from `low` to `high` with this many decimals."""
    return [str(Decimal(k).scaleb(-decimals)) for k in range(low * 10**decimals, high * 10**decimals + 1)]


@pytest.mark.parametrize(
    ("mean", "n", "possible"),
    [
        ("5.19", 28, False),  # Brown & Heathers (2017)
        ("3.48", 20, False),  # a die rolled 20 times: the second decimal is 0 or 5
        ("5.93", 49, False),  # The Economist, 18 June 2016
        ("7.22", 32, True), ("4.74", 25, False), ("5.23", 29, False), ("2.57", 24, False),  # R package scrutiny, pigs1
    ],
)  # fmt: skip
def test_grim_gives_the_published_results(mean, n, possible):
    assert grim(mean, n) is possible


@pytest.mark.parametrize(
    ("mean", "sd", "n", "possible"),
    [  # R package scrutiny 0.6.1, Allard's (2018) test of pigs5
        ("7.22", "5.30", 38, False), ("4.74", "6.55", 31, True), ("5.23", "2.55", 35, False),
        ("2.57", "2.57", 30, True), ("6.77", "2.18", 33, False), ("2.68", "2.59", 34, True),
        ("7.01", "6.68", 35, False), ("7.38", "3.65", 32, True), ("3.14", "5.32", 33, False),
        ("6.89", "4.18", 37, True), ("5.00", "2.18", 31, True), ("0.24", "6.43", 34, True),
        ("7.3", "2.51", 12, False),
    ],
)  # fmt: skip
def test_grimmer_gives_the_published_results(mean, sd, n, possible):
    assert grimmer(mean, sd, n) is possible


@pytest.mark.parametrize(
    ("n", "items", "scale", "mean_decimals"),
    [(2, 1, (1, 5), 2), (3, 1, (1, 5), 2), (7, 1, (1, 5), 2), (4, 1, (-2, 2), 1), (3, 3, (1, 4), 2), (9, 1, (0, 1), 3)],
)
def test_grim_rejects_exactly_the_means_that_no_data_set_has(n, items, scale, mean_decimals):
    had = {text for data in every_data_set(n, items, scale) for text in printed(moments(data, items)[0], mean_decimals)}
    for mean in steps(scale[0] - 1, scale[1] + 1, mean_decimals):
        assert grim(mean, n, items=items, scale=scale) == (mean in had or mean.replace("-0.0", "0.0") in had), mean


@pytest.mark.parametrize(
    ("n", "items", "scale", "mean_decimals", "sd_decimals"),
    [(2, 1, (1, 5), 1, 2), (3, 1, (1, 5), 1, 2), (4, 1, (1, 5), 1, 2), (5, 1, (1, 4), 2, 1), (6, 1, (1, 4), 1, 2),
     (3, 3, (1, 3), 1, 2), (4, 2, (1, 3), 2, 1), (8, 1, (0, 1), 2, 2)],
)  # fmt: skip
@pytest.mark.parametrize("ddof", [0, 1])
def test_grimmer_rejects_exactly_the_pairs_that_no_data_set_has(n, items, scale, mean_decimals, sd_decimals, ddof):
    had = set()
    for data in every_data_set(n, items, scale):
        mean, variance = moments(data, items, ddof)
        had |= {(m, s) for m in printed(mean, mean_decimals) for s in printed(variance, sd_decimals, root=True)}
    for mean in steps(scale[0], scale[1], mean_decimals):
        for sd in steps(0, scale[1] - scale[0], sd_decimals):
            found = grimmer(mean, sd, n, items=items, scale=scale, ddof=ddof)
            assert found == ((mean, sd) in had), (mean, sd)


ANSWERS = st.lists(st.integers(1, 7), min_size=2, max_size=60)


@given(answers=ANSWERS, decimals=st.integers(0, 4), way=st.integers(0, 2))
def test_real_responses_pass_with_every_kind_of_rounding(answers, decimals, way):
    mean, variance = moments(answers, 1)
    printed_mean = sorted(printed(mean, decimals))[way % len(printed(mean, decimals))]
    for sd in printed(variance, decimals, root=True):
        assert grim(printed_mean, len(answers), scale=(1, 7))
        assert grimmer(printed_mean, sd, len(answers), scale=(1, 7))
        assert grimmer(printed_mean, sd, len(answers))


@given(data=st.data(), items=st.integers(1, 12), n=st.integers(2, 30))
def test_real_means_of_several_items_pass(data, items, n):
    sums = data.draw(st.lists(st.integers(items, 5 * items), min_size=n, max_size=n))
    mean, variance = moments(sums, items)
    for printed_mean in printed(mean, 2):
        for sd in printed(variance, 2, root=True):
            assert grimmer(printed_mean, sd, n, items=items, scale=(1, 5))


@settings(deadline=None)  # The search takes a second for one data set in thousands.
@given(answers=st.lists(st.integers(-2000, 2000), min_size=2, max_size=200))
def test_real_whole_numbers_of_any_size_pass(answers):
    mean, variance = moments(answers, 1)
    (printed_mean, *_), (sd, *_) = printed(mean, 2), printed(variance, 2, root=True)
    assert grimmer(printed_mean, sd, len(answers))


def test_a_percentage_is_a_mean_with_two_more_decimals():
    assert grim(Decimal("22.5").scaleb(-2), 40)
    assert not grim(Decimal("23.1").scaleb(-2), 40)


def test_a_value_half_way_may_be_printed_either_way():
    for mean in ("1.77", "1.78"):  # 71 of 40 is 1.775
        assert grim(mean, 40)
    assert not grim("1.79", 40)


def test_printed_decimals_count():
    assert grim("0.3", 3)  # a third
    assert not grim("0.30", 3)
    assert rounding_bounds("0.50") == (Fraction("0.495"), Fraction("0.505"))
    assert rounding_bounds("12") == (Fraction("11.5"), Fraction("12.5"))


def test_the_nearest_means_are_possible_and_next_to_each_other():
    assert nearest_means("5.19", 28) == ("5.18", "5.21")
    assert nearest_means("-0.30", 7) == ("-0.43", "-0.29")
    assert all(grim(mean, 28) for mean in nearest_means("5.19", 28))


def test_an_sd_beyond_the_ends_of_the_scale_is_impossible():
    assert not grimmer("4.00", "3.20", 20, scale=(1, 7))
    assert grimmer("4.00", "3.20", 20)
    assert grimmer("4.00", "3.08", 20, scale=(1, 7))  # ten times 1 and ten times 7


def test_a_negative_sd_is_impossible():
    assert not grimmer("4.00", "-1.20", 20)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: grim("five", 3), "`five` is not a number"),
        (lambda: grim("nan", 3), "is too large or has too many digits"),
        (lambda: grim("5.1", 0), "n is 0"),
        (lambda: grim("5.1", 3, items=0), "items is 0"),
        (lambda: grim("5.1", 3, scale=(5, 1)), "give the lowest response first"),
        (lambda: grimmer("5.1", "1.0", 1), "needs at least 2 participants"),
        (lambda: grimmer("5.1", "wide", 3), "`wide` is not a number"),
    ],
)
def test_input_that_cannot_be_tested_is_refused_with_one_sentence(asked, message):
    with pytest.raises(InputError, match=message):
        asked()
