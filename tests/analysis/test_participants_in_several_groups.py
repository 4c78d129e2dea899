"""A participant with several sessions in the laboratory: all tables, figures and sentences count the same trials."""

import html
import re
from datetime import UTC, datetime

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan.model_validate({"resamples": 1000, "tables": {"by_group": {"by": ["group"], "of": ["correct"]}}})


@pytest.fixture
def results(view, session, tmp_path):
    """Participant Q01 has a session in group 1, and on another day a session in group 3."""
    in_lab = {"source": "lab", "n_correct": 3}
    rows = view(
        session(
            participant="Q01", session="q1", session_number=1, group=1, **in_lab, started_at="2026-01-02T10:00:00Z"
        ),
        session(participant="Q01", session="q2", session_number=2, group=3, **in_lab, started_at="2026-01-12T10:00:00Z",
                completed_at="2026-01-12T10:20:00Z"),
        [session(participant=f"Q0{n}", session_number=1, group=3, **in_lab) for n in (2, 3)],
    )  # fmt: skip
    analyze_trials(tidy_trials(rows), PLAN, tmp_path / "out", title="A study", software_version="0.1.0",
            made_at=datetime(2026, 3, 1, tzinfo=UTC))  # fmt: skip
    return tmp_path / "out"


@pytest.fixture
def page(results):
    text = re.sub("<[^>]+>", " ", html.unescape((results / "report.html").read_text(encoding="utf-8")))
    return " ".join(text.replace("\u00a0", " ").split())


def test_every_table_and_figure_counts_the_same_trials_in_a_group(results):
    by_group = pd.read_csv(results / "tables" / "exclusions_by_group.csv", dtype={"group": "str"}).set_index("group")
    planned = pd.read_csv(results / "tables" / "by_group.csv").set_index("group")
    drawn = pd.read_csv(results / "figures" / "counterbalance.csv").groupby("group")["n_trials"].sum()
    for group, n_trials in ((1, 4), (3, 12)):
        assert by_group.loc[str(group), "final_trials"] == planned.loc[group, "n"] == drawn[group] == n_trials
    assert by_group.loc["total", ["final_participants", "final_trials"]].tolist() == [3, 16]
    assert by_group["final_participants"].tolist() == [1, 3, 3]


def test_the_report_states_that_a_participant_was_in_several_groups(page):
    sentence = "1 participant was in more than one counterbalance group. Such a participant is counted in each of"
    assert page.count(sentence) == 2, "below the table, and in what to keep in mind"


def test_the_report_counts_all_sessions_of_the_participants(page):
    assert "3 participants (people, source: lab) started 4 sessions in 2 counterbalance groups. The analysis" in page
    assert "2026-01-02 to 2026-01-12" in page
    assert "Each item has" not in page, "every item was answered four times"
    assert "A rule about a participant uses all sessions of the participant together." in page


def test_the_table_of_participants_has_all_groups_of_a_participant(results):
    people = pd.read_csv(results / "tables" / "participants.csv", dtype="str").set_index("participant")
    assert people.loc["Q01", ["group", "n_sessions", "n_test_trials"]].tolist() == ["1, 3", "2", "8"]
    assert people.loc["Q02", ["group", "n_sessions", "n_test_trials"]].tolist() == ["3", "1", "4"]
