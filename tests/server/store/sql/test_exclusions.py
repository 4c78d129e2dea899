"""Sessions that the researcher excludes: responses stay, another participant gets the slot, and it can be undone."""

import pytest

from experiment.models.baselines import run_baseline
from experiment.records import Kind, Status
from experiment.study.definition import Study
from server.store import Conflict, Release, SlotState, Store, StudyFull, Visit
from tests.server.stores import Clock, Person, at_once, problems, recruiting, responses_of, rows


def completed(store: Store, study: Study) -> list[int]:
    return [one.n_completed for one in store.progress(study) if one.kind is Kind.HUMAN]


def events_of(store: Store, study: Study) -> list[str]:
    return [event.event for event in store.events(study)]


@pytest.fixture
def study(small_study: Study, any_store: Store) -> Study:
    """One slot in each of three groups."""
    study = recruiting(small_study, quota_per_group=1)
    any_store.register_study(study)
    return study


def test_an_excluded_session_keeps_its_responses_and_releases_its_slot(any_store: Store, study: Study) -> None:
    people = [Person(any_store, study).complete() for _ in range(3)]
    with pytest.raises(StudyFull):
        Person(any_store, study)
    before = responses_of(any_store, people[1].session)
    any_store.exclude_sessions([people[1].session], "fire alarm")

    assert responses_of(any_store, people[1].session) == before != []
    assert completed(any_store, study) == [1, 0, 1]
    newcomer = Person(any_store, study)
    assert newcomer.group == people[1].group
    row = next(row for row in any_store.sessions(study) if row["session"] == people[1].session)
    assert (row["excluded_reason"], row["status"], row["release_reason"]) == ("fire alarm", "completed", "exclusion")
    shown = {row["session"]: (row["excluded_reason"], row["excluded_at"]) for row in any_store.trials()}
    assert {session: reason for session, (reason, _) in shown.items()} == {
        people[0].session: None, people[1].session: "fire alarm", people[2].session: None, newcomer.session: None,
    }  # fmt: skip
    (event,) = [event for event in any_store.events(study) if event.event == "excluded"]
    assert event.session == people[1].session
    assert (event.details["reason"], event.details["excluded_at"]) == shown[people[1].session]
    assert problems(any_store) == []


def test_undoing_an_exclusion_reserves_a_slot_if_one_is_free(any_store: Store, study: Study) -> None:
    person = Person(any_store, study).complete()
    any_store.exclude_sessions([person.session], "fire alarm")
    assert any_store.include_sessions(study, [person.session], "it was the other session") == [SlotState.CONFIRMED]
    assert sum(completed(any_store, study)) == 1
    assert {row["excluded_reason"] for row in any_store.trials()} == {None}
    assert [event.details["reason"] for event in any_store.events(study) if event.event == "included"] == [
        "it was the other session"
    ]
    assert problems(any_store) == []


def test_an_exclusion_that_is_undone_overfills_no_group(any_store: Store, study: Study) -> None:
    people = [Person(any_store, study).complete() for _ in range(3)]
    any_store.exclude_sessions([people[0].session], "fire alarm")
    Person(any_store, study).complete()
    assert any_store.include_sessions(study, [people[0].session], "mistaken") == [SlotState.RELEASED]
    assert completed(any_store, study) == [1, 1, 1]
    assert {row["excluded_reason"] for row in any_store.trials()} == {None}, "it is in the analysis all the same"
    assert problems(any_store) == []


def test_a_participant_excluded_during_the_session_cannot_resume_until_the_exclusion_is_undone(
    any_store: Store, study: Study
) -> None:
    person = Person(any_store, study)
    person.answer(1)
    any_store.exclude_sessions([person.session], "spoke to another participant")
    with pytest.raises(StudyFull):
        any_store.open_session(study, person.token, Visit("6b1d1f0e-0000-4000-8000-000000000001"))
    assert any_store.include_sessions(study, [person.session], "mistaken") == [SlotState.RESERVED]
    any_store.open_session(study, person.token, Visit("6b1d1f0e-0000-4000-8000-000000000001"))
    person.complete()
    assert person.now.slot is SlotState.CONFIRMED
    assert problems(any_store) == []


def test_a_slot_lost_before_an_exclusion_stays_lost_after_the_exclusion_is_undone(
    any_store: Store, study: Study, clock: Clock
) -> None:
    failed = Person(any_store, study).complete(passed_checks=False)
    lapsed = Person(any_store, study)
    clock.advance(61)
    Person(any_store, study)  # This start releases the slot of the lapsed session.
    for person, reason in ((failed, Release.ATTENTION_CHECK), (lapsed, Release.TIME_OUT)):
        assert person.now.release_reason == reason
        any_store.exclude_sessions([person.session], "by hand")
        assert any_store.include_sessions(study, [person.session], "undone") == [SlotState.RELEASED]
        assert person.now.release_reason == reason
    assert problems(any_store) == []


def test_a_session_completed_after_its_exclusion_gets_its_slot_when_the_exclusion_is_undone(
    any_store: Store, study: Study
) -> None:
    person = Person(any_store, study)
    any_store.exclude_sessions([person.session], "fire alarm")
    person.complete()
    assert person.now.slot is SlotState.RELEASED
    assert any_store.include_sessions(study, [person.session], "undone") == [SlotState.CONFIRMED]
    assert sum(completed(any_store, study)) == 1
    assert problems(any_store) == []


def test_an_impossible_exclusion_is_refused_and_changes_nothing(any_store: Store, study: Study) -> None:
    done, gone = Person(any_store, study).complete(), Person(any_store, study).withdraw()
    simulated = Person(any_store, study, Kind.SIMULATED).complete()
    any_store.add_runs(study, [run_baseline(study, "baseline/tracer")])
    before = events_of(any_store, study)
    for session, why in ((gone.session, "was withdrawn"), (simulated.session, "--without-simulated")):
        with pytest.raises(Conflict, match=why):
            any_store.exclude_sessions([done.session, session], "all or none")
    with pytest.raises(Conflict, match=r"is not excluded\. Fix: "):
        any_store.include_sessions(study, [done.session], "nothing to undo")
    assert events_of(any_store, study) == before
    any_store.exclude_sessions([done.session], "fire alarm")
    with pytest.raises(Conflict, match=r"is excluded already \(fire alarm\)\. Fix: "):
        any_store.exclude_sessions([done.session], "again")
    assert rows(any_store, "SELECT excluded_reason FROM sessions WHERE excluded_reason IS NOT NULL") == [
        ("fire alarm",)
    ]
    assert problems(any_store) == []


def test_simultaneous_exclusions_of_a_session_are_one_exclusion(any_store: Store, study: Study) -> None:
    person = Person(any_store, study).complete()
    outcomes = at_once(*[lambda: any_store.exclude_sessions([person.session], "fire alarm")] * 5)
    assert sum(one is None for one in outcomes) == 1
    assert events_of(any_store, study).count("excluded") == 1
    assert problems(any_store) == []


def test_an_excluded_session_can_still_be_withdrawn(any_store: Store, study: Study) -> None:
    person = Person(any_store, study).complete()
    any_store.exclude_sessions([person.session], "fire alarm")
    person.withdraw()
    assert responses_of(any_store, person.session) == []
    assert person.now.session.status is Status.WITHDRAWN
    with pytest.raises(Conflict, match="was withdrawn, so its responses are deleted"):
        any_store.include_sessions(study, [person.session], "undone")
    assert problems(any_store) == []
