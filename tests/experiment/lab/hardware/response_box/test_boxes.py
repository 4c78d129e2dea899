"""Response boxes without a window: bytes on a pseudoterminal, and a fake device of Cedrus."""

import random
import sys
import time
from contextlib import closing
from types import ModuleType, SimpleNamespace

import pytest

from batteries.errors import InputError
from experiment.lab.hardware.response_box.box_text import read_box
from experiment.lab.hardware.response_box.cedrus_box import BoxClock, open_cedrus_box
from experiment.lab.hardware.response_box.serial_box import open_serial_box
from experiment.lab.hardware.stamped import Stamped
from tests.experiment.lab.pseudoterminal import box_port


def at_port(text):
    box = read_box(text)
    return closing(open_serial_box(box.port, box.baud, box.keys))


def cedrus():
    return closing(open_cedrus_box(read_box("cedrus,1=f,2=j").keys))


def wait_until(is_there):
    deadline_s = time.monotonic() + 5
    while not is_there():
        assert time.monotonic() < deadline_s, "nothing was received"
        time.sleep(0.001)


def presses(box, n):
    """Wait for a number of presses of a box."""
    heard = []

    def are_there():
        heard.extend(box.presses([]))
        return len(heard) >= n

    wait_until(are_there)
    return heard


@pytest.mark.usefixtures("lab_extra")
def test_each_byte_of_a_serial_box_is_a_press_at_the_time_of_its_arrival():
    with box_port() as port, at_port(f"serial:{port.name},a=1,0x02=2") as box:
        written_ns = []
        for byte in ("a", "\x02", "a"):
            time.sleep(0.03)
            written_ns.append(port.send(byte))
        heard = presses(box, 3)
        assert [(each.name, each.input) for each in heard] == [("1", "box"), ("2", "box"), ("1", "box")]
        errors_ms = [(each.at_ns - ns) / 1e6 for each, ns in zip(heard, written_ns, strict=True)]
        assert 0 <= min(errors_ms) < 10
        assert max(errors_ms) < 100, "on a busy machine, single presses are late"
        port.send("Axb\x02")  # Releases and other bytes mean nothing.
        assert [each.name for each in presses(box, 1)] == ["2"]
        keys = [Stamped(1, "f", "key")]
        assert box.presses(keys) == keys


@pytest.mark.usefixtures("lab_extra")
def test_a_serial_box_that_is_disconnected_is_reported_once():
    with box_port() as port, at_port(f"serial:{port.name},a=1") as box:
        port.disconnect()
        with pytest.raises(InputError, match=r"The response box at .* was disconnected .* Fix: check the cable"):
            wait_until(lambda: box.presses([]))
        assert box.presses([]) == []


@pytest.mark.usefixtures("lab_extra")
def test_a_port_that_does_not_exist_is_named():
    with pytest.raises(InputError, match="the serial port /dev/none cannot be opened"):
        at_port("serial:/dev/none,a=1")


class FakeCedrus:
    """A device with the interface of pyxid2 whose clock runs 100 parts per million too fast.

    Messages arrive 1 to 11 ms after their presses.
    """

    def __init__(self, seed=1):
        self.con = SimpleNamespace(close=lambda: setattr(self, "is_closed", True))
        self.is_closed, self.is_lost = False, False
        self._random, self._zero_ns = random.Random(seed), time.perf_counter_ns() - 5_000_000_000
        self._sent, self._received = [], []

    def is_response_device(self):
        return True

    def press(self, key, pressed=True, port=0):
        """Press a button, by its number from 0, and return the time."""
        now_ns = time.perf_counter_ns()
        box_ms = round((now_ns - self._zero_ns) * 1.0001 / 1e6)
        message = {"port": port, "key": key, "pressed": pressed, "time": box_ms}
        self._sent.append((now_ns + self._random.randint(1_000_000, 11_000_000), message))
        return now_ns

    def poll_for_response(self):
        if self.is_lost:
            raise OSError("the device is gone")
        time.sleep(0.001)
        if self._sent and self._sent[0][0] <= time.perf_counter_ns():
            self._received.append(self._sent.pop(0)[1])

    def has_response(self):
        return bool(self._received)

    def get_next_response(self):
        return self._received.pop(0)


@pytest.fixture
def connected(monkeypatch):
    """Return a function that makes pyxid2 find devices."""

    def find(*devices):
        library = ModuleType("pyxid2")
        library.get_xid_devices = lambda: [*devices]
        monkeypatch.setitem(sys.modules, "pyxid2", library)

    return find


def test_presses_of_a_cedrus_box_have_the_time_of_its_clock(connected):
    device = FakeCedrus()
    connected(device)
    pressed_ns = []
    with cedrus() as box:
        for n in range(20):
            pressed_ns.append(device.press(n % 2))
            device.press(n % 2, pressed=False)
            device.press(5)  # A button without a key.
            device.press(0, port=2)  # A voice key.
            time.sleep(0.02)
        heard = presses(box, 20)
    assert [each.name for each in heard] == ["f", "j"] * 10
    assert {each.input for each in heard} == {"box"}
    errors_ms = [(each.at_ns - ns) / 1e6 for each, ns in zip(heard, pressed_ns, strict=True)]
    later = errors_ms[10:]  # With more messages, the smallest delay becomes smaller.
    assert max(later) - min(later) < 2, "the delays vary by 10 ms, the box's times do not"
    assert all(0 <= error_ms < 6 for error_ms in later), "the machine may be busy"
    assert device.is_closed


def test_the_clocks_of_box_and_program_are_compared_over_the_last_messages_only():
    clock, ms = BoxClock(), 1_000_000
    assert clock.at_ns(1_000, 500 * ms) == 500 * ms, "the first message has the time of its reading"
    assert clock.at_ns(2_000, 1_508 * ms) == 1_500 * ms, "it was read 8 ms late"
    assert clock.at_ns(3_000, 2_498 * ms) == 2_498 * ms, "it was read faster than the others"
    assert clock.at_ns(4_000, 3_500 * ms) == 3_498 * ms
    assert clock.at_ns(64_000, 63_504 * ms) == 63_504 * ms, "30 s later, the clocks may have drifted"


def test_a_missing_library_a_missing_box_and_two_boxes_are_refused(connected, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyxid2", None)
    with pytest.raises(InputError, match=r"the library of Cedrus .* Fix: run `pip install pyxid2`"):
        cedrus()
    for n in (0, 2):
        devices = [FakeCedrus() for _ in range(n)]
        connected(*devices)
        with pytest.raises(InputError, match=f"there are {n} response boxes of Cedrus. Fix: connect exactly one box"):
            cedrus()
        assert all(device.is_closed for device in devices)


def test_a_cedrus_box_that_is_disconnected_is_reported(connected):
    device = FakeCedrus()
    connected(device)
    with cedrus() as box:
        device.is_lost = True
        with pytest.raises(InputError, match=r"The response box of Cedrus was disconnected .the device is gone."):
            wait_until(lambda: box.presses([]))
