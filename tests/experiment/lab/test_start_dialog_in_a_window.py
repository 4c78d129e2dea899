"""The start dialog in a real window of the usual size."""

import json
import sqlite3
import time
from contextlib import closing

import pytest
from PIL import Image

from tests.experiment.lab.window_processes import equipoise_command
from tests.timed_study import choice, make_timed_study

pytestmark = pytest.mark.lab

PATIENCE_S = 60
SCREEN_PX = (1024, 768)
WINDOW_PX = (922, 691)
"""90 % of the screen, because this screen is smaller than the usual window."""


def test_the_experimenter_begins_a_session_with_the_keyboard(screen, fingers, tmp_path):
    folder, output = make_timed_study(tmp_path / "study", [choice("q1")], ""), tmp_path / "output"
    output.touch()
    process = equipoise_command(screen.display, screen.group, ["lab", str(folder), "--windowed"], output)

    def until(condition):
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert process.is_alive() and time.monotonic() < deadline_s, output.read_text()
            time.sleep(0.05)

    def shot():
        data = fingers.root.get_image(0, 0, *SCREEN_PX, 2, 0xFFFFFFFF).data
        return Image.frombytes("RGB", SCREEN_PX, bytes(data), "raw", "BGRX")

    def begun():
        with closing(sqlite3.connect(f"file:{folder / 'data' / 'equipoise.db'}?mode=ro", uri=True)) as store:
            query = (
                'SELECT external_id, sessions."group", visits.device FROM identities '
                "JOIN sessions USING (participant) JOIN visits USING (session)"
            )
            return store.execute(query).fetchall()

    try:
        until(lambda: len(shot().getcolors(1 << 20)) > 50)  # Smooth letters have many colours.
        for key in ("p", "9", "Return", "KP_Enter"):  # The same key twice would be a double press.
            before = shot()
            fingers.press(key)
            until(lambda before=before: shot().tobytes() != before.tobytes())
        fingers.press("space")  # The participant begins.
        until(begun)
        ((code, group, device),) = begun()
        assert (code, group) == ("p9", 1)
        assert (json.loads(device)["width_px"], json.loads(device)["height_px"]) == WINDOW_PX
    finally:
        process.kill()
        process.join()
