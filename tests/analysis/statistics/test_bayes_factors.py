import itertools
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from analysis.statistics.bayes_factors import bayes_factor_proportions, bayes_factor_t, bayes_factor_words
from batteries.errors import InputError

MEDIUM = math.sqrt(2) / 2


@cache
def gauss_legendre(n):
    """Return `n` nodes from -1 to 1 and their weights, for integrals of smooth functions."""
    return np.polynomial.legendre.leggauss(n)


@pytest.mark.parametrize(
    ("t", "sizes", "scale", "bf10"),
    [
        (2.5, (50, 50), MEDIUM, 3.2334152095279456),
        (6, (100, 100), MEDIUM, 1106387.3007919597),
        (0.5, (50, 50), MEDIUM, 0.2356140221917136),
        (-2.1, (18, 22), 1, 1.4913151912381426),
        (12, (200, 200), math.sqrt(2), 1.8743030062032835e25),
        (4, (20,), MEDIUM, 46.124455538584186),
        (1.2, (15,), MEDIUM, 0.48224660892079019),
        (-3.5, (30,), 1, 20.368699661296642),
        (8, (5,), MEDIUM, 30.656955000719748),
    ],
)
def test_the_factor_of_a_t_test_is_that_of_rs_bayesfactor(t, sizes, scale, bf10):
    """ttest.tstat of BayesFactor 0.9.12, from a published table of its values."""
    assert bayes_factor_t(t, *sizes, scale=scale) == pytest.approx(bf10, rel=1e-6)


@pytest.mark.parametrize("sizes", [(2,), (10,), (80,), (3, 40), (38, 36)])
@pytest.mark.parametrize("t", [0.0, 0.7, -2.24, 4.5])
@pytest.mark.parametrize("scale", [0.3, MEDIUM, 1.4])
def test_the_factor_is_the_mean_likelihood_ratio_over_the_prior_of_the_effect(t, sizes, scale):
    """The density of t given an effect is that of the noncentral t; it is integrated over the Cauchy prior."""
    df = sum(sizes) - len(sizes)
    root_n = math.sqrt(math.prod(sizes) / (sum(sizes) if len(sizes) == 2 else 1))

    def integrand(effect):
        return stats.nct.pdf(t, df, effect * root_n) * stats.cauchy.pdf(effect, scale=scale)

    nodes, weights = gauss_legendre(300)

    def over(low, high):
        half = (high - low) / 2
        return half * (weights * integrand(low + half * (nodes + 1))).sum()

    middle, width = t / root_n, 12 / root_n
    marginal = over(middle - width, middle) + over(middle, middle + width)
    marginal += over(middle - 40 * width, middle - width) + over(middle + width, middle + 40 * width)
    assert bayes_factor_t(t, *sizes, scale=scale) == pytest.approx(marginal / stats.t.pdf(t, df), rel=2e-4)


@example(t=1.736328125, n=2, scale=1.734375)
@settings(deadline=None)
@given(st.floats(-8, 8), st.integers(2, 500), st.floats(0.1, 2))
def test_the_factor_is_rouders_integral(t, n, scale):
    df = n - 1

    def integrand(g):
        wide = 1 + n * g * scale**2
        return (
            wide**-0.5
            * ((1 + t**2 / df) / (1 + t**2 / (wide * df))) ** ((df + 1) / 2)
            * (2 * math.pi) ** -0.5
            * g**-1.5
            * math.exp(-1 / (2 * g))
        )

    # Near 0, all derivatives of the integrand vanish. Without an end there, `quad` can miss a millionth.
    ends = (0, 0.02, 0.2, 1, 50, np.inf)
    parts = [integrate.quad(integrand, *part, epsrel=1e-10, limit=200)[0] for part in itertools.pairwise(ends)]
    assert bayes_factor_t(t, n, scale=scale) == pytest.approx(sum(parts), rel=1e-6)


@given(st.floats(-30, 30), st.integers(2, 2000), st.integers(2, 2000))
def test_neither_the_sign_of_t_nor_the_order_of_groups_matters(t, first, second):
    factor = bayes_factor_t(t, first, second)
    assert factor > 0
    assert bayes_factor_t(-t, second, first) == pytest.approx(factor)


@given(st.floats(0, 50), st.floats(0.01, 10), st.integers(2, 10_000))
def test_a_larger_t_gives_more_evidence_for_a_difference(t, more, n):
    smaller = bayes_factor_t(t, n)
    assert bayes_factor_t(t + more, n) > smaller or smaller == math.inf


def test_extreme_statistics_and_sizes_do_not_overflow():
    assert bayes_factor_t(0, 10**9) == pytest.approx(1 / (MEDIUM * math.sqrt(math.pi / 2 * 10**9)), rel=1e-3)
    assert bayes_factor_t(40, 400) > 1e137
    assert bayes_factor_t(100, 1000) == math.inf
    assert math.isfinite(bayes_factor_t(1e90, 2))
    assert bayes_factor_t(2, 30, scale=1e-6) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((math.nan, 10), "the t statistic is nan"),
        ((math.inf, 10), "the t statistic is inf"),
        ((2.0, 1), "a sample has 1 values"),
        ((2.0, 10, 1), "a sample has 1 values"),
    ],
)
def test_an_invalid_t_test_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        bayes_factor_t(*arguments)


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf])
def test_an_invalid_scale_is_refused(scale):
    with pytest.raises(InputError, match="the scale of the prior"):
        bayes_factor_t(2, 10, scale=scale)


@pytest.mark.parametrize(
    ("first", "second", "bf10"),
    [
        ((100, 200), (60, 200), 519.82403571321333),
        ((50, 100), (45, 100), 0.22438430558051628),
        ((8, 10), (3, 10), 5.3981634527088156),
        ((0, 20), (5, 20), 3.9457783113245708),
        ((20, 20), (15, 20), 3.9457783113245708),
        ((500, 1000), (420, 1000), 35.021095878487586),
    ],
)
def test_the_factor_of_two_proportions_is_that_of_rs_bayesfactor(first, second, bf10):
    """contingencyTableBF of BayesFactor 0.9.12 with independent multinomial rows, from a published table."""
    table = pd.DataFrame([(k, n - k) for k, n in (first, second)])
    assert bayes_factor_proportions(table) == pytest.approx(bf10, rel=1e-9)


@given(st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=2).filter(any), min_size=2, max_size=2))
def test_the_factor_of_proportions_is_the_ratio_of_the_two_mean_likelihoods(rows):
    """With uniform priors the mean likelihood is an integral over one proportion, or a product of two."""

    def mean_likelihood(k, n):
        nodes, weights = gauss_legendre(100)
        p = (nodes + 1) / 2
        return float((weights / 2 * p**k * (1 - p) ** n).sum())

    (a, b), (c, d) = rows
    expected = mean_likelihood(a, b) * mean_likelihood(c, d) / mean_likelihood(a + c, b + d)
    table = pd.DataFrame(rows)
    assert bayes_factor_proportions(table) == pytest.approx(expected, rel=1e-8)
    assert bayes_factor_proportions(table.iloc[::-1, ::-1]) == pytest.approx(expected, rel=1e-8)


def test_proportions_of_very_many_trials_do_not_overflow():
    assert bayes_factor_proportions(pd.DataFrame([[10**6, 0], [0, 10**6]])) == math.inf
    assert 0 < bayes_factor_proportions(pd.DataFrame([[10**6, 10**6]] * 2)) < 0.01


def test_an_outcome_without_counts_is_accepted_and_an_empty_group_is_refused():
    assert bayes_factor_proportions(pd.DataFrame([[9, 0], [7, 0]])) < 1
    with pytest.raises(InputError, match="all counts in the row image of the table are 0"):
        bayes_factor_proportions(pd.DataFrame([[9, 1], [0, 0]], index=["text", "image"]))
    with pytest.raises(InputError, match="the table has 2 rows and 3 columns"):
        bayes_factor_proportions(pd.DataFrame([[9, 1, 1], [2, 2, 2]]))
    with pytest.raises(InputError, match="are not counts"):
        bayes_factor_proportions(pd.DataFrame([[9, 1], [-2, 2]]))


@pytest.mark.parametrize(
    ("bf10", "words"),
    [
        (1.01, "evidence not worth more than a bare mention for the alternative hypothesis"),
        (3.2, "substantial evidence for the alternative hypothesis"),
        (10, "strong evidence for the alternative hypothesis"),
        (31.5, "strong evidence for the alternative hypothesis"),
        (31.7, "very strong evidence for the alternative hypothesis"),
        (100, "decisive evidence for the alternative hypothesis"),
        (math.inf, "decisive evidence for the alternative hypothesis"),
        (0.5, "evidence not worth more than a bare mention for the null hypothesis"),
        (0.31, "substantial evidence for the null hypothesis"),
        (1 / 99, "very strong evidence for the null hypothesis"),
        (0, "decisive evidence for the null hypothesis"),
        (1, "evidence for neither hypothesis"),
    ],
)
def test_words_follow_jeffreys_grades_in_both_directions(bf10, words):
    assert bayes_factor_words(bf10) == words


@given(st.floats(1e-300, 1e300).filter(lambda bf10: bf10 != 1))
def test_a_factor_and_its_inverse_have_the_same_grade_for_opposite_hypotheses(bf10):
    words = {bayes_factor_words(bf10), bayes_factor_words(1 / bf10)}
    assert len({sentence.split(" for the ")[0] for sentence in words}) == 1
    assert {sentence.split(" for the ")[1] for sentence in words} == {"null hypothesis", "alternative hypothesis"}


@pytest.mark.parametrize("bad", [-1, math.nan])
def test_an_invalid_bayes_factor_is_refused(bad):
    with pytest.raises(InputError, match="the Bayes factor is"):
        bayes_factor_words(bad)
