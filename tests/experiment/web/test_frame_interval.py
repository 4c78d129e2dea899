"""The estimate of the display's frame interval, from synthetic time stamps with a known interval."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.experiment.web.node_program import NodeProgram

MEASURE = """
import { estimateInterval, usualInterval_ms } from "./src/timing/frame-interval";
import { FrameMeter } from "./src/timing/frame-meter";

// Passes the time stamps to the page's measurement, as a browser does. Returns what is used after each check.
async function measured(stamps_ms, checks) {
  let callbacks = [];
  globalThis.requestAnimationFrame = (callback) => callbacks.push(callback);
  const meter = new FrameMeter();
  const used = [];
  let known = false;
  void meter.known().then(() => (known = true));
  for (const [index, stamp_ms] of [0, ...stamps_ms].entries()) {
    callbacks.splice(0).forEach((callback) => callback(stamp_ms));
    if (checks.includes(index)) {
      await new Promise((resolve) => setTimeout(resolve));
      used.push(known ? meter.used_ms : null);
    }
  }
  return { used, measured: meter.measured_ms };
}

let text = "";
process.stdin.on("data", (part) => (text += part)).on("end", async () => {
  const { stamps, checks } = JSON.parse(text);
  const estimates = stamps.map((some) => estimateInterval(some)?.interval_ms ?? null);
  const usual = estimates.map((estimate) => (estimate === null ? null : usualInterval_ms(estimate)));
  console.log(JSON.stringify({ estimates, usual, meter: await measured(stamps[0], checks) }));
});
"""
Measure = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """Run the client's code on lists of time stamps, in Node."""
    program = NodeProgram(MEASURE, tmp_path_factory.mktemp("measure"))

    def run(*stamps: list[float], checks: tuple[int, ...] = ()) -> dict[str, Any]:
        return program.run({"stamps": stamps, "checks": checks})  # type: ignore[no-any-return]

    return run


def frames(
    hz: float,
    n: int = 60,
    seed: int = 1,
    whole_ms: bool = False,
    jitter: float = 0,
    late: float = 0,
    dropped: float = 0,
    start_ms: float = 1234.567,
) -> list[float]:
    """Return time stamps of a display.

    `jitter` is the largest error of a time stamp, `late` is the share of frames that are late by 0.5 to 0.8 frames, and
    `dropped` is the share of missing frames. `jitter` is a share of the frame interval.
    """
    noise, stamps = random.Random(seed), []
    for number in range(n):
        delay = noise.uniform(-jitter, jitter) + (noise.uniform(0.5, 0.8) if noise.random() < late else 0)
        stamp = start_ms + (number + delay) * 1000 / hz
        if number == 0 or noise.random() >= dropped:
            stamps.append(float(int(stamp)) if whole_ms else stamp)
    return stamps


RATES = (30, 48, 50, 60, 72, 75, 90, 100, 120, 144, 165, 240)
CLOCKS: dict[str, dict[str, Any]] = {
    "exact": {},
    "whole milliseconds": {"whole_ms": True},
    "jitter": {"jitter": 0.2},
    "late frames": {"late": 0.15},
    "dropped frames": {"dropped": 0.3},
    "most frames dropped": {"dropped": 0.6},
    "all of these": {"whole_ms": True, "jitter": 0.15, "late": 0.1, "dropped": 0.2},
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_rate_of_a_display_is_found_within_two_seconds(measure: Measure, clock: str) -> None:
    cases = [(hz, seed) for hz in RATES for seed in range(6)]
    found = measure(*(frames(hz, n=max(60, hz), seed=seed, **CLOCKS[clock]) for hz, seed in cases))
    wrong = {
        (hz, seed): 1000 / interval_ms
        for (hz, seed), interval_ms in zip(cases, found["usual"], strict=True)
        if round(1000 / interval_ms) != hz
    }
    assert wrong == {}
    for (hz, _), interval_ms in zip(cases, found["usual"], strict=True):
        assert round(200 / interval_ms) == round(200 * hz / 1000)


def test_a_rate_that_no_usual_display_has_is_not_changed(measure: Measure) -> None:
    found = measure(frames(66, n=300), frames(61, n=300, whole_ms=True), frames(59.94, n=600))
    assert [round(1000 / interval_ms, 1) for interval_ms in found["usual"]] == [66, 61, 59.9]


def test_a_clock_that_is_too_coarse_gives_no_estimate(measure: Measure) -> None:
    coarse = [float(int(stamp / 100) * 100) for stamp in frames(60, n=120)]
    found = measure(coarse, checks=(110,))
    assert found["estimates"] == [None]
    assert found["meter"] == {"used": [1000 / 60], "measured": None}


def test_nothing_is_known_before_enough_frames_and_a_pause_begins_again(measure: Measure) -> None:
    first = frames(60, n=20)
    after_pause = frames(60, n=300, start_ms=first[-1] + 60_000.3)
    found = measure([*first, *after_pause], checks=(15, 50, 300))
    assert found["meter"]["used"] == [None, None, 1000 / 60]


def test_the_interval_changes_only_with_the_display(measure: Measure) -> None:
    """The window moves from a screen of 60 Hz to one of 144 Hz; before, a busy second has most frames late."""
    calm = frames(60, n=300, whole_ms=True)
    busy = frames(60, n=60, jitter=0.4, dropped=0.5, start_ms=calm[-1] + 17)
    other = frames(144, n=400, whole_ms=True, start_ms=busy[-1] + 40)
    n = len(calm) + len(busy)
    found = measure([*calm, *busy, *other], checks=(290, n, n + 60, n + 390))
    assert found["meter"]["used"] == [1000 / 60, 1000 / 60, 1000 / 60, 1000 / 144]
    assert round(1000 / found["meter"]["measured"], 1) == 144
