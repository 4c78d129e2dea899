import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.statistics.corrections import benjamini_hochberg, holm
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "corrections.json").read_text(encoding="utf-8"))
FAMILIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)
BOTH = pytest.mark.parametrize("correct", [holm, benjamini_hochberg])


@BOTH
@pytest.mark.parametrize("family", R)
def test_adjusted_p_values_equal_those_of_rs_p_adjust(correct, family):
    assert correct(family["p"]) == pytest.approx(family[correct.__name__], rel=1e-12)


@BOTH
@given(p=FAMILIES)
def test_adjusted_p_values_are_at_least_as_large_keep_their_order_and_stay_within_one(correct, p):
    adjusted = correct(p)
    assert (adjusted >= np.array(p) * (1 - 1e-12)).all()
    assert (adjusted <= 1).all()
    ascending = np.argsort(p)
    assert (np.diff(adjusted[ascending]) >= 0).all()


@BOTH
@given(p=FAMILIES, seed=st.integers(0, 99))
def test_the_order_of_the_tests_does_not_matter(correct, p, seed):
    order = np.random.default_rng(seed).permutation(len(p))
    assert correct(np.array(p)[order]) == pytest.approx(correct(p)[order], rel=1e-12)


@given(FAMILIES)
def test_holm_lies_between_benjamini_hochberg_and_bonferroni(p):
    bonferroni = np.minimum(1, len(p) * np.array(p))
    assert (benjamini_hochberg(p) <= holm(p) * (1 + 1e-12)).all()
    assert (holm(p) <= bonferroni * (1 + 1e-12)).all()


@given(FAMILIES, st.floats(0.001, 0.2))
def test_holm_rejects_what_its_stepwise_rule_rejects(p, alpha):
    """Starting with the smallest p, compare with alpha/m, alpha/(m - 1), ...; stop at the first larger p."""
    m = len(p)
    stepwise = [(m - index) * value for index, value in enumerate(sorted(p))]
    assume_none_on_the_border(stepwise, alpha)
    rejected = next((index for index, value in enumerate(stepwise) if value > alpha), m)
    assert int((holm(p) <= alpha).sum()) == rejected


@given(FAMILIES, st.floats(0.001, 0.2))
def test_benjamini_hochberg_rejects_what_its_rule_rejects(p, alpha):
    """Return the tests up to the largest k whose p is at most k alpha/m."""
    m = len(p)
    stepwise = [m / index * value for index, value in enumerate(sorted(p), start=1)]
    assume_none_on_the_border(stepwise, alpha)
    rejected = max((index for index, value in enumerate(stepwise, start=1) if value <= alpha), default=0)
    assert int((benjamini_hochberg(p) <= alpha).sum()) == rejected


def assume_none_on_the_border(values, alpha):
    """Discard cases in which a p value is so close to alpha that rounding decides."""
    assume(all(abs(value - alpha) > 1e-12 for value in values))


@BOTH
def test_one_test_alone_is_not_corrected(correct):
    assert correct([0.03]).tolist() == [0.03]


@BOTH
@pytest.mark.parametrize("p", [[0.1, np.nan], [0.1, -0.01], [1.01, 0.2], [0.1, np.inf]])
def test_invalid_p_values_are_refused(correct, p):
    with pytest.raises(InputError, match="1 of 2 p values are missing or not between 0 and 1"):
        correct(p)


@BOTH
@pytest.mark.parametrize("p", [[], [[0.1, 0.2]]])
def test_an_invalid_family_is_refused(correct, p):
    with pytest.raises(InputError, match="not a list, or the list is empty"):
        correct(p)
