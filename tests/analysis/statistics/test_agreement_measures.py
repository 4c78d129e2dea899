import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.agreement_measures import (
    cohens_kappa,
    error_consistency,
    pearson,
    spearman,
    split_half_reliability,
)
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "comparing_measures.json").read_text(encoding="utf-8"))
BITS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@pytest.mark.parametrize("case", R["kappa"])
def test_kappa_is_what_r_gives(case):
    assert case["kappa"] == pytest.approx(case["caret"])
    assert cohens_kappa(case["first"], case["second"]) == pytest.approx(case["kappa"])
    assert cohens_kappa(case["second"], case["first"]) == pytest.approx(case["kappa"])


@given(BITS)
def test_error_consistency_is_kappa_of_being_right(pairs):
    first, second = zip(*pairs, strict=True)
    found = error_consistency(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found.kappa is None
        assert found.observed == pytest.approx(found.expected)
    else:
        assert found.kappa == pytest.approx(cohens_kappa(first, second))


def test_equal_errors_have_a_kappa_of_one_and_opposite_errors_a_negative_kappa():
    assert error_consistency([1, 1, 0, 0], [1, 1, 0, 0]).kappa == 1
    assert error_consistency([1, 1, 0, 0], [0, 0, 1, 1]).kappa == -1
    assert error_consistency([1, 0, 1, 0], [1, 1, 0, 0]).kappa == 0
    assert error_consistency([1, 1, 1, 1], [1, 1, 1, 0]).kappa is None


def test_a_share_of_repeated_responses_counts_as_all_pairs_of_these_responses():
    once = error_consistency([1, 1, 0, 0, 1, 1], [1, 0, 1, 0, 1, 1])
    shares = error_consistency([1, 0, 1], [0.5, 0.5, 1])
    assert shares.observed == pytest.approx(once.observed)
    assert shares.kappa == pytest.approx(once.kappa)


def test_responses_that_cannot_be_compared_are_refused_with_one_sentence():
    for first, second in (([], []), ([1, 0], [1])):
        with pytest.raises(InputError, match="at least one label"):
            cohens_kappa(first, second)
        with pytest.raises(InputError, match="at least one value"):
            error_consistency(first, second)
    with pytest.raises(InputError, match="all labels of both raters are the same"):
        cohens_kappa(["a", "a"], ["a", "a"])
    with pytest.raises(InputError, match="at least 3 items"):
        pearson(np.array([0.0, 1]), np.array([0.0, 1]), 0.95)
    with pytest.raises(InputError, match="the correlation cannot be computed"):
        spearman(np.array([0.0, 1, 2]), np.ones(3), 0.95)


@pytest.mark.parametrize("case", R["correlation"])
def test_correlations_are_what_r_gives(case):
    x, y = np.array(case["x"]), np.array(case["y"], dtype=float)
    assert pearson(x, y, 0.95).value == pytest.approx(case["pearson"], abs=1e-12)
    assert spearman(x, y, 0.95).value == pytest.approx(case["spearman"], abs=1e-12)


def test_the_interval_is_that_of_a_jackknife_on_fishers_scale():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, 40) / 4
    y = (x + rng.integers(0, 4, 40) / 3 > 1).astype(float)
    for correlate, reference in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        found = correlate(x, y, 0.95)
        z = np.arctanh([reference(np.delete(x, item), np.delete(y, item)).statistic for item in range(40)])
        error = max(np.sqrt(39 / 40 * ((z - z.mean()) ** 2).sum()), 1 / np.sqrt(37))
        half = stats.t.ppf(0.975, 39) * error
        assert found.interval == pytest.approx(
            np.tanh([np.arctanh(found.value) - half, np.arctanh(found.value) + half])
        )


def test_the_standard_error_is_at_least_that_of_normal_variables():
    x = np.linspace(0, 1, 40)
    y = x + np.resize([0.3, -0.3], 40)
    found = pearson(x, y, 0.95)
    half = stats.t.ppf(0.975, 39) / np.sqrt(37)
    assert found.interval == pytest.approx(np.tanh([np.arctanh(found.value) - half, np.arctanh(found.value) + half]))


def test_the_interval_of_normal_variables_covers_the_correlation():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 24))
    y = 0.5 * x + np.sqrt(0.75) * rng.normal(size=(300, 24))
    intervals = [pearson(*both, 0.95).interval for both in zip(x, y, strict=True)]
    assert 0.93 <= np.mean([low <= 0.5 <= high for low, high in intervals]) <= 0.99


def test_a_perfect_correlation_has_no_interval():
    x = np.arange(10.0)
    assert pearson(x, 2 * x, 0.95).value == pytest.approx(1)
    assert pearson(x, 2 * x, 0.95).interval is None


def test_a_model_that_errs_once_has_a_correlation_but_no_interval():
    x, y = np.linspace(0, 1, 20), np.array([0.0] + [1.0] * 19)
    found = pearson(x, y, 0.95)
    assert found.value > 0
    assert found.interval is None


def answers_of(ability, difficulty, rng):
    right = rng.random((len(ability), len(difficulty))) < stats.norm.cdf(ability[:, None] - difficulty)
    who, what = np.indices(right.shape)
    return who.ravel(), what.ravel(), right.ravel()


def test_reliability_says_how_well_another_sample_agrees():
    rng = np.random.default_rng(5)
    difficulty = rng.normal(size=80)
    estimates, truth = [], []
    for _ in range(30):
        first, second = (answers_of(rng.normal(size=20), difficulty, rng) for _ in range(2))
        estimates.append(split_half_reliability(*first, splits=50))
        accuracies = [np.bincount(what, right) / 20 for _, what, right in (first, second)]
        truth.append(np.corrcoef(*accuracies)[0, 1])
    assert np.mean(estimates) == pytest.approx(np.mean(truth), abs=0.02)


def test_guessed_responses_are_not_reliable_and_items_that_differ_for_all_are_reliable():
    rng = np.random.default_rng(6)
    guessing = answers_of(np.zeros(30), np.zeros(60), rng)
    assert split_half_reliability(*guessing) < 0.3
    assert split_half_reliability(*answers_of(np.zeros(30), np.repeat([-9.0, 9.0], 30), rng)) == pytest.approx(1)


def test_participants_need_not_have_seen_the_same_items_nor_have_numbers_as_names():
    rng = np.random.default_rng(7)
    who, what, right = answers_of(np.zeros(40), np.linspace(-2, 2, 40), rng)
    seen = (who + what) % 2 == 0
    names = np.array([f"P{number}" for number in who])
    assert 0.5 < split_half_reliability(names[seen], what[seen], right[seen]) < 1


def test_too_few_participants_or_items_have_no_reliability():
    with pytest.raises(InputError, match="at least 2 participants"):
        split_half_reliability(["a"] * 3, [1, 2, 3], [1, 0, 1])
    with pytest.raises(InputError, match="to which both halves of the participants responded, and"):
        split_half_reliability(["a", "b", "a", "b"], [1, 1, 2, 2], [1, 0, 1, 0])
