"""Mistakes in a plan are found before there are data, and a plan that would work is not refused."""

from typing import Any

import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.planned.plan_mistakes import plan_mistakes, rows_of_items
from batteries.items import Item
from experiment.study.analysis_plan import AnalysisPlan

CONTENT = {"text": "A story.", "prompt": "Which?", "options": ["this", "that"]}
ITEMS = [
    Item(item_id=f"i{number}", task="multiple_choice", factors=factors, content=CONTENT, key=1)
    for number, factors in enumerate(
        [{"condition": "A", "level": 0, "easy": True}, {"condition": "B", "level": 2}, {"condition": "01"}]
    )
]
ROWS = rows_of_items(ITEMS)
TEST = {"test": "t", "of": "correct", "per": "participant", "within": "condition", "levels": ["A", "B"]}
AGAINST_CHANCE = {"test": "t", "of": "correct", "per": "participant", "against": "chance"}
MODEL = {"formula": "correct ~ subject * condition + (1 | participant)"}
TABLE = {"by": ["condition"], "of": ["rt_ms"]}


def mistakes(content: dict[str, Any], rows: Any = ROWS) -> dict[str, str]:
    found = plan_mistakes(AnalysisPlan.model_validate(content), rows)
    return {".".join(map(str, one.place)): one.sentence for one in found}


def test_a_plan_that_would_work_has_no_mistakes() -> None:
    plan = {
        "flags": {"far": {"level": [2], "kind": "human"}, "fast": {"rt_ms": 500}},
        "tables": {"t": {**TABLE, "by": ["condition", "far"], "order_by": ["-rt_ms", "condition", "rt_ms_sd", "n"]}},
        "models": {
            "m": {
                "formula": "correct ~ subject * condition * far + temperature + (1 + condition | participant)",
                "reference": {"subject": "gpt, temperature 1", "condition": "01", "level": 7},
                "contrasts": [{"of": ["condition"], "by": ["subject"]}],
                "where": {"subject": ["people", "some model"], "easy": "TRUE", "level": 2.0, "phase": "test"},
            }
        },
        "tests": {
            "t": {**TEST, "levels": ["A", "01"], "where": {"item_id": ["i0", "i2"], "task": "multiple_choice"}},
            "mixed": {**TEST, "test": "anova", "between": ["group", "source"], "within": ["condition"], "levels": []},
            "three": {**TEST, "test": "anova", "levels": []},
            "two": {**TEST, "within": "level", "levels": []},
            "chosen": {**TEST, "levels": [], "where": {"condition": ["A", "B"]}},
            "chance": AGAINST_CHANCE,
            "fast": {**AGAINST_CHANCE, "of": "rt_ms", "against": 500},
        },
        "item_cluster": "condition",
        "difficulty": "level",
        "comparisons": {"c": {"by": ["condition", "level"]}},
        "signals": {"s": {"signal": {"key": 1}, "noise": {"condition": "B"}, "response": "this"}},
    }
    assert mistakes(plan) == {}


@pytest.mark.parametrize(
    ("content", "place", "sentence"),
    [
        ({"tables": {"t": {**TABLE, "by": ["conditon"]}}}, "tables.t.by.0",
         "the trials have no column `conditon`; did you mean `condition`? Fix: use a column of the tidy table, or one "
         "of condition, easy, level."),
        ({"tables": {"t": {**TABLE, "of": ["rt_ms", "speed"]}}}, "tables.t.of.1", "no column `speed`"),
        ({"tables": {"t": {**TABLE, "order_by": ["-n", "-score"]}}}, "tables.t.order_by.1", "no column `score`"),
        ({"tables": {"t": {**TABLE, "where": {"content": "x"}}}}, "tables.t.where.content", "no column `content`"),
        ({"models": {"m": {"formula": "correct ~ (condition"}}}, "models.m.formula", "Fix: write a formula such as"),
        ({"models": {"m": {"formula": "correct ~ 1 + (1 | persons)"}}}, "models.m.formula", "no column `persons`"),
        ({"models": {"m": {**MODEL, "reference": {"condition": "C"}}}}, "models.m.reference.condition",
         "`condition` has no level C. Fix: choose one of 01, A, B."),
        ({"models": {"m": {**MODEL, "reference": {"colour": "C"}}}}, "models.m.reference.colour", "`colour`"),
        ({"models": {"m": {**MODEL, "contrasts": [{"of": ["condition"]}, {"of": ["level"]}]}}}, "models.m.contrasts.1",
         "`level` is not in the formula. Fix: choose one of subject, condition."),
        ({"models": {"m": {**MODEL, "where": {"kind": "people"}}}}, "models.m.where.kind",
         "Fix: choose one of human, model, simulated."),
        ({"tests": {"t": {**TEST, "of": "korrekt"}}}, "tests.t.of", "no column `korrekt`"),
        ({"tests": {"t": {**TEST, "per": "person"}}}, "tests.t.per", "no column `person`"),
        ({"tests": {"t": {**TEST, "within": "state"}}}, "tests.t.within", "no column `state`"),
        ({"tests": {"t": {**TEST, "within": None, "between": "state"}}}, "tests.t.between", "no column `state`"),
        ({"tests": {"t": {**TEST, "test": "anova", "within": ["condition", "state"], "levels": []}}},
         "tests.t.within.1", "no column `state`"),
        ({"tests": {"t": {**TEST, "test": "anova", "between": ["state", "group"], "levels": []}}},
         "tests.t.between.0", "no column `state`"),
        ({"tests": {"t": {**TEST, "levels": ["A", 1]}}}, "tests.t.levels.1", "`condition` has no level 1"),
        ({"tests": {"t": {**TEST, "levels": []}}}, "tests.t.within",
         "`condition` has the levels 01, A, B, but the test `t` compares two levels. Fix: name two levels in "
         "`levels`."),
        ({"tests": {"t": {**TEST, "test": "mann_whitney", "levels": [], "within": None, "between": "condition"}}},
         "tests.t.between", "the test `mann_whitney` compares two levels"),
        ({"tests": {"t": {**AGAINST_CHANCE, "of": "rt_ms"}}}, "tests.t.against",
         "the chance level is that of `correct`, but the test is of `rt_ms`. Fix: test `correct`"),
        ({"tests": {"t": {**AGAINST_CHANCE, "per": "person"}}}, "tests.t.per", "no column `person`"),
        ({"tests": {"t": {**TEST, "where": {"level": [0, 3]}}}}, "tests.t.where.level", "`level` has no level 3"),
        ({"flags": {"f": {"level": 3}}}, "flags.f.level", "`level` has no level 3. Fix: choose one of 0, 2."),
        ({"flags": {"f": {}}}, "flags.f", "the flag has no columns"),
        ({"flags": {"condition": {"level": 2}}}, "flags.condition", "the flag has the name of a column"),
        ({"flags": {"f": {"level": 2}, "g": {"f": True}}}, "flags.g.f", "the trials have no column `f`"),
        ({"item_cluster": "scenario"}, "item_cluster", "no test item has the factor `scenario`. Fix: choose one of"),
        ({"difficulty": "levels"}, "difficulty", "no test item has the factor `levels`; did you mean `level`?"),
        ({"comparisons": {"c": {"by": ["level", "rt_ms"]}}}, "comparisons.c.by.1", "the factor `rt_ms`"),
        ({"signals": {"s": {"signal": {"condition": "C"}, "response": "this"}}}, "signals.s.signal.condition",
         "no level C"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_at_its_place(content: dict[str, Any], place: str, sentence: str) -> None:
    found = mistakes(content)
    assert list(found) == [place]
    assert sentence in found[place]
    assert "Fix: " in found[place]


def test_without_known_rows_only_the_formulas_and_references_within_the_plan_are_checked() -> None:
    model = {"formula": "anything ~ a + (1 | b)", "reference": {"a": "x"}, "contrasts": [{"of": ["c"]}]}
    plan = {"flags": {"f": {"d": 9}}, "models": {"m": model, "unreadable": {"formula": "a ~"}}}
    assert list(mistakes(plan, None)) == ["models.m.contrasts.0", "models.unreadable.formula"]


def test_factors_and_levels_of_an_earlier_version_are_allowed_if_trials_have_them(view, session) -> None:  # type: ignore[no-untyped-def]
    trials = tidy_trials(view(session(factors={"condition": "D", "former": 1})))
    plan = {"tests": {"t": {**TEST, "levels": ["A", "D"], "where": {"former": 1}}}}
    assert list(mistakes(plan)) == ["tests.t.levels.1", "tests.t.where.former"]
    assert mistakes(plan, ROWS.with_trials(trials)) == {}


def test_a_model_of_response_times_must_say_whose_times() -> None:
    formula = "log(rt_ms) ~ condition + (1 | participant)"
    found = mistakes({"models": {"m": {"formula": formula}}})
    assert found == {
        "models.m.formula": "`rt_ms` is a response time in the trials of people, but the time from request to reply in "
        "the runs of models. Fix: write `who: people`."
    }
    for who in ("people", "models", "everyone"):
        assert mistakes({"models": {"m": {"formula": formula, "who": who}}}) == {}
    assert mistakes({"models": {"m": {"formula": formula}}}, rows=None) == {}, "other tables have no models' latencies"


def test_a_logarithm_is_refused_for_other_families_than_the_linear() -> None:
    plan = {"models": {"m": {"formula": "log(rt_ms) ~ condition", "family": "gamma", "who": "people"}}}
    (sentence,) = mistakes(plan, rows=None).values()
    assert sentence.startswith("`log(rt_ms)` is only for linear models, but the family is `gamma`. Fix: ")


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("score ~ 0 + condition + (1 | participant)", "an ordinal model has thresholds instead of an intercept"),
        ("score ~ condition + (1 + condition | participant)", "an ordinal model can have random intercepts, but no"),
    ],
)
def test_an_ordinal_model_that_is_not_possible_is_refused_before_there_are_data(formula: str, sentence: str) -> None:
    found = mistakes({"models": {"m": {"formula": formula, "family": "ordinal"}}}, rows=None)
    assert list(found) == ["models.m.formula"]
    assert found["models.m.formula"].startswith(sentence)
    possible = {"formula": "score ~ condition + (1 | participant)", "family": "ordinal"}
    assert mistakes({"models": {"m": possible}}) == {}


def test_unknown_columns_of_confidence_ratings_are_found_before_there_are_data() -> None:
    plan = {"confidence_ratings": {"c": {"rating": "rt_ms", "by": ["condition"]}}}
    assert mistakes(plan) == {}
    found = mistakes({"confidence_ratings": {"c": {"rating": "confidense", "of": "right", "by": ["conditon"]}}})
    assert list(found) == ["confidence_ratings.c.of", "confidence_ratings.c.rating", "confidence_ratings.c.by.0"]
    assert "did you mean `condition`?" in found["confidence_ratings.c.by.0"]
