"""Slots in groups: filled evenly, never over-filled, released after the time-out, and regained."""

from collections import Counter
from contextlib import closing
from functools import partial

import pytest

from experiment.records import Kind, Status
from experiment.study.definition import Study
from server.store import (
    Conflict,
    Release,
    SlotState,
    Store,
    StudyFull,
)
from tests.server.store.contract.helpers import TIME_OUT_MIN, events
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    of,
    problems,
    recruiting,
    responses_of,
    rows,
)

# Slots.


def test_simultaneous_starts_fill_the_groups_evenly(store: Store, small_study: Study) -> None:
    people = at_once(*[lambda: Person(store, small_study)] * 60)
    assert Counter(person.group for person in people) == {1: 20, 2: 20, 3: 20}
    assert Counter(person.stored.session.seed for person in people) == dict.fromkeys(range(1, 21), 3)
    assert [slot for (slot,) in rows(store, "SELECT slot FROM sessions")] == ["reserved"] * 60
    assert problems(store) == []


def test_the_slot_of_a_withdrawn_session_is_filled_again(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(3)]
    leaver = people[1].withdraw()
    successor = Person(store, small_study)
    assert successor.group == leaver.group
    assert successor.stored.session.seed == 2  # A seed is never used twice, so no two plans are equal.


def test_simulated_participants_use_no_slots_of_people(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=2, quota_per_group=1)
    simulated = [Person(store, study, Kind.SIMULATED) for _ in range(7)]
    assert [person.group for person in simulated] == [1, 2, 3, 1, 2, 3, 1]
    people = [Person(store, study) for _ in range(2)]
    assert [person.group for person in people] == [1, 2]
    assert {person.stored.session.seed for person in people} == {1}
    assert store.why_full(study)
    Person(store, study, Kind.SIMULATED).complete()
    assert problems(store) == []


def test_a_full_study_refuses_participants_before_the_start(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=2)
    assert not store.why_full(study)
    first, second = Person(store, study), Person(store, study)
    assert store.why_full(study)
    with pytest.raises(StudyFull, match=r"taken at the moment.*try again in about 60 minutes"):
        Person(store, study)
    first.withdraw()
    assert not store.why_full(study)
    Person(store, study).complete()
    second.complete()
    with pytest.raises(StudyFull, match="has all the participants it needs"):
        Person(store, study)
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(3,)]  # A refused participant stores nothing.


def test_a_quota_holds_for_each_group(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=2)
    assert Counter(Person(store, study).group for _ in range(6)) == {1: 2, 2: 2, 3: 2}
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)


def test_a_quota_can_be_raised_during_data_collection(store: Store, small_study: Study) -> None:
    Person(store, recruiting(small_study, quota=1))
    raised = recruiting(small_study, quota=2)
    store.register_study(raised)
    assert Person(store, raised).group == 2


def test_simultaneous_starts_never_exceed_the_slots(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=7, quota_per_group=3)
    with closing(another(store)) as other:
        outcomes = at_once(*[partial(Person, one, study) for one in (store, other)] * 12)
    people = [outcome for outcome in outcomes if isinstance(outcome, Person)]
    assert sorted(Counter(person.group for person in people).values()) == [2, 2, 3]
    assert of(StudyFull, outcomes) == 24 - 7
    assert problems(store) == []


def test_a_closed_group_gets_no_newcomers_until_it_is_opened(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=4)
    under_way = Person(store, study)
    store.open_group(study, 1, is_open=False)
    assert Counter(Person(store, study).group for _ in range(8)) == {2: 4, 3: 4}
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)
    under_way.complete()
    assert under_way.now.slot is SlotState.CONFIRMED
    assert [progress.is_open for progress in store.progress(study)[:3]] == [False, True, True]
    store.open_group(study, 1, is_open=True)
    assert Person(store, study).group == 1
    assert [event for event in events(store, study) if event in {"closed", "opened"}] == ["closed", "opened"]


@pytest.mark.parametrize("group", [0, 4])
def test_an_unknown_group_can_be_neither_opened_nor_closed(store: Store, small_study: Study, group: int) -> None:
    before = store.events(small_study)
    for is_open in (True, False):
        with pytest.raises(Conflict, match=f"no group {group}"):
            store.open_group(small_study, group, is_open)
    assert store.events(small_study) == before


def test_another_participant_gets_the_slot_after_the_time_out(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=1)
    gone = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN - 1)
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)
    clock.advance(minutes=2)
    assert not store.why_full(study)
    successor = Person(store, study)
    assert (successor.group, successor.stored.session.seed) == (gone.group, 2)
    assert gone.now.slot is SlotState.RELEASED
    assert gone.now.session.status is Status.ACTIVE
    released = next(event for event in store.events(study) if event.event == "released")
    assert (released.session, released.details["because"]) == (gone.session, "time-out")
    assert problems(store) == []


@pytest.mark.parametrize("sign_of_life", ["answer", "resume", "begin"])
def test_a_visit_or_response_keeps_the_slot(store: Store, small_study: Study, clock: Clock, sign_of_life: str) -> None:
    study = recruiting(small_study, quota=1)
    person = Person(store, study)
    for _ in range(3):
        clock.advance(minutes=TIME_OUT_MIN - 1)
        if sign_of_life == "answer":
            person.answer()
        elif sign_of_life == "resume":
            store.resume_session(study, person.session)
        else:
            person.begin()
        with pytest.raises(StudyFull):
            Person(store, study)
    assert person.now.slot is SlotState.RESERVED


def test_the_studys_own_time_out_counts(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=1, time_out_min=5)
    Person(store, study)
    clock.advance(minutes=4)
    assert store.why_full(study)
    clock.advance(minutes=2)
    assert not store.why_full(study)


def test_only_people_time_out(store: Store, small_study: Study, clock: Clock) -> None:
    simulated = Person(store, small_study, Kind.SIMULATED)
    clock.advance(minutes=2 * TIME_OUT_MIN)
    Person(store, small_study)
    assert simulated.now.slot is SlotState.RESERVED


def test_a_returning_participant_gets_the_slot_if_it_is_free(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    assert away.now.slot is SlotState.RELEASED
    store.resume_session(study, away.session)
    assert away.now.slot is SlotState.RESERVED
    with pytest.raises(StudyFull):
        Person(store, study)
    assert away.complete().now.slot is SlotState.CONFIRMED
    assert events(store, study, away.session) == ["reserved", "released", "regained", "confirmed"]
    assert problems(store) == []


def test_a_participant_who_returns_too_late_is_refused_and_the_responses_stay(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    away.answer()
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    for come_back in (lambda: store.resume_session(study, away.session), away.begin):
        with pytest.raises(StudyFull, match=r"given to another participant\. Your answers so far are safe"):
            come_back()
    assert len(responses_of(store, away.session)) == 1
    successor.withdraw()
    store.resume_session(study, away.session)
    assert away.now.slot is SlotState.RESERVED


def test_no_participant_resumes_in_a_group_that_was_filled_meanwhile(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota_per_group=1)
    away = [Person(store, study) for _ in range(3)]
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    for person in away:
        if person.group == successor.group:
            with pytest.raises(StudyFull):
                store.resume_session(study, person.session)
        else:
            store.resume_session(study, person.session)
    assert store.why_full(study)
    assert problems(store) == []


def test_a_returning_participant_gets_any_slot_that_a_newcomer_would_get(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)  # Takes the slot, and lapses too.
    clock.advance(minutes=TIME_OUT_MIN + 1)
    assert not store.why_full(study)
    store.resume_session(study, away.session)
    assert away.now.slot is SlotState.RESERVED
    assert problems(store) == []


def test_resuming_in_time_or_after_the_end_changes_no_slot(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study), Person(store, small_study).complete(), Person(store, small_study).withdraw()]
    before = store.events(small_study)
    for person in people:
        store.resume_session(small_study, person.session)
    assert [person.now.slot for person in people] == [SlotState.RESERVED, SlotState.CONFIRMED, SlotState.RELEASED]
    assert store.events(small_study) == before


@pytest.mark.parametrize("reason", [Release.RETURN, Release.EXCLUSION])
def test_the_researcher_can_release_the_slot_of_any_session(store: Store, small_study: Study, reason: Release) -> None:
    study = recruiting(small_study, quota=2)
    completed, under_way = Person(store, study).complete(), Person(store, study)
    for person in (completed, under_way):
        assert store.release_slot(person.session, reason) is True
        assert store.release_slot(person.session, reason) is False
        assert person.now.slot is SlotState.RELEASED
        assert Person(store, study).group == person.group
    assert len(responses_of(store, completed.session)) == 3  # Responses stay.
    released = [event.details for event in store.events(study) if event.event == "released"]
    assert {details["because"] for details in released} == {reason.value}
    assert {"reserved", "confirmed"} <= {details["was"] for details in released}
    with pytest.raises(StudyFull):
        store.resume_session(study, under_way.session)
    under_way.complete()  # Does not know, and continues.
    assert under_way.now.slot is SlotState.RELEASED
    assert problems(store) == []
