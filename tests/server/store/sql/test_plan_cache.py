"""Plans in memory: one plan per session, however often the session gets a new token."""

import pytest

from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import Identity, Store, Visit
from server.store.models import SessionPlan
from server.store.sql import plan_cache
from server.store.sql.plan_cache import PlanCache
from server.store.sql.store import SqlStore
from tests.server.laboratory.laboratories import LabOf, Laboratory, new_id
from tests.server.stores import Person, saying


def kept_of(store: Store) -> PlanCache:
    assert isinstance(store, SqlStore)
    return store._plans


def all_kept(kept: PlanCache) -> list[SessionPlan]:
    assert {plan.session: token for token, plan in kept._by_token.items()} == kept._token_of
    assert sum(len(plan.trials) for plan in kept._by_token.values()) == kept._n_trials
    return list(kept._by_token.values())


def test_a_session_that_gets_a_new_token_has_one_plan_in_memory(lab: Laboratory) -> None:
    first = lab.add_uploaded()
    old = lab.token
    for _ in range(3):
        again = lab.add_uploaded()
        assert again.plan is first.plan
    kept = kept_of(lab.store)
    assert all_kept(kept) == [first.plan]
    assert kept.of_token(old) is None
    assert lab.store.find_plan(old) is None
    assert lab.store.find_plan(lab.token) is first.plan


def test_a_participant_who_returns_on_the_web_has_one_plan_in_memory(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    person = Person(any_store, small_study, identity=Identity("panel", "anna"))
    for _ in range(3):
        person.start_id = new_id()
        person.begin()
    assert all_kept(kept_of(any_store)) == [person.stored.plan]


def test_a_restarted_session_keeps_the_token_and_has_a_new_plan(lab_of: LabOf, small_study: Study) -> None:
    study = saying(small_study, resume=Resume(max_reloads=0, otherwise="restart"))
    lab = lab_of(study)
    person = Person(lab.store, study)
    again = lab.store.open_session(study, person.token, Visit(new_id()))
    assert again.plan.session != person.session
    assert lab.store.find_plan(person.token) is again.plan
    assert all_kept(kept_of(lab.store)) == [again.plan]


def test_a_session_found_by_its_identity_has_the_cached_plan(lab: Laboratory) -> None:
    begun = lab.start()
    found = lab.store.session_on(lab.study, Identity("lab", "P01"), 1)
    assert found is not None
    assert found.plan is begun.plan


def test_a_plan_larger_than_the_limit_is_cached_alone(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_cache, "MAX_TRIALS_IN_MEMORY", 1)
    for code in ("P01", "P02"):
        begun = lab.start(code)
        assert all_kept(kept_of(lab.store)) == [begun.plan]
