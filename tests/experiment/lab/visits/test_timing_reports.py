"""Reports on the timing before and after a visit, and sessions that are refused because of degraded timing."""

import re
import sqlite3
from contextlib import closing

import click
import pytest

from experiment.lab.timing_summary import trial_timing
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import DEVICE, WITHDRAW, careful, leaving_at

BY_CLOCK = DEVICE.model_copy(
    update={"is_synchronised": False, "pacing": "clock", "nominal_hz": None, "measured_hz": 1700.0}
)
BY_WINDOW = DEVICE.model_copy(update={"keyboard": "event"})
GOOD = (
    "Timing: Flips wait for the screen (measured 59.90 Hz, nominal 60.00 Hz), so fixations are counted in frames. "
    "psychtoolbox times key presses."
)


def stored_responses(study):
    """Return the visit, the dropped frames and the focus losses of each stored response."""
    with closing(sqlite3.connect(load_study(study).store_path)) as store:
        return store.execute("SELECT visit, frames_dropped, focus_lost FROM responses").fetchall()


def sessions(study):
    path = load_study(study).store_path
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as store:
        return store.execute("SELECT session FROM sessions").fetchall()


def test_good_timing_is_reported_in_one_line_before_and_one_line_after_the_session(command, small):
    done = command()
    first, *_, last = done.stdout.splitlines()
    n_trials = len(stored_responses(small))
    assert n_trials > 5
    assert first == GOOD
    assert last == (
        f"{GOOD} {n_trials} trials: no dropped frames; every fixation within half a frame of its intended duration "
        "(largest error 0.0 ms); no lost focus."
    )
    assert done.stderr == ""


def test_a_duration_that_is_not_whole_frames_is_named_before_the_session(command, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 190")
    lines = command().stderr.splitlines()
    assert lines[0] == (
        "Durations that are not whole frames at 59.88 Hz: fixation_ms 190 will last 11 frames (183.7 ms). Fix: choose "
        "multiples of 16.70 ms, or accept the durations on the screen."
    )
    assert not any("whole frames" in line for line in command(participant="P02", device=BY_CLOCK).stderr.splitlines())


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        (
            BY_CLOCK,
            "Flips do not wait for the screen (measured 1700.00 Hz, nominal unknown: flips come every 0.59 ms), so the "
            "clock times fixations.",
        ),
        (BY_WINDOW, "The window's events time key presses, because psychtoolbox finds no keyboard."),
    ],
)
def test_degraded_timing_is_a_warning_with_its_reason_before_and_after_the_session(command, device, sentence):
    done = command(device=device)
    assert done.exit_code == 0, "the session runs"
    before, after = done.stderr.split("WARNING: the timing of this session is degraded.")[1:]
    for report in (before, after):
        assert sentence in report
        assert report.rstrip().endswith("Fix: run `equipoise lab check`, which says how to correct this machine.")
    assert "trials: no dropped frames" in after
    assert "Timing:" not in done.stdout


def test_the_warning_comes_before_the_first_page_of_the_participant(command, monkeypatch):
    printed, at_each_screen, echo = [], [], click.echo
    monkeypatch.setattr(click, "echo", lambda words, err=False: (printed.append(words), echo(words, err=err)))

    def person(display):
        at_each_screen.append(list(printed))
        return careful(display)

    command(person=person, device=BY_CLOCK)
    (warning,) = at_each_screen[0]
    assert warning.startswith("WARNING: the timing of this session is degraded.")


def test_each_problem_of_the_trials_is_counted_from_the_stored_responses(command, small):
    late = {
        2: {"frames_dropped": 1},
        4: {"frames_dropped": 3, "fixation_ms": 200.4 + 3 * 16.7, "fixation_frames": 15},
        6: {"fixation_ms": 200.4 - 16.7, "fixation_frames": 11},
    }
    done = command(late=late)
    n_trials = len(stored_responses(small))
    (report,) = re.findall(r"\d+ trials: .*", done.stderr)
    assert report == (
        f"{n_trials} trials: dropped frames in 2 (4 frames); a fixation off by more than half a frame in 2 (largest "
        "error 50.1 ms); no lost focus."
    )
    assert done.stderr.startswith("WARNING: the timing of some trials is degraded.\n")
    assert "Fix: " in done.stderr and "`dropped_frames`" in done.stderr


def test_a_lost_focus_is_counted(command, small):
    done = command(n_focus_lost=1)
    n_trials = len(stored_responses(small))
    assert f"a lost focus in {n_trials}." in done.stderr


def test_the_report_is_on_the_trials_of_this_visit_only(command, small):
    first = command(person=leaving_at(5, ["2"]), late={1: {"frames_dropped": 9}})
    assert "dropped frames in 1 (9 frames)" in first.stderr
    second = command()
    assert second.stderr == ""
    of_second = [row for row in stored_responses(small) if row[0] == 2]
    assert f"{len(of_second)} trials: no dropped frames" in second.stdout


def test_after_a_withdrawal_there_is_no_report_on_deleted_trials(command):
    done = command(person=leaving_at(5, WITHDRAW), late={1: {"frames_dropped": 9}})
    assert done.stdout.splitlines() == [GOOD, "P01 withdrew; the responses are deleted."]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "device", "problems"),
    [
        (["--require-frames"], BY_CLOCK, ["--require-frames: flips do not wait for the screen (flips come every"]),
        (["--require-ptb"], BY_WINDOW, ["--require-ptb: psychtoolbox does not read the keyboard (psychtoolbox finds"]),
        (
            ["--require-ptb", "--require-frames"],
            BY_CLOCK.model_copy(update={"keyboard": "event"}),
            ["--require-frames: ", "--require-ptb: "],
        ),
    ],
)
def test_required_timing_refuses_the_session_before_the_participant_sees_anything(
    command, small, options, device, problems
):
    refused = command(*options, device=device)
    assert refused.exit_code == 2
    assert refused.seen == [] and sessions(small) == []
    assert all(problem in refused.stderr for problem in problems)
    assert refused.stderr.count("Fix:") == 1 and refused.stdout == ""


@pytest.mark.parametrize(
    ("options", "device"), [(["--require-frames"], BY_WINDOW), (["--require-ptb"], BY_CLOCK),
                            (["--require-ptb", "--require-frames"], DEVICE)]
)  # fmt: skip
def test_a_requirement_refuses_only_what_it_names(command, options, device):
    assert command(*options, device=device).exit_code == 0


def timed(**changes):
    exact = {"fixation_ms": 201.4, "fixation_frames_intended": 29, "frame_ms": 1000 / 144, "frames_dropped": 0,
             "focus_lost": 0}  # fmt: skip
    return exact | changes


def test_the_intended_duration_is_in_frames_if_flips_wait_and_in_ms_if_the_clock_times_fixations():
    """At 144 Hz, 29 frames are 201.4 ms, and no number of frames is 200 ms."""
    assert trial_timing([timed()], "frames", 200).largest_error_ms == pytest.approx(0.01, abs=0.005)
    assert trial_timing([timed(fixation_ms=200.0)], "clock", 200).largest_error_ms == 0
    none = timed(fixation_ms=0.0, fixation_frames_intended=0)
    assert trial_timing([none], "clock", 2).largest_error_ms == 0, "a fixation below half a frame is not shown"


def test_a_skipped_trial_has_no_timing():
    assert trial_timing([timed(fixation_ms=None, frame_ms=None)], "frames", 200) is None
    assert trial_timing([timed(), timed(fixation_ms=None, frame_ms=None)], "frames", 200).n_trials == 1
