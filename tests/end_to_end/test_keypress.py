"""Fast responses with keys and buttons, in a real browser with a real server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.end_to_end.test_keys_and_hints import press
from tests.end_to_end.test_screens import WATCH
from tests.end_to_end.visitor import NOTHING_WAITS, PHONE, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import CONFIDENCE, KEYS, MASK, RED, TONE, choice, keypress, make_timed_study

TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
LONG_FIXATION = "timing: {fixation_ms: 1000}\n"


@contextmanager
def taking(visit: Any, folder: Path, script: str = "", **options: Any) -> Iterator[Visitor]:
    """Serve a study, and go to its first trial."""
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank", **options)
        if script:
            visitor.page.add_init_script(script)
        visitor.page.goto(url)
        tap = visitor.page.tap if options.get("has_touch") else visitor.page.click
        tap("#page-next")
        visitor.page.wait_for_timeout(600)
        tap("#page-next:text-is('Begin')")
        visitor.page.wait_for_selector("#fixation, #stimulus")
        yield visitor


def wait_for_stimulus(visitor: Visitor, ms: int = 200) -> None:
    visitor.page.wait_for_selector("#stimulus:not(.closed)")
    visitor.page.wait_for_timeout(ms)


def answered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["received_at"] is not None]


def finished(visitor: Visitor, rows: Any, folder: Path) -> dict[str, Any]:
    """Wait for the end of a study with one trial, and return the row of the trial."""
    visitor.page.locator("#completion-code").wait_for()
    (row,) = answered(rows(folder))
    return row


@pytest.mark.parametrize(
    ("keys", "key", "code"),
    [
        (KEYS, "j", "KeyJ"),
        (KEYS, "J", "KeyJ"),  # with the Caps Lock key
        (KEYS, "о", "KeyJ"),  # Cyrillic: the position decides
        ({"q": "word", "a": "nonword"}, "a", "KeyQ"),  # AZERTY: the letter decides
        ({"1": "word", "0": "nonword"}, "à", "Digit0"),  # AZERTY: digits need the shift key, so the position decides
        ({"space": "nonword"}, " ", "Space"),
        ({"left": "word", "right": "nonword"}, "ArrowRight", "ArrowRight"),
    ],
)
def test_a_key_gives_the_response_on_any_layout(
    visit: Any, tmp_path: Path, rows: Any, keys: dict[str, str], key: str, code: str
) -> None:
    folder = make_timed_study(tmp_path / "study", [keypress("word", None, keys=keys)])
    with taking(visit, folder) as visitor:
        wait_for_stimulus(visitor)
        press(visitor, "x", "KeyX")  # no response key
        press(visitor, key, code, modifiers=2)  # with Ctrl
        visitor.page.wait_for_timeout(100)
        assert visitor.page.locator("#stimulus").count() == 1
        press(visitor, key, code)
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == "nonword"
    assert (row["input"], row["missing"], row["signals"]) == ("key", None, None)
    assert 200 < row["rt_ms"] < 5_000


def test_stimulus_and_mask_disappear_in_frames_and_the_response_can_come_later(
    visit: Any, tmp_path: Path, rows: Any
) -> None:
    item = keypress("word", None, stimulus=[RED, TONE], stimulus_ms=50, mask=[MASK], mask_ms=100, prompt="Red?")
    folder = make_timed_study(tmp_path / "study", [item])
    watch = """
    window.steps = [];
    addEventListener("DOMContentLoaded", () => {
      const look = () => {
        const [shown, mask] = document.querySelectorAll("#stimulus .keypress-stage > *");
        if (!shown) return;
        const seen = [shown, mask].map((part) => getComputedStyle(part).visibility === "visible");
        const boxes = [...document.querySelectorAll("#stimulus *")].map((one) => one.getBoundingClientRect());
        const moved = JSON.stringify(boxes.map(({ x, y }) => [x, y]));
        window.steps.push([seen, document.timeline.currentTime, moved]);
      };
      new MutationObserver(look).observe(document.querySelector("#jspsych"),
        { childList: true, subtree: true, attributeFilter: ["class"] });
    });
    """
    with taking(visit, folder, watch) as visitor:
        wait_for_stimulus(visitor, 600)
        visitor.shoot_everywhere("keypress-after-mask")
        visitor.page.keyboard.press("f")
        row = finished(visitor, rows, folder)
        steps = visitor.page.evaluate("steps")
    presentation = json.loads(row["presentation"])
    assert presentation.get("screens", []) == []
    states: dict[tuple[bool, bool], float] = {}
    for seen, at_ms, _ in steps:
        states.setdefault(tuple(seen), at_ms)
    assert list(states) == [(True, False), (False, True), (False, False)]  # never both, and no gap
    onset_ms, mask_ms, end_ms = states.values()
    for shown, intended_ms, actual_ms in (
        (presentation["stimulus"], 50, mask_ms - onset_ms),
        (presentation["mask"], 100, end_ms - mask_ms),
    ):
        assert shown["frames_intended"] == round(intended_ms / row["frame_ms"])
        assert shown["duration_ms"] == pytest.approx(actual_ms, abs=1)
        assert shown["frames"] == round(actual_ms / row["frame_ms"]) >= shown["frames_intended"]
    assert len({boxes for _, _, boxes in steps}) == 1, "a part moved"
    assert row["rt_ms"] > 400


MIDDLES = """
window.middles = {};
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    for (const selector of ["#fixation", "#screen img", "#stimulus img"]) {
      const found = document.querySelector(selector)?.getBoundingClientRect();
      if (found) window.middles[selector] ??= [(found.left + found.right) / 2, (found.top + found.bottom) / 2];
    }
  };
  new MutationObserver(look).observe(document.querySelector("#jspsych"), { childList: true, subtree: true });
});
"""


@pytest.mark.parametrize("size", [{"width": 390, "height": 664}, {"width": 1280, "height": 800}])
def test_the_stimulus_is_where_the_fixation_cross_was(visit: Any, tmp_path: Path, size: dict[str, int]) -> None:
    screens = [{"parts": [MASK], "duration_ms": 100}]
    item = keypress("word", None, stimulus=[RED], screens=screens, text="Short text.", prompt="Which colour?")
    folder = make_timed_study(tmp_path / "study", [item])
    with taking(visit, folder, MIDDLES, viewport=size) as visitor:
        wait_for_stimulus(visitor)
        visitor.shoot_everywhere("keypress")
        middles = visitor.page.evaluate("middles")
    assert middles.keys() == {"#fixation", "#screen img", "#stimulus img"}
    for axis in (0, 1):
        positions = [middle[axis] for middle in middles.values()]
        assert max(positions) - min(positions) <= 1, middles


@pytest.mark.parametrize(("withhold", "response", "missing"), [(True, "none", None), (False, None, "deadline")])
def test_no_key_is_a_response_or_a_missing_response(
    visit: Any, tmp_path: Path, rows: Any, withhold: bool, response: str | None, missing: str | None
) -> None:
    item = keypress("word", "none" if withhold else "word", window_ms=400, withhold=withhold, stimulus_ms=100)
    folder = make_timed_study(tmp_path / "study", [item], "timing: {deadline_ms: 60000, reading_ms: 5000}\n")
    with taking(visit, folder) as visitor:
        visitor.page.wait_for_selector("#stimulus")
        assert visitor.page.locator(".time-left, #time-hints").count() == 0
        row = finished(visitor, rows, folder)
    assert (json.loads(row["response"] or "null"), row["missing"], row["rt_ms"], row["input"]) == (
        response,
        missing,
        None,
        None,
    )
    assert json.loads(row["presentation"])["stimulus"]["frames_intended"] == round(100 / row["frame_ms"])


def test_a_key_in_the_window_is_a_response_although_the_study_has_a_reading_time(
    visit: Any, tmp_path: Path, rows: Any
) -> None:
    item = keypress("word", "word", window_ms=3_000, withhold=True)
    folder = make_timed_study(tmp_path / "study", [item], "timing: {deadline_ms: 60000, reading_ms: 5000}\n")
    with taking(visit, folder) as visitor:
        wait_for_stimulus(visitor)
        visitor.page.keyboard.press("f")
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == "word"
    assert row["rt_ms"] < 3_000


def test_early_presses_and_held_keys_are_not_responses(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [keypress("one", None), keypress("two", None)], LONG_FIXATION)
    with taking(visit, folder) as visitor:
        page = visitor.page
        page.keyboard.press("f")  # during the fixation
        wait_for_stimulus(visitor, 300)
        assert answered(rows(folder)) == []
        page.keyboard.down("j")
        for _ in range(60):  # until the next stimulus has been on the screen for a second
            page.keyboard.down("j")
            page.wait_for_timeout(40)
        visitor.wait_until(NOTHING_WAITS)
        (first,) = answered(rows(folder))
        page.keyboard.up("j")
        page.keyboard.press("f")
        page.locator("#completion-code").wait_for()
        second = answered(rows(folder))[1]
    assert json.loads(first["signals"]) == {"too_early": 1}
    assert [json.loads(row["response"]) for row in (first, second)] == ["nonword", "word"]
    assert second["signals"] is None


def test_buttons_on_a_touch_screen_respond_when_they_are_pressed(visit: Any, tmp_path: Path, rows: Any) -> None:
    items = [keypress(name, None, keys={"z": "left one", "m": "right one"}) for name in ("one", "two")]
    folder = make_timed_study(tmp_path / "study", items, "timing: {fixation_ms: 100}\n")
    with taking(visit, folder, **TOUCH) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor, 400)
        visitor.shoot("keypress-touch")
        assert page.locator("kbd:visible").count() == 0
        assert page.locator(".key-name").all_inner_texts() == ["left one", "right one"]  # as on the keyboard
        for box in [button.bounding_box() for button in page.locator("[data-key]").all()]:
            assert box["height"] >= 80
            assert box["width"] >= 120
        target = page.locator("[data-key=m]").bounding_box()
        x, y = target["x"] + 40, target["y"] + 40
        session = visitor.context.new_cdp_session(page)
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        visitor.wait_until(NOTHING_WAITS)
        page.wait_for_timeout(50)
        assert len(answered(rows(folder))) == 1, "the response comes before the finger leaves the screen"
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        wait_for_stimulus(visitor, 500)
        visitor.wait_until(NOTHING_WAITS)
        assert len(answered(rows(folder))) == 1, "the end of the touch is not a response to the next trial"
        page.locator("[data-key=z]").tap()
        page.locator("#completion-code").wait_for()
        first, second = answered(rows(folder))
    assert [json.loads(row["response"]) for row in (first, second)] == ["right one", "left one"]
    assert {row["input"] for row in (first, second)} == {"touch"}


DOUBLE_TAP = """
addEventListener("DOMContentLoaded", () => {
  window.onsets = 0;
  window.taps_ms = [];
  document.addEventListener("pointerdown", (event) => window.taps_ms.push(event.timeStamp), true);
  new MutationObserver(() => {
    const button = document.querySelector("#stimulus [data-key=f]");
    if (button && button !== window.last) { window.last = button; window.onsets++; }
  }).observe(document.querySelector("#jspsych"), { childList: true, subtree: true });
});
"""


LONGEST_DOUBLE_TAP_MS = 300
N_ATTEMPTS = 5


def test_a_double_tap_answers_one_question(visit: Any, tmp_path: Path, rows: Any) -> None:
    """With a fixation of 0 ms, the next stimulus appears before the second tap."""
    for attempt in range(N_ATTEMPTS):  # On a busy machine, the second tap can come too late for a double tap.
        if double_taps(visit, tmp_path / str(attempt), rows):
            return
    raise AssertionError("this machine is too busy for a double tap")


def double_taps(visit: Any, folder: Path, rows: Any) -> bool:
    """Take a session with a double tap on the first question; return False if the second tap came too late."""
    items = [keypress(name, None) for name in ("one", "two", "three")]
    folder = make_timed_study(folder, items, "timing: {fixation_ms: 0}\n")
    with taking(visit, folder, DOUBLE_TAP, **TOUCH) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor, 600)
        box = page.locator("[data-key=f]").bounding_box()
        points = [{"x": box["x"] + 40, "y": box["y"] + 40}]
        session = visitor.context.new_cdp_session(page)
        for _ in range(2):
            session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points})
            session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            page.wait_for_timeout(120)
        page.wait_for_timeout(400)
        visitor.wait_until(NOTHING_WAITS)
        first_ms, second_ms = page.evaluate("taps_ms")[-2:]
        if second_ms - first_ms >= LONGEST_DOUBLE_TAP_MS:
            return False
        assert page.evaluate("onsets") == 2
        assert len(answered(rows(folder))) == 1
        page.locator("[data-key=j]").tap()
        page.wait_for_timeout(600)
        page.locator("[data-key=j]").tap()
        page.locator("#completion-code").wait_for()
        assert [json.loads(row["response"]) for row in answered(rows(folder))] == ["word", "nonword", "nonword"]
        return True


@pytest.mark.parametrize("way", ["mouse", "tab and enter", "assistive technology"])
def test_people_without_response_keys_can_use_the_buttons(visit: Any, tmp_path: Path, rows: Any, way: str) -> None:
    folder = make_timed_study(tmp_path / "study", [keypress("word", None)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        expect(page.locator(".keypress-buttons")).to_have_text("FwordJnonword")
        if way == "mouse":
            box = page.locator("[data-key=j]").bounding_box()
            page.mouse.move(box["x"] + 5, box["y"] + 5)
            page.mouse.down()
        elif way == "tab and enter":
            for _ in range(20):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.dataset.key === 'j'"):
                    break
            page.keyboard.press("Enter")
        else:
            page.evaluate("document.querySelector('[data-key=j]').click()")
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == "nonword"
    assert row["input"] == ("mouse" if way == "mouse" else "key")


def test_practice_that_is_too_slow_is_wrong_and_says_so(visit: Any, tmp_path: Path, rows: Any) -> None:
    items = [keypress("try", "word", window_ms=400), keypress("test", "word")]
    more = "practice_criterion: {correct: 1, rounds: 2, otherwise: continue}\n"
    folder = make_timed_study(tmp_path / "study", items, more, practice=1)
    with taking(visit, folder) as visitor:
        page = visitor.page
        expect(page.locator(".verdict.wrong")).to_have_text("Too slow. Please answer faster.")
        expect(page.locator("[data-key=f]")).to_have_class("right")
        visitor.shoot_everywhere("keypress-too-slow")
        page.reload()
        page.click("#page-next")
        expect(page.locator(".verdict.wrong")).to_have_text("Too slow. Please answer faster.")
        page.click("#feedback-continue")
        expect(page.locator("h1")).to_have_text("Practise again")
        page.click("#page-next")
        page.wait_for_selector("#stimulus")
        page.wait_for_timeout(100)
        page.keyboard.press("f")
        expect(page.locator(".verdict.right")).to_have_text("That is right: “word”.")
        page.click("#feedback-continue")
        wait_for_stimulus(visitor)
        page.keyboard.press("f")
        page.locator("#completion-code").wait_for()
        stored = answered(rows(folder))
    assert [row["missing"] for row in stored] == ["deadline", None, None]


def test_practice_of_no_go_trials_has_its_own_feedback(visit: Any, tmp_path: Path) -> None:
    no_go = [keypress(name, "none", window_ms=800, withhold=True) for name in ("first", "second")]
    items = [*no_go, choice("test")]
    folder = make_timed_study(tmp_path / "study", items, practice=2)
    with taking(visit, folder) as visitor:
        page = visitor.page
        expect(page.locator(".verdict.right")).to_have_text("That is right: no key was needed.")
        page.click("#feedback-continue")
        page.wait_for_selector("#stimulus:not(.closed)")
        page.wait_for_timeout(100)
        page.keyboard.press("f")
        expect(page.locator(".verdict.wrong")).to_have_text("Press no key here.")


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_take_keypress_trials(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    items = [
        keypress(f"item-{number}", "none" if number % 2 else "word", window_ms=900, withhold=True, stimulus_ms=50)
        for number in range(6)
    ]
    folder = make_timed_study(tmp_path / "study", items, CONFIDENCE)
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        stored = rows(folder)
    assert {json.loads(row["response"]) for row in stored} <= {"word", "nonword", "none"}
    assert all((row["rt_ms"] is None) == (json.loads(row["response"]) == "none") for row in stored)
    assert {row["confidence"] for row in stored} <= {1, 2, 3, 4, 5}


def test_the_first_frame_of_a_picture_has_the_picture(visit: Any, tmp_path: Path) -> None:
    folder = make_timed_study(tmp_path / "study", [keypress("word", None, stimulus=[RED])])
    with taking(visit, folder, WATCH) as visitor:
        wait_for_stimulus(visitor)
        seen = visitor.page.evaluate("window.seen")
    assert next(ready for name, _, ready in seen if name == "stimulus") is True
