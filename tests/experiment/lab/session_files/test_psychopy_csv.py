"""PsychoPy's table of sessions with several visits, or with a start by another clock."""

import csv
import io
from datetime import datetime, timedelta

import pandas as pd
import pytest

from experiment.lab.session_files.psychopy_csv import Heading, psychopy_csv
from experiment.load_study import load_study
from experiment.records import Kind
from tests.experiment.lab.visits.lab_visits import DEVICE, leaving_at, rows

NEWER = DEVICE.model_copy(update={"frame_ms": 6.94, "psychopy_version": "2027.1"})


@pytest.fixture
def visits(lab, small):
    """A study, and the two visits of a session; the second visit is on a newer machine."""
    study = load_study(small)
    return study, lab(study, leaving_at(4, ["2"])), lab(study, device=NEWER)


def table_of(study, session, trials, started_at=None):
    devices = {1: DEVICE, 2: NEWER}
    heading = Heading("P01", Kind.HUMAN, 1, session.group, session.seed, started_at or session.started_at, devices)
    return list(csv.DictReader(io.StringIO(psychopy_csv(study, heading, trials).decode("utf-8-sig"))))


def test_every_row_has_the_frame_rate_of_its_trial(visits):
    _, first, second = visits
    onsets = [*first.display.onsets[:3], *second.display.onsets]
    table = pd.read_csv(second.table)
    assert table["visit"].tolist() == [1 if index < 3 else 2 for index in range(len(onsets))]
    assert table["frameRate"].tolist() == [round(1000 / onset.frame_ms, 3) for onset in onsets]


def test_what_cannot_be_measured_without_synchronised_flips_is_empty(lab, small):
    study = load_study(small)
    done = lab(study, device=DEVICE.model_copy(update={"pacing": "clock", "is_synchronised": False}))
    table = pd.read_csv(done.table)
    assert table[["frameRate", "fixation.frames"]].isna().all(axis=None)
    assert table["fixation.duration"].notna().all()


def test_every_row_has_the_psychopy_version_of_its_visit(visits):
    _, _, second = visits
    table = pd.read_csv(second.table, dtype="str")
    assert set(zip(table["visit"], table["psychopyVersion"], strict=True)) == {("1", "2026.2"), ("2", "2027.1")}


@pytest.mark.parametrize("minutes", [-10, 0, 10])
def test_onsets_count_from_the_first_onset_and_ignore_the_servers_clock(visits, minutes):
    study, _, second = visits
    trials = rows(study, second.session)
    began = second.session.started_at + timedelta(minutes=minutes)
    table = table_of(study, second.session, trials, began)
    first = datetime.fromisoformat(trials[0]["shown_at"])
    assert [float(row["key_resp.started"]) for row in table] == [
        (datetime.fromisoformat(trial["shown_at"]) - first).total_seconds() for trial in trials
    ]


def test_a_skipped_trial_has_no_onset_and_onsets_count_from_the_next_trial(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    passed_over = {"shown_at": None, "frame_ms": None, "response": "null", "rt_ms": None, "fixation_ms": None}
    table = table_of(study, second.session, [trials[0] | passed_over, *trials[1:]])
    assert (table[0]["key_resp.started"], table[0]["frameRate"]) == ("", "")
    assert table[1]["key_resp.started"] == "0.0"
