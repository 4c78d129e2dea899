"""The page on which a code deletes the responses: it works without JavaScript, and guesses are limited."""

import html
import re
import time
import uuid
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from experiment.study.definition import Study
from experiment.texts import languages, texts_in
from server.app import create_app
from server.security.rate_limits import CODES_TRIED_PER_MINUTE
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from tests.server.conftest import SECRETS, Participant
from tests.server.security.cross_site import ELSEWHERE, FROM_OUR_PAGE
from tests.server.stores import problems, responses_of, rows, saying, version_of

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)


@pytest.fixture
def served(small_study: Study, any_store: Store) -> Flask:
    return create_app(small_study, any_store, SECRETS, NO_LIMITS)


@pytest.fixture
def unlimited(served: Flask, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """The application without the limit on guesses, which other tests check."""
    monkeypatch.setattr("server.security.rate_limits.RateLimits.count_wrong_code", lambda _self: None)
    return served


def completed_participant(app: Flask) -> tuple[Participant, str]:
    """Return a participant who has completed, and their withdrawal code."""
    person = Participant(app)
    person.start()
    person.answer_all()
    return person, person.complete().get_json()["withdrawal_code"]


def give(http: Any, code: str | None, address: str = "203.0.113.5") -> TestResponse:
    data = {} if code is None else {"code": code}
    reply: TestResponse = http.post("/withdraw", data=data, environ_overrides={"REMOTE_ADDR": address})
    return reply


def status_of(store: Store, person: Participant) -> str:
    ((status,),) = rows(store, "SELECT status FROM sessions WHERE session = ?", (person.session["session"],))
    return str(status)


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))

    def one(self, tag: str) -> dict[str, str | None]:
        (found,) = [attributes for name, attributes in self.found if name == tag]
        return found


# The form


def test_the_page_asks_for_the_code_and_explains_the_deletion(served: Flask, small_study: Study) -> None:
    page = served.test_client().get("/withdraw")
    assert page.status_code == 200
    assert page.mimetype == "text/html"
    elements = Elements(page.text)
    assert elements.one("form")["method"] == "post"
    field = elements.one("input")
    assert (field["name"], field["value"]) == ("code", "")
    assert ("label", {"for": field["id"]}) in elements.found
    assert small_study.words.say("delete_help") in page.text
    assert "Contact and your rights" in page.text
    assert "alert" not in page.text


def test_the_page_works_without_scripts_and_loads_nothing_from_other_sites(served: Flask) -> None:
    http = served.test_client()
    for page in (http.get("/withdraw"), give(http, "no such code")):
        elements = Elements(page.text).found
        assert not [tag for tag, _ in elements if tag in {"script", "iframe", "style", "object", "base"}]
        for _, attributes in elements:
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            for name in ("src", "href", "action"):
                assert (attributes.get(name) or "/").startswith(("/", "data:,", "#"))


def test_the_page_has_the_strict_headers_and_no_cookie_and_is_never_cached(served: Flask) -> None:
    _, code = completed_participant(served)
    http = served.test_client()
    for page in (http.get("/withdraw"), give(http, "no such code"), give(http, code)):
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "form-action 'self'" in policy and "frame-ancestors 'none'" in policy
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers.getlist("Set-Cookie") == []


@pytest.mark.parametrize("language", [*languages(), "fr"])
def test_the_page_is_in_the_studys_language(small_study: Study, store: SqliteStore, language: str) -> None:
    study = saying(version_of(small_study, language), language=language)
    app = create_app(study, store, SECRETS, NO_LIMITS)
    words = texts_in(language, {})
    http = app.test_client()
    _, code = completed_participant(app)
    for page, text in (
        (http.get("/withdraw"), "delete_help"),
        (give(http, "no such code"), "delete_unknown"),
        (give(http, code), "withdrawn"),
    ):
        root = Elements(page.text).one("html")
        assert (root["lang"], root["dir"]) == (language, "rtl" if language == "ar" else "ltr")
        assert words.say(text) in html.unescape(page.text)


def test_the_page_uses_the_studys_texts(small_study: Study, store: SqliteStore) -> None:
    study = saying(version_of(small_study, "own"), texts={"delete_help": "Give <b>us</b> the code & it is done."})
    page = create_app(study, store, SECRETS, NO_LIMITS).test_client().get("/withdraw").text
    assert "Give &lt;b&gt;us&lt;/b&gt; the code &amp; it is done." in page


# Deleting


@pytest.mark.parametrize(
    "typed",
    [
        lambda code: code,
        lambda code: code.lower(),
        lambda code: f"  {code} \n",
        " ".join,
        lambda code: f"{code[:5]} {code[5:]}",
        lambda code: f"{code[:5]}\u00a0{code[5:].lower()}\t",
        lambda code: f"\u3000{code}\u2003",
    ],
)
def test_a_code_in_any_typed_form_deletes_the_responses(
    served: Flask, any_store: Store, typed: Callable[[str], str]
) -> None:
    (person, code), (other, _) = completed_participant(served), completed_participant(served)
    page = give(served.test_client(), typed(code))
    assert page.status_code == 200
    assert "Your answers were deleted." in page.text
    assert not [tag for tag, _ in Elements(page.text).found if tag == "form"]
    assert responses_of(any_store, person.session["session"]) == []
    assert [status_of(any_store, one) for one in (person, other)] == ["withdrawn", "completed"]
    assert len(responses_of(any_store, other.session["session"])) == 3
    assert problems(any_store) == []


def test_a_repeated_code_gets_the_same_status_and_changes_nothing(served: Flask, any_store: Store) -> None:
    person, code = completed_participant(served)
    assert [give(served.test_client(), code).status_code for _ in range(3)] == [200] * 3
    assert status_of(any_store, person) == "withdrawn"
    assert problems(any_store) == []


def test_a_participant_who_withdrew_by_the_button_can_enter_the_code_too(served: Flask, any_store: Store) -> None:
    person, code = completed_participant(served)
    person.withdraw()
    assert give(person.http, code).status_code == 200
    assert problems(any_store) == []


def test_the_code_works_before_the_end_too_and_closes_the_session(served: Flask, any_store: Store) -> None:
    person = Participant(served)
    person.start()
    person.answer(0)
    ((code,),) = rows(any_store, "SELECT withdrawal_code FROM sessions")
    assert give(served.test_client(), code).status_code == 200
    assert person.answer(1).status_code == 409
    assert person.http.get("/api/session").get_json()["status"] == "withdrawn"
    assert responses_of(any_store, person.session["session"]) == []
    assert problems(any_store) == []


def test_the_participants_browser_gets_the_withdrawn_status(served: Flask) -> None:
    person, code = completed_participant(served)
    give(served.test_client(), code)
    session = person.http.get("/api/session").get_json()
    assert session["status"] == "withdrawn"
    assert "completion_code" not in session
    assert person.complete().status_code == 409


def test_a_code_of_another_study_version_is_accepted_but_a_code_of_another_study_is_not(
    served: Flask, small_study: Study, any_store: Store
) -> None:
    person, code = completed_participant(served)
    another_study = create_app(saying(small_study, study="another"), any_store, SECRETS, NO_LIMITS)
    assert give(another_study.test_client(), code).status_code == 404
    assert status_of(any_store, person) == "completed"
    newer = create_app(version_of(small_study, "2"), any_store, SECRETS, NO_LIMITS)
    assert give(newer.test_client(), code).status_code == 200
    assert status_of(any_store, person) == "withdrawn"


# Invalid codes


@pytest.mark.parametrize(
    "code",
    [
        None,
        "",
        " ",
        "0123456789",
        "%",
        "_" * 10,
        "' OR '1'='1",
        "null",
        "\x00",
        "ABC\x00DEF",
        "🙂" * 70,
        "ﬀ",
        "ı",
        "x" * 60_000,
    ],
)
def test_an_unknown_code_deletes_nothing_and_the_page_reports_it(
    served: Flask, any_store: Store, code: str | None
) -> None:
    person, _ = completed_participant(served)
    page = give(served.test_client(), code)
    assert page.status_code == 404
    assert page.mimetype == "text/html"
    assert "No answers belong to this code." in page.text
    elements = Elements(page.text)
    field = elements.one("input")
    assert field["aria-invalid"] == "true"
    assert ("p", {"id": field["aria-describedby"], "role": "alert", "class": "problem"}) in elements.found
    assert status_of(any_store, person) == "completed"
    assert len(responses_of(any_store, person.session["session"])) == 3


@given(code=st.text(max_size=60))
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_typed_code_is_shown_only_in_its_field(unlimited: Flask, code: str) -> None:
    page = give(unlimited.test_client(), code)
    assert page.status_code == 404, page.text
    plain = [tag for tag, _ in Elements(give(unlimited.test_client(), "").text).found]
    assert [tag for tag, _ in Elements(page.text).found] == plain
    # A browser takes every line end for "\n", and the parser may do so too.
    shown = re.sub(r"\r\n?", "\n", Elements(page.text).one("input")["value"] or "")
    assert shown == re.sub(r"\r\n?", "\n", code)


@pytest.mark.parametrize(
    "code",
    ['"><script>alert(1)</script>', "' autofocus onfocus='alert(1)", "</title><img src=x onerror=alert(1)>", "{{7*7}}"],
)
def test_html_in_a_code_stays_text(served: Flask, code: str) -> None:
    page = give(served.test_client(), code).text
    assert "<script>" not in page and "<img" not in page and "49" not in page
    assert Elements(page).one("input")["value"] == code
    assert "onfocus" not in Elements(page).one("input")


def test_the_code_is_neither_in_the_address_nor_in_the_log(served: Flask, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    person, code = completed_participant(served)
    http = served.test_client()
    assert http.get("/withdraw", query_string={"code": code}).status_code == 200
    assert person.http.get("/api/session").get_json()["status"] == "completed"
    give(http, code)
    assert code not in caplog.text + repr([vars(record) for record in caplog.records])
    assert code not in http.get("/withdraw", query_string={"code": code}).text


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x"])
def test_a_body_that_is_not_a_form_contains_no_code(served: Flask, any_store: Store, content_type: str) -> None:
    person, code = completed_participant(served)
    body = f'{{"code": "{code}"}}'
    http = served.test_client()
    for _ in range(CODES_TRIED_PER_MINUTE + 1):
        assert http.post("/withdraw", data=body, content_type=content_type).status_code == 415
    assert give(http, "WRONG", "127.0.0.1").status_code == 404, "none of them counts as a wrong code"
    assert status_of(any_store, person) == "completed"


def test_other_methods_are_refused(served: Flask) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        assert served.test_client().open("/withdraw", method=method).status_code == 405


# Guessing


def test_guesses_of_codes_are_limited_and_a_right_code_is_accepted(served: Flask, any_store: Store) -> None:
    person, code = completed_participant(served)
    http = served.test_client()
    for _ in range(CODES_TRIED_PER_MINUTE):
        assert give(http, uuid.uuid4().hex[:10]).status_code == 404
    for _ in range(3):
        stopped = give(http, uuid.uuid4().hex[:10])
        assert stopped.status_code == 429
        assert 1 <= int(stopped.headers["Retry-After"]) <= 60
    assert status_of(any_store, person) == "completed"
    assert http.get("/withdraw").status_code == 200
    assert give(http, code).status_code == 200, "other clients of the same address do not prevent a withdrawal"
    assert status_of(any_store, person) == "withdrawn"


def test_right_codes_and_retries_are_not_counted(served: Flask) -> None:
    _, code = completed_participant(served)
    http = served.test_client()
    for _ in range(2 * CODES_TRIED_PER_MINUTE):
        assert give(http, code).status_code == 200


def test_after_the_wait_a_limited_client_can_try_again(served: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    http = served.test_client()
    for _ in range(CODES_TRIED_PER_MINUTE):
        give(http, "wrong")
    wait_s = int(give(http, "wrong").headers["Retry-After"])
    monotonic = time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: monotonic() + wait_s)
    assert give(http, "wrong").status_code == 404


def test_a_form_of_another_site_deletes_nothing(served: Flask, any_store: Store) -> None:
    person, code = completed_participant(served)
    for headers in ELSEWHERE:
        reply = served.test_client().post("/withdraw", data={"code": code}, headers=headers)
        assert reply.status_code == 403, headers
    assert status_of(any_store, person) == "completed"
    for headers in FROM_OUR_PAGE:
        assert served.test_client().post("/withdraw", data={"code": code}, headers=headers).status_code == 200, headers


# Without the store


def test_without_the_store_no_deletion_is_reported(
    served: Flask, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    person, code = completed_participant(served)

    def away(*_args: object) -> None:
        raise StoreUnavailable("disk I/O error at /secret/place")

    with monkeypatch.context() as patch:
        patch.setattr(any_store, "withdraw_session", away)
        page = give(served.test_client(), code)
    assert page.status_code == 503
    assert "answers were deleted" not in page.text and "secret" not in page.text
    assert status_of(any_store, person) == "completed"
    assert give(served.test_client(), code).status_code == 200


def test_a_limited_or_failed_request_gets_a_page_and_not_json(
    served: Flask, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without JavaScript, no page reads JSON, and the text must not promise to send a response again."""
    _, code = completed_participant(served)
    http = served.test_client()

    def away(*_args: object) -> None:
        raise StoreUnavailable("no disk")

    with monkeypatch.context() as patch:
        patch.setattr(any_store, "withdraw_session", away)
        pages = [give(http, code)]
    for _ in range(CODES_TRIED_PER_MINUTE + 1):
        stopped = give(http, "wrong")
    for page in (*pages, stopped):
        assert page.status_code in {429, 503}
        assert "will be sent again" not in page.text
        assert page.mimetype == "text/html"
