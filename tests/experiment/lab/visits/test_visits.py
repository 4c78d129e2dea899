"""Laboratory sessions from the view of a participant and an experimenter."""

import pytest

from batteries.errors import InputError
from equipoise.commands.lab.clients import local_client
from experiment.lab.visitor import VisitOutcome
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import (
    WITHDRAW,
    FakeDisplay,
    Killed,
    careful,
    is_asked,
    killed_where,
    leaving_at,
    names_on,
    press,
    rows,
)


def test_without_consent_nothing_is_stored(lab, small):
    study = load_study(small)
    visit = lab(study, lambda display: press("2" if "agree" in names_on(display) else "right"))
    assert visit.outcome is VisitOutcome.DECLINED and visit.session is None
    assert "Nothing was stored" in visit.display.seen[-1]
    with local_client(study, None) as (_, store):
        assert store.trials() == [] and store.identities(study) == []


def test_a_participant_who_stops_resumes_at_the_same_trial(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    assert first.outcome is VisitOutcome.LEFT
    answered = [t for t in rows(study, first.session) if t["received_at"]]
    assert len(answered) == 2
    second = lab(study)
    assert second.outcome is VisitOutcome.COMPLETED and second.session.session == first.session.session
    assert "Welcome back" in second.display.seen[0]
    trials = rows(study, second.session)
    assert [t["attempt"] for t in trials] == [2 if t["trial_index"] == 2 else 1 for t in trials]
    assert [t["visit"] for t in trials] == [1 if t["trial_index"] < 2 else 2 for t in trials]
    with pytest.raises(InputError, match=r"P01.*completed.*--session-number 2"):
        lab(study)


def test_a_participant_who_presses_escape_and_continues_repeats_the_trial(lab, small):
    study = load_study(small)
    visit = lab(study, leaving_at(2, ["1"]))
    assert visit.outcome is VisitOutcome.COMPLETED
    assert [t["attempt"] for t in rows(study, visit.session)][:3] == [1, 2, 1]


def test_a_refused_participant_sees_the_reason_before_the_window_closes(lab, small):
    study, seen = load_study(small), []
    lab(study)

    def person(display):
        seen.append(display.seen[-1])
        return careful(display)

    with pytest.raises(InputError, match="has completed session 1"):
        lab(study, person)
    assert "Please tell the experimenter" in seen[-1]


def test_a_participant_who_resumes_practice_reads_the_instructions_again(lab, small, edit):
    edit(
        small / "study.yaml",
        "practice: [practice-1]",
        "practice: [practice-1]\npractice_criterion: {correct: 1, rounds: 3}",
    )
    study = load_study(small)
    lab(study, leaving_at(2, ["2"]))
    visit = lab(study)
    back = next(number for number, screen in enumerate(visit.display.seen) if "Welcome back" in screen)
    assert "Page 1 of 6" in visit.display.seen[back + 1], "the instructions"
    assert visit.outcome is VisitOutcome.COMPLETED
    n_practice = visit.display.trials.count("practice")
    (note,) = [n for n, screen in enumerate(visit.display.seen) if "The practice ends here" in screen]
    n_wrong = sum("Not quite" in screen for screen in visit.display.seen[: note + 1])
    assert n_wrong == n_practice == 2, "the note is on the feedback of the last practice trial"


@pytest.mark.parametrize(
    ("quota", "who", "why"),
    [
        ("quota", {"participant": "P02"}, "no free slot for participant P02"),
        ("quota_per_group", {"participant": "P02", "group": 1}, "Group 1 is full"),
        ("quota_per_group", {"participant": "P03", "session_number": 2}, "cannot begin this study again"),
    ],
)
def test_a_participant_without_a_slot_is_not_asked_for_consent(lab, small, edit, quota, who, why):
    edit(small / "study.yaml", "\ntimeline:", f"\nrecruitment:\n  {quota}: 1\ntimeline:")
    study = load_study(small)
    if quota == "quota_per_group":
        lab(study, leaving_at(3, WITHDRAW), participant="P03")  # This participant withdraws.
    lab(study, leaving_at(3, ["2"]), participant="P01")
    seen = []

    def person(display):
        seen.append(display.seen[-1])
        return careful(display)

    with pytest.raises(InputError, match=why):
        lab(study, person, **who)
    assert len(seen) == 1 and "Please tell the experimenter" in seen[0]


def test_breaks_come_after_the_planned_number_of_questions(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  breaks: {every: 2}")
    study = load_study(small)
    visit = lab(study)
    n_questions = visit.display.trials.count("test") + visit.display.trials.count("attention_check")
    assert sum("Time for a break" in seen for seen in visit.display.seen) == (n_questions - 1) // 2


@pytest.fixture
def skipping(small, edit):
    """A study that skips interrupted trials."""
    edit(small / "study.yaml", "timing:", "resume: {interrupted_trial: skip}\n\ntiming:")
    return small


def is_on_trial(number):
    return lambda display: len(display.trials) == number and is_asked(display)


def test_an_interrupted_trial_is_skipped_if_the_study_says_so(lab, skipping):
    study = load_study(skipping)
    with pytest.raises(Killed):
        lab(study, killed_where(is_on_trial(3)))
    visit = lab(study)
    assert visit.outcome is VisitOutcome.COMPLETED
    trials = rows(study, visit.session)
    assert [(t["missing"], t["visit"], t["attempt"]) for t in trials][:4] == [
        (None, 1, 1),
        (None, 1, 1),
        ("interrupted", 2, 1),
        (None, 2, 1),
    ]
    assert "is skipped" in visit.display.seen[0]
    assert f"3 of {len(trials)}" in visit.display.seen[0], "as on the web, a skipped trial counts as completed"


def test_the_first_trial_of_a_study_without_practice_can_be_skipped(lab, skipping, edit):
    edit(skipping / "study.yaml", "practice: [practice-1]\n", "")
    items = [line for line in (skipping / "battery.jsonl").read_text().splitlines() if "practice-1" not in line]
    (skipping / "battery.jsonl").write_text("\n".join(items))
    study = load_study(skipping)
    with pytest.raises(Killed):
        lab(study, killed_where(is_on_trial(1)))
    visit = lab(study)
    assert "Welcome back" in visit.display.seen[0] and "is skipped" in visit.display.seen[0]
    assert [t["missing"] for t in rows(study, visit.session)][:2] == ["interrupted", None]


def test_a_session_whose_last_trial_is_skipped_is_completed(lab, skipping):
    study = load_study(skipping)
    n_trials = len(rows(study, lab(study, participant="P00").session))
    with pytest.raises(Killed):
        lab(study, killed_where(is_on_trial(n_trials)))
    visit = lab(study)
    assert visit.outcome is VisitOutcome.COMPLETED and visit.display.trials == []
    assert "You are done" in visit.display.seen[0]


def test_a_practice_trial_is_never_skipped(lab, skipping):
    study = load_study(skipping)
    with pytest.raises(Killed):
        lab(study, killed_where(is_on_trial(1)))
    visit = lab(study)
    assert "Welcome back" not in visit.display.seen[0], "nothing is answered yet: the instructions"
    assert [(t["missing"], t["attempt"]) for t in rows(study, visit.session)][:2] == [(None, 2), (None, 1)]


def test_an_unseen_trial_is_not_skipped_and_not_counted(lab, skipping, monkeypatch):
    """As on the web, a trial cannot be interrupted before its stimulus."""
    study = load_study(skipping)
    with pytest.raises(Killed):
        lab(
            study, killed_where(lambda display: len(display.trials) == 1 and "next" in names_on(display))
        )  # While feedback is shown.

    def fixate_no_more(display, *_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(FakeDisplay, "fixate", fixate_no_more)
        with pytest.raises(Killed):
            lab(study)
    visit = lab(study)
    assert not any("is skipped" in seen for seen in visit.display.seen)
    assert [(t["missing"], t["visit"], t["attempt"]) for t in rows(study, visit.session)][:2] == [
        (None, 1, 1),
        (None, 3, 1),
    ]


def test_demographic_questions_can_be_answered_or_skipped(lab, small, edit):
    edit(small / "study.yaml", "debrief: debrief.md", "debrief: debrief.md\n  demographics: about.yaml")
    (small / "about.yaml").write_text(
        "questions:\n- {name: age, ask: How old are you?, answer: number, low: 18, high: 99}\n"
        "- {name: hand, ask: Which hand?, answer: choice, options: [left, right]}\n"
        "- {name: remark, ask: Anything else?, answer: text}\n"
    )
    study = load_study(small)
    typed = ["1", "2", "return", "backspace", "backspace", "4", "2", "return", "2", "return", "return"]

    def person(display):
        return press(typed.pop(0)) if typed and "About you" in display.seen[-1] else careful(display)

    visit = lab(study, person)
    with local_client(study, None) as (_, store):
        (session,) = store.sessions(study)
    answers = {name: session[f"demographics_{name}"] for name in ("age", "hand", "remark")}
    assert answers == {"age": 42, "hand": "right", "remark": None}
    assert visit.outcome is VisitOutcome.COMPLETED
