"""Uploaded sessions keep their participant and their content."""

from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from experiment.plan import plan_session
from experiment.records import Source, Status
from server.store import Conflict, Refusal, SlotState, StoredSession
from tests.server.laboratory.laboratories import BEGAN_AT, Laboratory, log_of, n_sessions, start_of, uploaded_session
from tests.server.stores import Person, another, at_once, of, problems, response, rows, verified, version_of


def test_an_uploaded_session_is_stored_unchanged(lab: Laboratory) -> None:
    stored = lab.add_uploaded(group=2, seed=7, withdrawal_code="0123456789")
    assert stored.is_new
    session = stored.session
    assert (session.session, session.participant.participant) == ("00000000000000aa", "p-aaaaaaaaaaaa")
    assert (session.group, session.seed, session.started_at) == (2, 7, BEGAN_AT)
    assert (session.source, stored.slot, stored.plan.withdrawal_code) == (Source.LAB, SlotState.RESERVED, "0123456789")
    planned = [(trial.phase, trial.item_id) for trial in plan_session(lab.study, 2, 7).trials]
    assert [(trial.phase, trial.item.item_id) for trial in stored.plan.trials] == planned
    (row,) = lab.store.sessions(lab.study)
    assert row["session_number"] == 1
    assert row["uploaded_at"] > row["started_at"]
    assert lab.store.sessions_with_code(lab.study, "0123456789") == [session.session]
    assert problems(lab.store) == []


def test_repeated_uploads_store_a_session_once_and_the_latest_token_is_valid(lab: Laboratory) -> None:
    first = lab.add_uploaded(start_id="s1")
    before = lab.token
    sent = [response(index) for index in range(len(first.plan.trials))]
    lab.store.add_responses(first.plan.session, lab.token, sent[:2])
    again = lab.add_uploaded(start_id="s2")
    assert (again.is_new, again.plan, again.n_answered, again.n_visits) == (False, first.plan, 2, 1)
    assert lab.store.find_session(before) is None
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False, False, True]
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False] * 3
    lab.store.complete_session(lab.study, first.plan.session, True, BEGAN_AT + timedelta(minutes=20))
    over = lab.add_uploaded(start_id="s3")
    assert over.session.status is Status.COMPLETED
    assert lab.store.add_responses(first.plan.session, lab.token, sent) == [False] * 3
    lab.store.complete_session(lab.study, first.plan.session, True, BEGAN_AT + timedelta(minutes=20))
    assert n_sessions(lab.store) == 1
    assert lab.store.progress(lab.study)[0].n_begun == 1
    assert problems(lab.store) == []


def test_simultaneous_uploads_of_one_session_are_one_session(lab: Laboratory) -> None:
    with closing(another(lab.store)) as other:
        starts = [start_of(uploaded=uploaded_session()) for _ in range(6)]
        outcomes = at_once(*(partial((lab.store, other)[n % 2].start_session, lab.study, start)
                             for n, start in enumerate(starts)))  # fmt: skip
    assert of(StoredSession, outcomes) + of(Refusal, outcomes) == 6
    assert sum(one.is_new for one in outcomes if isinstance(one, StoredSession)) <= 1
    assert n_sessions(lab.store) == 1
    assert problems(lab.store) == []


@pytest.mark.parametrize(
    "other",
    [
        {"group": 2},
        {"seed": 2},
        {"session_number": 2},
        {"withdrawal_code": "FFFFFFFFFF"},
        {"code": "P02"},
        {"code": None},
    ],
    ids=str,
)
def test_another_session_with_the_same_id_is_refused(lab: Laboratory, other: dict[str, Any]) -> None:
    lab.add_uploaded(withdrawal_code="0123456789")
    before = verified(lab.store)
    with pytest.raises(
        Conflict, match=r"^This server has a different session with the name 00000000000000aa: .* Fix: upload"
    ):
        lab.add_uploaded(**({"withdrawal_code": "0123456789", "participant": "p-bbbbbbbbbbbb"} | other))
    assert verified(lab.store) == before


def test_an_upload_with_the_id_of_another_versions_or_a_web_session_is_refused(lab: Laboratory) -> None:
    lab.add_uploaded()
    later = version_of(lab.study, "1.1")
    lab.store.register_study(later)
    person = Person(lab.store, lab.study)
    web = person.stored.session
    with pytest.raises(Conflict, match="different session with the name"):
        Laboratory(lab.store, later).add_uploaded()
    with pytest.raises(Conflict, match="different session with the name"):
        lab.add_uploaded(
            "P02", session=web.session, group=web.group, seed=web.seed, participant=web.participant.participant
        )
    assert person.answer() == [True]


def test_a_session_begun_on_the_server_can_be_completed_on_another_machine(lab: Laboratory) -> None:
    begun = lab.start()
    session = begun.session
    back = lab.add_uploaded(
        session=session.session,
        group=session.group,
        seed=session.seed,
        participant=session.participant.participant,
        started_at=session.started_at,
    )
    assert (back.is_new, back.plan) == (False, begun.plan)
    assert n_sessions(lab.store) == 1


def test_a_known_participant_keeps_the_pseudonym(lab: Laboratory) -> None:
    here = lab.start(session_number=1)
    lab.complete(here)
    uploaded = lab.add_uploaded(session_number=2)
    assert uploaded.session.participant == here.session.participant
    ((event, details),) = log_of(lab.store, lab.study, uploaded.plan.session)
    assert (event, details["participant_elsewhere"]) == ("uploaded", "p-aaaaaaaaaaaa")
    assert not lab.add_uploaded(session_number=2).is_new
    assert rows(lab.store, "SELECT COUNT(*) FROM participants") == [(1,)]
    assert problems(lab.store) == []


def test_an_uploaded_participant_is_known_afterwards(lab: Laboratory) -> None:
    lab.add_uploaded(session_number=1)
    lab.add_uploaded(session_number=2, session="00000000000000bb", seed=2)
    assert lab.start(session_number=3).session.participant.participant == "p-aaaaaaaaaaaa"
    assert rows(lab.store, "SELECT COUNT(*) FROM identities") == [(1,)]
