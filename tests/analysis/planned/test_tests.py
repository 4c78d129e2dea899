"""The tests of a plan, compared with R and with the published Table 5; errors and warnings for wrong requests."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from analysis.data.data_file_reader import read_data_file
from analysis.planned.tests import COLUMNS, EQUIVALENCE, MAIN, PAIRED, planned_tests
from analysis.statistics.bayes_factors import bayes_factor_t
from analysis.statistics.corrections import benjamini_hochberg, holm
from batteries.errors import InputError
from batteries.files.file_reading import read_yaml
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import COMPARISONS, PlannedAnalyses
from tests.analysis.planned.small_plans import BY_GROUP, IN_CONDITION, X_Y, X_Z, T, forms, one, refused, run, units
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "planned_analyses.json").read_text(encoding="utf-8"))["tests"]


def same(row, expected, statistic, rel=1e-9):
    values = {"statistic": expected[statistic], "p_value": expected["p"]}
    values |= {name: expected[name] for name in ("df", "df_error", "ci_low", "ci_high", "n") if name in expected}
    assert {name: row[name] for name in values} == pytest.approx(values, rel=rel)


# Comparison with R


@pytest.mark.parametrize(
    ("name", "test", "confidence"),
    [
        ("student", T | BY_GROUP, 0.95),
        ("student_turned", T | BY_GROUP | {"levels": ["B", "A"]}, 0.95),
        ("welch", T | BY_GROUP | {"test": "welch_t"}, 0.95),
        ("welch_99", T | BY_GROUP | {"test": "welch_t"}, 0.99),
        ("sums", T | BY_GROUP | {"of": "correct", "summary": "sum"}, 0.95),
        ("sub_selection", T | BY_GROUP | {"where": {"condition": ["x", "z"]}}, 0.95),
        ("as_if_independent", T | X_Z | {"between": "condition"}, 0.95),
        ("paired_x_z", T | X_Z | IN_CONDITION, 0.95),
        ("paired_x_z", T | X_Z | IN_CONDITION | {"test": "welch_t"}, 0.95),
        ("paired_x_z_99", T | X_Z | IN_CONDITION, 0.99),
        ("paired_yes_no", T | X_Y | IN_CONDITION | {"of": "correct"}, 0.95),
    ],
)
def test_a_t_test_is_that_of_r_on_the_units_values(made_up, name, test, confidence):
    row = one(made_up, confidence=confidence, **test)
    same(row, R[name], "t")
    assert row["ci_low"] < row["estimate"] < row["ci_high"]


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("against_600", {"against": 600}),
        ("against_half_in_x", {"of": "correct", "against": 0.5, "where": {"condition": "x"}}),
    ],
)
def test_a_test_against_a_number_is_that_of_r(made_up, name, test):
    row = one(made_up, **T | test)
    same(row, R[name], "t")
    assert (row["estimate"], row["effect"]) == pytest.approx((R[name]["estimate"], R[name]["effect"]))
    assert (row["test"], row["effect_name"]) == ("One-sample t test", "Cohen's d")
    assert (row["factor"], row["levels"], row["against"]) == ("", "", str(test["against"]))


@pytest.mark.parametrize(("name", "factor"), [("one_way_site", "site"), ("one_way_condition", "condition")])
def test_an_analysis_of_variance_between_units_is_that_of_r(made_up, name, factor):
    same(one(made_up, test="anova", of="rt", per="participant", between=factor), R[name], "F")


def test_an_analysis_of_variance_within_units_is_that_of_r(made_up):
    """R prints epsilon with four digits, and uses the exact value for p."""
    row = one(made_up, test="anova", of="rt", per="participant", within="condition")
    expected = R["repeated"]
    assert (row["statistic"], row["p_value"]) == pytest.approx((expected["F"], expected["p"]), rel=1e-9)
    assert row["df"] == pytest.approx(expected["df"] * expected["epsilon"], rel=1e-4)
    assert row["df_error"] == pytest.approx(expected["df_error"] * expected["epsilon"], rel=1e-4)
    assert row["n"] == expected["n"]


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("chi_square", {"between": "group", "where": {"item": 1, "condition": "x"}}),
        ("chi_square_site", {"between": "site"}),
        ("cochran_1", {"within": "condition", "per": "participant", "where": {"item": 1}}),
        ("cochran_2", {"within": "condition", "per": "participant", "where": {"item": 2}}),
    ],
)
def test_a_test_of_counts_is_that_of_r(made_up, name, test):
    same(one(made_up, test="chi_square", of="correct", **test), R[name], "chisq")


@pytest.mark.parametrize("item", [1, 2])
def test_a_paired_test_of_counts_is_that_of_r_and_its_difference_is_first_minus_second(made_up, item):
    row = one(made_up, test="chi_square", of="correct", within="condition", per="participant", levels=["x", "z"],
              where={"item": item})  # fmt: skip
    expected = R[f"mcnemar_{item}"]
    assert (row["p_value"], row["n"]) == (pytest.approx(expected["p"]), expected["n"])
    assert row["levels"] == "x - z"
    assert row["estimate"] == pytest.approx(expected["difference"])


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("equivalence", BY_GROUP),
        ("equivalence_turned", BY_GROUP | {"levels": ["B", "A"]}),
        ("equivalence_paired", IN_CONDITION | X_Y),
        ("equivalence_against_half", {"of": "correct", "against": 0.5, "equivalence_margin": 0.1}),
    ],
)
def test_an_equivalence_test_is_that_of_r(made_up, name, factor):
    row = one(made_up, EQUIVALENCE, **T | {"equivalence_margin": 100} | factor)
    expected = R[name]
    assert (row["p_value"], row["ci_low"], row["ci_high"]) == pytest.approx(
        (expected["p"], expected["ci_low"], expected["ci_high"]), rel=1e-9
    )


# Table 5 of the published human study, from its data and a plan in YAML

ROWS_OF_TABLE_5 = """
T2I-ZS | 0.7409 | 0.4612 | {test: t, between: text_or_image, levels: [text, image], summary: sum, where: {one_shot: 0}}
T2I-OS | -0.2840 | 0.7772 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 1}}
T2I-ZS-Intermediate | 1.4671 | 0.1467 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 0, scene_type: DIRECT}}
T2I-ZS-Last | 0.4507 | 0.6536 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 0, scene_type: FINAL}}
T2I-ZS-Previsited | -0.1441 | 0.8858 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 0, scene_type: TURN}}
T2I-OS-Intermediate | -0.3633 | 0.7182 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 1, scene_type: DIRECT}}
T2I-OS-Last | 0.5753 | 0.5679 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 1, scene_type: FINAL}}
T2I-OS-Previsited | -0.8751 | 0.3875 | {test: t, between: text_or_image, levels: [text, image], where: {one_shot: 1, scene_type: TURN}}
Types-Text-ZS | 6.8661 | 0.0015 | {test: anova, between: scene_type, where: {one_shot: 0, text_or_image: text}}
Types-Image-ZS | 5.5072 | 0.0053 | {test: anova, between: scene_type, where: {one_shot: 0, text_or_image: image}}
Types-Text-OS | 4.2459 | 0.0184 | {test: anova, between: scene_type, where: {one_shot: 1, text_or_image: text}}
Types-Image-OS | 9.9272 | 0.0002 | {test: anova, between: scene_type, where: {one_shot: 1, text_or_image: image}}
Z2O-Text | -1.8633 | 0.0664 | {test: t, between: one_shot, where: {text_or_image: text}}
Z2O-Text-Intermediate | -0.6162 | 0.5401 | {test: t, between: one_shot, where: {text_or_image: text, scene_type: DIRECT}}
Z2O-Text-Last | -1.5737 | 0.1208 | {test: t, between: one_shot, where: {text_or_image: text, scene_type: FINAL}}
Z2O-Text-Previsited | -2.5089 | 0.0150 | {test: t, between: one_shot, where: {text_or_image: text, scene_type: TURN}}
Z2O-Image | -2.7387 | 0.0078 | {test: t, between: one_shot, where: {text_or_image: image}}
Z2O-Image-Intermediate | -2.0984 | 0.0407 | {test: t, between: one_shot, where: {text_or_image: image, scene_type: DIRECT}}
Z2O-Image-Last | -1.2466 | 0.2176 | {test: t, between: one_shot, where: {text_or_image: image, scene_type: FINAL}}
Z2O-Image-Previsited | -3.1492 | 0.0027 | {test: t, between: one_shot, where: {text_or_image: image, scene_type: TURN}}
Warmup-ZS-Text | -0.5853 | 0.5601 | {test: t, between: question_index, levels: [0, 1], where: {one_shot: 0, text_or_image: text}}
Warmup-ZS-Image | -0.4107 | 0.6825 | {test: t, between: question_index, levels: [0, 1], where: {one_shot: 0, text_or_image: image}}
"""  # noqa: E501
TABLE_5 = [line.split(" | ") for line in ROWS_OF_TABLE_5.strip().splitlines()]


@pytest.fixture(scope="module")
def answers(test_data):
    return read_data_file(test_data / "ir" / "human_answers.csv")


def plan_of_table_5(folder, names):
    path = folder / "plan.yaml"
    rows = [
        f"  {name}: {{of: strict, per: participant, family: ir, {test[1:]}"
        for name, _, _, test in TABLE_5
        if name in names
    ]
    path.write_text("tests:\n" + "\n".join(rows), encoding="utf-8")
    return read_yaml(path, PlannedAnalyses)


@pytest.mark.parametrize(("name", "statistic", "p"), [row[:3] for row in TABLE_5], ids=[row[0] for row in TABLE_5])
def test_the_plan_of_a_row_of_table_5_gives_the_printed_row(answers, tmp_path, name, statistic, p):
    found = planned_tests(lambda _: answers, plan_of_table_5(tmp_path, [name]))
    row = found[found["form"] == MAIN].iloc[0]
    assert (f"{row['statistic']:.4f}", f"{row['p_value']:.4f}") == (statistic, p)


def test_in_table_5_as_one_family_two_tests_survive_holm_and_five_survive_benjamini_hochberg(answers, tmp_path):
    found = planned_tests(lambda _: answers, plan_of_table_5(tmp_path, [row[0] for row in TABLE_5]))
    table = found[found["form"] == MAIN]
    assert table["name"].tolist() == [row[0] for row in TABLE_5]
    assert [int((table[column] <= 0.05).sum()) for column in ("p_value", "p_holm", "p_bh")] == [8, 2, 5]


@pytest.mark.parametrize(
    ("name", "n", "t", "p"), [("Z2O-Text", 38, -2.8254, 0.0076), ("Z2O-Image", 35, -4.0349, 0.0003)]
)
def test_zero_shot_compared_with_one_shot_has_the_paired_form_too(answers, tmp_path, name, n, t, p):
    found = planned_tests(lambda _: answers, plan_of_table_5(tmp_path, [name])).set_index("form")
    paired = found.loc[PAIRED]
    assert (paired["n"], round(paired["statistic"], 4), round(paired["p_value"], 4)) == (n, t, p)
    assert "not independent within units" in found.loc[MAIN, "warnings"]


@pytest.mark.parametrize(
    ("form", "test"),
    [
        (MAIN, T | BY_GROUP),
        (MAIN, T | BY_GROUP | {"test": "welch_t"}),
        (MAIN, T | IN_CONDITION | X_Y),
        (MAIN, T | {"against": 600}),
        (EQUIVALENCE, T | BY_GROUP | {"equivalence_margin": 100}),
        (MAIN, T | BY_GROUP | {"test": "anova"}),
        (MAIN, T | IN_CONDITION | {"test": "anova"}),
        (MAIN, T | BY_GROUP | {"test": "mann_whitney"}),
        (MAIN, T | IN_CONDITION | X_Z | {"test": "wilcoxon"}),
        (MAIN, {"test": "chi_square", "of": "correct", "between": "group"}),
        (MAIN, T | IN_CONDITION | X_Z | {"test": "chi_square", "of": "correct", "where": {"item": 1}}),
    ],
)
def test_the_interval_of_an_effect_size_has_the_confidence_of_the_plan(made_up, form, test):
    narrow, wide = (one(made_up, form, confidence=confidence, **test) for confidence in (0.8, 0.99))
    assert wide["effect_ci_low"] <= narrow["effect_ci_low"] <= narrow["effect"] <= narrow["effect_ci_high"]
    assert narrow["effect_ci_high"] < wide["effect_ci_high"]


# Rows and units of a test


WITHIN = {"test": "t", "of": "value", "per": "unit", "within": "condition"}
BETWEEN = {"test": "t", "of": "value", "per": "unit", "between": "group"}


def test_a_table_of_tests_has_its_columns_even_where_nothing_is_planned():
    assert run(units(), {}).columns.tolist() == COLUMNS
    assert run(units(), {"it": BETWEEN}).columns.tolist() == COLUMNS


def test_the_difference_is_the_first_level_minus_the_second_and_levels_has_this_order():
    data = units(effect=5.0)
    for levels, sign in ((["a", "b"], -1), (["b", "a"], 1)):
        row = one(data, **WITHIN, levels=levels)
        assert row["levels"] == " - ".join(levels)
        assert np.sign([row["estimate"], row["statistic"], row["effect"]]).tolist() == [sign] * 3
    assert one(data, **WITHIN)["levels"] == "a - b", "in their natural order where none is given"


def test_a_paired_test_of_counts_has_the_sign_of_its_difference():
    """In `a`, eight of ten values are yes; in `b`, one of ten values is yes. So `a` is above `b`."""
    data = pd.DataFrame({"unit": [*range(10)] * 2, "condition": ["a"] * 10 + ["b"] * 10,
                         "yes": [1] * 8 + [0] * 2 + [0] * 9 + [1]})  # fmt: skip
    row = one(data, test="chi_square", of="yes", per="unit", within="condition")
    assert row["estimate"] == pytest.approx(0.8 - 0.1)
    turned = one(data, test="chi_square", of="yes", per="unit", within="condition", levels=["b", "a"])
    assert turned["estimate"] == pytest.approx(0.1 - 0.8)
    assert np.sign(row["effect"]) == np.sign(row["estimate"])


def test_a_unit_with_any_number_of_rows_counts_once():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"unit": np.repeat(range(20), 7), "group": np.repeat(["x", "y"] * 10, 7)})
    data["value"] = rng.normal(size=len(data))
    row = one(data, **BETWEEN)
    means = data.groupby("unit")["value"].mean().to_numpy()
    assert row["n"] == 20
    assert row["p_value"] == pytest.approx(stats.ttest_ind(means[::2], means[1::2]).pvalue)


def test_duplicate_rows_change_sums_but_not_means():
    data = units(n=10)
    doubled = pd.concat([data, data[data["unit"] == "u3"]], ignore_index=True)
    assert one(doubled, **WITHIN)["statistic"] == pytest.approx(one(data, **WITHIN)["statistic"])
    assert one(doubled, **WITHIN, summary="sum")["statistic"] != pytest.approx(one(data, **WITHIN)["statistic"])


def test_a_mean_and_a_sum_are_the_same_test_where_units_have_equally_many_rows():
    data = units(n=9, per_cell=4)
    mean, total = one(data, **WITHIN), one(data, **WITHIN, summary="sum")
    assert mean["statistic"] == pytest.approx(total["statistic"])
    assert 4 * mean["estimate"] == pytest.approx(total["estimate"])


def test_rows_are_chosen_before_units_are_made():
    data = units(n=10, per_cell=2).assign(item=[1, 2] * 20)
    expected = one(data[data["item"] == 2], **WITHIN)
    found = one(data, **WITHIN, where={"item": 2})
    assert found["statistic"] == expected["statistic"]
    assert (found["where"], expected["where"]) == ("item = 2", "")


def test_the_table_has_the_where_of_the_plan():
    data = units(n=10).assign(item=[1, 2] * 10, hard=[True, False] * 10)
    described = one(data, **BETWEEN, where={"item": [1, 2], "hard": True})["where"]
    assert re.fullmatch(r"item = 1(,| or) 2[;,] hard = true", described)


@pytest.mark.parametrize("factor", [[True, False], [1, 0], [0.5, 1.5], ["1", "0"], ["a, b", "ä"], ["", "x"]], ids=str)
@pytest.mark.parametrize("n", [2, 3, 12])
@pytest.mark.parametrize("way", ["between", "within"])
@pytest.mark.parametrize("dtype", [None, "nullable"])
def test_levels_of_every_kind_can_be_compared(factor, n, way, dtype):
    data = units(n=2 * n)
    data["factor"] = data["condition" if way == "within" else "group"].map(
        dict(zip(["a", "b"] if way == "within" else ["even", "odd"], factor, strict=True))
    )
    if dtype:
        kind = {bool: "boolean", int: "Int64", float: "Float64", str: "str"}[type(factor[0])]
        data = data.astype({"factor": kind, "value": "Float64"})
    row = one(data, test="t", of="value", per="unit", levels=factor, **{way: "factor"})
    plain = one(data, test="t", of="value", per="unit", levels=["a", "b"] if way == "within" else ["even", "odd"],
                **{way: "condition" if way == "within" else "group"})  # fmt: skip
    assert row["statistic"] == pytest.approx(plain["statistic"])


@pytest.mark.parametrize("n_outcomes", [2, 3])
def test_counts_of_yes_and_no_are_compared_as_those_of_any_other_levels(n_outcomes):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"answer": rng.integers(0, n_outcomes, 60), "thinking": [True, False] * 30})
    row = one(data, test="chi_square", of="answer", between="thinking")
    named = data.assign(thinking=data["thinking"].map({True: "yes", False: "no"}))
    assert row["statistic"] == pytest.approx(
        one(named, test="chi_square", of="answer", between="thinking")["statistic"]
    )
    assert row["n"] == 60


def test_yes_and_no_of_different_units_are_not_pairs():
    """With two units, a list of yes and no must select columns, not rows."""
    data = pd.DataFrame({"unit": ["u1", "u1", "u2", "u2"], "t": [True, False] * 2, "value": [1.0, 2.0, 3.0, 5.5]})
    row = one(data, test="t", of="value", per="unit", within="t", levels=[False, True])
    assert (row["estimate"], row["n"]) == (pytest.approx(1.75), 2)


@pytest.mark.parametrize("of", [[True, False], ["yes", "no"], [1, 0]], ids=str)
def test_a_test_of_counts_accepts_any_kind_of_response(of):
    data = units(n=20).assign(answer=lambda rows: np.where(rows["value"] > 1, *of))
    data["answer"] = data["answer"].map(type(of[0]) if not isinstance(of[0], str) else str)
    assert one(data, test="chi_square", of="answer", between="group")["n"] == 40


# Missing values


def test_rows_without_an_outcome_are_excluded_and_counted_in_a_warning():
    data = units()
    data.loc[[0, 5], "value"] = np.nan
    row = one(data, **BETWEEN)
    assert row["warnings"].startswith("2 of 24 rows have no value and were excluded.")
    complete = data.dropna()
    assert row["statistic"] == one(complete, **BETWEEN)["statistic"]


def test_units_without_a_value_at_every_level_leave_a_paired_test_and_are_counted():
    data = units()
    data.loc[0, "value"] = np.nan
    row = one(data, **WITHIN)
    assert row["n"] == 11
    assert "1 unit that lacks a value at a level was excluded." in row["warnings"]


@pytest.mark.parametrize("missing", ["rows", "values"])
def test_units_without_a_value_at_any_tested_level_leave_a_paired_test_and_are_counted_too(missing):
    data = units(levels=("a", "b", "c"))
    data.loc[0, "value"] = np.nan
    gone = data["unit"].eq("u3") & data["condition"].isin(["a", "b"])
    data = data[~gone] if missing == "rows" else data.assign(value=data["value"].mask(gone))
    asked = {**WITHIN, "levels": ["a", "b"], "equivalence_margin": 1}
    for form in (MAIN, EQUIVALENCE):
        row = one(data, form, **asked)
        assert row["n"] == 10
        assert row["warnings"].endswith("2 units that lack a value at a level were excluded.")
    only = one(units(levels=("a", "b")).query("unit != 'u3'"), **asked)
    assert only["warnings"] == ""


def test_units_of_other_levels_are_not_missing_from_a_test_between_units():
    data = units(levels=("a", "b", "c")).assign(group=lambda rows: rows["unit"].str[-1])
    row = one(data, **{**BETWEEN, "levels": ["0", "1"]})
    assert row["warnings"] == ""


def test_an_equivalence_test_counts_one_unit_as_one_unit():
    data = units(n=4).assign(group=lambda rows: rows["condition"])
    one_lacks = one(data[1:], EQUIVALENCE, **BETWEEN, equivalence_margin=1)
    assert one_lacks["warnings"] == "1 unit that lacks a value at a level was excluded."
    single = data.drop_duplicates("unit").assign(group=["a", "a", "b", "b"])
    both = pd.concat([single, data[1:2]]).assign(group=["a", "a", "b", "b", "b"])
    row = one(both, EQUIVALENCE, **BETWEEN, equivalence_margin=1)
    assert row["warnings"] == "1 unit with values at both levels is treated as independent."


def test_a_warning_on_related_items_counts_the_items_that_the_test_uses():
    data = units(n=12, levels=("a", "b", "c")).rename(columns={"unit": "item_id"})
    data["scene"] = data["item_id"].str[1:].astype(int) // 3
    data.loc[data["item_id"].eq("u5") & data["condition"].eq("a"), "value"] = np.nan
    data = data[data["item_id"].ne("u7") | data["condition"].ne("b")]
    test = {"test": "t", "of": "value", "per": "item_id", "levels": ["a", "b"], "equivalence_margin": 1}
    for way in ("within", "between"):
        plan = AnalysisPlan.model_validate({"tests": {"it": {**test, way: "condition"}}, "item_cluster": "scene"})
        found = planned_tests(lambda _: data, plan)
        said = found.set_index("form")["warnings"].str.replace("\u00a0", " ")
        expected = {MAIN: 10 if way == "within" else 12, PAIRED: 10, EQUIVALENCE: 10}
        for form, warnings in said.items():
            assert f"The test treats the {expected[form]} items as independent" in warnings, (way, form)
            assert "`scene` (4 levels)" in warnings


@pytest.mark.parametrize("test", ["t", "welch_t", "anova", "chi_square"])
@pytest.mark.parametrize("way", ["between", "within"])
def test_a_level_that_loses_every_row_is_named_in_a_sentence(test, way):
    data = units(n=10).assign(value=lambda rows: (rows["value"] > 1).astype(float))
    data.loc[data["condition"] == "b", "value"] = np.nan
    message = refused(data, test=test, of="value", per="unit", **{way: "condition"})
    assert message.startswith("the test `it`: ")
    assert "condition" in message
    assert " b " in message or "= b" in message


@pytest.mark.parametrize("test", ["t", "anova", "chi_square"])
def test_rows_without_a_level_of_the_factor_are_counted_in_a_warning(test):
    """The test excludes these rows without a request, so a warning is needed."""
    data = units(n=20).assign(answer=lambda rows: rows["value"] > 1)
    data.loc[:6, "group"] = None
    row = one(data, test=test, of="answer", per="unit", between="group")
    assert re.search(r"\b7\b.*`?group`?", row["warnings"])


def test_levels_that_the_plan_omits_cause_no_warning():
    data = units(n=20, levels=("a", "b", "c"))
    data.loc[data["condition"] == "c", "value"] = np.nan
    row = one(data, **WITHIN, levels=["a", "b"])
    assert (row["warnings"], row["n"]) == ("", 20)
    only_in_c = pd.DataFrame({"unit": ["late"], "condition": ["c"], "group": ["even"], "value": [1.0]})
    row = one(pd.concat([data, only_in_c]), **WITHIN, levels=["a", "b"])
    assert (row["warnings"], row["n"]) == ("1 unit that lacks a value at a level was excluded.", 20)


# Tests `between` with units at several levels


def test_a_test_that_treats_the_same_units_as_independent_has_the_paired_form_too():
    data = units(effect=0.8)
    asked = {**WITHIN, "between": "condition", "within": None}
    assert forms(data, **asked) == [MAIN, PAIRED]
    planned, paired = one(data, **asked), one(data, PAIRED, **asked)
    assert re.search(r"\b12\sunits have values at more than one level", planned["warnings"])
    assert paired["statistic"] == one(data, **WITHIN)["statistic"]
    first, second = (data.loc[data["condition"] == level, "value"] for level in "ab")
    assert planned["statistic"] == pytest.approx(stats.ttest_ind(first, second).statistic)


def test_an_analysis_of_variance_has_its_paired_form_too():
    data = units(levels=("a", "b", "c"))
    asked = {"test": "anova", "of": "value", "per": "unit"}
    assert forms(data, **asked, between="condition") == [MAIN, PAIRED]
    assert one(data, PAIRED, **asked, between="condition")["statistic"] == pytest.approx(
        one(data, **asked, within="condition")["statistic"]
    )


def test_units_of_one_level_each_need_no_paired_form_and_no_warning():
    assert forms(units(), **BETWEEN) == [MAIN]
    assert one(units(), **BETWEEN)["warnings"] == ""


def overlapping(n_overlapping, n=10, seed=2):
    """Return two groups of units; some units are in both groups."""
    rng = np.random.default_rng(seed)
    first, second = range(n), range(n - n_overlapping, 2 * n - n_overlapping)
    data = pd.DataFrame({"unit": [*first, *second], "condition": ["a"] * n + ["b"] * n})
    return data.assign(value=rng.normal(size=2 * n))


ASKED = {"test": "t", "of": "value", "per": "unit", "between": "condition"}


@pytest.mark.parametrize("n_overlapping", [1, 2, 3])
def test_a_warning_mentions_a_paired_form_only_if_the_paired_form_is_reported(n_overlapping):
    data = overlapping(n_overlapping)
    found = run(data, {"it": ASKED})
    planned = found[found["form"] == MAIN].iloc[0]
    assert "more than one level" in planned["warnings"]
    assert ("form is reported too" in planned["warnings"]) == (PAIRED in found["form"].tolist())


def test_a_paired_form_that_cannot_be_computed_does_not_remove_the_planned_test():
    same_difference = overlapping(2)
    same_difference.loc[same_difference["unit"].isin([8, 9]), "value"] = [1.0, 2.0, 2.0, 3.0]
    assert MAIN in forms(same_difference, **ASKED)


def test_units_at_some_of_three_levels_do_not_remove_the_planned_analysis_of_variance():
    """In the published one-shot trials, each participant had two of the three types of scene."""
    data = units(n=30, levels=("a", "b", "c"))
    missing = [f"u{n}" for n in range(30)]
    data = data[
        [level != "abc"[missing.index(unit) % 3] for unit, level in zip(data["unit"], data["condition"], strict=True)]
    ]
    row = one(data, test="anova", of="value", per="unit", between="condition")
    assert row["n"] == 60
    assert "more than one level" in row["warnings"]


def test_an_equivalence_test_has_the_units_of_its_test_or_a_warning_about_excluded_units():
    """If two of eighteen units are in both groups, the test must not silently use only two pairs."""
    found = run(overlapping(2), {"it": ASKED | {"equivalence_margin": 1.0}}).set_index("form")
    equivalence = found.loc[EQUIVALENCE]
    assert equivalence["n"] == found.loc[MAIN, "n"] or "excluded" in equivalence["warnings"]


def test_every_form_has_a_warning_about_excluded_rows():
    data = units()
    data.loc[0, "value"] = np.nan
    asked = {**WITHIN, "between": "condition", "within": None, "equivalence_margin": 1.0}
    found = run(data, {"it": asked})
    assert found["form"].tolist() == [MAIN, PAIRED, EQUIVALENCE]
    assert found["warnings"].str.contains("excluded").all()


# Counts


def test_counts_of_dependent_responses_have_a_warning():
    data = units(n=20, per_cell=3).assign(answer=lambda rows: rows["value"] > 1)
    row = one(data, test="chi_square", of="answer", between="group", per="unit")
    assert (
        "The test treats the 120\u00a0rows as independent, but several of them have the same level of `unit` (20 "
        "levels)." in row["warnings"]
    )
    single = one(data.drop_duplicates("unit"), test="chi_square", of="answer", between="group", per="unit")
    assert "as independent" not in single["warnings"]


def test_small_expected_counts_are_a_warning():
    data = pd.DataFrame({"answer": [1] * 12 + [0] * 4, "group": ["x", "y"] * 8})
    assert (
        "2 of 4 expected counts are under 5" in one(data, test="chi_square", of="answer", between="group")["warnings"]
    )


def test_an_outcome_with_one_value_is_refused_and_the_error_names_the_value():
    data = pd.DataFrame({"answer": [1] * 12, "group": ["x", "y"] * 6})
    message = refused(data, test="chi_square", of="answer", between="group")
    assert message.startswith("the test `it`: ")
    assert "answer" in message.removeprefix("the test `it`: ")


def test_several_responses_of_a_unit_at_a_level_are_not_a_pair():
    data = units(n=10, per_cell=3).assign(answer=lambda rows: (rows["value"] > 1).astype(int))
    message = refused(data, test="chi_square", of="answer", per="unit", within="condition")
    assert "one value in `answer`, yes or no, for each unit and level" in message


def test_responses_of_a_unit_are_not_summed():
    """A yes and a no of one unit must not become a yes."""
    data = pd.DataFrame({"unit": np.repeat(range(6), 4), "condition": ["a", "a", "b", "b"] * 6,
                         "answer": [1, 0, 0, 0, 0, 0, 0, 1] * 3})  # fmt: skip
    refused(data, test="chi_square", of="answer", per="unit", within="condition", summary="sum")


# Equivalence and Bayes factors


def test_the_interval_of_an_equivalence_test_lies_within_the_margin_exactly_when_p_is_small():
    data = units(n=40, effect=0.0)
    for margin in (0.05, 0.3, 0.6, 2.0):
        row = one(data, EQUIVALENCE, **WITHIN, equivalence_margin=margin)
        assert (row["p_value"] < 0.05) == (-margin < row["ci_low"] and row["ci_high"] < margin)


def test_each_form_has_its_bayes_factor():
    data = units()
    paired = one(data, **WITHIN, bayes_factor=True)
    assert paired["bayes_factor_10"] == pytest.approx(bayes_factor_t(paired["statistic"], 12))
    groups = one(data, **BETWEEN, bayes_factor=True)
    assert groups["bayes_factor_10"] == pytest.approx(bayes_factor_t(groups["statistic"], 6, 6))
    assert pd.isna(one(data, **BETWEEN)["bayes_factor_10"])


def test_a_bayes_factor_of_welch_s_test_is_not_made_from_a_statistic_that_its_model_does_not_know():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"unit": range(40), "group": ["x"] * 35 + ["y"] * 5})
    data["value"] = np.where(data["group"] == "x", rng.normal(0, 1, 40), rng.normal(2, 8, 40))
    try:
        row = one(data, **BETWEEN | {"test": "welch_t", "bayes_factor": True})
    except (InputError, ValidationError):
        return
    student = one(data, **BETWEEN)
    assert row["statistic"] != pytest.approx(student["statistic"])
    expected = bayes_factor_t(student["statistic"], 35, 5)
    assert "Bayes" in row["warnings"] or row["bayes_factor_10"] == pytest.approx(expected)


# Families


def test_planned_tests_paired_forms_and_equivalence_tests_are_separate_families():
    data = units(n=16, effect=0.4).assign(other=lambda rows: rows["value"] ** 2)
    asked = {**WITHIN, "between": "condition", "within": None}
    tests = {
        "a1": BETWEEN, "a2": BETWEEN | {"of": "other"}, "a3": asked,
        "b1": BETWEEN | {"family": "b"}, "x1": BETWEEN | {"exploratory": True},
        "x2": asked | {"exploratory": True}, "e1": BETWEEN | {"equivalence_margin": 1.0},
    }  # fmt: skip
    table = run(data, tests)
    families = {
        ("tests", MAIN, False): ["a1", "a2", "a3", "e1"], ("b", MAIN, False): ["b1"],
        ("tests", MAIN, True): ["x1", "x2"], ("tests", PAIRED, False): ["a3"], ("tests", PAIRED, True): ["x2"],
        ("tests", EQUIVALENCE, False): ["e1"],
    }  # fmt: skip
    for (family, form, exploratory), names in families.items():
        together = table[(table["family"] == family) & (table["exploratory"] == exploratory)]
        rows = together[together["form"] == form]
        assert rows["name"].tolist() == names
        instead = together[(together["form"] == MAIN) & ~together["name"].isin(names)]
        whole = pd.concat([rows, instead]) if form == PAIRED else rows
        assert rows["p_holm"].tolist() == holm(whole["p_value"])[: len(rows)].tolist()
        assert rows["p_bh"].tolist() == benjamini_hochberg(whole["p_value"])[: len(rows)].tolist()
    assert len(table) == sum(map(len, families.values()))


def test_planned_tests_without_a_result_count_in_the_correction_of_their_family(made_up):
    """One test cannot be computed, and an analysis of variance with three effects was changed since the lock.

    In R, where the p values are those of the three computed tests:
    p <- c(0.0088001344517729, 0.000429655088834132, 8.39296441991023e-07)
    p.adjust(p, "holm", n = 7); p.adjust(p, "BH", n = 7)
    """
    tests = {"student": T | BY_GROUP, "paired": T | X_Z | IN_CONDITION, "against": T | {"against": 600}}
    alone = run(made_up, tests)
    missing = {"no_rows": T | BY_GROUP | {"where": {"site": "Nowhere"}, "equivalence_margin": 5}}
    changed = {"crossed": T | {"test": "anova", "between": "group", "within": "condition"}}
    plan, before = (PlannedAnalyses.model_validate({"tests": of_plan}) for of_plan in (tests | missing, changed))
    not_computed = []
    table = planned_tests(lambda _: made_up, plan, not_computed, before.tests)
    assert len(not_computed) == 1
    assert alone["n_family"].tolist() == [3] * 3
    assert table["n_family"].tolist() == [7] * 3
    assert table["p_value"].tolist() == alone["p_value"].tolist()
    assert table["p_holm"].tolist() == pytest.approx([4.40006722588645e-02, 2.57793053300479e-03, 5.87507509393716e-06])
    assert table["p_bh"].tolist() == pytest.approx([2.05336470541368e-02, 1.50379281091946e-03, 5.87507509393716e-06])


def test_an_exploratory_test_that_cannot_be_computed_does_not_change_the_correction_of_confirmatory_tests(made_up):
    tests = {"student": T | BY_GROUP, "paired": T | X_Z | IN_CONDITION}
    lost = T | BY_GROUP | {"where": {"site": "Nowhere"}}
    plan = PlannedAnalyses.model_validate({"tests": tests | {"lost": lost | {"exploratory": True}}})
    table = planned_tests(lambda _: made_up, plan, [])
    assert table["p_holm"].tolist() == run(made_up, tests)["p_holm"].tolist()
    assert table["n_family"].tolist() == [2, 2]


def test_an_equivalence_test_counts_only_planned_equivalence_tests(made_up):
    margin = {"equivalence_margin": 200.0}
    lost = T | BY_GROUP | {"where": {"site": "Nowhere"}}
    tests = {"student": T | BY_GROUP | margin, "lost": lost | margin, "without": lost}
    table = planned_tests(lambda _: made_up, PlannedAnalyses.model_validate({"tests": tests}), []).set_index("form")
    assert table["n_family"].to_dict() == {MAIN: 3, EQUIVALENCE: 2}
    assert table.loc[EQUIVALENCE, "p_holm"] == pytest.approx(2 * table.loc[EQUIVALENCE, "p_value"])


def test_a_test_alone_in_its_family_keeps_its_p_value():
    row = one(units(), **BETWEEN)
    assert row["p_value"] == row["p_holm"] == row["p_bh"]


def test_each_test_gets_the_rows_of_its_participants():
    data = {"people": units(seed=1), "models": units(seed=2), "everyone": units(seed=3)}
    tests = {name: BETWEEN | {"who": name} for name in data} | {"default": BETWEEN}
    plan = PlannedAnalyses.model_validate({"tests": tests})
    found = planned_tests(lambda planned: data[planned.who], plan).set_index("name")["statistic"]
    assert {name: found[name] for name in data} == {
        name: one(rows, **BETWEEN)["statistic"] for name, rows in data.items()
    }
    assert found["default"] == found["people"]


# Errors for tests that cannot be computed


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"of": "valeu"}, "there is no column `valeu` in the data. Fix: choose one of unit, condition, group, value"),
        ({"per": "units"}, "there is no column `units`"),
        ({"between": "groups"}, "there is no column `groups`"),
        ({"where": {"item": 1}}, "there is no column `item`"),
        ({"where": {"group": "none"}}, "`group` has no level none. Fix: choose one of even, odd."),
        ({"levels": ["even", "none"]}, "`group` has no level none. Fix: choose one of even, odd."),
        ({"where": {"group": "even"}}, "so that two levels remain"),
        ({"of": "condition"}, "the column `condition` contains text, such as 'a'"),
        ({"where": {"unit": ["u0", "u1", "u2"]}}, "a test needs at least 2"),
    ],
)
def test_a_test_that_cannot_be_computed_is_refused_in_a_sentence_with_its_name(changes, expected):
    message = refused(units(), **BETWEEN | changes)
    assert message.startswith("the test `it`: ")
    assert expected in message
    assert "\n" not in message


def test_more_than_two_levels_need_two_names_for_a_t_test():
    message = refused(units(levels=("a", "b", "c")), **WITHIN)
    assert re.search(r"the levels of `condition` in these rows are a, b, c", message)
    assert "name two levels in `levels`" in message


def test_an_analysis_of_variance_with_one_named_level_is_refused():
    assert "so that two levels remain" in refused(
        units(), test="anova", of="value", per="unit", within="condition", levels=["a"]
    )


@pytest.mark.parametrize(
    ("test", "way"),
    [*product(["t", "welch_t", "anova"], ["between", "within"]), ("mann_whitney", "between"), ("wilcoxon", "within"),
     ("permutation", "between"), ("permutation", "within")],
)  # fmt: skip
def test_values_that_do_not_vary_are_refused_without_a_warning_of_numpy(test, way):
    message = refused(units().assign(value=1.0), test=test, of="value", per="unit", **{way: "condition"})
    assert "cannot be computed" in message


@pytest.mark.parametrize("test", ["t", "anova", "chi_square"])
@pytest.mark.parametrize("way", ["between", "within"])
@pytest.mark.parametrize("levels", [["a", "a"], ["a", "a", "b"]], ids=str)
def test_a_duplicate_level_is_refused_because_its_rows_would_count_twice(test, way, levels):
    data = units().assign(answer=lambda rows: (rows["value"] > 1).astype(int))
    message = refused(data, test=test, of="answer", per="unit", levels=levels, **{way: "condition"})
    assert "dimensions" not in message


def test_one_level_written_in_two_ways_is_a_duplicate():
    data = units().assign(code=lambda rows: (rows["condition"] == "a").astype(int))
    data = data.assign(answer=lambda rows: (rows["value"] > 1).astype(int))
    refused(data, test="chi_square", of="answer", between="code", levels=[1, "1", 0])


def test_a_unit_without_a_name_is_refused_in_a_sentence():
    refused(units(), **BETWEEN | {"per": ""})


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_refused(value):
    data = units()
    data.loc[0, "value"] = value
    assert "infinite" in refused(data, **BETWEEN)


# Any data

VALUES = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from(["a", "b", "c", None]), st.one_of(st.none(), st.integers(0, 3)),
        st.sampled_from([True, False]),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(
    rows=VALUES,
    test_and_way=st.sampled_from([(test, way) for test, ways in COMPARISONS.items() for way in ways]),
    levels=st.sampled_from([[], ["a", "b"], ["b", "a"]]),
    of=st.sampled_from(["count", "yes"]), factor=st.sampled_from(["level", "yes"]),
    summary=st.sampled_from(["mean", "sum"]),
)  # fmt: skip
def test_any_data_have_a_finite_result_or_an_error(rows, test_and_way, levels, of, factor, summary):
    test, way = test_and_way
    data = pd.DataFrame(rows, columns=["unit", "level", "count", "yes"]).astype({"level": "str", "count": "Float64"})
    asked = {"test": test, "of": of, "per": "unit", "summary": summary, way: 1 if way == "against" else factor}
    asked["levels"] = [] if factor == "yes" or way == "against" else levels
    try:
        table = run(data, {"it": asked})
    except InputError as error:
        message = str(error)
        event(f"refused: {message[:60]}")
    else:
        message = "the test `it`: ."
        check_finite(table, len(data), data["unit"].nunique(), test)
    assert re.fullmatch(r"the test `it`: .*\.", message)


def check_finite(table, n_rows, n_units, test):
    for row in table.to_dict("records"):
        assert np.isfinite(row["statistic"])
        assert 0 <= row["p_value"] <= row["p_holm"] <= 1
        bounds = np.array([row["effect_ci_low"], row["effect_ci_high"]], dtype=float)
        assert np.isnan(bounds).all() or bounds[0] <= bounds[1]
        if np.isfinite(bounds).all() and row["effect_name"] not in {"Cramér's V", "eta squared", "partial eta squared"}:
            assert bounds[0] - 1e-9 <= row["effect"] <= bounds[1] + 1e-9
        assert row["n"] >= (1 if test in {"chi_square", "wilcoxon", "mann_whitney"} else 2)
        assert row["n"] <= (n_rows if test == "chi_square" or row["form"] == MAIN else n_units)


@settings(deadline=None, max_examples=40)
@given(values=st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=24), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter_and_exchanging_the_levels_changes_the_sign(values, seed):
    values = [round(value, 3) for value in values]
    n = len(values) // 2
    data = pd.DataFrame({"unit": [*range(n)] * 2, "c": ["a"] * n + ["b"] * n, "value": values[: 2 * n]})
    asked = {"test": "t", "of": "value", "per": "unit", "within": "c"}
    try:
        row = one(data, **asked)
    except InputError:
        return
    shuffled = one(data.sample(frac=1, random_state=seed), **asked)
    assert shuffled["statistic"] == pytest.approx(row["statistic"], rel=1e-6, abs=1e-9)
    turned = one(data, **asked, levels=["b", "a"])
    assert (turned["statistic"], turned["estimate"]) == (-row["statistic"], -row["estimate"])
    assert (turned["ci_low"], turned["ci_high"]) == pytest.approx((-row["ci_high"], -row["ci_low"]))
