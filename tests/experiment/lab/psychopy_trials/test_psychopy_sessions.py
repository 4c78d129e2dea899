"""Whole sessions with trials that the classes of the how-to page draw, in a real window with real presses."""

import csv
import json
import os
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.experiment.lab.window_processes import equipoise_command
from tests.psychopy_study import make_psychopy_study, psychopy_item, tilt

pytestmark = pytest.mark.lab

ESCAPE_AND_STAY = ["Escape", ("wait", 0.4), "1", ("wait", 0.9)]
ON_THE_BAR = ("point", 512 + 100, 384 + 140)
"""The place of brightness 0.5, in px from the top left."""
ITEMS = [
    tilt("practice-1", 5),
    tilt("tilt-1", -3),
    tilt("tilt-2", 3),
    psychopy_item("bright-1", "brightness", None, {"standard": 0.2, "start": -0.4}),
    psychopy_item("bright-2", "brightness", None, {"standard": 0.2, "start": 0.4}),
]
ANSWERS = {
    "practice-1": (["Right"], "right", "key"),
    "tilt-1": ([*ESCAPE_AND_STAY, "Left"], "left", "key"),
    "tilt-2": (["x", ("wait", 0.3), "Left"], "left", "key"),
    "bright-1": (["Right", "Right", "Left", "space"], {"response": -0.35, "n_presses": 3}, "key"),
    "bright-2": ([("point", 512, 100), ON_THE_BAR, "Right", "space"], {"response": 0.55, "n_presses": 2}, "key"),
}


class Participant(ScriptedParticipant):
    """A participant who also clicks on points of the window: `("point", x_px, y_px)`."""

    def act(self, item, key):
        if isinstance(key, tuple) and key[0] == "point":
            self.fingers.click(*key[1:])
            time.sleep(0.04)
        else:
            super().act(item, key)


@pytest.fixture(scope="module")
def session(screen, fingers, tmp_path_factory):
    """Take a session; return the participant and the stored responses."""
    folder = make_psychopy_study(tmp_path_factory.mktemp("own") / "study", ITEMS)
    answers = {name: keys for name, (keys, *_) in ANSWERS.items()}
    participant = Participant(screen, fingers, folder, answers)
    return participant, participant.run()


def test_each_response_of_a_class_is_stored_and_scored(session):
    participant, rows = session
    assert {name: row["response"] for name, row in rows.items()} == {
        name: response for name, (_, response, _) in ANSWERS.items()
    }
    assert {name: row["input"] for name, row in rows.items()} == {name: given for name, (*_, given) in ANSWERS.items()}
    items = participant.study.battery.by_id
    correct = {name: items[name].score(row["response"]) for name, row in rows.items()}
    assert {name: score and score.correct for name, score in correct.items()} == {
        "practice-1": True, "tilt-1": True, "tilt-2": False, "bright-1": None, "bright-2": None,
    }  # fmt: skip


def test_a_trial_of_a_class_has_the_timing_and_the_events_of_every_trial(session):
    participant, rows = session
    for name, row in rows.items():
        frame_ms, events = row["frame_ms"], row["presentation"]["events"]
        assert [event["event"] for event in events] == ["fixation", "stimulus", "response"], name
        onset_us = events[1]["onset_us"]
        assert (events[2]["onset_us"] - onset_us) / 1000 == pytest.approx(row["rt_ms"], abs=0.01)
        assert (onset_us - events[0]["onset_us"]) / 1000 == pytest.approx(row["fixation_ms"], abs=0.01)
        assert abs(row["fixation_ms"] - 200) < (row["frames_dropped"] + 1) * frame_ms
        drawn = row["presentation"]["drawn"]
        n_possible = row["rt_ms"] / frame_ms
        assert 0.5 * n_possible <= drawn["frames"] + drawn["dropped"] <= 1.2 * n_possible + 3, name
    assert rows["tilt-2"]["rt_ms"] > 400, "the key x is none of the class's keys"
    (table,) = (participant.folder / "data" / "lab" / "events").glob("*.tsv")
    events = csv.DictReader(table.read_text().splitlines(), delimiter="\t")
    assert sum(row["trial_type"] == "stimulus" for row in events) == len(ANSWERS) + 1, "tilt-1 was shown twice"


def test_escape_repeats_the_trial_from_its_fixation(session):
    _, rows = session
    assert {name: row["attempt"] for name, row in rows.items()} == {name: 1 + (name == "tilt-1") for name in ANSWERS}


def test_the_participant_sees_the_stimulus_on_the_background(session):
    participant, _ = session
    middle = participant.shots["tilt-1"].crop((462, 334, 562, 434)).getcolors(100_000)
    assert len(middle) > 100, "a Gabor patch has many shades of grey"
    assert participant.shots["tilt-1"].crop((0, 0, 1024, 150)).getcolors() == [(1024 * 150, (255, 255, 255))]
    assert participant.shots["bright-2"].getpixel((512 + 120, 384 - 60)) == (198, 198, 198), "brightness 0.55"


BRITTLE = """
from equipoise import PsychoPyTrial
from psychopy import visual


class Brittle(PsychoPyTrial):
    keys = {"f": "a", "j": "b"}

    def __init__(self, window, parameters):
        self.dot = visual.Circle(window, radius=50)
        self.fails_at_ms = parameters["fails_at_ms"]

    def draw(self, t_ms):
        if t_ms > self.fails_at_ms:
            raise ValueError("no more frames")
        self.dot.draw()
"""


def test_a_killed_session_resumes_and_a_class_that_fails_keeps_all_responses(screen, fingers, tmp_path):
    """The first trials are answered, the program is killed, and in the next visit the class fails in a trial."""
    lasting = [psychopy_item(f"a{n}", "brittle", None, {"fails_at_ms": 1e9}) for n in range(3)]
    failing = psychopy_item("z", "brittle", None, {"fails_at_ms": 300})
    codes = {"brittle": ("brittle.py", "Brittle", BRITTLE)}
    order = "order: {sequence: {of: [topic], by: n}}\n"
    items = [item | {"factors": {"topic": "test", "n": n}} for n, item in enumerate([*lasting, failing])]
    folder = make_psychopy_study(tmp_path / "study", items, order, codes)
    output, store = tmp_path / "output", folder / "data" / "equipoise.db"

    def rows():
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as opened:
            return opened.execute("SELECT trial_index, attempt, response FROM responses ORDER BY 1").fetchall()

    def begun():
        (log,) = [*(folder / "data" / "lab").glob("*_begun.jsonl")] or [None]
        return [json.loads(line)["trial_index"] for line in log.read_text().splitlines() if line] if log else []

    def visit(press_until):
        process = equipoise_command(screen.display, screen.group, ["lab", str(folder), "--participant", "P01"], output)
        deadline_s = time.monotonic() + 40
        while process.is_alive() and not press_until():
            assert time.monotonic() < deadline_s, output.read_text()
            fingers.press("f" if begun() and process.is_alive() else "1", 0.02)
            fingers.press("space", 0.02)
            time.sleep(0.1)
        return process

    process = visit(lambda: store.exists() and len(begun()) >= 2 and len(rows()) >= 1)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    n_stored = len(rows())
    assert 1 <= n_stored <= 3
    process = visit(lambda: 3 in begun())
    time.sleep(1)  # The class fails after 0.3 s; the participant then reads a page.
    while process.is_alive():
        fingers.press("space", 0.02)
        time.sleep(0.1)
    assert process.exitcode == 2
    stored = rows()
    assert [row[::2] for row in stored] == [(index, '"a"') for index in range(3)]
    assert max(row[1] for row in stored) <= 2
    printed = output.read_text()
    sentence = (
        f"Error: {folder / 'brittle.py'}, line 15: `Brittle.draw` of the item `z` failed (ValueError: no more frames)"
    )
    assert sentence in printed and "Traceback" not in printed
