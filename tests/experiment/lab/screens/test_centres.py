"""Stimuli, masks and screens are where the fixation cross was."""

import numpy as np
import pytest

from experiment.lab.screens.keypress import keypress
from experiment.lab.screens.layout.sheet import Viewing
from experiment.lab.screens.screen_before import screen_before
from experiment.lab.screens.trial import blank, fixation
from tests.experiment.lab.screens.test_questions import ASKING, item_of, sheet_of
from tests.picture_study import picture

SIZES_PX = [(1024, 768), (1365, 767)]


def box_of(shown, background):
    """Return left, top, right and bottom of what differs clearly from the background."""
    differs = np.abs(np.asarray(shown.image, int) - np.asarray(background.image, int)).max(axis=2) > 100
    ys, xs = np.nonzero(differs)
    return xs.min(), ys.min(), xs.max() + 1, ys.max() + 1


def middle_of(box):
    left, top, right, bottom = box
    return (left + right) / 2, (top + bottom) / 2


@pytest.fixture
def drawn(tmp_path):
    """Return a function that draws parts as a stimulus, as a mask and as a screen, and returns their boxes."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "red.png").write_bytes(picture(size=(60, 41)))

    def draw(size_px, parts):
        sheet = sheet_of(size_px, media_folder=tmp_path, viewing=Viewing(38, 57))
        item = item_of(
            "keypress",
            {"stimulus": parts, "mask": parts, "stimulus_ms": 100, "keys": {"f": "a"}, "prompt": "Which?"},
            tmp_path,
        )
        content = item.content
        shown = {"parts": content["stimulus"], "duration_ms": 100}
        gone = keypress(sheet, content, ASKING, [])
        return {
            "stimulus": box_of(keypress(sheet, content, ASKING), gone),
            "mask": box_of(keypress(sheet, content, ASKING, content["mask"]), gone),
            "screen": box_of(screen_before(sheet, shown), blank(sheet)),
            "cross": box_of(fixation(sheet), blank(sheet)),
        }

    return draw


RED = {"image": "assets/red.png", "alt": "A red area"}


@pytest.mark.parametrize("size_px", SIZES_PX)
@pytest.mark.parametrize(
    "parts",
    [[{"text": "# H"}], [{"text": "X"}], [{"text": "8"}], [{"text": "H\n\nH"}], [RED], [RED | {"width_deg": 3.0}]],
    ids=["heading", "letter", "digit", "two lines", "picture", "picture in degrees"],
)
def test_stimulus_mask_and_screen_have_the_centre_of_the_cross(drawn, size_px, parts):
    boxes = drawn(size_px, parts)
    for name, box in boxes.items():
        assert middle_of(box) == pytest.approx((size_px[0] / 2, size_px[1] / 2), abs=1), name


def test_all_words_have_the_same_baseline(drawn):
    bottoms = {word: drawn((1280, 800), [{"text": f"# {word}"}])["stimulus"][3] for word in ("H", "x", "l", "xH")}
    assert len(set(bottoms.values())) == 1, bottoms
    top, below = (drawn((1280, 800), [{"text": f"# {word}"}])["stimulus"] for word in ("H", "Hp"))
    assert below[1] == top[1] and below[3] > top[3]


def test_a_position_in_degrees_is_relative_to_the_cross(drawn):
    part = RED | {"width_deg": 1.0, "x_deg": 5.0, "y_deg": 2.0}
    offset = [Viewing(38, 57).offset_px(5.0), -Viewing(38, 57).offset_px(2.0)]
    beside = drawn((1280, 800), [part])
    with_text = drawn((1280, 800), [part, {"text": "H"}])
    for name in ("stimulus", "mask", "screen"):
        assert middle_of(beside[name]) == pytest.approx((640 + offset[0], 400 + offset[1]), abs=1), name
        left, top, _, bottom = with_text[name]
        assert (left, bottom) != (beside[name][0], beside[name][3])
        assert top == beside[name][1], "a text in the middle does not move the picture"
