import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from analysis.statistics.intervals import mover_difference, wilson
from analysis.statistics.participant_intervals import pooled_proportions, proportion_interval

participants = st.lists(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=12
)


def wilson_with_t(p, n, df, confidence=0.95):
    """Return Wilson's interval of n trials, with the quantile of the t distribution."""
    n *= (stats.norm.ppf(0.5 + confidence / 2) / stats.t.ppf(0.5 + confidence / 2, df)) ** 2
    return wilson(p * n, n, confidence)


@given(participants, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_an_interval_is_between_0_and_1_contains_the_proportion_and_grows_with_the_confidence(counts, random):
    k, n = np.array(counts).T
    proportion = k.sum() / n.sum()
    narrow, wide = (proportion_interval(k, n, confidence) for confidence in (0.8, 0.95))
    assert 0 <= wide.low <= narrow.low <= proportion + 1e-12
    assert proportion - 1e-12 <= narrow.high <= wide.high <= 1
    assert wide.high - wide.low >= 0.999 * (
        wilson(int(k.sum()), int(n.sum())).high - wilson(int(k.sum()), int(n.sum())).low
    )
    random.shuffle(counts)
    again = proportion_interval(*np.array(counts).T, 0.95)
    assert again == pytest.approx(tuple(wide), abs=1e-9)


@pytest.mark.parametrize(("n_participants", "n_items", "mean"), [(5, 24, 0.5), (10, 24, 0.8), (20, 48, 0.95)])
def test_intervals_contain_the_populations_accuracy_as_often_as_they_claim(n_participants, n_items, mean):
    """The percentile bootstrap covers .85, .90 and .92 (`benchmarks/coverage.py`)."""
    rng = np.random.default_rng(3)
    ability = rng.normal(0, 0.7, (600, n_participants))
    logit = np.log(mean / (1 - mean))
    truth = expit(logit + 0.7 * stats.norm.ppf((np.arange(2000) + 0.5) / 2000)).mean()
    intervals = [
        proportion_interval(k, np.full(n_participants, n_items), 0.95)
        for k in rng.binomial(n_items, expit(logit + ability))
    ]
    assert 0.93 <= np.mean([low <= truth <= high for low, high in intervals]) <= 0.98


def test_the_variance_is_that_of_the_mean_over_participants_if_all_have_the_same_number_of_trials():
    k = np.array([2, 9, 5, 7, 10, 4])
    pooled = pooled_proportions(k[:, None], np.full((6, 1), 10))
    p = k.mean() / 10
    assert p * (1 - p) / pooled.n_effective[0] == pytest.approx((k / 10).var(ddof=1) / 6)
    assert pooled.df.tolist() == [5]
    assert proportion_interval(k, np.full(6, 10), 0.95) == pytest.approx(wilson_with_t(p, pooled.n_effective[0], 5))


@pytest.mark.parametrize(("each", "rate"), [(0, 0.0), (10, 1.0), (5, 0.5)])
def test_equal_participants_are_as_precise_as_independent_trials(each, rate):
    interval = proportion_interval(np.full(12, each), np.full(12, 10), 0.95)
    assert interval == pytest.approx(tuple(wilson_with_t(rate, 120, 11)))
    assert interval.high - interval.low > 0.03


def test_an_error_does_not_raise_the_lower_bound():
    n = np.full(5, 24)
    all_right, one_error = (proportion_interval(k, n, 0.95) for k in (n, n - np.array([0, 0, 0, 0, 1])))
    assert one_error.low < all_right.low
    assert all_right.high == 1


def test_one_participant_gets_wilsons_interval_over_the_trials():
    assert proportion_interval(np.array([56]), np.array([70]), 0.95) == wilson(56, 70)


def test_the_interval_is_wide_if_one_participant_has_nearly_all_trials():
    """The other participants say little about the population."""
    low, high = proportion_interval(np.array([90, 1, 1, 0, 1]), np.array([120, 1, 1, 1, 1]), 0.95)
    assert high - low > 0.6


def test_the_interval_is_wider_than_wilson_if_trials_of_a_person_are_correlated():
    k, n = np.array([0] * 10 + [20] * 10), np.full(20, 20)
    low, high = proportion_interval(k, n, 0.95)
    naive = wilson(int(k.sum()), int(n.sum()))
    assert high - low > 3 * (naive.high - naive.low)


def test_a_contrast_of_the_same_participants_is_narrower_if_their_accuracies_go_together():
    n = np.full((8, 2), 20)
    easy = np.array([18, 12, 16, 20, 14, 19, 13, 17])
    together = pooled_proportions(np.column_stack([easy, easy - np.array([4, 5, 3, 4, 4, 5, 4, 3])]), n)
    apart = pooled_proportions(np.column_stack([easy, np.sort(easy)[np.argsort(np.argsort(-easy))] - 4]), n)
    widths = [np.diff(each.contrast([1, -1], 0.95))[0] for each in (together, apart)]
    assert widths[0] < 0.6 * widths[1]
    separate = together.intervals(0.95)
    independent = mover_difference(together.proportions[0], separate[0], together.proportions[1], separate[1])
    assert widths[0] < np.diff(independent)[0]


def test_a_paired_difference_is_newcombes_apart_from_the_quantile():
    """Newcombe's (1998) method 10 with the pairs 36, 12, 2 and 0: 0.2 with 95 % CI [0.0569, 0.3404]."""
    pairs = np.array([[1, 1]] * 36 + [[1, 0]] * 12 + [[0, 1]] * 2)
    low, high = pooled_proportions(pairs, np.ones((50, 2))).contrast([1, -1], 0.95)
    assert (low, high) == pytest.approx((0.0569, 0.3404), abs=0.01)


def test_the_z_contrast_is_finite_if_all_hits_and_no_false_alarms_occur():
    pooled = pooled_proportions(np.array([[6, 0]] * 5), np.array([[6, 8]] * 5))
    low, high = pooled.z_contrast([1, -1], 0.95)
    assert np.isfinite([low, high]).all()
    assert low < stats.norm.ppf(30.5 / 31) - stats.norm.ppf(0.5 / 41) < high
