"""Valid analysis plans, and invalid plans that are refused before data are read."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.files.file_reading import parse_yaml, read_yaml
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.exclusion_rules import FocusLostRule, MissingRule, TrialRtRule
from experiment.study.planned_analyses import PlannedAnalyses, PlannedComparison, PlannedTable, PlannedTest

TEST = {"test": "t", "of": "score", "per": "participant", "between": "group"}
AGAINST = {"between": None, "against": 0.5}
HERE = Path("plan.yaml")


def plan_of(text, model=AnalysisPlan):
    return parse_yaml(text, HERE, model)


def message_of(text, model=AnalysisPlan):
    with pytest.raises(InputError) as error:
        plan_of(text, model)
    return str(error.value)


# Levels


@pytest.mark.parametrize(
    ("written", "level"),
    [("0", 0), ("1", 1), ("1.0", 1.0), ("true", True), ("false", False), ('"01"', "01"), ('"true"', "true"),
     ("yes", "yes"), ("no", "no"), ("Köln", "Köln"), ('""', ""), ('"a, b"', "a, b"), ("-1", -1), ("0.5", 0.5)],
)  # fmt: skip
def test_a_level_keeps_the_type_that_it_has_in_the_plan(written, level):
    where = plan_of(f"tests: {{a: {{test: chi_square, of: x, between: y, where: {{z: {written}}}}}}}").tests["a"].where
    assert where == {"z": level}
    assert type(where["z"]) is type(level), "true is not 1, and 1 is not true"


def test_levels_in_a_list_keep_their_types_and_order():
    levels = plan_of('tests: {a: {test: anova, of: x, per: p, between: y, levels: [2, true, "3", 0.5]}}').tests["a"]
    assert [(type(level), level) for level in levels.levels] == [(int, 2), (bool, True), (str, "3"), (float, 0.5)]


@pytest.mark.parametrize("written", ["null", "{a: b}", "[[1]]", ".nan", ".inf", "[.nan]"])
def test_an_invalid_level_is_refused(written):
    assert "plan.yaml, line 1" in message_of(
        f"tests: {{a: {{test: chi_square, of: x, between: y, where: {{z: {written}}}}}}}"
    )


# Names


@pytest.mark.parametrize("name", ["warm-up", "T2I", "x_1", "9lives", "a" * 64])
def test_a_name_that_can_be_a_file_name_is_accepted(name):
    assert list(PlannedAnalyses(tests={name: TEST}).tests) == [name]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", ".hidden", "-x", "a" * 65, "übung", "a\n", "a.b"])
@pytest.mark.parametrize("part", ["tests", "tables", "models", "flags"])
def test_a_name_that_cannot_be_a_file_name_is_refused(part, name):
    content = {"tests": TEST, "tables": {"by": ["a"], "of": ["b"]}, "models": {"formula": "a ~ b"}, "flags": {"a": 1}}
    with pytest.raises(ValidationError):
        PlannedAnalyses.model_validate({part: {name: content[part]}})


# Tests


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"between": None}, "needs exactly one of `between`, `within` and `against`"),
        ({"within": "item"}, "needs exactly one of `between`, `within` and `against`"),
        ({"against": 0.5}, "needs exactly one of `between`, `within` and `against`"),
        ({**AGAINST, "per": None}, "lacks `per`"),
        ({**AGAINST, "levels": ["a", "b"]}, "It has no factor, so it cannot have `levels`. Fix: delete `levels`"),
        (
            {**AGAINST, "test": "anova"},
            "the test `anova` cannot have `against`. Fix: choose one of the tests `t`, `wilcoxon`, `permutation`, or "
            "write `between` or `within` instead of `against`",
        ),
        ({**AGAINST, "test": "welch_t"}, "the test `welch_t` cannot have `against`"),
        ({**AGAINST, "test": "mann_whitney"}, "the test `mann_whitney` cannot have `against`"),
        ({"between": None, "within": "item", "test": "mann_whitney"}, "the test `mann_whitney` cannot have `within`"),
        ({"test": "wilcoxon"}, "the test `wilcoxon` cannot have `between`. Fix: choose one of the tests"),
        ({"test": "mann_whitney", "levels": ["a", "b", "c"]}, "the test `mann_whitney` compares two levels"),
        ({"test": "mann_whitney", "equivalence_margin": 0.1}, "are for t tests only"),
        ({"test": "permutation", "bayes_factor": True}, "are for t tests only"),
        ({"test": "permutation", "levels": ["a"]}, "the test `permutation` compares two levels"),
        ({**AGAINST, "test": "wilcoxon", "bayes_factor": True}, "are for t tests only"),
        ({"between": None, "within": "item", "per": None}, "lacks `per`"),
        ({"per": None}, "lacks `per`"),
        ({"per": None, "test": "anova"}, "lacks `per`"),
        ({"levels": ["a"]}, "two levels"),
        ({"levels": ["a", "b", "c"]}, "two levels"),
        ({"test": "welch_t", "levels": ["a", "b", "c"]}, "two levels"),
        ({"test": "anova", "equivalence_margin": 0.1}, "are for t tests only"),
        ({"between": ["group", "site"]}, "the test `t` has the factors group, site, but it compares the levels of one"),
        ({"between": []}, "is not a factor. Fix: write the name of a column, or a list of names"),
        ({"test": "anova", "between": ["group", 3]}, "is not a factor. Fix: write the name of a column"),
        ({"test": "anova", "between": ["group", "group"]}, "`group` is named more than once"),
        ({"test": "anova", "within": "group"}, "`group` is named more than once"),
        ({"test": "anova", "within": "participant"}, "`participant` is named more than once"),
        ({"test": "anova", "within": ["score", "item"]}, "`score` is named more than once"),
        ({"test": "anova", "within": "item", "levels": ["a", "b"]}, "`levels` are levels of one factor"),
        ({"test": "anova", "within": "item", "per": None}, "a test `within` units lacks `per`"),
        ({"test": "anova", "within": "item", "against": 0.5}, "needs exactly one of"),
        ({"test": "anova", "within": "item", "bayes_factor": True}, "are for t tests only"),
        ({"test": "chi_square", "bayes_factor": True}, "are for t tests only"),
        ({"equivalence_margin": 0}, "greater than 0"),
        ({"equivalence_margin": -1}, "greater than 0"),
        ({"test": "z"}, "'welch_t'"),
        ({"summary": "median"}, "'sum'"),
        ({"who": "humans"}, "'people'"),
        ({"wihtin": "a"}, "Extra inputs"),
    ],
)
def test_an_incomplete_or_contradictory_test_is_refused(changes, what):
    with pytest.raises(ValidationError, match=what):
        PlannedTest.model_validate(TEST | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"levels": ["a", "b"]},
        {"test": "anova", "levels": ["a", "b", "c"]},
        {"test": "chi_square", "per": None},
        {"between": None, "within": "item"},
        AGAINST,
        {**AGAINST, "test": "wilcoxon"},
        {**AGAINST, "test": "permutation"},
        {"test": "permutation"},
        {"between": None, "within": "item", "test": "permutation"},
        {"test": "mann_whitney", "levels": ["a", "b"]},
        {"between": None, "against": "chance"},
        {"between": None, "against": 0},
    ],
)
def test_a_complete_test_is_accepted_and_has_its_factor(changes):
    planned = PlannedTest.model_validate(TEST | changes)
    assert planned.factor == ("item" if "within" in changes else "" if "against" in changes else "group")


def test_an_analysis_of_variance_can_have_several_factors():
    planned = PlannedTest.model_validate({**TEST, "test": "anova", "between": ["group", "site"], "within": ["item"]})
    assert planned.factors == ("group", "site", "item")
    assert (planned.between_factors, planned.within, planned.factor) == (("group", "site"), "item", "")


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("between: [a, 3]", "tests.x.between"),
        ("between: 3", "tests.x.between"),
        ("between: [a, b]\n    levels: [c, d]", "tests.x"),
        ("between: a\n    within: a", "tests.x"),
    ],
)
def test_a_wrong_combination_of_factors_is_one_sentence_with_its_line(written, place):
    message = message_of(f"tests:\n  x:\n    test: anova\n    of: y\n    per: p\n    {written}")
    assert message.startswith(f"plan.yaml, line {6 if place.endswith('between') else 2}: `{place}`: ")
    assert "\n" not in message
    assert "Fix: " in message


@pytest.mark.parametrize("written", ["chnace", "true", '"0.5"', ".nan"])
def test_an_unknown_value_to_test_against_is_one_sentence_with_its_line(written):
    message = message_of(f"tests:\n  a:\n    {{test: t, of: x, per: p, against: {written}}}")
    assert message.startswith("plan.yaml, line 3: `tests.a.against`")
    assert "\n" not in message
    assert "Fix: " in message


# Tables


def test_a_table_needs_factors_and_columns():
    for field in ("by", "of"):
        with pytest.raises(ValidationError):
            PlannedTable.model_validate({"by": ["a"], "of": ["b"], field: []})


@pytest.mark.parametrize("first", [0, -1, 1.5])
def test_a_leaderboard_has_a_whole_number_of_rows(first):
    with pytest.raises(ValidationError):
        PlannedTable(by=("a",), of=("b",), first=first)


# Comparisons


@pytest.mark.parametrize("margin", [0, 1, 5, -0.1])
def test_an_equivalence_margin_of_accuracy_is_between_0_and_1(margin):
    with pytest.raises(ValidationError):
        PlannedComparison(equivalence_margin=margin)


# Exclusion rules


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("{rule: trial_rt}", "set min_ms, max_ms or both"),
        ("{rule: median_rt, min_ms: 5, max_ms: 5}", "is not less than"),
        ("{rule: median_rt, min_ms: 5, max_ms: 4}", "is not less than"),
        ("{rule: trial_rt, min_ms: -1}", "min_ms"),
        ("{rule: missing, max_share: 5}", "max_share"),
        ("{rule: missing, max_share: 1}", "max_share"),
        ("{rule: same_response_run}", "max_length` is missing. Fix: add it"),
        ("{rule: same_response_run, max_length: 0}", "max_length"),
        ("{rule: focus_lost, max_times: -1}", "max_times"),
        ("{rule: focus_lost, max_time: 1}", "max_time"),
        ("{rule: fast}", "write one of `attention_check`"),
        ("{min_ms: 5}", "lacks the field"),
        ("{rule: missing}, {rule: missing, max_share: 0.5}", "2 times). Fix: state the rule once"),
    ],
)
def test_an_invalid_rule_is_refused_with_its_line(rule, what):
    message = message_of(f"by: [a]\nexclusions: [{rule}]")
    assert what in message
    assert "plan.yaml, line 2" in message


def test_a_rule_without_settings_is_strictest():
    rules = plan_of("exclusions: [{rule: missing}, {rule: focus_lost}, {rule: trial_rt, min_ms: 0}]").exclusions
    assert rules == (
        MissingRule(rule="missing", max_share=0), FocusLostRule(rule="focus_lost", max_times=0),
        TrialRtRule(rule="trial_rt", min_ms=0),
    )  # fmt: skip


# The whole plan


def test_parts_that_only_a_study_has_are_refused_in_the_plan_of_a_table():
    for part in ("exclusions: [{rule: missing}]", "by: [a]", "comparisons: {a: {}}"):
        assert plan_of(part)
        assert "is an unknown field" in message_of(part, PlannedAnalyses)


@pytest.mark.parametrize("confidence", [0.5, 1, 95, 0.05])
def test_a_confidence_level_is_between_a_half_and_one(confidence):
    with pytest.raises(ValidationError):
        PlannedAnalyses(confidence=confidence)


def test_by_default_tests_use_people_and_tables_use_everyone():
    plan = PlannedAnalyses(
        tests={"a": TEST}, tables={"a": {"by": ["a"], "of": ["b"]}}, models={"a": {"formula": "a ~ b"}}
    )
    assert (plan.tests["a"].who, plan.tables["a"].who, plan.models["a"].who) == ("people", "everyone", "everyone")


def test_by_default_no_analysis_is_exploratory():
    plan = plan_of("tests: {a: {test: chi_square, of: x, between: y}}\ncomparisons: {a: {}}")
    assert not plan.tests["a"].exploratory
    assert not plan.comparisons["a"].exploratory


def test_a_misspelt_field_of_a_test_is_named_with_its_line_and_a_suggestion():
    message = message_of("tests:\n  a:\n    test: t\n    of: x\n    per: p\n    betwen: y")
    assert "line 6" in message
    assert "did you mean `between`" in message


def test_a_null_level_is_refused_in_one_sentence_without_internal_types():
    message = message_of("tests: {a: {test: chi_square, of: x, between: y, where: {z: null}}}")
    assert len(message.splitlines()) == 1
    assert "union" not in message


def test_a_former_key_is_read_under_its_present_name_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("calibration: inference_level\n", encoding="utf-8")
    with pytest.warns(
        FutureWarning, match=r"plan\.yaml: `calibration` is now called `difficulty`\. Fix: use the new name"
    ):
        plan = read_yaml(path, AnalysisPlan)
    assert plan == AnalysisPlan(difficulty="inference_level")
    assert AnalysisPlan.model_validate({"calibration": "inference_level"}) == plan, (
        "a plan from a store, without a warning"
    )


def test_a_key_under_both_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("calibration: level\ndifficulty: level\n", encoding="utf-8")
    with pytest.raises(InputError, match="`calibration` is the former name of `difficulty`, and both are given"):
        read_yaml(path, AnalysisPlan)


@pytest.mark.parametrize("of", [AnalysisPlan, PlannedAnalyses])
def test_a_plan_with_the_former_names_of_the_seed_is_read(tmp_path, of):
    path = tmp_path / "plan.yaml"
    path.write_text("bootstrap_seed: 7\nbootstrap_resamples: 2000\n", encoding="utf-8")
    with (
        pytest.warns(FutureWarning, match="`bootstrap_seed` is now called `seed`"),
        pytest.warns(FutureWarning, match="`bootstrap_resamples` is now called `resamples`"),
    ):
        plan = read_yaml(path, of)
    assert (plan.seed, plan.resamples) == (7, 2000)
