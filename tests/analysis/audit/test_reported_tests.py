"""Checks of degrees of freedom, p values and conclusions that contradict other numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.audit import audit_table
from tests.analysis.audit.audit_tables import found, sentences, table, wrong


@pytest.mark.parametrize(
    ("words", "cells", "verdict"),
    [
        ("n1|n2|t|df", "20|22|2.1|40", "consistent"),
        ("n1|n2|t|df", "20|22|2.1|41", "inconsistent"),
        ("n1|n2|t|df", "20|22|2.1|38.72", "consistent"),  # Welch's
        ("n1|n2|t|df", "20|22|2.1|38", "suspicious"),
        ("n1|n2|test|t|df", "20|22|Welch t-test|2.1|38", "consistent"),
        ("n1|n2|t|df", "20|22|2.1|18.3", "inconsistent"),  # Below the bound of the smaller group.
        ("n1|n2|t|df", "20|20|2.1|19", "consistent"),  # pairs
        ("n1|n2|test|t|df", "20|20|independent t-test|2.1|19", "suspicious"),  # It fits Welch's test.
        ("n|test|t|df", "38|paired t-test|2.1|37", "consistent"),
        ("n|test|t|df", "38|paired t-test|2.1|36", "inconsistent"),
        ("n|test|t|df", "38|paired t-test|2.1|74", "inconsistent"),
        ("n|test|t|df", "38|paired t-test|2.1|30.2", "inconsistent"),
        ("n|test|t|df", "38|independent t-test|2.1|36", "consistent"),
        ("n|test|t|df", "38|t-test|2.1|30.2", "consistent"),  # Welch's
        ("n|t|df", "38|2.1|37", "consistent"),
        ("n|t|df", "38|2.1|74", "suspicious"),
        ("n|r|df", "30|.41|28", "consistent"),
        ("n|r|df", "30|.41|29", "inconsistent"),
        ("n|k|F|df", "45|3|3.1|2, 42", "consistent"),
        ("n|k|F|df", "45|3|3.1|(2, 88)", "consistent"),  # three conditions within 45
        ("n|k|test|F|df", "45|3|one-way ANOVA|3.1|2, 43", "inconsistent"),
        ("n|F|df1|df2", "45|3.1|2|42", "consistent"),
        ("n|test|F|df1|df2", "45|one-way ANOVA|3.1|2|43", "inconsistent"),
        ("Shape|chi2|df", "2 x 4|5.1|3", "consistent"),
        ("Shape|chi2|df", "2 × 4|5.1|4", "inconsistent"),
        ("Shape|chi2|df", "1 x 4|5.1|3", "consistent"),
    ],
)
def test_degrees_of_freedom_follow_from_the_participants(words, cells, verdict):
    audited = audit_table(table(f"row|{words}\na|{cells}"))
    (check,) = audited[audited["check"].str.startswith("df of")]["verdict"]
    assert check == verdict


def test_the_same_people_as_two_groups_are_named():
    audited = audit_table(table("row|n|test|t|df\na|38|paired t-test|2.1|74"))
    assert "2 x 38 - 2 = 74, which is right only for two groups of 38 participants each" in sentences(audited)


def test_a_t_test_with_more_degrees_of_freedom_than_participants():
    audited = audit_table(table("row|test|t|df\na|t-test|2.1|74"), participants=38)
    assert found(audited, "a") == ["inconsistent"]


@pytest.mark.parametrize(
    ("result", "p", "verdict"),
    [
        ("t(28) = 2.20", ".036", "consistent"),
        ("t(28) = 2.20", ".04", "consistent"),
        ("t(28) = −2.20", "p = .036", "consistent"),
        ("t(28) = 2.20", ".032", "inconsistent"),
        ("t(28) = 2.20", "< .05", "consistent"),
        ("t(28) = 2.20", "< .001", "inconsistent"),
        ("t(28) = 2.20", "> .05", "inconsistent"),
        ("t(28) = 2.20", "n.s.", "inconsistent"),
        ("t(28) = 2.20", ".018", "suspicious"),  # one-sided
        ("F(2, 45) = 3.18", ".051", "consistent"),
        ("F(2, 45) = 3.18", ".041", "inconsistent"),
        ("F(2, 45) = 3.18", ".0255", "inconsistent"),  # F is not two-sided.
        ("$\\chi^2$(3, N = 75) = 6.35", ".096", "consistent"),
        ("z = 1.96", ".05", "consistent"),
        ("z = 1.96", ".06", "inconsistent"),
        ("r(28) = .41", ".024", "consistent"),
        ("r(28) = .41", ".24", "inconsistent"),
        ("t(28) = 12.2", ".000", "consistent"),
        ("t(12,809) = 17.96", "< .001", "consistent"),
        ("t = 1.96", ".001", "inconsistent"),  # no degrees of freedom give it
        ("t = 1.66", ".049", "suspicious"),  # only one-sided
        ("r(28) = 1.41", ".001", "impossible"),
        ("F(2, 45) = -3.18", ".051", "impossible"),
        ("t(28) = 2.20", "1.36", "impossible"),
        ("t(0) = 2.20", ".036", "impossible"),
    ],
)
def test_p_values_follow_from_the_statistic(result, p, verdict):
    audited = audit_table(table(f"effect;Statistic;p\na;{result};{p}", ";"))
    assert found(audited, "a") == [verdict], sentences(audited)


def test_a_result_in_one_cell_is_read_completely():
    assert found(audit_table(table("effect;Test statistic\na;t(28) = 2.20, p = .032", ";")), "a") == ["inconsistent"]


def test_a_changed_decision_is_reported():
    audited = audit_table(table("effect|t|df|p\na|1.80|28|.03\nb|2.90|28|.03"))
    explanations = audited.set_index("row")["explanation"]
    assert "which changes the decision at the level 0.05" in explanations["a"]
    assert "decision" not in explanations["b"]


def test_a_p_at_the_level_itself_decides_nothing():
    audited = audit_table(table("effect|t|df|p\na|3.20|28|.05"))
    assert found(audited, "a") == ["inconsistent"]
    assert "decision" not in sentences(audited)


def test_welchs_degrees_of_freedom_may_have_been_rounded():
    # p is .0545 with 5 degrees of freedom, and less with 5.4 that are printed as 5
    printed = table("effect|Method|t|df|p\na|Welch's t-test|2.50|5|.052\nb|t-test|2.50|5|.052")
    assert [found(audit_table(printed), row) for row in "ab"] == [["consistent"], ["inconsistent"]]
    with_decimals = table("effect|t|df|p\na|2.50|5.3|.052\nb|2.50|5|.052")
    assert wrong(audit_table(with_decimals)).empty


@pytest.mark.parametrize("df", ["41.0", "38.72", "38.0"])
def test_degrees_of_freedom_with_decimals_are_not_suspicious(df):
    assert found(audit_table(table(f"row|n1|n2|t|df\na|20|24|2.1|{df}")), "a") == ["consistent"]
    assert found(audit_table(table(f"row|n|t|df\na|30|2.1|{df}0\nb|30|2.1|19")), "a") == []


def test_a_mixed_model_has_degrees_of_freedom_that_do_not_follow_from_its_participants():
    printed = "row|n|test|t|df|p\na|38|mixed model, Satterthwaite|2.1|812.3|.036"
    assert found(audit_table(table(printed)), "a") == ["consistent"]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ("one-way Welch ANOVA|4|27.20", "consistent"),
        ("one-way Welch ANOVA|4|60.20", "inconsistent"),  # More than 45 - 5.
        ("one-way Welch ANOVA|3|27.20", "inconsistent"),
        ("repeated-measures ANOVA|2.45|107.8", "consistent"),
        ("repeated-measures ANOVA|2.45|117.8", "inconsistent"),
        ("repeated-measures ANOVA|4.45|195.8", "inconsistent"),  # More than 5 - 1.
    ],
)
def test_corrected_degrees_of_freedom_of_f_follow_from_the_participants(cells, verdict):
    audited = audit_table(table(f"row|n|k|test|df1|df2|F\na|45|5|{cells}|3.1"))
    assert found(audited, "a", "df of F") == [verdict]


@pytest.mark.parametrize(
    ("p", "verdict"), [("0", []), ("0.1", ["consistent"]), ("0.05", []), ("0.04", ["inconsistent"])]
)
def test_a_conclusion_is_compared_only_with_a_p_that_decides_after_rounding(p, verdict):
    audited = audit_table(table(f"effect|z|p|Conclusion\na|1|{p}|not significant"))
    assert found(audited, "a", "conclusion") == verdict


def test_a_z_of_which_p_has_the_same_digits_is_not_suspicious():
    assert wrong(audit_table(table("effect|z|p\na|0.57|0.57"))).empty


def test_rounding_of_the_statistic_counts():
    # t may be from 2.045 to 2.055, which gives p from .0493 to .0503
    assert found(audit_table(table("effect|t|df|p\na|2.05|28|.0493")), "a") == ["consistent"]
    assert found(audit_table(table("effect|t|df|p\na|2.050|28|.0493")), "a") == ["inconsistent"]


def test_the_test_is_known_from_its_own_column():
    audited = audit_table(table("effect|Method|Statistic|df|p\na|T-test|2.20|28|.036\nb|something|2.20|28|.036"))
    assert [found(audited, row) for row in "ab"] == [["consistent"], ["not checkable"]]


def test_degrees_of_freedom_come_from_participants_where_they_are_not_printed():
    audited = audit_table(table("effect|n1|n2|t|p\na|15|15|2.20|.036"))
    assert found(audited, "a") == ["consistent"]
    assert "t(28) = 2.20 (groups of 15 and 15) has p" in sentences(audited)


def test_a_p_that_needs_more_degrees_of_freedom_than_participants_is_found():
    printed = table("effect|Method|t|p\na|T-test|-1.8633|.0664")
    assert found(audit_table(printed, participants=38), "a") == ["inconsistent"]
    assert found(audit_table(printed, participants=74), "a") == ["consistent"]


def test_a_correct_p_near_its_statistic_is_not_suspicious():
    p = 2 * stats.t.sf(0.577, 28)
    audited = audit_table(table(f"effect|t|df|p\na|{p:.2f}|28|{2 * stats.t.sf(round(p, 2), 28):.2f}"))
    assert wrong(audited).empty


def test_a_conclusion_that_contradicts_its_p_is_found():
    rows = ["a|.03|Reject H0", "b|.03|Fail to reject H0", "c|.07|significant", "d|.07|not significant", "e|> .05|yes"]
    audited = audit_table(table("\n".join(["effect|p|Conclusion", *rows])))
    assert [found(audited, row) for row in "ad"] == [["consistent"]] * 2
    assert [found(audited, row) for row in "bce"] == [["inconsistent"]] * 3


@settings(deadline=None)
@given(statistic=st.floats(-6, 6), df=st.integers(2, 200), decimals=st.integers(1, 4), p_decimals=st.integers(2, 5))
def test_a_computed_and_rounded_p_is_consistent(statistic, df, decimals, p_decimals):
    rows = {
        "t": (f"t({df}) = {statistic:.{decimals}f}", 2 * stats.t.sf(abs(statistic), df)),
        "F": (f"F(2, {df}) = {abs(statistic):.{decimals}f}", stats.f.sf(abs(statistic), 2, df)),
        "chi2": (f"χ²({df}) = {abs(statistic):.{decimals}f}", stats.chi2.sf(abs(statistic), df)),
        "t alone": (f"t = {statistic:.{decimals}f}", 2 * stats.t.sf(abs(statistic), df)),
    }
    lines = "\n".join(f"{name};{result};{p:.{p_decimals}f}" for name, (result, p) in rows.items())
    audited = audit_table(table(f"test of;Statistic;p\n{lines}", ";"))
    assert wrong(audited).empty, sentences(wrong(audited))
