"""Every address of the server, with each possible error of a request.

The table `ROUTES` names all addresses; a new route that is not in the table fails the first test. For each
error the reply has a 4xx status, one sentence and the strict headers, and nothing is stored.
"""

import json
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from itsdangerous import TimestampSigner
from werkzeug.test import TestResponse

from experiment.records import Source
from experiment.study.definition import Study, consent_digest
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from server.store.tables import TABLES
from tests.server.stores import rows, sign_in

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)
SESSION_COOKIE = "equipoise_session_blackbox-predict"
SIGNING_KEY, TOKEN = "a signing key for tests", "researcher-token"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "INVENTED")


@dataclass(frozen=True)
class Route:
    """An address of the server."""

    method: str
    rule: str
    address: str
    """An example of the rule."""
    needs: str = ""
    """A session, a plugin or picture, or the researcher's token; empty if every client may read the address."""
    uses_the_store: bool = True

    @property
    def name(self) -> str:
        return f"{self.method} {self.rule}"


ROUTES = [
    Route("GET", "/", "/", uses_the_store=False),
    Route("GET", "/static/<path:name>", "/static/equipoise.js", uses_the_store=False),
    Route("GET", "/study/<digest>.js", "/study/0.js", needs="plugin", uses_the_store=False),
    Route("GET", "/study/<digest>.css", "/study/0.css", needs="plugin", uses_the_store=False),
    Route("GET", "/asset/<name>", f"/asset/{'0' * 64}.png", needs="plugin", uses_the_store=False),
    Route("GET", "/api/study", "/api/study"),
    Route("POST", "/api/session", "/api/session"),
    Route("GET", "/api/session", "/api/session", needs="session"),
    Route("POST", "/api/visit", "/api/visit", needs="session"),
    Route("POST", "/api/demographics", "/api/demographics", needs="session"),
    Route("POST", "/api/responses", "/api/responses", needs="session"),
    Route("POST", "/api/action", "/api/action", needs="session"),
    Route("POST", "/api/complete", "/api/complete", needs="session"),
    Route("POST", "/api/withdraw", "/api/withdraw", needs="session"),
    Route("GET", "/researcher/style.css", "/researcher/style.css", uses_the_store=False),
    Route("GET", "/researcher/sign-in.js", "/researcher/sign-in.js", uses_the_store=False),
    Route("GET", "/researcher/preview.css", "/researcher/preview.css", uses_the_store=False),
    Route("GET", "/researcher/dashboard.js", "/researcher/dashboard.js", uses_the_store=False),
    Route("GET", "/healthz", "/healthz", uses_the_store=False),
    Route("GET", "/readyz", "/readyz"),
    Route("GET", "/metrics", "/metrics", needs="token"),
    Route("POST", "/api/lab/session", "/api/lab/session?participant=P01", needs="token"),
    Route("GET", "/api/lab/session", "/api/lab/session?participant=P01", needs="token"),
    Route("GET", "/api/lab/slot", "/api/lab/slot?participant=P02", needs="token"),
]
PAGES_WITH_A_FORM = [
    Route("GET", "/withdraw", "/withdraw"),
    Route("POST", "/withdraw", "/withdraw"),
    Route("GET", "/researcher/", "/researcher/"),
    Route("POST", "/researcher/sign-in", "/researcher/sign-in"),
    Route("GET", "/researcher/live", "/researcher/live"),
    Route("GET", "/researcher/participants", "/researcher/participants"),
    Route("GET", "/researcher/participants/<participant>", "/researcher/participants/x"),
    Route("POST", "/researcher/sessions.csv", "/researcher/sessions.csv"),
    Route("POST", "/researcher/<any(pause, resume):action>", "/researcher/pause"),
    Route("POST", "/researcher/groups/<int:group>/<any(open, close):action>", "/researcher/groups/1/open"),
    Route("POST", "/researcher/groups/<int:group>/extend", "/researcher/groups/1/extend"),
    *(
        Route("POST", f"/researcher/sessions/<session>/{action}", f"/researcher/sessions/x/{action}")
        for action in ("exclude", "include", "replace", "delete")
    ),
    Route("POST", "/researcher/preview", "/researcher/preview"),
    Route("POST", "/researcher/preview/end", "/researcher/preview/end"),
    Route("POST", "/researcher/sign-in/account", "/researcher/sign-in/account"),
    Route("POST", "/researcher/sign-out", "/researcher/sign-out"),
]
"""Pages that work without JavaScript; other tests check them."""
ADDRESSES = sorted({route.address for route in ROUTES})
LOOKS = [route.address for route in ROUTES if route.method == "GET"]
POSTS = [route.address for route in ROUTES if route.method == "POST" and route.needs != "token"]
"""Requests that a participant can post; other tests check the laboratory's requests."""
NEED_A_SESSION = [route for route in ROUTES if route.needs == "session"]


@pytest.fixture
def app(sample_study: Study, store: SqliteStore) -> Flask:
    """The application without rate limits, which other tests check."""
    return create_app(sample_study, store, Secrets(SIGNING_KEY, TOKEN), NO_LIMITS)


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables."""
    return {table: sorted(rows(store, f"SELECT * FROM {table}"), key=repr) for table in TABLES}


@contextmanager
def nothing_stored(store: Store) -> Iterator[None]:
    """Assert that a block stores, changes and deletes nothing."""
    before = everything(store)
    yield
    assert everything(store) == before


def assert_strict_headers(response: TestResponse) -> None:
    headers = response.headers
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "Server" not in headers
    assert len(headers.getlist("Content-Security-Policy")) == 1


def assert_refused(response: TestResponse, *statuses: int, of: object = "") -> None:
    """Assert that a refusal has the status, one readable sentence as JSON and the strict headers, and is not cached."""
    assert response.status_code in statuses, (of, response.status_code, response.text[:300])
    assert response.mimetype == "application/json"
    body = response.get_json()
    assert set(body) == {"error"}
    sentence = body["error"]
    assert re.fullmatch(r"[A-Z0-9`].{10,}[.!]", sentence, re.DOTALL), (of, sentence)
    for word in ("Traceback", "Exception", 'File "', "sqlite", "psycopg", "SELECT", "werkzeug", "pydantic.dev"):
        assert word not in sentence, (of, sentence)
    assert_strict_headers(response)
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers.getlist("Set-Cookie") == []


def post(
    http: FlaskClient, address: str, body: bytes | str, content_type: str | None = "application/json"
) -> TestResponse:
    return http.post(address, data=body, content_type=content_type)


def right_body(http: FlaskClient, address: str) -> dict[str, Any]:
    """Return a body that the address accepts, for the client's session."""
    if address == "/api/session":
        digest = http.get("/api/study").get_json()["consent_digest"]
        return {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    if address == "/api/responses":
        session = http.get("/api/session").get_json().get("session", "unknown")
        answer = {"response_id": str(uuid.uuid4()), "trial_index": 0, "response": "absorbed"}
        return {"session": session, "responses": [answer]}
    if address == "/api/visit":
        return {"visit_id": str(uuid.uuid4())}
    if address == "/api/action":
        session = http.get("/api/session").get_json().get("session", "unknown")
        action = {"action": "fire", "port": "north-1"}
        sent = {"action_id": str(uuid.uuid4()), "trial_index": 0, "action_index": 0, "action": action}
        return {"session": session, "action": sent}
    if address == "/api/demographics":
        return {"session": http.get("/api/session").get_json().get("session", "unknown"), "answers": {}}
    if address.startswith("/api/lab/session"):
        study = http.application.extensions["equipoise"].study
        digest = consent_digest(study.definition, study.texts, Source.LAB)
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "study_digest": study.digest}
        return start | {"participant": "P01"}
    return {}


def with_raw(body: dict[str, Any], value: str) -> str:
    """Return a body as JSON in which a text, valid JSON or not, replaces "@@"."""
    return json.dumps(body).replace('"@@"', value)


# The table itself


def test_every_route_of_the_application_is_in_the_table(app: Flask) -> None:
    served = {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert served == {route.name for route in [*ROUTES, *PAGES_WITH_A_FORM]}


def test_a_valid_request_gets_a_reply_with_the_strict_headers(participant: Any) -> None:
    http = participant.http
    for route in ROUTES:
        if route.address == "/api/complete":
            for trial in participant.session["trials"][1:]:  # the first trial has a response already
                participant.answer(trial["trial_index"])
        headers = {"Authorization": f"Bearer {TOKEN}"}
        if route.method == "GET":
            reply = http.get(route.address, headers=headers)
        else:
            reply = http.post(route.address, json=right_body(http, route.address), headers=headers)
        with reply as response:
            others = {
                "POST /api/responses": 201,
                "POST /api/action": 422,  # No item of this study is interactive.
                "GET /study/<digest>.js": 404,
                "GET /study/<digest>.css": 404,
                "GET /asset/<name>": 404,
                "POST /api/lab/session": 201,
            }
            assert response.status_code == others.get(route.name, 200), route.name
            assert_strict_headers(response)


def test_a_read_request_stores_nothing(app: Flask, participant: Any, store: SqliteStore) -> None:
    with nothing_stored(store):
        for http in (app.test_client(), participant.http):
            for address in LOOKS:
                for method in ("GET", "HEAD", "OPTIONS"):
                    http.open(address, method=method).close()


# Methods


def test_a_wrong_method_is_refused_by_every_address(participant: Any, store: SqliteStore) -> None:
    with nothing_stored(store):
        for address in ADDRESSES:
            allowed = {route.method for route in ROUTES if route.address == address}
            allowed |= {"HEAD"} if "GET" in allowed else set()
            for method in METHODS:
                if method in allowed:
                    continue
                response = participant.http.open(address, method=method, json={})
                if method == "HEAD":
                    assert (response.status_code, response.data) == (405, b"")
                else:
                    assert_refused(response, 405, of=(method, address))
                assert set(response.headers["Allow"].split(", ")) == allowed | {"OPTIONS"}


def test_a_request_for_the_options_returns_the_methods(participant: Any) -> None:
    for address in ADDRESSES:
        response = participant.http.options(address)
        assert response.status_code == 200
        allowed = {route.method for route in ROUTES if route.address == address}
        assert allowed <= set(response.headers["Allow"].split(", "))
        assert_strict_headers(response)


def test_an_unknown_address_is_not_found(participant: Any, store: SqliteStore) -> None:
    addresses = [
        "/nowhere", "/api", "/api/", "/api/session/", "/api/responses/1", "/static/", "/static/nothing.js", "/admin",
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%5capp.py", "/static/%00", f"/static/{'a' * 5000}",
        "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/static//etc/passwd%00", "/researcher/enter/",
        f"/researcher/enter/{TOKEN}", "/researcher/nothing",
        "/%ff", "/.git/config", "/data/equipoise.db", "/study.yaml", "/data/signing-key", "/static/../data/signing-key",
    ]  # fmt: skip
    with nothing_stored(store):
        for address in addresses:
            response = participant.http.get(address, follow_redirects=True)
            assert_refused(response, 404, of=address)
            assert_refused(participant.http.post(address, follow_redirects=True), 404, 405, of=address)


# Sessions


def test_requests_without_a_session_are_refused(app: Flask, participant: Any, store: SqliteStore) -> None:
    stranger = app.test_client()
    with nothing_stored(store):
        for route in NEED_A_SESSION:
            body = right_body(participant.http, route.address)
            reply = stranger.get(route.address) if route.method == "GET" else stranger.post(route.address, json=body)
            assert_refused(reply, 401, of=route.name)


def value_of(http: FlaskClient, cookie: str, path: str = "/") -> str:
    found = http.get_cookie(cookie, path=path)
    assert found is not None
    return found.value


def forged_cookies(http: FlaskClient, study: Study, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield cookies that look like a session's cookie, each with its error."""
    right = value_of(http, SESSION_COOKIE)
    payload, stamp, signature = right.rsplit(".", 2)
    yield "empty", ""
    yield "words", "let me in"
    yield "dots", "..."
    yield "unsigned", payload
    yield "cut short", right[:-1]
    yield "made longer", f"{right}A"
    yield "another payload", f"{'A' * len(payload)}.{stamp}.{signature}"
    yield "one letter changed", f"{'B' if payload[0] == 'A' else 'A'}{payload[1:]}.{stamp}.{signature}"
    yield "another time", f"{payload}.{stamp[:-1]}{'A' if stamp[-1] != 'A' else 'B'}.{signature}"
    yield "another signature", f"{payload}.{stamp}.{signature[::-1]}"
    yield "parts left out", f"{payload}.{signature}"
    yield "no ASCII", "ÿþ.é.日本"
    yield "NUL", f"{payload}\0.{stamp}.{signature}"
    yield "long", "A" * 3_900
    store = SqliteStore(folder / "elsewhere" / "equipoise.db")
    other = create_app(study, store, Secrets("another key", TOKEN), NO_LIMITS).test_client()
    other.post("/api/session", json=right_body(other, "/api/session"))
    yield "signed with another key", value_of(other, SESSION_COOKIE)
    other = create_app(study, store, Secrets(SIGNING_KEY, TOKEN), NO_LIMITS).test_client()
    other.post("/api/session", json=right_body(other, "/api/session"))
    yield "of a session that is in no store", value_of(other, SESSION_COOKIE)
    sign_in(other, TOKEN)
    yield "the researcher's", value_of(other, "equipoise_researcher_blackbox-predict", "/researcher/")
    store.close()


def test_a_forged_session_is_refused_by_every_address(
    app: Flask, participant: Any, sample_study: Study, store: SqliteStore, tmp_path: Path
) -> None:
    with nothing_stored(store):
        for wrong, cookie in forged_cookies(participant.http, sample_study, tmp_path):
            for route in NEED_A_SESSION:
                forger = app.test_client()
                forger.set_cookie(SESSION_COOKIE, cookie)
                body = right_body(participant.http, route.address)
                reply = forger.get(route.address) if route.method == "GET" else forger.post(route.address, json=body)
                assert_refused(reply, 401, of=(wrong, route.name))


@contextmanager
def days_ago(days: float) -> Iterator[None]:
    """Let cookies that are sent within the block have this age."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda _self: int(time.time() - days * 24 * 3600))
        yield


def test_a_session_cookie_is_valid_for_its_days_and_no_longer(sample_study: Study, store: SqliteStore) -> None:
    app = create_app(sample_study, store, Secrets("key", TOKEN), Settings(session_days=2))
    for days, status in ((1.9, 200), (2.1, 401)):
        http = app.test_client()
        body = right_body(http, "/api/session")
        with days_ago(days):
            started = http.post("/api/session", json=body)
        assert "Max-Age=172800" in started.headers["Set-Cookie"]
        assert http.get("/api/session").status_code == status
    with nothing_stored(store):
        for route in NEED_A_SESSION:
            reply = http.get(route.address) if route.method == "GET" else http.post(route.address, json={})
            assert_refused(reply, 401, of=route.name)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer  {TOKEN}",
     f"Bearer {TOKEN[:-1]}", "Bearer ÿ", f"Bearer {'x' * 5000}"],
)  # fmt: skip
def test_the_figures_need_the_researchers_token(app: Flask, header: str | None) -> None:
    http = app.test_client()
    assert_refused(http.get("/metrics", headers={} if header is None else {"Authorization": header}), 403)
    assert http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_another_participants_session_can_be_neither_read_nor_changed(
    participant: Any, newcomer: Any, store: SqliteStore
) -> None:
    newcomer.start()
    newcomer.answer(0)
    mine, other = participant.session["session"], newcomer.session["session"]
    with nothing_stored(store):
        assert_refused(participant.answer(0, session=other), 409)
        assert_refused(participant.answer(1, session=other), 409)
        for address in ("/api/session", f"/api/session?session={other}"):
            assert participant.http.get(address).get_json()["session"] == mine
        for address in ("/api/complete", "/api/withdraw"):
            body = json.dumps({"session": other})
            assert_refused(post(participant.http, address, body), 409, 422, of=address)


def test_an_id_that_another_participant_has_used_returns_no_response_of_that_participant(
    participant: Any, newcomer: Any, store: SqliteStore
) -> None:
    newcomer.start()
    response_id = str(uuid.uuid4())
    newcomer.answer(0, response_id=response_id, response="reflected")
    theirs = everything(store)["responses"]
    taken = participant.answer(0, response_id=response_id)
    assert taken.status_code == 201
    assert "reflected" not in taken.text
    assert set(theirs) < set(everything(store)["responses"])


# Bodies


def test_a_body_over_the_limit_is_refused_by_every_address_that_accepts_a_body(
    participant: Any, store: SqliteStore
) -> None:
    participant.answer(0)
    with nothing_stored(store):
        for address in POSTS:
            right = json.dumps(right_body(participant.http, address)).encode()
            limit_kb = 4096 if address == "/api/responses" else 64
            for big in (right + b" " * limit_kb * 1024, b"x" * 5_000_000, b"[" * 5_000_000):
                refused = post(participant.http, address, big)
                assert_refused(refused, 413, of=address)
                assert f"{limit_kb} KB" in refused.get_json()["error"]


def test_the_limit_on_bodies_can_be_set(sample_study: Study, store: SqliteStore) -> None:
    limits = Settings(max_body_kb=1, max_responses_kb=2)
    http = create_app(sample_study, store, Secrets("key", TOKEN), limits).test_client()
    body = right_body(http, "/api/session")
    refused = http.post("/api/session", json=body | {"start_id": "x" * 2_000})
    assert_refused(refused, 413)
    assert "1 KB" in refused.get_json()["error"]
    assert http.post("/api/session", json=body).status_code == 201
    refused = http.post("/api/responses", json={"responses": "x" * 2_048})
    assert_refused(refused, 413)
    assert "2 KB" in refused.get_json()["error"]
    assert http.post("/api/responses", json={"responses": "x" * 1_900}).status_code == 422
    assert 'data-largest-responses-bytes="2048"' in http.get("/").text  # the page has the same limit


def test_an_unexpected_body_does_no_harm(app: Flask, participant: Any, store: SqliteStore) -> None:
    with nothing_stored(store):
        for http in (app.test_client(), participant.http):
            for address in LOOKS:
                for body in (b"x" * 100_000, b"{", b"\xff"):
                    with http.get(address, data=body, content_type="application/json") as response:
                        assert response.status_code < 500, address
                        assert_strict_headers(response)


NO_JSON = [
    b"", b" ", b"{", b"}", b"{}}", b"{'a': 1}", b"{a: 1}", b'{"a"}', b'{"a": }', b'{"a": 1,}', b"tru", b"\xff\xfe{}",
    b"\xef\xbb\xbf{}", b"\x00", b'{"a": "\x00"}', b"a=b", b"<xml/>", b"--x\r\n\r\n", '{"a": 1}'.encode("utf-16"),
    b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"\\udfff": 1}', b'{"a": 01}', b'{"a": +1}', b'{"a": .5}', b'{"a": 0x1}',
    b"[" * 30_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
]  # fmt: skip
NO_OBJECT = [
    b"[]", b"null", b"true", b"0", b'"x"', b"[{}]", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 300,
]  # fmt: skip


@pytest.mark.parametrize("address", POSTS)
def test_a_body_that_is_not_a_json_object_is_refused(participant: Any, store: SqliteStore, address: str) -> None:
    with nothing_stored(store):
        for body in (*NO_JSON, *NO_OBJECT):
            assert_refused(post(participant.http, address, body), 400, 422, of=body[:50])


@pytest.mark.parametrize("address", POSTS)
def test_only_json_is_accepted_so_that_no_other_site_can_post_a_form(
    participant: Any, store: SqliteStore, address: str
) -> None:
    body = json.dumps(right_body(participant.http, address))
    types = [
        None, "", "text/plain", "text/html", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
        "application/xml", "application/json-seq", "application/jsonp", "json", "application", "*/*", "ÿ",
        "text/plain; application/json", ";application/json",
    ]  # fmt: skip
    with nothing_stored(store):
        for content_type in types:
            assert_refused(post(participant.http, address, body, content_type), 415, 422, of=content_type)


def test_the_usual_media_types_of_json_are_accepted(app: Flask) -> None:
    for content_type in ("application/json; charset=utf-8", "Application/JSON", "application/json;"):
        http = app.test_client()
        body = json.dumps(right_body(http, "/api/session"))
        assert post(http, "/api/session", body, content_type).status_code == 201


@pytest.mark.parametrize("address", POSTS)
def test_an_unknown_field_is_refused(participant: Any, store: SqliteStore, address: str) -> None:
    body = right_body(participant.http, address)
    names = ("extra", "", "__proto__", "constructor", "session ", "\0", "é", "x" * 30_000, "correct", "participant")
    with nothing_stored(store):
        for name in names:
            assert_refused(participant.http.post(address, json=body | {name: 1}), 422, of=name)
        for name in names if address == "/api/responses" else ():
            answer = body["responses"][0] | {name: 1}
            assert_refused(participant.http.post(address, json=body | {"responses": [answer]}), 422, of=name)


@pytest.mark.parametrize("address", ["/api/session", "/api/responses"])
def test_a_field_that_is_missing_is_named(participant: Any, store: SqliteStore, address: str) -> None:
    body = right_body(participant.http, address)
    with nothing_stored(store):
        for name in body:
            refused = participant.http.post(address, json={key: value for key, value in body.items() if key != name})
            assert_refused(refused, 422, of=name)
            assert f"`{name}`" in refused.get_json()["error"]
        assert_refused(participant.http.post(address, json={}), 422)


ODD = [
    None, True, False, 0, 1, -1, 2**63, -(2**70), 0.5, 1e300, "", " ", "x", "\0", "é\0日本", "null", [], {}, [[]],
    [None], {"a": 1}, ["x"], "a" * 20_000, [1] * 2_000, {"$ne": None}, "' OR 1=1 --", "{{7*7}}", "../../etc/passwd",
]  # fmt: skip
RAW = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400, "1" + "0" * 6_000, "0." + "0" * 400 + "1",
       '"\\u0000"', "[" * 100 + "]" * 100, '{"a":' * 100 + "1" + "}" * 100, '"\\ud800"', "@"]  # fmt: skip
ANYTHING = [*map(json.dumps, ODD), *RAW]
TEXTS = [json.dumps(value) for value in ODD if isinstance(value, str)]
NO_NUMBER = [json.dumps(value) for value in ODD if not isinstance(value, int | float) and value is not None]
TOO_MUCH = ["NaN", "Infinity", "-Infinity", "1e999", "-1", "-0.1", "1e300", "1" + "0" * 400, "1" + "0" * 6_000]
WRONG_FIELDS = {
    "response_id": [*ANYTHING, json.dumps(f"{uuid.UUID(int=1)}\n"), f'"{"0" * 36}"', json.dumps("\u0661" * 36)],
    "trial_index": [*NO_NUMBER, *TOO_MUCH, "true", "null", '"0"', "0.0", "0.5", "26", str(2**31), str(2**63)],
    "response": [*ANYTHING, '"ABSORBED"', '"absorbed "', '"west-9"', '"west-0"', '"west-\u0661"', '["absorbed"]'],
    "rt_ms": [*NO_NUMBER, *TOO_MUCH, "true", '"1"', "86400001"],
    "fixation_ms": [*NO_NUMBER, *TOO_MUCH, "true", '"1"', "86400001"],
    "fixation_frames": [*NO_NUMBER, *TOO_MUCH, "true", '"1"', "0.5", "1000001"],
    "frames_dropped": [*NO_NUMBER, *TOO_MUCH, "true", '"1"', "0.5", "1000001"],
    "focus_lost": [*NO_NUMBER, *TOO_MUCH, "true", '"1"', "0.5", "1000001"],
    "shown_at": [
        *TEXTS, *RAW, "0", "1e9", "true", "[]", "{}", '"2026-11-21"', '"2026-11-21T10:00:00"', '"2026-13-01T10:00:00Z"',
        '"2026-02-30T10:00:00Z"', '"10:00:00Z"', '"2026-11-21T25:00:00Z"', '"2026-11-21T10:00:00+99:00"', '"now"',
        '"-0001-01-01T00:00:00Z"', '"10000-01-01T00:00:00Z"',
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", ["start_id", "consent_digest", "kind"])
def test_a_start_with_an_invalid_field_is_refused(newcomer: Any, store: SqliteStore, field: str) -> None:
    body = right_body(newcomer.http, "/api/session") | {field: "@@"}
    with nothing_stored(store):
        for value in ANYTHING:
            assert_refused(post(newcomer.http, "/api/session", with_raw(body, value)), 422, of=value[:50])


def test_responses_of_any_other_form_are_refused(participant: Any, store: SqliteStore) -> None:
    body = right_body(participant.http, "/api/responses")
    with nothing_stored(store):
        for wrong in ({"session": "@@"}, {"responses": "@@"}, {"responses": ["@@"]}):
            for value in ANYTHING:
                refused = post(participant.http, "/api/responses", with_raw(body | wrong, value))
                assert_refused(
                    refused, 409, 422, of=(wrong, value[:50])
                )  # 409: the value may be the name of another session


@pytest.mark.parametrize("field", WRONG_FIELDS)
def test_a_response_with_an_invalid_field_is_refused(participant: Any, store: SqliteStore, field: str) -> None:
    body = right_body(participant.http, "/api/responses")
    body["responses"][0] |= {field: "@@"}
    with nothing_stored(store):
        for value in WRONG_FIELDS[field]:
            assert_refused(post(participant.http, "/api/responses", with_raw(body, value)), 422, of=value[:50])


def test_a_refusal_of_a_long_request_is_short(participant: Any) -> None:
    body = right_body(participant.http, "/api/responses")
    long = "x" * 30_000
    for wrong in ({long: 1}, {"session": long}, {"responses": long}, {"responses": [long]}, {"responses": [{long: 1}]},
                  {"responses": [body["responses"][0] | {"response": long}]}):  # fmt: skip
        refused = participant.http.post("/api/responses", json=body | wrong)
        assert_refused(refused, 409, 422)
        assert len(refused.get_json()["error"]) <= 1_000, next(iter(wrong))[:20]


@pytest.mark.parametrize("shown_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999-14:00"])
def test_a_time_that_does_not_exist_is_refused_without_a_server_error(
    participant: Any, store: SqliteStore, shown_at: str
) -> None:
    """The time is valid in its time zone; in UTC it is before the year 1, or after the year 9999."""
    with nothing_stored(store):
        assert_refused(participant.answer(0, shown_at=shown_at), 422)


def test_a_request_contains_between_one_and_a_hundred_responses(participant: Any, store: SqliteStore) -> None:
    body = right_body(participant.http, "/api/responses")
    with nothing_stored(store):
        for n, status in ((0, 422), (101, 422), (1_000, 422)):
            many = body | {"responses": body["responses"] * n}
            assert_refused(participant.http.post("/api/responses", json=many), status, of=n)


@pytest.mark.parametrize("last", ["mine", "another's"])
def test_a_duplicate_field_counts_once_or_the_body_is_refused(
    participant: Any, newcomer: Any, store: SqliteStore, last: str
) -> None:
    newcomer.start()
    names = [newcomer.session["session"], participant.session["session"]]
    if last != "mine":
        names.reverse()
    responses = json.dumps(right_body(participant.http, "/api/responses")["responses"])
    before = everything(store)
    response = post(
        participant.http,
        "/api/responses",
        f'{{"session": "{names[0]}", "session": "{names[1]}", "responses": {responses}}}',
    )
    if response.status_code == 201:
        assert last == "mine"
        assert [row[0] for row in everything(store)["responses"]] == [participant.session["session"]]
    else:
        assert_refused(response, 409, 422)
        assert everything(store) == before


# Unexpected errors


@pytest.mark.parametrize("route", [route for route in ROUTES if route.uses_the_store], ids=lambda route: route.name)
def test_without_the_store_each_request_that_needs_it_gets_a_reason_and_a_retry_time(
    participant: Any, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, route: Route
) -> None:
    http = participant.http
    body = right_body(http, route.address)

    def away(*_args: object, **_kwargs: object) -> None:
        raise StoreUnavailable("disk I/O error at /secret/place: attempt to write")

    asked = "find_session find_plan start_session session_on require_slot why_full check progress"
    for name in asked.split():
        monkeypatch.setattr(store, name, away)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if route.method == "GET":
        response = http.get(route.address, headers=headers)
    else:
        response = http.post(route.address, json=body, headers=headers)
    assert_refused(response, 503)
    assert int(response.headers["Retry-After"]) >= 1
    assert "secret" not in response.text


def test_an_unexpected_error_is_one_sentence_without_details(
    participant: Any, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("at the line with the secret")

    monkeypatch.setattr(store, "find_session", fail)
    response = participant.http.get("/api/session")
    assert_refused(response, 500)
    assert "secret" not in response.text
    assert "Traceback" in caplog.text  # the log of the server has the error
