"""Recorded timing of trials, compared with the browser's own reports."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from equipoise.studies import copy_sample_study
from tests.end_to_end.visitor import NOTHING_WAITS
from tests.server_process import running_server

WATCH = """
window.seen = [];
window.pressed = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (entry.identifier === "stimulus") window.seen.push(entry.renderTime);
}).observe({ type: "element" });
addEventListener("keydown", (event) => window.pressed.push(event.timeStamp), true);
"""
TELLS_NOTHING = "Object.defineProperty(PerformanceObserver, 'supportedEntryTypes', { get: () => [] });"


def answer_some(visitor: Any, n: int) -> None:
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()
    visitor.answer_questions(n)
    visitor.wait_until(NOTHING_WAITS)


def test_response_time_begins_when_the_browser_presents_the_stimulus(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit("about:blank")
    visitor.page.add_init_script(WATCH)
    visitor.page.goto(server)
    answer_some(visitor, 4)
    presented, pressed = visitor.page.evaluate("[window.seen, window.pressed]")
    answered = [row for row in rows(study_folder) if row["response"] is not None]
    assert len(answered) == 5
    for row, onset_ms in zip(answered, presented, strict=False):
        assert row["onset_source"] == "presented"
        assert min(abs(onset_ms + row["rt_ms"] - at_ms) for at_ms in pressed) < 0.01
        assert row["fixation_frames"] == round(row["fixation_ms"] / row["frame_ms"])
        assert row["fixation_frames_intended"] == round(200 / row["frame_ms"])
        assert 4 < row["frame_ms"] < 60
    onsets = [row["shown_at"] for row in answered]
    assert all(one < other for one, other in pairwise(onsets))


def test_without_a_presentation_time_stamp_the_onset_is_just_after_painting(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit("about:blank")
    visitor.page.add_init_script(WATCH)
    visitor.page.add_init_script(TELLS_NOTHING)
    visitor.page.goto(server)
    answer_some(visitor, 2)
    presented, pressed = visitor.page.evaluate("[window.seen, window.pressed]")
    answered = [row for row in rows(study_folder) if row["response"] is not None]
    assert len(answered) == 3
    for row, onset_ms in zip(answered, presented, strict=False):
        assert row["onset_source"] == "painted"
        # The browser reports the onset only to the test. The two times differ by some ms, or by a late frame.
        assert min(abs(onset_ms + row["rt_ms"] - at_ms) for at_ms in pressed) < 200


COARSE_CLOCK = """
const exact = window.requestAnimationFrame.bind(window);
let n = 0;
let first_ms = 0;
let last_ms = 0;
let told_ms = 0;
window.requestAnimationFrame = (callback) => exact((stamp_ms) => {
  if (stamp_ms !== last_ms) {
    last_ms = stamp_ms;
    first_ms ||= stamp_ms;
    const loaded = ++n > 90;
    const late_ms = n % 3 === 0 ? 9 + (n % 4) : 0;
    told_ms = Math.floor(loaded ? stamp_ms : first_ms + (n - 1) * 1000 / 60 + late_ms);
  }
  callback(told_ms);
});
"""


def test_late_frames_and_whole_milliseconds_do_not_change_the_number_of_frames(
    visit: Any, server: str, study_folder: Path, rows: Any, query: Any
) -> None:
    """While the page is loaded, every third frame comes late, as in WebKit."""
    visitor = visit("about:blank")
    visitor.page.add_init_script(COARSE_CLOCK)
    visitor.page.goto(server)
    answer_some(visitor, 2)
    (opened,) = query(study_folder, "SELECT device FROM visits")
    device = json.loads(opened["device"])
    answered = [row for row in rows(study_folder) if row["response"] is not None]
    for row in answered:
        assert row["frame_ms"] == device["frame_used_ms"]
        assert row["fixation_frames_intended"] == 12
    assert 1000 / device["frame_used_ms"] in (pytest.approx(60, rel=1e-9), pytest.approx(60 / 1.001, rel=1e-9))
    assert device["frame_ms"] == pytest.approx(1000 / 60, rel=0.01)
    assert device["frame_ms"] != device["frame_used_ms"]


PRESS_TOO_EARLY = """
window.early = 0;
let onsetFrame_ms = null;
const press = () => {
  const frameIsNearlyOver = onsetFrame_ms !== null && performance.now() > onsetFrame_ms + 15;
  if (frameIsNearlyOver) return;
  window.early++;
  document.querySelector("#jspsych").dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true }));
};
const shown = () => {
  if (document.querySelector("#fixation")) press();
  if (!document.querySelector("#stimulus") || onsetFrame_ms !== null) return;
  onsetFrame_ms = document.timeline.currentTime;
  for (const wait_ms of [0, 1, 2, 4]) setTimeout(press, wait_ms);
};
addEventListener("DOMContentLoaded", () =>
  new MutationObserver(shown).observe(document.querySelector("#jspsych"), { childList: true, subtree: true }));
"""


def test_a_key_pressed_before_the_stimulus_is_visible_is_not_a_response(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = tmp_path / "study"
    copy_sample_study("intuition-single", folder)
    with running_server(folder) as url:
        visitor = visit("about:blank")
        visitor.page.add_init_script(PRESS_TOO_EARLY)
        visitor.page.goto(url)
        visitor.page.locator("#consent-agree").click()
        visitor.page.locator("#page-next", has_text="Begin").click()
        assert visitor.wait_for_trial() == "multiple_choice"
        visitor.page.wait_for_timeout(500)
        assert visitor.page.evaluate("window.early") > 0
        assert visitor.page.locator(".feedback").count() == 0
        assert [row for row in rows(folder) if row["response"] is not None] == []
