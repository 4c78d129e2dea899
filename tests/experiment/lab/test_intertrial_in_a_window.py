"""The interval between two trials in a real window."""

from itertools import pairwise

import pytest

from experiment.plan import intertrial_ms
from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.timed_study import choice, keypress, make_timed_study

pytestmark = pytest.mark.lab

INTERVAL = "timing: {fixation_ms: 200, intertrial_ms: {min: 300, max: 900}}\n"


def test_the_window_is_blank_for_the_interval_of_each_trial(screen, fingers, tmp_path):
    items = [choice("q1"), keypress("w1", None), choice("q2"), keypress("w2", None)]
    folder = make_timed_study(tmp_path / "study", items, INTERVAL)
    participant = ScriptedParticipant(screen, fingers, folder, {"q1": "1", "q2": "2", "w1": "f", "w2": "j"})
    rows = sorted(participant.run().values(), key=lambda row: row["trial_index"])
    with participant.store() as store:
        ((seed,),) = store.execute("SELECT seed FROM sessions").fetchall()
    assert len(rows) == 4
    assert "intertrial" not in rows[0]["presentation"]
    timing = participant.study.definition.timing
    for row in rows[1:]:
        planned_ms, frame_ms = intertrial_ms(timing, seed, row["trial_index"]), row["frame_ms"]
        interval, events = row["presentation"]["intertrial"], row["presentation"]["events"]
        assert interval["frames_intended"] == round(planned_ms / frame_ms)
        assert interval["duration_ms"] == pytest.approx(planned_ms, abs=3 * frame_ms)
        assert [event["event"] for event in events] == ["intertrial", "fixation", "stimulus", "response"]
        lasted_ms = [(later["onset_us"] - event["onset_us"]) / 1000 for event, later in pairwise(events)]
        assert lasted_ms[0] == pytest.approx(interval["duration_ms"], abs=0.01)
        assert lasted_ms[1] == pytest.approx(row["fixation_ms"], abs=0.01)
        assert row["signals"] is None
