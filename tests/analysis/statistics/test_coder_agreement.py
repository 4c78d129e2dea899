import numpy as np
import pytest

from analysis.statistics.coder_agreement import (
    MISSING,
    fleiss_kappa,
    kappa_of_two,
    krippendorff_alpha,
    with_interval,
)
from batteries.errors import InputError


def from_table(table):
    """Return the codes of two coders from the table of their pairs of codes."""
    return np.array([[i, j] for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)])


def test_cohens_kappa_is_that_of_a_textbook_and_the_interval_is_close_to_the_large_sample_interval():
    # Fleiss, Levin and Paik (2003), Statistical methods for rates and proportions, Table 18.1; the standard error is
    # that of Fleiss, Cohen and Everitt (1969), as in statsmodels.
    found = with_interval(kappa_of_two, from_table([[75, 1, 4], [5, 4, 1], [0, 0, 10]]), 0.95)
    assert found.value == pytest.approx(0.676, abs=0.001)
    assert found.interval == pytest.approx((0.505, 0.848), abs=0.01)


def test_fleiss_kappa_is_that_of_a_worked_example():
    # Ten answers, 14 coders, five codes: the example of the Wikipedia article on Fleiss's kappa, as in statsmodels.
    counts = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
              [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]  # fmt: skip
    assert fleiss_kappa(np.array([np.repeat(range(5), row) for row in counts])) == pytest.approx(0.210, abs=0.0005)


def test_alpha_is_that_of_krippendorff_with_missing_codes():
    # Krippendorff (2011), example C: four coders, twelve units; nominal alpha is 0.743.
    x = MISSING
    codes = [[1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
             [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x]]  # fmt: skip
    assert krippendorff_alpha(np.array(codes).T) == pytest.approx(0.743, abs=0.0005)


def test_complete_agreement_has_an_interval_that_ends_below_one():
    found = with_interval(kappa_of_two, from_table([[10, 0], [0, 10]]), 0.95)
    assert found.value == 1
    assert found.interval is not None
    assert 0.6 < found.interval.low < 0.75
    assert found.interval.high == 1


def test_many_answers_give_a_narrower_interval():
    few, many = (with_interval(krippendorff_alpha, from_table([[8 * n, n], [n, 8 * n]]), 0.95) for n in (1, 20))
    assert few.interval is not None and many.interval is not None
    assert many.interval.high - many.interval.low < (few.interval.high - few.interval.low) / 3


def test_agreement_that_is_undefined_is_refused_with_one_sentence():
    same = np.zeros((6, 2), dtype="int64")
    for measure in (kappa_of_two, fleiss_kappa, krippendorff_alpha):
        with pytest.raises(InputError, match="Fix: leave"):
            measure(same)
    with pytest.raises(InputError, match="two coders"):
        fleiss_kappa(np.zeros((6, 1), dtype="int64"))
    with pytest.raises(InputError, match="Krippendorff"):
        fleiss_kappa(np.array([[0, MISSING], [1, 1]]))
    with pytest.raises(InputError, match="second coder"):
        krippendorff_alpha(np.array([[0, MISSING], [MISSING, 1]]))


def test_few_answers_have_no_interval_but_a_reason():
    found = with_interval(kappa_of_two, np.array([[0, 0], [1, 1], [0, 1]]), 0.95)
    assert found.interval is None
    assert "fewer than 5 answers" in found.why_no_interval


def test_an_interval_is_missing_if_one_answer_decides_whether_the_agreement_is_defined():
    found = with_interval(krippendorff_alpha, np.array([[0, 0]] * 8 + [[0, 1]]), 0.95)
    assert found.interval is None
    assert "the same" in found.why_no_interval
