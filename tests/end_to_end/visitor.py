"""A participant's browser, and a walker that takes a participant's steps from the first page to the end."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, Page

from tests.browser import resize
from tests.end_to_end.whole_study import PRACTICE

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

# The browser itself reports the status 401, which means that there is no session yet, and requests that fail offline.
EXPECTED_COMPLAINTS = ("status of 401", "status of 409", "ERR_INTERNET_DISCONNECTED")


NOTHING_WAITS = "!Object.keys(localStorage).some((key) => key.startsWith('equipoise-response-'))"
"""JavaScript condition: the server has acknowledged all responses of this browser."""

Hand = Literal["keyboard", "mouse", "touch"]

DOUBLE_TAP_S = 0.6

STAGES = {
    "feedback": "#feedback-continue",
    "keyboard check": "#keyboard-check",
    "sound check": "#sound-check",
    "continue here": "#continue-here",
    "consent": "#consent-agree",
    "calibration": "#calibration",
    "viewing distance": "#distance-done",
    "demographics": "#demographics-done",
    "full screen": "#fullscreen-go",
    "page": "#page-next",
    "trial": "#stimulus:not(.closed)",
    "end": "#completed, #declined, #incompatible, #withdrawn, #ended, #notice",
}
"""Selectors of the pages that can be on the screen, by the name of the stage."""
NEW = ":not([data-walked])"


def simulated(url: str, folder: Path, mode: str = "data-only") -> str:
    """Return the address of a simulated session of the study that is served from a folder."""
    token = (folder / "data" / "researcher-token").read_text(encoding="ascii").strip()
    return f"{url}/#simulate={mode}&token={token}"


class Visitor:
    """A page in a browser. The test fails if the page reports an error."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.expected = list(EXPECTED_COMPLAINTS)
        self.sent: list[dict[str, Any]] = []
        """The bodies of the requests with responses that the server has accepted."""
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", self._note_sent)
        self.page.goto(url)

    def _note(self, message: Any) -> None:
        expected = any(text in message.text for text in self.expected)
        if message.type in {"error", "warning"} and not expected:
            self.complaints.append(message.text)

    def _note_sent(self, response: Any) -> None:
        if response.url.endswith("/api/responses") and response.ok:
            self.sent.append(json.loads(response.request.post_data))

    @property
    def sent_responses(self) -> list[dict[str, Any]]:
        """The responses that the server has accepted."""
        return [response for body in self.sent for response in body["responses"]]

    @property
    def sent_trials(self) -> list[list[int]]:
        """The trials whose responses the server has accepted, by request."""
        return [[response["trial_index"] for response in body["responses"]] for body in self.sent]

    def wait_until(self, condition: str, timeout_s: float = 20) -> None:
        """Wait until a JavaScript expression is true. Playwright's own wait needs `eval`, which the page forbids."""
        deadline = time.monotonic() + timeout_s
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            self.page.wait_for_timeout(50)

    def shoot(self, name: str) -> None:
        if folder := os.environ.get("EQUIPOISE_SCREENSHOTS"):
            width = self.page.viewport_size["width"]  # type: ignore[index]
            self.page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)

    def shoot_everywhere(self, name: str) -> None:
        """Take screenshots of the page on a desktop and on a phone, in light and in dark colours."""
        if "EQUIPOISE_SCREENSHOTS" not in os.environ:
            return
        before = self.page.viewport_size
        for size in (DESKTOP, PHONE):
            resize(self.page, size)
            for scheme in ("light", "dark"):
                self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                self.shoot(f"{name}-{scheme}")
        self.page.emulate_media(color_scheme="null")
        resize(self.page, before)

    def begin(self) -> None:
        """Agree and read the instructions."""
        self.page.locator("#consent-agree").click()
        for _ in range(2):
            self.page.locator("#page-next").click()

    def wait_for_trial(self) -> str:
        """Wait for the next stimulus and return its task."""
        stimulus = self.page.locator("#stimulus:not(.closed)")
        stimulus.wait_for()
        self.page.wait_for_timeout(50)  # a response in the frame of the onset is not accepted
        return "multiple_choice" if "multiple-choice" in (stimulus.get_attribute("class") or "") else "blackbox_predict"

    def next_question(self, before: str) -> None:
        """Wait for the next question, or for the end page."""
        self.page.wait_for_selector(f"#completion-code, label[for=progress]:not(:text-is({json.dumps(before)}))")

    @property
    def question(self) -> str:
        return self.page.locator("label[for=progress]").inner_text()

    def answer_practice(self) -> None:
        self.wait_for_trial()
        self.page.keyboard.press("a")
        self.page.keyboard.press("Enter")
        self.page.locator("#feedback-continue").click()

    def answer(self) -> None:
        """Give a response to the question on the screen."""
        for key in {"multiple_choice": ["2"], "blackbox_predict": ["r", "Enter"]}[self.wait_for_trial()]:
            self.page.keyboard.press(key)

    def answer_questions(self, n: int) -> None:
        """Give a response to each of the next questions, and wait for the question after it."""
        for _ in range(n):
            question = self.question
            self.answer()
            self.next_question(question)


COUNT_TONES = """(() => {
  window.tonesPlayed = 0;
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (...when) {
    window.tonesPlayed++;
    start.apply(this, when);
  };
})()"""
"""JavaScript: count the tones that a page plays from now on, in `tonesPlayed`."""


def pass_sound_check(page: Page) -> None:
    """Play the tones of the sound check, and choose their number, until the check is over."""
    page.evaluate(COUNT_TONES)
    for _ in range(2):
        page.evaluate("window.tonesPlayed = 0")
        page.locator("#sound-play").click()
        while not (number := page.evaluate("window.tonesPlayed")):
            page.wait_for_timeout(20)
        page.locator(f"[data-tones='{number}']").click()
    page.locator("#sound-check").wait_for(state="detached")


def measure_screen(page: Page, hand: Hand = "mouse", width_px: int = 400) -> None:
    """Make the rectangle on the calibration page as wide as a card."""
    slider = page.locator("#card-size")
    press = page.tap if hand == "touch" else page.click
    while (now_px := float(slider.input_value())) != width_px:
        if hand == "keyboard":
            page.keyboard.press("Tab") if not slider.evaluate("one => one === document.activeElement") else None
            page.keyboard.press("ArrowUp" if now_px < width_px else "ArrowDown")
        elif abs(now_px - width_px) > 10:
            box, low, high = slider.bounding_box(), *(float(slider.get_attribute(end) or 0) for end in ("min", "max"))
            assert box is not None
            thumb_px = 16  # the middle of the thumb moves over the width without the thumb
            x = thumb_px / 2 + (box["width"] - thumb_px) * (width_px - low) / (high - low)
            if slider.evaluate("one => getComputedStyle(one).direction") == "rtl":
                x = box["width"] - x
            slider.tap(position={"x": x, "y": 20}) if hand == "touch" else slider.click(position={"x": x, "y": 20})
        else:
            press("#card-larger" if now_px < width_px else "#card-smaller")
    page.locator("#calibration-done").click()


class Walker:
    """Takes a participant's steps through a study, one after another.

    Parameters
    ----------
    visitor
        The participant's browser.
    hand
        The input device.
    on_stage
        Called with the name of each stage, before the step that ends the stage.
    answer
        Returns the number of the option to choose for the question on the screen. By default this is the right option
        in practice, and otherwise the second option.
    """

    def __init__(
        self,
        visitor: Visitor,
        hand: Hand = "mouse",
        on_stage: Callable[[str], None] = lambda _stage: None,
        answer: Callable[[str], int] = lambda prompt: PRACTICE.get(prompt, 2),
    ) -> None:
        self.visitor, self.page, self.hand, self.on_stage, self.answer = visitor, visitor.page, hand, on_stage, answer
        self._last_tap_s = 0.0
        self.stages: list[str] = []
        self.prompts: list[str] = []
        """The questions with a response, in order."""

    def look(self) -> str:
        """Wait for the next stage and return its name."""
        anything = ", ".join(f"{part}{NEW}" for selector in STAGES.values() for part in selector.split(", "))
        self.page.wait_for_selector(anything)
        return next(name for name, selector in STAGES.items() if self._find(selector).count())

    def step(self) -> str:
        """Do what ends the stage on the screen, and return the name of the stage."""
        stage = self.look()
        self.stages.append(stage)
        if stage == "trial":
            self.visitor.wait_for_trial()
        self.on_stage(stage)
        if stage == "end":
            return stage
        found = self._find(STAGES[stage])
        found.evaluate("element => element.dataset.walked = 1")
        if stage == "keyboard check":
            self.page.keyboard.press(" ")
        elif stage == "sound check":
            pass_sound_check(self.page)
        elif stage == "calibration":
            measure_screen(self.page, self.hand)
        elif stage == "trial":
            self._answer_trial()
        elif stage == "demographics":
            self._fill_in()
            self._press(STAGES[stage])
        else:
            self._press(STAGES[stage])
        return stage

    def to(self, stage: str) -> None:
        """Take steps until a stage is on the screen."""
        while self.look() != stage:
            self.step()

    def to_trial(self, number: int) -> None:
        """Take steps until this number of questions has a response and the next question is on the screen."""
        while len(self.prompts) < number or self.look() != "trial":
            self.step()

    def to_the_end(self) -> None:
        """Take steps to the last page."""
        while self.step() != "end":
            pass

    def _find(self, selector: str) -> Locator:
        return self.page.locator(", ".join(f"{part}{NEW}" for part in selector.split(", ")))

    def _answer_trial(self) -> None:
        if "multiple-choice" not in (self.page.locator("#stimulus").get_attribute("class") or ""):
            self.prompts.append("board")
            self._answer_board()
            return
        prompt = self.page.locator("#prompt").inner_text()
        self.prompts.append(prompt)
        number = self.answer(prompt)
        if self.hand == "keyboard":
            self.page.keyboard.press(str(number))
        else:
            self._press(f"[data-option='{number}']")

    def _answer_board(self) -> None:
        if self.hand == "keyboard":
            self.page.keyboard.press("r")
            self.page.keyboard.press("Enter")
        else:
            self._press("[data-response=reflected]")
            self._press("#submit-response")

    def _fill_in(self) -> None:
        self.page.locator("#question-age").fill("34")

    def _press(self, selector: str) -> None:
        if self.hand == "mouse":
            self.page.locator(selector).click()
        elif self.hand == "touch":
            # A second tap at the same place within half a second is a double tap, which presses nothing.
            self.page.wait_for_timeout(max(0, 1000 * (self._last_tap_s + DOUBLE_TAP_S - time.monotonic())))
            self.page.locator(selector).tap()
            self._last_tap_s = time.monotonic()
        else:
            press_focused(self.page, selector)


def press_focused(page: Page, selector: str) -> None:
    """Move to an element with the tab key, as keyboard users do, and press Enter."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the tab key does not reach {selector}")
