import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats.contingency import association

from analysis.statistics.count_tests import chi_square, cochran_q, goodness_of_fit, mcnemar
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "counts.json").read_text(encoding="utf-8"))
COUNTS = st.lists(st.lists(st.integers(1, 60), min_size=3, max_size=3), min_size=2, max_size=5)


@pytest.mark.parametrize("case", R["independence"])
def test_the_test_of_independence_gives_what_r_gives(case):
    table = pd.DataFrame(case["counts"])
    result = chi_square(table)
    assert (result.statistic, result.df, result.p_value) == pytest.approx(
        (case["chisq"], case["df"], case["p"]), rel=1e-9
    )
    assert result.n == table.to_numpy().sum()
    assert result.effect == pytest.approx(association(table.to_numpy(), method="cramer"))
    if case["n_small_expected"]:
        assert result.warnings == (
            f"{case['n_small_expected']} of {table.size} expected counts are under 5 (the smallest is "
            f"{case['smallest_expected']:.2f}), so the p value is a rough approximation.",
        )
    else:
        assert result.warnings == ()


@given(COUNTS)
def test_rows_and_columns_are_interchangeable(counts):
    table = pd.DataFrame(counts)
    across, down = chi_square(table), chi_square(table.T)
    assert (across.statistic, across.df, across.effect) == pytest.approx((down.statistic, down.df, down.effect))
    assert 0 <= across.effect <= 1 + 1e-12


def test_empty_rows_and_columns_are_refused_by_name():
    table = pd.DataFrame([[3, 0, 4], [0, 0, 0]], index=["text", "image"], columns=["Hybrid", "Reversed", "Avoidant"])
    with pytest.raises(InputError, match="row image and column Reversed"):
        chi_square(table)
    with pytest.raises(InputError, match="the table has 1 rows and 3 columns"):
        chi_square(table.iloc[:1])


@pytest.mark.parametrize("bad", [-1, 0.5, np.nan, np.inf, "x", None])
def test_cells_that_are_not_counts_are_refused(bad):
    table = pd.DataFrame([[3, 2], [5, 4]], dtype=object)
    table.iloc[1, 0] = bad
    for test in (chi_square, mcnemar):
        with pytest.raises(InputError, match="1 cells of the table are not counts"):
            test(table)


@pytest.mark.parametrize("case", R["fit"])
def test_the_test_of_fit_gives_what_r_gives(case):
    result = goodness_of_fit(case["counts"], case["probabilities"])
    assert (result.statistic, result.df, result.p_value) == pytest.approx(
        (case["chisq"], case["df"], case["p"]), rel=1e-9
    )
    assert result.effect == pytest.approx(np.sqrt(result.statistic / result.n))


def test_the_test_of_fit_warns_about_small_expected_counts():
    assert goodness_of_fit([0, 3, 1], [0.2, 0.3, 0.5]).warnings[0].startswith("3 of 3 expected counts are under 5")
    assert "(the smallest is 4.50)" in goodness_of_fit([10, 8], [0.75, 0.25]).warnings[0]
    assert goodness_of_fit([7, 3], [0.5, 0.5]).warnings == ()


@pytest.mark.parametrize(
    ("counts", "probabilities", "message"),
    [
        ([1, 2, 3], [0.5, 0.5], "3 counts and 2 probabilities"),
        ([4], [1], "at least two categories"),
        ([4, 5], [0, 1], "each probability must be above zero"),
        ([4, 5], [0.4, 0.5], "the sum of the probabilities must be 1"),
        ([4, 5], [np.nan, 0.5], "each probability must be above zero"),
        ([0, 0], [0.5, 0.5], "all counts are 0"),
        ([4.5, 5], [0.5, 0.5], "are not counts"),
    ],
)
def test_an_invalid_test_of_fit_is_refused(counts, probabilities, message):
    with pytest.raises(InputError, match=message):
        goodness_of_fit(counts, probabilities)


@pytest.mark.parametrize("case", R["paired"])
def test_mcnemars_test_gives_what_r_gives_and_is_exact_below_25_discordant_pairs(case):
    (_, b), (c, _) = case["counts"]
    result = mcnemar(pd.DataFrame(case["counts"]))
    if b + c < 25:
        assert result.test == f"McNemar's exact test (binomial, {b + c} discordant pairs)"
        assert (result.statistic_name, result.statistic, result.df) == ("b", b, None)
        assert result.p_value == pytest.approx(case["p_exact"], rel=1e-9)
    else:
        assert result.test == "McNemar's chi-square test, without continuity correction"
        assert (result.statistic_name, result.df) == ("chisq", 1)
        assert (result.statistic, result.p_value) == pytest.approx((case["chisq"], case["p_chisq"]), rel=1e-9)


def test_the_border_between_mcnemars_two_forms_is_in_the_fixture():
    assert {24, 25} <= {case["counts"][0][1] + case["counts"][1][0] for case in R["paired"]}


@pytest.mark.parametrize("size", [1, 10])
def test_mcnemars_estimate_is_the_difference_of_the_marginal_shares(size):
    label = ["right", "wrong"]
    table = size * pd.DataFrame([[5, 4], [1, 2]], index=label, columns=label)
    result = mcnemar(table)
    assert result.estimate == pytest.approx(9 / 12 - 6 / 12)
    assert result.effect == pytest.approx(4 / 5 - 1 / 2)
    assert result.n == 12 * size
    assert mcnemar(table.T).estimate == pytest.approx(-result.estimate)


def test_a_paired_table_with_different_row_and_column_labels_is_refused():
    table = pd.DataFrame([[5, 4], [1, 2]], index=["right", "wrong"], columns=["wrong", "right"])
    with pytest.raises(
        InputError, match="the rows have the labels right and wrong, but the columns have the labels wrong and right"
    ):
        mcnemar(table)
    with pytest.raises(InputError, match="the table has 2 rows and 3 columns"):
        mcnemar(pd.DataFrame([[5, 4, 1], [1, 2, 3]]))
    with pytest.raises(InputError, match="no pair has two different responses"):
        mcnemar(pd.DataFrame([[5, 0], [0, 2]]))


@pytest.mark.parametrize("case", R["cochran"])
def test_cochrans_q_gives_what_rs_mantel_haenszel_test_gives(case):
    table = pd.DataFrame(case["answers"])
    result = cochran_q(table)
    assert (result.statistic, result.df, result.p_value) == pytest.approx((case["Q"], case["df"], case["p"]), rel=1e-9)
    assert result.n == len(table)
    assert 0 <= result.effect <= 1


ANSWERS = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 1), min_size=k, max_size=k), min_size=2, max_size=30)
).filter(lambda rows: any(len(set(row)) > 1 for row in rows))  # fmt: skip


@given(ANSWERS)
def test_cochrans_q_does_not_change_if_yes_and_no_are_exchanged(rows):
    table = pd.DataFrame(rows)
    q, turned = cochran_q(table), cochran_q(1 - table)
    assert (q.statistic, q.effect) == pytest.approx((turned.statistic, turned.effect), abs=1e-9)
    assert cochran_q(table.astype(bool)) == q


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=40, max_size=80))
def test_with_two_conditions_cochrans_q_is_mcnemars_chi_square(pairs):
    table = pd.DataFrame(pairs, columns=["first", "second"])
    b, c = pairs.count((1, 0)), pairs.count((0, 1))
    if b + c:
        q = cochran_q(table)
        assert q.statistic == pytest.approx((b - c) ** 2 / (b + c))
        assert q.p_value == pytest.approx(stats.chi2.sf((b - c) ** 2 / (b + c), 1))


def test_the_effect_is_1_if_all_units_respond_yes_in_the_same_one_of_two_conditions():
    result = cochran_q(pd.DataFrame([[1, 0]] * 12))
    assert (result.statistic, result.effect) == (12, 1)


def test_cochrans_q_warns_if_few_units_change_their_response():
    few = pd.DataFrame([[1, 0, 0]] * 7 + [[1, 1, 1]] * 30)
    assert cochran_q(few).warnings[0].startswith("Only 7 of 37 units respond differently")
    assert cochran_q(pd.DataFrame([[1, 0, 0]] * 8 + [[0, 0, 0]])).warnings == ()


@pytest.mark.parametrize("bad", [2, -1, 0.5, np.nan, None, "yes"])
def test_cells_that_are_neither_0_nor_1_are_refused(bad):
    table = pd.DataFrame([[1, 0, 1], [0, 1, 1], [0, 0, 1]], dtype=object)
    table.iloc[1, 1] = bad
    with pytest.raises(InputError, match="1 of 3 units have a cell that is missing or neither 0 nor 1"):
        cochran_q(table)


def test_tables_without_anything_to_test_are_refused():
    with pytest.raises(InputError, match="every unit gives the same response in all conditions"):
        cochran_q(pd.DataFrame([[1, 1], [0, 0], [1, 1]]))
    with pytest.raises(InputError, match="conditions are 1 and 2"):
        cochran_q(pd.DataFrame([[1, 0]]))
    with pytest.raises(InputError, match="conditions are 3 and 1"):
        cochran_q(pd.DataFrame([1, 0, 1]))
