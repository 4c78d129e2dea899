"""Participants who return in another browser: no second consent, no second slot, and nothing for strangers."""

import uuid
from typing import Any

import pytest
from flask import Flask

from experiment.study.definition import Study
from server.app import create_app
from server.participants.participant_auth import make_link_token
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import PANEL_ID
from tests.server.stores import recruiting

PANEL = f"/?PROLIFIC_PID={PANEL_ID}&SESSION_ID=x"


def served(study: Study, store: SqliteStore, entry: str) -> Flask:
    return create_app(recruiting(study, entry=entry), store, SECRETS, Settings(starts_per_minute=1_000_000))


def browser(app: Flask, address: str) -> Any:
    http = app.test_client()
    http.get(address)
    return http


def has_begun_before(http: Any) -> bool:
    begun: bool = http.get("/api/study").get_json()["begun_before"]
    return begun


def start(http: Any, start_id: str | None = None, **fields: Any) -> Any:
    digest = http.get("/api/study").get_json()["consent_digest"]
    body = {"start_id": start_id or str(uuid.uuid4()), "consent_digest": digest, "kind": "human"} | fields
    return http.post("/api/session", json=body)


@pytest.fixture
def link(small_study: Study) -> str:
    return f"/?token={make_link_token(small_study, SECRETS.signing_key)}"


def test_a_participant_with_the_link_resumes_without_a_second_slot(
    small_study: Study, store: SqliteStore, link: str
) -> None:
    app = served(small_study, store, "link")
    first = browser(app, link)
    assert not has_begun_before(first)
    session = start(first).get_json()["session"]
    second = browser(app, link)
    assert has_begun_before(second)
    assert start(second, resume_only=True).get_json()["session"] == session
    assert len(store.sessions(app.extensions["equipoise"].study)) == 1
    assert not has_begun_before(browser(app, "/"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [(PANEL, True), (PANEL.replace("=x", "=y"), False), (f"/?PROLIFIC_PID={PANEL_ID}", False), ("/", False)],
)
def test_only_the_id_of_the_submission_proves_a_session(
    small_study: Study, store: SqliteStore, address: str, expected: bool
) -> None:
    app = served(small_study, store, "panel")
    start(browser(app, PANEL))
    assert has_begun_before(browser(app, address)) is expected


def test_a_resume_without_a_proof_begins_no_session(small_study: Study, store: SqliteStore, link: str) -> None:
    app = served(small_study, store, "link")
    refused = start(browser(app, link), resume_only=True)
    assert refused.status_code == 409
    assert store.sessions(app.extensions["equipoise"].study) == []


def test_a_repeated_resume_is_accepted(small_study: Study, store: SqliteStore, link: str) -> None:
    app = served(small_study, store, "link")
    session = start(browser(app, link)).get_json()["session"]
    second, start_id = browser(app, link), str(uuid.uuid4())
    replies = [start(second, start_id, resume_only=True) for _ in range(2)]
    assert [reply.get_json()["session"] for reply in replies] == [session, session]


def test_a_withdrawn_participant_has_nothing_to_resume(small_study: Study, store: SqliteStore, link: str) -> None:
    app = served(small_study, store, "link")
    first = browser(app, link)
    start(first)
    first.post("/api/withdraw", json={})
    assert not has_begun_before(browser(app, link))


def test_a_client_cannot_try_many_submission_ids(small_study: Study, store: SqliteStore) -> None:
    app = served(small_study, store, "panel")
    start(browser(app, PANEL))
    stranger = app.test_client()
    for number in range(25):
        stranger.get(PANEL.replace("=x", f"={number}"))
        assert not has_begun_before(stranger)
    stranger.get(PANEL)
    assert not has_begun_before(stranger), "the limit was reached before the right id"
    # The look-ups do not prevent that another participant of the same network begins.
    newcomer = browser(app, PANEL.replace(PANEL_ID, PANEL_ID[::-1]))
    assert start(newcomer).status_code == 201
