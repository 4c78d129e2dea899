"""Sessions and their tokens: one session per start, the plan of its group and seed, the newest token."""

import uuid
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from experiment.load_study import load_study
from experiment.plan import plan_session
from experiment.records import Kind, Source
from experiment.study.definition import Study
from server.store import (
    Conflict,
    Identity,
    NotYourSession,
    SessionStart,
    Store,
    StoredSession,
    StudyFull,
)
from server.store.sql import plan_cache
from tests.server.store.contract.helpers import panel
from tests.server.stores import (
    Person,
    another,
    at_once,
    of,
    problems,
    recruiting,
    reopened,
    response,
    rows,
)

# The session and its token.


def test_a_session_follows_the_plan_of_its_group_and_seed(store: Store, small_study: Study) -> None:
    for _ in range(7):
        stored = Person(store, small_study).stored
        assert stored.session.group is not None and stored.session.seed is not None
        plan = plan_session(small_study, stored.session.group, stored.session.seed)
        assert [(trial.trial_index, trial.phase, trial.item.item_id) for trial in stored.plan.trials] == [
            (trial.trial_index, trial.phase, trial.item_id) for trial in plan.trials
        ]
        assert [trial.item for trial in stored.plan.trials] == [
            small_study.battery.by_id[trial.item_id] for trial in plan.trials
        ]


def test_an_unknown_token_finds_no_session(store: Store) -> None:
    assert store.find_session("nobody's") is None
    assert store.find_plan("nobody's") is None


def test_a_retried_start_is_one_session_and_the_later_token_is_valid(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    first, earlier_token = person.stored, person.token
    again = person.begin()
    assert again.session == first.session
    assert again.plan == first.plan
    assert again.n_answered == 1
    assert store.find_session(earlier_token) is None
    with pytest.raises(NotYourSession):
        store.add_responses(person.session, earlier_token, [response(1)])
    assert person.answer() == [True]
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]
    assert problems(store) == []


def test_a_replaced_token_opens_nothing_on_another_server_either(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    with closing(another(store)) as other:
        plan = other.find_plan(person.token)
        assert plan is not None and plan.session == person.session
        earlier_token = person.token
        person.begin()
        assert other.find_session(earlier_token) is None
        with pytest.raises(NotYourSession):
            other.add_responses(person.session, earlier_token, [response(0)])


def same_start_at_once(
    store: Store, study: Study, identity: Identity | None, start_id: str = str(uuid.uuid4())
) -> list[Any]:
    """Ten pages of one browser, or of one person, begin at the same moment."""

    def begin() -> StoredSession:
        own = str(uuid.uuid4()) if identity else start_id
        return store.start_session(
            study, SessionStart(own, Kind.HUMAN, Source.WEB, uuid.uuid4().hex, "consent", identity)
        )

    return at_once(*[begin] * 10)


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_simultaneous_starts_of_one_person_are_one_session(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    outcomes = same_start_at_once(store, small_study, identity)
    begun = {outcome.plan.session for outcome in outcomes if isinstance(outcome, StoredSession)}
    assert len(begun) == 1
    assert rows(store, "SELECT session, slot FROM sessions") == [(begun.pop(), "reserved")]
    assert problems(store) == []


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_a_page_whose_token_was_replaced_is_refused(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    for outcome in same_start_at_once(store, small_study, identity):
        assert isinstance(outcome, StoredSession | Conflict), repr(outcome)


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_no_participant_is_refused_because_of_the_slot_just_reserved(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    study = recruiting(small_study, quota=1)
    with closing(another(store)) as other:
        outcomes = at_once(
            *(partial(same_start_at_once, one, study, identity, "00000000-0000-4000-8000-000000000001")
              for one in (store, other))
        )  # fmt: skip
    assert of(StudyFull, [outcome for some in outcomes for outcome in some]) == 0
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]


def test_plans_in_memory_are_limited_and_every_session_is_still_found(
    store: Store, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_cache, "MAX_TRIALS_IN_MEMORY", 11)
    people = at_once(*[partial(Person, store, small_study)] * 10)
    assert at_once(*(partial(store.find_plan, person.token) for person in people)) == [
        person.stored.plan for person in people
    ]
    kept = [store._plans.of_token(person.token) for person in people]
    assert sum(len(plan.trials) for plan in kept if plan) == 9


def test_a_session_keeps_its_items_and_its_debriefing_when_the_study_changes(
    any_store: Store, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    any_store.register_study(study)
    person = Person(any_store, study)
    edit(study_folder / "battery.jsonl", '"options":["red","blue"', '"options":["scarlet","blue"')
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    (study_folder / "debrief.md").write_text("Something else.\n", encoding="utf-8")
    changed = load_study(study_folder)
    any_store.register_study(changed)
    assert Person(any_store, changed).stored.plan.texts["debrief.md"] == "Something else.\n"
    with closing(reopened(any_store)) as again:
        found = again.find_session(person.token)
        assert found is not None
        assert found.plan == person.stored.plan
        person.store = again
        person.complete()
        assert problems(again) == []
