"""A real window on a virtual display."""

import json
import threading
from contextlib import closing, contextmanager

import pytest

from batteries.errors import InputError
from experiment.lab.hardware import psychopy_import
from experiment.lab.hardware.psychopy_import import require_psychopy
from tests.experiment.lab.xvfb import Fingers


@pytest.mark.parametrize("size_px", [(1024, 768), (1920, 1080), (3840, 2160)])
def test_an_image_is_shown_pixel_for_pixel(make_screen, size_px):
    with make_screen(size_px) as screen, screen.start("pixels") as program:
        assert program.reply() == {"size_px": list(size_px), "same": [True] * 6, "n_textures": 2}


def opened(screen, /, **options):
    with screen.start("opening", json.dumps(options)) as program:
        return program.reply()


def test_flips_do_not_wait_on_a_virtual_display(screen):
    outcome = opened(screen)
    assert outcome["full_screen"]
    assert not outcome["refresh"]["is_synchronised"]
    assert outcome["refresh"]["reason"]


def test_a_window_can_be_smaller_than_the_screen(screen):
    outcome = opened(screen, size_px=[640, 480])
    assert outcome["size_px"] == [640, 480]
    assert not outcome["full_screen"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"monitor": "lab1"},
            "PsychoPy does not know the monitor 'lab1'. Known monitors: testMonitor. Fix: choose a known monitor",
        ),
        (
            {"size_px": [1024, 769]},
            "A window of 1024 x 769 px does not fit on screen 0, which has 1024 x 768. Fix: choose",
        ),
        ({"screen": 1}, "Screen 1 does not exist. Screens of this machine: 1, counted from 0. Fix: choose another"),
    ],
)
def test_a_missing_screen_monitor_or_size_is_refused_with_a_sentence(screen, options, sentence):
    assert opened(screen, **options)["error"].startswith(sentence)


def test_a_monitor_that_psychopy_knows_is_used(screen):
    assert opened(screen, monitor="testMonitor")["size_px"] == [1024, 768]


@pytest.mark.parametrize("display", [None, ":987"])
@pytest.mark.usefixtures("_virtual_screens_work")
def test_a_missing_display_is_refused_with_a_sentence(monkeypatch, display):
    monkeypatch.delenv("DISPLAY", raising=False)
    if display:
        monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(InputError, match=r"There is no display. Fix: log in at the machine itself"):
        require_psychopy()


@pytest.mark.parametrize(
    ("system", "python", "advice"),
    [
        ("linux", (3, 12), r'in a clone of the repository of Equipoise, run `pip install "\.\[lab\]"`\.'),
        ("win32", (3, 11), r'in a clone of the repository of Equipoise, run `pip install "\.\[lab\]"`\.'),
        ("win32", (3, 12), r"under Python 3\.11\. "),
        ("darwin", (3, 13), r"under Python 3\.11 or 3\.12\. "),
    ],
)
def test_missing_psychopy_is_refused_with_a_sentence(monkeypatch, system, python, advice):
    monkeypatch.setattr(psychopy_import, "find_spec", lambda name: None)
    monkeypatch.setattr(psychopy_import.sys, "platform", system)
    monkeypatch.setattr(psychopy_import.sys, "version_info", python)
    with pytest.raises(InputError, match=advice):
        require_psychopy()


def test_an_old_macos_is_refused_because_its_window_would_freeze(monkeypatch):
    monkeypatch.setattr(psychopy_import.sys, "platform", "darwin")
    monkeypatch.setattr(psychopy_import.platform, "mac_ver", lambda: ("13.6.1", ("", "", ""), "arm64"))
    monkeypatch.setattr(psychopy_import, "find_spec", lambda name: name)
    with pytest.raises(InputError, match=r"This is macOS 13\.6\.1.*update macOS"):
        require_psychopy()


def test_a_presentation_returns_the_achieved_timing(screen):
    with screen.start("presentation") as program:
        outcome = program.reply()
    with_fixation, without = outcome["onsets"]
    names, stamps_ns = zip(*outcome["called"], strict=True)
    assert names == ("fixation", "onset", "trigger")
    assert stamps_ns[1] == stamps_ns[2] == with_fixation["onset_ns"]
    assert with_fixation["fixation_ms"] == (stamps_ns[1] - stamps_ns[0]) / 1e6 >= 50 - 17
    assert (without["fixation_ms"], without["frame_intervals_ms"]) == (0, [])
    assert with_fixation["shown_at"] < without["shown_at"] <= outcome["now"]
    assert {onset["onset_source"] for onset in (with_fixation, without)} == {"flip"}


@contextmanager
def pressing_repeatedly(screen, key):
    is_over = threading.Event()

    def press():
        with closing(Fingers(screen.display)) as fingers:
            while not is_over.wait(0.5):
                fingers.press(key)

    hand = threading.Thread(target=press)
    hand.start()
    try:
        yield
    finally:
        is_over.set()
        hand.join()


def test_the_machine_check_has_every_finding(screen):
    with screen.start("check") as program, pressing_repeatedly(screen, "5"):
        findings = {finding["what"]: finding for finding in program.reply()}
    assert set(findings) == {"Screen", "Refresh", "Frames", "Keyboard", "Clock", "Priority", "Fonts", "Sound"}
    assert findings["Screen"]["verdict"] == "good"
    assert "received the key `5`" in findings["Keyboard"]["found"]
    assert findings["Refresh"]["verdict"] == findings["Fonts"]["verdict"] == "bad"
    assert all(finding["advice"] for finding in findings.values() if finding["verdict"] == "bad")
