"""A report on several versions of a study has the numbers of each version and the differences between their data."""

import html
import re
from datetime import UTC, datetime

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.provenance.study_versions import notes_on_versions, study_versions
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan


def marked(rows):
    return apply_exclusions(tidy_trials(rows), AnalysisPlan()).trials


@pytest.fixture
def rows(view, session, row):
    of_two = {"study_version": "1.10", "battery": "c" * 64, "started_at": "2026-02-01T10:00:00Z"}
    return view(
        session(participant="A", study_version="1.9"),
        session(participant="B", study_version="1.9", status="active", completed_at=None),
        session(participant="C", n_test=5, **of_two),
        row(participant="C", trial_index=8, phase="attention_check", item_id="check", **of_two),
        session(participant="S", kind="simulated", study_version="1.9"),
        session(kind="model", run="M", study_version="1.9"),
    )


def test_each_version_has_its_numbers_of_sessions_and_test_trials(rows):
    table = study_versions(marked(rows))
    columns = ["study_version", "kind", "n_sessions", "n_completed", "n_test_trials", "n_included", "n_test_items"]
    assert table[columns].to_numpy().tolist() == [
        ["1.9", "human", 2, 1, 8, 4, 4],
        ["1.9", "simulated", 1, 1, 4, 4, 4],
        ["1.9", "model", 1, 1, 4, 4, 4],
        ["1.10", "human", 1, 1, 5, 5, 5],
    ], "versions by their numbers"
    assert table["battery"].tolist() == ["b" * 64] * 3 + ["c" * 64]
    assert table["first_started_at"].tolist()[-1] == "2026-02-01T10:00:00Z"


def test_versions_and_their_differences_are_put_in_words(rows):
    counted, different = (sentence.replace("\u00a0", " ") for sentence in notes_on_versions(marked(rows)))
    assert counted == (
        "The sessions used 2 versions of the study: version 1.9 (people: 2 sessions with 8 test trials, of which "
        "4 are in the analysis; simulated participants: 1 session with 4 test trials, of which 4 are in the analysis; "
        "models: 1 run with 4 test trials, of which 4 are in the analysis); version 1.10 (people: 1 session with 5 "
        "test trials, of which 5 are in the analysis)."
    )
    assert different.startswith(
        "These versions differ in the battery and in the number of test trials in a session (5 in version 1.10, 4 in "
        "version 1.9) and in the number of attention checks in a session (1 in version 1.10, 0 in version 1.9). "
    )


def test_versions_with_the_same_battery_and_trials_are_described_so(view, session):
    trials = marked(view(session(participant="A"), session(participant="B", study_version="2")))
    assert notes_on_versions(trials)[1].startswith("These versions have the same battery and the same numbers of ")


def test_one_version_has_no_note(view, session):
    assert notes_on_versions(marked(view(session(participant="A"), session(participant="B")))) == []


def test_a_version_of_practice_alone_has_a_row_without_test_trials(view, session, row):
    table = study_versions(marked(view(session(), row(participant="B", study_version="2", phase="practice"))))
    assert table["n_test_trials"].tolist() == [4, 0]


def test_the_table_is_written_and_shown_if_there_are_several_versions(rows, view, session, tmp_path):
    settings = {"title": "A study", "software_version": "0.1.0", "made_at": datetime(2026, 3, 1, tzinfo=UTC)}
    analysis = analyze_trials(tidy_trials(rows), AnalysisPlan(resamples=1000), tmp_path / "several", **settings)
    written = pd.read_csv(tmp_path / "several" / "tables" / "study_versions.csv", dtype={"study_version": "str"})
    assert written["study_version"].tolist() == ["1.9", "1.9", "1.9", "1.10"]
    page = re.sub("<[^>]+>", "", html.unescape((tmp_path / "several" / "report.html").read_text(encoding="utf-8")))
    assert "By version of the study" in page
    for sentence in notes_on_versions(analysis.exclusions.trials):
        assert sentence.replace("`", "") in page
    analyze_trials(tidy_trials(view(session())), AnalysisPlan(resamples=1000), tmp_path / "one", **settings)
    assert not (tmp_path / "one" / "tables" / "study_versions.csv").exists()
    assert "By version of the study" not in (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
