"""A participant who takes the sample study `showcase`, in a window of any engine, with keys, a mouse or a finger."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from batteries.items import Item
from batteries.stimulus.parts import words_of
from equipoise.studies import sample_study_folder
from experiment.load_study import load_study
from tests.engines import Window

Hand = Literal["keyboard", "mouse", "touch"]

STUDY = load_study(sample_study_folder("showcase"))
ITEMS = STUDY.battery.by_id

RESPONSES: dict[str, Any] = {
    "practice-choice": 1,
    "practice-key": "left",
    "check": 2,
    "story": 2,
    "several-answers": [1, 3],
    "agreement": 4,
    "mood": 62,
    "estimate": 400,
    "one-word": "A sheep",
    "open-answer": "The sun is on the other side. Turn around, and see!",
    "order-of-size": [2, 4, 3, 1],
    "feeling": 2,
    "pictures-as-options": 3,
    "two-pictures": 4,
    "rising-tone": 1,
    "falling-tone": 6,
    "rolling-ball": 2,
    "ray": "north-5",
    "arrow-with-mask": "right",
    "word-or-not": "not a word",
    "go": "go",
    "no-go": "none",
    "list-and-distractor": 43,
    "list-and-probe": ["river", "Window", "lamp"],
    "digits": ["7", "2", "9"],
}
"""The response to each item: right, wrong and ungraded responses."""

STAGES = {
    "sound check": "#sound-check",
    "feedback": "#feedback-continue",
    "consent": "#consent-agree",
    "page": "#page-next",
    "screen": "#screen-continue",
    "trial": "#stimulus:not(.closed)",
    "end": "#completed, #ended, #notice",
}

SCREEN = f"""(() => {{
  for (const [stage, selector] of Object.entries({json.dumps(STAGES)})) {{
    const found = document.querySelector(selector.split(", ").map((part) => `${{part}}:not([data-walked])`).join(", "));
    if (found === null) continue;
    if (stage !== "sound check") found.dataset.walked = 1;
    const words = (selector) => found.querySelector(selector)?.innerText.trim() ?? "";
    const picture = found.querySelector(".stimulus-parts img")?.alt;
    return {{ stage, prompt: words("#prompt"), stimulus: picture ?? words(".stimulus-parts") }};
  }}
  return null;
}})()"""
"""JavaScript: the stage on the screen and its question; null between two stages. Each stage is returned once."""

SLIDER = "#stimulus input[type=range]"
SLIDER_VALUE = f"Number(document.querySelector({json.dumps(SLIDER)}).value)"

COUNT_TONES = """(() => {
  window.tones = 0;
  window.PlainOscillator ??= window.OscillatorNode;
  window.OscillatorNode = class extends window.PlainOscillator {
    constructor(...given) {
      super(...given);
      window.tones++;
    }
  };
  return true;
})()"""


def item_shown(prompt: str, stimulus: str) -> Item:
    """Return the item on the screen. Items with the same question differ in the first part of their stimulus."""
    found = [item for item in ITEMS.values() if item.content.get("prompt") == prompt]
    if len(found) > 1:
        found = [item for item in found if words_of(item.content["stimulus"][0]).strip("# ") == stimulus]
    (item,) = found or [ITEMS["ray"]]
    return item


class ShowcaseParticipant:
    """Takes the steps of a session of the showcase.

    Parameters
    ----------
    window
        The window.
    hand
        The input device of all responses.
    on_trial
        Called with the id of each item on the screen, before the response.
    """

    def __init__(self, window: Window, hand: Hand, on_trial: Callable[[str], None] = lambda _item: None) -> None:
        self.window, self.hand, self.on_trial = window, hand, on_trial
        self.given: list[str] = []
        """The ids of the items with a response, in order."""

    def to_the_end(self) -> None:
        """Take all steps to the last page."""
        while self.step() != "end":
            pass

    def step(self) -> str:
        """Do what ends the stage on the screen, and return the name of the stage."""
        screen: Mapping[str, str] = self.window.wait_until(SCREEN, timeout_s=40)
        stage = screen["stage"]
        if stage == "end":
            return stage
        if stage == "sound check":
            self._hear()
        elif stage == "trial":
            item = item_shown(screen["prompt"], screen["stimulus"])
            self.on_trial(item.item_id)
            # A person needs time too. After a click, a second click at the same point soon would be a double click.
            time.sleep(0.15 if self.hand == "keyboard" or item.task == "keypress" else 0.35)
            # A stimulus or a mask that is still on the screen has no record of its duration.
            time.sleep(2 * sum(item.content.get(name) or 0 for name in ("stimulus_ms", "mask_ms")) / 1000)
            self.respond(item, RESPONSES[item.item_id])
            self.given.append(item.item_id)
        else:
            time.sleep(0.15 if self.hand == "keyboard" else 0.6)
            self.press(STAGES[stage])
        return stage

    def respond(self, item: Item, response: Any) -> None:
        """Give a response to the item on the screen."""
        match item.task:
            case "multiple_choice" | "ranking" if isinstance(response, list):
                for number in response:
                    self._choose(f"[data-option='{number}']", str(number))
                self._submit()
            case "multiple_choice":
                self._choose(f"[data-option='{response}']", str(response))
            case "rating" if item.content["shown_as"] == "buttons":
                self._choose(f"[data-point='{response}']", str(response))
            case "rating":
                self._slide(response)
            case "number" | "free_text":
                self._type(str(response))
                self._submit()
            case "keypress" if response != "none":
                key = next(key for key, name in item.content["keys"].items() if name == response)
                self._choose(f"[data-key='{key}']", " " if key == "space" else key)
            case "recall":
                for entry in response:
                    self._type(entry)
                    self._choose("#add-entry", "Enter")
                self.press("#submit-response")
            case "blackbox_predict":
                side, _, number = str(response).partition("-")
                if self.hand == "keyboard":
                    for key in [side[0], number, "Enter"]:
                        self.window.press(key)
                else:
                    self.press(f"[data-port='{response}']")
                    self._submit()

    def press(self, selector: str) -> None:
        """Press a button with the participant's input device."""
        if self.hand != "keyboard":
            self.window.click(selector)
            return
        for _ in range(60):
            if self.window.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                self.window.press("Enter")
                return
            self.window.press("Tab")
        raise AssertionError(f"the tab key does not reach {selector}")

    def _choose(self, selector: str, key: str) -> None:
        if self.hand == "keyboard":
            self.window.press(key)
        else:
            self.window.click(selector)

    def _submit(self) -> None:
        # On the keyboard, Enter submits all answers except texts of several lines.
        is_area = self.window.evaluate("document.activeElement.matches('textarea')")
        if self.hand == "keyboard" and not is_area:
            self.window.press("Enter")
        else:
            self.press("#submit-response")

    def _type(self, text: str) -> None:
        if self.hand != "keyboard":
            self.window.click("#typed-answer")
        for character in text:
            self.window.press(character)

    def _slide(self, response: int) -> None:
        if self.hand == "touch":
            self._tap_line(response)
        else:
            if self.hand == "keyboard":
                self.press_to(SLIDER)
            else:
                self.window.click(SLIDER)
            n_steps = response - self.window.evaluate(SLIDER_VALUE)
            for _ in range(abs(n_steps)):
                self.window.press("ArrowRight" if n_steps > 0 else "ArrowLeft")
        self._submit()

    def _tap_line(self, response: int) -> None:
        x, y, width, height = self.window.evaluate(
            "(({ x, y, width, height }) => [x, y, width, height])"
            f"(document.querySelector({json.dumps(SLIDER)}).getBoundingClientRect())"
        )
        percent = response
        for _ in range(10):
            self.window.click_at(x + width * percent / 100, y + height / 2)
            difference = response - self.window.evaluate(SLIDER_VALUE)
            if difference == 0:
                return
            percent += difference / 2  # a whole step can miss the value
        raise AssertionError(f"no tap gives the value {response}")

    def press_to(self, selector: str) -> None:
        """Move the focus to an element with the tab key."""
        for _ in range(60):
            if self.window.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.window.press("Tab")
        raise AssertionError(f"the tab key does not reach {selector}")

    def _hear(self) -> None:
        """Pass one round of the sound check. A test cannot hear, so it counts the tones that the page starts."""
        self.window.evaluate(COUNT_TONES)
        self.press("#sound-play")
        self.window.wait_until("window.tones > 1")
        number = self.window.evaluate("window.tones")  # all tones are scheduled at the same time
        self._choose(f"[data-tones='{number}']", str(number))
