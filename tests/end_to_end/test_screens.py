"""Screens before a question, in a real browser with a real server."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.end_to_end.test_double_clicks import double_click
from tests.end_to_end.visitor import NOTHING_WAITS, PHONE, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import MASK, RED, TONE, choice, keypress, make_timed_study

WATCH = """
window.seen = [];
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const shown = document.querySelector("#fixation, #screen, #stimulus");
    const images = [...(shown?.querySelectorAll("img") ?? [])];
    const ready = shown && images.every((image) => image.complete && image.naturalWidth > 0);
    const name = !shown ? "nothing" : shown.id !== "screen" ? shown.id
      : shown.querySelector("img")?.alt ?? shown.querySelector(".server-html")?.innerText.trim() ?? "";
    window.seen.push([name, document.timeline.currentTime, ready]);
  };
  new MutationObserver(look).observe(document.querySelector("#jspsych"), { childList: true, subtree: true });
});
"""
"""JavaScript: notes what is on the screen at each change, with the time stamp of the frame."""

TIMED = [
    {"parts": [RED], "duration_ms": 50},
    {"parts": [MASK], "duration_ms": 100},
    {"duration_ms": 200},
    {"parts": [{"text": "Remember *this*."}, TONE], "duration_ms": 150},
]


def arrive(visitor: Visitor, url: str) -> None:
    """Watch the screen, open the study, and read its first pages."""
    visitor.page.add_init_script(WATCH)
    visitor.page.goto(url)
    visitor.page.click("#page-next")
    visitor.page.click("#page-next:text-is('Begin')")


def changes(visitor: Visitor) -> list[tuple[str, float]]:
    """Return what was on the screen, with the time stamp of the first frame, from the first fixation on."""
    seen = [(name, at_ms) for name, at_ms, ready in visitor.page.evaluate("window.seen") if ready or name == "nothing"]
    first = next(index for index, (name, _) in enumerate(seen) if name == "fixation")
    found: list[tuple[str, float]] = []
    for name, at_ms in seen[first:]:
        if not found or found[-1][0] != name:
            found.append((name, at_ms))
    return found


def presentation_of(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    (row,) = [row for row in rows if row["received_at"] is not None]
    return row, json.loads(row["presentation"])


@pytest.mark.parametrize("item", [choice("question", screens=TIMED), keypress("word", None, screens=TIMED)])
def test_each_screen_replaces_the_one_before_and_its_record_is_what_was_shown(
    visit: Any, tmp_path: Path, rows: Any, item: dict[str, Any]
) -> None:
    folder = make_timed_study(tmp_path / "study", [item])
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        arrive(visitor, url)
        visitor.page.wait_for_selector("#stimulus")
        visitor.page.wait_for_timeout(300)
        visitor.page.keyboard.press("2" if item["task"] == "multiple_choice" else "f")
        visitor.page.locator("#completion-code").wait_for()
        seen = changes(visitor)
        row, presentation = presentation_of(rows(folder))
    names = ["fixation", "A red square", "A grey square", "", "Remember this.", "stimulus"]
    assert [name for name, _ in seen[: len(names)]] == names
    times = [after - before for (_, before), (_, after) in pairwise(seen[1 : len(names)])]
    assert len(presentation["screens"]) == len(TIMED)
    for shown, screen, at_ms in zip(presentation["screens"], TIMED, times, strict=True):
        frame_ms = row["frame_ms"]
        assert shown["frames_intended"] == round(screen["duration_ms"] / frame_ms)
        assert shown["duration_ms"] == pytest.approx(at_ms, abs=1)
        assert shown["frames"] == round(shown["duration_ms"] / frame_ms) >= shown["frames_intended"]
    assert presentation.keys() == {"screens"}
    assert row["rt_ms"] < 2_000  # from the onset of the question, not of the screens
    assert row["signals"] is None


@pytest.mark.parametrize("hand", ["keyboard", "mouse", "touch"])
def test_the_participant_ends_a_screen_without_a_duration(visit: Any, tmp_path: Path, rows: Any, hand: str) -> None:
    screens = [{"parts": [{"text": f"Screen {number}"}]} for number in (1, 2, 3)]
    item = keypress("word", None, screens=screens, keys={"space": "go", "j": "stop"})
    folder = make_timed_study(tmp_path / "study", [item])
    options = {"viewport": PHONE, "has_touch": True} if hand == "touch" else {}
    with running_server(folder) as url:
        visitor: Visitor = visit(url, **options)
        page = visitor.page
        page.click("#page-next")
        page.click("#page-next:text-is('Begin')")
        for number in (1, 2, 3):
            expect(page.locator("#screen .stimulus-parts")).to_have_text(f"Screen {number}")
            expect(page.locator("#screen-continue")).to_be_focused()
            page.wait_for_timeout(600)
            visitor.shoot_everywhere(f"screen-{hand}")
            if hand == "keyboard":
                page.keyboard.down(" ")
                for _ in range(5):
                    page.keyboard.down(" ")  # A held key does not end the next screen.
                    page.wait_for_timeout(40)
                page.keyboard.up(" ")
            elif hand == "mouse":
                double_click(page, "#screen-continue", between_ms=150)
            else:
                page.locator("#screen-continue").tap()
        page.wait_for_selector("#stimulus")
        page.wait_for_timeout(600)
        assert [row for row in rows(folder) if row["received_at"] is not None] == []
        page.keyboard.press("j")
        page.locator("#completion-code").wait_for()
        row, presentation = presentation_of(rows(folder))
    assert json.loads(row["response"]) == "stop"
    assert len(presentation["screens"]) == 3
    assert not any("frames_intended" in shown for shown in presentation["screens"])
    assert all(shown["duration_ms"] > 500 for shown in presentation["screens"])
    assert row["signals"] is None  # The presses that ended the screens are not early responses.


def test_a_reload_during_a_screen_begins_the_trial_again(visit: Any, tmp_path: Path, rows: Any) -> None:
    screens = [{"parts": [RED], "duration_ms": 100}, {"parts": [{"text": "Wait"}]}]
    folder = make_timed_study(tmp_path / "study", [choice("question", screens=screens)])
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        arrive(visitor, url)
        visitor.page.locator("#screen-continue").wait_for()
        visitor.page.reload()
        visitor.page.click("#page-next")
        visitor.page.locator("#screen-continue").wait_for()
        assert [name for name, _ in changes(visitor)] == ["fixation", "A red square", "Wait"]
        visitor.page.keyboard.press(" ")
        visitor.page.wait_for_selector("#stimulus")
        visitor.page.wait_for_timeout(100)
        visitor.page.keyboard.press("1")
        visitor.page.locator("#completion-code").wait_for()
        row, _ = presentation_of(rows(folder))
    assert row["attempt"] == 2


HIDE = """
window.hide = (hidden) => {
  Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
};
"""


def test_a_screen_in_a_hidden_tab_has_fewer_frames_than_intended(visit: Any, tmp_path: Path, rows: Any) -> None:
    screens = [{"parts": [{"text": "Look here"}], "duration_ms": 1_500}]
    folder = make_timed_study(tmp_path / "study", [choice("question", screens=screens)])
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(HIDE)
        arrive(visitor, url)
        visitor.page.locator("#screen").wait_for()
        visitor.page.evaluate("hide(true)")
        visitor.page.wait_for_timeout(600)
        visitor.page.evaluate("hide(false)")
        visitor.page.wait_for_selector("#stimulus")
        visitor.page.wait_for_timeout(100)
        visitor.page.keyboard.press("1")
        visitor.page.locator("#completion-code").wait_for()
        row, presentation = presentation_of(rows(folder))
    (shown,) = presentation["screens"]
    assert shown["duration_ms"] >= 1_490
    assert shown["frames"] < shown["frames_intended"] - 25
    signals = json.loads(row["signals"])
    assert (signals["hidden"], row["focus_lost"]) == (1, 1)
    assert signals["away_ms"] >= 550


def test_screen_readers_hear_screens_that_are_long_enough(visit: Any, tmp_path: Path) -> None:
    screens = [
        {"parts": [{"text": "Short"}], "duration_ms": 900},
        {"parts": [{"text": "Long"}, RED], "duration_ms": 1_200},
        {"parts": [{"text": "Own pace"}]},
    ]
    folder = make_timed_study(tmp_path / "study", [choice("question", screens=screens)])
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.click("#page-next")
        page.click("#page-next:text-is('Begin')")
        announcer = page.locator("body > [role=status]").last
        expect(page.locator("#screen .stimulus-parts")).to_have_text("Short")
        page.wait_for_timeout(300)
        expect(announcer).to_be_empty()
        expect(announcer).to_have_text("Long A red square")
        expect(announcer).to_have_text("Own pace")


def test_a_sound_of_a_screen_starts_and_stops_with_it(visit: Any, tmp_path: Path) -> None:
    screens = [{"parts": [TONE], "duration_ms": 100}, {"parts": [{"text": "Wait"}]}]
    folder = make_timed_study(tmp_path / "study", [choice("question", screens=screens)])
    log = """
    window.played = [];
    for (const name of ["start", "stop"]) {
      const plain = AudioBufferSourceNode.prototype[name];
      AudioBufferSourceNode.prototype[name] = function (...given) {
        const screen = document.querySelector("#screen");
        window.played.push([name, screen?.querySelector(".sound") ? "screen" : screen ? "later screen" : "other"]);
        return plain.apply(this, given);
      };
    }
    """
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(log)
        arrive(visitor, url)
        visitor.page.locator("#screen-continue").wait_for()
        visitor.page.wait_for_timeout(50)
        # The sound is planned shortly before its screen appears, so that it begins with the screen.
        (start, _), (stop, stopped_on) = visitor.page.evaluate("played")
        assert (start, stop, stopped_on) == ("start", "stop", "screen")


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_take_trials_with_screens(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    screens = [*TIMED, {"parts": [{"text": "Own pace"}]}]
    folder = make_timed_study(tmp_path / "study", [choice("question", screens=screens), choice("other")])
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        visitor.wait_until(NOTHING_WAITS)
        stored = rows(folder)
    assert len([row for row in stored if row["response"] is not None]) == 2
