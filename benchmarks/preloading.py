"""Loading of pictures during a session, on a slow line and with a lost connection.

    .venv/bin/python -m benchmarks.preloading
    .venv/bin/python -m benchmarks.preloading --pictures 60 --pace-s 0.5

A study with 500 pictures of 200 KB, one in each trial, on a real server. A participant in Chromium with an empty cache
has a line of 10 Mbit/s with a latency of 40 ms, looks at each picture for the pace, and presses a key. The script
counts the trials that waited for their picture, and measures how long. In a second session, the browser is offline for
20 s from the second trial on, while pictures are loading. In a third session, the participant presses a key after
0.1 s, which is nearly as fast as the line can be.

The whole run takes about an hour. It needs Chromium. A table comes at the end, and one JSON line last.
"""

import argparse
import asyncio
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import Browser, Page, async_playwright

from benchmarks import ours
from benchmarks.load import HOST
from benchmarks.parts import Findings, progress
from benchmarks.peers import cache_folder
from benchmarks.screens import FLAGS, VIEWPORT
from benchmarks.webtiming import CHROMIUM_NAMES, free_port

LINE_MBIT_PER_S = 10.0
LATENCY_MS = 40
OFFLINE_S = 20.0
FAST_PACE_S = 0.1
PICTURE_PX = 258
"""A PNG of random pixels cannot be compressed: 258 x 258 pixels have 200 KB."""
KEY = "2"
PATIENCE_MS = 120_000

WAITS = """(() => {
  // Notes when the page begins and ends to show that a trial waits for its files.
  window.waits = [];
  let since = null;
  new MutationObserver(() => {
    const waiting = document.querySelector("#loading") !== null;
    if (waiting && since === null) since = performance.now();
    if (!waiting && since !== null) {
      window.waits.push(performance.now() - since);
      since = null;
    }
  }).observe(document, {subtree: true, childList: true});
})()"""

STUDY = """\
study: preloading
version: "1.0"
title: Pictures
battery: battery.jsonl
design: {method: deal, groups: 1, balance: [topic]}
timeline: {instructions: [instructions.md]}
timing: {fixation_ms: 200}
recruitment: {entry: open}
"""


@dataclass(frozen=True)
class Session:
    """Measurements of one session."""

    n_trials: int
    waits_ms: list[float]
    """Waiting times of the trials that waited."""
    seconds: float
    heap_mb: float
    """Largest heap of the page's JavaScript."""
    memory_mb: float
    """Largest memory of the whole browser, shared memory counted in shares (PSS)."""


def main() -> None:
    """Run the three sessions."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=500, help="pictures, one in each trial")
    parser.add_argument("--pace-s", type=float, default=3.0, help="seconds from a picture to its key")
    options = parser.parse_args()
    executable = os.environ.get("EQUIPOISE_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        sys.exit("no Chromium or Chrome was found. Fix: install one, or set EQUIPOISE_CHROMIUM to its path")
    cache_folder().mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="run-", dir=cache_folder())))
        picture_kb = make_study(folder / "study", options.pictures) / 1000
        port = free_port()
        stack.enter_context(ours.server(folder / "study", port))
        found = asyncio.run(measure(executable, f"http://{HOST}:{port}/", options.pictures, options.pace_s))
    s_per_picture = picture_kb * 8 / 1000 / LINE_MBIT_PER_S
    found.notes.append(
        f"{options.pictures} pictures of {picture_kb:.0f} KB at {LINE_MBIT_PER_S:g} Mbit/s: at best "
        f"{options.pictures * s_per_picture:.0f} s, {s_per_picture:.2f} s per picture"
    )
    print(found.text())  # noqa: T201
    print(json.dumps(found.summary))  # noqa: T201


def make_study(folder: Path, n_pictures: int) -> float:
    """Write a study with a picture in each trial. Return the mean size of a picture in bytes."""
    (folder / "assets").mkdir(parents=True)
    rng = random.Random(1)
    lines: list[dict[str, Any]] = [{"battery": "preloading", "version": "1.0"}]
    total = 0
    for number in range(n_pictures):
        file = io.BytesIO()
        noise = Image.frombytes("RGB", (PICTURE_PX, PICTURE_PX), rng.randbytes(3 * PICTURE_PX**2))
        noise.save(file, "PNG", compress_level=1)
        total += len(file.getvalue())
        name = f"assets/{number}.png"
        (folder / name).write_bytes(file.getvalue())
        content = {
            "stimulus": [{"image": name, "alt": f"Noise {number}"}],
            "prompt": "Noise?",
            "options": ["no", "yes"],
        }
        item = {"item_id": f"i{number}", "task": "multiple_choice", "factors": {"topic": "noise"}, "content": content}
        lines.append(item | {"key": 2})
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "instructions.md").write_text("# Welcome\n", encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return total / n_pictures


async def measure(executable: str, url: str, n_trials: int, pace_s: float) -> Findings:
    """Take three sessions, each in a new browser. Return a table with a row for each."""
    found = Findings(
        "Pictures that load during a session",
        ("session", "trials", "trials that waited", "longest wait s", "all waits s", "duration s", "JS heap MB",
         "browser MB"),
    )  # fmt: skip
    sessions = (
        ("as_people", f"a key after {pace_s:g} s", pace_s, 0.0),
        ("offline", f"a key after {pace_s:g} s, offline for {OFFLINE_S:g} s", pace_s, OFFLINE_S),
        ("fast", f"a key after {FAST_PACE_S:g} s", FAST_PACE_S, 0.0),
    )
    for name, words, pace, offline_s in sessions:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
            session = await take(browser, url, n_trials, pace, offline_s)
            await browser.close()
        waits_s = [wait_ms / 1000 for wait_ms in session.waits_ms]
        found.rows.append(
            (words, session.n_trials, len(waits_s), max(waits_s, default=0.0), sum(waits_s), session.seconds,
             session.heap_mb, session.memory_mb)
        )  # fmt: skip
        found.summary |= {f"{name}_trials_that_waited": len(waits_s), f"{name}_waits_s": round(sum(waits_s), 2)}
        progress(f"{words}: {len(waits_s)} of {session.n_trials} trials waited")
    return found


async def take(browser: Browser, url: str, n_trials: int, pace_s: float, offline_s: float) -> Session:
    """Take a session. The browser is offline for some seconds from the second trial on."""
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.add_init_script(WAITS)
    devtools = await context.new_cdp_session(page)
    await devtools.send("Network.enable")
    bytes_per_s = LINE_MBIT_PER_S * 1e6 / 8
    line = {"latency": LATENCY_MS, "downloadThroughput": bytes_per_s, "uploadThroughput": bytes_per_s}

    async def set_line(is_offline: bool) -> None:
        await devtools.send("Network.emulateNetworkConditions", {**line, "offline": is_offline})

    await set_line(is_offline=False)
    await page.goto(url)
    await page.click("#page-next")
    await page.click("#page-next:text-is('Begin')")
    began = time.monotonic()
    heap_mb = memory_mb = 0.0
    back_online: asyncio.Task[None] | None = None
    for number in range(n_trials):
        await page.wait_for_selector("#stimulus:not([data-answered])", timeout=PATIENCE_MS)
        await page.evaluate("document.querySelector('#stimulus').dataset.answered = 1")
        if offline_s and number == 1:
            await set_line(is_offline=True)
            back_online = asyncio.create_task(_later(offline_s, set_line))
        if number % 10 == 0:
            heap_mb, memory_mb = max(heap_mb, await _heap_mb(page)), max(memory_mb, await _memory_mb(browser))
        await asyncio.sleep(pace_s)
        await page.keyboard.press(KEY)
    if back_online is not None:
        await back_online
    await page.wait_for_selector("#completion-code", timeout=PATIENCE_MS)
    seconds = time.monotonic() - began
    waits_ms: list[float] = await page.evaluate("window.waits")
    await context.close()
    return Session(n_trials, waits_ms, seconds, heap_mb, memory_mb)


async def _later(wait_s: float, set_line: Any) -> None:
    await asyncio.sleep(wait_s)
    await set_line(is_offline=False)


async def _heap_mb(page: Page) -> float:
    bytes_: int = await page.evaluate("performance.memory?.usedJSHeapSize ?? 0")
    return bytes_ / 1e6


async def _memory_mb(browser: Browser) -> float:
    """Return the memory of all processes of a browser."""
    session = await browser.new_browser_cdp_session()
    processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
    await session.detach()
    total_kb = 0
    for process in processes:
        rollup = Path(f"/proc/{process['id']}/smaps_rollup")
        lines = rollup.read_text(encoding="ascii").splitlines() if rollup.exists() else []
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1000


if __name__ == "__main__":
    main()
