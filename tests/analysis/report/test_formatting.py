"""Tables of the report: a shown text has the same value as its number."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.report.formatting import HEADINGS, cell_words, heading, number, p_words, shown

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)


def read(text):
    """Return a shown number as a float."""
    return float(text.replace("−", "-").replace(",", ""))


# p values


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.0, "< .001"), (0.0004, "< .001"), (0.0007, "< .001"), (0.00099, "< .001"), (0.001, ".001"), (0.0014, ".001"),
     (0.0499, ".050"), (0.05, ".050"), (0.4906, ".491"), (1.0, "1.000")],
)  # fmt: skip
def test_a_p_value_is_written_as_apa_style_writes_it(p, words):
    """APA style (7th ed., 6.36): three decimals, no zero before the point, and `< .001` for smaller values."""
    assert p_words(p) == words


@given(st.floats(0, 1))
def test_a_p_value_is_rounded_and_never_shown_as_zero(p):
    words = p_words(p)
    assert re.fullmatch(r"< \.001|\.\d{3}|1\.000", words)
    assert words != ".000"
    if not words.startswith("<"):
        assert abs(float(words) - p) <= 0.0005 + 1e-9


@pytest.mark.parametrize("column", ["p_value", "p_holm", "p_bh", "p_adjusted"])
def test_columns_of_p_values_are_shown_as_p_values(column):
    assert cell_words(column, 0.0312) == ".031"


@pytest.mark.parametrize("column", ["p_choice_mean", "p_seen", "p_correct_sd"])
def test_a_data_column_that_begins_with_p_is_not_a_p_value(column):
    """A plan may average a column `p_choice`. A mean of 0.0003 must not be shown as `< .001`."""
    assert cell_words(column, 0.0003) == cell_words("choice_mean", 0.0003)
    assert cell_words(column, 12.5) == cell_words("choice_mean", 12.5)


# Numbers


@given(FINITE)
@example(0.0005)
@example(0.00049999)
@example(-0.0)
@example(0.9999)
@example(1e-9)
def test_a_number_has_three_decimals_or_two_significant_digits(value):
    text = number(value)
    assert not text.startswith("-")
    assert (text.startswith("−")) == (read(text) < 0)
    half = 0.05 if abs(value) >= 1000 else 0.0005 if abs(value) >= 0.0005 else abs(value) * 0.05
    assert abs(read(text) - value) <= half + 1e-9 * abs(value)


@given(FINITE)
def test_a_number_other_than_zero_is_not_shown_as_zero(value):
    text = number(value)
    if 1e-300 < abs(value) < 1e15:
        assert read(text) != 0


@pytest.mark.parametrize(("value", "text"), [(math.inf, "∞"), (-math.inf, "−∞")])
def test_an_infinite_number_is_shown_as_infinite(value, text):
    assert number(value) == text


def test_a_missing_number_is_never_shown_as_infinite():
    assert "∞" not in number(math.nan)


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        ("df", 453.6, "453.6"), ("df", 16.0, "16"), ("df_error", 15.752, "15.8"), ("df", 3, "3"), ("n", 1200, "1,200"),
        ("estimate", -0.12345, "−0.123"), ("n_trials", 0, "0"), ("score_mean", 1234.5678, "1,234.6"),
    ],
)  # fmt: skip
def test_counts_degrees_of_freedom_and_estimates_are_shown_as_papers_show_them(column, cell, words):
    assert cell_words(column, cell) == words


# Words


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, np.nan, pd.NaT])
@pytest.mark.parametrize("column", ["p_value", "estimate", "level"])
def test_a_missing_cell_is_empty(column, missing):
    assert cell_words(column, missing) == ""


def test_yes_and_no_are_words():
    assert [cell_words("converged", cell) for cell in (True, False)] == ["yes", "no"]


@pytest.mark.parametrize("text", ["Köln, Süd", "01", "a - b", "1e5", "true", "-3", "<b>"])
def test_text_is_shown_unchanged(text):
    assert cell_words("level", text) == text


def test_a_small_estimate_keeps_its_decimals_beside_a_large_one():
    """An interval of a ratio that includes 1 must not be shown as 1.0 to 1.1."""
    table = pd.DataFrame({"ratio": [62065.94, 1.0224], "ci_low": [56975.3, 0.9671], "ci_high": [67611.4, 1.0801]})
    assert shown(table).rows == [["62,065.9", "[56,975.3, 67,611.4]"], ["1.022", "[0.967, 1.080]"]]


def test_both_bounds_of_an_interval_have_the_same_decimals():
    assert shown(pd.DataFrame({"ci_low": [-506.486], "ci_high": [1238.912]})).rows == [["[−506.5, 1,238.9]"]]


def test_estimates_of_10_or_more_in_a_column_with_large_estimates_have_one_decimal():
    table = pd.DataFrame({"rt_ms": [4989.839, -473.438], "slope": [0.125, 1.5], "p_value": [0.5, 0.0123]})
    assert shown(table).rows == [["4,989.8", "0.125", ".500"], ["−473.4", "1.500", ".012"]]


def test_a_year_has_no_thousands_separator():
    assert cell_words("year", 2024) == "2024"


# Headings


def test_all_headings_are_different():
    assert len(set(HEADINGS.values())) == len(HEADINGS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rt_ms_mean", "rt_ms, mean"), ("correct_sd", "correct, SD"), ("correct_se", "correct, SE"),
        ("correct_n", "correct, values"), ("correct_n_participants", "correct, participants"),
        ("correct_n_runs", "correct, runs"), ("n_items", "items"),
        ("text_or_image", "text or image"), ("n", "n"),
        ("p_holm", "p, Holm"), ("statistic_name", "statistic name"),
    ],
)  # fmt: skip
def test_a_heading_names_the_content_of_its_column(name, words):
    assert heading(name) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ci_low", "90\u00a0% CI low"), ("ci_high", "90\u00a0% CI high"),
        ("kappa_ci_low", "Cohen's kappa, 90\u00a0% CI low"),
        ("equivalence_ci_high", "equivalence, 80\u00a0% CI high"),
    ],
)  # fmt: skip
def test_the_heading_of_an_interval_states_its_coverage(name, words):
    assert heading(name, 0.9) == words


def test_a_data_column_that_begins_with_n_is_not_a_count():
    """The heading of the n-back task must not be `back`."""
    assert heading("n_back").replace(" ", "_") == "n_back"


# Tables


def test_a_table_has_rows_of_cells_and_right_aligned_numbers():
    table = pd.DataFrame(
        {
            "model": ["Haiku", None],
            "thinking": pd.Series([True, None], dtype="boolean"),
            "n": [1200, 3],
            "score_mean": [0.51234, np.nan],
            "p_value": [0.0001, 0.5],
        }
    )
    found = shown(table)
    assert [(column.heading, column.is_number) for column in found.columns] == [
        ("model", False), ("thinking", False), ("n", True), ("score, mean", True), ("p", True)
    ]  # fmt: skip
    assert found.rows == [["Haiku", "yes", "1,200", "0.512", "< .001"], ["", "", "3", "", ".500"]]


def test_a_table_without_rows_or_columns_can_be_shown():
    assert shown(pd.DataFrame({"a": []})).rows == []
    assert shown(pd.DataFrame()).columns == []


@given(st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=5)), st.one_of(st.none(), FINITE)), max_size=6))
def test_every_cell_of_a_table_is_shown(rows):
    table = pd.DataFrame(rows, columns=["level", "estimate"]).astype({"level": "str", "estimate": "float64"})
    found = shown(table)
    assert len(found.rows) == len(rows)
    for (level, value), cells in zip(rows, found.rows, strict=True):
        assert cells[0] == (level or "")
        assert (cells[1] == "") == (value is None)


def test_measures_of_a_study_have_one_unit_everywhere():
    table = pd.DataFrame(
        {"subject": ["A"], "n_items": [12], "accuracy_1": [0.5], "difference": [-0.125], "ci_low": [-0.25],
         "ci_high": [float("nan")], "kappa": [0.25], "kappa_ci_low": [0.125], "consistency": [1.0],
         "consistency_ci_low": [0.9], "consistency_ci_high": [1.0]}
    )  # fmt: skip
    found = shown(table, 0.95, of_study=True)
    assert found.rows == [["A", "12", "50.0\u00a0%", "−12.5", "[−25.0, –]", "0.250", "0.125", "100.0\u00a0%",
                           "[90.0, 100.0]"]]  # fmt: skip
    headings = [column.heading for column in found.columns]
    assert headings[3:5] == ["difference, points", "95\u00a0% CI, points"]
    assert headings[5:7] == ["Cohen's kappa", "Cohen's kappa, 95\u00a0% CI low"]
    assert headings[-1] == "consistency, 95\u00a0% CI"
    # A factor can have the name of a measure.
    of_factor = pd.DataFrame({"expected": ["left"], "change": [2], "accuracy": [0.5]})
    assert shown(of_factor, 0.95, of_study=True).rows == [["left", "2", "50.0\u00a0%"]]
    # A table of the researcher's own columns has no known unit.
    assert shown(table).rows[0][2:4] == ["0.500", "−0.125"]


def test_the_bounds_of_an_interval_are_one_column():
    table = pd.DataFrame({"estimate": [0.5, 1.0, 2.0], "ci_low": [0.1, np.nan, -np.inf], "ci_high": [0.9, np.nan, 3.0]})
    found = shown(table, 0.95)
    assert [column.heading for column in found.columns] == ["estimate", "95\u00a0% CI"]
    assert [row[1] for row in found.rows] == ["[0.100, 0.900]", "", "[−∞, 3.000]"]
