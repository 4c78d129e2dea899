"""Event codes that another process records through the Lab Streaming Layer, and the table of events."""

import pytest

from tests.experiment.lab.recorded_codes import record


def test_recorded_codes_and_their_times_are_those_of_the_table_of_events(screen, tmp_path):
    pytest.importorskip("pylsl", reason="pylsl is not installed; it is for those who need it")
    n_trials = 25
    recording = record(screen, tmp_path, n_trials)
    assert [code for code, _, _ in recording.codes] == [int(row["value"]) for row in recording.sent]
    kinds = [row["trial_type"] for row in recording.sent]
    assert kinds.count("stimulus") == kinds.count("fixation") == n_trials
    assert kinds.count("response") + kinds.count("time_out") == n_trials
    assert kinds.count("response") > 0 and kinds.count("time_out") > 0
    for (_, stamp_s, received_s), row in zip(recording.codes, recording.sent, strict=True):
        assert abs(stamp_s - float(row["lsl_time"])) < 0.001
        assert received_s >= stamp_s
