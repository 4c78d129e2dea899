"""Checks of standard errors and confidence intervals, and of test statistics of estimates."""

import numpy as np
import pytest

from analysis.audit import audit_table
from tests.analysis.audit import clean_tables
from tests.analysis.audit.audit_tables import found, sentences, table, wrong


@pytest.mark.parametrize(
    ("cells", "verdict", "words"),
    [
        ("28|1.20|0.23", "consistent", "SE = SD / √n = 1.20 / √28 = 0.23."),
        ("28|1.20|0.2", "consistent", "= 0.2."),
        ("28|1.2|0.225", "consistent", "1.2 / √28 = 0.227."),  # The SD may be 1.19.
        ("28|1.20|0.31", "inconsistent", "but SE = 0.31 is printed, which needs n = 15."),
        ("28|1.20|1.20", "inconsistent", "but SE = 1.20 is printed. The standard error of a model"),
        ("10|1.200|0.400", "suspicious", "which is SD / √9. Was the sum of squares of the SD divided by 10"),
        ("28|0|0", "consistent", "0 / √28 = 0."),
    ],
)
def test_a_standard_error_is_the_sd_divided_by_the_root_of_n(cells, verdict, words):
    audited = audit_table(table(f"group|N|SD|SE\na|{cells}"))
    assert found(audited, "a", "SE") == [verdict]
    assert words in sentences(audited)


def test_the_standard_error_of_an_estimate_is_not_compared_with_an_sd():
    audited = audit_table(table("effect|N|SD|b|SE|t\na|28|1.20|0.50|0.25|2.00"))
    assert audited["check"].tolist() == ["estimate / SE"]


@pytest.mark.parametrize(
    ("header", "cells", "verdict", "words"),
    [
        ("N|M|SD|95% CI", "28|5.19|1.20|[4.72, 5.66]", "consistent", "(t distribution, df = 27)."),
        ("N|M (SD)|95 % CI", "28|5.19 (1.20)|4.72 to 5.66", "consistent", "(t distribution, df = 27)."),
        ("N|M|SD|ci_low|ci_high", "28|5.19|1.20|4.72|5.66", "consistent", "(t distribution, df = 27)."),
        ("N|M|SE|2.5 %|97.5 %", "28|5.19|0.227|4.72|5.66", "consistent", "the 95 % CI"),
        ("N|M|SD|90% CI", "28|5.19|1.20|[4.80, 5.58]", "consistent", "the 90 % CI"),
        ("N|M|SD|CI", "28|-5.19|1.20|90% CI [−5.58, −4.80]", "consistent", "the 90 % CI"),
        ("N|M|SD|95% CI", "28|5.19|1.20|[4.75, 5.63]", "suspicious", "distribution (df = 27), the CI is [4.72, 5.66]"),
        ("N|M|SD|95% CI", "28|5.19|1.20|[4.80, 5.58]", "inconsistent", "which is right for a 90 % CI."),
        ("N|M|SD|CI", "28|5.19|1.20|[4.80, 5.58]", "suspicious", "right for a 90 % CI. The level of the CI is not"),
        ("N|M|SD|95% CI", "28|5.19|1.20|[5.66, 4.72]", "impossible", "cannot be above its upper bound"),
        ("N|M|SD|95% CI", "28|5.91|1.20|[4.72, 5.66]", "inconsistent", "does not contain the mean 5.91."),
        ("N|M|SD|95% CI", "28|5.29|1.20|[4.72, 5.66]", "suspicious", "5.29 is not in the middle of the 95 % CI"),
        ("b|SE|95% CI", "0.50|0.10|[0.30, 0.70]", "consistent", "(normal distribution)."),
        ("b|SE|df|95% CI", "0.50|0.10|5|[0.24, 0.76]", "consistent", "(t distribution, df = 5)."),
        ("b|SE|df|95% CI", "0.50|0.10|5.00|[0.30, 0.70]", "consistent", "(normal distribution)."),
        ("b|SE|95% CI", "0.500|0.100|[0.285, 0.715]", "consistent", "(t distribution); no degrees of freedom are"),
        ("b|SE|95% CI", "0.50|0.10|[0.10, 0.90]", "inconsistent", "of 0.50 is [0.30, 0.70], but [0.10, 0.90] is"),
        ("b|SE|Wald|df|95% CI", "0.50|0.10|25.0|1|[-0.77, 1.77]", "inconsistent", "but [-0.77, 1.77] is printed"),
        ("b|SE|OR|95% CI", "0.50|0.10|1.65|[1.36, 2.01]", "consistent", "(normal distribution)."),
        ("b|SE|OR|95% CI", "0.50|0.10|1.65|[1.36, 2.31]", "suspicious", "is not in the middle"),
        ("b|SE|OR|95% CI", "0.50|0.10|1.65|[1.10, 2.48]", "inconsistent", "is printed"),
        ("b|SE|OR|95% CI", "0.50|0.10|1.65|[1.76, 2.48]", "inconsistent", "does not contain the estimate 0.50."),
    ],
)  # fmt: skip
def test_a_confidence_interval_follows_from_the_standard_error(header, cells, verdict, words):
    audited = audit_table(table(f"row|{header}\na|{cells}"))
    assert found(audited, "a", "CI") == [verdict], sentences(audited)
    assert words in sentences(audited)


def test_an_interval_beside_a_mean_and_an_estimate_is_not_checked():
    audited = audit_table(table("row|M|b|SE|t|95% CI\na|5.2|0.50|0.25|2.00|[0, 1]"))
    assert found(audited, check="CI") == ["not checkable"]
    assert wrong(audited).empty


@pytest.mark.parametrize(
    ("header", "cells", "verdict", "words"),
    [
        ("b|SE|z", "0.50|0.10|5.00", "consistent", "0.50 / 0.10 = 5.00."),
        ("b|SE|z", "0.50|0.10|5.32", "consistent", "0.50 / 0.10 = 5.00."),  # 0.505 / 0.095
        ("b|SE|z", "0.50|0.10|5.33", "inconsistent", "0.50 / 0.10 = 5.00, but z = 5.33 is printed."),
        ("b|SE|z", "0.50|0.00|99", "consistent", "0.50 / 0.00 = 99.00 or more."),
        ("b|SE|z", "0.50|0.00|98", "inconsistent", "but z = 98 is printed."),
        ("b|SE|z", "0.50|0.10|-5.00", "suspicious", "the estimate 0.50 and z = -5.00 have opposite signs."),
        ("Estimate|Std. Error|t value|df", "-0.50|0.10|-5.00|20", "consistent", "-0.50 / 0.10 = -5.00."),
        ("Estimate|Std. Error|Statistic", "-0.50|0.10|t(20) = -6", "inconsistent", "but t(20) = -6 is printed."),
        ("B|S.E.|Wald", "0.500|0.100|25.0", "consistent", "(0.500 / 0.100)² = 25.00."),
        ("B|S.E.|Wald", "0.500|0.100|5.0", "inconsistent", "(0.500 / 0.100)² = 25.00, but chi2(1) = 5.0 is printed."),
    ],
)
def test_a_statistic_is_the_estimate_divided_by_its_standard_error(header, cells, verdict, words):
    audited = audit_table(table(f"effect|{header}\na|{cells}"))
    assert found(audited, "a", "estimate / SE") == [verdict], sentences(audited)
    assert words in sentences(audited)


def test_other_statistics_are_not_compared_with_an_estimate():
    audited = audit_table(table("effect|b|SE|chi2|df|p\na|0.50|0.10|3.84|1|.05"))
    assert audited["check"].tolist() == ["p value"]


def test_the_p_of_walds_chi_square_has_one_degree_of_freedom():
    audited = audit_table(table("effect|B|S.E.|Wald|p\na|0.50|0.10|25.0|.012"))
    assert found(audited, "a", "p value") == ["inconsistent"]


@pytest.mark.parametrize(
    ("kind", "column", "factor", "check"),
    [
        ("mean", "SE", 1.2, "SE"),
        ("mean", "SD", 0.8, "SE"),
        ("mean without its standard error", "SD", 1.2, "CI"),
        ("linear coefficient", "Std. Error", 1.2, "CI"),
        ("linear coefficient", "t value", 1.2, "estimate / SE"),
        ("logistic coefficient", "SE", 0.8, "estimate / SE"),
        ("logistic coefficient", "z", 1.2, "estimate / SE"),
        ("odds ratio", "Wald", 1.3, "estimate / SE"),
        ("odds ratio", "S.E.", 1.3, "CI"),
    ],
)
def test_a_number_that_was_changed_is_found(kind, column, factor, check):
    rng = np.random.default_rng(11)
    row_of, _ = clean_tables.KINDS[kind]
    missed = 0
    for _ in range(10):
        rows = clean_tables.frame([row_of(rng, 4, 4) for _ in range(3)])
        rows.loc[1, column] = f"{factor * float(rows.loc[1, column]):.4f}"
        found_rows = wrong(audit_table(rows)).query("check == @check")["row"].tolist()
        assert set(found_rows) <= {"e1"}
        missed += found_rows != ["e1"]
    assert missed == 0
