"""A participant in a real browser: reads every page, answers every question, and reaches the last page.

The participant presses and clicks as a person does. It gives the right answers, which it knows from the battery, and
random answers to ungraded items. It stops with an error if the page shows something else than the next step of the
study.
"""

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from batteries.items import Item
from batteries.tasks import task_named
from batteries.tasks.rating import Rating
from equipoise.commands.check.browser_responses import give_response
from experiment.plan import Phase
from experiment.simulated_participants import items_by_shown_digest, shown_digest
from experiment.study.definition import Study

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Error, Page

PATIENCE_MS = 30_000
"""Longest wait for the next step, in addition to the times of the study, such as a reading time."""
NEXT = (
    "#feedback-continue", "#consent-agree", "#calibration-none", "#distance-done", "#demographics-done",
    "#fullscreen-go", "#page-next", "#screen-continue",
)  # fmt: skip
"""Selectors of the buttons that lead to the next page."""
CONFIDENCE = ".confidence:not(.closed)"
KEYBOARD_CHECK, TRIAL, COMPLETED = "#keyboard-check", "#stimulus:not(.closed):not(.reading)", "#completed"
EARLY_END = ("#declined", "#incompatible", "#withdrawn", "#ended", "#notice")
ONSET_MS = 50
"""Wait after the onset of a question, because the page refuses responses in the frame of the onset."""


class StoppedEarly(Exception):
    """The participant could not complete the study. The message continues the sentence "The participant stopped"."""


class BrowserParticipant:
    """A participant who takes a study in a new browser context.

    Parameters
    ----------
    context
        The browser context.
    study
        The study that is served.
    """

    def __init__(self, context: "BrowserContext", study: Study) -> None:
        self._context = context
        self._study = study
        timing = study.definition.timing
        longest_trial_ms = max(_duration_ms(item.content) for item in study.battery.items)
        self._patience_ms = PATIENCE_MS + timing.reading_ms + (timing.deadline_ms or 0) + longest_trial_ms
        self._answers: Iterator[Item] | None = None
        self._n_answered = 0
        self._errors: list[str] = []

    async def take(self, url: str) -> None:
        """Take the study from its link to its last page.

        Raises
        ------
        StoppedEarly
            If the last page is not reached.
        """
        from playwright.async_api import Error  # noqa: PLC0415 - an optional library

        page = await self._context.new_page()
        page.on("pageerror", lambda error: self._errors.append(str(error).splitlines()[0]))
        try:
            await page.goto(url)
            while await self._step(page):
                pass
        except Error as error:
            raise StoppedEarly(f"{self._place()}. {await self._reason(page, error)}") from None
        if self._errors:
            raise StoppedEarly(f"on the last page. The page reported an error: {self._errors[0]}")
        code = self._study.definition.recruitment.exits.completed.code or self._study.definition.completion_code
        if code is not None and code not in await page.locator(COMPLETED).inner_text():
            raise StoppedEarly(f"on the last page, which does not show the completion code {code}.")

    async def _step(self, page: "Page") -> bool:
        """Do what the page asks for. Return False on the last page."""
        anything = [*NEXT, KEYBOARD_CHECK, TRIAL, COMPLETED, *EARLY_END]
        found = page.locator(", ".join(f"{selector}:not([data-done])" for selector in anything)).first
        await found.wait_for(timeout=self._patience_ms)
        shown = await found.evaluate("element => ((element.dataset.done = 1), element.id)")
        if shown == COMPLETED.removeprefix("#"):
            return False
        if f"#{shown}" in EARLY_END:
            raise StoppedEarly(f"{self._place()}. The page says: {await _words(page, f'#{shown}')}")
        if shown == "stimulus":
            await page.wait_for_timeout(ONSET_MS)
            await self._answer(page)
        elif shown == "screen-continue":
            await page.wait_for_timeout(ONSET_MS)
            await page.keyboard.press("Space")
        elif shown == "keyboard-check":
            await page.keyboard.press("Space")
        else:
            await page.locator(f"#{shown}").click(timeout=self._patience_ms)
        return True

    async def _answer(self, page: "Page") -> None:
        confidence = self._study.definition.confidence
        if confidence and await page.locator(CONFIDENCE).count():
            scale = confidence.model_dump()
            await give_response(page, Rating.name, scale, _answer_to(Rating.name, scale, None), self._patience_ms)
            return
        if self._answers is None:
            session = await page.evaluate("fetch('/api/session').then((reply) => reply.json())")
            self._answers = iter(_items_shown(self._study, session))
        item = next(self._answers)
        answer = _answer_to(item.task, item.content, item.key)
        await give_response(page, item.task, item.content, answer, self._patience_ms)
        self._n_answered += 1

    def _place(self) -> str:
        """Return the point at which the participant is."""
        return f"after {self._n_answered} answered questions" if self._n_answered else "before the first question"

    async def _reason(self, page: "Page", error: "Error") -> str:
        """Return a sentence on an error of the page or of the browser."""
        from playwright.async_api import TimeoutError as TooLong  # noqa: PLC0415

        if self._errors:
            return f"The page reported an error: {self._errors[0]}"
        if isinstance(error, TooLong):
            return f"The next step did not appear. The page says: {await _words(page, 'body')}"
        return f"The browser reported an error: {error.message.splitlines()[0]}"


def _answer_to(task: str, content: dict[str, Any], key: JsonValue) -> JsonValue:
    """Return the right answer, or a random answer if there is no right one."""
    if key is None:
        return task_named(task).draw(content, random.Random(0))
    return task_named(task).right_response(content, key)


def _duration_ms(content: dict[str, Any]) -> int:
    """Return the time that an item takes by itself: its screens, and the time window of its response."""
    screens = sum(screen.get("duration_ms") or 0 for screen in content.get("screens", []))
    return screens + (content.get("window_ms") or 0)


async def _words(page: "Page", selector: str) -> str:
    """Return the first words of a part of the page."""
    return re.sub(r"\s+", " ", await page.locator(selector).inner_text()).strip()[:200]


def _items_shown(study: Study, session: dict[str, Any]) -> list[Item]:
    """Return the items that a participant sees who answers correctly: all trials, with one round of practice."""
    items = items_by_shown_digest(study)
    trials = [items[shown_digest(trial["task"], trial["content"])] for trial in session["trials"]]
    n_practice = sum(trial["phase"] == Phase.PRACTICE for trial in session["trials"])
    return [*trials[: n_practice // session["practice_rounds"]], *trials[n_practice:]]
