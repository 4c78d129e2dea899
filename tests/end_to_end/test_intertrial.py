"""The interval between two trials, in a real browser with a real server."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from experiment.load_study import load_study
from experiment.plan import intertrial_ms
from tests.end_to_end.visitor import NOTHING_WAITS, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import choice, keypress, make_timed_study

WATCH = """
window.seen = [];
window.onsets = 0;
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const shown = document.querySelector("#intertrial, #fixation, #stimulus");
    if (shown?.id === "stimulus" && window.seen.at(-1)?.[0] !== "stimulus") window.onsets++;
    window.seen.push([shown?.id ?? "page", document.timeline.currentTime, shown?.innerText.trim() ?? ""]);
  };
  new MutationObserver(look).observe(document.querySelector("#jspsych"), { childList: true, subtree: true });
});
"""
"""JavaScript: notes what is on the screen at each change, with the time stamp of the frame."""
JITTER = "timing: {fixation_ms: 100, intertrial_ms: {min: 200, max: 600}}\n"


def run_session(visitor: Visitor, url: str, keys: str, n_practice: int = 0) -> list[tuple[str, float, str]]:
    """Complete the study. Return what was on the screen, with the time stamp of its first frame."""
    page = visitor.page
    page.add_init_script(WATCH)
    page.goto(url)
    page.click("#page-next")
    page.click("#page-next:text-is('Begin')")
    for number, key in enumerate(keys):
        visitor.wait_until(f"onsets > {number} || document.querySelector('#page-next') !== null")
        if page.locator("#page-next").count():
            page.click("#page-next")
            visitor.wait_until(f"onsets > {number}")
        page.wait_for_timeout(150)
        page.keyboard.press(key)
        if number < n_practice:
            page.click("#feedback-continue")
    page.locator("#completion-code").wait_for()
    found: list[tuple[str, float, str]] = []
    # Of several changes in one frame, only the last one is painted.
    painted = {at_ms: (name, words) for name, at_ms, words in page.evaluate("window.seen")}
    for at_ms, (name, words) in painted.items():
        if not found or found[-1][0] != name:
            found.append((name, at_ms, words))
    return found


def answered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((row for row in rows if row["received_at"] is not None), key=lambda row: row["trial_index"])


@pytest.mark.parametrize("fixation_ms", [100, 0])
def test_the_screen_is_blank_for_the_interval_of_each_trial(
    visit: Any, tmp_path: Path, rows: Any, fixation_ms: int
) -> None:
    more = JITTER.replace("100", str(fixation_ms))
    folder = make_timed_study(tmp_path / "study", [keypress(f"word{number}", None) for number in range(4)], more)
    with running_server(folder) as url:
        seen = run_session(visit("about:blank"), url, "ffff")
        stored = answered(rows(folder))
    trial = ["fixation", "stimulus"] if fixation_ms else ["stimulus"]
    names = [*trial, *(["intertrial", *trial] * 3)]
    start = next(index for index, (name, *_) in enumerate(seen) if name in {"fixation", "stimulus"})
    shown = seen[start : start + len(names)]
    assert [name for name, *_ in shown] == names
    assert not any(words for name, _, words in shown if name == "intertrial")
    on_screen_ms = [after[1] - before[1] for before, after in pairwise(shown) if before[0] == "intertrial"]
    assert stored[0]["presentation"] is None
    timing = load_study(folder).definition.timing
    for row, at_ms in zip(stored[1:], on_screen_ms, strict=True):
        interval = json.loads(row["presentation"])["intertrial"]
        planned_ms = intertrial_ms(timing, row["seed"], row["trial_index"])
        assert interval["frames_intended"] == round(planned_ms / row["frame_ms"])
        # Without a fixation, the screen stays blank until the stimulus is built; `fixation_ms` has this time.
        until_built_ms = 0 if fixation_ms else row["fixation_ms"]
        assert interval["duration_ms"] + until_built_ms == pytest.approx(at_ms, abs=1)
        assert interval["frames"] == round(interval["duration_ms"] / row["frame_ms"]) >= interval["frames_intended"]
        assert row["fixation_frames_intended"] == round(fixation_ms / row["frame_ms"])
        assert row["rt_ms"] < 2_000
        assert row["signals"] is None


def test_after_a_page_there_is_no_interval_and_after_feedback_there_is(visit: Any, tmp_path: Path, rows: Any) -> None:
    items = [choice(f"q{number}") for number in range(4)]
    folder = make_timed_study(tmp_path / "study", items, JITTER, practice=1)
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    text = text.replace("[instructions.md]}", "[instructions.md], breaks: {every: 2}}")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    with running_server(folder) as url:
        run_session(visit("about:blank"), url, "2222", n_practice=1)
        stored = answered(rows(folder))
    has_interval = ["intertrial" in json.loads(row["presentation"] or "{}") for row in stored]
    assert has_interval == [False, True, True, False]  # The last question comes after the break.


def answer_to_the_first_interval(page: Page, url: str) -> None:
    """Answer the first question of a `keypress` study, and wait for the interval after it."""
    page.goto(url)
    page.click("#page-next")
    page.click("#page-next:text-is('Begin')")
    page.wait_for_selector("#stimulus")
    page.wait_for_timeout(150)
    page.keyboard.press("f")
    page.wait_for_selector("#intertrial", state="attached")


def test_presses_in_the_interval_are_not_counted_in_the_trial(visit: Any, tmp_path: Path, rows: Any) -> None:
    more = "timing: {intertrial_ms: 1000}\n"
    folder = make_timed_study(tmp_path / "study", [keypress(f"word{number}", None) for number in range(2)], more)
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        page = visitor.page
        answer_to_the_first_interval(page, url)
        visitor.shoot_everywhere("intertrial")
        page.keyboard.press("j")
        page.wait_for_selector("#stimulus")
        page.wait_for_timeout(150)
        page.keyboard.press("f")
        page.locator("#completion-code").wait_for()
        stored = answered(rows(folder))
    assert [json.loads(row["response"]) for row in stored] == ["word", "word"]
    assert stored[1]["signals"] is None


def test_a_participant_can_leave_during_the_interval(visit: Any, tmp_path: Path) -> None:
    more = "timing: {intertrial_ms: 3000}\n"
    folder = make_timed_study(tmp_path / "study", [keypress(f"word{number}", None) for number in range(2)], more)
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        page = visitor.page
        answer_to_the_first_interval(page, url)
        page.click("#leave-study")
        page.click("#leave-confirm")
        page.locator("#withdrawn").wait_for()
        page.wait_for_timeout(3_500)
        assert page.locator("#withdrawn").is_visible()
        assert page.locator("#stimulus, #fixation").count() == 0


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_have_intervals(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    folder = make_timed_study(tmp_path / "study", [choice(f"q{number}") for number in range(3)], JITTER)
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        visitor.wait_until(NOTHING_WAITS)
        stored = answered(rows(folder))
    assert ["intertrial" in json.loads(row["presentation"] or "{}") for row in stored] == [False, True, True]
