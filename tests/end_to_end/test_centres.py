"""Stimuli, masks and screens are where the fixation cross was, in a real browser with a real server."""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.end_to_end.test_keypress import taking
from tests.end_to_end.visitor import DESKTOP, PHONE, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import RED, keypress, make_timed_study

SIZES = [DESKTOP, {"width": 1024, "height": 601}, PHONE]
TIMING = "timing: {fixation_ms: 5000}\n"
PROMPT = "Is this a letter of the Latin alphabet, or is it a sign of another kind that you have seen before?"


def middle_of(visitor: Visitor, selector: str) -> tuple[float, float]:
    """Return the middle of the dark or coloured area inside an element, in px from the top left of the window."""
    box = visitor.page.locator(selector).bounding_box()
    assert box is not None
    edge = 8  # Letters can be a little outside of their element.
    clip = {
        "x": box["x"] - edge,
        "y": box["y"] - edge,
        "width": box["width"] + 2 * edge,
        "height": box["height"] + 2 * edge,
    }
    pixels = np.asarray(Image.open(io.BytesIO(visitor.page.screenshot(clip=clip))).convert("RGB"), int)
    ys, xs = np.nonzero(np.abs(pixels - pixels[0, 0]).max(axis=2) > 100)
    left, top = np.floor(clip["x"]), np.floor(clip["y"])
    return left + (xs.min() + xs.max() + 1) / 2, top + (ys.min() + ys.max() + 1) / 2


def middles(visitor: Visitor, selector: str) -> list[tuple[float, float]]:
    found = []
    for size in SIZES:
        visitor.page.set_viewport_size(size)
        found.append(middle_of(visitor, selector))
    return found


@pytest.mark.parametrize(
    "stimulus",
    [[{"text": "# H"}], [{"text": "8"}], [RED], [{"text": "H\n\nH"}]],
    ids=["heading", "digit", "picture", "lines"],
)
def test_stimulus_and_mask_have_the_centre_of_the_cross(visit: Any, tmp_path: Path, stimulus: list[Any]) -> None:
    item = keypress("word", None, stimulus=stimulus, stimulus_ms=5_000, mask=[{"text": "X"}], prompt=PROMPT)
    folder = make_timed_study(tmp_path / "study", [item], TIMING)
    with taking(visit, folder) as visitor:
        cross = middles(visitor, "#fixation")
        visitor.page.wait_for_selector("#stimulus")
        shown = middles(visitor, ".keypress-stage > :not(.mask)")
        visitor.page.wait_for_selector(".mask:not(.unseen)")
        mask = middles(visitor, ".keypress-stage > .mask")
    for name, found in {"stimulus": shown, "mask": mask}.items():
        assert np.abs(np.array(found) - np.array(cross)).max() <= 1, (name, found, cross)


def test_a_position_in_degrees_is_relative_to_the_cross_also_beside_a_text(visit: Any, tmp_path: Path) -> None:
    placed = RED | {"width_deg": 1.0, "x_deg": 4.0, "y_deg": 2.0}
    screen = {"parts": [placed, {"text": "H"}], "duration_ms": 4_000}
    item = keypress("word", None, screens=[screen])
    folder = make_timed_study(tmp_path / "study", [item], TIMING)
    study = folder / "study.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace("sound: false", "calibration: true"), encoding="utf-8")
    with running_server(folder) as url:
        visitor = visit(simulated(url, folder, "visual"))
        visitor.page.wait_for_selector("#fixation")
        cross = middle_of(visitor, "#fixation")
        visitor.page.wait_for_selector("#screen")
        letter, box = middle_of(visitor, "#screen .server-html"), visitor.page.locator("#screen img").bounding_box()
        assert box is not None
    assert letter == pytest.approx(cross, abs=1)
    px_per_deg = 57 * 96 / 2.54  # Simulated participants have 57 cm and the pixels of CSS.
    across, up = (px_per_deg * math.tan(math.radians(degrees)) for degrees in (4, 2))
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert middle == pytest.approx((cross[0] + across, cross[1] - up), abs=1)
