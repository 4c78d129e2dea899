"""Choice of the keyboard backend."""

import sys
from types import SimpleNamespace

import pytest

from experiment.lab.hardware import keyboard_backends


@pytest.fixture
def linux_user(monkeypatch):
    resource = pytest.importorskip("resource", reason="this system has no resource limits")

    def be(user, priority):
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.setattr(keyboard_backends.os, "geteuid", lambda: user)
        monkeypatch.setattr(resource, "getrlimit", lambda which: (priority, priority))

    return be


@pytest.mark.parametrize(
    ("user", "priority", "allowed"), [(0, 0, True), (1000, 0, False), (1000, 50, True), (1000, -1, True)]
)
def test_real_time_privileges_are_roots_or_given_by_a_limit(linux_user, user, priority, allowed):
    linux_user(user, priority)
    assert keyboard_backends.has_real_time_privileges() is allowed


def test_without_real_time_privileges_psychtoolbox_is_not_loaded(linux_user, monkeypatch):
    linux_user(1000, 0)
    monkeypatch.setitem(sys.modules, "psychtoolbox", None)
    assert "privileges" in keyboard_backends.ptb_obstacle()


def test_without_psychtoolbox_keys_are_read_from_window_events(linux_user, monkeypatch):
    linux_user(0, 0)
    monkeypatch.setitem(sys.modules, "psychtoolbox", None)
    assert "psychtoolbox cannot be used" in keyboard_backends.ptb_obstacle()


@pytest.mark.parametrize(("access", "may_read"), [(0, True), (1, False), (2, False)])
def test_without_permission_on_macos_psychtoolbox_is_not_used(monkeypatch, access, may_read):
    iokit = SimpleNamespace(IOHIDCheckAccess=lambda what: access if what == 1 else 0)
    keyboards = SimpleNamespace(get_keyboard_indices=lambda: [[0]])
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(keyboard_backends.ctypes, "CDLL", lambda path: iokit)
    monkeypatch.setitem(sys.modules, "psychtoolbox", SimpleNamespace(hid=keyboards))
    obstacle = keyboard_backends.ptb_obstacle()
    assert obstacle is None if may_read else "does not let this program read the keyboard" in obstacle


def test_without_a_display_psychtoolbox_is_not_used(linux_user, monkeypatch):
    linux_user(0, 0)
    monkeypatch.delenv("DISPLAY")
    assert "display" in keyboard_backends.ptb_obstacle()
