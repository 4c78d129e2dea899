"""The durations of a study in whole frames of a screen."""

import pytest

from experiment.lab.frame_durations import durations_warning, frame_durations
from experiment.load_study import load_study
from tests.timed_study import MASK, choice, keypress, make_timed_study

SCREENS = [{"parts": [MASK], "duration_ms": 50}, {"parts": [MASK]}, {"duration_ms": 10}]


def study_with(tmp_path, timing):
    items = [choice("q", screens=SCREENS), keypress("w", None, stimulus_ms=40, mask=[MASK], mask_ms=100)]
    return load_study(make_timed_study(tmp_path / "study", items, f"timing: {timing}\n"))


def test_each_duration_is_named_with_its_frames(tmp_path):
    study = study_with(tmp_path, "{fixation_ms: 200, intertrial_ms: 710}")
    assert sorted(each.sentence for each in frame_durations(study, 1000 / 60)) == [
        "duration_ms 10 will last 1 frame (16.7 ms)",
        "duration_ms 50 will last 3 frames (50.0 ms)",
        "fixation_ms 200 will last 12 frames (200.0 ms)",
        "intertrial_ms 710 will last 43 frames (716.7 ms)",
        "mask_ms 100 will last 6 frames (100.0 ms)",
        "stimulus_ms 40 will last 2 frames (33.3 ms)",
    ]


def test_only_durations_that_differ_by_more_than_1_ms_need_a_warning(tmp_path):
    study = study_with(tmp_path, "{fixation_ms: 201, intertrial_ms: {min: 500, max: 1500}}")
    warning = durations_warning(study, 1000 / 60)
    assert warning.startswith("Durations that are not whole frames at 60.00 Hz: ")
    assert "stimulus_ms 40 will last 2 frames (33.3 ms)" in warning and "duration_ms 10" in warning
    assert not any(name in warning for name in ("fixation_ms", "intertrial_ms", "mask_ms", "duration_ms 50"))


@pytest.mark.parametrize("fixation_ms", [0, 200])
def test_without_other_durations_there_is_no_warning(tmp_path, fixation_ms):
    folder = make_timed_study(tmp_path / "study", [choice("q")], f"timing: {{fixation_ms: {fixation_ms}}}\n")
    assert durations_warning(load_study(folder), 1000 / 60) is None
