"""Attention checks: a rule decides which participants are replaced; no reply reveals it, and no response is lost."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flask import Flask

from batteries.items import Battery
from batteries.tasks import task_named
from experiment.plan import Phase
from experiment.records import Kind
from experiment.study.definition import Study
from experiment.study.exclusion_rules import AttentionCheckRule, MedianRtRule
from server.app import create_app
from server.participants.attention_checks import has_passed_checks
from server.settings import Settings
from server.store import SqliteStore
from server.store.models import SessionPlan, StoredTrial
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import recruiting, rows

RIGHT, WRONG = "right", "wrong"


def with_checks(study: Study, n_checks: int, max_failed: int | None) -> Study:
    """Return the sample study with that many attention checks, and a rule about them or none."""
    rules = () if max_failed is None else (AttentionCheckRule(rule="attention_check", max_failed=max_failed),)
    (check,) = (item for item in study.battery.items if item.item_id in study.definition.attention_checks)
    checks = [check.model_copy(update={"item_id": f"attention-{number}"}) for number in range(1, n_checks + 1)]
    others = [item for item in study.battery.items if item is not check]
    analysis = study.definition.analysis.model_copy(
        update={"exclusions": (*rules, MedianRtRule(rule="median_rt", min_ms=2000))}
    )
    definition = study.definition.model_copy(
        update={"analysis": analysis, "attention_checks": tuple(item.item_id for item in checks)}
    )
    battery = Battery(**(study.battery.model_dump(exclude={"items"}) | {"items": (*others, *checks)}))
    return dataclasses.replace(study, definition=definition, battery=battery)


def plan_of(study: Study, kind: Kind = Kind.HUMAN) -> SessionPlan:
    """Return a plan of the attention checks, between two other trials."""
    checks = [study.battery.by_id[item_id] for item_id in study.definition.attention_checks]
    test = study.test_items[0]
    trials = [(Phase.TEST, test), *((Phase.ATTENTION_CHECK, check) for check in checks), (Phase.TEST, test)]
    planned = tuple(StoredTrial(index, phase, item) for index, (phase, item) in enumerate(trials))
    return SessionPlan("session", kind, study.definition, "debrief", planned, "CODE")


def wrong_answer(item: Any) -> Any:
    task = task_named(item.task)
    return next(one for one in task.responses(item.content) if not task.score(item.content, item.key, one).correct)


def answers_of(plan: SessionPlan, *checks: str) -> dict[int, Any]:
    """Return responses: right or wrong to the checks, as requested, and wrong to all other trials."""
    asked = iter(checks)
    given = {}
    for trial in plan.trials:
        how = next(asked) if trial.phase is Phase.ATTENTION_CHECK else WRONG
        given[trial.trial_index] = trial.item.key if how == RIGHT else wrong_answer(trial.item)
    return given


@pytest.mark.parametrize(
    ("max_failed", "checks", "passed"),
    [
        (0, [RIGHT, RIGHT, RIGHT], True),
        (0, [RIGHT, WRONG, RIGHT], False),
        (0, [WRONG, WRONG, WRONG], False),
        (1, [RIGHT, WRONG, RIGHT], True),
        (1, [WRONG, WRONG, RIGHT], False),
        (2, [WRONG, WRONG, RIGHT], True),
        (2, [WRONG, WRONG, WRONG], False),
        (3, [WRONG, WRONG, WRONG], True),
        (None, [WRONG, WRONG, WRONG], True),
    ],
)
def test_the_rule_says_how_many_checks_may_be_failed(
    sample_study: Study, max_failed: int | None, checks: list[str], passed: bool
) -> None:
    plan = plan_of(with_checks(sample_study, 3, max_failed))
    assert has_passed_checks(plan, answers_of(plan, *checks)) is passed


def test_without_checks_every_participant_passes(sample_study: Study) -> None:
    plan = plan_of(with_checks(sample_study, 0, 0))
    assert has_passed_checks(plan, answers_of(plan))
    assert has_passed_checks(plan, {})


def test_a_check_without_a_response_is_not_failed(sample_study: Study) -> None:
    plan = plan_of(with_checks(sample_study, 2, 0))
    given = answers_of(plan, RIGHT, WRONG)
    del given[2]
    assert has_passed_checks(plan, given)


# Over HTTP


PersonOf = Callable[..., Participant]


@pytest.fixture
def person_of(sample_study: Study, store: SqliteStore) -> PersonOf:
    """Make a participant who responds to the checks of a study with a rule as requested, and completes the study."""

    def make(*checks: str, max_failed: int | None = 0, kind: str = "human", **recruitment: Any) -> Participant:
        study = recruiting(with_checks(sample_study, len(checks), max_failed), **recruitment)
        app: Flask = create_app(study, store, SECRETS, Settings())
        person = Participant(app)
        assert person.start(kind=kind).status_code == 201
        asked = iter(checks)
        item = study.battery.by_id["attention-1"] if checks else None
        for trial in person.session["trials"]:
            changes = {}
            if item is not None and trial["content"] == item.content:
                changes = {"response": item.key if next(asked) == RIGHT else wrong_answer(item)}
            assert person.answer(trial["trial_index"], **changes).status_code == 201
        return person

    return make


def slot_of(store: SqliteStore, person: Participant) -> tuple[Any, ...]:
    (found,) = rows(
        store, "SELECT status, slot, release_reason FROM sessions WHERE session = ?", (person.session["session"],)
    )
    return found


def test_a_participant_who_passes_the_checks_keeps_the_slot(person_of: PersonOf, store: SqliteStore) -> None:
    person = person_of(RIGHT, RIGHT)
    assert person.complete().status_code == 200
    assert slot_of(store, person) == ("completed", "confirmed", None)


def test_a_participant_who_fails_too_many_checks_is_replaced_and_the_responses_are_kept(
    person_of: PersonOf, store: SqliteStore
) -> None:
    person = person_of(RIGHT, WRONG)
    assert person.complete().status_code == 200
    assert slot_of(store, person) == ("completed", "released", "attention check")
    answered = rows(store, "SELECT trial_index FROM responses")
    assert len(answered) == len(person.session["trials"])


def test_no_reply_reveals_the_result_of_the_checks(person_of: PersonOf) -> None:
    """Panels require it, and courtesy too: both participants get thanks and a code, and a retry gets the same reply."""
    passed, failed = person_of(RIGHT).complete(), person_of(WRONG).complete()
    assert passed.status_code == failed.status_code == 200
    own = {"completion_code", "withdrawal_code", "exit"}
    replies = [{name: value for name, value in one.get_json().items() if name not in own} for one in (passed, failed)]
    assert replies[0] == replies[1]
    assert [one.get_json()["exit"]["url"] for one in (passed, failed)] == [None, None]


def test_a_repeated_completion_changes_nothing_after_failed_checks(person_of: PersonOf, store: SqliteStore) -> None:
    person = person_of(WRONG)
    first = person.complete().get_json()
    assert person.complete().get_json() == first
    assert slot_of(store, person) == ("completed", "released", "attention check")
    assert person.http.get("/api/session").get_json()["completion_code"] == first["completion_code"]


def test_a_response_to_a_check_during_the_completion_is_judged_too(
    sample_study: Study, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A participant may send the last responses and the completion at the same time."""
    study = with_checks(sample_study, 1, 0)
    item = study.battery.by_id["attention-1"]
    person = Participant(create_app(study, store, SECRETS, Settings()))
    person.start()
    contents = [trial["content"] for trial in person.session["trials"]]
    check = contents.index(item.content)
    for index in range(check):
        assert person.answer(index).status_code == 201
    left = [partial(person.answer, check, response=wrong_answer(item))]
    left += [partial(person.answer, index) for index in range(check + 1, len(contents))]

    def send_what_is_left() -> None:
        while left:
            assert left.pop(0)().status_code == 201

    answers = store.responses

    def answers_of_a_moment_ago(session: str) -> dict[int, Any]:
        found = answers(session)
        send_what_is_left()
        return found

    monkeypatch.setattr(store, "responses", answers_of_a_moment_ago)
    person.complete()
    send_what_is_left()
    assert person.complete().status_code == 200
    assert slot_of(store, person) == ("completed", "released", "attention check")


def test_a_study_without_a_rule_replaces_no_participant(person_of: PersonOf, store: SqliteStore) -> None:
    person = person_of(WRONG, WRONG, max_failed=None)
    person.complete()
    assert slot_of(store, person) == ("completed", "confirmed", None)


def test_a_simulated_participant_is_never_replaced(person_of: PersonOf, store: SqliteStore) -> None:
    """A simulation keeps the requested number of participants; the analysis excludes those that failed."""
    person = person_of(WRONG, kind="simulated")
    person.complete()
    assert slot_of(store, person) == ("completed", "confirmed", None)


def test_the_slot_of_a_participant_who_failed_goes_to_another_participant(
    person_of: PersonOf, store: SqliteStore
) -> None:
    failed = person_of(WRONG, quota=1)
    late = failed.http.application.test_client()
    assert late.get("/api/study").get_json()["notice"] is not None
    failed.complete()
    assert late.get("/api/study").get_json()["notice"] is None
    second = person_of(RIGHT, quota=1)
    second.complete()
    assert late.get("/api/study").get_json()["notice"] is not None
    assert slot_of(store, second) == ("completed", "confirmed", None)


def test_a_session_is_judged_by_the_rule_with_which_it_began(
    sample_study: Study, store: SqliteStore, person_of: PersonOf
) -> None:
    person = person_of(WRONG, max_failed=1)
    stricter = with_checks(sample_study, 1, 0)
    stricter = dataclasses.replace(stricter, definition=stricter.definition.model_copy(update={"version": "1.1"}))
    later = create_app(stricter, store, SECRETS, Settings()).test_client()
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    later.set_cookie(cookie.key, cookie.value)
    assert later.post("/api/complete", json={}).status_code == 200
    assert slot_of(store, person) == ("completed", "confirmed", None)
