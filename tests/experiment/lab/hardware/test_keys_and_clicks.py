"""Real key presses and clicks from another process, as a real window receives them."""

import time
from contextlib import closing

import pytest

from tests.experiment.lab.xvfb import HELD_S, Fingers

DOUBLE_PRESS_MS = 400
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

    def forget(self):
        self._program.ask(do="forget")
        self._program.reply()

    def zero(self):
        self._program.ask(do="begin")
        at_ns = self._program.reply()["at_ns"]
        time.sleep(0.005)  # The X server's times are whole milliseconds, so a press after 0.2 ms could seem earlier.
        return at_ns

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
    for key in ("3", "4", "4"):
        fingers.press(key, held_s=0.01)
    names = []
    for _ in range(3):
        heard.ask()
        names.append(heard.press()["name"])
    heard.ask(until_ms=50)
    assert heard.press() is None
    assert names == ["3", "4", "4"]


@pytest.fixture
def patient(heard):
    """A window for which two presses within 10 s are a double press, so that a busy machine fails no test."""
    heard.ask(do="double", ms=10_000)
    heard.press()
    yield heard
    heard.ask(do="double", ms=DOUBLE_PRESS_MS)
    heard.press()


def test_the_second_press_of_a_double_press_is_not_a_press_on_the_next_page(patient, fingers):
    patient.begin()
    fingers.press("5")
    patient.ask()
    assert patient.press()["name"] == "5"
    patient.clear()  # A new page begins.
    fingers.press("5")
    fingers.press("6")
    patient.ask()
    assert patient.press()["name"] == "6", "another key is no double press"


def test_the_second_click_of_a_double_click_is_not_a_click_on_the_next_page(patient, fingers):
    everywhere = [["all", [0, 0, 1024, 768]]]
    patient.begin()
    patient.ask(regions=everywhere)
    fingers.click(30, 30)
    assert patient.press()["input"] == "mouse"
    patient.clear()
    fingers.click(30, 30)
    patient.ask(regions=everywhere, until_ms=3000)
    assert patient.press() is None


def test_after_the_onset_of_a_stimulus_the_same_key_is_a_response(patient, fingers):
    patient.begin()
    fingers.press("5")
    patient.ask()
    assert patient.press()["name"] == "5"
    patient.begin()
    time.sleep(0.15)
    fingers.press("5")
    patient.ask()
    assert patient.press()["name"] == "5"


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
    fingers.press("8")
    heard.ask()
    assert heard.press()["name"] == "8", "the window has the keyboard again"


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


def test_presses_for_another_program_are_forgotten_with_escape(heard, fingers):
    heard.begin()
    fingers.press("Escape")
    heard.forget()
    heard.ask(until_ms=300)
    assert heard.press() is None


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


FRENCH = ["ampersand", "eacute", "quotedbl", "apostrophe", "parenleft", "minus", "egrave", "underscore", "ccedilla",
          "agrave"]  # fmt: skip
CZECH = ["plus", "ecaron", "scaron", "ccaron", "rcaron", "zcaron", "yacute", "aacute", "iacute", "eacute"]
FIRST_DIGIT, FIRST_LETTERS = 10, 38
DIGITS = list("1234567890")


@pytest.mark.parametrize("backend", ["ptb", "event"])
def test_keys_of_other_alphabets_count_by_their_place(make_screen, psychtoolbox, backend):
    with (
        make_screen() as screen,
        closing(Fingers(screen.display)) as fingers,
        screen.start("inputs", backend) as program,
    ):
        program.reply()
        heard = Heard(program)
        for row in (FRENCH, CZECH):
            fingers.write_on_keys(FIRST_DIGIT, [list(pair) for pair in zip(row, DIGITS, strict=True)])
            assert [pressed_at(heard, fingers, FIRST_DIGIT + n, DIGITS) for n in range(10)] == DIGITS
        fingers.write_on_keys(FIRST_LETTERS, [["Cyrillic_ef"] * 2, ["Cyrillic_yeru"] * 2])
        assert [pressed_at(heard, fingers, FIRST_LETTERS + n, ["a", "s"]) for n in range(2)] == ["a", "s"]


def test_a_french_letter_never_counts_as_the_american_letter_at_its_place(make_screen):
    with make_screen() as screen, closing(Fingers(screen.display)) as fingers:
        fingers.swap("a", "q")
        with screen.start("inputs", "event") as program:
            program.reply()
            heard = Heard(program)
            assert pressed_at(heard, fingers, FIRST_LETTERS, ["a"], until_ms=500) is None
            assert pressed_at(heard, fingers, FIRST_LETTERS, ["q"]) == "q"


def pressed_at(heard, fingers, keycode, keys, until_ms=5000):
    """Press the key at a place while the window waits for some keys; return the name that the window received."""
    heard.begin()
    heard.ask(keys=keys, until_ms=until_ms)
    fingers.press_place(keycode)
    press = heard.press()
    return press and press["name"]


@pytest.mark.parametrize("command", ["Control_L", "Alt_L", "Super_L"])
def test_a_digit_with_a_command_key_is_not_an_answer(heard, fingers, command):
    heard.begin()
    fingers.hold(command, is_down=True)
    fingers.press("7")
    fingers.hold(command, is_down=False)
    heard.ask(keys=["7"], until_ms=500)
    assert heard.press() is None
    heard.begin()
    fingers.press("7")
    heard.ask(keys=["7"])
    assert heard.press()["name"] == "7", "the command key was released"


def test_a_press_while_the_program_draws_has_its_own_time(heard, fingers):
    zero_ns = heard.begin()
    heard.ask(do="work", work_s=0.5)
    heard.press()
    time.sleep(0.05)
    pressed_ns = fingers.press("9")
    heard.ask(keys=["9"])
    assert abs(heard.press()["rt_ms"] - (pressed_ns - zero_ns) / 1e6) < SAME_CLOCK_MS, "not the end of the drawing"


def test_a_click_while_the_program_draws_has_its_own_time(heard, fingers):
    zero_ns = heard.begin()
    heard.ask(do="work", work_s=0.5)
    heard.press()
    time.sleep(0.05)
    pressed_ns = fingers.click(20, 20)
    heard.ask(regions=[["all", [0, 0, 100, 100]]])
    assert abs(heard.press()["rt_ms"] - (pressed_ns - zero_ns) / 1e6) < SAME_CLOCK_MS


def test_a_keyboard_that_psychtoolbox_cannot_open_is_read_by_the_window(screen):
    with screen.start("unopened") as program:
        found = program.reply()
    assert found["backend"] == "event"
    assert found["obstacle"].startswith("psychtoolbox cannot open the keyboard (")
