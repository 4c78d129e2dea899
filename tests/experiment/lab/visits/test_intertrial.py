"""The interval between two trials in laboratory sessions without a window."""

import json

from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from experiment.plan import intertrial_ms
from tests.experiment.lab.visits.lab_visits import leaving_at, rows
from tests.timed_study import choice, make_timed_study

JITTER = "timing: {intertrial_ms: {min: 500, max: 1500}}\n"
BREAKS = "timeline: {instructions: [instructions.md], breaks: {every: 2}}\n"


def study_of(tmp_path, more=JITTER, practice=0):
    folder = make_timed_study(tmp_path / "study", [choice(f"q{number}") for number in range(6)], more, practice)
    if BREAKS in more:
        text = (folder / "study.yaml").read_text()
        (folder / "study.yaml").write_text(text.replace("timeline: {instructions: [instructions.md]}\n", "", 1))
    return load_study(folder)


def planned(study, session, *without):
    timing = study.definition.timing
    return [None if n in without else intertrial_ms(timing, session.seed, n) for n in range(6)]


def test_each_trial_after_another_trial_has_its_interval_from_the_seed(lab, tmp_path):
    study = study_of(tmp_path)
    visit = lab(study)
    assert visit.outcome is VisitOutcome.COMPLETED
    assert visit.display.intervals_ms == planned(study, visit.session, 0)
    stored = [json.loads(row["presentation"]) for row in rows(study, visit.session)]
    assert "intertrial" not in stored[0]
    for shown, interval_ms in list(zip(stored, visit.display.intervals_ms, strict=True))[1:]:
        assert shown["intertrial"]["duration_ms"] == interval_ms + 0.5
        assert [event["event"] for event in shown["events"]] == ["intertrial", "fixation", "stimulus", "response"]


def test_a_trial_after_a_break_has_no_interval(lab, tmp_path):
    study = study_of(tmp_path, JITTER + BREAKS)
    visit = lab(study)
    assert visit.display.intervals_ms == planned(study, visit.session, 0, 2, 4)


def test_the_feedback_of_practice_belongs_to_its_trial_so_the_interval_follows(lab, tmp_path):
    study = study_of(tmp_path, practice=2)
    visit = lab(study)
    assert visit.display.intervals_ms == planned(study, visit.session, 0)


def test_a_resumed_session_has_the_same_intervals(lab, tmp_path):
    study = study_of(tmp_path)
    first = lab(study, leaving_at(3, ["2"]))
    second = lab(study)
    assert first.display.intervals_ms == planned(study, second.session, 0)[:3]
    assert second.display.intervals_ms == planned(study, second.session, 2)[2:]


def test_a_trial_that_is_repeated_after_escape_has_no_interval(lab, tmp_path):
    study = study_of(tmp_path)
    visit = lab(study, leaving_at(2, ["1"]))
    intervals = planned(study, visit.session, 0)
    assert visit.display.intervals_ms == [*intervals[:2], None, *intervals[2:]]


def test_without_the_setting_there_are_no_intervals(lab, tmp_path):
    study = study_of(tmp_path, more="")
    assert lab(study).display.intervals_ms == [None] * 6
