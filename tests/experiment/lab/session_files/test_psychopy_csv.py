"""PsychoPy's table of sessions with several visits, or with a start by another clock."""

import csv
import io
import json
import time
from datetime import timedelta

import pandas as pd
import pytest

from experiment.lab.session_files.psychopy_csv import Heading, exp_start_of, psychopy_csv
from experiment.load_study import load_study
from experiment.records import Kind
from tests.experiment.lab.visits.lab_visits import DEVICE, leaving_at, rows

BETWEEN = timedelta(days=1, seconds=3, microseconds=5)
"""Time between the starts of the clocks of the two visits."""
NEWER = DEVICE.model_copy(
    update={
        "frame_ms": 6.94,
        "psychopy_version": "2027.1",
        "clock_started_at": DEVICE.clock_started_at + BETWEEN,
    }
)
TIMES = (
    "thisRow.t", "fixation.started", "fixation.stopped", "stimulus.started", "stimulus.stopped", "key_resp.started",
    "key_resp.stopped",
)  # fmt: skip


@pytest.fixture
def visits(lab, small):
    """A study, and the two visits of a session; the second visit is on a newer machine."""
    study = load_study(small)
    return study, lab(study, leaving_at(4, ["2"])), lab(study, device=NEWER)


def table_of(study, session, trials, started_at=None, devices=None):
    devices = {1: DEVICE, 2: NEWER} if devices is None else devices
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


def expected_times(trial):
    """Return the columns in `TIMES` of a trial, in seconds, from its stored events."""
    events = {event["event"]: event for event in json.loads(trial["presentation"])["events"]}
    clock_s = 0 if trial["visit"] == 1 else BETWEEN.total_seconds()

    def seconds(name, side):
        us = events[name].get(side)
        return "" if us is None else pytest.approx(clock_s + us / 1e6, abs=1e-6)

    fixation, stimulus = seconds("fixation", "onset_us"), seconds("stimulus", "onset_us")
    response = seconds("response", "onset_us")
    return [
        fixation, fixation, seconds("fixation", "offset_us"), stimulus, seconds("stimulus", "offset_us"), stimulus,
        response,
    ]  # fmt: skip


def test_times_are_seconds_since_the_start_of_the_first_visits_clock(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    table = table_of(study, second.session, trials)
    for row, trial in zip(table, trials, strict=True):
        assert [float(row[name]) if row[name] else "" for name in TIMES] == expected_times(trial)
    started_s = [float(row["thisRow.t"]) for row in table]
    assert started_s == sorted(started_s) and started_s[-1] > BETWEEN.total_seconds()
    assert {row["visit"] for row in table} == {"1", "2"}


def test_times_ignore_the_servers_clock(visits):
    study, _, second = visits
    trials, times = rows(study, second.session), []
    for minutes in (-10, 0, 10):
        began = second.session.started_at + timedelta(minutes=minutes)
        table = table_of(study, second.session, trials, began)
        times.append([[row[name] for name in (*TIMES, "expStart")] for row in table])
    assert times[0] == times[1] == times[2]


def test_the_time_out_ends_the_time_for_the_response(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    presentation = json.loads(trials[0]["presentation"])
    presentation["events"][-1]["event"] = "time_out"
    table = table_of(study, second.session, [trials[0] | {"presentation": json.dumps(presentation)}])
    assert float(table[0]["key_resp.stopped"]) == presentation["events"][-1]["onset_us"] / 1e6


def test_the_name_of_the_pressed_key_is_in_the_table_and_a_click_has_none(visits):
    study, _, second = visits
    trial = rows(study, second.session)[0]
    presentation = json.loads(trial["presentation"])
    for key in ("num_2", None):
        presentation["events"][-1]["key"] = key
        table = table_of(study, second.session, [trial | {"presentation": json.dumps(presentation)}])
        assert table[0]["key_resp.key_name"] == (key or "")


def test_the_end_of_a_stimulus_that_disappears_is_in_the_table(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    presentation = json.loads(trials[0]["presentation"])
    stimulus = next(event for event in presentation["events"] if event["event"] == "stimulus")
    stimulus["offset_us"] = stimulus["onset_us"] + 150_000
    table = table_of(study, second.session, [trials[0] | {"presentation": json.dumps(presentation)}])
    assert float(table[0]["stimulus.stopped"]) - float(table[0]["stimulus.started"]) == pytest.approx(0.15)


def test_times_are_empty_if_the_start_of_a_clock_is_unknown(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    for devices in ({}, {2: NEWER}, {1: DEVICE.model_copy(update={"clock_started_at": None}), 2: NEWER}):
        table = table_of(study, second.session, trials, devices=devices)
        assert {row[name] for row in table for name in (*TIMES, "expStart")} == {""}
    table = table_of(study, second.session, trials, devices={1: DEVICE})
    assert [bool(row["thisRow.t"]) for row in table] == [row["visit"] == "1" for row in table]
    assert {row["expStart"] for row in table} == {exp_start_of(DEVICE.clock_started_at)}


def test_a_skipped_trial_has_no_times(visits):
    study, _, second = visits
    trials = rows(study, second.session)
    passed_over = {"shown_at": None, "frame_ms": None, "response": "null", "rt_ms": None, "fixation_ms": None}
    table = table_of(study, second.session, [trials[0] | passed_over | {"presentation": None}, *trials[1:]])
    assert {table[0][name] for name in (*TIMES, "frameRate")} == {""}
    assert table[1]["key_resp.started"]


def test_trials_are_numbered_as_in_one_loop_of_psychopy(visits):
    study, _, second = visits
    table = table_of(study, second.session, rows(study, second.session))
    assert {row["trials.thisRepN"] for row in table} == {"0"}
    assert [row["trials.thisTrialN"] for row in table] == [row["trials.thisN"] for row in table]
    assert [int(row["trials.thisN"]) for row in table] == list(range(len(table)))
    assert [study.battery.items[int(row["trials.thisIndex"])].item_id for row in table] == [
        row["item_id"] for row in table
    ]


@pytest.mark.parametrize(
    ("zone", "started"),
    [("UTC", "2026-11-28 12h00.00.000007 +0000"), ("America/New_York", "2026-11-28 07h00.00.000007 -0500")],
)
def test_the_start_of_the_first_visits_clock_is_in_psychopys_format(monkeypatch, zone, started):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert exp_start_of(DEVICE.clock_started_at) == started
    monkeypatch.undo()
    time.tzset()
