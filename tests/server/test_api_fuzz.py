"""Random requests in random order cause no status 500, and change only the data of their own participant."""

import dataclasses
import json
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from hypothesis import HealthCheck, assume, example, given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from werkzeug.test import TestResponse, run_wsgi_app

from batteries.files import file_reading
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.demographics import DemographicQuestion
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore, Store
from tests.one_practice_trial import copy_with_one_practice_trial
from tests.server.stores import address, another, empty, make_small, problems, recruiting, rows, saying

SECRETS = Secrets("a signing key for tests", "researcher-token")
NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)
sentence_of = file_reading._sentence
POSTS = ("/api/session", "/api/responses", "/api/visit", "/api/demographics", "/api/complete", "/api/withdraw")
quick = settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

# JSON by its grammar, and three extensions: NaN and Infinity as Python writes them, and halves of surrogate pairs.
texts = st.text(max_size=20) | st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=3)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from([2**64, -(2**64), 10**400, 1e308])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def app(sample_study: Study, store: SqliteStore) -> Flask:
    """The application without rate limits, which would refuse most of the requests."""
    return create_app(sample_study, store, SECRETS, NO_LIMITS)


def assert_no_server_error(response: TestResponse) -> None:
    assert response.status_code < 500, response.text
    assert "Content-Security-Policy" in response.headers
    if response.status_code >= 400:
        assert set(json.loads(response.get_data())) == {"error"}


def rows_of(store: Store, someone: Any) -> list[tuple[Any, ...]]:
    """Return all that the store has of a participant's session."""
    return [
        row
        for table in ("sessions", "responses", "planned_trials", "visits")
        for row in rows(store, f"SELECT * FROM {table} WHERE session = ?", (someone.session["session"],))
    ]


@pytest.fixture
def other(newcomer: Any) -> Any:
    """Another participant with a session under way."""
    newcomer.start()
    newcomer.answer(0)
    newcomer.answer(1)
    return newcomer


@given(address=st.sampled_from(POSTS), body=values)
@quick
def test_no_json_makes_the_server_fail(participant: Any, address: str, body: Any) -> None:
    reply = participant.http.post(address, data=json.dumps(body), content_type="application/json")
    assert_no_server_error(reply)


WORST = {
    "unknown fields": json.dumps({f"x{number}": 1 for number in range(4_500)}),
    "empty objects": "{" + ",".join(f'"x{number}":{{}}' for number in range(4_000)) + "}",
    "answers of unknown fields": json.dumps(
        {"session": "x", "responses": [{f"x{number}": 1} for number in range(3_500)]}, separators=(",", ":")
    ),
    "empty answers": json.dumps({"session": "x", "responses": [{}] * 16_000}, separators=(",", ":")),
    "one long name": json.dumps({"x" * 64_000: 1}),
    "names of NUL": json.dumps({"\0" * 9_000: "\0"}),
    "one name again and again": "{" + ",".join(['"start_id":"x"'] * 4_000) + "}",
    "nested lists": "[" * 64_000,
    "nested lists in a field": '{"start_id": ' + "[" * 150 + "]" * 150 + "}",
    "nested answers": '{"session": "x", "responses": ' + "[" * 64_000 + "}",
    "a nested answer": '{"session": "x", "responses": [{"response": ' + "[" * 150 + "]" * 150 + "}]}",
    "nested mappings": '{"start_id":' * 5_000,
    "nested self-descriptions": '{"session": "x", "answers": ' + '{"a":' * 150 + "1" + "}" * 152,
    "a number of 60,000 digits": '{"start_id": ' + "9" * 60_000 + "}",
    "a number of 4,000 digits": '{"start_id": ' + "9" * 4_000 + "}",
    "an index of 4,000 digits": '{"session": "x", "responses": [{"trial_index": ' + "9" * 4_000 + "}]}",
    "a float beyond all floats": '{"session": "x", "responses": [{"rt_ms": 1e999, "trial_index": -1e999}]}',
    "half a surrogate pair": '{"start_id": "\\ud800", "\\udfff": "x"}',
    "a long text": json.dumps({"start_id": "x" * 64_000}),
    "a list of texts": json.dumps({"start_id": ["x"] * 12_000}),
    "bytes that are no UTF-8": b"\xff" * 64_000,
    "only NUL": b"\0" * 64_000,
}  # fmt: skip


@pytest.mark.parametrize("address", [*POSTS, "/api/lab/session", "/withdraw"])
@pytest.mark.parametrize("worst", WORST)
def test_no_body_of_64_kb_makes_the_server_fail_or_say_more_than_a_few_sentences(
    participant: Any, monkeypatch: pytest.MonkeyPatch, address: str, worst: str
) -> None:
    described = []
    monkeypatch.setattr(file_reading, "_sentence", lambda *mistake: described.append(1) or sentence_of(*mistake))
    assert len(WORST[worst]) <= 64 * 1024
    reply = participant.http.post(
        address, data=WORST[worst], content_type="application/json",
        headers={"Authorization": f"Bearer {SECRETS.researcher_token}"},
    )  # fmt: skip
    assert len(described) <= file_reading.MOST_SENTENCES
    assert_no_server_error(reply)
    assert reply.status_code == (415 if address == "/withdraw" else 422), reply.text  # which accepts forms only
    assert len(reply.get_data()) < 1_000


@given(address=st.sampled_from(POSTS), body=st.binary(max_size=200), content_type=st.text(max_size=30))
@quick
def test_no_bytes_of_any_type_make_the_server_fail(
    participant: Any, address: str, body: bytes, content_type: str
) -> None:
    for media_type in ("application/json", content_type.encode("latin-1", "replace").decode("latin-1")):
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": address, "wsgi.input": BytesIO(body), "CONTENT_TYPE": media_type,
            "CONTENT_LENGTH": str(len(body)),
        }  # fmt: skip
        assert_no_server_error(participant.http.open(environ_overrides=environ))


def steps_to(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value inside a JSON value, from the outermost value inwards."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in inner:
        yield from steps_to(child, (*path, step))


def mutated(data: st.DataObject, value: Any) -> Any:
    """Make one change in a valid body: another value, or an added, removed, moved or duplicated field."""
    path = data.draw(st.sampled_from(list(steps_to(value))), label="where")
    changed = json.loads(json.dumps(value))
    if not path:
        return data.draw(values)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    match data.draw(st.sampled_from(["set", "delete", "double", "rename", "wrap"]), label="how"):
        case "set":
            parent[path[-1]] = data.draw(values)
        case "delete":
            del parent[path[-1]]
        case "double" if isinstance(parent, list):
            parent += parent
        case "rename" if isinstance(parent, dict):
            parent[data.draw(texts)] = parent.pop(path[-1])
        case _:
            parent[path[-1]] = [parent[path[-1]]]
    return changed


@given(data=st.data())
@quick
def test_a_valid_body_with_one_change_is_accepted_or_refused_and_affects_no_other_participant(
    app: Flask, other: Any, store: SqliteStore, data: st.DataObject
) -> None:
    http = app.test_client()
    session = http.post("/api/session", json=right_start(http)).get_json()["session"]
    before = rows_of(store, other)
    answers = [
        {
            "response_id": str(uuid.uuid4()), "trial_index": index, "response": "absorbed", "rt_ms": 1234.5,
            "fixation_ms": 200.1, "fixation_frames": 12, "shown_at": "2026-11-21T10:00:00.123Z", "frames_dropped": 0,
            "focus_lost": 0,
        }
        for index in range(data.draw(st.integers(1, 3)))
    ]  # fmt: skip
    body = mutated(data, {"session": session, "responses": answers})
    reply = http.post("/api/responses", data=json.dumps(body), content_type="application/json")
    assert_no_server_error(reply)
    stored = rows(store, "SELECT trial_index FROM responses WHERE session = ? ORDER BY 1", (session,))
    if reply.status_code >= 400:
        assert stored == [], "a refused request stored a response"
    else:
        assert stored
        assert stored == [(index,) for index in range(len(stored))]
        assert len(stored) == len({one["response_id"] for one in reply.get_json()["responses"]})
    assert rows_of(store, other) == before


def right_start(http: Any) -> dict[str, Any]:
    digest = http.get("/api/study").get_json()["consent_digest"]
    return {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}


@given(data=st.data())
@quick
def test_a_valid_start_with_one_change_is_accepted_or_refused_and_affects_no_other_participant(
    app: Flask, other: Any, store: SqliteStore, data: st.DataObject
) -> None:
    before = rows_of(store, other)
    http = app.test_client()
    n_before = len(rows(store, "SELECT session FROM sessions"))
    body = json.dumps(mutated(data, right_start(http)))
    reply = http.post("/api/session", data=body, content_type="application/json")
    assert_no_server_error(reply)
    n_after = len(rows(store, "SELECT session FROM sessions"))
    assert n_after == n_before + (reply.status_code == 201)
    assert rows_of(store, other) == before


latin_1 = st.text(st.characters(max_codepoint=255), max_size=40)  # the text that a server makes of a request's bytes
# A query has UTF-8 or percent signs only, because the HTTP layer refuses all other queries.
queries = st.text(max_size=40).map(lambda text: text.encode("utf-8", "ignore").decode("latin-1"))
queries |= st.binary(max_size=20).map(lambda raw: f"PROLIFIC_PID={quote(raw)}&{quote(raw)}=%")
header_texts = latin_1.filter(lambda text: "\r" not in text and "\n" not in text)
paths = st.sampled_from(
    ["/", "/static/x", "/static/equipoise.js", "/api/study", "/api/session", "/api/responses", "/api/complete",
     "/api/withdraw", "/api/visit", "/api/demographics", "/withdraw", "/researcher", "/researcher/",
     "/researcher/enter/x", "/researcher/style.css", "/healthz",
     "/readyz", "/metrics"]
)  # fmt: skip
PAGES = frozenset({"/withdraw", "/researcher/"})
"""Addresses that people open in a browser: the page shows the reason of a refusal."""
HEADERS = (
    "HTTP_HOST", "HTTP_COOKIE", "HTTP_AUTHORIZATION", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_RANGE",
    "HTTP_X_FORWARDED_HOST", "HTTP_ACCEPT", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_RANGE",
    "HTTP_TRANSFER_ENCODING", "HTTP_CONTENT_LENGTH", "CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_EXPECT", "HTTP_ORIGIN",
    "HTTP_X_HTTP_METHOD_OVERRIDE", "REMOTE_ADDR", "HTTP_FORWARDED", "HTTP_ACCEPT_ENCODING", "HTTP_X",
)  # fmt: skip


@pytest.fixture
def app_of(sample_study: Study, store: SqliteStore) -> Callable[[int, str], Flask]:
    """Return the application for a number of proxies and a kind of entry; each application is made once."""

    @cache
    def make(proxies: int, entry: str) -> Flask:
        unlimited = NO_LIMITS.model_copy(update={"proxies": proxies})
        return create_app(recruiting(sample_study, entry=entry), store, SECRETS, unlimited)

    return make


@given(
    method=st.sampled_from(["GET", "GET", "POST", "HEAD", "OPTIONS", "DELETE", "TRACE", "X", "get"]),
    path=paths | latin_1.map(lambda text: f"/{text}") | st.builds(lambda one, two: f"{one}/{two}", paths, latin_1),
    query=queries | st.sampled_from(["PROLIFIC_PID=%ff", "PROLIFIC_PID=%00", "token=a.b", "token=%zz", "&&=&;", "%"]),
    headers=st.dictionaries(st.sampled_from(HEADERS), header_texts, max_size=4),
    proxies=st.sampled_from([0, 1, 2]),
    entry=st.sampled_from(["open", "panel", "link"]),
)
@example("GET", "/api/session", "", {"HTTP_COOKIE": "city=Z\xfc"}, 0, "open")  # a cookie that is not UTF-8
@settings(quick, max_examples=400)
def test_no_address_query_cookie_or_header_makes_the_server_fail(
    app_of: Callable[[int, str], Flask],
    store: SqliteStore,
    method: str,
    path: str,
    query: str,
    headers: dict[str, str],
    proxies: int,
    entry: str,
) -> None:
    app = app_of(proxies, entry)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(b"{}"), "wsgi.errors": BytesIO(), "wsgi.version": (1, 0), "wsgi.multithread": True,
        "wsgi.multiprocess": False, "wsgi.run_once": False, **headers,
    }  # fmt: skip
    body, status, sent = run_wsgi_app(app, environ, buffered=True)
    text = b"".join(body)
    code = int(status.split()[0])
    assert code < 500, text
    assert "Content-Security-Policy" in sent
    if code >= 400 and method != "HEAD" and path not in PAGES:
        assert set(json.loads(text)) == {"error"}
    assert not any(re.search(r"[\r\n\0]", value) for value in sent.values())
    assert rows(store, "SELECT session FROM sessions") == []


@given(value=header_texts, is_signed_part=st.booleans())
@quick
def test_no_forged_cookie_is_accepted_as_a_session(participant: Any, value: str, is_signed_part: bool) -> None:
    cookie = participant.http.get_cookie("equipoise_session_blackbox-predict").value
    text = cookie[: len(value)] + value if is_signed_part else value
    for name in ("equipoise_session_blackbox-predict", "equipoise_entry_blackbox-predict", value):
        reply = participant.http.application.test_client().get(
            "/api/session", environ_overrides={"HTTP_COOKIE": f"{name}={text}"}
        )
        assert reply.status_code == 401


# Several simultaneous participants


@dataclass
class Browser:
    """A participant's browser, with the data that it has."""

    http: Any
    panel_id: str
    has_session: bool = False
    """True if its cookie is the present cookie of the session."""
    start_id: str = ""
    """The id of the last start, for a retry."""
    view: dict[str, Any] = field(default_factory=dict)
    """The session in the last reply to this browser."""


@dataclass
class Known:
    """The data of a participant that the store must have."""

    session: str
    status: str = "active"
    answers: list[dict[str, Any]] = field(default_factory=list)
    n_trials: int = 0
    visit_ids: list[str] = field(default_factory=list)
    demographics: dict[str, Any] | None = None
    """The demographic answers."""


class ManyPeople(RuleBasedStateMachine):
    """Participants who begin, respond, resume in other browsers, withdraw, and send invalid requests, in any order.

    The machine records the expected data of each participant. After every step the store must have the expected data of
    all participants. So no step of one participant changes data of another participant.
    """

    study: Study
    new_store: Callable[[], Store]

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).new_store()
        self.app = create_app(type(self).study, self.store, SECRETS, NO_LIMITS)
        self.digest = self.app.test_client().get("/api/study").get_json()["consent_digest"]
        self.known: dict[str, Known] = {}
        self.browsers: list[Browser] = []

    def teardown(self) -> None:
        assert problems(self.store) == []
        self.store.close()

    def check(self, reply: TestResponse, *statuses: int) -> dict[str, Any]:
        assert reply.status_code in statuses, (reply.status_code, reply.text)
        assert_no_server_error(reply)
        body: dict[str, Any] = reply.get_json()
        return body

    def any_browser(self, data: st.DataObject) -> Browser:
        """Draw a browser, mostly a browser with a session."""
        inside = [browser for browser in self.browsers if browser.has_session]
        return data.draw(st.sampled_from([*inside, *inside, *inside, *self.browsers]), label="browser")

    def browser_inside(self, data: st.DataObject, status: str = "") -> tuple[Browser, Known]:
        """Draw a browser with a session, perhaps of a given status; skip the step if there is no such browser."""
        inside = [browser for browser in self.browsers if browser.has_session]
        inside = [one for one in inside if status in {"", self.known[one.panel_id].status}]
        assume(inside)
        browser = data.draw(st.sampled_from(inside), label="browser")
        return browser, self.known[browser.panel_id]

    def send(self, browser: Browser, answers: list[dict[str, Any]], session: str | None = None) -> TestResponse:
        body = {"session": session or browser.view.get("session", "none"), "responses": answers}
        reply: TestResponse = browser.http.post("/api/responses", json=body)
        return reply

    def new_answer(self, trial_index: int) -> dict[str, Any]:
        return {"response_id": str(uuid.uuid4()), "trial_index": trial_index, "response": "absorbed", "rt_ms": 900}

    @initialize()
    def two_participants_have_begun_and_a_third_has_opened_the_page(self) -> None:
        for number in range(3):
            self.open_browser(f"person-{number}")
        for browser in self.browsers[:2]:
            self.start(browser, str(uuid.uuid4()))

    def open_browser(self, panel_id: str) -> None:
        browser = Browser(self.app.test_client(), panel_id)
        entered = browser.http.get(f"/?PROLIFIC_PID={quote(panel_id)}&STUDY_ID=s&SESSION_ID={quote(panel_id)}")
        assert entered.status_code == 303
        self.browsers.append(browser)

    @rule(data=st.data())
    def come_in_another_browser(self, data: st.DataObject) -> None:
        self.open_browser(self.any_browser(data).panel_id)

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.start(data.draw(st.sampled_from(self.browsers), label="browser"), str(uuid.uuid4()))

    @rule(data=st.data())
    def retry_a_start(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        if browser.start_id:
            self.start(browser, browser.start_id)

    def start(self, browser: Browser, start_id: str) -> None:
        known = self.known.get(browser.panel_id)
        browser.start_id = start_id
        start = {"start_id": start_id, "consent_digest": self.digest, "kind": "human"}
        reply = browser.http.post("/api/session", json=start)
        if known is not None and known.status == "withdrawn":
            self.check(reply, 409)
            return
        is_under_way = known is not None and known.status == "active" and browser.has_session
        session = self.check(reply, 200 if is_under_way else 201)
        if known is None:
            assert session["next_trial_index"] == 0
            assert session["session"] not in {one.session for one in self.known.values()}
            known = self.known[browser.panel_id] = Known(session["session"], n_trials=len(session["trials"]))
        assert session["session"] == known.session, "one person, one session"
        assert (session["status"], session["next_trial_index"]) == (known.status, len(known.answers))
        if known.status == "active" and start_id not in known.visit_ids:
            known.visit_ids.append(start_id)
        assert session["visit"] == len(known.visit_ids)
        for other in self.browsers:  # this browser resumes the session, and the participant's other browsers cannot
            if other.panel_id == browser.panel_id:
                other.has_session = other is browser
        browser.view = session

    @rule(data=st.data(), n=st.integers(1, 2))
    def respond_to_the_next_trial(self, data: st.DataObject, n: int) -> None:
        browser, known = self.browser_inside(data, "active")
        n = min(n, known.n_trials - len(known.answers))
        assume(n)
        new = [self.new_answer(len(known.answers) + number) for number in range(n)]
        stored = self.check(self.send(browser, new), 201)
        assert [one["response_id"] for one in stored["responses"]] == [one["response_id"] for one in new]
        known.answers += new

    @rule(data=st.data())
    def respond_to_the_end_and_complete(self, data: st.DataObject) -> None:
        browser, known = self.browser_inside(data, "active")
        new = [self.new_answer(index) for index in range(len(known.answers), known.n_trials)]
        if new:
            self.check(self.send(browser, new), 201)
            known.answers += new
        assert self.check(browser.http.post("/api/complete", json={}), 200)["completion_code"]
        known.status = "completed"

    @rule(data=st.data())
    def respond_after_the_end(self, data: st.DataObject) -> None:
        browser, known = self.browser_inside(data)
        if known.status == "active":
            self.check(self.send(browser, [self.new_answer(index) for index in range(known.n_trials + 1)]), 409, 422)
        else:
            self.check(self.send(browser, [self.new_answer(min(len(known.answers), known.n_trials - 1))]), 409)

    @rule(data=st.data())
    def respond_in_a_browser_that_lost_its_session(self, data: st.DataObject) -> None:
        outside = [browser for browser in self.browsers if not browser.has_session]
        assume(outside)
        browser = data.draw(st.sampled_from(outside), label="browser")
        known = self.known.get(browser.panel_id)
        self.check(self.send(browser, [self.new_answer(len(known.answers) if known else 0)]), 401, 422)

    @rule(data=st.data(), ahead=st.integers(1, 3))
    def respond_out_of_order(self, data: st.DataObject, ahead: int) -> None:
        browser, known = self.browser_inside(data)
        self.check(self.send(browser, [self.new_answer(len(known.answers) + ahead)]), 409, 422)

    @rule(data=st.data())
    def retry_responses(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        known = self.known.get(browser.panel_id)
        if known is None or not known.answers:
            return
        first = data.draw(st.integers(0, len(known.answers) - 1))
        self.check(self.send(browser, known.answers[first:]), 200 if browser.has_session else 401)

    @rule(data=st.data())
    def change_a_stored_response(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        known = self.known.get(browser.panel_id)
        if known is None or not known.answers:
            return
        earlier = data.draw(st.sampled_from(known.answers))
        changes = [{"response": "reflected"}, {"response_id": str(uuid.uuid4())}]
        changed = earlier | data.draw(st.sampled_from(changes), label="change")
        self.check(self.send(browser, [changed]), 409 if browser.has_session else 401)

    @rule(data=st.data())
    def send_a_batch_with_one_that_does_not_fit(self, data: st.DataObject) -> None:
        browser, known = self.browser_inside(data)
        first = len(known.answers)
        batch = [*known.answers[-1:], self.new_answer(first), self.new_answer(first + 1)]
        spoilt = data.draw(st.integers(0, len(batch) - 1), label="which")
        wrong = [{"response": "up"}, {"trial_index": first + 7}, {"response_id": "x"}, {"rt_ms": -1}, {"extra": 1}]
        batch[spoilt] = batch[spoilt] | data.draw(st.sampled_from(wrong), label="what")
        self.check(self.send(browser, batch), 409, 422)

    @rule(data=st.data())
    def send_a_request_whose_last_response_is_too_early(self, data: st.DataObject) -> None:
        browser, known = self.browser_inside(data, "active")
        first = len(known.answers)
        assume(first + 2 < known.n_trials)
        self.check(self.send(browser, [self.new_answer(first), self.new_answer(first + 2)]), 409)

    @rule(data=st.data())
    def send_one_response_twice_in_a_request(self, data: st.DataObject) -> None:
        browser, known = self.browser_inside(data, "active")
        assume(len(known.answers) < known.n_trials)
        new = self.new_answer(len(known.answers))
        self.check(self.send(browser, [new, new]), 201)
        known.answers.append(new)

    @rule(data=st.data())
    def respond_in_another_participants_session(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        others = [known for panel_id, known in self.known.items() if panel_id != browser.panel_id]
        theirs = data.draw(st.sampled_from(others), label="other participant")
        reply = self.send(browser, [self.new_answer(len(theirs.answers))], session=theirs.session)
        self.check(reply, *((409, 422) if browser.has_session else (401, 409, 422)))

    @rule(data=st.data())
    def reload(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        session = self.check(browser.http.get("/api/session"), 200 if browser.has_session else 401)
        if browser.has_session:
            known = self.known[browser.panel_id]
            assert (session["session"], session["status"]) == (known.session, known.status)
            assert session["next_trial_index"] == len(known.answers)
            assert ("completion_code" in session) == (known.status == "completed")

    @rule(data=st.data(), is_new=st.booleans())
    def open_the_page_again(self, data: st.DataObject, is_new: bool) -> None:
        browser = self.any_browser(data)
        known = self.known.get(browser.panel_id)
        earlier = known.visit_ids[-1:] if known else []
        visit_id = str(uuid.uuid4()) if is_new or not earlier else earlier[0]
        reply = browser.http.post("/api/visit", json={"visit_id": visit_id})
        session = self.check(reply, 200 if browser.has_session else 401)
        if known is None or not browser.has_session:
            return
        if known.status == "active" and visit_id not in known.visit_ids:
            known.visit_ids.append(visit_id)
        assert (session["session"], session["status"]) == (known.session, known.status)
        assert (session["visit"], session["next_trial_index"]) == (len(known.visit_ids), len(known.answers))

    @rule(data=st.data(), age=st.none() | st.integers(18, 99), is_for_another=st.booleans())
    def send_demographic_answers(self, data: st.DataObject, age: int | None, is_for_another: bool) -> None:
        browser = self.any_browser(data)
        known = self.known.get(browser.panel_id)
        session = "another" if is_for_another or known is None else known.session
        reply = browser.http.post("/api/demographics", json={"session": session, "answers": {"age": age}})
        if not browser.has_session or known is None:
            self.check(reply, 401)
        elif is_for_another:
            self.check(reply, 409)
        else:
            self.check(reply, 200)
            if known.status == "active" and known.demographics is None:
                known.demographics = {"age": age}

    @rule(
        data=st.data(), demographics=st.sampled_from([{"age": 17}, {"age": "30"}, {"age": True}, {"name": "Anna"}, []])
    )
    def send_invalid_demographic_answers(self, data: st.DataObject, demographics: Any) -> None:
        browser, known = self.browser_inside(data)
        body = {"session": known.session, "answers": demographics}
        self.check(browser.http.post("/api/demographics", json=body), 422)

    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        reply = browser.http.post("/api/complete", json={})
        known = self.known.get(browser.panel_id)
        if known is None or not browser.has_session:
            self.check(reply, 401)
        elif known.status == "withdrawn" or len(known.answers) < known.n_trials:
            self.check(reply, 409)
        else:
            assert self.check(reply, 200)["completion_code"]
            known.status = "completed"

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        self.check(browser.http.post("/api/withdraw", json={}), 200 if browser.has_session else 401)
        if browser.has_session:
            known = self.known[browser.panel_id]
            known.status, known.answers, known.demographics = "withdrawn", [], None

    @rule(data=st.data(), address=st.sampled_from(POSTS[:2]), body=values)
    def send_nonsense(self, data: st.DataObject, address: str, body: Any) -> None:
        browser = self.any_browser(data)
        reply = browser.http.post(address, data=json.dumps(body), content_type="application/json")
        self.check(reply, 401, 422)

    @rule(data=st.data())
    def forget_the_cookie(self, data: st.DataObject) -> None:
        browser = self.any_browser(data)
        browser.http.delete_cookie("equipoise_session_blackbox-predict")
        browser.has_session = False
        assert browser.http.get("/api/session").status_code == 401

    @invariant()
    def all_responses_are_stored_as_sent_and_nothing_else(self) -> None:
        stored: dict[str, list[tuple[Any, ...]]] = {one.session: [] for one in self.known.values()}
        with self.store.snapshot() as db:
            responses = db.execute(
                "SELECT session, trial_index, response_id, response FROM responses ORDER BY 1, 2"
            ).fetchall()
            sessions = db.execute("SELECT session, status, demographics FROM sessions").fetchall()
            visits = db.execute("SELECT session, visit_id FROM visits ORDER BY session, visit").fetchall()
        for session, *answer in responses:
            stored[session].append(tuple(answer))
        for panel_id, known in self.known.items():
            note(f"{panel_id}: {known.status}, {len(known.answers)} answers")
            assert stored[known.session] == [
                (one["trial_index"], one["response_id"], json.dumps(one["response"])) for one in known.answers
            ]
        for session, _, demographics in sessions:
            (known,) = [one for one in self.known.values() if one.session == session]
            assert (json.loads(demographics)["answers"] if demographics else None) == known.demographics
        for known in self.known.values():
            assert [visit_id for session, visit_id in visits if session == known.session] == known.visit_ids
        assert {session: status for session, status, _ in sessions} == {
            one.session: one.status for one in self.known.values()
        }


def run_machine(study: Study, new_store: Callable[[], Store], max_examples: int, steps: int) -> None:
    machine = type("ManyPeopleHere", (ManyPeople,), {"study": study, "new_store": staticmethod(new_store)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=max_examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.fixture(scope="module")
def panel_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study for participants of a panel, with three trials per session and a demographic question."""
    small = make_small(load_study(copy_with_one_practice_trial(tmp_path_factory.mktemp("panel") / "study")))
    timeline = small.definition.timeline.model_copy(update={"demographics": "about-you.yaml"})
    asking = dataclasses.replace(
        saying(small, timeline=timeline),
        texts=dict(small.texts) | {"about-you.yaml": "questions: ..."},
        demographics=(DemographicQuestion(name="age", ask="How old are you?", answer="number", low=18),),
    )
    return recruiting(asking, entry="panel", panel_id_pattern=".+")


def test_random_requests_of_several_participants_keep_their_responses_separate(
    panel_study: Study, tmp_path: Path, empty_file: Path
) -> None:
    def new_store() -> Store:
        return SqliteStore(Path(shutil.copy(empty_file, Path(tempfile.mkdtemp(dir=tmp_path)) / "equipoise.db")))

    run_machine(panel_study, new_store, max_examples=40, steps=40)


def test_random_requests_of_several_participants_have_the_same_result_on_postgresql(
    panel_study: Study, postgres_store: Store
) -> None:
    def new_store() -> Store:
        empty(address(postgres_store))
        return another(postgres_store)

    run_machine(panel_study, new_store, max_examples=6, steps=40)
