"""Response boxes in a real window: a box at a serial port (a pseudoterminal), and a box that types keys."""

import json
import statistics
import time
from contextlib import closing
from datetime import datetime, timedelta

import pytest

from experiment.lab.hardware.clock import Anchor
from tests.experiment.lab.hardware.test_keys_and_clicks import Heard
from tests.experiment.lab.pseudoterminal import box_port
from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.timed_study import choice, keypress, make_timed_study

BALANCED = "response_keys: {options: [f, j], mappings: 2}\n"


@pytest.fixture
def port():
    with box_port() as made:
        yield made


class _BoxParticipant(ScriptedParticipant):
    """A participant who answers with a response box: `("box", byte)`. `("box", None)` disconnects the box."""

    def __init__(self, screen, fingers, folder, answers, port):
        super().__init__(screen, fingers, folder, answers)
        self.port, self.sent_ns = port, {}

    def act(self, item, key):
        if key[0] != "box":
            super().act(item, key)
        elif key[1] is None:
            self.port.disconnect()
        else:
            self.sent_ns[item.item_id] = self.port.send(key[1])


def test_a_session_with_a_serial_box_has_the_right_responses_at_the_times_of_the_bytes(screen, fingers, tmp_path, port):
    items = [choice("practice"), *(choice(f"q{n}") for n in range(3)), *(keypress(f"w{n}", None) for n in range(3))]
    folder = make_timed_study(tmp_path / "study", items, BALANCED, practice=1)
    answers = {item["item_id"]: [("box", "ab"[n % 2])] for n, item in enumerate(items)}
    participant = _BoxParticipant(screen, fingers, folder, answers, port)
    anchor = Anchor.now()
    text = f"serial:{port.name},a=f,b=j"
    rows = participant.run(options=["--box", text, "--group", "2"])
    means = {"multiple_choice": {"a": 2, "b": 1}, "keypress": {"a": "nonword", "b": "word"}}
    assert {name: row["response"] for name, row in rows.items()} == {
        item["item_id"]: means[item["task"]][answers[item["item_id"]][0][1]] for item in items
    }
    assert {row["input"] for row in rows.values()} == {"box"}
    with closing(participant.store()) as store:
        device = json.loads(store.execute("SELECT device FROM visits").fetchone()[0])
    assert device["response_box"] == f"{text}; times at which the program read the bytes"
    clock_started_at = datetime.fromisoformat(device["clock_started_at"])
    late_ms = []
    for name, row in rows.items():
        events = {event["event"]: event["onset_us"] for event in row["presentation"]["events"]}
        assert row["rt_ms"] == pytest.approx((events["response"] - events["stimulus"]) / 1000, abs=0.01)
        responded_at = clock_started_at + timedelta(microseconds=events["response"])
        late_ms.append((responded_at - anchor.utc_of(participant.sent_ns[name])) / timedelta(milliseconds=1))
    assert statistics.median(late_ms) < 3
    assert all(-1 < late < 100 for late in late_ms), "on a busy machine, single presses are late"


def test_a_box_that_is_disconnected_stops_the_session_and_no_response_is_lost(screen, fingers, tmp_path, port):
    items = [choice("practice"), choice("q")]
    folder = make_timed_study(tmp_path / "study", items, practice=1)
    answers = {"practice": [("box", "a")], "q": [("box", None)]}
    participant = _BoxParticipant(screen, fingers, folder, answers, port)
    with pytest.raises(AssertionError, match=r"The response box at .* was disconnected .* Fix: check the cable"):
        participant.run(options=["--box", f"serial:{port.name},a=1"])
    assert {name: row["response"] for name, row in participant.rows().items()} == {"practice": 1}


@pytest.fixture(params=["ptb", "event"])
def heard_by(request, screen):
    """Return a function that opens a window with a response box."""
    if request.param == "ptb":
        request.getfixturevalue("psychtoolbox")
    programs = []

    def open_window(box):
        program = screen.start("inputs", request.param, box)
        programs.append(program)
        started = program.__enter__()
        assert started.reply() == {"backend": request.param}
        return Heard(started)

    yield open_window
    for program in programs:
        program.__exit__(None, None, None)


def test_bytes_are_timed_while_the_window_waits_and_works_and_early_bytes_are_counted(heard_by, port, fingers):
    heard = heard_by(f"serial:{port.name},a=1,b=2")
    late_ms = []
    for n in range(20):
        zero_ns = heard.begin()
        heard.ask(keys=["1", "2"])
        time.sleep(0.02 + n / 1000)
        sent_ns = port.send("ab"[n % 2])  # The same button again would be a double press.
        press = heard.press()
        assert (press["name"], press["input"]) == ("12"[n % 2], "box")
        late_ms.append(press["rt_ms"] - (sent_ns - zero_ns) / 1e6)
    assert statistics.median(late_ms) < 1
    assert all(0 <= late < 100 for late in late_ms), "on a busy machine, single presses are late"
    heard.clear()
    port.send("a")
    time.sleep(0.1)
    heard.zero()
    heard.ask(do="early", keys=["1"])
    assert heard.press() == {"n": 1}
    heard.ask(until_ms=100)
    assert heard.press() is None, "an early press is no response"
    zero_ns = heard.begin()
    heard.ask(do="work", work_s=0.4)
    heard.press()
    sent_ns = port.send("a")
    heard.ask(until_ms=2000)
    assert heard.press()["rt_ms"] == pytest.approx((sent_ns - zero_ns) / 1e6, abs=100), "not after the work"
    heard.ask(do="type")
    port.send("a")
    time.sleep(0.1)
    fingers.press("x")
    assert heard.press()["text"] == "x", "buttons type no characters"


def test_a_box_that_types_keys_presses_the_keys_of_the_study(heard_by, fingers):
    heard = heard_by("keys:a=1,1=2")
    heard.begin()
    for key in ("a", "1", "KP_1", "b"):
        fingers.press(key)
    presses = []
    for _ in range(4):
        heard.ask()
        presses.append(heard.press())
    assert [(press["name"], press["input"]) for press in presses] == [
        ("1", "box"), ("2", "box"), ("num_1", "key"), ("b", "key"),
    ]  # fmt: skip
    heard.ask(do="type")
    fingers.press("a")
    assert (heard.press()["text"], presses[0]["text"]) == ("a", ""), "the participant can type a text"
