"""Event codes of whole sessions: what the device receives, what is stored, and what the table of events says."""

import csv
import json
from datetime import datetime

import pytest

from experiment.lab.hardware.scanner import Scanner, read_scanner
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.experiment.lab.visits.lab_visits import PULSE_NS, WITHDRAW, careful, leaving_at, names_on, press, rows

CODES = """
event_codes:
  events: {session_start: 250, session_end: 251, break: 252, stimulus: 1, response: 2, time_out: 3, feedback: 4}
  phases: {practice: 10, test: 20, attention_check: 30}
  factors:
    outcome: {absorb: 0, hit: 40, deflect: 80, detour: 120, miss: 160, reflect: 200}
"""


class Device:
    """A trigger that records the codes, with the times of their events."""

    highest_code = 255

    def __init__(self):
        self.sent = []

    def send(self, code, at_ns):
        self.sent.append((code, at_ns))


@pytest.fixture
def coded(small):
    """A study with event codes for each outcome of the rays."""
    path = small / "study.yaml"
    text = path.read_text()
    study = load_study(small)
    levels = sorted({item.factors["outcome"] for item in study.test_items})
    numbers = ", ".join(f"{level}: {number * 40}" for number, level in enumerate(levels))
    path.write_text(text + CODES.replace(CODES[CODES.index("outcome:") : -1], f"outcome: {{{numbers}}}"))
    return load_study(small)


def expected_codes(study, session):
    """Return the codes of the trials of a session in which every trial is answered, from the plan."""
    codes, expected = study.definition.event_codes, []
    for trial in plan_session(study, session.group, session.seed).trials:
        item = study.battery.by_id[trial.item_id]
        names = ("stimulus", "response", *(["feedback"] if trial.phase.value == "practice" else []))
        expected += [codes.of_trial(name, trial.phase.value, item) for name in names]
    return expected


def tables_of(visit):
    """Return the tables of events of a session, by the name of the file, in order."""
    found = sorted((visit.table.parent / "events").glob(f"*_{visit.session.session}_run-*_events.tsv"))
    return [list(csv.DictReader(path.read_text().splitlines(), delimiter="\t")) for path in found]


def test_the_device_receives_the_codes_of_the_plan_and_the_table_has_them_with_their_times(lab, coded):
    device = Device()
    visit = lab(coded, trigger=device)
    assert [code for code, _ in device.sent if code < 252] == [250, *expected_codes(coded, visit.session), 251]
    (table,) = tables_of(visit)
    coded_rows = [row for row in table if row["value"] != "n/a"]
    assert [int(row["value"]) for row in coded_rows] == [code for code, _ in device.sent]
    anchor_ns = visit.display.events.anchor.at_ns
    for row, (_, at_ns) in zip(coded_rows, device.sent, strict=True):
        assert abs(float(row["onset"]) - (at_ns - anchor_ns) / 1e9) < 2e-6
        assert float(row["code_time"]) >= float(row["onset"]) - 1e-6
    assert all(row["duration"] == "n/a" for row in table if row["trial_type"] in {"response", "session_start"})
    assert all(
        float(row["duration"]) >= 0 for row in table if row["trial_type"] in {"fixation", "stimulus", "feedback"}
    )


def test_every_code_is_stored_with_a_response_except_those_after_the_last(lab, coded):
    device = Device()
    visit = lab(coded, leaving_at(2, ["1"]), trigger=device)  # One trial is given up and repeated.
    stored = [json.loads(trial["presentation"]) for trial in rows(coded, visit.session)]
    events = [event for each in stored for event in (*each.get("events_before", ()), *each["events"])]
    assert [event["code"] for event in events if event.get("code")] == [code for code, _ in device.sent][:-1]
    assert device.sent[-1][0] == 251, "the end of the session is only in the table of events"
    assert sum(event["event"] == "stimulus" for event in stored[1]["events_before"]) == 1, "the attempt given up"


def test_each_visit_has_its_own_table_with_a_description(lab, coded):
    lab(coded, leaving_at(3, ["2"]))
    visit = lab(coded)
    first, second = tables_of(visit)
    assert [table[0]["trial_type"] for table in (first, second)] == ["session_start", "session_start"]
    assert first[-1]["trial_type"] == "session_end"
    assert {row["value"] for row in first} == {"n/a"}, "no code is sent without a device"
    trials = [row for row in second if row["trial_type"] == "stimulus"]
    assert [row["item_id"] for row in trials] == [
        trial.item_id for trial in plan_session(coded, visit.session.group, visit.session.seed).trials[2:]
    ]
    described = json.loads(next((visit.table.parent / "events").glob("*_run-1_events.json")).read_text())
    assert described.keys() == {*first[0], "StartTime"}
    assert datetime.fromisoformat(described["StartTime"])
    assert {row["trial_type"] for row in (*first, *second)} <= described["trial_type"]["Levels"].keys()


def test_a_withdrawal_deletes_the_tables_of_events(lab, coded):
    first = lab(coded, leaving_at(3, ["2"]))
    assert tables_of(first)
    visit = lab(coded, leaving_at(1, WITHDRAW))
    assert visit.outcome is VisitOutcome.WITHDRAWN
    assert not list((first.table.parent / "events").iterdir())


def test_a_table_of_events_that_cannot_be_written_does_not_stop_the_session(lab, coded):
    first = lab(coded, leaving_at(3, ["2"]))
    name = next((first.table.parent / "events").glob("*_events.tsv")).name
    (first.table.parent / "events" / name.replace("run-1", "run-2")).mkdir()
    second = lab(coded)
    assert second.outcome is VisitOutcome.COMPLETED
    assert "run-2_events.tsv: cannot be written" in second.problem
    assert "Every response is in the store" in second.problem


def test_the_trials_begin_with_the_pulse_of_the_scanner_and_the_pulses_are_counted(lab, coded):
    visit = lab(coded, scanner=Scanner("5", n_discarded=2))
    waits = [number for number, screen in enumerate(visit.display.seen) if "together with the scanner" in screen]
    assert len(waits) == 1, "practice does not wait"
    (table,) = tables_of(visit)
    pulses = [row for row in table if row["trial_type"] == "pulse"]
    assert [row["volume"] for row in pulses] == ["1", "2", "3"]
    (start,) = [row for row in table if row["trial_type"] == "scanner_start"]
    assert start["onset"] == pulses[2]["onset"] == f"{3 * PULSE_NS / 1e9:.6f}"
    stored = [json.loads(trial["presentation"]) for trial in rows(coded, visit.session)]
    begins = [number for number, each in enumerate(stored)
              if any(event["event"] == "scanner_start" for event in each.get("events_before", ()))]  # fmt: skip
    phases = [trial["phase"] for trial in rows(coded, visit.session)]
    assert [phases[number - 1] for number in begins] == ["practice"]


def test_escape_while_waiting_for_the_scanner_asks_whether_to_stay(lab, coded):
    menu = [ESCAPE, "2"]

    def person(display):
        if menu and ("together with the scanner" in display.seen[-1] or "stay" in names_on(display)):
            return press(menu.pop(0))
        return careful(display)

    visit = lab(coded, person, scanner=Scanner("5"))
    assert visit.outcome is VisitOutcome.LEFT
    assert lab(coded, scanner=Scanner("5")).outcome is VisitOutcome.COMPLETED


@pytest.mark.parametrize(
    ("text", "scanner"),
    [("5", Scanner("5")), ("T", Scanner("t")), ("5,discard=4", Scanner("5", 4)), ("s, discard=0", Scanner("s"))],
)
def test_the_scanner_is_named_by_its_key(text, scanner):
    assert read_scanner(text) == scanner


@pytest.mark.parametrize("text", ["", ",discard=3", "5,4", "5,discard", "5,discard=-1", "5,discard=many", "5,skip=2"])
def test_an_invalid_scanner_is_refused_before_anything_opens(command, text):
    result = command("--scanner", text or " ")
    assert result.exit_code == 2 and not result.was_opened
    assert "is not valid. Fix: write the key that the scanner presses" in result.stderr
