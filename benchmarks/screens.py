"""Content and times of the screen from the browser's own trace, and a participant who operates the page.

`screens.js`, inserted into the page, marks screen changes and presses in the trace, where the browser itself records
each frame's way to the display. All times are therefore on one clock, and none comes from the measured page.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice, pairwise, zip_longest
from math import ceil, inf
from pathlib import Path
from typing import Any, Self

from playwright.async_api import Browser, CDPSession, Page, Playwright, Request
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

FRAME_MS = 1000 / 60
"""Chromium without a display makes 60 frames a second."""
PROBE = Path(__file__).with_suffix(".js")
TRACED = ["blink.user_timing", "disabled-by-default-devtools.timeline.frame"]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
VIEWPORT = {"width": 1280, "height": 800}
BUTTONS = "#consent-agree, #page-next, #feedback-continue"
PATIENCE_S = 20.0
KEY_HELD_MS = 50.0


class PageStuck(Exception):
    """A page did not continue; the message has its text."""


@dataclass(frozen=True)
class Screen:
    """A screen that was shown for at least one frame."""

    name: str
    """`fixation`, `stimulus`, `button` (a page that ends with a button), `end`, or `blank` for all others."""
    frame_ms: float
    """Time stamp of the first frame that showed it, since the start of the navigation."""
    until_ms: float
    """Time stamp of the first frame that no longer showed it."""
    presented_ms: float
    """Time when that first frame was presented."""

    @property
    def n_frames(self) -> int:
        """Number of frames that showed it."""
        return round((self.until_ms - self.frame_ms) / FRAME_MS)

    @property
    def refresh_ms(self) -> float:
        """Time when a display would have shown it: Chromium without a display presents as soon as a frame is drawn."""
        return self.frame_ms + FRAME_MS * ceil((self.presented_ms - self.frame_ms) / FRAME_MS)


@dataclass(frozen=True)
class Recording:
    """Events of a page in the order of time."""

    screens: list[Screen]
    presses_ms: list[float]
    """Times when the browser received keys and clicks."""
    began_s: float
    """Start of the navigation, on the system's monotonic clock."""

    @classmethod
    def of(cls, trace: bytes) -> Self:
        """Read a Chromium trace."""
        events = sorted(json.loads(trace)["traceEvents"], key=lambda event: event.get("ts", 0))
        marks = [event for event in events if event.get("cat") == "blink.user_timing" and _is_ours(event["name"])]
        page = marks[0]["pid"]
        origin_ms = marks[0]["ts"] / 1000 - marks[0]["args"]["data"]["startTime"]
        presented = presented_frames(event for event in events if event["pid"] == page)

        changed: dict[str, float] = {}
        framed: list[tuple[str, float]] = []
        presses_ms = []
        for mark in marks:
            kind, _, screen = mark["name"].partition(":")
            if kind == "press":
                presses_ms.append(mark["ts"] / 1000 - origin_ms)
            elif screen.endswith(":changed"):
                changed[screen.removesuffix(":changed")] = mark["ts"]
            else:
                framed.append((screen.removesuffix(":framed"), mark["ts"] / 1000 - origin_ms))

        # By frame numbers: a frame's time stamp precedes the changes that it carries, and may precede earlier ones.
        framed.sort(key=lambda screen: int(screen[0].partition(":")[0]))
        ends_ms = [frame_ms for _, frame_ms in framed[1:]] + [inf]
        screens = [
            Screen(screen.partition(":")[2], frame_ms, until_ms, shown_us / 1000 - origin_ms)
            for (screen, frame_ms), until_ms in zip(framed, ends_ms, strict=True)
            if (shown_us := _first_presented(presented, changed[screen])) is not None and until_ms > frame_ms
        ]
        return cls(screens, presses_ms, origin_ms / 1000)

    @property
    def named(self) -> list[Screen]:
        """The screens that are not blank."""
        return [screen for screen in self.screens if screen.name != "blank"]


def presented_frames(events: Iterable[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return when the main thread submitted each presented frame, and when it was presented, in microseconds.

    Parameters
    ----------
    events
        A renderer process's events in the order of time. The browser reuses the ids of frames.
    """
    handed_over: dict[str, float] = {}
    presented = []
    for event in events:
        frame = event.get("id2", {}).get("local", "")
        match event["name"], event["ph"]:
            case "PipelineReporter", "b":
                handed_over.pop(frame, None)
            case "Commit", "b":
                handed_over[frame] = event["ts"]
            case "SubmitCompositorFrameToPresentationCompositorFrame", "e" if frame in handed_over:
                presented.append((handed_over.pop(frame), event["ts"]))
    return sorted(presented)


def _first_presented(presented: list[tuple[float, float]], changed_us: float) -> float | None:
    return next((shown_us for handed_over_us, shown_us in presented if handed_over_us >= changed_us), None)


def _is_ours(name: str) -> bool:
    return name == "press" or name.startswith("screen:")


class Visitor:
    """A participant who waits for each screen that is not blank and presses keys and buttons."""

    def __init__(self, page: Page, devtools: CDPSession) -> None:
        self.page = page
        self.devtools = devtools
        self._shown: asyncio.Queue[str] = asyncio.Queue()
        self._posted: dict[int, dict[str, Any]] = {}
        page.on("request", self._note_request)
        devtools.on("Runtime.bindingCalled", self._note_screen)

    def _note_screen(self, call: dict[str, Any]) -> None:
        if call["name"] == "screenShown":
            self._shown.put_nowait(call["payload"])

    def _note_request(self, request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/api/responses"):
            for response in json.loads(request.post_data or "{}")["responses"]:
                self._posted[response["trial_index"]] = response

    async def next_screen(self) -> str:
        """Wait for the next screen and return its name a tenth of a second after it appeared."""
        try:
            return await asyncio.wait_for(self._shown.get(), PATIENCE_S)
        except TimeoutError:
            raise PageStuck(f"{self.page.url} does not continue; its text: {await self._text()}") from None

    async def press_key(self, key: str) -> None:
        """Press a key for as long as people do, and release it."""
        await self.page.keyboard.press(key, delay=KEY_HELD_MS)

    async def press_button(self) -> None:
        """Press the button that continues."""
        while not self._shown.empty():  # the same page again
            self._shown.get_nowait()
        try:
            button = self.page.locator(BUTTONS).locator("visible=true").first
            await button.click(timeout=PATIENCE_S * 1000)
        except PlaywrightTimeoutError:
            raise PageStuck(f"{self.page.url} has no button to press; its text: {await self._text()}") from None

    async def recorded_ms(self) -> list[float]:
        """Return the response times that the page recorded, in the order of trials, sent to a server or kept."""
        kept_ms: list[float] | None = await self.page.evaluate("window.recorded_ms?.()")
        return kept_ms if kept_ms is not None else [self._posted[trial]["rt_ms"] for trial in sorted(self._posted)]

    def recorded_sounds_ms(self) -> list[float | None]:
        """Return the onset of the first sound of each trial, as the page recorded it."""
        sounds = [(self._posted[trial]["presentation"] or {}).get("sounds", []) for trial in sorted(self._posted)]
        return [of_trial[0]["onset_ms"] if of_trial else None for of_trial in sounds]

    async def _text(self) -> str:
        return repr((await self.page.inner_text("body"))[:300])


@asynccontextmanager
async def visiting(browser: Browser) -> AsyncIterator[Visitor]:
    """Return a new visitor with an empty cache, before the first page."""
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    try:
        page = await context.new_page()
        await page.add_init_script(path=PROBE)
        devtools = await context.new_cdp_session(page)
        await devtools.send("Runtime.enable")
        await devtools.send("Runtime.addBinding", {"name": "screenShown"})
        yield Visitor(page, devtools)
    finally:
        await context.close()


@asynccontextmanager
async def chromium(playwright: Playwright, executable: str, **options: Any) -> AsyncIterator[Browser]:
    """Run a separate browser, with further options of Playwright."""
    browser = await playwright.chromium.launch(executable_path=executable, args=list(FLAGS), **options)
    try:
        yield browser
    finally:
        await browser.close()


@dataclass(frozen=True)
class Trial:
    """A trial between two fixations."""

    fixation_frames: int
    """By the time stamps of the frames."""
    fixation_refreshes: int
    """By the time when a display would have shown them, which is later if drawing took longer than a frame."""
    blank_frames: int
    """Between fixation, stimulus and the next fixation."""
    rt_error_ms: float | None
    """Recorded response time minus the time from the presented stimulus to the key."""
    key_to_fixation_ms: float
    """From the key press to the next presented fixation."""


def trials_of(recording: Recording, recorded_ms: list[float]) -> list[Trial]:
    """Return the trials between two fixations. This leaves out practice with feedback, and always the first trial.

    Parameters
    ----------
    recording
        What happened.
    recorded_ms
        The response times of all trials, practice included, as the page recorded them.
    """
    named = recording.named
    around = [(before, stimulus, state_after) for (before, stimulus), (_, state_after) in pairwise(pairwise(named))]
    stories = [(before, story, state_after) for before, story, state_after in around if story.name == "stimulus"]
    trials = []
    for (before, stimulus, state_after), rt_ms in islice(zip_longest(stories, recorded_ms), 1, len(stories)):
        if (before.name, state_after.name) != ("fixation", "fixation"):
            continue
        key_ms = next(at_ms for at_ms in recording.presses_ms if at_ms > stimulus.presented_ms)
        ended = next(screen for screen in recording.screens if screen.frame_ms > before.frame_ms)
        blank = (screen for screen in recording.screens if screen.name == "blank")
        trials.append(
            Trial(
                before.n_frames,
                round((ended.refresh_ms - before.refresh_ms) / FRAME_MS),
                sum(screen.n_frames for screen in blank if before.frame_ms < screen.frame_ms < state_after.frame_ms),
                None if rt_ms is None else rt_ms - (key_ms - stimulus.presented_ms),
                state_after.presented_ms - key_ms,
            )
        )
    return trials
