"""Whole sessions of the command line in a real window, with real key presses, also killed again and again."""

import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import cycle

import pytest

from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.experiment.lab.xvfb import ROOT

KEYS = ("1", "Right", "a", "Return")
"""Whatever is on the screen, one of them goes on: agrees, turns the page, chooses, or hands the answer in."""
PAUSE_S = 0.09
PATIENCE_S = 240


@pytest.fixture
def laboratory(screen, fingers, tmp_path):
    """Return a function that begins a participant's session in a window, and the fingers that take it."""

    class Laboratory:
        folder = tmp_path / "study"

        def begin(self):
            with (tmp_path / "told").open("a") as told:
                return subprocess.Popen(
                    [sys.executable, "-m", "equipoise", "lab", str(self.folder), "--participant", "P01"],
                    env=os.environ
                    | {"DISPLAY": screen.display, "HOME": str(screen.home), "PYTHONPATH": str(ROOT)}
                    | {"LIBGL_ALWAYS_SOFTWARE": "1"},
                    stdout=told,
                    stderr=subprocess.STDOUT,
                    process_group=screen.group,
                )

        @property
        def told(self):
            return (tmp_path / "told").read_text()

        def press_while(self, process, until=lambda: False):
            """Press all keys in turn until the program has ended, or something else has come about."""
            begun = time.monotonic()
            for key in cycle(KEYS):
                if process.poll() is not None or until():
                    return
                assert time.monotonic() - begun < PATIENCE_S, "the session does not come to its end"
                fingers.press(key)
                time.sleep(PAUSE_S)

        def rows(self):
            """Return trial index, attempt and response of what is in the store."""
            path = self.folder / "data" / "equipoise.db"
            if not path.exists():
                return []
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
                if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'responses'").fetchone():
                    return []
                return store.execute("SELECT trial_index, attempt, response FROM responses ORDER BY 1, 2").fetchall()

        def last_begun(self):
            """Return the index of the trial that was begun last, or -1."""
            files = list((self.folder / "data" / "lab").glob("*_begun.jsonl"))
            lines = files[0].read_text().splitlines() if files else []
            return json.loads(lines[-1])["trial_index"] if lines else -1

    return Laboratory()


@pytest.mark.parametrize("name", ["blackbox-predict", "intuition-single"])
def test_a_whole_session_of_each_task(laboratory, name):
    copy_sample_study(name, laboratory.folder)
    process = laboratory.begin()
    laboratory.press_while(process)
    assert process.returncode == 0, laboratory.told
    assert "P01 completed the session." in laboratory.told
    study = load_study(laboratory.folder)
    with closing(sqlite3.connect(study.store_path)) as store:
        group, seed, status = store.execute('SELECT "group", seed, status FROM sessions').fetchone()
        timings = store.execute("SELECT rt_ms, fixation_ms, frame_ms, onset_source, input FROM responses").fetchall()
    assert status == "completed"
    plan = plan_session(study, group, seed)
    assert [row[0] for row in laboratory.rows()] == list(range(len(plan.trials)))
    for rt_ms, fixation_ms, frame_ms, onset_source, input_ in timings:
        assert 0 < rt_ms < 60_000 and (onset_source, input_) == ("flip", "key")
        assert abs(fixation_ms - 200) < 10 * frame_ms
    (table,) = (laboratory.folder / "data" / "lab").glob("*.csv")
    assert table.read_bytes().startswith(b"\xef\xbb\xbf"), "Excel wants a byte-order mark"
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item_id"] for row in rows] == [trial.item_id for trial in plan.trials]
    assert all(row["participant"] == "P01" and 0 < float(row["key_resp.rt"]) < 60 for row in rows)


def test_killed_at_ten_moments_it_loses_at_most_the_trial_on_the_screen(laboratory):
    copy_sample_study("blackbox-predict", laboratory.folder)
    rng = random.Random(7)
    for _ in range(10):
        process = laboratory.begin()
        n_before = len(laboratory.rows())
        due = [None]

        def is_time(due=due, n_before=n_before):
            # Somewhere within the trial that follows the first answer or two of this visit.
            if due[0] is None and len(laboratory.rows()) > n_before:
                due[0] = time.monotonic() + rng.uniform(0, 1.2)
            return due[0] is not None and time.monotonic() > due[0]

        laboratory.press_while(process, is_time)
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows = laboratory.rows()
        assert [row[0] for row in rows] == list(range(len(rows))), "every answer once, and none left out"
        assert len(rows) >= laboratory.last_begun(), "at most the trial on the screen is missing"
    process = laboratory.begin()
    laboratory.press_while(process)
    assert process.returncode == 0, laboratory.told
    study = load_study(laboratory.folder)
    with closing(sqlite3.connect(study.store_path)) as store:
        ((group, seed, status, n_sessions),) = store.execute(
            'SELECT "group", seed, status, (SELECT COUNT(*) FROM sessions) FROM sessions'
        ).fetchall()
    assert (status, n_sessions) == ("completed", 1)
    assert [row[0] for row in laboratory.rows()] == list(range(len(plan_session(study, group, seed).trials)))
