"""Laboratory sessions together with web sessions: lists, copies, checks, and random sequences of events."""

from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Conflict, Identity
from server.store.copying import copy_store
from server.store.sqlite.store import SqliteStore
from server.store.verify import verify
from tests.server.laboratory.laboratories import LabOf, Laboratory, new_id, start_of
from tests.server.stores import Clock, Person, execute_sql, problems, recruiting, reopened, response, rows, verified


def test_web_and_laboratory_sessions_can_be_in_one_store(lab: Laboratory) -> None:
    Person(lab.store, lab.study).complete()
    lab.complete(lab.start())
    lab.complete(lab.add_uploaded("P02"))
    trials = lab.store.trials(lab.study)
    assert Counter(row["source"] for row in trials) == {"web": 3, "lab": 6}
    assert {row["onset_source"] for row in trials if row["source"] == "lab"} == {"flip"}
    listed = lab.store.sessions(lab.study)
    assert {(row["source"], row["session_number"]) for row in listed} == {("web", None), ("lab", 1)}
    assert sum(one.n_completed for one in lab.store.progress(lab.study)) == 3


@pytest.mark.parametrize(
    "change",
    ["session_number = 2", "session_number = NULL", "uploaded_at = NULL",
     "uploaded_at = '2020-01-01T00:00:00.000+00:00'", "slot = 'reserved'"],
)  # fmt: skip
def test_verification_finds_changes_of_an_uploaded_session(lab_of: LabOf, change: str) -> None:
    lab = lab_of(quota=1)
    Person(lab.store, lab.study)
    uploaded = lab.add_uploaded(group=2)
    assert problems(lab.store) == []
    execute_sql(lab.store, f"UPDATE sessions SET {change} WHERE session = '{uploaded.plan.session}'")
    assert any(uploaded.plan.session in problem for problem in problems(lab.store))


def test_a_copy_has_the_session_numbers_and_the_same_digest(lab: Laboratory, tmp_path: Path) -> None:
    lab.complete(lab.start(session_number=2))
    lab.add_uploaded("P02")
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        assert copy_store(lab.store, copy) == verified(lab.store)
        assert copy.sessions(lab.study) == lab.store.sessions(lab.study)
        seeds = [copy.start_session(lab.study, replace(start_of("P03"), group=1)).session.seed]
    assert seeds == [3]


def test_all_data_are_present_after_reopening(lab: Laboratory) -> None:
    lab.start(session_number=2)
    uploaded = lab.add_uploaded("P02")
    with closing(reopened(lab.store)) as again:
        found = again.find_session(lab.token)
        assert found == uploaded
        reopened_session = again.session_on(lab.study, Identity("lab", "P01"), 2)
        assert reopened_session is not None
        assert problems(again) == []


def test_each_session_of_a_participant_is_in_another_group_until_all_groups_were_used(lab: Laboratory) -> None:
    n_groups = lab.study.definition.n_groups
    lab.complete(lab.start("P02"))  # Group 1 has one participant more, so P01 begins in group 2.
    groups = []
    for number in range(1, n_groups + 1):
        stored = lab.start(session_number=number)
        lab.complete(stored)
        groups.append(stored.session.group)
    assert sorted(groups) == list(range(1, n_groups + 1))
    again = lab.start(session_number=n_groups + 1).session.group
    assert again == 2, "group 1 has two participants"
    assert problems(lab.store) == []


def test_a_group_that_the_experimenter_chooses_counts_more_than_earlier_groups(lab: Laboratory) -> None:
    first = lab.start()
    lab.complete(first)
    assert lab.start(session_number=2, group=first.session.group).session.group == first.session.group


# Random sequences of events

people = st.sampled_from(["P01", "P02", "P03", None])
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("comes"), people, st.integers(1, 2), st.sampled_from([None, 1, 2, 3])),
        st.tuples(st.just("brings"), people, st.integers(1, 2), st.integers(1, 3), st.integers(0, 5)),
        st.tuples(st.sampled_from(["answers", "completes", "withdraws", "leaves for an hour", "web"])),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(happenings=happenings, quota=st.sampled_from([None, 2, 4]))
def test_after_random_steps_the_books_balance_and_no_seed_is_repeated(
    small_study: Study, tmp_path: Path, happenings: list[tuple[Any, ...]], quota: int | None
) -> None:
    study = recruiting(small_study, quota=quota, quota_per_group=2)
    with Clock().installed() as clock, closing(SqliteStore(tmp_path / f"{new_id()}.db")) as store:
        lab = Laboratory(store, study)
        store.register_study(study)
        for what, *details in happenings:
            with suppress(Conflict):
                happen(lab, clock, what, *details)
            with store.snapshot() as db:
                assert verify(db).problems == []
        kinds = {row["session"]: row["kind"] for row in store.sessions(study)}
        of_group = 'SELECT session, "group", seed FROM sessions WHERE uploaded_at IS NULL'
        given_here = [(kinds[session], group, seed) for session, group, seed in rows(store, of_group)]
        assert len(given_here) == len(set(given_here))
        for one in store.progress(study):
            if one.kind is Kind.HUMAN:
                assert one.n_under_way + one.n_completed <= 2
        one_person = "SELECT external_id FROM identities GROUP BY external_id HAVING COUNT(DISTINCT participant) > 1"
        assert rows(store, one_person) == []


def happen(lab: Laboratory, clock: Clock, what: str, *details: Any) -> None:
    """Do one event; an event of a session happens to the session that was opened last."""
    found = lab.store.find_session(lab.token)
    if what == "comes":
        code, session_number, group = details
        lab.start(code, session_number=session_number, group=group)
    elif what == "brings":
        code, number, group, seed = details
        name = f"{number}{group}{seed}{(code or 'P00')[1:]:0>13}"
        lab.add_uploaded(
            code, session_number=number, session=name, group=group, seed=seed, participant=f"p-{name[-12:]}"
        )
    elif what == "web":
        Person(lab.store, lab.study)
    elif what == "leaves for an hour":
        clock.advance(minutes=61)
    elif found is not None and what == "answers":
        lab.store.add_responses(found.plan.session, lab.token, [response(found.n_answered)])
    elif found is not None and what == "completes":
        left = [response(index) for index in range(found.n_answered, len(found.plan.trials))]
        lab.store.add_responses(found.plan.session, lab.token, left)
        lab.store.complete_session(lab.study, found.plan.session, True)
    elif found is not None and what == "withdraws":
        lab.store.withdraw_session(found.plan.session)
