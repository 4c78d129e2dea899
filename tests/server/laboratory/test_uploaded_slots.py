"""Slots, visits, seeds and ends of uploaded sessions."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from experiment.records import Status
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import Conflict, Refusal, Release, SlotState, Visit
from tests.server.laboratory.laboratories import BEGAN_AT, DEVICE, LabOf, Laboratory, log_of, n_sessions, new_id
from tests.server.stores import Clock, Person, problems, saying, verified


def test_an_upload_is_never_refused_because_the_study_is_full(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    Person(lab.store, lab.study).complete()
    uploaded = lab.add_uploaded()
    assert (uploaded.session.group, uploaded.slot, uploaded.release_reason) == (1, SlotState.RELEASED, Release.NO_ROOM)
    lab.add_uploaded()
    lab.store.resume_session(lab.study, uploaded.plan.session)
    assert lab.store.open_session(lab.study, lab.token, Visit(new_id(), DEVICE)).n_visits == 2
    lab.complete(uploaded)
    assert (lab.now().session.status, lab.now().slot) == (Status.COMPLETED, SlotState.RELEASED)
    (first, details), *others = log_of(lab.store, lab.study, uploaded.plan.session)
    assert (first, details["slot"], details["taken"]["1"]) == ("uploaded", "released", [1, 0])
    assert [event for event, _ in others] == ["surplus"]
    assert lab.store.progress(lab.study)[0].n_replaced == 1
    assert problems(lab.store) == []


def test_an_uploaded_session_gets_a_slot_as_soon_as_one_is_free(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    person = Person(lab.store, lab.study)
    uploaded = lab.add_uploaded(group=2)
    assert uploaded.slot is SlotState.RELEASED
    person.withdraw()
    lab.complete(uploaded)
    assert (lab.now().slot, lab.now().release_reason) == (SlotState.CONFIRMED, None)
    assert problems(lab.store) == []


def test_a_closed_group_accepts_uploads(lab: Laboratory) -> None:
    lab.store.open_group(lab.study, 2, is_open=False)
    assert lab.add_uploaded(group=2).slot is SlotState.RESERVED
    with pytest.raises(Conflict, match="There is no group 9"):
        lab.add_uploaded("P02", group=9, session="00000000000000bb", participant="p-bbbbbbbbbbbb")
    assert n_sessions(lab.store) == 1
    assert len(lab.store.identities(lab.study)) == 1


@pytest.mark.parametrize("has_room", [True, False])
def test_later_visits_do_not_end_an_uploaded_session(
    lab_of: LabOf, small_study: Study, clock: Clock, has_room: bool
) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_age_min=5, max_reloads=0, otherwise="end")), quota=1)
    if not has_room:
        Person(lab.store, lab.study)
    uploaded = lab.add_uploaded()
    clock.advance(minutes=30)
    for number in range(2, 4):
        opened = lab.store.open_session(lab.study, lab.token, Visit(new_id()))
        assert (opened.ended_for, opened.n_visits) == (None, number)
    lab.complete(lab.add_uploaded())
    assert lab.now().session.status is Status.COMPLETED
    assert uploaded.plan.session == lab.now().plan.session


@pytest.mark.parametrize("has_room", [True, False])
def test_the_studys_rules_apply_to_a_resumed_uploaded_session(
    lab_of: LabOf, small_study: Study, has_room: bool
) -> None:
    """As on the machine in the laboratory, if the server has chosen the group."""
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=1, otherwise="end")), quota=1)
    if not has_room:
        Person(lab.store, lab.study)
    lab.add_uploaded(started_at=datetime.now(UTC))
    assert lab.start().ended_for is None
    assert lab.start().ended_for is Release.RELOADED
    assert problems(lab.store) == []


def test_an_old_uploaded_session_does_not_time_out_at_once(lab: Laboratory, clock: Clock) -> None:
    lab.add_uploaded()
    Person(lab.store, lab.study)
    assert lab.now().slot is SlotState.RESERVED
    clock.advance(minutes=61)
    Person(lab.store, lab.study)
    assert (lab.now().slot, lab.now().release_reason) == (SlotState.RELEASED, Release.TIME_OUT)
    lab.complete(lab.add_uploaded())
    assert lab.now().slot is SlotState.CONFIRMED
    assert problems(lab.store) == []


def test_a_withdrawn_participant_cannot_upload(lab: Laboratory) -> None:
    uploaded = lab.add_uploaded()
    lab.store.withdraw_session(uploaded.plan.session)
    before = verified(lab.store)
    assert lab.add_uploaded().session.status is Status.WITHDRAWN
    with pytest.raises(Conflict, match="is over"):
        lab.answer(uploaded)
    with pytest.raises(Refusal, match="cannot begin it again"):
        lab.add_uploaded(session_number=2, session="00000000000000bb")
    assert verified(lab.store) == before


def test_no_new_session_has_the_seed_of_an_uploaded_session(lab: Laboratory) -> None:
    for number, seed in enumerate((2, 3, 5)):
        lab.add_uploaded(f"P{number}", session=f"{number:016x}", participant=f"p-{number:012x}", seed=seed)
    new = [lab.start(f"Q{number}", group=1).session.seed for number in range(4)]
    assert new == [4, 6, 7, 8]
    assert lab.start(None, group=1).session.seed == 1  # all slots of simulated participants are free
    assert lab.store.progress(lab.study)[0].n_begun == 7
    assert problems(lab.store) == []


def test_a_restarted_session_has_another_seed_too(lab_of: LabOf, small_study: Study) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    lab.start("P01", group=1)
    lab.add_uploaded("P02", seed=3)
    assert lab.start("P01").session.seed == 4


def test_only_a_laboratory_session_can_send_its_completion_time(lab: Laboratory) -> None:
    at = BEGAN_AT + timedelta(minutes=25)
    for begin in (lab.add_uploaded, partial(lab.start, "P02")):
        stored = begin()
        lab.complete(stored, completed_at=at)
        lab.complete(stored, completed_at=at + timedelta(minutes=5))  # the first upload counts
    assert {row["completed_at"] for row in lab.store.sessions(lab.study)} == {"2026-11-20T09:55:00.000+00:00"}
    person = Person(lab.store, lab.study).answer_all()
    with pytest.raises(Conflict, match="Only a laboratory session"):
        lab.store.complete_session(lab.study, person.session, True, at)
    assert person.now.session.status is Status.ACTIVE
    assert problems(lab.store) == []
