"""The words of a study's report are true for the participants and models in the data."""

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.result import Analysis
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

N_ITEMS = 12


def responses(row: Any, n_wrong: int, **who: Any) -> list[dict[str, Any]]:
    """Return a session of `N_ITEMS` items in two conditions, with `n_wrong` wrong responses."""
    return [
        row(
            **{"rt_ms": 1500.0 + 40 * n_wrong + 10 * n} if "run" not in who else {},
            **who,
            trial_index=n,
            item_id=f"i{n:02}",
            response=2 if (5 * n + n_wrong) % N_ITEMS < n_wrong else 1,
            factors={"condition": "AB"[n % 2], "level": n % 3},
        )
        for n in range(N_ITEMS)
    ]


def report(rows: pd.DataFrame, out: Path, plan: AnalysisPlan) -> tuple[Analysis, str]:
    """Return the analysis and the report as text, with one line for each cell, heading and sentence."""
    analysis = analyze_trials(tidy_trials(rows), plan, out, title="A study", software_version="1.0")
    page = re.sub(r"<style.*?</style>", "", (out / "report.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"<code[^>]*>|</code>|</?strong>", "", page)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", text)).replace("\u00a0", " ")
    return analysis, re.sub(r"\s*\n\s*", "\n", text)


@pytest.fixture(scope="module")
def pilot(pilot_folder: tuple[Path, str]) -> str:
    """The report of a pilot as text."""
    return pilot_folder[1]


@pytest.fixture(scope="module")
def pilot_page(pilot_folder: tuple[Path, str]) -> str:
    """The report of a pilot as HTML."""
    return (pilot_folder[0] / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pilot_folder(view: Any, row: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The report of a pilot: simulated participants, a mock model with two runs, and a baseline."""
    plan = AnalysisPlan.model_validate({
        "by": ["condition"], "difficulty": "level", "resamples": 1000,
        "exclusions": [{"rule": "median_rt", "min_ms": 1000}],
        "comparisons": {"overall": {"equivalence_margin": 0.1}},
        "tables": {"means": {"by": ["condition"], "of": ["correct"], "where": {"subject": "people"}}},
        "tests": {"t": {"test": "t", "of": "correct", "per": "participant", "within": "condition"}},
        "models": {"m": {"formula": "rt_ms ~ condition + (1 | participant)", "where": {"kind": "human"},
                         "who": "people"}},
    })  # fmt: skip
    simulated = [responses(row, n, participant=f"S{n}", kind="simulated") for n in range(1, 9)]
    one_model = {"kind": "model", "model": "mock-weak", "model_version": "mock-weak"}
    mock = [
        responses(row, 3 + n, **one_model, run=f"mock-weak, epoch {n}", run_parameters=f'{{"epoch": {n}}}')
        for n in (1, 2)
    ]
    baseline = responses(row, 3, kind="model", run="baseline/tracer", model="baseline/tracer")
    out = tmp_path_factory.mktemp("pilot") / "out"
    return out, report(view(simulated, mock, baseline), out, plan)[1]


def test_a_report_without_people_speaks_of_no_people(pilot: str) -> None:
    """Only the warning on simulated participants says that the data are not about people."""
    lines = [line for line in pilot.splitlines() if re.search(r"\b(people|person|human)\b", line, re.IGNORECASE)]
    (warning,) = (line for line in lines if not line.startswith("Mnih"))  # A cited title has the word "human".
    assert warning.endswith("These data say nothing about people.")
    assert "Exclusion rules apply to simulated participants." in pilot
    assert "where subject = simulated participants" in pilot


def test_headings_and_notes_of_a_pilot_with_several_models_speak_of_no_people(
    view: Any, row: Any, tmp_path: Path
) -> None:
    simulated = [responses(row, n, participant=f"S{n}", kind="simulated") for n in range(1, 5)]
    models = [
        responses(row, n, kind="model", run=f"gpt-{n}, temperature 0.{n}", model=f"gpt-{n}", temperature=n / 10)
        for n in (1, 2)
    ]
    text = report(view(simulated, models), tmp_path / "out", AnalysisPlan(by=("temperature",)))[1]
    assert "\nParticipants and models as groups\n" in text
    assert "\nSimulated participants have no temperature. In the tables of accuracy, they have one row" in text
    lines = [line for line in text.splitlines() if re.search(r"\b(people|person|human)\b", line, re.IGNORECASE)]
    assert [line for line in lines if not line.startswith("Mnih")] == [lines[0]], "the warning on simulated data"
    assert "\nsubject\nruns\naccuracy\n" in text, "the names of these models have the temperature"


def test_columns_that_are_the_same_everywhere_are_only_in_the_files(
    pilot: str, view: Any, row: Any, tmp_path: Path
) -> None:
    agreement = pilot.split("\nAgreement by item (2 rows)\n")[1].split("Every item has the same weight", maxsplit=1)[0]
    assert agreement.startswith("not in the plan\nmodel\nitems\nPearson's r\n"), (
        "one kind of participants, no item left out"
    )
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 4)]
    simulated = [responses(row, n, participant=f"S{n}", kind="simulated")[:-1] for n in range(1, 4)]
    model = responses(row, 3, kind="model", run="M", model="M")
    analysis, text = report(view(people, simulated, model), tmp_path / "out", AnalysisPlan())
    several = text.split("\nAgreement by item (2 rows)\n")[1].split("Every item has the same weight")[0]
    assert several.startswith("not in the plan\nparticipants\nmodel\nitems\nitems, model only\nPearson's r\n")
    assert {"people", "n_items_only_people"} <= set(analysis.tables["item_agreement"]), "the files have all columns"


def test_all_intervals_of_the_report_have_one_style(pilot: str) -> None:
    """An interval has no unit inside its brackets: 70.6 % [63.9, 76.5]."""
    intervals = re.findall(r"\[[^\[\]\n]*, [^\[\]\n]*\]", pilot)
    assert len(intervals) > 40
    assert not [interval for interval in intervals if "%" in interval]
    corrected = pilot.split("Chance-corrected accuracy, 95 % CI\n")[1].splitlines()
    assert re.fullmatch(r"[−\d.]+ % \[[−\d.]+, [−\d.]+\]", corrected[6]), corrected[:8]


def test_the_first_lines_name_the_models_that_are_programs(pilot: str, view: Any, row: Any, tmp_path: Path) -> None:
    first_lines = pilot.split("\nSummary\n", maxsplit=1)[0]
    said = (
        "A program made up the replies of these mock models to test the study: mock-weak. A program computed the "
        "responses of these computational baselines: baseline/tracer. The replies of mock models say nothing about "
        "language models."
    )
    assert "\nThe models in this report are not language models. " in first_lines
    assert said in first_lines
    assert said in pilot.split("\nMethods section\n")[1].splitlines()[0]
    names = {"mockllm/model": "mockllm/model, epoch 1", "gpt-4.1": "gpt-4.1", None: "unnamed"}
    models = [responses(row, 4, kind="model", run=run, model=model) for model, run in names.items()]
    mixed = report(view(models), tmp_path / "mixed", AnalysisPlan())[1].split("\nSummary\n")[0]
    assert "\nSome models in this report are not language models. " in mixed
    assert "mock models to test the study: mockllm/model." in mixed
    assert "gpt-4.1" not in mixed
    without = report(view(models[1:]), tmp_path / "without", AnalysisPlan())[1]
    assert "not language models" not in without
    assert "A program" not in without


def test_baselines_are_not_counted_as_models_in_the_summary(view: Any, row: Any, tmp_path: Path) -> None:
    names = ["mock-strong", "mock-weak", "baseline/nearest-atom", "baseline/straight-line", "baseline/tracer"]
    runs = [
        responses(row, n, kind="model", run=f"{model}{label}", model=model, temperature=temperature)
        for n, model in enumerate(names)
        for label, temperature in ([("", None)] if "/" in model else [(f", temperature {t}", t) for t in (0.2, 0.7)])
    ]
    summary = report(view(runs), tmp_path / "out", AnalysisPlan())[1].split("\nSummary\n")[1]
    assert summary.startswith("2 models under 4 conditions in total: from ")
    assert " 3 baselines: from 66.7 % correct (baseline/tracer) to 83.3 % correct (baseline/nearest-atom)." in summary
    only = report(view(runs[4:]), tmp_path / "only", AnalysisPlan())[1].split("\nSummary\n")[1]
    assert only.startswith("3 baselines: from ")
    assert "5 models" not in summary + only


def test_the_sources_of_runs_are_explained(pilot: str, view: Any, row: Any, tmp_path: Path) -> None:
    note = "Source of a model's run: api (Equipoise made the run) or import (the replies were read from a file)."
    assert note in pilot.split("\nParticipants and model runs\n")[1].split("\nExclusions\n", maxsplit=1)[0]
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 4)]
    assert "Source of a model's run" not in report(view(people), tmp_path / "out", AnalysisPlan())[1]


def test_the_sensitivity_of_tests_has_the_symbols_of_the_other_tables(view: Any, row: Any, tmp_path: Path) -> None:
    plan = AnalysisPlan.model_validate({
        "exclusions": [{"rule": "median_rt", "min_ms": 1000}],
        "tests": {"counts": {"test": "chi_square", "of": "correct", "between": "condition"},
                  "factorial": {"test": "anova", "of": "correct", "per": "participant",
                                "within": ["condition", "level"]}},
    })  # fmt: skip
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 7)]
    analysis, text = report(view(people), tmp_path / "out", plan)
    assert {"chisq", "F"} <= set(analysis.tables["sensitivity_tests"]["statistic_name"]), "the files keep the names"
    assert "\ncondition × level\n" in text
    assert "\ncondition:level\n" not in text
    assert "\nχ²\n" in text
    assert "\nchisq\n" not in text


def test_the_interval_of_a_ratio_is_described(pilot: str) -> None:
    """The tables of differences have ratios with intervals, which are not those of a difference."""
    assert "model's accuracy / participants' accuracy, 95 % CI" in pilot
    methods, computation = pilot.split("\nMethods section\n")[1].split("\nComputation\n")
    assert "Its interval is a MOVER interval for ratios (Donner & Zou, 2012). The intervals of ratios of" in methods
    assert "\nDonner, A., & Zou, G. Y. (2012)." in methods
    assert "MOVER for ratios combines the same two intervals (Donner & Zou, 2012)." in computation


def test_every_work_in_the_methods_section_is_in_the_references(pilot: str) -> None:
    methods, references = (
        pilot.split("\nMethods section\n")[1].split("\nComputation\n", maxsplit=1)[0].split("\nReferences\n")
    )
    for work in ("Spearman, 1910; Brown, 1910", "Cohen, 1960", "Efron & Tibshirani, 1993", "Fisher, 1921"):
        assert work in methods
    named = re.findall(
        r"\b([A-Z][a-z]+(?:-[A-Z][a-z]+)?)(?: (?:&|and) [A-Z][a-z]+| et al\.)?(?:,| \(|'s method \()+ ?((?:19|20)\d\d)",
        methods,
    )
    assert len(named) > 10
    for author, year in named:
        assert re.search(rf"^{author}, .*\({year}\)", references, re.MULTILINE), (author, year)


def test_a_rule_without_effect_says_why(view: Any, row: Any, tmp_path: Path) -> None:
    """Two rules exclude the same fast participant, so the results without one of them are the same."""
    plan = AnalysisPlan.model_validate({
        "exclusions": [{"rule": "median_rt", "min_ms": 1000}, {"rule": "trial_rt", "min_ms": 900},
                       {"rule": "attention_check"}],
        "resamples": 1000,
    })  # fmt: skip
    fast = [one | {"rt_ms": 500.0} for one in responses(row, 3, participant="fast")]
    slow = [responses(row, n, participant=f"P{n}") for n in range(1, 4)]
    slow[0][0]["rt_ms"] = 800.0
    analysis, text = report(view(fast, slow), tmp_path / "out", plan)
    assert (
        "\nWithout median_rt, the results are the same, because other steps (trial_rt) exclude the same 12 trials of "
        "1 participant.\n"
    ) in text
    assert "\nWithout attention_check, the results are the same: this rule excluded no trial.\n" in text
    assert "\nWithout trial_rt, " not in text
    accuracy = analysis.tables["sensitivity_accuracy"].set_index("rules")["n_trials"].to_dict()
    assert accuracy == {"with all rules": 35, "without median_rt": 35, "without trial_rt": 36,
                        "without attention_check": 35, "without any rule": 48}  # fmt: skip
    of_rules = analysis.tables["sensitivity_rules"].set_index("rule").drop(columns="other_steps")
    assert of_rules.loc["median_rt"].tolist() == [1, 12, 1, 12, 0]
    assert of_rules.loc["trial_rt"].tolist() == [0, 1, 0, 0, 1]
    both = [one | {"rt_ms": 850.0 if place < 7 else 950.0} for place, one in enumerate(fast)]
    _, partly = report(view(both, slow), tmp_path / "partly", plan)
    assert "\nWithout median_rt, other steps (trial_rt) still exclude 7 of its 12 trials.\n" in partly


def test_the_figure_of_differences_has_the_unit_of_their_table(pilot: str) -> None:
    figure = pilot.rsplit("\nDifferences from models\n", maxsplit=1)[-1].split("\nFiles: ", maxsplit=1)[0]
    table = pilot.split("\nSimulated participants minus\n")[1].split("\nItems: items that were given", maxsplit=1)[0]
    (difference,) = re.findall(r"baseline/tracer\n([+−][\d.]+)\n", table)
    assert "(points)" in figure
    assert f"baseline/tracer: {difference.replace('+', '')}0 [" in figure


def test_runs_of_models_are_not_under_a_heading_of_participants(pilot: str) -> None:
    tables = re.findall(r"\n(Participants(?: or runs)?)\nTrials\nCorrect\n", pilot)
    assert tables == ["Participants or runs"] * 2


def marks_of(report: str) -> dict[str, str]:
    """Return the mark of each heading that has one."""
    lines = report.splitlines()
    marks = {"exploratory", "not preregistered", "not in the plan"}
    return {lines[at - 1]: line for at, line in enumerate(lines) if line in marks}


def test_results_that_no_plan_requests_are_marked_with_and_without_a_lock(
    pilot: str, view: Any, row: Any, tmp_path: Path
) -> None:
    found = marks_of(pilot)
    automatic = ["Models", "Agreement by item (2 rows)"]
    assert {found[heading] for heading in automatic} == {"not in the plan"}
    assert "Accuracy by level of difficulty (9 rows)" in pilot
    assert not any(heading.startswith("Accuracy") for heading in found), "the plan has the factors and the difficulty"
    assert "no entry of the plan requests this result." in pilot
    without = report(view([responses(row, n, participant=f"P{n}") for n in range(3)]), tmp_path / "a", AnalysisPlan())
    assert marks_of(without[1]) == {}


def test_planned_results_without_a_recorded_plan_are_marked_as_not_preregistered(pilot: str) -> None:
    found = marks_of(pilot)
    assert found["Comparison: overall"] == found["means"] == "not preregistered"
    assert "not preregistered" in list(found.values())[2:], "the test too"
    assert "no plan was recorded before the data." in pilot


def test_every_cell_of_a_table_has_the_heading_that_a_telephone_shows(pilot_page: str) -> None:
    """Below 36 rem, each row is a list of cells with their headings, so that no table is wider than the page."""
    cells = re.findall(r"<td([^>]*)>([^<]*)", pilot_page)
    assert len(cells) > 100
    assert not [text for attributes, text in cells if text.strip() and "data-label=" not in attributes]
    assert "thead { display: none; }" in pilot_page.split("@media (max-width: 36rem)")[1]


def test_all_figures_of_a_report_have_the_same_width(pilot_page: str) -> None:
    widths = re.findall(r'<svg [^>]*viewBox="0 0 ([\d.]+) [\d.]+"', pilot_page)
    assert len(widths) > 8
    assert len(set(widths)) == 1


def test_captions_explain_points_reliability_and_ceiling(pilot: str) -> None:
    assert pilot.count("Small points: single participants, and single runs of models.") >= 3
    assert "Reliability: the correlation between the accuracies of two random halves of the participants" in pilot
    assert "The ceiling is its square root" in pilot
    assert "Observed: share of the shared items at which both subjects of a pair are right" in pilot
    assert "Expected: this share if they were right independently" in pilot


def test_a_label_with_a_comma_is_not_split_into_a_model_and_a_condition(view: Any, row: Any, tmp_path: Path) -> None:
    """The labels `Fast, cheap` and `Fast, good` are two models, but `gpt, temperature 1` has a condition."""
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 5)]
    labels = {"Fast, cheap": "mini", "Fast, good": "large", "gpt, temperature 0": "gpt", "gpt, temperature 1": "gpt"}
    models = [
        responses(row, n, kind="model", run=run, model=model) for n, (run, model) in enumerate(labels.items(), start=1)
    ]
    analysis, text = report(view(people, models), tmp_path / "out", AnalysisPlan(by=("condition", "level")))
    for name in ("accuracy", "accuracy_by_condition", "accuracy_by_condition_cells", "accuracy_panels", "differences",
                 "items"):  # fmt: skip
        words = re.findall(r"<text[^>]*>([^<]*)</text>", analysis.figures[name].svg)
        assert "Fast, cheap" in words, name
        assert not {"Fast", "cheap", "good", "Fast:"} & set(words), name
        assert "temperature 1" in words, name
    colours = {match[1] for match in re.finditer(r"(#[0-9a-f]{6})", analysis.figures["differences"].svg)} - {
        "#1f2328",
        "#59636e",
        "#d8dee4",
        "#ffffff",
    }
    assert len(colours) == 3, "three models have three colours"
    assert "\nFast, cheap\n" in text
    assert "\ngpt,\ntemperature 1\n" in text
