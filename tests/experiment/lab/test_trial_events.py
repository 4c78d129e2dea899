"""The events of a trial: their order, their times, and the codes that were sent."""

from datetime import UTC, datetime

from experiment.lab.hardware.clock import Anchor
from experiment.lab.trial_events import TrialEvents
from experiment.plan import Phase

ANCHOR = Anchor(at_ns=5_000_000_000, utc=datetime(2026, 11, 28, tzinfo=UTC))


class Device:
    """A trigger that records the codes."""

    def __init__(self):
        self.codes = []

    def send(self, code):
        self.codes.append(code)


def ns(us):
    return ANCHOR.at_ns + 1000 * us


def happen(events):
    for name, us in (("fixation", 100), ("screen", 200_100), ("stimulus", 300_107)):
        events.at_flip(name)(ns(us))
    events.mark_response(ns(812_345))
    return events.recorded


def test_each_screen_ends_when_the_next_screen_appears():
    recorded = happen(TrialEvents(ANCHOR, None, Phase.TEST))
    assert [(each.event, each.onset_us, each.offset_us) for each in recorded] == [
        ("fixation", 100, 200_100),
        ("screen", 200_100, 300_107),
        ("stimulus", 300_107, None),
        ("response", 812_345, None),
    ]
    assert all(each.code is None and each.code_us is None for each in recorded)


def test_a_mask_after_an_early_response_ends_the_stimulus_and_not_the_response():
    events = TrialEvents(ANCHOR, None, Phase.TEST)
    events.at_flip("stimulus")(ns(0))
    events.mark_response(ns(150_000))
    events.at_flip("mask")(ns(200_000))
    assert [(each.event, each.offset_us) for each in events.recorded] == [
        ("stimulus", 200_000),
        ("response", None),
        ("mask", None),
    ]


def test_codes_are_sent_at_once_and_recorded_with_the_time_at_which_they_were_sent():
    device = Device()
    recorded = happen(TrialEvents(ANCHOR, device, Phase.ATTENTION_CHECK))
    assert device.codes == [31, 32, 33]
    assert [each.code for each in recorded] == [31, None, 32, 33]
    sent = [each for each in recorded if each.code is not None]
    assert all(each.code_us is not None for each in sent)
    assert [each.code_us for each in sent] == sorted(each.code_us for each in sent)
