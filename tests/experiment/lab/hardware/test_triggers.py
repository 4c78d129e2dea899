"""Event codes: their numbers, the names of destinations, and a serial port in loopback."""

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest

from batteries.errors import InputError
from experiment.lab.hardware.triggers import (
    LevelTrigger,
    TriggerText,
    open_trigger,
    read_trigger,
)
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("serial:/dev/ttyUSB0", TriggerText("serial", "/dev/ttyUSB0")),
        ("serial:COM3,baud=9600, pulse_ms=0", TriggerText("serial", "COM3", baud=9600, pulse_ms=0)),
        ("serial:loop://", TriggerText("serial", "loop://")),
        ("parallel:0x0378,pulse_ms=2.5", TriggerText("parallel", "0x0378", pulse_ms=2.5)),
        ("parallel:/dev/parport0", TriggerText("parallel", "/dev/parport0")),
        ("lsl:Equipoise", TriggerText("lsl", "Equipoise")),
        ("log:data/codes.csv", TriggerText("log", "data/codes.csv")),
    ],
)
def test_a_trigger_text_names_the_destination_of_codes(text, read):
    assert read_trigger(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "serial",
        "serial:",
        "usb:0",
        "/dev/ttyUSB0",
        "serial:COM3,speed=9600",
        "serial:COM3,baud",
        "serial:COM3,baud=fast",
        "serial:COM3,baud=0",
        "serial:COM3,pulse_ms=-1",
        "serial:COM3,pulse_ms=nan",
        "parallel:0x0378,baud=9600",
        "lsl:Equipoise,pulse_ms=1",
    ],
)
def test_an_invalid_trigger_text_is_refused_with_a_sentence(text):
    with pytest.raises(InputError, match=r"\.$"):
        read_trigger(text)


class Port:
    """A port that keeps a level, and records all levels."""

    def __init__(self):
        self.levels = []
        self.changed = threading.Condition()
        self.broken = False

    def set_level(self, level):
        if self.broken:
            raise OSError("device not configured")
        with self.changed:
            self.levels.append(level)
            self.changed.notify()

    def wait_for(self, n_levels):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.levels) >= n_levels, timeout=5)
        return self.levels


def test_a_code_is_followed_by_0_after_the_pulse():
    port = Port()
    trigger = LevelTrigger("port", port.set_level, lambda: None, pulse_ms=1)
    trigger.send(21, time.perf_counter_ns())
    assert port.levels[0] == 21, "the code leaves before `send` returns"
    assert port.wait_for(2) == [21, 0]


def test_the_end_of_a_pulse_does_not_shorten_a_later_code():
    port = Port()
    trigger = LevelTrigger("port", port.set_level, lambda: None, pulse_ms=1000)
    trigger.send(21, time.perf_counter_ns())
    time.sleep(0.05)
    trigger.send(22, time.perf_counter_ns())
    assert port.wait_for(3) == [21, 22, 0]
    time.sleep(0.1)
    assert port.levels == [21, 22, 0]


def test_closing_ends_the_pulse_and_nothing_is_sent_afterwards():
    port, closed = Port(), []
    trigger = LevelTrigger("port", port.set_level, lambda: closed.append(len(port.levels)), pulse_ms=30)
    trigger.send(23, time.perf_counter_ns())
    trigger.close()
    assert (port.levels, closed) == ([23, 0], [2])
    time.sleep(0.06)
    assert port.levels == [23, 0]


def test_without_a_pulse_there_is_no_0():
    port = Port()
    trigger = LevelTrigger("port", port.set_level, lambda: None, pulse_ms=0)
    trigger.send(21, time.perf_counter_ns())
    trigger.close()
    time.sleep(0.02)
    assert port.levels == [21]


def test_an_unplugged_device_is_reported_at_the_next_code():
    port = Port()
    trigger = LevelTrigger("serial:COM3", port.set_level, lambda: None, pulse_ms=1)
    trigger.send(21, time.perf_counter_ns())
    port.broken = True
    time.sleep(0.02)
    with pytest.raises(InputError, match="serial:COM3 no longer accepts codes"):
        trigger.send(22, time.perf_counter_ns())


def test_a_port_is_refused_for_codes_of_more_than_one_byte(lab_extra):
    with pytest.raises(InputError, match=r"cannot send the code 256, because its codes are from 1 to 255\. Fix: "):
        open_trigger("serial:loop://", 256)
    open_trigger("serial:loop://", 255).close()


def test_a_log_has_a_line_for_each_code_with_the_time_of_its_event(tmp_path):
    for code in (21, 65_535):  # The second opening adds to the file.
        trigger = open_trigger(f"log:{tmp_path / 'codes.csv'}", 65_535)
        trigger.send(code, time.perf_counter_ns() - 2_000_000_000)
        trigger.close()
    header, *lines = (tmp_path / "codes.csv").read_text().splitlines()
    times, codes = zip(*(line.split(",") for line in lines), strict=True)
    assert (header, codes) == ("at,code", ("21", "65535"))
    for at in times:
        assert 1.9 < (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds() < 60


def test_a_log_that_cannot_be_written_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(InputError, match=r"codes\.csv: event codes cannot be written to this file .* Fix: "):
        open_trigger(f"log:{tmp_path / 'no-folder' / 'codes.csv'}", 1)


def test_a_serial_port_in_loopback_returns_the_codes(lab_extra, monkeypatch):
    import serial

    ports = []
    opened = serial.serial_for_url
    monkeypatch.setattr(
        serial, "serial_for_url", lambda *given, **named: ports.append(opened(*given, **named)) or ports[0]
    )
    trigger = open_trigger("serial:loop://,pulse_ms=2", 255)
    ports[0].timeout = 5
    trigger.send(22, time.perf_counter_ns())
    assert ports[0].read(2) == bytes([22, 0])
    trigger.send(255, time.perf_counter_ns())
    assert ports[0].read(2) == bytes([255, 0])
    trigger.close()
    assert not ports[0].is_open


LSL_CODES = """
import time
import pylsl
from experiment.lab.hardware.triggers import open_trigger

trigger = open_trigger("lsl:Equipoise", 65_535)
found = pylsl.resolve_byprop("name", "Equipoise", timeout=20)
inlet = pylsl.StreamInlet(found[0])
inlet.open_stream(timeout=20)
at_ns, at_s = time.perf_counter_ns(), pylsl.local_clock()
for code in (11, 65_535):
    trigger.send(code, at_ns)
    time.sleep(0.05)
got = [inlet.pull_sample(timeout=20) for _ in range(2)]
print(found[0].type(), [code for code, _ in got], all(abs(sent_s - at_s) < 0.001 for _, sent_s in got))
trigger.close()
"""


def test_the_lab_streaming_layer_receives_codes_as_markers_with_the_times_of_their_events(tmp_path):
    pytest.importorskip("pylsl", reason="pylsl is not installed; it is for those who need it")
    settings = tmp_path / "lsl.cfg"
    settings.write_text("[multicast]\nResolveScope = machine\n[ports]\nIPv6 = disable\n[log]\nlevel = -2\n")
    program = subprocess.run(
        [sys.executable, "-c", LSL_CODES], env=os.environ | {"LSLAPICFG": str(settings), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert program.stdout == "Markers [[11], [65535]] True\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("serial:/dev/no-such-port", "The serial port /dev/no-such-port cannot be opened"),
        ("serial:no-such://", "The serial port no-such:// cannot be opened"),
        ("parallel:/dev/no-such-port", "The parallel port /dev/no-such-port cannot be used"),
    ],
)
def test_a_missing_device_is_reported_with_a_fix(lab_extra, text, sentence):
    with pytest.raises(InputError) as refusal:
        open_trigger(text, 255)
    assert str(refusal.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "library", "package"), [("serial:x", "serial", "pyserial"), ("lsl:x", "pylsl", "pylsl")]
)
def test_a_missing_library_is_reported_with_a_fix(monkeypatch, text, library, package):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"pip install {package}"):
        open_trigger(text, 255)
