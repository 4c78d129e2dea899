"""The columns with the timing of screens and sounds, and with the confidence."""

import json

import pandas as pd

from analysis.data.tidy_table import tidy_trials

SCREENS = {
    "screens": [
        {"duration_ms": 500.1, "frames": 30, "frames_intended": 30},
        {"duration_ms": 66.8, "frames": 4, "frames_intended": 3},
        {"duration_ms": 2040, "frames": 122},
    ],
    "stimulus": {"duration_ms": 100.2, "frames": 6, "frames_intended": 6},
    "sounds": [{"part": 1, "onset_ms": 31.5, "latency_ms": 20}, {"part": 2, "onset_ms": None}],
}


def test_the_summaries_name_the_worst_duration_and_the_first_sound(row, view):
    rows = view(row(presentation=json.dumps(SCREENS), confidence=70, confidence_rt_ms=812.5), row(participant="P02"))
    table = tidy_trials(rows)
    first, second = table.iloc[0], table.iloc[1]
    assert first["presentation"] == SCREENS
    assert first["presentation_frames_off"] == 1  # The screen that the participant ended has no intended duration.
    assert (first["stimulus_duration_ms"], first["sound_onset_ms"], first["sound_latency_ms"]) == (100.2, 31.5, 20)
    assert (first["confidence"], first["confidence_rt_ms"]) == (70, 812.5)
    names = ["presentation", "presentation_frames_off", "stimulus_duration_ms", "sound_onset_ms", "confidence"]
    assert all(pd.isna(second[name]) for name in names)
