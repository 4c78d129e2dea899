"""Points on a real browser: a participant of each group completes the study, and the timing on this machine.

The participants take a copy of the study in a temporary folder, with a temporary store, on a free port. The study's own
folder and store do not change.
"""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.asset_files import copy_asset
from batteries.stimulus.parts import asset_parts, path_of
from batteries.tasks.jspsych_plugin import JsPsychPlugin
from equipoise.commands.check.browser_session import BrowserParticipant, StoppedEarly
from equipoise.commands.check.checklist import (
    Point,
    failed,
    listed,
    needs_attention,
    not_checked,
    passed,
    problem_and_fix,
)
from equipoise.commands.server_process import running_server
from equipoise.progress_bar import progress_bar
from experiment.load_study import load_study
from experiment.models.event_loops import calls_outside_loops, run_in_new_loop
from experiment.records import Kind, Status
from experiment.study.definition import Study
from server.settings import PREFIX
from server.store.open import opened_store

BROWSER, TIMING = "Browser", "Timing"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names of the browser on the PATH. If there is none, Playwright's own Chromium is used."""
AT_ONCE = 3
"""Number of participants at the same time. More participants would slow each other down."""
LEAST_EXACT_SHARE = 0.95
"""Least share of fixations with exactly the intended number of frames."""
BY_YOURSELF = "take the study once in each browser that participants may use."


class _NoBrowserError(Exception):
    """The browser cannot be started. The message says why."""


def skipped_points(reason: str, fix: str = BY_YOURSELF) -> list[Point]:
    """Return the two points without a check."""
    return [not_checked(BROWSER, reason, fix), not_checked(TIMING, "the timing is measured in the browser.")]


def browser_points(study: Study) -> list[Point]:
    """Let a participant of each group take the study in Chromium, and compare the timing with the study's."""
    if any(item.task == JsPsychPlugin.name for item in study.battery.items):
        return skipped_points("only people can answer items of published jsPsych plugins.")
    if item := study.lab_only_item:
        return skipped_points(
            f"the item `{item.item_id}` is a PsychoPy trial, which only the laboratory can show.",
            f"take the study once with `equipoise lab {study.folder} --participant test --rehearsal`.",
        )
    try:
        import playwright.async_api  # noqa: F401, PLC0415 - an optional library
    except ImportError:
        return skipped_points(
            "the Python library Playwright is not installed.",
            "run `pip install playwright` and `playwright install chromium`, and check again.",
        )
    n_groups = study.definition.n_groups
    with TemporaryDirectory(prefix="equipoise-check-") as temporary:
        folder = Path(temporary) / "study"
        _copy_without_recruitment(study, folder)
        tried = load_study(folder)
        try:
            with (
                running_server(folder, tried.store_path, _environment()) as url,
                progress_bar("Taking the study in a browser", n_groups) as on_done,
                calls_outside_loops() as call,
            ):
                stopped = call(run_in_new_loop, _take_all(tried, url, on_done))
        except InputError as error:
            return [failed(BROWSER, *problem_and_fix(error)), not_checked(TIMING, "the study was not served.")]
        except _NoBrowserError as error:
            return skipped_points(
                f"Chromium did not start ({error}).", "run `playwright install chromium`, and check again."
            )
        with opened_store(str(tried.store_path)) as store:
            sessions, trials = store.sessions(tried), store.trials(tried)
    return [_browser_point(n_groups, stopped, sessions), _timing_point(trials, tried.definition.timing.fixation_ms)]


def _copy_without_recruitment(study: Study, folder: Path) -> None:
    """Copy a study's files. The copy admits anybody, and asks for neither a high refresh rate nor sound.

    The codes and links of the exits stay. A headless browser always has 60 Hz, and a program hears nothing.
    """
    folder.mkdir()
    for name in (study.definition.battery, *study.texts):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(study.folder / name, folder / name)
    for path in {path_of(part) for item in study.battery.items for part in asset_parts(item.content)}:
        copy_asset((study.folder / study.definition.battery).parent, (folder / study.definition.battery).parent, path)
    entries = study.definition.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    entries["device"] = {**entries.get("device", {}), "refresh_hz": None, "sound": False}
    exits = study.definition.recruitment.model_dump(mode="json", exclude_defaults=True).get("exits", {})
    entries["recruitment"] = {"exits": json.loads(json.dumps(exits).replace("{id}", "id"))}
    (folder / "study.yaml").write_text(json.dumps(entries), encoding="utf-8")  # JSON is YAML too.


def _environment() -> dict[str, str]:
    """Return the environment without the settings of the study's real server, such as its store and its secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


async def _take_all(study: Study, url: str, on_done: Callable[[], None]) -> list[str]:
    """Take the study once for each group, and return a sentence for each participant who stopped early.

    The first participant is alone, because several participants would disturb the timing.
    """
    from playwright.async_api import Error, async_playwright  # noqa: PLC0415

    device = study.definition.device
    viewport: Any = {"width": max(1280, device.width_px or 0), "height": max(800, device.height_px or 0)}
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    places = asyncio.Semaphore(AT_ONCE)

    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=program)
        except Error as error:
            raise _NoBrowserError(str(error).strip().splitlines()[0]) from None

        async def take() -> str | None:
            async with places:
                context = await browser.new_context(viewport=viewport)
                try:
                    await BrowserParticipant(context, study).take(url)
                except StoppedEarly as stopped:
                    return str(stopped)
                finally:
                    await context.close()
                    on_done()
                return None

        first = await take()
        # If the first participant stops, the others would stop at the same place, each after a long wait.
        others = [] if first else await asyncio.gather(*(take() for _ in range(1, study.definition.n_groups)))
        await browser.close()
    return [sentence for sentence in [first, *others] if sentence]


def _browser_point(n_groups: int, stopped: list[str], sessions: list[dict[str, Any]]) -> Point:
    if stopped:
        return failed(
            BROWSER, f"a simulated participant stopped {stopped[0]}", "serve the study, and take it yourself."
        )
    done = {row["group"] for row in sessions if row["kind"] == Kind.HUMAN and row["status"] == Status.COMPLETED}
    if missing := sorted(set(range(1, n_groups + 1)) - done):
        return failed(
            BROWSER, f"no participant completed {listed([f'group {group}' for group in missing])}.", BY_YOURSELF
        )
    return passed(
        BROWSER,
        f"in Chromium, a simulated participant of each of {n_groups} groups answered every question and reached the "
        "last page.",
    )


def _timing_point(trials: list[dict[str, Any]], fixation_ms: int) -> Point:
    """Compare the fixations of the first session with the intended fixation."""
    first = min((row["started_at"] for row in trials), default=None)
    shown = [row for row in trials if row["started_at"] == first and row["fixation_frames"] is not None]
    if not shown:
        return not_checked(TIMING, "no response with its timing was stored.")
    exact = sum(row["fixation_frames"] == row["fixation_frames_intended"] for row in shown)
    frame_ms = sorted(row["frame_ms"] for row in shown)[len(shown) // 2]
    found = (
        f"on this machine, {exact} of {len(shown)} fixations of {fixation_ms} ms had exactly "
        f"{shown[0]['fixation_frames_intended']} frames (at {1000 / frame_ms:.0f} Hz, without a screen)."
    )
    if exact < LEAST_EXACT_SHARE * len(shown):
        return needs_attention(
            TIMING, found, "close other programs and check again; each response records the timing that was achieved."
        )
    return passed(TIMING, f"{found} On participants' devices, each response records the timing that was achieved.")
