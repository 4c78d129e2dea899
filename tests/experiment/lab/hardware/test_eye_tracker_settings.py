"""The eye tracker that an experimenter names on the command line."""

import pytest

from batteries.errors import InputError
from experiment.lab.hardware.eye_tracker_settings import read_eye_tracker

EYELINK = "eyetracker.hw.sr_research.eyelink.EyeTracker"


def test_the_word_mouse_is_the_simulation():
    assert read_eye_tracker("mouse").device == "eyetracker.hw.mouse.EyeTracker"


@pytest.mark.parametrize(
    "text",
    [
        f"{EYELINK}:\n  model_name: EYELINK 1000\n",
        f"monitor_devices:\n- Display: {{}}\n- {EYELINK}: {{model_name: EYELINK 1000}}\n",
        f"monitor_devices:\n  Keyboard: {{}}\n  {EYELINK}: {{model_name: EYELINK 1000}}\n",
    ],
)
def test_a_file_has_the_device_alone_or_among_the_devices_of_an_experiment(tmp_path, text):
    file = tmp_path / "eyelink.yaml"
    file.write_text(text)
    found = read_eye_tracker(str(file))
    assert (found.device, found.settings) == (EYELINK, {"model_name": "EYELINK 1000"})
    assert found.plugin == "psychopy-eyetracker-sr-research"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Display: {}\n", "describes 0. Fix: write ioHub's name of one eye tracker"),
        (f"{EYELINK}: {{}}\neyetracker.hw.mouse.EyeTracker: {{}}\n", "describes 2. Fix:"),
        (f"{EYELINK}: fast\n", f"{EYELINK} has no settings. Fix:"),
        ("monitor_devices: 3\n", "describes 0. Fix:"),
        ("- a\n", "must contain `name: value` lines. Fix:"),
        ("a: {\n", "not valid YAML"),
    ],
)
def test_a_file_without_exactly_one_eye_tracker_is_refused(tmp_path, text, problem):
    file = tmp_path / "tracker.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_eye_tracker(str(file))
    assert problem in str(refused.value) and str(refused.value).startswith(str(file))
