"""Several laboratory sessions of one participant, with session numbers, and rehearsals."""

from contextlib import closing
from functools import partial

import pytest

from experiment.records import Kind, LabDevice, Source
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import Conflict, Identity, Refusal, Release, StoredSession
from tests.server.laboratory.laboratories import DEVICE, LabOf, Laboratory, n_sessions, new_id, start_of
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    of,
    problems,
    response,
    rows,
    saying,
    verified,
    version_of,
)


def test_a_laboratory_session_is_stored_with_its_session_number_and_device(lab: Laboratory) -> None:
    stored = lab.start(session_number=3)
    assert stored.is_new
    assert stored.session.source is Source.LAB
    (row,) = lab.store.sessions(lab.study)
    assert (row["source"], row["session_number"], row["uploaded_at"]) == ("lab", 3, None)
    assert row["device_measured_hz"] == 59.94
    assert row["device_keyboard"] == "ptb"
    ((device,),) = rows(lab.store, "SELECT device FROM visits")
    assert LabDevice.model_validate_json(device) == DEVICE
    assert problems(lab.store) == []


def test_the_same_participant_with_the_same_session_number_resumes(lab: Laboratory) -> None:
    first = lab.start()
    lab.answer(first, 2)
    again = lab.start()
    assert not again.is_new
    assert (again.plan, again.n_answered, again.n_visits) == (first.plan, 2, 2)
    assert lab.store.add_responses(again.plan.session, lab.token, [response(2)]) == [True]
    assert problems(lab.store) == []


def test_a_retried_start_is_one_session_and_one_visit(lab: Laboratory) -> None:
    start_id = new_id()
    assert [lab.start(start_id=start_id).is_new for _ in range(2)] == [True, False]
    assert lab.now().n_visits == 1
    assert n_sessions(lab.store) == 1


def test_another_session_number_is_a_new_session_with_a_new_slot(lab: Laboratory) -> None:
    first = lab.start()
    lab.complete(first)
    second = lab.start(session_number=2)
    assert second.is_new
    assert second.session.participant == first.session.participant
    assert second.plan.session != first.plan.session
    assert second.plan.withdrawal_code != first.plan.withdrawal_code
    assert second.session.group != first.session.group
    assert sum(one.n_begun for one in lab.store.progress(lab.study)) == 2
    assert [row["session"] for row in lab.store.identities(lab.study)] == [first.plan.session, second.plan.session]
    lab.complete(second)
    assert len({row["participant"] for row in lab.store.trials(lab.study)}) == 1
    assert problems(lab.store) == []


def test_a_later_session_number_can_begin_before_an_earlier_session_ends(lab: Laboratory) -> None:
    sessions = {number: lab.start(session_number=number).plan.session for number in (2, 1, 3)}
    assert len(set(sessions.values())) == 3
    assert {number: lab.start(session_number=number).plan.session for number in (3, 1, 2)} == sessions


def test_a_completed_session_number_is_refused_and_the_next_number_is_named(lab: Laboratory) -> None:
    lab.complete(lab.start(session_number=2))
    before = verified(lab.store)
    message = (
        r"^Participant P01 has completed session 2 .* another person, use another code; .* `--session-number 3`\.$"
    )
    with pytest.raises(Conflict, match=message):
        lab.start(session_number=2)
    assert verified(lab.store) == before
    assert lab.start(session_number=3).is_new


def test_a_withdrawn_participant_begins_no_session_with_any_number(lab: Laboratory) -> None:
    sessions = [lab.start(session_number=session_number) for session_number in (1, 2)]
    lab.answer(sessions[1], 1)
    lab.store.withdraw_session(sessions[1].plan.session)
    assert rows(lab.store, "SELECT DISTINCT status, n_answered FROM sessions") == [("withdrawn", 0)]
    for number in (1, 2, 3):
        with pytest.raises(Refusal, match="cannot begin it again"):
            lab.start(session_number=number)
    assert n_sessions(lab.store) == 2
    assert problems(lab.store) == []


def test_the_session_of_a_session_number_is_found_without_a_token(lab: Laboratory) -> None:
    stored = {number: lab.start(session_number=number) for number in (1, 2)}
    who = Identity("lab", "P01")
    assert {number: lab.store.session_on(lab.study, who, number) for number in (1, 2)} == stored
    assert lab.store.session_on(lab.study, who, 3) is None
    assert lab.store.session_on(lab.study, Identity("lab", "P02"), 1) is None
    assert lab.store.session_on(lab.study, Identity("panel", "P01"), 1) is None


def test_a_code_is_only_in_the_identities_table(lab: Laboratory) -> None:
    stored = lab.start("the-code-of-somebody")
    lab.complete(stored)
    lab.add_uploaded("the-code-of-somebody", session_number=2)
    for table in ("trials", "sessions", "participants", "events", "responses", "visits"):
        assert "the-code" not in str(rows(lab.store, f"SELECT * FROM {table}")), table
    assert "the-code" not in repr(lab.store.sessions(lab.study))
    found = lab.store.sessions_of(lab.study, "lab", "the-code-of-somebody")
    assert {one.participant for one in found} == {stored.session.participant.participant}
    assert lab.store.external_id(stored.plan.session) == "the-code-of-somebody"


def test_a_laboratory_code_is_not_a_panel_id(lab: Laboratory) -> None:
    panel = Person(lab.store, lab.study, identity=Identity("panel", "P01"))
    stored = lab.start("P01")
    assert stored.plan.session != panel.session
    assert stored.session.participant != panel.stored.session.participant


def test_each_rehearsal_is_a_new_participant_without_a_slot_of_human_participants(lab_of: LabOf) -> None:
    lab = lab_of(quota=1)
    rehearsals = [lab.start(None) for _ in range(3)]
    assert len({stored.session.participant.participant for stored in rehearsals}) == 3
    assert {stored.plan.kind for stored in rehearsals} == {Kind.SIMULATED}
    assert lab.store.identities(lab.study) == []
    assert lab.start("P01").is_new
    assert problems(lab.store) == []


def test_a_rehearsal_is_resumed_by_the_same_start_id(lab: Laboratory) -> None:
    start_id = new_id()
    first = lab.start(None, start_id=start_id)
    again = lab.start(None, start_id=start_id)
    assert (again.plan, again.is_new) == (first.plan, False)


@pytest.mark.parametrize("n_servers", [1, 2])
def test_simultaneous_starts_of_one_session_number_are_one_session(lab: Laboratory, n_servers: int) -> None:
    with closing(another(lab.store)) as other:
        stores = [lab.store, other][:n_servers]
        for number in (1, 2, 3):
            starts = [partial(stores[index % n_servers].start_session, lab.study, start_of(session_number=number))
                      for index in range(6)]  # fmt: skip
            outcomes = at_once(*starts)
            begun = [one for one in outcomes if isinstance(one, StoredSession)]
            assert len({one.plan.session for one in begun}) == 1
            assert sum(one.is_new for one in begun) <= 1
            assert len(begun) + of(Refusal, outcomes) == 6
    assert n_sessions(lab.store) == 3
    assert rows(lab.store, "SELECT COUNT(*) FROM participants") == [(1,)]
    assert problems(lab.store) == []


def test_simultaneous_starts_of_one_session_number_in_two_versions_of_a_study_are_one_session(lab: Laboratory) -> None:
    later = version_of(lab.study, "1.1")
    lab.store.register_study(later)
    lab.start(
        session_number=1
    )  # so that the store knows the participant, and no database key prevents a second session
    with closing(another(lab.store)) as other:
        for number in range(2, 8):
            at_once(
                partial(lab.store.start_session, lab.study, start_of(session_number=number)),
                partial(other.start_session, later, start_of(session_number=number)),
            )
    assert n_sessions(lab.store) == 7
    assert problems(lab.store) == []


def test_a_restart_keeps_the_session_number(lab_of: LabOf, small_study: Study) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    first = lab.start(session_number=2)
    again = lab.start(session_number=2)
    assert again.plan.session != first.plan.session
    assert (again.session.participant, again.session.group) == (first.session.participant, first.session.group)
    assert rows(lab.store, "SELECT DISTINCT session_number, source FROM sessions") == [(2, "lab")]
    found = lab.store.session_on(lab.study, Identity("lab", "P01"), 2)
    assert found is not None
    assert found.plan.session == again.plan.session
    assert problems(lab.store) == []


def test_a_session_of_the_laboratory_ends_by_the_rules_of_the_study(
    lab_of: LabOf, small_study: Study, clock: Clock
) -> None:
    lab = lab_of(saying(small_study, resume=Resume(max_age_min=30, otherwise="end")))
    lab.start()
    clock.advance(minutes=31)
    assert lab.start().ended_for is Release.TOO_OLD
    assert lab.start(session_number=2).ended_for is None


def test_a_session_of_another_version_is_not_resumed(lab: Laboratory) -> None:
    """The laboratory would show the items in its folder, and the server would store the responses under other items."""
    begun = lab.start()
    newer = version_of(lab.study, "9")
    lab.store.register_study(newer)
    with pytest.raises(Conflict, match=r"begun session 1 with version 1.* another person, .* folder of version 1.0"):
        Laboratory(lab.store, newer).start()
    assert lab.start().plan.session == begun.plan.session
