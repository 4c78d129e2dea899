"""The report says which results deviate from the locked plan, and never calls a deviating test “as planned”."""

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.preregistration.deviations import Registration, registration_of, with_exploratory_marked
from analysis.preregistration.lock import Lock, plan_content
from analysis.report.deviation_sentences import changed_tests_sentence, deviation_of_tests
from analysis.result import Analysis
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

N_ITEMS = 12
T_TEST = {"test": "t", "of": "correct", "per": "participant", "within": "condition"}
LOCKED = {
    "exclusions": [{"rule": "median_rt", "min_ms": 1000}],
    "comparisons": {"overall": {"equivalence_margin": 0.99}, "by_condition": {"by": ["condition"]}},
    "tests": {
        "first": T_TEST,
        "speed": T_TEST | {"of": "rt_ms", "equivalence_margin": 500},
        "items": {"test": "t", "of": "correct", "per": "item_id", "against": "chance", "who": "models"},
    },
    "resamples": 1000,
}
CHANGED = LOCKED | {
    "exclusions": [{"rule": "median_rt", "min_ms": 100}],
    "tests": LOCKED["tests"] | {"first": T_TEST | {"of": "rt_ms"}, "late": T_TEST | {"of": "rt_ms"}},
}


def trials_of(view: Any, row: Any, *others: str) -> pd.DataFrame:
    """Return eight participants, of whom two are fast, a model with one wrong response, and other models with three."""

    def responses(n_wrong: int, **who: Any) -> list[dict[str, Any]]:
        return [
            row(
                **who,
                trial_index=n,
                item_id=f"i{n:02}",
                response=2 if (5 * n + n_wrong) % N_ITEMS < n_wrong else 1,
                factors={"condition": "AB"[n % 2]},
            )
            for n in range(N_ITEMS)
        ]

    people = [responses(n, participant=f"P{n}") for n in range(1, 7)]
    fast = [responses(n, participant=f"F{n}") for n in (1, 2)]
    for n, session in enumerate(people):
        for at, one in enumerate(session):
            one["rt_ms"] = 1500.0 + (40 + n) * (at % 2)
    for session in fast:
        for at, one in enumerate(session):
            one["rt_ms"] = 300.0 - 290 * (at % 2)
    model = responses(1, kind="model", run="model", model="model")
    of_others = [responses(3, kind="model", run=name, model=name) for name in others]
    return tidy_trials(view(people, fast, model, of_others))


def report_of(
    trials: pd.DataFrame, out: Path, content: dict[str, Any], locked: dict[str, Any] | None = None
) -> tuple[Analysis, str]:
    """Return the analysis with the plan `content`, and its report as text, with one line for each cell and sentence."""
    plan, registration = AnalysisPlan.model_validate(content), None
    if locked is not None:
        lock = Lock(plan=plan_content(AnalysisPlan.model_validate(locked)), of={}, n_sessions=0,
                    locked_at="2026-01-02T10:00:00+00:00", software="e", previous="")  # fmt: skip
        registration = registration_of([lock], None, plan, {}, None)
        plan = with_exploratory_marked(plan, lock)
    kept: dict[str, Registration] = {} if registration is None else {"registration": registration}
    analysis = analyze_trials(trials, plan, out, title="A study", software_version="1.0", **kept)
    page = re.sub(r"<style.*?</style>", "", (out / "report.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<code[^>]*>|</code>|</?strong>|<a [^>]*>|</a>", "", page)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", text)).replace("\u00a0", " ")
    return analysis, re.sub(r"\s*\n\s*", "\n", text)


@pytest.fixture(scope="module")
def deviating(view: Any, row: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, str, Path]:
    """The analysis of a plan whose exclusion rules and tests changed since the lock."""
    out = tmp_path_factory.mktemp("deviating") / "out"
    return *report_of(trials_of(view, row), out, CHANGED, LOCKED), out


def test_no_table_calls_a_changed_test_as_planned_and_exploratory_tests_are_marked(
    deviating: tuple[Analysis, str, Path],
) -> None:
    _, text, out = deviating
    written = pd.read_csv(out / "tests.csv")
    assert set(written["form"]) == {"main test", "equivalence"}
    exploratory = {"first", "late"}
    assert set(written.loc[written["exploratory"], "name"]) == exploratory
    of_rules = pd.read_csv(out / "tables" / "sensitivity_tests.csv")
    assert set(of_rules["form"]) == {"main test", "equivalence"}
    assert set(of_rules.loc[of_rules["exploratory"], "name"]) == exploratory
    assert "as planned" not in text
    table = text.split("\nTable of tests (", maxsplit=1)[1].split("\nStatistical models\n", maxsplit=1)[0]
    assert "\nname\nexploratory\nform\n" in table
    for name in ("first", "speed", "late"):
        assert f"\n{name}\n{'yes' if name in exploratory else 'no'}\nmain test\n" in table


def test_changed_exclusion_rules_say_that_the_results_deviate_and_the_number_with_the_locked_rules(
    deviating: tuple[Analysis, str, Path],
) -> None:
    analysis, text, _ = deviating
    summary = text.split("\nSummary\n")[1].split("\nItems\n", maxsplit=1)[0]
    assert "Changed settings that apply to many results: exclusions." in summary
    (line,) = [line for line in summary.splitlines() if line.startswith("Significant planned tests")]
    rows = analysis.tables["sensitivity_tests"].query("not exploratory")

    def n_significant(rules: str, form: str) -> int:
        return int((rows.query("rules == @rules and form == @form")["p_holm"] < 0.05).sum())

    now, before = (n_significant(rules, "main test") for rules in ("with all rules", "as locked"))
    assert now != before, "the changed rules change the number of significant tests"
    assert f"(p < 0.05): {now} of 2" in line
    assert (
        "Deviation from the locked plan: exclusions (all; items at most through the correction). With the locked "
        f"exclusion rules, significant: {before} of 2, equivalent: {n_significant('as locked', 'equivalence')} of 1."
    ) in line
    assert "So every result that uses trials of participants deviates from the locked plan." in text


MISSING = "A planned test that was not computed in its planned form counts in the correction with p = 1 "


def part_of(text: str, heading: str, following: str) -> str:
    return text.split(f"\n{heading}\n", maxsplit=1)[1].split(f"\n{following}\n", maxsplit=1)[0]


def test_planned_tests_without_a_result_are_counted_in_the_summary_the_note_and_the_methods(
    view: Any, row: Any, tmp_path: Path, deviating: tuple[Analysis, str, Path]
) -> None:
    since = "1 changed, left out or with a changed flag since the plan was recorded"
    analysis, text, _ = deviating
    assert analysis.planned.tests.query("not exploratory")["n_family"].tolist() == [3, 1, 3]
    assert f"{MISSING}(family tests: 3 tests, {since})." in text.split("\nItems\n", maxsplit=1)[0]
    assert text.count(f"{MISSING}(family tests: 3 tests, {since}).") == 3

    lost = T_TEST | {"where": {"condition": "C"}, "equivalence_margin": 0.1}
    tests = LOCKED["tests"] | {
        "lost": lost,
        "free": lost | {"exploratory": True},
        "free_2": T_TEST | {"exploratory": True},
    }
    planned = LOCKED | {"exclusions": [], "tests": tests}
    changed = planned | {"tests": tests | {"items": tests["items"] | {"of": "score", "against": 0.5}}}
    analysis, text = report_of(trials_of(view, row), tmp_path / "out", changed, planned)
    assert len(analysis.planned.not_computed) == 2
    words = (
        f"{MISSING}(family tests: 4 tests, 1 not computed, {since}; family tests, equivalence: 2 tests, 1 not computed"
    )
    summary = part_of(text, "Summary", "Items")
    assert f"{words})." in summary
    assert re.search(r"Significant planned tests after Holm correction \(p < 0\.05\): \d of 2 computed\b", summary)
    assert re.search(r"shown in \d of 1 computed test\b", summary)
    with_exploratory = f"{words}; family tests, exploratory: 3 tests, 1 not computed)."
    assert with_exploratory in part_of(
        text, "Tests", "Statistical models" if analysis.planned.models else "Methods section"
    )
    assert with_exploratory in text.split("\nMethods section\n", maxsplit=1)[1]

    uncorrected = changed | {"correction": "none"}
    _, text = report_of(trials_of(view, row), tmp_path / "none", uncorrected, uncorrected)
    assert MISSING not in part_of(text, "Summary", "Items")


def test_without_missing_tests_the_report_says_nothing_about_them(view: Any, row: Any, tmp_path: Path) -> None:
    _, text = report_of(trials_of(view, row), tmp_path / "out", LOCKED, LOCKED)
    assert MISSING not in text
    assert re.search(r"Significant planned tests [^:]*: \d of 3(?! computed)", part_of(text, "Summary", "Items"))


OF_MODELS = {"test": "t", "of": "correct", "per": "item_id", "against": "chance"}
ONLY_MODELS = {
    "asked": OF_MODELS | {"who": "models"},
    "chosen": OF_MODELS | {"who": "everyone", "where": {"kind": "model"}},
    "by_level": {"test": "welch_t", "of": "correct", "per": "item_id", "between": "subject", "who": "everyone",
                 "levels": ["model", "other"]},
}  # fmt: skip
DEVIATION = "Deviation from the locked plan: exclusions"


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_a_deviation_of_exclusions_is_only_beside_results_that_it_can_concern(
    view: Any, row: Any, tmp_path: Path, correction: str
) -> None:
    """With a correction, the p value of each test of a family depends on the others."""
    locked = {"exclusions": LOCKED["exclusions"], "correction": correction, "resamples": 1000}
    now, trials = {"exclusions": CHANGED["exclusions"]}, trials_of(view, row, "other")
    of_models = locked | {"tests": ONLY_MODELS}
    analysis, text = report_of(trials, tmp_path / "models", of_models | now, of_models)
    assert set(analysis.planned.tests["who"]) == {"models"}
    people, models, tests = (
        [line for line in part_of(text, "Summary", "Items").splitlines() if line.startswith(begin)]
        for begin in ("People: ", ("model: ", "other: "), "Significant planned tests")
    )
    assert [len(people), len(models), len(tests)] == [1, 2, 1]
    assert people[0].endswith(f"trials. {DEVIATION}.")
    assert DEVIATION not in "".join([*models, *tests])
    assert "With the locked exclusion rules" not in tests[0]
    assert DEVIATION not in part_of(text, "Tests", "Methods section")

    mixed = locked | {"tests": ONLY_MODELS | {"speed": T_TEST | {"of": "rt_ms"}}}
    _, text = report_of(trials, tmp_path / "mixed", mixed | now, mixed)
    corrected = "all; asked, chosen, by_level at most through the correction"
    concerned = f"{DEVIATION} ({corrected if correction == 'holm' else 'only speed'})."
    (line,) = [line for line in part_of(text, "Summary", "Items").splitlines() if line.startswith("Significant")]
    assert f"{concerned} With the locked exclusion rules, significant: " in line
    assert part_of(text, "Tests", "Methods section").count(concerned) == 2


def test_models_and_confidence_ratings_have_only_deviations_that_concern_their_trials(
    view: Any, row: Any, tmp_path: Path
) -> None:
    """A model of everyone with a setting of model runs uses only trials of models."""
    formula = "correct ~ condition"
    models = {
        "people": {"formula": formula, "who": "people"},
        "runs": {"formula": formula, "who": "everyone", "where": {"kind": "model"}},
    }
    ratings = {"sure": {"rating": "score", "where": {"kind": "model"}}}
    locked = {"exclusions": LOCKED["exclusions"], "models": models, "confidence_ratings": ratings, "resamples": 1000}
    _, text = report_of(
        trials_of(view, row), tmp_path / "out", locked | {"exclusions": [], "invalid": "chance"}, locked
    )
    lines = [
        line for line in part_of(text, "Summary", "Items").splitlines() if line.startswith(("Model ", "Confidence"))
    ]
    assert [line.partition("Deviation from the locked plan: ")[2] for line in lines] == [
        "exclusions.",
        "invalid.",
        "invalid.",
    ]


def test_a_deviation_beside_several_models_names_the_models_that_it_concerns(
    view: Any, row: Any, tmp_path: Path
) -> None:
    formula = "correct ~ condition"
    models = {name: {"formula": formula, "who": "people"} for name in ("accuracy", "again")}
    models["runs"] = {"formula": formula, "who": "models"}
    locked = {"exclusions": LOCKED["exclusions"], "models": models, "resamples": 1000}
    _, text = report_of(
        trials_of(view, row), tmp_path / "out", locked | {"exclusions": [], "invalid": "chance"}, locked
    )
    (line,) = [line for line in part_of(text, "Summary", "Items").splitlines() if line.startswith("3 statistical")]
    assert line.endswith("Deviation from the locked plan: exclusions (all except runs), invalid (only runs).")


def test_a_setting_names_the_tests_that_it_concerns_directly_and_through_the_correction() -> None:
    """The family of `c` and `d` has a test of people, and the family of `e` has only tests of models."""
    names, changed = ["a", "b", "c", "d", "e"], Registration("", [], changed_settings=("exclusions", "invalid"))
    tests = pd.DataFrame({
        "name": names, "who": ["people", "people", "people", "models", "models"], "exploratory": False,
        "family": ["one", "one", "two", "two", "three"],
    })  # fmt: skip

    def said(correction: str, rows: pd.DataFrame) -> str:
        plan = AnalysisPlan.model_validate({"tests": dict.fromkeys(names, T_TEST), "correction": correction})
        return deviation_of_tests(changed, rows, plan).partition(": ")[2].replace("`", "")

    assert said("none", tests) == "exclusions (all except d, e), invalid (only d, e)."
    assert said("holm", tests) == (
        "exclusions (all except e; d at most through the correction), invalid (only d, e; at most through the "
        "correction also c)."
    )
    assert said("holm", tests.assign(family=["one", "other", "two", "two", "three"])[1:4]) == (
        "exclusions (all; d at most through the correction), invalid (only d; at most through the correction also c)."
    )
    few = tests.assign(who=["models", "models", "people", "models", "models"])
    assert said("holm", few).startswith("exclusions (only c; at most through the correction also d), invalid ")


def test_a_test_of_which_only_a_flag_changed_is_not_called_changed() -> None:
    changed = Registration("", [], changed_settings=("flags",), changed_tests=AnalysisPlan(tests={"t": T_TEST}).tests)
    said = changed_tests_sentence(changed).replace("`", "")
    assert said == "Tests of the locked plan that were changed or left out, or that use a changed flag: t."


def test_the_tests_section_and_its_note_repeat_the_deviations(deviating: tuple[Analysis, str, Path]) -> None:
    _, text, _ = deviating
    section = text.split("\nTests\n")[-1]
    which = "all; items at most through the correction"
    said = f"{DEVIATION} ({which}). Tests of the locked plan that were changed or left out: first."
    assert section.startswith(f"{said}\n")
    note = section.split("\nA test is called significant", maxsplit=1)[1].splitlines()[0]
    assert note.endswith(said)


def test_without_a_changed_rule_the_summary_has_no_deviation(view: Any, row: Any, tmp_path: Path) -> None:
    _, text = report_of(trials_of(view, row), tmp_path / "out", LOCKED, LOCKED)
    assert "Deviation from" not in text
    assert "deviates from the locked plan" not in text


@pytest.mark.parametrize(
    ("setting", "value", "consequence", "in_summary"),
    [
        ("correction", "bh", "So every conclusion from a corrected p value deviates", True),
        ("confidence", 0.9, "So every confidence interval and every level of significance deviates", True),
        ("invalid", "left_out", "So every result that uses invalid or missing responses of models deviates", True),
        ("items", "random", "So the confidence intervals of participants' accuracy and of differences", True),
        ("item_cluster", "condition", "So every confidence interval that uses the clusters of items deviates", True),
        ("by", ["condition"], "So the tables and figures by the factors in by deviate", False),
    ],
)
def test_a_changed_setting_states_its_consequence(
    view: Any, row: Any, tmp_path: Path, setting: str, value: Any, consequence: str, *, in_summary: bool
) -> None:
    locked = LOCKED | {"exclusions": []}
    _, text = report_of(trials_of(view, row), tmp_path / "out", locked | {setting: value}, locked)
    bullets = text.split("\nDeviations from the locked plan:\n")[1].split("\nParticipants and model runs\n")[0]
    assert consequence in bullets
    summary = text.split("\nSummary\n")[1].split("\nItems\n", maxsplit=1)[0]
    assert f"Changed settings that apply to many results: {setting}." in summary
    assert (f"Deviation from the locked plan: {setting}." in summary) == in_summary


def test_the_summary_has_the_planned_comparisons_with_margins(deviating: tuple[Analysis, str, Path]) -> None:
    analysis, text, _ = deviating
    table = analysis.tables["comparison_overall"]
    summary = text.split("\nSummary\n")[1].split("\nItems\n", maxsplit=1)[0]
    assert table["is_equivalent"].tolist() == [True]
    assert (
        "Comparisons with models, differences within the margin (not corrected for their number): overall 1 of 1. "
        "Deviation from the locked plan: exclusions."
    ) in summary
    assert "by_condition" not in summary, "this comparison has no margin"


MARKS = {"exploratory", "not preregistered", "not in the plan"}


def marks_of(text: str) -> dict[str, str]:
    """Return the mark of each heading that has one."""
    lines = text.splitlines()
    return {lines[at - 1]: line for at, line in enumerate(lines) if line in MARKS}


def test_only_results_that_no_entry_of_the_plan_requests_are_marked_as_not_in_the_plan(
    view: Any, row: Any, tmp_path: Path
) -> None:
    """`by` requests the differences by its factors, and a comparison without factors the overall differences."""
    trials = trials_of(view, row)
    _, bare = report_of(trials, tmp_path / "bare", {"resamples": 1000}, {"resamples": 1000})
    assert marks_of(bare)["Differences from models"] == "not in the plan"
    assert "every report has this result" not in bare
    assert "The mark “not in the plan” means: no entry of the plan requests this result." in bare
    asked = {"by": ["condition"], "comparisons": {"overall": {}}, "resamples": 1000}
    _, planned = report_of(trials, tmp_path / "planned", asked, asked)
    marks = marks_of(planned)
    assert "\nDifferences by condition\n" in planned
    assert not {"Differences from models", "Differences by condition"} & {*marks}
    assert marks["Models"] == "not in the plan"
    _, later = report_of(trials, tmp_path / "later", asked, {"resamples": 1000})
    assert [marks_of(later)[f"Differences {which}"] for which in ("from models", "by condition")] == ["exploratory"] * 2


def test_a_measure_that_the_plan_requests_since_a_change_is_marked_as_exploratory(
    view: Any, row: Any, tmp_path: Path
) -> None:
    trials = trials_of(view, row)
    signals = {"one": {"signal": {"condition": "A"}, "response": "a"}}
    asked = {"difficulty": "condition", "signals": signals, "resamples": 1000}
    titles = ("Accuracy by level of difficulty", "One", "one", "Signal one")
    _, locked = report_of(trials, tmp_path / "locked", asked, asked)
    assert not [heading for heading in marks_of(locked) if heading.startswith(titles)]
    _, later = report_of(trials, tmp_path / "later", asked, {"resamples": 1000})
    marked = {heading: mark for heading, mark in marks_of(later).items() if heading.startswith(titles)}
    assert [*marked.values()] == ["exploratory"] * len(marked)
    assert marked
