import os
import time

from experiment.lab.session_files.attempt_log import AttemptLog


def test_attempts_are_counted_over_visits_and_an_incomplete_line_is_skipped(tmp_path):
    begun, frames = tmp_path / "begun.jsonl", tmp_path / "frames.csv"
    first = AttemptLog(begun, frames)
    assert [first.begin(0), first.begin(1), first.begin(1)] == [1, 1, 2]
    with begun.open("a") as file:
        file.write('\n{"trial_in')
    second = AttemptLog(begun, frames)
    assert (second.n_begun(0), second.n_begun(1), second.n_begun(2)) == (1, 2, 0)
    assert second.begin(1) == 3
    assert AttemptLog(begun, frames).n_begun(1) == 3


def test_the_start_of_a_trial_is_put_on_the_disk_and_nobody_waits_for_it(tmp_path, monkeypatch):
    synced = []

    def slow_sync(descriptor):
        time.sleep(0.2)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", slow_sync)
    begun = tmp_path / "begun.jsonl"
    log = AttemptLog(begun, tmp_path / "frames.csv")
    assert log.begin(0) == 1
    assert synced == [], "the participant may already respond"
    patience = time.monotonic() + 10
    while not synced and time.monotonic() < patience:
        time.sleep(0.01)
    assert synced == [begun.stat().st_ino]


def test_frames_have_one_heading_over_visits(tmp_path):
    for visit in (1, 2):
        AttemptLog(tmp_path / "begun.jsonl", tmp_path / "frames.csv").note_frames(visit, 4, visit, [16.6667, 33.3])
    lines = (tmp_path / "frames.csv").read_text().splitlines()
    assert lines == [
        "visit,trial_index,attempt,frame,interval_ms",
        "1,4,1,1,16.667",
        "1,4,1,2,33.300",
        "2,4,2,1,16.667",
        "2,4,2,2,33.300",
    ]
