"""Onsets of pictures and sounds, in our client and in unchanged jsPsych. `webtiming.py` runs it.

A trial is a fixation cross of 200 ms, and then a picture, or a sound with a question, until a key. The trace of the
browser has the time at which each screen was presented. A virtual loudspeaker has the time at which each sound was
played, on the same clock.
"""

import asyncio
import io
import json
import math
import os
import random
import statistics
import struct
import wave
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import async_playwright

from benchmarks.loopback import Loopback
from benchmarks.parts import Findings, progress
from benchmarks.screens import FRAME_MS, TRACED, Recording, Trial, Visitor, chromium, trials_of, visiting

PICTURE_PX = (640, 480)
N_PICTURES = 20
"""Number of different files. The trials show them in turn."""
TONE_MS = 100
TONE_HZ = 1_000
RATE_HZ = 48_000
SOUND_WINDOW_S = (-0.2, 0.9)
"""Earliest and latest begin of a trial's sound, relative to the presented question."""
MOST_PER_TURN = 200
"""The browser keeps the trace of a whole turn in memory."""
OPTIONS = ["a", "b", "c", "d"]

STUDY = """\
study: media
version: "1.0"
title: Media
battery: battery.jsonl
design: {method: deal, groups: 1, balance: [topic]}
timeline: {instructions: [instructions.md]}
timing: {fixation_ms: 200}
device: {sound: false}
recruitment: {entry: open}
"""


@dataclass(frozen=True)
class SoundTrial:
    """A trial with a sound."""

    onset_ms: float | None
    """True onset of the sound after the presented question; None if no sound was found."""
    recorded_ms: float | None
    """The onset as the page recorded it; None if it recorded none."""


@dataclass(frozen=True)
class Turn:
    """Recording of one browser."""

    recording: Recording
    recorded_ms: list[float]
    """The response times that the page recorded."""
    sounds_ms: list[float | None]
    """The onsets of sounds that the page recorded, one for each trial."""


def make_study(folder: Path, kind: str, n_trials: int) -> Path:
    """Write a study with a picture or a sound in each trial."""
    assets = folder / "assets"
    assets.mkdir(parents=True)
    files = write_files(assets, kind)
    lines: list[dict[str, Any]] = [{"battery": "media", "version": "1.0"}]
    for number in range(n_trials + 2):  # The first trial and the fixation after the last one are needed too.
        part = {kind: f"assets/{files[number % len(files)]}", "alt": "A thing"}
        content = {"stimulus": [part], "prompt": f"Which letter {number}?", "options": OPTIONS}
        factors = {"topic": "media"}
        lines.append(
            {"item_id": f"i{number}", "task": "multiple_choice", "factors": factors, "content": content, "key": 1}
        )
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "instructions.md").write_text("# Welcome\n", encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return folder


def write_files(folder: Path, kind: str) -> list[str]:
    """Write the pictures or the sound, and return the names of the files."""
    if kind == "sound":
        n = RATE_HZ * TONE_MS // 1000
        with wave.open(str(folder / "tone.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE_HZ)
            # A cosine begins with its largest value, so that the onset is exact.
            values = (round(26_000 * math.cos(2 * math.pi * TONE_HZ * index / RATE_HZ)) for index in range(n))
            file.writeframes(b"".join(struct.pack("<h", value) for value in values))
        return ["tone.wav"]
    rng = random.Random(2)
    for number in range(N_PICTURES):
        coarse = Image.frombytes("RGB", (32, 24), rng.randbytes(3 * 32 * 24))
        data = io.BytesIO()
        coarse.resize(PICTURE_PX, Image.Resampling.BICUBIC).save(data, "JPEG", quality=90)
        (folder / f"{number}.jpg").write_bytes(data.getvalue())
    return [f"{number}.jpg" for number in range(N_PICTURES)]


@dataclass(frozen=True)
class MediaBench:
    """The measurements of pictures and sounds."""

    executable: str
    answer: Callable[[Visitor, int, random.Random], Awaitable[None]]
    """Goes through the pages, and answers this number of trials."""
    n_trials: int

    async def pictures(self, pages: dict[str, str]) -> Findings:
        """Measure the onset of pictures. The response time of a page minus the true one is the error of its onset."""
        found = Findings(
            "Pictures: fixation of 200 ms, picture until a key",
            ("page", "trials", "fixation exact %", "onset in the right frame %", "onset error ms, median", "p95",
             "largest"),
        )  # fmt: skip
        trials: dict[str, list[Trial]] = {name: [] for name in pages}
        for name, n_wanted, rng in self._turns(pages):
            turn = await self._turn(pages[name], n_wanted, rng)
            trials[name] += trials_of(turn.recording, turn.recorded_ms)
            progress(f"pictures, {name}: {len(trials[name])} of {self.n_trials}")
        for name, of_page in trials.items():
            errors_ms = [abs(trial.rt_error_ms) for trial in of_page if trial.rt_error_ms is not None]
            exact = statistics.fmean(trial.fixation_frames == round(200 / FRAME_MS) for trial in of_page)
            right = statistics.fmean(error_ms < FRAME_MS / 2 for error_ms in errors_ms)
            p95_ms = statistics.quantiles(errors_ms, n=20, method="inclusive")[-1]
            found.rows.append(
                (name, len(of_page), 100 * exact, 100 * right, statistics.median(errors_ms), p95_ms, max(errors_ms))
            )
            found.summary |= {f"picture_{name}_exact": round(exact, 4), f"picture_{name}_right_frame": round(right, 4)}
        return found

    async def sounds(self, pages: dict[str, str], ear: Loopback) -> Findings:
        """Measure the onset of sounds, and its record."""
        found = Findings(
            "Sounds: fixation of 200 ms, sound with a question until a key",
            ("page", "trials", "onset after the question ms, mean", "SD", "recorded minus true onset ms, mean", "SD",
             "sounds not found"),
        )  # fmt: skip
        trials: dict[str, list[SoundTrial]] = {name: [] for name in pages}
        for name, n_wanted, rng in self._turns(pages):
            with ear.recording() as sounds:
                turn = await self._turn(pages[name], n_wanted, rng, ear)
            trials[name] += sound_trials(turn, sounds.onsets_s())
            progress(f"sounds, {name}: {len(trials[name])} of {self.n_trials}")
        for name, of_page in trials.items():
            onsets_ms = [trial.onset_ms for trial in of_page if trial.onset_ms is not None]
            errors_ms = [
                trial.recorded_ms - trial.onset_ms
                for trial in of_page
                if trial.recorded_ms is not None and trial.onset_ms is not None
            ]
            onset, error = _mean_and_sd(onsets_ms), _mean_and_sd(errors_ms)
            found.rows.append((name, len(of_page), *onset, *error, len(of_page) - len(onsets_ms)))
            found.summary |= {f"sound_{name}_onset_ms": onset[0], f"sound_{name}_onset_sd_ms": onset[1]}
            if errors_ms:
                found.summary |= {
                    f"sound_{name}_record_error_ms": error[0],
                    f"sound_{name}_record_error_sd_ms": error[1],
                }
        return found

    def _turns(self, pages: dict[str, str]) -> Iterator[tuple[str, int, random.Random]]:
        """Yield the pages in random turns, each with its number of trials."""
        rng = random.Random(3)
        for done in range(0, self.n_trials, MOST_PER_TURN):
            for name in rng.sample(list(pages), len(pages)):
                yield name, min(MOST_PER_TURN, self.n_trials - done), rng

    async def _turn(self, url: str, n_wanted: int, rng: random.Random, ear: Loopback | None = None) -> Turn:
        """Take trials in a new browser."""
        options: dict[str, Any] = (
            {"ignore_default_args": ["--mute-audio"], "env": os.environ | ear.environment} if ear else {}
        )
        async with (
            async_playwright() as playwright,
            chromium(playwright, self.executable, **options) as browser,
            visiting(browser) as visitor,
        ):
            await browser.start_tracing(categories=TRACED)
            await visitor.page.goto(url)
            await self.answer(visitor, n_wanted, rng)
            await asyncio.sleep(0.5)  # until the last response is sent
            trace = await browser.stop_tracing()
            return Turn(Recording.of(trace), await visitor.recorded_ms(), visitor.recorded_sounds_ms())


def sound_trials(turn: Turn, onsets_s: Sequence[float]) -> list[SoundTrial]:
    """Return the trials, each with the sound that began around its question. The first trial is left out."""
    recorded_ms = dict(enumerate(turn.sounds_ms))
    questions = [screen for screen in turn.recording.named if screen.name == "stimulus"]
    trials = []
    for number, question in list(enumerate(questions))[1:]:
        shown_s = turn.recording.began_s + question.presented_ms / 1000
        near = [at_s for at_s in onsets_s if SOUND_WINDOW_S[0] < at_s - shown_s < SOUND_WINDOW_S[1]]
        trials.append(SoundTrial(1000 * (near[0] - shown_s) if near else None, recorded_ms.get(number)))
    return trials


def _mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    if len(values) < 2:
        return None, None
    return round(statistics.fmean(values), 3), round(statistics.stdev(values), 3)
