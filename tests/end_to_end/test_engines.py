"""Whole sessions in three browser engines, with interruptions, by keyboard and mouse in turn."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

from equipoise.studies import copy_sample_study, sample_studies
from tests.end_to_end.visitor import NOTHING_WAITS, STAGES
from tests.end_to_end.whole_study import CHECK, PRACTICE, make_whole_study
from tests.engines import Launch, Window
from tests.server_process import running_server
from tests.silent_network import SilentNetwork
from tests.timed_study import CONFIDENCE, MASK, RED, TONE, keypress, make_timed_study, recall

RIGHT_OPTIONS = PRACTICE | {CHECK: 2}
PREDICTIONS = ("absorbed", "west-5", "reflected", "north-1", "east-8", "south-3")
REACTION_S = 0.15
"""Time from a question to its response. A response before the question is on the screen is not accepted."""

SCREEN = f"""(() => {{
  for (const [stage, selector] of Object.entries({json.dumps(STAGES)})) {{
    const found = document.querySelector(selector.split(", ").map((part) => `${{part}}:not([data-walked])`).join(", "));
    if (found === null) continue;
    return {{
      stage,
      prompt: document.querySelector("#prompt")?.innerText,
      text: document.querySelector("#text, #board-in-words")?.innerText,
      n_options: document.querySelectorAll("[data-option]").length,
    }};
  }}
  return null;
}})()"""
"""JavaScript: the stage on the screen, as in `visitor.STAGES`, and its question; null between two stages."""

IN_PRACTICE = "document.querySelector('#position').innerText.startsWith('Practice')"

Input = Literal["key", "mouse"]


class Participant:
    """Takes the steps of a session, in one window after another, and notes each response."""

    def __init__(self) -> None:
        self.window: Window
        self.stages: list[str] = []
        self.given: list[tuple[Any, Input]] = []
        """The responses, in order, with their input devices."""
        self.longest_rt_ms: list[float] = []
        """Upper limits of the response times: the times from the action of one step to the end of the next step."""
        self._last_action_s = time.monotonic()
        self._predictions = cycle(PREDICTIONS)

    def look(self) -> dict[str, Any]:
        """Wait for the next stage and return what is on the screen."""
        screen: dict[str, Any] = self.window.wait_until(SCREEN)
        return screen

    def step(self) -> str:
        """Do what ends the stage on the screen, and return the name of the stage."""
        screen = self.look()
        stage: str = screen["stage"]
        self.stages.append(stage)
        if stage == "end":
            return stage
        by: Input = "key" if len(self.given) % 2 == 0 else "mouse"
        selector = STAGES[stage]
        self.window.evaluate(f"document.querySelector('{selector}').dataset.walked = 1")
        if stage == "trial":
            time.sleep(REACTION_S)
            action_s = time.monotonic()
            self._respond(screen["prompt"], screen["n_options"], by)
            self.longest_rt_ms.append((time.monotonic() - self._last_action_s) * 1000)
        else:
            action_s = time.monotonic()
            if stage == "demographics":
                self.window.click("#question-age")
                self._type("34")
            self._press_button(selector, by)
        self._last_action_s = action_s
        return stage

    def to_trial(self, number: int) -> None:
        """Take steps until this number of trials has a response and the next question is on the screen."""
        while len(self.given) < number or self.look()["stage"] != "trial":
            self.step()

    def to_the_end(self) -> None:
        """Take steps to the last page of a completed session."""
        while self.step() != "end":
            pass
        assert self.window.evaluate("document.querySelector('#completed') !== null")

    def _respond(self, prompt: str, n_options: int, by: Input) -> None:
        n_given = len(self.given)
        response = RIGHT_OPTIONS.get(prompt, n_given % n_options + 1) if n_options else next(self._predictions)
        self.given.append((response, by))
        if by == "mouse":
            kind = "option" if n_options else "port" if "-" in str(response) else "response"
            self.window.click(f"[data-{kind}='{response}']")
            if not n_options:
                self.window.click("#submit-response:enabled")
        elif n_options:
            self._type(str(response))
        else:
            side, _, number = str(response).partition("-")
            self._type([side[0], *number, "Enter"])

    def _type(self, keys: str | list[str]) -> None:
        for key in keys:
            self.window.press(key)

    def _press_button(self, selector: str, by: Input) -> None:
        if by == "mouse":
            self.window.click(selector)
            return
        for _ in range(60):
            if self.window.evaluate(f"document.activeElement.matches('{selector}')"):
                self.window.press("Enter")
                return
            self.window.press("Tab")
        pytest.fail(f"the tab key does not reach {selector}")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, SilentNetwork]]:
    """Serve a study, and return its address and the network between the browser and the server."""
    with running_server(folder) as url, SilentNetwork(int(url.rpartition(":")[2])) as network:
        yield f"http://127.0.0.1:{network.port}/", network


def responses(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with a response."""
    return [row for row in rows if row["received_at"] is not None]


def check_session(rows: list[dict[str, Any]], participant: Participant, fixation_ms: float) -> None:
    """Check that the store has each response as it was entered, with plausible times."""
    assert {(row["status"], row["kind"], row["source"]) for row in rows} == {("completed", "human", "web")}
    assert [(json.loads(row["response"]), row["input"]) for row in rows] == participant.given
    for row, longest_rt_ms in zip(rows, participant.longest_rt_ms, strict=True):
        assert (row["missing"], row["focus_lost"]) == (None, 0)
        assert set(json.loads(row["signals"] or "{}")) <= {"too_fast"}  # a busy machine shows a question late
        assert row["onset_source"] in {"presented", "painted"}
        assert 0 <= row["rt_ms"] < longest_rt_ms  # 0 on a machine that paints after the key press
        frame_ms = row["frame_ms"]
        assert 4 < frame_ms < 60
        assert row["fixation_ms"] > fixation_ms - frame_ms
        assert row["fixation_frames_intended"] == round(fixation_ms / frame_ms)
        assert row["fixation_frames"] == round(row["fixation_ms"] / frame_ms) >= row["fixation_frames_intended"]
        assert 0 <= row["frames_dropped"] <= row["fixation_frames"]
    onsets = [datetime.fromisoformat(row["shown_at"]) for row in rows]
    assert all(one < other for one, other in pairwise(onsets))


@pytest.mark.parametrize("name", [name for name in sample_studies() if name != "showcase"])  # see test_showcase.py
def test_a_sample_study_survives_a_reload_and_a_lost_connection(
    engine: str, launch: Launch, name: str, tmp_path: Path, rows: Any
) -> None:
    folder = tmp_path / "study"
    copy_sample_study(name, folder)
    participant = Participant()
    with served(folder) as (address, network), launch() as participant.window:
        participant.window.goto(address)
        participant.to_trial(3)
        question = participant.look()
        participant.window.reload()
        participant.to_trial(3)
        assert participant.look() == question
        participant.to_trial(5)
        while participant.window.evaluate(IN_PRACTICE):  # its feedback comes from the server
            participant.to_trial(len(participant.given) + 1)
        participant.window.wait_until(NOTHING_WAITS)
        n_online = len(participant.given)
        network.stop()
        participant.to_trial(n_online + 3)
        participant.window.wait_until("document.querySelector('#save-status').innerText.startsWith('Offline')")
        assert len(responses(rows(folder))) == n_online
        network.plug_in()
        participant.to_the_end()
    stored = responses(rows(folder))
    check_session(stored, participant, fixation_ms=200)
    # WebKit's time stamps of frames are whole milliseconds. The store has the times that the browser reported.
    assert all(row["fixation_ms"] % 1 == 0 for row in stored) == (engine == "webkit")
    assert [row["visit"] for row in stored] == [1] * 3 + [2] * (len(stored) - 3)
    assert [row["attempt"] for row in stored] == [1] * 3 + [2] + [1] * (len(stored) - 4)


def test_a_study_with_every_part_survives_a_killed_browser(
    launch: Launch, tmp_path: Path, rows: Any, query: Any, edit: Any
) -> None:
    folder = make_whole_study(tmp_path / "study")
    edit(folder / "study.yaml", "recruitment:\n", "recruitment:\n  entry: panel\n")
    participant = Participant()
    with served(folder) as (address, _network):
        panel_address = f"{address}?PROLIFIC_PID=5f3a9c0d12ab34cd56ef7890&STUDY_ID=s&SESSION_ID=x"
        with launch() as participant.window:
            participant.window.goto(panel_address)
            participant.to_trial(4)
            participant.window.wait_until(NOTHING_WAITS)
            question = participant.look()
        with launch() as participant.window:
            participant.window.goto(panel_address)
            participant.to_trial(4)
            assert participant.look() == question
            participant.to_the_end()
            assert participant.window.evaluate("document.querySelector('#completion-code').innerText") == "DONE2026"
    stored = responses(rows(folder))
    check_session(stored, participant, fixation_ms=100)
    assert [row["visit"] for row in stored] == [1] * 4 + [2] * (len(stored) - 4)
    assert {"consent", "demographics", "full screen", "page"} <= set(participant.stages)
    (session,) = query(folder, "SELECT demographics FROM sessions")
    assert json.loads(session["demographics"])["answers"]["age"] == 34


def test_screens_fast_responses_recall_and_confidence_are_stored(launch: Launch, tmp_path: Path, rows: Any) -> None:
    masked: dict[str, Any] = {"stimulus": [RED], "stimulus_ms": 50, "mask": [MASK], "mask_ms": 100}
    screens = [{"parts": [RED], "duration_ms": 50}, {"parts": [MASK, TONE], "duration_ms": 100}, {"parts": [RED]}]
    items = [
        keypress("masked", "word", prompt="masked", screens=screens, **masked),
        keypress("no-go", "none", prompt="no-go", window_ms=500, withhold=True),
        recall("recall", ["apple", "house"]),
    ]
    folder = make_timed_study(tmp_path / "study", items, CONFIDENCE)
    asked = "document.querySelector('#stimulus:not(.confidence) #prompt')?.innerText"
    given = {}
    with served(folder) as (address, _network), launch() as window:
        window.goto(address)
        for _ in range(2):
            window.wait_until("document.querySelector('#page-next:not([data-walked])') !== null")
            window.evaluate("document.querySelector('#page-next').dataset.walked = 1")
            window.click("#page-next")
            time.sleep(0.6)  # sooner, the second click belongs to a double click
        for number in range(1, 4):
            window.wait_until(f"({asked}) || document.querySelector('#screen-continue') !== null")
            if not window.evaluate(asked):
                time.sleep(REACTION_S)
                window.press(" ")
            item_id = window.wait_until(asked)
            time.sleep(4 * REACTION_S if item_id == "masked" else REACTION_S)
            for key in {"masked": ["f"], "no-go": [], "recall": [*"house", "Enter", *"apple", "Enter"]}[item_id]:
                window.press(key)
            if item_id == "recall":
                window.click("#submit-response")
            window.wait_until("document.querySelector('.confidence') !== null")
            time.sleep(REACTION_S)
            window.press(str(number))
            given[item_id] = number
            window.wait_until("document.querySelector('.confidence') === null")
        window.wait_until("document.querySelector('#completed') !== null")
    stored = {row["item_id"]: row for row in responses(rows(folder))}
    assert {item_id: json.loads(row["response"]) for item_id, row in stored.items()} == {
        "masked": "word",
        "no-go": "none",
        "recall": ["house", "apple"],
    }
    assert {item_id: row["confidence"] for item_id, row in stored.items()} == given
    presentation = json.loads(stored["masked"]["presentation"])
    frame_ms = stored["masked"]["frame_ms"]
    timed = [*presentation["screens"][:2], presentation["stimulus"], presentation["mask"]]
    for shown, duration_ms in zip(timed, (50, 100, 50, 100), strict=True):
        assert shown["frames_intended"] == round(duration_ms / frame_ms)
        assert shown["frames"] == round(shown["duration_ms"] / frame_ms) >= shown["frames_intended"]
    assert "frames_intended" not in presentation["screens"][2]
