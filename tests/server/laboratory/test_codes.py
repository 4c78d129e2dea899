"""Uploads of laboratories that use the same participant codes, or that change their codes."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from experiment.records import UUID_PATTERN, Status
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import Conflict, Identity, Refusal
from server.store.sql.lab_sessions import LabSessionRecord, lab_session_records, n_without_code
from server.store.sqlite.store import SqliteStore
from tests.server.laboratory.laboratories import LabOf, Laboratory, n_sessions, new_id, uploaded
from tests.server.stores import execute_sql, problems, response, rows, saying, verified

RESTART = Resume(max_reloads=0, otherwise="restart")


def codes(lab: Laboratory) -> list[str]:
    return [code for (code,) in rows(lab.store, "SELECT external_id FROM identities ORDER BY 1")]


def lab_records(lab: Laboratory) -> list[LabSessionRecord]:
    with lab.store.snapshot() as db:
        return lab_session_records(db, lab.study)


def test_a_pseudonym_belongs_to_one_participant(lab: Laboratory) -> None:
    lab.add_uploaded("P01")
    with pytest.raises(Conflict, match=r"has the code .* on this server, not"):
        lab.add_uploaded("P02", session="00000000000000bb")
    with pytest.raises(Conflict, match="another kind"):
        lab.add_uploaded(None, session="00000000000000bb")
    assert n_sessions(lab.store) == 1


def test_sessions_without_a_code_are_counted_because_they_cannot_be_uploaded(lab: Laboratory) -> None:
    lab.add_uploaded("P01")
    with lab.store.snapshot() as db:
        assert n_without_code(db, lab.study) == 0
    lab.store.delete_identities(lab.study)
    with lab.store.snapshot() as db:
        assert n_without_code(db, lab.study) == 1
    assert lab_records(lab) == []


def test_a_session_can_be_uploaded_again_after_its_code_was_deleted(lab: Laboratory) -> None:
    lab.add_uploaded()
    lab.store.delete_identities(lab.study)
    assert not lab.add_uploaded().is_new
    assert lab.store.identities(lab.study) == []
    assert (
        lab.add_uploaded(session_number=2, session="00000000000000bb").session.participant.participant
        == "p-aaaaaaaaaaaa"
    )


def test_a_session_number_that_was_run_on_two_machines_is_stored_twice_and_is_completed(lab: Laboratory) -> None:
    """As when the reply to a start was lost, and the laboratory continued without the server."""
    start_id = new_id()
    ghost = lab.start(start_id=start_id)
    uploaded = lab.add_uploaded(start_id=start_id, participant="p-bbbbbbbbbbbb")
    assert uploaded.is_new
    assert uploaded.session.participant == ghost.session.participant
    lab.complete(uploaded)
    with pytest.raises(Conflict, match="has completed session 1"):
        lab.start()
    found = lab.store.session_on(lab.study, Identity("lab", "P01"), 1)
    assert found is not None
    assert found.plan.session == uploaded.plan.session
    assert problems(lab.store) == []


def test_participants_of_two_laboratories_with_the_same_code_stay_separate(lab: Laboratory) -> None:
    server_session = lab.start()
    lab.answer(server_session, 1)
    with pytest.raises(Conflict, match=r"another session with the number 1 of participant P01: .*--prefix"):
        lab.add_uploaded(participant="p-bbbbbbbbbbbb")
    lab.add_uploaded("B-P01", participant="p-bbbbbbbbbbbb")
    lab.add_uploaded(participant="p-cccccccccccc", session_number=2, session="00000000000000ab")
    assert problems(lab.store) == []


def test_a_withdrawal_in_one_laboratory_does_not_exclude_the_same_code_of_another_laboratory(lab: Laboratory) -> None:
    lab.store.withdraw_session(lab.add_uploaded().plan.session)
    before = verified(lab.store)
    for session_number in (1, 2):
        with pytest.raises(
            Conflict, match=r"^A participant P01 has withdrawn on this server.* another person, .*--prefix B-"
        ):
            lab.add_uploaded(participant="p-bbbbbbbbbbbb", session="00000000000000bb", session_number=session_number)
    assert verified(lab.store) == before
    other = lab.add_uploaded("A-P01", participant="p-bbbbbbbbbbbb", session="00000000000000bb")
    lab.complete(other)
    assert lab.now().session.status is Status.COMPLETED
    assert problems(lab.store) == []


def test_a_withdrawn_participant_of_the_same_laboratory_is_not_another_participant(lab: Laboratory) -> None:
    lab.store.withdraw_session(lab.add_uploaded().plan.session)
    with pytest.raises(Refusal, match="cannot begin it again"):
        lab.add_uploaded(session_number=2, session="00000000000000bb")


@pytest.mark.parametrize("code", ["P01", "C-P01", "P99"])
def test_a_stored_session_is_opened_by_an_upload_with_any_code(lab: Laboratory, code: str) -> None:
    server_session = lab.start("P01")
    lab.answer(server_session, 1)
    lab.start("P99")
    first = lab.add_uploaded("B-P01", participant="p-bbbbbbbbbbbb", withdrawal_code="0123456789")
    lab.answer(first, 2)
    again = lab.add_uploaded(code, participant="p-bbbbbbbbbbbb", withdrawal_code="0123456789")
    assert (again.is_new, again.plan, again.n_answered) == (False, first.plan, 2)
    assert lab.store.add_responses(first.plan.session, lab.token, [response(2)]) == [True]
    assert (n_sessions(lab.store), codes(lab)) == (3, ["B-P01", "P01", "P99"])
    assert rows(lab.store, "SELECT COUNT(*) FROM responses") == [(4,)]
    assert lab.store.external_id(first.plan.session) == "B-P01"
    assert problems(lab.store) == []


@pytest.mark.parametrize("code", ["P01", "C-P01", "B-P01"])
def test_a_withdrawal_can_be_uploaded_with_any_code_and_affects_only_its_participant(
    lab: Laboratory, code: str
) -> None:
    server_session = lab.start("P01")
    lab.answer(server_session, 1)
    lab.answer(lab.add_uploaded("B-P01", participant="p-bbbbbbbbbbbb"), 2)
    brought = lab.add_uploaded(code, participant="p-bbbbbbbbbbbb")
    lab.store.withdraw_session(brought.plan.session)
    assert dict(rows(lab.store, "SELECT session, status FROM sessions")) == {
        server_session.plan.session: "active",
        brought.plan.session: "withdrawn",
    }
    assert rows(lab.store, "SELECT session FROM responses") == [(server_session.plan.session,)]
    assert problems(lab.store) == []


def test_an_uploaded_withdrawal_of_an_unknown_session_deletes_no_other_participants_responses(lab: Laboratory) -> None:
    server_session = lab.start(session_number=1)
    lab.complete(server_session)
    before = verified(lab.store)
    message = r"This server also has a participant P01. .* `equipoise withdraw STUDY --participant P01`; .*--prefix B-"
    for session_number in (1, 2):
        with pytest.raises(Conflict, match=message):
            lab.add_uploaded(participant="p-bbbbbbbbbbbb", session_number=session_number, is_withdrawn=True)
    assert verified(lab.store) == before
    apart = lab.add_uploaded("B-P01", participant="p-bbbbbbbbbbbb", is_withdrawn=True)
    lab.store.withdraw_session(apart.plan.session)
    assert verified(lab.store).n_responses == 3


def test_an_uploaded_participant_merged_with_a_known_participant_withdraws_all_sessions(lab: Laboratory) -> None:
    lab.complete(lab.start(session_number=1))
    lab.add_uploaded(session_number=2)
    for session_number, session in ((3, "00000000000000bb"), (2, "00000000000000aa")):
        brought = lab.add_uploaded(session_number=session_number, session=session, is_withdrawn=True)
    lab.store.withdraw_session(brought.plan.session)
    assert rows(lab.store, "SELECT DISTINCT status, n_answered FROM sessions") == [("withdrawn", 0)]
    assert problems(lab.store) == []


@pytest.mark.parametrize("participant", ["p-aaaaaaaaaaaa", "p-bbbbbbbbbbbb"])
def test_a_withdrawal_of_an_already_withdrawn_participant_can_be_uploaded(lab: Laboratory, participant: str) -> None:
    """The session was withdrawn together with others, and had not been uploaded before."""
    lab.store.withdraw_session(lab.add_uploaded().plan.session)
    for is_new in (True, False):
        further = {"session_number": 2, "session": "00000000000000bb", "participant": participant}
        brought = lab.add_uploaded(**further, is_withdrawn=True)
        assert brought.is_new is is_new
        lab.store.withdraw_session(brought.plan.session)
    assert rows(lab.store, "SELECT status FROM sessions") == [("withdrawn",)] * 2
    assert problems(lab.store) == []


def test_a_session_merged_with_a_known_participant_is_opened_with_another_code_too(lab: Laboratory) -> None:
    known = lab.start()
    first = lab.add_uploaded(session_number=2)
    assert first.session.participant == known.session.participant
    assert lab.add_uploaded("B-P01", session_number=2).plan == first.plan
    assert codes(lab) == ["P01"]
    assert problems(lab.store) == []


@pytest.mark.parametrize("is_code_somebodys", [True, False])
def test_a_further_session_with_a_changed_code_is_refused_and_the_refusal_names_the_prefix(
    lab: Laboratory, is_code_somebodys: bool
) -> None:
    """Otherwise the session would belong to another participant, who has that code on the server."""
    if is_code_somebodys:
        lab.start("P01")
    lab.add_uploaded("B-P01", participant="p-bbbbbbbbbbbb")
    before = verified(lab.store)
    further = {"participant": "p-bbbbbbbbbbbb", "session_number": 2, "session": "00000000000000bb"}
    with pytest.raises(
        Conflict, match=r"has the code B-P01 on this server, not P01. .* `equipoise lab upload --prefix B-`"
    ):
        lab.add_uploaded("P01", **further)
    with pytest.raises(
        Conflict, match=r"has the code B-P01 on this server, not C-P01. Fix: upload the session under the code B-P01"
    ):
        lab.add_uploaded("C-P01", **further)
    assert verified(lab.store) == before
    assert lab.add_uploaded("B-P01", **further).session.participant.participant == "p-bbbbbbbbbbbb"


def test_a_further_session_after_its_code_was_deleted_is_not_merged_with_the_codes_new_owner(lab: Laboratory) -> None:
    lab.add_uploaded()
    lab.store.delete_identities(lab.study)
    lab.start()
    with pytest.raises(Conflict, match=r"The code P01 belongs to another person on this server\. .*--prefix B-"):
        lab.add_uploaded(session_number=2, session="00000000000000bb")
    assert n_sessions(lab.store) == 2


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_all_sessions_of_a_restarted_participant_are_uploaded(
    lab_of: LabOf, small_study: Study, tmp_path: Path, is_old: bool, is_known: bool
) -> None:
    """Also from an older store, in which no start id belongs to a session."""
    older_lab = lab_of(saying(small_study, resume=RESTART))
    for n_answers in (1, 2, 3):
        lab_session = older_lab.start(session_number=2)
        older_lab.answer(lab_session, n_answers)
    if is_old:
        execute_sql(older_lab.store, "UPDATE sessions SET start_id = NULL")
    records = lab_records(older_lab)
    assert sorted(len(one.responses) for one in records) == [1, 2, 3]
    assert len({one.start_id for one in records}) == 3
    assert all(re.fullmatch(UUID_PATTERN, one.start_id) for one in records)
    assert lab_records(older_lab) == records
    with closing(SqliteStore(tmp_path / "merged.db")) as store:
        store.register_study(older_lab.study)
        merged = Laboratory(store, older_lab.study)
        if is_known:
            merged.complete(merged.start(session_number=1))
        for is_new in (True, False):
            for one in records:
                start = uploaded(one)
                assert store.start_session(older_lab.study, start).is_new is is_new
                stored = store.add_responses(one.session, start.token_digest, one.responses)
                assert set(stored) == {is_new}
        assert {one.session: one.responses for one in lab_records(merged) if one.session_number == 2} == {
            one.session: one.responses for one in records
        }
        assert rows(store, "SELECT COUNT(*) FROM participants") == [(1,)]
        assert problems(store) == []
