"""Sessions in a real window with ioHub, whose eye tracker follows the mouse."""

import csv
import stat
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from equipoise.commands.store.withdraw import withdraw
from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.timed_study import choice, make_timed_study

QUICK = """\
eyetracker.hw.mouse.EyeTracker:
  runtime_settings: {sampling_rate: 100}
  calibration: {type: THREE_POINTS, target_delay: 0.25, target_duration: 0.25}
"""
BREAKS = (
    "timeline: {instructions: [instructions.md]}",
    "timeline: {instructions: [instructions.md], breaks: {every: 2}}",
)
OPTIONS = ["--monitor", "testMonitor", "--eye-tracker"]
ANSWER = "2"


@pytest.fixture
def quick(tmp_path):
    """Return the file of an eye tracker with a quick calibration."""
    file = tmp_path / "tracker.yaml"
    file.write_text(QUICK)
    return str(file)


@pytest.fixture
def study(tmp_path):
    folder = make_timed_study(tmp_path / "study", [choice(f"item-{number}") for number in range(4)])
    text = (folder / "study.yaml").read_text()
    assert BREAKS[0] in text
    (folder / "study.yaml").write_text(text.replace(*BREAKS))
    return folder


def hubs_on(display):
    """Return the numbers of the processes of ioHub on a display."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # The process has ended.
            commands, environment = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
            if b"start_iohub_process" in commands and f"DISPLAY={display}".encode() in environment.split(b"\0"):
                found.append(int(process.name))
    return found


def table_of(folder):
    (path,) = (folder / "data" / "lab" / "events").glob("*_events.tsv")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"))


def test_gaze_and_messages_of_a_session_are_in_the_file_by_the_times_of_the_table(screen, fingers, study, quick):
    tables = import_module("tables")  # It comes with PsychoPy.
    answers = {f"item-{number}": [("click", ANSWER) if number % 2 else ANSWER] for number in range(4)}
    participant = ScriptedParticipant(screen, fingers, study, answers)
    rows = participant.run(options=[*OPTIONS, quick])
    assert {row["response"] for row in rows.values()} == {int(ANSWER)}
    assert [rows[f"item-{number}"]["input"] for number in range(4)] == ["key", "mouse", "key", "mouse"]
    assert hubs_on(screen.display) == [], "the process of ioHub is still running"

    (file,) = (study / "data" / "lab" / "eye").iterdir()
    assert f"Data of the eye tracker: {file}" in participant.output()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tables.open_file(str(file)) as data:
        events = data.root.data_collection.events
        messages = [(row["time"], row["text"].decode()) for row in events.experiment.MessageEvent]
        gaze = [(row["time"], row["gaze_x"], row["gaze_y"]) for row in events.eyetracker.MonocularEyeSampleEvent]
        assert "keyboard" not in events or all(len(each) == 0 for each in events.keyboard)
        assert "mouse" not in events or all(len(each) == 0 for each in events.mouse)

    table = table_of(study)
    with_time = [row for row in table if row["eye_tracker_time"] != "n/a"]
    assert [text.split()[0] for _, text in messages] == [row["trial_type"] for row in with_time]
    for (at_s, text), row in zip(messages, with_time, strict=True):
        assert at_s == pytest.approx(float(row["eye_tracker_time"]), abs=1e-5)
        assert f"onset_us={round(float(row['onset']) * 1e6)}" in text.split()
        assert row["item_id"] == "n/a" or text.endswith(f"item_id={row['item_id']}")
    ahead = [float(row["eye_tracker_time"]) - float(row["onset"]) for row in with_time]
    assert max(ahead) - min(ahead) < 0.001, "both clocks run at the same speed"

    calibrations = [row for row in with_time if row["trial_type"] == "calibration"]
    assert len(calibrations) == 2, "one at the start, and one after the break"
    for row in calibrations:
        began = float(row["eye_tracker_time"])
        middle = [at_s for at_s, *_ in gaze if began + 0.1 < at_s < began + float(row["duration"]) - 0.5]
        assert middle == [], "nothing is recorded during a calibration"
    stimuli = [row for row in with_time if row["trial_type"] == "stimulus"]
    ends = [row for row in with_time if row["trial_type"] == "response"]
    for shown, answered in zip(stimuli, ends, strict=True):
        from_s, to_s = float(shown["eye_tracker_time"]), float(answered["eye_tracker_time"])
        n_samples = sum(from_s <= at_s <= to_s for at_s, *_ in gaze)
        assert n_samples >= 0.7 * 100 * (to_s - from_s) - 2, "100 samples come each second; the machine may be busy"
    clicked = next(row for row in ends if row["item_id"] in {"item-1", "item-3"})
    x_px, y_px = participant.place(participant.study.battery.by_id[clicked["item_id"]], ANSWER)
    looked = next(sample for sample in gaze if sample[0] > float(clicked["eye_tracker_time"]) + 0.2)
    assert looked[1:] == pytest.approx((x_px - 512, 384 - y_px), abs=2)
    end = float(with_time[-1]["eye_tracker_time"])
    assert with_time[-1]["trial_type"] == "session_end"
    assert end - 0.2 < gaze[-1][0] < end + 0.5, "the recording stops at the end of the session"

    withdraw(study, participant="P01")
    assert not file.exists()
