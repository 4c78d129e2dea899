"""A participant in a real window, who gives a planned answer to each item with real key presses and clicks."""

import json
import sqlite3
import time
from contextlib import closing

from PIL import Image

from experiment.lab.progress import SessionProgress
from experiment.lab.requirements import sheet_for
from experiment.lab.screens.trial import trial
from experiment.lab.screens.trial_header import TrialMoment
from experiment.load_study import load_study
from experiment.plan import Phase, plan_session
from tests.experiment.lab.window_processes import equipoise_command

PATIENCE_S = 100
HELD_S = 0.02
NAMES = {" ": "space", ".": "period", ",": "comma", "-": "minus", "!": "exclam", "\n": "Return"}
"""X's names of the keys of some characters."""


class ScriptedParticipant:
    """One session of a study. `answers` has the keys of each item; `("click", region)` clicks on a region instead,
    and `("wait", seconds)` waits.
    """

    def __init__(self, screen, fingers, folder, answers, size_px=(1024, 768), confidence_key=None):
        self.confidence_key = confidence_key
        self.screen, self.fingers, self.folder, self.answers = screen, fingers, folder, answers
        self.study = load_study(folder)
        self.sheet = sheet_for(self.study, size_px)
        self.size_px = size_px
        self.shots = {}
        self._n_between = 0

    def run(self, environment=None, options=()):
        """Take the whole session, and return the stored responses."""
        output = self.folder / "output"
        arguments = ["lab", str(self.folder), "--participant", "P01", *options]
        process = equipoise_command(self.screen.display, self.screen.group, arguments, output, environment)
        deadline_s, answered, plan = time.monotonic() + PATIENCE_S, -1, None
        self.last_change_s = time.monotonic()
        while process.is_alive():
            assert time.monotonic() < deadline_s, "the session does not end"
            begun = self.last_begun()
            if begun > answered:
                plan = plan or self.plan()
                answered = begun
                self.answer(plan.trials[begun])
                self.last_change_s = time.monotonic()
            elif time.monotonic() - self.last_change_s > 0.8:  # A page, or feedback.
                self.fingers.press(self.key_between_trials(has_begun=plan is not None), HELD_S)
                self.last_change_s = time.monotonic()
            time.sleep(0.01)
        assert process.exitcode == 0, output.read_text()
        return self.rows()

    def output(self):
        """Return what the command has printed."""
        return (self.folder / "output").read_text()

    def key_between_trials(self, has_begun):
        """Return one key. A second key at once could come when the next trial is on the screen already."""
        keys = [*([self.confidence_key] if self.confidence_key else []), "space", *([] if has_begun else ["1"])]
        self._n_between += 1
        return keys[self._n_between % len(keys)]

    def answer(self, shown):
        """Give the answer to a trial; take a picture of the screen before the last key."""
        item = self.study.battery.by_id[shown.item_id]
        *keys, last = self.answers[item.item_id]
        time.sleep(0.12)
        for key in keys:
            self.act(item, key)
        time.sleep(0.12)
        self.shots[item.item_id] = self.shot()
        if last is not None:
            self.act(item, last)

    def act(self, item, key):
        if isinstance(key, tuple) and key[0] == "wait":
            time.sleep(key[1])
            return
        if isinstance(key, tuple):
            self.fingers.click(*self.place(item, key[1]))
            time.sleep(0.04)
            return
        is_shifted = len(key) == 1 and (key.isupper() or key == "!")
        held = ["Control_L"] if key.startswith("ctrl+") else ["Shift_L"] if is_shifted else []
        for modifier in held:
            self.fingers.hold(modifier, True)
        self.fingers.press(NAMES.get(key, key.removeprefix("ctrl+")), HELD_S)
        for modifier in held:
            self.fingers.hold(modifier, False)
        time.sleep(0.03)

    def place(self, item, region):
        """Return the middle of a region of an item's screen."""
        picture = self.picture(item)
        left, top, right, bottom = next(each.box_px for each in picture.regions if each.name == region)
        return (left + right) // 2, (top + bottom) // 2

    def picture(self, item, **moment):
        """Return the image that the window must show for an item."""
        timing = self.study.definition.timing
        deadline_ms = None if self.trial_of(item).phase is Phase.PRACTICE else timing.deadline_ms
        bounds = TrialMoment(
            progress=self.progress_of(item), reading_ms=timing.reading_ms, deadline_ms=deadline_ms, **moment
        )
        return trial(self.sheet, item.item_id, item.task, item.content, bounds)

    def trial_of(self, item):
        return next(each for each in self.plan().trials if each.item_id == item.item_id)

    def progress_of(self, item):
        return SessionProgress(self.study, self.plan(), 0).position(self.trial_of(item))

    def plan(self):
        with closing(self.store()) as store:
            group, seed = store.execute('SELECT "group", seed FROM sessions').fetchone()
        return plan_session(self.study, group, seed)

    def shot(self):
        """Return what is on the screen."""
        width, height = self.size_px
        root = self.fingers.root
        data = root.get_image(0, 0, width, height, 2, 0xFFFFFFFF).data
        return Image.frombytes("RGB", (width, height), bytes(data), "raw", "BGRX")

    def store(self):
        return sqlite3.connect(f"file:{self.folder / 'data' / 'equipoise.db'}?mode=ro", uri=True)

    def last_begun(self):
        files = list((self.folder / "data" / "lab").glob("*_begun.jsonl"))
        lines = files[0].read_text().splitlines() if files else []
        return json.loads(lines[-1])["trial_index"] if lines else -1

    def rows(self):
        """Return each stored response as a dictionary, by item."""
        plan = self.plan()
        with closing(self.store()) as store:
            store.row_factory = sqlite3.Row
            rows = store.execute("SELECT * FROM responses ORDER BY trial_index").fetchall()
        decoded = [
            dict(row) | {name: json.loads(row[name]) for name in ("response", "presentation") if row[name] is not None}
            for row in rows
        ]
        return {plan.trials[row["trial_index"]].item_id: row for row in decoded}
