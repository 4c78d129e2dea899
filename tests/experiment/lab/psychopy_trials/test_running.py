"""Trials that a class of the study draws, in a real window: frames, errors, and the window afterwards."""

import json
from itertools import pairwise

import pytest

from tests.experiment.lab.psychopy_trials.trial_classes import BAD, FLAG
from tests.psychopy_study import make_psychopy_study, psychopy_item

pytestmark = pytest.mark.lab

HZ = 100
RED = [255, 0, 0]


@pytest.fixture(scope="module")
def shown(screen, tmp_path_factory):
    """Show a trial of `Flag` and a trial of `Careless` on an imitated screen of 100 Hz."""
    codes = {"flag": ("flag.py", "Flag", FLAG), "careless": ("flag.py", "Careless", FLAG)}
    items = [psychopy_item(name, name, None, {}) for name in codes]
    folder = make_psychopy_study(tmp_path_factory.mktemp("flags") / "study", items, codes=codes)
    with screen.start("psychopy_trials", folder, HZ) as program:
        found = {name: program.reply() for name in codes}
    times_ms = [json.loads(line) for line in (folder / "drawn.jsonl").read_text().splitlines()]
    return found, times_ms


@pytest.mark.parametrize("name", ["flag", "careless"])
def test_the_first_frame_of_the_class_ends_the_fixation(shown, name):
    of_trial = shown[0][name]
    first = of_trial["colours"].index(RED)
    assert first == len(of_trial["colours"]) - 1, "only the last frame of the presentation shows the stimulus"
    # Reading the image back from the graphics card takes time, so frames can be dropped in this test.
    assert first + of_trial["dropped_before"] >= of_trial["n_intended"] > 0


def test_each_frame_is_drawn_for_the_time_of_its_flip(shown):
    found, times_ms = shown
    frame_ms = found["flag"]["frame_ms"]
    second = len(times_ms) - times_ms[::-1].index(0) - 2
    assert times_ms[:2] == [0, 0] == times_ms[second : second + 2], "once before the fixation, once at the onset"
    of_first = times_ms[1:second]
    n_frames = [time_ms / frame_ms for time_ms in of_first]
    assert n_frames == pytest.approx([round(n) for n in n_frames], abs=1e-6)
    steps = [round(later - earlier) for earlier, later in pairwise(n_frames)]
    assert min(steps) >= 1
    drawn = found["flag"]["drawn"]
    assert drawn["frames"] == len(of_first) - 2, "without the first frame, and the frame after the other screen"
    assert drawn["longest_ms"] >= frame_ms * 0.5
    assert abs(sum(steps) - len(steps) - drawn["dropped"]) <= 5
    assert 30 <= drawn["frames"] + drawn["dropped"] <= 45


@pytest.mark.parametrize("name", ["flag", "careless"])
def test_the_next_page_is_shown_pixel_for_pixel(shown, name):
    assert (shown[0][name]["same"], shown[0][name]["units"]) == ([True, True], "pix")


def test_each_mistake_of_a_class_has_one_sentence(screen):
    with screen.start("failing_classes", json.dumps({name: code for name, (code, _) in BAD.items()})) as program:
        for name, (_, sentence) in BAD.items():
            error = program.reply()["error"]
            assert error is not None and sentence in error and " Fix: " in error and "\n" not in error, name
        finding = program.reply()
        assert (finding["what"], finding["verdict"]) == ("PsychoPy trials", "bad")
        assert sentence in f"{finding['found']}. Fix: {finding['advice']}", "the last class is still there"
        assert program.reply() == {"same": True}
