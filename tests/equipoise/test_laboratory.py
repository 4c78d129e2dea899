"""Whole sessions of the laboratory, as a participant and an experimenter live through them."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.data import read_trials
from batteries.errors import InputError
from equipoise.cli import main
from equipoise.laboratory import local_desk
from experiment.lab.desk import Desk, NotNow
from experiment.lab.session import Outcome, check_device, check_tasks, sheet_for
from experiment.loading import load_study
from experiment.plan import plan_session
from tests.equipoise.lab_visits import DEVICE, ESCAPE, SIZE_PX, careful, leaving_at, press, rows, take_on_the_web


@pytest.mark.parametrize("name", ["blackbox-predict", "intuition-single"])
def test_a_session_of_each_task_is_the_plan_of_its_group_and_seed(lab, tmp_path, name):
    from equipoise.studies import copy_sample_study

    copy_sample_study(name, tmp_path / "study")
    study = load_study(tmp_path / "study")
    visit = lab(study, group=3)
    assert visit.outcome is Outcome.COMPLETED
    trials = rows(study, visit.session)
    plan = plan_session(study, 3, visit.session.seed)
    assert [(t["trial_index"], t["phase"], t["item_id"]) for t in trials] == [
        (trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials
    ]
    assert visit.stage.trials == [trial.phase.value for trial in plan.trials]
    assert visit.stage.codes == visit.stage.trials
    for trial in trials:
        assert (trial["source"], trial["group"], trial["status"], trial["onset_source"]) == (
            "lab",
            3,
            "completed",
            "flip",
        )
        assert trial["rt_ms"] == 1200 and trial["fixation_ms"] == 200.4 and trial["attempt"] == 1
    scored = read_trials(study.store_path)
    assert scored["correct"].notna().all()


def test_the_same_group_and_seed_give_the_same_trials_in_laboratory_and_web(lab, small, tmp_path):
    study = load_study(small)
    lab(study)
    web = str(tmp_path / "web.db")
    with local_desk(study, web) as (desk, _):
        take_on_the_web(desk._client)
    in_lab, on_web = (read_trials(path).sort_values("trial_index") for path in (study.store_path, Path(web)))
    same = ["group", "seed", "trial_index", "phase", "item_id", "task", "content", "key"]
    assert in_lab[same].values.tolist() == on_web[same].values.tolist()
    assert set(in_lab["seed"]) == {1}


def test_without_consent_nothing_is_stored(lab, small):
    study = load_study(small)
    visit = lab(study, lambda stage: press("2" if "agree" in {r.name for r in stage.picture.regions} else "right"))
    assert visit.outcome is Outcome.DECLINED and visit.session is None
    assert "Nothing was stored" in visit.stage.seen[-1]
    with local_desk(study, None) as (_, store):
        assert store.trials() == [] and store.identities(study) == []


def test_who_stops_for_now_goes_on_with_the_same_trial_and_nothing_comes_twice(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    assert first.outcome is Outcome.LEFT
    answered = [t for t in rows(study, first.session) if t["received_at"]]
    assert len(answered) == 2
    second = lab(study)
    assert second.outcome is Outcome.COMPLETED and second.session.session == first.session.session
    assert "Welcome back" in second.stage.seen[0]
    trials = rows(study, second.session)
    assert [t["attempt"] for t in trials] == [2 if t["trial_index"] == 2 else 1 for t in trials]
    assert [t["visit"] for t in trials] == [1 if t["trial_index"] < 2 else 2 for t in trials]
    with pytest.raises(InputError, match=r"P01.*completed.*--session 2"):
        lab(study)


def test_who_thinks_of_leaving_and_stays_sees_the_trial_again(lab, small):
    study = load_study(small)
    visit = lab(study, leaving_at(2, ["1"]))
    assert visit.outcome is Outcome.COMPLETED
    assert [t["attempt"] for t in rows(study, visit.session)][:3] == [1, 2, 1]


def test_who_leaves_and_wants_the_answers_deleted_is_asked_once_more(lab, small):
    study = load_study(small)
    stays = lab(study, leaving_at(3, ["3", "1"]), participant="P01")
    assert stays.outcome is Outcome.COMPLETED
    leaves = lab(study, leaving_at(3, ["3", "2"]), participant="P02")
    assert leaves.outcome is Outcome.WITHDRAWN
    assert all(t["received_at"] is None and t["status"] == "withdrawn" for t in rows(study, leaves.session))
    kept = {path.name.partition("_")[0] for path in (study.folder / "data" / "lab").iterdir()}
    assert kept == {"P01"}, "no file holds what was to be deleted"
    assert leaves.table is None


def test_who_asks_for_the_way_out_before_the_consent_has_chosen_nothing_yet(lab, small):
    pressed = iter([ESCAPE, "2"])
    visit = lab(load_study(small), lambda _: press(next(pressed, "right")))
    assert "Nothing has been stored so far." in visit.stage.seen[1]
    assert visit.outcome is Outcome.DECLINED


def test_a_participant_who_cannot_go_on_is_told_before_the_window_closes(lab, small):
    study, seen = load_study(small), []
    lab(study)

    def person(stage):
        seen.append(stage.seen[-1])
        return careful(stage)

    with pytest.raises(InputError, match="has completed session 1"):
        lab(study, person)
    assert "Please tell the experimenter" in seen[-1]


def test_who_stopped_during_practice_reads_the_instructions_again(lab, small, edit):
    edit(
        small / "study.yaml",
        "practice: [practice-1]",
        "practice: [practice-1]\npractice_criterion: {correct: 1, rounds: 3}",
    )
    study = load_study(small)
    lab(study, leaving_at(2, ["2"]))
    visit = lab(study)
    back = next(number for number, screen in enumerate(visit.stage.seen) if "Welcome back" in screen)
    assert "absorbed" in visit.stage.seen[back + 1], "the instructions"
    assert not visit.stage.trials or visit.outcome is not None


def test_who_to_turn_to_is_there_at_the_end_too(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    asked = []

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if {"next", "contact"} <= names and not asked:
            asked.append(stage.seen[-1])
            return press("1")
        return careful(stage)

    visit = lab(load_study(small), person)
    assert "Write this code down" in asked[0]
    assert "Write to Ada" in visit.stage.seen[-2]
    assert visit.stage.seen[-1] == asked[0]


def test_who_to_turn_to_can_be_read_at_any_moment(lab, small):
    (small / "contact.md").write_text("Write to Ada, ada@example.org.")
    study = load_study(small)
    read = []

    def person(stage):
        names = {region.name for region in stage.picture.regions}
        if "Write to Ada" in stage.seen[-1]:
            read.append(len(stage.trials))
            return press("right")
        if {"stay", "contact"} <= names:
            return press("4") if len(read) == 0 else press("1")
        return press(ESCAPE) if len(stage.trials) == 2 and not read else careful(stage)

    assert lab(study, person).outcome is Outcome.COMPLETED
    assert read == [2]


@pytest.mark.parametrize(
    ("needs", "here", "sentence"),
    [
        ("width_px: 1025", {}, "a window of at least 1025 x 768 pixels"),
        ("height_px: 900", {}, "and this one has 1024 x 768; run it on a larger screen"),
        ("refresh_hz: 100", {}, "a screen of 100 Hz, and this one has 59.9"),
        ("refresh_hz: 100", {"is_synchronised": False, "measured_hz": 900.0}, "and this one has 60.0"),
        ("width_px: 1024\n  height_px: 768\n  refresh_hz: 60", {}, None),
        ("refresh_hz: 100", {"is_synchronised": False, "nominal_hz": None}, None),
    ],
)
def test_a_machine_must_have_what_the_study_asks_of_every_device(small, edit, needs, here, sentence):
    edit(small / "study.yaml", "\ndevice:\n", f"\ndevice:\n  {needs}\n")
    study = load_study(small)
    device = DEVICE.model_copy(update=here)
    with pytest.raises(InputError, match=f"study.yaml, device: .*{sentence}") if sentence else nullcontext():
        check_device(study, device)


def test_an_answer_that_cannot_be_stored_at_the_moment_is_handed_in_again(lab, small):
    study, refused = load_study(small), []

    class Full(Desk):
        """As a server whose disk is full for a while."""

        def __init__(self, desk):
            self.__dict__.update(desk.__dict__)

        def respond(self, session, responses):
            if responses[0].trial_index == 2 and len(refused) < 2:
                refused.append(responses[0])
                raise NotNow("the disk is full")
            assert responses[0].trial_index != 2 or responses == refused[:1], "the same answer"
            return super().respond(session, responses)

    def person(stage):
        return press("1") if "could not be saved yet" in stage.seen[-1] else careful(stage)

    visit = lab(study, person, wrap=lambda desk, store: Full(desk))
    assert visit.outcome is Outcome.COMPLETED and len(refused) == 2
    assert [t["attempt"] for t in rows(study, visit.session)][2] == 1


def test_options_may_stand_before_the_study(small):
    result = CliRunner().invoke(main, ["lab", "--group", "0", str(small), "--participant", "P01"])
    assert "Invalid value for '--group'" in result.stderr
    assert "Commands:" in CliRunner().invoke(main, ["lab", "--help"]).stdout


@pytest.mark.parametrize(
    ("quota", "who", "why"),
    [
        ("quota", {"participant": "P02"}, "The study has no place for P02"),
        ("quota_per_group", {"participant": "P02", "group": 1}, "Group 1 is full"),
        ("quota_per_group", {"participant": "P03", "occasion": 2}, "cannot begin it again"),
    ],
)
def test_nobody_is_asked_for_a_consent_that_leads_nowhere(lab, small, edit, quota, who, why):
    edit(small / "study.yaml", "\ntimeline:", f"\nrecruitment:\n  {quota}: 1\ntimeline:")
    study = load_study(small)
    if quota == "quota_per_group":
        lab(study, leaving_at(3, ["3", "2"]), participant="P03")  # has withdrawn
    lab(study, leaving_at(3, ["2"]), participant="P01")
    seen = []

    def person(stage):
        seen.append(stage.seen[-1])
        return careful(stage)

    with pytest.raises(InputError, match=why):
        lab(study, person, **who)
    assert len(seen) == 1 and "Please tell the experimenter" in seen[0]


def test_a_deadline_passes_a_question_unanswered_but_never_practice(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 5000")
    study = load_study(small)

    def slow(stage):
        if stage.until_ms is not None:
            assert stage.until_ms == 5000
            return None
        return careful(stage)

    trials = rows(study, lab(study, slow).session)
    assert [t["missing"] for t in trials] == [None if t["phase"] == "practice" else "deadline" for t in trials]
    assert all(t["response"] == "null" and t["rt_ms"] is None for t in trials if t["phase"] != "practice")


def test_answers_within_the_time_for_reading_are_not_taken_and_counted(lab, small, edit):
    edit(small / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  reading_ms: 3000")
    study = load_study(small)
    early = []

    def hasty(stage):
        if stage.until_ms == 3000:
            early.append(len(stage.trials))
            return press("a") if early.count(len(stage.trials)) < 3 else None
        return careful(stage)

    trials = rows(study, lab(study, hasty).session)
    assert {t["signals"] for t in trials} == {'{"too_early":2}'}


def test_practice_that_is_not_passed_ends_the_study_where_it_says_so(lab, small, edit):
    edit(
        small / "study.yaml",
        "practice: [practice-1]",
        "practice: [practice-1]\npractice_criterion: {correct: 1, rounds: 2, otherwise: end}",
    )
    study = load_study(small)
    visit = lab(study)
    assert visit.outcome is Outcome.ENDED
    assert visit.stage.trials == ["practice", "practice"]
    assert any("Practise once more" in seen for seen in visit.stage.seen)
    assert "too few right answers" in visit.stage.seen[-1]


def test_breaks_come_after_so_many_questions(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  breaks: {every: 2}")
    study = load_study(small)
    visit = lab(study)
    n_questions = visit.stage.trials.count("test") + visit.stage.trials.count("attention_check")
    assert sum("Time for a break" in seen for seen in visit.stage.seen) == (n_questions - 1) // 2


def test_an_interrupted_trial_is_passed_over_where_the_study_says_so(lab, small, edit):
    edit(small / "study.yaml", "timing:", "resume: {interrupted_trial: skip}\n\ntiming:")
    study = load_study(small)

    class Killed(BaseException):
        pass

    def killed(stage):
        if len(stage.trials) == 3:
            raise Killed
        return careful(stage)

    with pytest.raises(Killed):
        lab(study, killed)
    visit = lab(study)
    assert visit.outcome is Outcome.COMPLETED
    trials = rows(study, visit.session)
    assert [t["missing"] for t in trials][:4] == [None, None, "interrupted", None]
    assert any("passed over" in seen for seen in visit.stage.seen)


def test_questions_about_the_person_may_be_answered_or_left_out(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  demographics: about.yaml")
    (small / "about.yaml").write_text(
        "questions:\n- {name: age, ask: How old are you?, answer: number, low: 18, high: 99}\n"
        "- {name: hand, ask: Which hand?, answer: choice, options: [left, right]}\n"
        "- {name: remark, ask: Anything else?, answer: text}\n"
    )
    study = load_study(small)
    typed = ["1", "2", "return", "backspace", "backspace", "4", "2", "return", "2", "return", "return"]

    def person(stage):
        return press(typed.pop(0)) if typed and "About you" in stage.seen[-1] else careful(stage)

    visit = lab(study, person)
    with local_desk(study, None) as (_, store):
        (session,) = store.sessions(study)
    said = {name: session[f"demographics_{name}"] for name in ("age", "hand", "remark")}
    assert said == {"age": 42, "hand": "right", "remark": None}
    assert visit.outcome is Outcome.COMPLETED


def test_items_that_only_a_browser_can_show_are_refused(small):
    study = load_study(small)
    study.battery.items[0].__dict__["task"] = "jspsych"
    with pytest.raises(InputError, match=r"study\.yaml: the item .* only a browser can show"):
        check_tasks(study)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--participant", "P01", "--rehearsal", "--server", "http://127.0.0.1:9"],
            "a rehearsal stays on this machine",
        ),
        (["--participant", "P01", "--group", "0"], "Invalid value for '--group'"),
        (["--participant", "P01", "--group", "59"], "--group 59: there is no such group; the groups are 1 to 58."),
        ([], "Missing option '--participant'"),
    ],
)
def test_a_session_that_cannot_be_asked_for_is_refused_in_a_sentence(small, arguments, sentence):
    result = CliRunner().invoke(main, ["lab", str(small), *arguments])
    assert result.exit_code == 2 and sentence in result.stderr
    assert not (small / "data").exists()


def test_items_of_a_study_are_not_written_in_letters_of_several_sizes(small):
    assert sheet_for(load_study(small), SIZE_PX).item_px is not None
