"""Fixation and stimulus in a window with a simulated clock, so that the time of each flip is known."""

from datetime import UTC, datetime

import pytest

from experiment.lab import presentation
from experiment.lab.hardware.clock import Anchor
from experiment.lab.presentation import present
from experiment.records import Shown

FRAME_MS = 10.0
FRAME_NS = 10_000_000


class FakeWindow:
    """A window whose flips wait for whole frames or not at all; flips can be late on request."""

    frame_ms = FRAME_MS
    anchor = Anchor(0, datetime(2026, 11, 28, tzinfo=UTC))

    def __init__(self, pacing="frames", late_frames=None, flip_ms=1.0, late_ms=0.0):
        self.pacing = pacing
        self.flip_ms = flip_ms
        self.now_ns = 5_000_000_123
        self.shown = []
        self._late_frames = late_frames or {}
        self._late_ms = late_ms
        self._drawn = None
        self._at_flip = []

    def draw(self, prepared):
        self._drawn = prepared

    def call_on_flip(self, function):
        self._at_flip.append(function)

    def flip(self):
        n_flips = len(self.shown)
        if self.pacing == "frames":
            self.now_ns += FRAME_NS * (1 + self._late_frames.get(n_flips, 0))
        else:
            self.now_ns += round(1e6 * (self.flip_ms + (self._late_ms if n_flips else 0)))
        self.shown.append(self._drawn)
        functions, self._at_flip = self._at_flip, []
        for function in functions:
            function(self.now_ns)
        return self.now_ns

    def show(self, prepared):
        self.draw(prepared)
        return self.flip()


@pytest.fixture
def presented(monkeypatch):
    def run(window, fixation="fixation", fixation_ms=50.0, **hooks):
        def wait_until(due_ns):
            window.now_ns = max(window.now_ns, due_ns)

        monkeypatch.setattr(presentation, "wait_until", wait_until)
        monkeypatch.setattr(presentation.time, "perf_counter_ns", lambda: window.now_ns)
        return present(window, fixation, "stimulus", fixation_ms, **hooks)

    return run


@pytest.mark.parametrize(("fixation_ms", "n_frames"), [(50, 5), (54, 5), (46, 5), (200, 20), (10, 1), (6, 1)])
def test_the_fixation_lasts_the_nearest_number_of_frames(presented, fixation_ms, n_frames):
    window = FakeWindow()
    onset = presented(window, fixation_ms=fixation_ms)
    assert window.shown == ["fixation"] * n_frames + ["stimulus"]
    assert onset.fixation_frames == onset.fixation_frames_intended == n_frames
    assert onset.fixation_ms == n_frames * FRAME_MS
    assert onset.frame_intervals_ms == (FRAME_MS,) * n_frames
    assert onset.frames_dropped == 0
    assert onset.onset_ns == window.now_ns


@pytest.mark.parametrize(("intertrial_ms", "n_frames"), [(50, 5), (54, 5), (1_000, 100), (10, 1), (6, 1)])
def test_the_interval_lasts_the_nearest_number_of_frames(presented, intertrial_ms, n_frames):
    window = FakeWindow()
    onset = presented(window, fixation_ms=30, blank="blank", intertrial_ms=intertrial_ms)
    assert window.shown == ["blank"] * n_frames + ["fixation"] * 3 + ["stimulus"]
    assert onset.intertrial == Shown(duration_ms=10 * n_frames, frames=n_frames, frames_intended=n_frames)
    assert (onset.fixation_frames, onset.fixation_ms, onset.frames_dropped) == (3, 30, 0)


def test_an_interval_by_the_clock_has_its_exact_duration(presented):
    window = FakeWindow("clock")
    onset = presented(window, fixation_ms=30, blank="blank", intertrial_ms=512)
    assert window.shown == ["blank", "fixation", "stimulus"]
    assert onset.intertrial == Shown(duration_ms=512, frames=51, frames_intended=51)
    assert onset.fixation_ms == 30


def test_a_dropped_frame_does_not_make_the_interval_longer(presented):
    window = FakeWindow(late_frames={2: 1})
    onset = presented(window, blank="blank", intertrial_ms=50)
    assert window.shown.count("blank") == 4
    assert (onset.intertrial.frames, onset.intertrial.frames_intended) == (5, 5)
    assert (onset.frames_dropped, onset.frame_intervals_ms) == (0, (10,) * 5)


@pytest.mark.parametrize("pacing", ["frames", "clock"])
def test_an_interval_without_a_fixation_is_followed_by_the_stimulus(presented, pacing):
    seen = []
    window = FakeWindow(pacing)
    hooks = {"on_blank": [lambda at_ns: seen.append("blank")], "on_onset": [lambda at_ns: seen.append("stimulus")]}
    onset = presented(window, fixation_ms=0, blank="blank", intertrial_ms=50, **hooks)
    assert window.shown == (["blank"] * 5 if pacing == "frames" else ["blank"]) + ["stimulus"]
    assert (onset.intertrial.duration_ms, onset.fixation_ms, seen) == (50, 0, ["blank", "stimulus"])


@pytest.mark.parametrize("pacing", ["frames", "clock"])
@pytest.mark.parametrize(("blank", "intertrial_ms"), [(None, 50.0), ("blank", 4.0), ("blank", 0.0)])
def test_there_is_no_interval_of_less_than_half_a_frame(presented, pacing, blank, intertrial_ms):
    window = FakeWindow(pacing)
    onset = presented(window, blank=blank, intertrial_ms=intertrial_ms)
    assert "blank" not in window.shown
    assert onset.intertrial is None


def test_a_dropped_frame_is_recorded_and_does_not_make_the_fixation_longer(presented):
    window = FakeWindow(late_frames={2: 1})
    onset = presented(window)
    assert onset.fixation_frames == 5
    assert onset.frames_dropped == 1
    assert onset.frame_intervals_ms == (10, 20, 10, 10)


def test_a_frame_dropped_at_the_end_makes_the_fixation_longer_and_is_recorded(presented):
    onset = presented(FakeWindow(late_frames={5: 2}))
    assert (onset.fixation_frames, onset.fixation_frames_intended, onset.frames_dropped) == (7, 5, 2)
    assert onset.fixation_ms == 70


@pytest.mark.parametrize("pacing", ["frames", "clock"])
@pytest.mark.parametrize(("fixation", "fixation_ms"), [(None, 50.0), ("fixation", 4.0), ("fixation", 0.0)])
def test_without_a_fixation_the_stimulus_is_shown_at_once(presented, pacing, fixation, fixation_ms):
    window = FakeWindow(pacing)
    onset = presented(window, fixation, fixation_ms)
    assert window.shown == ["stimulus"]
    assert (onset.fixation_ms, onset.fixation_frames, onset.fixation_frames_intended) == (0, 0, 0)
    assert (onset.frames_dropped, onset.frame_intervals_ms) == (0, ())


def test_with_clock_pacing_the_stimulus_follows_when_the_fixation_time_is_over(presented):
    window = FakeWindow("clock")
    onset = presented(window)
    assert window.shown == ["fixation", "stimulus"]
    assert onset.fixation_ms == 50
    assert (onset.fixation_frames, onset.fixation_frames_intended, onset.frames_dropped) == (5, 5, 0)


def test_with_clock_pacing_late_frames_of_the_stimulus_are_recorded(presented):
    onset = presented(FakeWindow("clock", late_ms=21.0))
    assert onset.fixation_ms == pytest.approx(71)
    assert (onset.fixation_frames, onset.frames_dropped) == (7, 2)


@pytest.mark.parametrize("pacing", ["frames", "clock"])
def test_triggers_are_sent_at_the_flip_of_their_event(presented, pacing):
    window, sent = FakeWindow(pacing), []

    def note(name):
        return lambda at_ns: sent.append((name, window.shown[-1], at_ns))

    onset = presented(window, on_fixation=[note("code 1")], on_onset=[note("zero"), note("code 2")])
    assert [each[:2] for each in sent] == [("code 1", "fixation"), ("zero", "stimulus"), ("code 2", "stimulus")]
    assert sent[1][2] == sent[2][2] == onset.onset_ns
    assert onset.onset_ns - sent[0][2] == onset.fixation_ms * 1e6


def test_garbage_collection_is_enabled_again_after_a_presentation(presented):
    presented(FakeWindow())
    assert presentation.gc.isenabled()
