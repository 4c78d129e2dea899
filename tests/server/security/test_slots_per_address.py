"""One network address has a limited number of slots, so that no client fills a study with invented ids."""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from experiment.records import Source
from experiment.study.definition import Study, consent_digest
from experiment.study.recruitment import Recruitment
from experiment.study.timeline import Resume
from server.app import create_app
from server.security.slots_per_address import REMEMBERED_S, SlotsPerAddress
from server.settings import Settings
from server.store import Refusal, Release, SqliteStore, Store, StoredSession, StoreUnavailable
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import Visitor, from_panel, pid, refused
from tests.server.stores import Clock, Person, at_once, held_by, recruiting, rows, saying

HERE, THERE = "203.0.113.77", "198.51.100.23"
TIME_OUT_MIN = Recruitment().time_out_min
TOO_MANY = "Too many people are taking part from your network"
AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    """Serve the small study with two slots for each address."""

    def make(slots: int = 2, study: Study = small_study, **recruitment: Any) -> Flask:
        settings = Settings(slots_per_address=slots)
        return create_app(recruiting(study, **recruitment), store, SECRETS, settings)

    return make


def person_at(app: Flask, address: str, coming: str = "/") -> Visitor:
    visitor = Visitor(app, coming)
    visitor.http.environ_base["REMOTE_ADDR"] = address
    return visitor


@pytest.mark.parametrize("entry", ["open", "panel"])
def test_each_address_has_its_own_limit_of_slots(app_of: AppOf, store: SqliteStore, entry: str) -> None:
    app = app_of(entry=entry)
    people = [person_at(app, HERE, from_panel(pid(f"p{number}"))) for number in range(4)]
    assert [person.start().status_code for person in people[:2]] == [201, 201]
    before = held_by(store)
    for person in people[2:]:
        assert TOO_MANY in refused(person.start(), 409)
    assert held_by(store) == before
    assert person_at(app, THERE, from_panel(pid("other"))).start().status_code == 201


@pytest.mark.parametrize("how", ["completes", "withdraws", "is released", "times out"])
def test_a_released_slot_no_longer_counts(app_of: AppOf, store: SqliteStore, clock: Clock, how: str) -> None:
    app = app_of()
    first, second, third = (person_at(app, HERE) for _ in range(3))
    first.start()
    second.start()
    refused(third.start(), 409)
    if how == "completes":
        first.complete()
    elif how == "withdraws":
        first.withdraw()
    elif how == "times out":
        clock.advance(minutes=TIME_OUT_MIN - 1)
        assert second.answer(0).status_code == 201
        clock.advance(minutes=2)
    else:
        store.release_slot(first.session["session"], Release.RETURN)
    assert third.start().status_code == 201
    refused(person_at(app, HERE).start(), 409)


@pytest.mark.parametrize("entry", ["open", "panel"])
def test_simultaneous_starts_do_not_exceed_the_limit_of_slots(
    app_of: AppOf, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    app = app_of(entry=entry)
    n_starts, start_session = 16, store.start_session

    def started_together(*arguments: Any) -> StoredSession:
        time.sleep(0.3)  # the other starts arrive before this start is stored
        return start_session(*arguments)

    monkeypatch.setattr(store, "start_session", started_together)
    people = [person_at(app, HERE, from_panel(pid(f"p{number}"))) for number in range(n_starts)]
    statuses = [reply.status_code for reply in at_once(*(person.start for person in people))]
    assert sorted(statuses) == [201] * 2 + [409] * (n_starts - 2)
    people[statuses.index(201)].withdraw()
    assert person_at(app, HERE, from_panel(pid("next"))).start().status_code == 201
    refused(person_at(app, HERE, from_panel(pid("one-more"))).start(), 409)


def test_a_failed_start_does_not_count(app_of: AppOf, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(slots=1)

    def away(*_arguments: object) -> StoredSession:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(store, "start_session", away)
        for _ in range(3):
            refused(person_at(app, HERE).start(), 503)
    assert person_at(app, HERE).start().status_code == 201


def test_a_start_that_is_retried_before_it_is_stored_counts_once(
    app_of: AppOf, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(slots=1, entry="panel")
    anna, again = (person_at(app, HERE, from_panel(pid("anna"), SESSION_ID="anna")) for _ in range(2))
    start_id = str(uuid.uuid4())
    start_session, replies = store.start_session, []

    def sent_again_meanwhile(*arguments: Any) -> StoredSession:
        monkeypatch.setattr(store, "start_session", start_session)
        replies.append(again.start(start_id=start_id))
        return start_session(*arguments)

    monkeypatch.setattr(store, "start_session", sent_again_meanwhile)
    replies.append(anna.start(start_id=start_id))
    assert [reply.status_code for reply in replies] == [201, 201]
    assert anna.session["session"] == again.session["session"]
    refused(person_at(app, HERE, from_panel(pid("bert"))).start(), 409)


def test_a_participant_with_a_session_resumes_at_the_limit_of_slots(app_of: AppOf) -> None:
    app = app_of(entry="panel")
    addresses = [from_panel(pid(name), SESSION_ID=name) for name in ("anna", "bert")]
    anna, bert = (person_at(app, HERE, address) for address in addresses)
    start_id = str(uuid.uuid4())
    anna.start()
    bert.start(start_id=start_id)
    assert anna.start().status_code == 200
    assert anna.post("/api/visit", {"visit_id": str(uuid.uuid4())}).status_code == 200
    assert person_at(app, HERE, addresses[0]).start().status_code == 201  # in another browser
    bert.http.delete_cookie("equipoise_session_blackbox-predict", domain="localhost")
    assert bert.start(start_id=start_id).status_code == 201  # a start whose reply was lost


def test_a_start_id_without_an_existing_session_counts_as_new(app_of: AppOf) -> None:
    app = app_of(slots=1, entry="panel")
    start_id = str(uuid.uuid4())
    coming = from_panel(pid("anna"), SESSION_ID="anna")
    first = person_at(app, THERE, coming)
    assert first.start().status_code == 201
    assert person_at(app, HERE, from_panel(pid("bert"))).start(start_id=start_id).status_code == 201
    # Anna uses the start id of Bert's session, and then another start id.
    for id_ in (start_id, str(uuid.uuid4())):
        assert person_at(app, HERE, coming).start(start_id=id_).status_code == 201
    refused(person_at(app, HERE, from_panel(pid("carla"))).start(start_id=start_id), 409)
    refused(person_at(app, HERE, from_panel(pid("dora"))).start(), 409)


def test_a_visit_under_the_start_id_of_another_session_hides_no_session(app_of: AppOf, small_study: Study) -> None:
    app = app_of(study=saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    first, second = person_at(app, HERE), person_at(app, HERE)
    start_id = str(uuid.uuid4())
    first.start(start_id=start_id)
    second.start()
    assert second.post("/api/visit", {"visit_id": start_id}).status_code == 200
    refused(person_at(app, HERE).start(), 409)


def test_a_session_that_a_start_restarts_is_counted(app_of: AppOf, small_study: Study) -> None:
    resume = Resume(max_reloads=0, otherwise="restart")
    app = app_of(slots=1, entry="panel", study=saying(small_study, resume=resume))
    coming = from_panel(pid("anna"), SESSION_ID="anna")
    first = person_at(app, HERE, coming)
    first.start()
    again = person_at(app, HERE, coming)
    again.start()
    assert again.session["session"] != first.session["session"]
    refused(person_at(app, HERE, from_panel(pid("bert"))).start(), 409)


def test_simulated_and_laboratory_sessions_do_not_count_as_slots_of_an_address(
    app_of: AppOf, small_study: Study
) -> None:
    app = app_of(slots=1)
    for _ in range(3):
        assert person_at(app, HERE).start(kind="simulated").status_code == 201
    lab = person_at(app, HERE)
    for number in range(3):
        start = {"start_id": str(uuid.uuid4()), "participant": f"P{number}", "study_digest": small_study.digest}
        start["consent_digest"] = consent_digest(small_study.definition, small_study.texts, Source.LAB) or ""
        reply = lab.post("/api/lab/session", start, Authorization="Bearer researcher-token")
        assert reply.status_code == 201, reply.text
    assert person_at(app, HERE).start().status_code == 201


def test_a_restarted_session_counts_as_one_slot(app_of: AppOf, small_study: Study) -> None:
    app = app_of(study=saying(small_study, resume=Resume(max_reloads=0, otherwise="restart")))
    person = person_at(app, HERE)
    person.start()
    for _ in range(3):
        assert person.post("/api/visit", {"visit_id": str(uuid.uuid4())}).status_code == 200
    assert person_at(app, HERE).start().status_code == 201
    refused(person_at(app, HERE).start(), 409)


def test_no_address_is_stored_or_logged(
    app_of: AppOf, store: SqliteStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    app = app_of(slots=1)
    person_at(app, HERE).start()
    refused(person_at(app, HERE).start(), 409)
    assert HERE not in repr(held_by(store)) + caplog.text + repr([vars(record) for record in caplog.records])


def test_the_store_says_which_sessions_have_a_slot(any_store: Store, small_study: Study, clock: Clock) -> None:
    any_store.register_study(small_study)
    silent, under_way, done, gone = (Person(any_store, small_study) for _ in range(4))
    done.complete()
    gone.withdraw()
    clock.advance(minutes=TIME_OUT_MIN - 1)
    under_way.answer()
    clock.advance(minutes=2)
    asked = [silent.session, under_way.session, done.session, gone.session, "unknown"]
    assert any_store.with_slots(small_study, asked) == [under_way.session]
    assert any_store.with_slots(small_study, [silent.session]) == []
    assert len(rows(any_store, "SELECT * FROM sessions")) == 4


@pytest.fixture
def away(small_study: Study, tmp_path: Path) -> Iterator[Store]:
    with closing(SqliteStore(tmp_path / "away.db")) as store:
        store.register_study(small_study)
        yield store


def test_starts_of_an_address_are_forgotten_after_a_day(
    away: Store, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = SlotsPerAddress(1, small_study, away)
    for number in range(3):
        slots.add(f"{HERE}-{number}", Person(away, small_study).session)
    with pytest.raises(Refusal), slots.one_more(f"{HERE}-0", "new"):
        pass
    monkeypatch.setattr("server.security.slots_per_address.time.monotonic", lambda: float("inf"))
    with slots.one_more(f"{HERE}-0", "new"):
        assert not slots._sessions
        assert not slots._begun
    assert not slots._starting
    assert REMEMBERED_S >= 24 * 3600
