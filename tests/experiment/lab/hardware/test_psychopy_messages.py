"""PsychoPy's messages in a real window: their times, and the key presses that they do not contain."""

import time

import pytest

KEY = "2"
"""Key for which the program waits."""


def test_warnings_have_the_time_of_the_visits_clock_and_keys_are_left_out(screen, fingers):
    with screen.start("messages") as program:
        assert program.reply()["backend"] in {"ptb", "event"}
        time.sleep(0.3)
        fingers.press(KEY)
        found = program.reply()
    assert found["press"] == KEY and 250 < found["rt_ms"] < 5_000
    lines = [line.split("\t") for line in found["received"]]
    assert [level for _, level, _ in lines] == ["WARNING "] * len(lines)
    messages = [message for *_, message in lines]
    assert messages[-1] == "during the visit\n" and "before the visit\n" not in messages
    assert float(lines[-1][0]) == pytest.approx(found["began_s"], abs=0.001)
    assert found["n_later"] == 0 and found["restored"]
