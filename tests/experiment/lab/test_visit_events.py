"""The events of a visit: their order, their times, their trials, and the codes that were sent."""

from datetime import UTC, datetime

import pytest

from batteries.items import Item
from experiment.lab.hardware.clock import Anchor
from experiment.lab.visit_events import VisitEvents
from experiment.plan import Phase, Trial
from experiment.study.event_codes import BlockLevel, EventCodes

ANCHOR = Anchor(at_ns=5_000_000_000, utc=datetime(2026, 11, 28, tzinfo=UTC))
ITEM = Item(
    item_id="a", task="multiple_choice", factors={"side": "left"}, key=1,
    content={"text": "", "prompt": "?", "options": ["x", "y"]},
)  # fmt: skip


class Device:
    """A trigger that records the codes, with the times of their events."""

    highest_code = 255

    def __init__(self):
        self.sent = []

    def send(self, code, at_ns):
        self.sent.append((code, at_ns))

    @property
    def codes(self):
        return [code for code, _ in self.sent]


def ns(us):
    return ANCHOR.at_ns + 1000 * us


def begun(trigger=None, phase=Phase.TEST, codes=None, index=0):
    events = VisitEvents(ANCHOR, codes or EventCodes(), trigger)
    events.begin_trial(Trial(trial_index=index, phase=phase, item_id="a"), ITEM)
    return events


def happen(events):
    for name, us in (("fixation", 100), ("screen", 200_100), ("stimulus", 300_107)):
        events.at_flip(name)(ns(us))
    events.mark("response", ns(812_345))
    return events.of_trial


def test_each_screen_ends_when_the_next_screen_appears():
    recorded = happen(begun())
    assert [(each.event, each.onset_us, each.offset_us) for each in recorded] == [
        ("fixation", 100, 200_100),
        ("screen", 200_100, 300_107),
        ("stimulus", 300_107, None),
        ("response", 812_345, None),
    ]
    assert all(each.code is None and each.code_us is None for each in recorded)


def test_a_mask_after_an_early_response_ends_the_stimulus_and_not_the_response():
    events = begun()
    events.at_flip("stimulus")(ns(0))
    events.mark("response", ns(150_000))
    events.at_flip("mask")(ns(200_000))
    assert [(each.event, each.offset_us) for each in events.of_trial] == [
        ("stimulus", 200_000),
        ("response", None),
        ("mask", None),
    ]


def test_codes_are_sent_at_once_and_recorded_with_the_time_at_which_they_were_sent():
    device = Device()
    recorded = happen(begun(device, Phase.ATTENTION_CHECK))
    assert device.sent == [(31, ns(100)), (32, ns(300_107)), (33, ns(812_345))]
    assert [each.code for each in recorded] == [31, None, 32, 33]
    sent = [each for each in recorded if each.code is not None]
    assert [each.code_us for each in sent] == sorted(each.code_us for each in sent)


def test_codes_are_those_of_the_study():
    device = Device()
    codes = EventCodes(events={"stimulus": 2, "time_out": 9}, phases={"test": 40}, factors={"side": {"left": 100}})
    events = begun(device, codes=codes)
    events.at_flip("fixation")(ns(0))
    events.at_flip("stimulus")(ns(1))
    events.mark("time_out", ns(2))
    assert device.codes == [142, 149]


def test_pages_end_the_stimulus_and_announced_pages_are_events_with_codes():
    device = Device()
    events = begun(device)
    events.at_flip("stimulus")(ns(0))
    events.mark("response", ns(10))
    events.announce_feedback()
    events.page_appears(ns(20))
    events.page_appears(ns(30))  # A page that is not an event.
    events.announce("break")
    events.page_appears(ns(40))
    events.mark_session("block", ns(50), BlockLevel("side", "left"))
    events.at_flip("fixation")(ns(60))
    assert [(each.event.event, each.event.onset_us, each.event.offset_us) for each in events.recorded] == [
        ("stimulus", 0, 20),
        ("response", 10, None),
        ("feedback", 20, 30),
        ("break", 40, 60),
        ("block", 50, None),
        ("fixation", 60, None),
    ]
    assert device.codes == [22, 23, 25, 4, 3, 21]
    assert [each.trial is None for each in events.recorded] == [False, False, False, True, True, False]


def test_events_between_trials_and_of_attempts_given_up_belong_to_the_next_stored_trial():
    events = VisitEvents(ANCHOR, EventCodes(), None)
    events.mark_session("session_start", ns(0))
    first, second = (Trial(trial_index=index, phase=Phase.TEST, item_id="a") for index in (0, 1))
    events.begin_trial(first, ITEM)
    happen(events)  # The participant then presses escape, so nothing is stored.
    events.begin_trial(first, ITEM)
    happen(events)
    assert [each.event for each in events.before_trial] == [
        "session_start", "fixation", "screen", "stimulus", "response",
    ]  # fmt: skip
    assert len(events.of_trial) == 4
    events.note_stored()
    events.announce_feedback()
    events.page_appears(ns(900_000))
    events.begin_trial(second, ITEM)
    happen(events)
    assert [each.event for each in events.before_trial] == ["feedback"]


@pytest.mark.parametrize("again_us", [0, 49_000])
def test_a_pulse_that_two_devices_report_counts_once(again_us):
    events = VisitEvents(ANCHOR, EventCodes(), None)
    for us in (0, 800_000, 800_000 - again_us, 1_600_000, 1_600_000 + again_us):
        events.pulse(ns(us))
    assert events.n_pulses == 3
    assert events.pulses_us == sorted(events.pulses_us)
