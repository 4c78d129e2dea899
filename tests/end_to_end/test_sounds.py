"""Sounds in a real browser: the check before the study, their onset, and its record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from experiment.texts import catalogue
from tests.end_to_end.test_accessibility import look_at
from tests.end_to_end.visitor import DESKTOP, PHONE, Visitor, pass_sound_check, press_focused
from tests.picture_study import make_picture_study
from tests.server_process import running_server

LISTEN = """(() => {
  // Everything that goes to the loudspeaker also goes to a meter, which counts the tones by their loudness.
  window.tonesHeard = 0;
  const connect = AudioNode.prototype.connect;
  let meter = null;
  AudioNode.prototype.connect = function (target, ...more) {
    if (target instanceof AudioDestinationNode) {
      if (meter === null) {
        meter = new AnalyserNode(this.context, {fftSize: 2048});
        const samples = new Float32Array(2048);
        let isLoud = false;
        setInterval(() => {
          meter.getFloatTimeDomainData(samples);
          const loudness = Math.max(...samples);
          if (!isLoud && loudness > 0.2) window.tonesHeard++;
          isLoud = loudness > 0.2 || (isLoud && loudness > 0.01);
        }, 15);
      }
      connect.call(this, meter);
    }
    return connect.call(this, target, ...more);
  };
})()"""
"""JavaScript: count the tones that reach the loudspeaker, in `tonesHeard`."""

SOUND_STARTS = """(() => {
  window.soundStarts = [];
  const start = AudioBufferSourceNode.prototype.start;
  AudioBufferSourceNode.prototype.start = function (when, ...more) {
    const question = document.querySelector("#stimulus #prompt");
    window.soundStarts.push({ahead_s: when - this.context.currentTime, isVisible: question !== null});
    return start.call(this, when, ...more);
  };
})()"""
"""JavaScript: note when each sound was given to the browser, in `soundStarts`."""

SILENT = """(() => {
  // A browser that plays sounds only after a click on the button with the sound.
  const Context = AudioContext;
  window.AudioContext = class extends Context {
    constructor(options) { super(options); super.suspend(); }
    resume() { return window.mayPlay ? super.resume() : Promise.reject(new DOMException("no", "NotAllowedError")); }
  };
})()"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_picture_study(tmp_path / "study")


def add(folder: Path, line: str) -> None:
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def recorded_sounds(rows: Any, folder: Path, item_id: str) -> list[dict[str, Any]]:
    (row,) = (row for row in rows(folder) if row["item_id"] == item_id)
    sounds: list[dict[str, Any]] = json.loads(row["presentation"])["sounds"]
    return sounds


def answer(visitor: Visitor, *keys: str) -> None:
    for key in keys:
        visitor.page.keyboard.press(key)
    if visitor.page.locator("#submit-response").count():
        visitor.page.click("#submit-response")


def to_sound(visitor: Visitor, check: Callable[[Any], None] = pass_sound_check) -> None:
    """Take the steps up to the question with the sound."""
    page = visitor.page
    check(page)
    page.click("#page-next")
    page.click("#page-next:text-is('Begin')")
    while True:
        visitor.wait_for_trial()
        prompt = page.locator("#prompt").inner_text()
        if prompt == "What did you notice?":
            return
        answer(visitor, "2")
        if prompt == "Which colour?":
            page.click("#feedback-continue")
        page.wait_for_selector(f"#stimulus:not(.closed) #prompt:not(:text-is({json.dumps(prompt)}))")


def to_the_end(visitor: Visitor) -> None:
    """Answer the question on the screen and all later questions."""
    while not visitor.page.locator("#completion-code").count():
        if visitor.page.locator("#stimulus:not(.closed)").count():
            answer(visitor, "2")
        visitor.page.wait_for_timeout(100)


def test_a_sound_is_given_to_the_browser_before_the_onset_and_recorded(visit: Any, folder: Path, rows: Any) -> None:
    battery = (folder / "battery.jsonl").read_text(encoding="utf-8")
    before = '"stimulus": [{"sound"'
    assert before in battery
    (folder / "battery.jsonl").write_text(
        battery.replace(before, '"stimulus": [{"text": "Listen."}, {"sound"'), encoding="utf-8"
    )
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.page.evaluate(SOUND_STARTS)
        to_sound(visitor)
        visitor.page.wait_for_timeout(300)
        to_the_end(visitor)
        starts = visitor.page.evaluate("window.soundStarts")
        (sound,) = recorded_sounds(rows, folder, "q2")
        others = [row["presentation"] for row in rows(folder) if row["item_id"] != "q2"]
    assert starts, "no sound was played"
    assert not starts[0]["isVisible"], "the sound was given to the browser only after the onset"
    assert starts[0]["ahead_s"] > 0
    assert sound["part"] == 1
    assert abs(sound["onset_ms"]) < 300  # far from "never" and from "as late as the response"
    assert sound.get("latency_ms", 1) > 0
    assert set(others) == {None}


def test_a_sound_that_the_browser_refuses_is_recorded_when_the_participant_starts_it(
    visit: Any, folder: Path, rows: Any
) -> None:
    add(folder, "device: {sound: false}")
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(SILENT)
        visitor.page.goto(url)
        to_sound(visitor, check=lambda _page: None)
        play = visitor.page.locator(".play-sound")
        expect(play).to_be_visible()
        visitor.page.wait_for_timeout(400)
        visitor.page.evaluate("window.mayPlay = true")
        play.click()
        expect(play).to_be_hidden()
        visitor.page.wait_for_timeout(400)
        to_the_end(visitor)
        (sound,) = recorded_sounds(rows, folder, "q2")
    assert sound["onset_ms"] > 400


def test_a_sound_that_never_played_has_no_onset(visit: Any, folder: Path, rows: Any) -> None:
    add(folder, "device: {sound: false}")
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(SILENT)
        visitor.page.goto(url)
        to_sound(visitor, check=lambda _page: None)
        to_the_end(visitor)
        (sound,) = recorded_sounds(rows, folder, "q2")
    assert (sound["part"], sound["onset_ms"], sound.get("latency_ms")) == (0, None, None)


# The sound check


def heard(visitor: Visitor, play: Callable[[Page, str], None] = Page.click) -> int:
    """Play the tones, and return how many tones reached the loudspeaker."""
    visitor.page.evaluate("window.tonesHeard = 0")
    play(visitor.page, "#sound-play")
    n, quiet = 0, 0
    while n == 0 or quiet < 8:
        visitor.page.wait_for_timeout(100)
        now = visitor.page.evaluate("window.tonesHeard")
        n, quiet = now, 0 if now > n else quiet + 1
    return n


def test_a_participant_who_counts_the_tones_twice_begins(visit: Any, folder: Path, query: Any) -> None:
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(LISTEN)
        visitor.page.goto(url)
        page = visitor.page
        expect(page.locator("[data-tones='3']")).to_be_disabled()
        first = heard(visitor)
        page.click(f"[data-tones='{first}']")
        expect(page.locator("#sound-check [role=status]")).to_contain_text("once more")
        second = heard(visitor)
        assert second != first
        page.keyboard.press(str(second))
        expect(page.locator("#page-next")).to_be_visible()
        assert query(folder, "SELECT * FROM sessions") == []
        page.click("#page-next")
        page.click("#page-next:text-is('Begin')")
        visitor.wait_for_trial()
        (opened,) = query(folder, "SELECT device FROM visits")
        assert json.loads(opened["device"])["sound"] is True
        page.reload()
        expect(page.locator("#page-next")).to_be_visible()  # after a reload, the sound is not checked again


def test_a_participant_who_hears_nothing_is_refused_before_anything_is_stored(
    visit: Any, folder: Path, query: Any
) -> None:
    add(folder, "device: {phones: true}")
    definition = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(
        definition.replace("{entry: open}", "{entry: open, exits: {incompatible_device: {code: DEVICE26}}}"),
        encoding="utf-8",
    )
    with running_server(folder) as url:
        visitor: Visitor = visit(url, viewport=PHONE, has_touch=True, is_mobile=True)
        page = visitor.page
        page.tap("#sound-none")
        expect(page.locator("#incompatible")).to_contain_text("It needs sound that you can hear")
        expect(page.locator("#exit-code")).to_have_text("DEVICE26")
        page.tap("#device-try-again")
        for n_wrong in range(3):
            page.tap("#sound-play")
            page.tap("[data-tones='1']")  # never right
            if n_wrong < 2:
                expect(page.locator("#sound-check [role=status]")).to_contain_text("That is not right")
        expect(page.locator("#incompatible")).to_contain_text("It needs sound that you can hear")
        assert query(folder, "SELECT * FROM sessions") == []
        page.tap("#device-try-again")
        pass_sound_check(page)
        expect(page.locator("#page-next")).to_be_visible()


def test_the_sound_check_can_be_done_with_the_keyboard(visit: Any, folder: Path) -> None:
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(LISTEN)
        visitor.page.goto(url)
        for _ in range(2):
            number = heard(visitor, press_focused)
            for key in ("0", "7", "0", str(number)):  # 0 and 7 are ignored
                visitor.page.keyboard.press(key)
        expect(visitor.page.locator("#page-next")).to_be_visible()


@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_the_sound_check_is_accessible_in_every_language(visit: Any, folder: Path, language: str) -> None:
    add(folder, f"language: {language}")
    words = catalogue(language)
    with running_server(folder) as url:
        visitor: Visitor = visit(url, viewport=DESKTOP)
        page = visitor.page
        expect(page.locator("#sound-check h1")).to_have_text(words["sound_check_title"])
        page.click("#sound-play")
        page.click("[data-tones='1']")
        expect(page.locator("#sound-check [role=status]")).to_have_text(words["sound_check_wrong"])
        look_at(visitor, f"sound-check-{language}")
        page.click("#sound-none")
        look_at(visitor, f"sound-none-{language}")
