"""The web client's timing, frame by frame, beside stock jsPsych and lab.js, and participants' waiting time.

    .venv/bin/python benchmarks/webtiming.py
    .venv/bin/python benchmarks/webtiming.py --rounds 1 --trials 8

The sample study `intuition-single` on a real server, and small pages in jsPsych 8.3 and lab.js 20, show trials of one
kind: a fixation cross of 200 ms, which is 12 frames, a story with four options until a key is pressed, the next cross.
They take turns in a new browser each time, on a quiet machine and on one with a busy core. Keys are real input events,
300 to 600 ms after the story. All values come from the browser's trace, none from the page's own clocks: the frames of
each screen, its presentation time, the receipt of the key. The response times that each page recorded are compared with
these. The first trial, which is practice with feedback in our study, is left out everywhere.

Then a participant with an empty cache opens our study over a connection of 1.6 Mbit/s with a latency of 150 ms.

The next part shows pictures instead of stories, and the last part plays sounds: a study of ours beside jsPsych's
plugins `image-keyboard-response` and `audio-keyboard-response` (`media_timing.py`). A virtual loudspeaker (PulseAudio)
records the sounds.

    .venv/bin/python benchmarks/webtiming.py --parts pictures sounds

The whole run takes about 70 minutes on an otherwise quiet machine: 9 minutes without pictures and sounds. It needs
Chromium, and PulseAudio for the sounds; jsPsych and lab.js are installed from npm at the first run, into the user's
cache folder. Tables come at the end, and one JSON line last.
"""

import argparse
import asyncio
import gzip
import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from benchmarks import ours
from benchmarks.busy_core import busy_core
from benchmarks.load import HOST
from benchmarks.loopback import loopback
from benchmarks.media_timing import MOST_PER_TURN, MediaBench, make_study
from benchmarks.parts import Findings, progress
from benchmarks.peers import PeerUnavailable, cache_folder, webtiming
from benchmarks.screens import FRAME_MS, TRACED, Recording, Trial, Visitor, chromium, trials_of, visiting

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEDIA_PARTS = {"image": "pictures", "sound": "sounds"}
PARTS = ("stories", "loading", *MEDIA_PARTS.values())
SAMPLE_STUDY = "intuition-single"
MOST_TRIALS = 24
"""The sample study has 25 after practice, and the last one has no fixation after it."""
FIXATION_FRAMES = round(200 / FRAME_MS)
KEY = "2"
KEY_AFTER_S = (0.2, 0.5)
"""Delay after the visitor sees a story, a tenth of a second after it appeared."""
READING_S = 1.0
"""On each page that ends with a button."""
N_LOADS = 5
LINE = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 1.6e6 / 8}
"""In ms and bytes per second."""


@dataclass(frozen=True)
class Figures:
    """Summary of a page's trials. Errors are absolute, except the signed one."""

    n_trials: int
    exact_frames: float
    """Share of trials whose fixation was shown for exactly the intended frames."""
    exact_refreshes: float
    """The same, by the time when a display would have shown it."""
    rt_error_signed_ms: float
    rt_error_median_ms: float
    rt_error_p95_ms: float
    key_to_fixation_median_ms: float
    blank_frames: int
    """In all trials, between screens that should be adjacent."""

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> "Figures":
        """Summarise the trials."""
        errors_ms = [trial.rt_error_ms for trial in trials if trial.rt_error_ms is not None]
        sizes_ms = [abs(error_ms) for error_ms in errors_ms]
        return cls(
            len(trials),
            statistics.fmean(trial.fixation_frames == FIXATION_FRAMES for trial in trials),
            statistics.fmean(trial.fixation_refreshes == FIXATION_FRAMES for trial in trials),
            statistics.median(errors_ms),
            statistics.median(sizes_ms),
            statistics.quantiles(sizes_ms, n=20, method="inclusive")[-1],
            statistics.median(trial.key_to_fixation_ms for trial in trials),
            sum(trial.blank_frames for trial in trials),
        )


@dataclass(frozen=True)
class Waits:
    """A participant's waiting time in seconds, from the start of the navigation to the first fixation."""

    page_usable_s: float
    """Until the button of the first page was presented."""
    begin_to_trial_s: float
    """From the press of the last button to the first fixation."""
    first_trial_ready_s: float
    """All waits: both above, and those after the other buttons; reading time is left out."""

    @classmethod
    def of(cls, recording: Recording) -> "Waits":
        """Compute them from a recording that ends with the first fixation."""
        shown_ms = [screen.presented_ms for screen in recording.named]
        after_press_ms = [
            next(at_ms for at_ms in shown_ms if at_ms > press_ms) - press_ms for press_ms in recording.presses_ms
        ]
        return cls(shown_ms[0] / 1000, after_press_ms[-1] / 1000, (shown_ms[0] + sum(after_press_ms)) / 1000)


def main() -> None:
    """Run the rounds, print a table for each part, and one JSON line last."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of each page, quiet and busy")
    parser.add_argument("--trials", type=int, default=MOST_TRIALS, help=f"trials per turn, at most {MOST_TRIALS}")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure")
    parser.add_argument("--media-trials", type=int, default=1_000, help="trials of pictures, and of sounds, per page")
    parser.add_argument("--traces", type=Path, help="keep each turn's trace in this folder")
    options = parser.parse_args()
    if not 2 <= options.trials <= MOST_TRIALS:
        parser.error(f"--trials must be between 2 and {MOST_TRIALS}")
    executable = os.environ.get("EQUIPOISE_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        sys.exit("no Chromium or Chrome was found. Fix: install one, or set EQUIPOISE_CHROMIUM to its path")

    cache_folder().mkdir(parents=True, exist_ok=True)
    load_at_start = os.getloadavg()[0]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="run-", dir=cache_folder())))
        bench = Bench(executable, options.rounds, options.trials, options.traces)
        found = []
        if {"stories", "loading"} & set(options.parts):
            found += _story_parts(bench, options.parts, stack, folder)
        for kind in ("image", "sound"):
            if MEDIA_PARTS[kind] in options.parts:
                media = MediaBench(executable, _answer, options.media_trials)
                found += _media_part(media, kind, stack, folder)
    for findings in found:
        print(findings.text())  # noqa: T201
    summary: dict[str, Any] = {"cores": os.cpu_count(), "load_at_start": round(load_at_start, 2)}
    for findings in found:
        summary |= findings.summary
    print(json.dumps(summary))  # noqa: T201


def _story_parts(bench: "Bench", parts: Sequence[str], stack: ExitStack, folder: Path) -> list[Findings]:
    study = ours.new_study(folder / "study", SAMPLE_STUDY)
    port = free_port()
    stack.enter_context(ours.server(study, port))
    pages = {"equipoise": f"http://{HOST}:{port}/"}
    try:
        peers = stack.enter_context(webtiming.running_pages(folder / "peers", _items(study)))
        pages |= {name: f"{peers}/{page}" for name, page in webtiming.PAGES.items()}
    except PeerUnavailable as error:
        progress(str(error))
    found = [asyncio.run(bench.trials(pages))] if "stories" in parts else []
    return [*found, *([asyncio.run(bench.loading(pages["equipoise"]))] if "loading" in parts else [])]


def _media_part(bench: MediaBench, kind: str, stack: ExitStack, folder: Path) -> list[Findings]:
    """Measure pictures or sounds; nothing if a sound cannot be recorded here."""
    n_trials = min(bench.n_trials, MOST_PER_TURN)
    study = make_study(folder / f"{kind}-study", kind, n_trials)
    port = free_port()
    stack.enter_context(ours.server(study, port))
    pages = {"equipoise": f"http://{HOST}:{port}/"}
    files = [f"assets/{path.name}" for path in sorted((study / "assets").iterdir())]
    try:
        peers = folder / f"{kind}-peers"
        address = stack.enter_context(webtiming.running_pages(peers, []))
        shutil.copytree(study / "assets", peers / "assets")
        (peers / "media.json").write_text(json.dumps({kind: {"files": files, "n_trials": n_trials + 2}}))
        pages["jspsych"] = f"{address}/jspsych-media.html?kind={kind}"
    except PeerUnavailable as error:
        progress(str(error))
    if kind == "image":
        return [asyncio.run(bench.pictures(pages))]
    try:
        ear = stack.enter_context(loopback(folder / "pulse"))
    except PeerUnavailable as error:
        progress(str(error))
        return []
    return [asyncio.run(bench.sounds(pages, ear))]


@dataclass(frozen=True)
class Bench:
    """The measurements that the command line requests."""

    executable: str
    rounds: int
    n_trials: int
    traces: Path | None

    async def trials(self, pages: dict[str, str]) -> Findings:
        """Measure the pages in turns; return a table with a row for each, quiet and busy."""
        rng = random.Random(1)
        turns = [(name, is_busy) for is_busy in (False, True) for name in pages]
        trials: dict[tuple[str, bool], list[Trial]] = {turn: [] for turn in turns}
        for number in range(self.rounds):
            for name, is_busy in rng.sample(turns, len(turns)):
                with busy_core(is_busy):
                    trace, recorded_ms = await self._traced(pages[name], lambda at: _answer(at, self.n_trials, rng))
                of_turn = trials_of(Recording.of(trace), recorded_ms)
                trials[name, is_busy] += of_turn
                self._keep(trace, f"{name}-{_machine(is_busy)}-{number + 1}")
                n_exact = sum(trial.fixation_frames == FIXATION_FRAMES for trial in of_turn)
                progress(f"{number + 1}. {name}, {_machine(is_busy)}: {n_exact} of {len(of_turn)} exact")

        found = Findings(
            f"Fixation of {FIXATION_FRAMES} frames, story until a key, next fixation",
            (
                "page, machine",
                "trials",
                "exact frames %",
                "exact refreshes %",
                "RT error ms, signed",
                "absolute",
                "p95",
                "key to fixation ms",
                "blank frames",
            ),
        )
        for (name, is_busy), of_page in trials.items():
            figures = Figures.of(of_page)
            found.rows.append(
                (
                    f"{name}, {_machine(is_busy)}",
                    figures.n_trials,
                    100 * figures.exact_frames,
                    100 * figures.exact_refreshes,
                    figures.rt_error_signed_ms,
                    figures.rt_error_median_ms,
                    figures.rt_error_p95_ms,
                    figures.key_to_fixation_median_ms,
                    figures.blank_frames,
                )
            )
            prefix = ("" if name == "equipoise" else f"{name}_") + ("busy_" if is_busy else "")
            found.summary |= {f"{prefix}{key}": round(value, 3) for key, value in asdict(figures).items()}
        return found

    async def loading(self, url: str) -> Findings:
        """Open our study over a slow connection; return medians, and the sizes of the loaded files."""
        waits: list[Waits] = []
        for number in range(N_LOADS):
            trace, _ = await self._traced(url, _begin, LINE)
            waits.append(Waits.of(Recording.of(trace)))
            self._keep(trace, f"loading-{number + 1}")
            progress(f"{number + 1}. loading: usable after {waits[-1].page_usable_s:.2f} s")

        static = files("experiment.web") / "static"
        sizes = {kind: len(gzip.compress((static / f"equipoise.{kind}").read_bytes())) / 1000 for kind in ("js", "css")}
        found = Findings(
            f"Our study over 1.6 Mbit/s with 150 ms latency, cold cache, {N_LOADS} times",
            ("wait", "median s", "longest"),
        )
        for key, words in (
            ("page_usable_s", "from opening the page until it can be used"),
            ("begin_to_trial_s", "from the press of Begin to the first fixation"),
            ("first_trial_ready_s", "all waits until the first fixation"),
        ):
            of_all = [getattr(one, key) for one in waits]
            found.rows.append((words, statistics.median(of_all), max(of_all)))
            found.summary[key] = round(statistics.median(of_all), 3)
        found.notes.append(f"gzipped: equipoise.js {sizes['js']:.1f} KB, equipoise.css {sizes['css']:.1f} KB")
        found.summary |= {f"{kind}_gzip_kb": round(size, 1) for kind, size in sizes.items()}
        return found

    async def _traced(
        self, url: str, act: Callable[[Visitor], Any], line: dict[str, Any] | None = None
    ) -> tuple[bytes, list[float]]:
        """Let a visitor act at a page in a new browser; return the trace and the recorded response times."""
        async with (
            async_playwright() as playwright,
            chromium(playwright, self.executable) as browser,
            visiting(browser) as visitor,
        ):
            if line is not None:
                await visitor.devtools.send("Network.enable")
                await visitor.devtools.send("Network.emulateNetworkConditions", line)
            await browser.start_tracing(categories=TRACED)
            await visitor.page.goto(url)
            await act(visitor)
            await asyncio.sleep(0.5)  # until the last response is sent
            return await browser.stop_tracing(), await visitor.recorded_ms()

    def _keep(self, trace: bytes, name: str) -> None:
        if self.traces is not None:
            self.traces.mkdir(parents=True, exist_ok=True)
            (self.traces / f"{name}.json.gz").write_bytes(gzip.compress(trace))


async def _answer(visitor: Visitor, n_trials: int, rng: random.Random) -> None:
    """Go through the pages and answer stories until this many, besides the first, led to a fixation."""
    n_stories = n_measured = 0
    before = ""
    while n_measured < n_trials:
        screen = await visitor.next_screen()
        match screen:
            case "button":
                await asyncio.sleep(READING_S)
                await visitor.press_button()
            case "stimulus":
                await asyncio.sleep(rng.uniform(*KEY_AFTER_S))
                await visitor.press_key(KEY)
                n_stories += 1
            case "fixation" if before == "stimulus" and n_stories > 1:
                n_measured += 1
            case "end":
                return
        before = screen


async def _begin(visitor: Visitor) -> None:
    """Go through the pages up to the first fixation."""
    while await visitor.next_screen() != "fixation":
        await asyncio.sleep(READING_S)
        await visitor.press_button()


def _machine(is_busy: bool) -> str:
    return "one core busy" if is_busy else "quiet"


def _items(study: Path) -> list[dict[str, Any]]:
    """Return as many of the study's stories as a turn needs, plus the first trial and the fixation after the last."""
    lines = (study / "battery.jsonl").read_text(encoding="utf-8").splitlines()
    return [content for line in lines if (content := json.loads(line).get("content"))][: MOST_TRIALS + 2]


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
