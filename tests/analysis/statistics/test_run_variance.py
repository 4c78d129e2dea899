import numpy as np
import pandas as pd
import pytest

from analysis.statistics.count_tests import cochran_q
from analysis.statistics.run_variance import run_variance


def replies(rng, n_runs, n_items, sd):
    """Return correct replies of runs whose log-odds differ with the given SD, to items of different difficulty."""
    log_odds = rng.normal(0, sd, (n_runs, 1)) + rng.normal(0, 1.5, n_items)
    return (rng.random((n_runs, n_items)) < 1 / (1 + np.exp(-log_odds))).astype(float)


def test_the_p_value_is_that_of_cochrans_test():
    values = replies(np.random.default_rng(1), 5, 40, 0.5)
    assert run_variance(values).p_value == pytest.approx(cochran_q(pd.DataFrame(values.T)).p_value)


def test_runs_that_differ_by_chance_have_the_expected_variance_and_runs_with_an_effect_more():
    rng = np.random.default_rng(2)
    by_chance, different = ([run_variance(replies(rng, 5, 100, sd)) for _ in range(400)] for sd in (0, 0.6))
    observed, expected = np.mean([[found.sd**2, found.sd_by_chance**2] for found in by_chance], axis=0)
    assert observed == pytest.approx(expected, rel=0.1)
    assert np.mean([found.p_value < 0.05 for found in by_chance]) == pytest.approx(0.05, abs=0.025)
    assert np.mean([found.sd > 1.5 * found.sd_by_chance for found in different]) > 0.8


@pytest.mark.parametrize("shape", [(1, 4), (3, 0)])
def test_a_single_run_or_no_common_item_has_no_variance(shape):
    assert np.isnan(run_variance(np.ones(shape))).all()
