"""The summary of every report has at most seven entries of a few lines. What failed comes first."""

import html
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.any_table import analyze_table
from analysis.data.tidy_table import tidy_trials
from analysis.preregistration.deviations import Registration
from analysis.report.summary import MOST_ENTRIES
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

N_ITEMS = 12
DEVIATES = Registration("A plan was locked.", ["`correction` was holm, and is bh.", "The test `t1` was not locked."])
LINE = 95
"""Characters in a line of the report on a wide screen."""


def summary_of(out: Path) -> list[str]:
    """Return the entries of the summary as text. `**` is around strong words."""
    page = (out / "report.html").read_text(encoding="utf-8")
    summary = page.split('id="summary"')[1].split("</section>")[0]
    assert summary.count("<ul>") == 1
    entries = re.findall(r"<li>(.*?)</li>", summary, re.DOTALL)
    plain = [re.sub(r"</?strong>", "**", entry) for entry in entries]
    return [html.unescape(re.sub(r"<[^>]+>", "", entry)).replace("\u00a0", " ") for entry in plain]


@pytest.fixture(scope="module")
def study(view: Any, row: Any) -> pd.DataFrame:
    """Seven people, of whom one is excluded, three simulated participants, and 18 models with a run each."""

    def responses(n_wrong: int, **who: Any) -> list[dict[str, Any]]:
        return [
            row(
                **who,
                trial_index=n,
                item_id=f"i{n:02}",
                response=2 if (5 * n + n_wrong) % N_ITEMS < n_wrong else 1,
                factors={"condition": "AB"[n % 2], "rating": 0.9 if n % 3 else 0.3},
            )
            for n in range(N_ITEMS)
        ]

    people = [responses(n, participant=f"P{n}", rt_ms=1500.0 + 10 * n) for n in range(1, 7)]
    fast = responses(3, participant="fast", rt_ms=300.0)
    simulated = [responses(n + 2, participant=f"S{n}", kind="simulated") for n in range(3)]
    models = [responses(n % 11, kind="model", run=f"model-{n:02}", model=f"model-{n:02}") for n in range(18)]
    return tidy_trials(view(people, fast, simulated, models))


T_TEST = {"test": "t", "of": "correct", "per": "participant", "within": "condition", "who": "people"}
PLAN = {
    "exclusions": [{"rule": "median_rt", "min_ms": 1000}],
    "tests": {
        **{f"condition_{n}": T_TEST for n in range(1, 19)},
        "impossible": T_TEST | {"who": "models", "of": "rt_ms"},
    },
    "models": {f"m{n}": {"formula": "correct ~ condition", "who": "people"} for n in range(1, 13)},
    "confidence_ratings": {f"r{n}": {"rating": "rating", "who": "people"} for n in range(1, 5)},
}


def test_the_summary_of_a_study_with_18_runs_failures_and_many_results_has_seven_entries(
    study: pd.DataFrame, tmp_path: Path
) -> None:
    plan = AnalysisPlan.model_validate(PLAN)
    analysis = analyze_trials(study, plan, tmp_path / "out", title="", software_version="1.0", registration=DEVIATES)
    entries = summary_of(tmp_path / "out")
    assert len(entries) == MOST_ENTRIES == 7
    assert entries[0] == (
        "**1 result of the plan could not be computed**: see the list with the reasons. **The analysis deviates from "
        "the locked plan** in 2 points: see the list."
    )
    beginnings = ["People: ", "18 models: ", "Chance level: ", "Significant planned tests", "12 statistical models",
                  "Confidence ratings of 4 entries: "]  # fmt: skip
    assert [entry[: len(begin)] for entry, begin in zip(entries[1:], beginnings, strict=True)] == beginnings
    assert "n = 6, 72 trials. Simulated participants: " in entries[1]
    assert max(map(len, entries)) <= 3 * LINE
    assert len(analysis.planned.not_computed) == 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(f"model-{n:02}" in page.split('id="accuracy"')[1] for n in range(18)), "every model is in the table"


def test_few_results_have_an_entry_each(study: pd.DataFrame, tmp_path: Path) -> None:
    few = {"tests": {"t": T_TEST}, "models": {"m": {"formula": "correct ~ condition", "who": "people"}}}
    rows = study[study["kind"].eq("human") | study["subject"].isin(["model-01", "model-02"])]
    plan = AnalysisPlan.model_validate(few)
    analyze_trials(rows, plan, tmp_path / "out", title="", software_version="1.0")
    beginnings = ["People: ", "model-01: ", "model-02: ", "Chance level: ", "Significant planned tests", "Model m: "]
    assert [entry[: len(begin)] for entry, begin in zip(summary_of(tmp_path / "out"), beginnings, strict=True)] == (
        beginnings
    )


def test_the_summary_of_a_table_says_first_what_failed_and_deviates(study: pd.DataFrame, tmp_path: Path) -> None:
    plan_of_table = {part: entries for part, entries in PLAN.items() if part != "exclusions"}
    plan = PlannedAnalyses.model_validate(plan_of_table)
    people = study.loc[study["kind"] == "human", ["participant", "condition", "rating", "correct"]]
    people.astype({"correct": int}).to_csv(tmp_path / "data.csv", index=False)
    analyze_table(tmp_path / "data.csv", plan, tmp_path / "out", software_version="1.0", registration=DEVIATES)
    entries = summary_of(tmp_path / "out")
    assert len(entries) == 4
    assert entries[0].startswith("**1 result of the plan could not be computed**")
    assert "**The analysis deviates from the locked plan** in 2 points" in entries[0]
