"""Real key presses and clicks from another process, as a real window receives them."""

import time
from contextlib import closing

import pytest

from tests.experiment.lab.xvfb import HELD_S, Fingers

SAME_CLOCK_MS = 250
"""Clocks with different zeros differ by seconds; `test_presentation.py` measures the accuracy of times."""


@pytest.fixture(scope="module", params=["ptb", "event"])
def heard(request, screen):
    if request.param == "ptb":
        request.getfixturevalue("psychtoolbox")
    with screen.start("inputs", request.param) as program:
        assert program.reply() == {"backend": request.param}
        yield Heard(program)


class Heard:
    """A window that reports the presses that it receives."""

    def __init__(self, program):
        self._program = program

    def begin(self):
        """Discard earlier presses, set time zero at a flip, and return the time of the flip."""
        self.clear()
        return self.zero()

    def clear(self):
        self._program.ask(do="clear")
        self._program.reply()

    def zero(self):
        self._program.ask(do="begin")
        return self._program.reply()["at_ns"]

    def ask(self, **command):
        self._program.ask(**({"do": "wait", "until_ms": 5000} | command))

    def press(self):
        return self._program.reply()


def between(heard, fingers, key, held_s=HELD_S):
    """Press a key while the window waits; return the received press, and the error of its time in ms."""
    zero_ns = heard.begin()
    heard.ask()
    pressed_ns = fingers.press(key, held_s)
    press = heard.press()
    return press, press["rt_ms"] - (pressed_ns - zero_ns) / 1e6


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("1", "1"),
        ("9", "9"),
        ("KP_1", "num_1"),
        ("a", "a"),
        ("Return", "return"),
        ("KP_Enter", "num_enter"),
        ("space", "space"),
        ("Left", "left"),
        ("Escape", "escape"),
        ("BackSpace", "backspace"),
        ("F5", "f5"),
    ],
)
def test_keys_have_the_names_that_psychopy_gives_them(heard, fingers, key, name):
    press, error_ms = between(heard, fingers, key)
    assert (press["name"], press["input"]) == (name, "key")
    assert abs(error_ms) < SAME_CLOCK_MS, "the press and the flip have different zeros or clocks"


def test_a_press_before_the_program_reads_keys_is_not_lost(heard, fingers):
    heard.begin()
    fingers.press("3", held_s=0.002)
    time.sleep(0.1)
    heard.ask()
    press = heard.press()
    assert press["name"] == "3"


def test_a_key_that_is_held_down_is_pressed_once(heard, fingers):
    heard.begin()
    fingers.press("2", held_s=1.5)
    heard.ask()
    assert heard.press()["name"] == "2"
    heard.ask(until_ms=2000)
    assert heard.press() is None
    fingers.press("2")
    heard.ask()
    assert heard.press()["name"] == "2", "the key was released and pressed again, so it counts"


def test_keys_typed_in_another_window_are_not_a_response(heard, fingers):
    heard.begin()
    heard.ask()
    with fingers.in_another_window():
        time.sleep(0.1)
        fingers.press("2")
    time.sleep(0.1)
    fingers.press("1")
    assert heard.press()["name"] == "1"
    heard.ask(until_ms=500)
    assert heard.press() is None


def test_two_presses_are_two_responses_in_order(heard, fingers):
    heard.begin()
    for key in ("2", "1", "1"):
        fingers.press(key, held_s=0.01)
    names = []
    for _ in range(3):
        heard.ask()
        names.append(heard.press()["name"])
    heard.ask(until_ms=50)
    assert heard.press() is None
    assert names == ["2", "1", "1"]


def test_presses_before_the_onset_are_never_responses(heard, fingers):
    heard.clear()
    fingers.press("1")
    heard.zero()
    heard.ask(until_ms=100)
    assert heard.press() is None


def test_response_keys_pressed_before_the_onset_are_counted_and_discarded(heard, fingers):
    heard.clear()
    for key in ("1", "2", "5", "Escape"):
        fingers.press(key)
    fingers.click(5, 5)
    heard.zero()
    heard.ask(do="early", keys=["1", "2"], regions=[["all", [0, 0, 100, 100]]])
    assert heard.press() == {"n": 3}, "two keys and a click; no answer is `5`"
    fingers.press("1")
    heard.ask(keys=["1", "2"])
    assert heard.press()["name"] == "escape"
    heard.ask(keys=["1", "2"])
    press = heard.press()
    assert press["name"] == "1"
    assert press["rt_ms"] > 0


def test_a_loss_of_the_focus_is_counted_until_the_next_trial(heard, fingers):
    heard.begin()
    for n_lost in (0, 1, 2):
        heard.ask(do="focus")
        assert heard.press() == {"n": n_lost}
        with fingers.in_another_window():
            pass
    heard.clear()
    heard.ask(do="focus")
    assert heard.press() == {"n": 0}
    fingers.press("1")
    heard.ask()
    assert heard.press()["name"] == "1", "the window has the keyboard again"


def test_escape_before_the_onset_is_received(heard, fingers):
    heard.clear()
    fingers.press("Escape")
    heard.zero()
    heard.ask(keys=["1"])
    press = heard.press()
    assert press["name"] == "escape"
    assert press["rt_ms"] < 0


def test_clearing_presses_before_a_trial_keeps_escape(heard, fingers):
    heard.begin()
    fingers.press("1")
    fingers.press("Escape")
    heard.clear()
    heard.ask()
    assert heard.press()["name"] == "escape"


def test_only_the_requested_keys_and_escape_count(heard, fingers):
    heard.begin()
    heard.ask(keys=["2", "num_2"])
    fingers.press("1")
    fingers.press("KP_2")
    assert heard.press()["name"] == "num_2"
    heard.ask(keys=[])
    fingers.press("2")
    fingers.press("Escape")
    assert heard.press()["name"] == "escape"


def test_waiting_ends_at_the_time_limit(heard):
    heard.begin()
    heard.ask(until_ms=150)
    began = time.monotonic()
    assert heard.press() is None
    assert time.monotonic() - began < 15


def test_a_click_returns_the_name_of_its_region_and_counts_in_regions_only(heard, fingers):
    regions = [["1", [100, 100, 200, 150]], ["next", [800, 700, 1024, 768]]]
    zero_ns = heard.begin()
    heard.ask(keys=[], regions=regions)
    fingers.click(250, 120)
    fingers.click(200, 120)
    fingers.click(150, 120, button=3)
    pressed_ns = fingers.click(199, 149)
    press = heard.press()
    assert (press["name"], press["input"]) == ("1", "mouse")
    assert abs(press["rt_ms"] - (pressed_ns - zero_ns) / 1e6) < SAME_CLOCK_MS
    heard.ask(regions=regions)
    fingers.click(1023, 767)
    assert heard.press()["name"] == "next"


def test_typing_returns_characters_and_editing_returns_keys(heard, fingers):
    heard.begin()
    typed = []
    for key in ("a", "4", "space", "BackSpace", "F5", "Left", "Return"):
        fingers.press(key, held_s=0.02)
    for _ in range(6):
        heard.ask(do="type")
        typed.append(heard.press())
    assert [each["name"] for each in typed] == ["a", "4", " ", "backspace", "left", "return"]
    assert [each["text"] for each in typed] == ["a", "4", " ", "", "", ""]


def test_closing_the_window_acts_as_escape_and_the_window_stays_open(heard, fingers):
    heard.begin()
    heard.ask(do="close")
    heard.ask(keys=["1"])
    assert heard.press()["name"] == "escape"
    press, _ = between(heard, fingers, "1")
    assert press["name"] == "1"


@pytest.mark.parametrize("backend", ["ptb", "event"])
def test_letters_follow_the_keyboard_layout(make_screen, psychtoolbox, backend):
    with make_screen() as screen, closing(Fingers(screen.display)) as fingers:
        fingers.swap("a", "q")  # As on a French keyboard.
        with screen.start("inputs", backend) as program:
            program.reply()
            heard = Heard(program)
            assert [between(heard, fingers, key)[0]["name"] for key in ("a", "q", "1")] == ["a", "q", "1"]


def test_a_keyboard_that_psychtoolbox_cannot_open_is_read_by_the_window(screen):
    with screen.start("unopened") as program:
        found = program.reply()
    assert found["backend"] == "event"
    assert found["obstacle"].startswith("psychtoolbox cannot open the keyboard (")
