"""A participant's way from the first page to the end, by keyboard, mouse or touch, whatever parts the study has."""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page

from tests.end_to_end.visitor import Visitor
from tests.end_to_end.whole_study import PRACTICE

Hand = Literal["keyboard", "mouse", "touch"]

STAGES = {
    "feedback": "#feedback-continue",
    "keyboard check": "#keyboard-check",
    "consent": "#consent-agree",
    "demographics": "#demographics-done",
    "full screen": "#fullscreen-go",
    "page": "#page-next",
    "trial": "#stimulus:not(.closed)",
    "end": "#completed, #declined, #incompatible, #withdrawn, #ended, #notice",
}
"""What can be on the screen, by what shows it."""
NEW = ":not([data-walked])"


class Walker:
    """Takes a participant's steps one after the other.

    Parameters
    ----------
    visitor
        The participant's browser.
    hand
        By what they act.
    on_stage
        Called with the name of each stage before the step that leaves it.
    answer
        Returns the number of the option to choose, for the question on the screen; by default the right one in
        practice, else the second.
    """

    def __init__(
        self,
        visitor: Visitor,
        hand: Hand = "mouse",
        on_stage: Callable[[str], None] = lambda _stage: None,
        answer: Callable[[str], int] = lambda prompt: PRACTICE.get(prompt, 2),
    ) -> None:
        self.visitor, self.page, self.hand, self.on_stage, self.answer = visitor, visitor.page, hand, on_stage, answer
        self.stages: list[str] = []
        self.prompts: list[str] = []
        """The questions answered, in order."""

    def look(self) -> str:
        """Wait for the next stage and return its name."""
        anything = ", ".join(f"{part}{NEW}" for selector in STAGES.values() for part in selector.split(", "))
        self.page.wait_for_selector(anything)
        return next(name for name, selector in STAGES.items() if self._find(selector).count())

    def step(self) -> str:
        """Do what leads on from the stage on the screen, and return its name."""
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
        elif stage == "trial":
            self._answer_trial()
        elif stage == "demographics":
            self._fill_in()
            self._press(STAGES[stage])
        else:
            self._press(STAGES[stage])
        return stage

    def to(self, stage: str) -> None:
        """Go on until a stage is on the screen."""
        while self.look() != stage:
            self.step()

    def to_trial(self, number: int) -> None:
        """Go on until so many questions have been answered and the next one is on the screen."""
        while len(self.prompts) < number or self.look() != "trial":
            self.step()

    def to_the_end(self) -> None:
        """Go on to the last page."""
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
            self.page.locator(selector).tap()
        else:
            press_focused(self.page, selector)


def press_focused(page: Page, selector: str) -> None:
    """Go to something with the tab key, as keyboard users do, and press Enter on it."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the tab key does not lead to {selector}")
