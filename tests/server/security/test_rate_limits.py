"""Rate limits: status 429 with the time to wait, for each session and address; no address is stored."""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.app import create_app
from server.security.rate_limits import address_key
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore
from server.store.tables import TABLES
from tests.server.stores import rows, saying, sign_in

TOKEN = "researcher-token"
HERE, THERE = "203.0.113.77", "198.51.100.23"
AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    """Make an application with the limits that a test chooses."""
    return lambda **settings: create_app(small_study, store, Secrets("a key for tests", TOKEN), Settings(**settings))


def start(app: Flask, address: str = HERE, http: Any = None, **headers: str) -> TestResponse:
    """Begin a session from an address, in a new or a known browser."""
    http = http or app.test_client()
    digest = http.get("/api/study").get_json()["consent_digest"]
    body = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    reply: TestResponse = http.post(
        "/api/session", json=body, headers=headers, environ_overrides={"REMOTE_ADDR": address}
    )
    return reply


def assert_must_wait(reply: TestResponse, longest_s: int) -> None:
    assert reply.status_code == 429
    assert 1 <= int(reply.headers["Retry-After"]) <= longest_s
    assert reply.get_json() == {"error": "Too many requests; please wait a moment."}
    assert "Content-Security-Policy" in reply.headers


def test_new_sessions_are_limited_for_each_address_separately(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(starts_per_minute=3)
    assert [start(app).status_code for _ in range(3)] == [201] * 3
    for _ in range(3):
        assert_must_wait(start(app), 60)
    assert len(rows(store, "SELECT * FROM sessions")) == 3
    assert start(app, THERE).status_code == 201


def test_a_resumed_session_does_not_count_as_a_start(app_of: AppOf) -> None:
    app = app_of(starts_per_minute=1)
    http = app.test_client()
    assert start(app, http=http).status_code == 201
    for _ in range(3):
        assert start(app, http=http).status_code == 200


def test_a_start_that_is_refused_for_its_form_is_not_counted(app_of: AppOf) -> None:
    app = app_of(starts_per_minute=1)
    for body in ({}, {"start_id": "x"}, []):
        app.test_client().post("/api/session", json=body, environ_overrides={"REMOTE_ADDR": HERE})
    assert start(app).status_code == 201


def test_the_limit_ends_with_its_window(app_of: AppOf, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(starts_per_minute=1)
    start(app)
    wait_s = int(start(app).headers["Retry-After"])
    now, monotonic = time.time, time.monotonic
    monkeypatch.setattr("time.time", lambda: now() + wait_s)
    monkeypatch.setattr("time.monotonic", lambda: monotonic() + wait_s)
    assert start(app).status_code == 201


def test_requests_are_limited_for_each_session_separately(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(requests_per_second=5)
    hasty, other = app.test_client(), app.test_client()
    session = start(app, http=hasty).get_json()["session"]
    start(app, http=other)
    digest = other.get("/api/study").get_json()["consent_digest"]
    again = {"start_id": str(uuid.uuid4()), "kind": "human", "consent_digest": digest}
    replies = []
    for _ in range(8):
        replies += [hasty.get("/api/session"), hasty.post("/api/session", json=again)]
        replies += [hasty.post(address, json={}) for address in ("/api/complete", "/api/responses")]
    refused = [reply for reply in replies if reply.status_code == 429]
    assert len(refused) >= 12  # 32 requests may need more than three seconds on a slow machine
    for reply in refused:
        assert_must_wait(reply, 1)
    assert other.get("/api/session").status_code == 200
    time.sleep(int(refused[-1].headers["Retry-After"]))
    assert hasty.get("/api/session").status_code == 200
    answer = {"response_id": str(uuid.uuid4()), "trial_index": 0, "response": "absorbed"}
    assert hasty.post("/api/responses", json={"session": session, "responses": [answer]}).status_code == 201
    assert len(rows(store, "SELECT * FROM responses")) == 1


def test_responses_over_the_limit_are_not_stored_and_can_be_retried(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(requests_per_second=2)
    http = app.test_client()
    session = start(app, http=http).get_json()
    answers = [
        {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": "absorbed"}
        for trial in session["trials"]
    ]
    bodies = [{"session": session["session"], "responses": [answer]} for answer in answers]
    n_refused = 0
    for body in bodies:
        while (reply := http.post("/api/responses", json=body)).status_code == 429:
            n_refused += 1
            time.sleep(int(reply.headers["Retry-After"]))
        assert reply.status_code == 201
    assert n_refused
    assert len(rows(store, "SELECT * FROM responses")) == len(bodies)


def test_an_ordinary_participant_never_reaches_a_limit(app_of: AppOf) -> None:
    """The page sends each response, reads the session and completes it, all within a second if necessary."""
    app = app_of()
    http = app.test_client()
    session = start(app, http=http).get_json()
    replies = [http.get("/api/session")]
    for trial in session["trials"]:
        answer = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": "absorbed"}
        replies.append(http.post("/api/responses", json={"session": session["session"], "responses": [answer]}))
    replies.append(http.post("/api/complete", json={}))
    assert {reply.status_code for reply in replies} <= {200, 201}


# Guesses of the researcher's token


def guess(app: Flask, way: str, token: str, address: str = HERE) -> TestResponse:
    environ = {"REMOTE_ADDR": address}
    if way == "form":
        return sign_in(app.test_client(), token, environ_overrides=environ)
    headers = {"Authorization": f"Bearer {token}"}
    return app.test_client().get("/metrics", headers=headers, environ_overrides=environ)


@pytest.mark.parametrize("ways", [("form", "form"), ("figures", "figures"), ("form", "figures"), ("figures", "form")])
def test_wrong_tokens_are_limited_and_the_right_token_is_accepted(app_of: AppOf, ways: tuple[str, str]) -> None:
    """Otherwise any client in the researcher's network could prevent the researcher's sign-in."""
    app = app_of()
    assert [guess(app, ways[0], f"guess-{number}").status_code for number in range(10)] == [403] * 10
    for number in range(11, 40):
        reply = guess(app, ways[1], f"guess-{number}")
        assert (reply.status_code, "Retry-After" in reply.headers) == (429, True)
    for way in ways:
        assert guess(app, way, TOKEN).status_code in {200, 303}
    assert guess(app, ways[1], "guess-41", THERE).status_code == 403


def test_the_right_token_is_never_counted(app_of: AppOf) -> None:
    app = app_of()
    for way in ("form", "figures"):
        assert {guess(app, way, TOKEN).status_code for _ in range(30)} <= {200, 303}


def test_wrong_guesses_do_not_keep_participants_from_their_study(app_of: AppOf) -> None:
    app = app_of()
    for number in range(15):
        guess(app, "form", f"guess-{number}")
    assert start(app).status_code == 201


# Addresses


def test_behind_a_counted_proxy_each_address_has_a_separate_limit(app_of: AppOf) -> None:
    app = app_of(proxies=1, starts_per_minute=1)
    proxy = "10.0.0.1"
    assert start(app, proxy, **{"X-Forwarded-For": HERE}).status_code == 201
    assert_must_wait(start(app, proxy, **{"X-Forwarded-For": HERE}), 60)
    assert start(app, proxy, **{"X-Forwarded-For": THERE}).status_code == 201


def test_addresses_from_before_the_counted_proxies_are_not_trusted(app_of: AppOf) -> None:
    """A client can send this header too; the proxy appends the address of the client."""
    app = app_of(proxies=1, starts_per_minute=1)
    start(app, "10.0.0.1", **{"X-Forwarded-For": HERE})
    assert_must_wait(start(app, "10.0.0.1", **{"X-Forwarded-For": f"192.0.2.1, {HERE}"}), 60)
    two = app_of(proxies=2, starts_per_minute=1)
    start(two, "10.0.0.1", **{"X-Forwarded-For": f"192.0.2.1, {HERE}, 10.0.0.2"})
    assert_must_wait(start(two, "10.0.0.1", **{"X-Forwarded-For": f"192.0.2.2, {HERE}, 10.0.0.2"}), 60)


def test_without_a_configured_proxy_forwarded_addresses_are_ignored(app_of: AppOf) -> None:
    app = app_of(proxies=0, starts_per_minute=1)
    assert start(app, **{"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"}).status_code == 201
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Client-IP", "X-Client-IP", "True-Client-IP"):
        assert_must_wait(start(app, **{header: "192.0.2.99"}), 60)
    for number in range(10):
        guess(app, "form", f"guess-{number}")
    forged = {"X-Forwarded-For": "192.0.2.1"}
    reply = sign_in(app.test_client(), "x", headers=forged, environ_overrides={"REMOTE_ADDR": HERE})
    assert reply.status_code == 429


def test_an_address_is_in_no_table_file_or_log(
    app_of: AppOf, store: SqliteStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    app = app_of(proxies=1, starts_per_minute=2, requests_per_second=5)
    http = app.test_client()
    browser = "Mozilla/5.0 (a very particular browser)"
    forwarded = {"X-Forwarded-For": THERE, "User-Agent": browser}
    for _ in range(4):
        start(app, HERE, **forwarded)
    start(app, HERE, http=http, **{"X-Forwarded-For": "192.0.2.55"})
    for _ in range(20):
        http.get("/api/session", headers=forwarded, environ_overrides={"REMOTE_ADDR": HERE})
    for number in range(15):
        guess(app, "form", f"guess-{number}")
    http.post("/api/withdraw", json={}, headers=forwarded, environ_overrides={"REMOTE_ADDR": HERE})
    figures = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    kept = b"".join(path.read_bytes() for path in files).decode("latin-1") + figures
    kept += caplog.text + repr([vars(record) for record in caplog.records])
    kept += repr([rows(store, f'SELECT * FROM "{table}"') for table in TABLES])
    for personal in (HERE, THERE, "192.0.2.55", browser):
        assert personal not in kept
    assert "session begun" in caplog.text, "nothing was logged, so that nothing was proved"


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        (None, ""),
        ("no address", "no address"),
    ],
)
def test_an_ipv6_address_counts_as_its_network(address: str | None, key: str) -> None:
    assert address_key(address) == key


def test_a_whole_ipv6_network_has_one_limit(app_of: AppOf) -> None:
    app = app_of(starts_per_minute=2)
    assert [start(app, f"2001:db8:1:2::{number}").status_code for number in (1, 2)] == [201] * 2
    assert_must_wait(start(app, "2001:db8:1:2:ffff::3"), 60)
    assert start(app, "2001:db8:1:3::1").status_code == 201
    assert [start(app, address).status_code for address in (HERE, f"::ffff:{HERE}")] == [201] * 2
    assert_must_wait(start(app, HERE), 60)


# What the limits cost


def test_counting_starts_no_threads(app_of: AppOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A starting thread can receive the signal to stop the server, and then the signal is lost."""
    app = app_of()
    http = app.test_client()
    start(app, http=http)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail(f"{thread} was started"))
    for _ in range(20):
        assert http.get("/api/session").status_code == 200
        guess(app, "form", TOKEN)


def test_simultaneous_requests_are_all_counted(app_of: AppOf) -> None:
    from tests.server.stores import at_once

    app = app_of(starts_per_minute=10)
    replies = at_once(*[lambda: start(app).status_code] * 25)
    assert sorted(replies) == [201] * 10 + [429] * 15


def test_a_restarted_session_counts_as_a_start(small_study: Study, store: SqliteStore) -> None:
    """Otherwise reloads would make an unlimited number of rows in a study whose sessions restart."""
    study = saying(small_study, resume=Resume(max_reloads=0, otherwise="restart"))
    app = create_app(study, store, Secrets("a key for tests", TOKEN), Settings(starts_per_minute=4))
    http = app.test_client()
    assert start(app, http=http).status_code == 201

    def open_again() -> TestResponse:
        reply: TestResponse = http.post(
            "/api/visit", json={"visit_id": str(uuid.uuid4())}, environ_overrides={"REMOTE_ADDR": HERE}
        )
        return reply

    assert open_again().status_code == 200
    assert start(app, http=http).status_code == 200  # restarts too
    assert open_again().status_code == 200
    for _ in range(3):
        assert_must_wait(open_again(), 60)
        assert_must_wait(start(app, http=http), 60)
    assert len(rows(store, "SELECT * FROM sessions")) == 4
    assert_must_wait(start(app), 60)
    assert start(app, THERE).status_code == 201
