"""Stored responses of a laboratory session: every item of the plan with its response and times."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from analysis.data.tidy_table import read_trials
from batteries.errors import InputError
from equipoise.commands.lab.clients import local_client
from equipoise.studies import copy_sample_study
from experiment.lab import progress
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.experiment.lab.visits.lab_visits import (
    DEVICE,
    careful,
    demanded,
    devices_of,
    leaving_at,
    press,
    reader_of,
    rows,
    take_on_the_web,
)

OF_ONSETS = (
    "fixation_ms",
    "fixation_frames",
    "fixation_frames_intended",
    "frame_ms",
    "frames_dropped",
    "onset_source",
)


@pytest.mark.parametrize("name", ["blackbox-predict", "intuition-single"])
def test_a_session_of_each_task_is_the_plan_of_its_group_and_seed(lab, tmp_path, name):
    copy_sample_study(name, tmp_path / "study")
    study = load_study(tmp_path / "study")
    visit = lab(study, reader_of(study), group=3)
    assert visit.outcome is VisitOutcome.COMPLETED
    trials = rows(study, visit.session)
    plan = plan_session(study, 3, visit.session.seed)
    assert [(t["trial_index"], t["phase"], t["item_id"]) for t in trials] == [
        (trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials
    ]
    assert visit.display.trials == [trial.phase.value for trial in plan.trials]
    assert visit.display.codes == visit.display.trials
    for trial in trials:
        assert (trial["source"], trial["group"], trial["status"]) == ("lab", 3, "completed")
    scored = read_trials(study.store_path)
    assert scored["correct"].notna().all()


def test_the_same_group_and_seed_give_the_same_trials_in_laboratory_and_web(lab, small, tmp_path):
    study = load_study(small)
    lab(study)
    web = str(tmp_path / "web.db")
    with local_client(study, web) as (lab_client, _):
        take_on_the_web(lab_client._client)
    in_lab, on_web = (read_trials(path).sort_values("trial_index") for path in (study.store_path, Path(web)))
    same = ["group", "seed", "trial_index", "phase", "item_id", "task", "content", "key"]
    assert in_lab[same].values.tolist() == on_web[same].values.tolist()
    assert set(in_lab["seed"]) == {1}


def test_responses_within_the_reading_time_are_refused_and_counted(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  reading_ms: 3000")
    study = load_study(small)
    early = []

    def hasty(display):
        if display.until_ms == 3000:
            early.append(len(display.trials))
            return press("a") if early.count(len(display.trials)) < 3 else None
        return careful(display)

    trials = rows(study, lab(study, hasty).session)
    assert {t["signals"] for t in trials} == {'{"too_early":2}'}


def test_the_time_limit_is_stated_before_the_first_question_and_after_a_resume(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 5000")
    study, words = load_study(small), "You have 5 seconds for each question."
    first, second = lab(study, leaving_at(3, ["2"])), lab(study)
    (instructions,) = [seen for seen in first.display.seen if words in seen and "Begin" in seen]
    assert "Page 6 of 6" in instructions, "the last page of the instructions"
    assert "Welcome back" in second.display.seen[0] and words in second.display.seen[0]


def test_a_deadline_skips_questions_but_never_practice_trials(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 5000")
    study = load_study(small)

    def slow(display):
        if display.until_ms is not None:
            assert display.until_ms == 5000
            return None
        return careful(display)

    visit = lab(study, slow)
    assert visit.display.codes == ["practice"], "without a response, no event code of a response is sent"
    trials = rows(study, visit.session)
    assert [t["missing"] for t in trials] == [None if t["phase"] == "practice" else "deadline" for t in trials]
    assert all(t["response"] == "null" and t["rt_ms"] is None for t in trials if t["phase"] != "practice")


@pytest.mark.parametrize("name", ["blackbox-predict", "intuition-single", "intuition-double"])
def test_every_response_is_stored_with_the_item_on_the_screen(lab, tmp_path, name):
    copy_sample_study(name, tmp_path / "study")
    study = load_study(tmp_path / "study")
    trials = rows(study, lab(study, reader_of(study)).session)
    questions = [trial["item_id"] for trial in trials if trial["phase"] != "practice"]  # practice can have two rounds
    assert len(set(questions)) == len(questions) > 20
    assert [json.loads(trial["response"]) for trial in trials] == [
        demanded(study.battery.by_id[trial["item_id"]]) for trial in trials
    ]


def test_timing_and_input_of_each_trial_are_stored_over_several_visits(lab, small):
    study = load_study(small)
    at_work = reader_of(study)

    def person(display):
        n = len(display.trials)
        display.early, display.n_focus_lost = n % 3, n % 2  # For the next trial, and for this trial.
        return leaving(display) if leaving else at_work(display)

    leaving = leaving_at(4, ["2"])
    first = lab(study, person)
    leaving = None
    second = lab(study, person, device=DEVICE.model_copy(update={"width_px": 1025}))
    trials = rows(study, second.session)
    onsets = [*first.display.onsets[:3], *second.display.onsets]
    answers = [*first.display.answers[:3], *second.display.answers]
    n_of_visit = [1, 2, 3, *range(1, len(second.display.onsets) + 1)]
    assert len(trials) == len(onsets) == len(answers)
    for trial, onset, answer, n in zip(trials, onsets, answers, n_of_visit, strict=True):
        index = trial["trial_index"]
        assert {name: trial[name] for name in OF_ONSETS} == {name: getattr(onset, name) for name in OF_ONSETS}
        assert datetime.fromisoformat(trial["shown_at"]) == onset.shown_at
        assert (trial["rt_ms"], trial["input"], trial["missing"]) == (answer.rt_ms, answer.input, None)
        assert (trial["visit"], trial["attempt"]) == (1 if index < 3 else 2, 2 if index == 3 else 1)
        assert json.loads(trial["signals"] or "null") == ({"too_early": (n - 1) % 3} if (n - 1) % 3 else None)
        assert trial["focus_lost"] == n % 2
    assert {trial["input"] for trial in trials} == {"key", "mouse"}
    assert [device.width_px for device in devices_of(study, second.session)] == [1024, 1025]


def test_a_session_with_another_plan_than_the_stored_plan_is_refused(lab, small, monkeypatch):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    before = rows(study, first.session)
    for other in (
        lambda plan: plan_session(study, plan.group, plan.seed + 1),
        lambda plan: plan.model_copy(update={"trials": plan.trials[:-1]}),
        lambda plan: plan.model_copy(
            update={"trials": (plan.trials[0].model_copy(update={"phase": "test"}), *plan.trials[1:])}
        ),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(progress, "plan_session", lambda *of, other=other: other(plan_session(*of)))
            with pytest.raises(InputError, match="the trials of this session, as computed now, differ from"):
                lab(study)
    assert rows(study, first.session) == before
    assert lab(study).outcome is VisitOutcome.COMPLETED
