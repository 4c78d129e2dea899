"""The background of the trials: the study's own colour, from the interval to the feedback, in a real browser."""

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page

from tests.end_to_end.test_accessibility import assert_without_violations
from tests.end_to_end.test_keypress import taking
from tests.timed_study import CONFIDENCE, MASK, RED, choice, keypress, make_timed_study

GREY = "rgb(128, 128, 128)"
MORE = """\
timing: {fixation_ms: 300, intertrial_ms: 300}
look: {background: "#808080"}
"""
# Records what is on the screen in each frame, and the background of the whole window.
WATCH = """
window.seen = [];
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const id = ["intertrial", "fixation", "screen", "stimulus"].find((one) => document.getElementById(one)) ?? "page";
    const entry = `${id} ${getComputedStyle(document.documentElement).backgroundColor}`;
    if (window.seen.at(-1) !== entry) window.seen.push(entry);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
"""


def press(page: Page, key: str) -> None:
    page.wait_for_timeout(300)  # no response is accepted in the first frame
    page.keyboard.press(key)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_trial_has_the_colour_of_the_study_in_every_frame_and_pages_keep_theirs(
    visit: Any, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    screen = {"parts": [{"text": "Remember this."}], "duration_ms": 200}
    items = [
        keypress("word", "word", prompt="Red?", stimulus=[RED], stimulus_ms=100, mask=[MASK], mask_ms=100),
        choice("one", screens=[screen]),
        choice("two"),
    ]
    folder = make_timed_study(tmp_path / "study", items, MORE + CONFIDENCE, practice=2)
    with taking(visit, folder, WATCH, color_scheme=scheme) as visitor:
        page = visitor.page
        for number in range(3):
            page.wait_for_selector("#stimulus:not(.closed)")
            assert_without_violations(page, f"question {number}, {scheme}")
            visitor.shoot(f"background-{scheme}-{number}")
            press(page, "j" if page.locator(".keypress").count() else "1")
            page.wait_for_selector(".confidence")
            press(page, "3")
            if number < 2:
                page.wait_for_selector("#feedback-continue")
                assert_without_violations(page, f"feedback {number}, {scheme}")
                visitor.shoot(f"background-feedback-{scheme}-{number}")
                page.keyboard.press("Enter")
        page.wait_for_selector("#completion-code")
        seen = page.evaluate("seen")
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]
    assert set(seen) == {
        f"page {paper}",
        *(f"{part} {GREY}" for part in ("intertrial", "fixation", "screen", "stimulus")),
    }
