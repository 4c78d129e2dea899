"""The end of a session: completion, replacement after failed checks, withdrawal with all responses."""

from contextlib import closing
from functools import partial

import pytest

from experiment.records import Kind, Status
from experiment.study.definition import Study
from server.store import (
    Conflict,
    SlotState,
    Store,
)
from tests.server.store.contract.helpers import TIME_OUT_MIN, events, panel
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    problems,
    recruiting,
    response,
    responses_of,
    rows,
)

# The end of a session.


def test_a_session_is_complete_when_all_responses_are_stored(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    for n_missing in (3, 2, 1):
        with pytest.raises(Conflict, match=f"^Some answers have not arrived yet: {n_missing}"):
            store.complete_session(small_study, person.session, passed_checks=True)
        assert person.now.session.status is Status.ACTIVE
        person.answer()
    store.complete_session(small_study, person.session, passed_checks=True)
    assert person.now.session.status is Status.COMPLETED
    assert person.now.session.completed_at is not None
    assert person.now.slot is SlotState.CONFIRMED


def test_a_second_completion_changes_nothing(store: Store, small_study: Study, clock: Clock) -> None:
    person = Person(store, small_study).complete()
    before, log = person.now, store.events(small_study)
    clock.advance(minutes=5)
    for passed_checks in (True, False):
        store.complete_session(small_study, person.session, passed_checks)
    assert person.now == before
    assert store.events(small_study) == log


def test_simultaneous_completions_are_one_completion(store: Store, small_study: Study) -> None:
    person = Person(store, small_study).answer_all()
    complete = partial(store.complete_session, small_study, person.session, passed_checks=True)
    assert at_once(*[complete] * 10) == [None] * 10
    assert events(store, small_study, person.session) == ["reserved", "confirmed"]
    assert problems(store) == []


def test_a_participant_who_failed_the_checks_is_replaced(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=1)
    failed = Person(store, study).complete(passed_checks=False)
    assert (failed.now.session.status, failed.now.slot) == (Status.COMPLETED, SlotState.RELEASED)
    assert len(responses_of(store, failed.session)) == 3
    replacement = Person(store, study)
    assert (replacement.group, replacement.stored.session.seed) == (failed.group, 2)
    released = next(event for event in store.events(study) if event.event == "released")
    assert (released.details["because"], released.details["was"]) == ("attention check", "reserved")
    assert problems(store) == []


def test_a_simulated_participant_is_never_replaced(store: Store, small_study: Study) -> None:
    person = Person(store, small_study, Kind.SIMULATED).complete(passed_checks=False)
    assert person.now.slot is SlotState.CONFIRMED


def test_a_completion_after_another_participant_got_the_slot_is_surplus(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    away.answer()
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    away.complete()
    assert (away.now.session.status, away.now.slot) == (Status.COMPLETED, SlotState.RELEASED)
    assert len(responses_of(store, away.session)) == 3
    assert events(store, study, away.session) == ["reserved", "released", "surplus"]
    assert successor.complete().now.slot is SlotState.CONFIRMED
    assert problems(store) == []


def test_a_completion_after_a_time_out_gets_the_slot_if_it_is_free(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    assert away.complete().now.slot is SlotState.CONFIRMED
    assert store.why_full(study)
    assert problems(store) == []


def test_a_completion_after_an_unprocessed_time_out_keeps_its_slot(
    store: Store, small_study: Study, clock: Clock
) -> None:
    person = Person(store, recruiting(small_study, quota=1))
    clock.advance(minutes=24 * TIME_OUT_MIN)
    assert person.complete().now.slot is SlotState.CONFIRMED


def test_failed_checks_after_a_time_out_leave_no_slot(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    away.complete(passed_checks=False)
    assert away.now.slot is SlotState.RELEASED
    assert not store.why_full(study)
    assert problems(store) == []


@pytest.mark.parametrize("n_answered", [0, 2, 3])
@pytest.mark.parametrize("is_completed", [False, True])
def test_a_withdrawal_deletes_the_responses(
    store: Store, small_study: Study, n_answered: int, is_completed: bool
) -> None:
    stays = Person(store, small_study).complete()
    leaver = Person(store, small_study)
    leaver.answer(n_answered)
    if is_completed:
        leaver.complete()
    leaver.withdraw()
    assert responses_of(store, leaver.session) == []
    assert store.responses(leaver.session) == {}
    assert (leaver.now.session.status, leaver.now.slot, leaver.now.n_answered) == (
        Status.WITHDRAWN,
        SlotState.RELEASED,
        0,
    )
    assert len(responses_of(store, stays.session)) == 3
    withdrew = next(event for event in store.events(small_study) if event.event == "withdrew")
    assert withdrew.details["answers_deleted"] == (3 if is_completed else n_answered)
    assert problems(store) == []


def test_a_second_withdrawal_changes_nothing(store: Store, small_study: Study) -> None:
    person = Person(store, small_study).complete().withdraw()
    before, log = person.now, store.events(small_study)
    person.withdraw()
    assert person.now == before
    assert store.events(small_study) == log


def test_a_withdrawn_session_cannot_continue(store: Store, small_study: Study) -> None:
    person = Person(store, small_study, identity=panel("anna"))
    person.answer_all()
    person.withdraw()
    with pytest.raises(Conflict, match="You have left this study"):
        store.complete_session(small_study, person.session, passed_checks=True)
    with pytest.raises(Conflict, match="is over"):
        person.send(person.sent[0])
    with pytest.raises(Conflict, match=r"You have left this study.*cannot begin it again"):
        person.begin()
    with pytest.raises(Conflict, match="You have left this study"):
        Person(store, small_study, identity=panel("anna"))
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]


def test_responses_under_way_are_not_stored_after_a_withdrawal(store: Store, small_study: Study) -> None:
    with closing(another(store)) as other:
        for _ in range(5):
            person = Person(store, small_study)
            send = [partial(person.send, response(index)) for index in range(3)]
            at_once(*send, *send[:2], partial(other.withdraw_session, person.session), *send, *send[:1])
            assert responses_of(store, person.session) == []
            assert person.now.n_answered == 0
    assert problems(store) == []
