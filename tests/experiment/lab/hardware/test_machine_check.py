"""Verdicts and advice of the machine check."""

import pytest

from experiment.lab.hardware import machine_check
from experiment.lab.hardware.machine_check import (
    MachineFinding,
    clock_finding,
    frames_finding,
    glyphs_finding,
    keyboard_finding,
    privileges_finding,
    report,
    screen_finding,
    sound_finding,
    synchronisation_finding,
    verdict_of,
)
from experiment.lab.hardware.refresh_rate import Refresh

SYNCHRONISED = Refresh(60.0, 59.95, 0.1, is_synchronised=True, reason="flips come at regular intervals")
AT_ONCE = Refresh(None, 1700.0, 0.1, is_synchronised=False, reason="flips come every 0.59 ms, as no screen does")
FRAME_MS = SYNCHRONISED.frame_ms


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (screen_finding((1920, 1080), (1024, 768), full_screen=True), "good"),
        (screen_finding((1024, 768), (1024, 768), full_screen=True), "good"),
        (screen_finding((1024, 768), (1024, 768), full_screen=False), "warning"),
        (screen_finding((1280, 720), (1024, 768), full_screen=True), "bad"),
        (synchronisation_finding(SYNCHRONISED), "good"),
        (synchronisation_finding(AT_ONCE), "bad"),
        (frames_finding(SYNCHRONISED, [FRAME_MS] * 300), "good"),
        (frames_finding(SYNCHRONISED, [FRAME_MS] * 298 + [2 * FRAME_MS]), "warning"),
        (frames_finding(SYNCHRONISED, [FRAME_MS - 3, FRAME_MS + 3] * 150), "warning"),
        (frames_finding(SYNCHRONISED, [FRAME_MS] * 260 + [2 * FRAME_MS] * 20), "bad"),
        (frames_finding(AT_ONCE, [0.6] * 300), "warning"),
        (keyboard_finding("ptb", None, 0.7, "a"), "good"),
        (keyboard_finding("ptb", None, 0.7, None), "bad"),
        (keyboard_finding("event", "psychtoolbox finds no keyboard", 0.05, "a"), "warning"),
        (keyboard_finding("event", "psychtoolbox finds no keyboard", 8.0, "a"), "bad"),
        (keyboard_finding("event", "psychtoolbox finds no keyboard", 0.05, None), "bad"),
        (clock_finding([0.1, 0.2]), "good"),
        (clock_finding([0.1, 15_600.0]), "bad"),
        (glyphs_finding(()), "good"),
        (glyphs_finding({"ش", "α"}), "bad"),
        (sound_finding(10.7), "good"),
        (sound_finding(120.0), "warning"),
        (sound_finding(None, "no sound output"), "bad"),
    ],
)
def test_each_finding_has_a_verdict_and_each_problem_has_advice(finding, verdict):
    assert finding.verdict == verdict
    assert finding.found
    if verdict == "bad":
        assert finding.advice.endswith(".")


def test_characters_without_a_font_are_named():
    assert "α ش" in glyphs_finding(["شα", "α"]).found


@pytest.mark.parametrize(
    ("platform", "backend_advice"),
    [("linux", "limits.d"), ("darwin", "Input Monitoring"), ("win32", "pip install psychtoolbox")],
)
def test_advice_about_the_keyboard_is_for_the_current_system(monkeypatch, platform, backend_advice):
    monkeypatch.setattr(machine_check.sys, "platform", platform)
    assert backend_advice in keyboard_finding("event", "no", 0.05, "a").advice


def test_a_received_key_is_named_and_a_missing_key_press_is_requested_again(monkeypatch):
    assert "received the key `num_3`" in keyboard_finding("ptb", None, 0.7, "num_3").found
    unheard = keyboard_finding("ptb", None, 0.7, None)
    assert "no key was received" in unheard.found and "press a key when asked" in unheard.advice
    monkeypatch.setattr(machine_check.sys, "platform", "darwin")
    assert "Input Monitoring" in keyboard_finding("ptb", None, 0.7, None).advice


@pytest.mark.parametrize("step_ns", [100, 15_600_000])
def test_a_clock_of_any_resolution_can_be_checked(monkeypatch, step_ns):
    looks = iter(range(0, 10**12, max(1, step_ns // 10)))
    monkeypatch.setattr(machine_check.time, "perf_counter_ns", lambda: next(looks) // step_ns * step_ns)
    finding = clock_finding(machine_check._clock_steps_us())
    assert finding.verdict == ("good" if step_ns == 100 else "bad")


@pytest.mark.parametrize(("platform", "privileged", "verdict"), [
    ("linux", True, "good"), ("linux", False, "warning"), ("darwin", False, "good"), ("win32", False, "good"),
])  # fmt: skip
def test_only_linux_asks_for_privileges(monkeypatch, platform, privileged, verdict):
    monkeypatch.setattr(machine_check.sys, "platform", platform)
    monkeypatch.setattr(machine_check, "has_real_time_privileges", lambda: privileged)
    assert privileges_finding().verdict == verdict


GOOD = MachineFinding("Clock", "good", "fine")
WARNING = MachineFinding("Keyboard", "warning", "so so", "do this.")
BAD = MachineFinding("Refresh", "bad", "not at all", "do that.")


@pytest.mark.parametrize(
    ("findings", "verdict", "first_line"),
    [
        ([GOOD], "good", "This machine is ready for measuring."),
        ([GOOD, WARNING], "warning", "This machine can be used, with 1 warning."),
        ([GOOD, WARNING, BAD, BAD], "bad", "This machine is not ready for measuring: 2 problems must be corrected."),
    ],
)
def test_the_worst_finding_is_the_verdict_and_the_first_line(findings, verdict, first_line):
    assert verdict_of(findings) == verdict
    assert report(findings).splitlines()[0] == first_line


def test_problems_come_first_and_each_has_advice():
    lines = report([GOOD, WARNING, BAD]).splitlines()
    assert lines[2:] == [
        "bad      Refresh: not at all.",
        "         What to do: do that.",
        "warning  Keyboard: so so.",
        "         What to do: do this.",
        "good     Clock: fine.",
    ]
