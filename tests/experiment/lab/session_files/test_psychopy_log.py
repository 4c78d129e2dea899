"""PsychoPy's log of a visit: its lines, their order, and what is left out."""

import pytest

from experiment.lab.hardware.clock import Anchor
from experiment.lab.session_files.psychopy_log import PsychoPyLog
from experiment.lab.visit_events import VisitEvents
from experiment.study.event_codes import EventCodes


@pytest.fixture
def events():
    return VisitEvents(Anchor.now(), EventCodes(), None)


def mark(events, name, at_s):
    events.mark_session(name, events.anchor.at_ns + round(at_s * 1e9))


def test_events_and_psychopys_messages_are_in_the_order_of_their_times(events, tmp_path):
    path = tmp_path / "run-1.log"
    log = PsychoPyLog(lambda: log.write("0.5000 \tWARNING \tthe monitor has no calibration\n"))
    mark(events, "session_start", 0.25)
    events.pulse(events.anchor.at_ns + 1_000_000_000)
    log.append_to(path, events)
    mark(events, "session_end", 2)
    events.pulse(events.anchor.at_ns + 2_000_000_000)
    log._collect = lambda: None
    log.append_to(path, events)
    assert path.read_text() == (
        "0.2500 \tEXP \tsession_start\n"
        "0.5000 \tWARNING \tthe monitor has no calibration\n"
        "1.0000 \tEXP \tpulse: volume=1\n"
        "2.0000 \tEXP \tsession_end\n"
        "2.0000 \tEXP \tpulse: volume=2\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600


def test_keys_are_left_out_at_every_level(events, tmp_path):
    log = PsychoPyLog()
    for line in (
        "1.0000 \tDATA \tKeypress: s",
        "1.1000 \tDATA \tKeyPress: s\tWARNING \tx",
        "1.2000 \tWARNING \tKeypress was given unknown key code (94)",
        "1.2500 \tEXP \tDevice response: <KeyPress from None: t=1.2, value=s, duration=None>",
        "1.3000 \tDEBUG \tx",
        "1.4000 \tINFO \tx",
        "no time",
    ):
        log.write(line + "\n")
    log.append_to(tmp_path / "run-1.log", events)
    assert (tmp_path / "run-1.log").read_text() == ""


def test_lines_of_a_failed_write_are_written_later(events, tmp_path):
    path, log = tmp_path / "run-1.log", PsychoPyLog()
    path.mkdir()
    mark(events, "session_start", 0.25)
    log.append_to(path, events)
    assert f"{path}: this file cannot be written" in log.problem and "Every response is in the store" in log.problem
    path.rmdir()
    log.append_to(path, events)
    assert log.problem is None and path.read_text() == "0.2500 \tEXP \tsession_start\n"
