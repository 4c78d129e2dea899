"""Sign-in and sign-out of researchers, their log entries, and refused requests."""

import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from itsdangerous import TimestampSigner

from experiment.study.definition import Study
from server.app import create_app
from server.security.rate_limits import KEYS_TRIED_PER_MINUTE
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from tests.server.conftest import SECRETS
from tests.server.security.cross_site import ELSEWHERE, FROM_OUR_PAGE
from tests.server.stores import another, problems, rows, sign_in, verified

TOKEN = SECRETS.researcher_token
COOKIE = "equipoise_researcher_blackbox-predict"


@pytest.fixture
def served(small_study: Study, any_store: Store) -> Flask:
    return create_app(small_study, any_store, SECRETS, Settings())


@pytest.fixture
def researcher(app: Flask) -> FlaskClient:
    """The browser of a researcher who has signed in."""
    http = app.test_client()
    assert sign_in(http).status_code == 303
    return http


def cookie_of(http: FlaskClient) -> str:
    found = http.get_cookie(COOKIE, path="/researcher/")
    assert found is not None
    return found.value


def with_cookie(app: Flask, value: str) -> FlaskClient:
    http = app.test_client()
    http.set_cookie(COOKIE, value, path="/researcher/")
    return http


def noted(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Return what the logs say of the researcher, oldest first."""
    chosen = "event NOT IN ('registered', 'reserved', 'confirmed', 'released', 'withdrew')"
    found = rows(store, f"SELECT event, details FROM events WHERE {chosen} ORDER BY event_index")
    return [(event, json.loads(details)) for event, details in found]


# The page


def test_a_researcher_who_signs_in_gets_the_progress_page(app: Flask, participant: Any) -> None:
    http = app.test_client()
    entered = sign_in(http)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/researcher/")
    page = http.get("/researcher/")
    assert page.status_code == 200
    assert "People" in page.text
    assert "Where does the ray come out?" in page.text


def test_a_client_without_a_sign_in_gets_the_form_for_the_token(app: Flask, participant: Any) -> None:
    page = participant.http.get("/researcher/")
    assert page.status_code == 403
    assert "People" not in page.text
    (field,) = re.findall(r"<input[^>]*>", page.text)
    for part in ('type="password"', 'name="token"', 'id="token"', 'autocomplete="off"'):
        assert part in field
    assert '<label for="token">' in page.text
    assert '<form id="sign-in" method="post" action="/researcher/sign-in"' in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]


def test_no_address_accepts_the_token(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    """Browser histories and logs of proxies contain addresses."""
    http = app.test_client()
    for address in (f"/researcher/enter/{TOKEN}", f"/researcher/{TOKEN}", f"/researcher/sign-in/{TOKEN}"):
        assert http.get(address).status_code == 404
    assert http.get(f"/researcher/sign-in?token={TOKEN}").status_code == 405
    assert http.post(f"/researcher/sign-in?token={TOKEN}").status_code == 403
    assert http.get(f"/researcher/?token={TOKEN}").status_code == 403
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("given", ["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "ÿþ", "日本", "x" * 5_000])
def test_a_wrong_token_opens_nothing_and_is_not_shown(app: Flask, given: str) -> None:
    http = app.test_client()
    page = sign_in(http, given)
    assert page.status_code == 403
    assert 'role="alert"' in page.text
    assert page.mimetype == "text/html"
    assert page.headers.getlist("Set-Cookie") == []
    assert "value=" not in page.text
    assert http.get("/researcher/").status_code == 403


def test_a_token_with_spaces_and_a_line_break_is_accepted(app: Flask) -> None:
    assert sign_in(app.test_client(), f" {TOKEN}\n").status_code == 303


def test_the_script_that_signs_in_is_a_file_of_the_server(app: Flask) -> None:
    script = app.test_client().get("/researcher/sign-in.js")
    assert (script.status_code, script.mimetype) == (200, "text/javascript")
    for page in (app.test_client().get("/researcher/"), sign_in(app.test_client(), "wrong")):
        assert '<script src="/researcher/sign-in.js" defer></script>' in page.text


# The cookie


def test_only_a_cookie_of_this_server_and_of_today_opens_the_page(
    app: Flask, participant: Any, sample_study: Study, store: SqliteStore
) -> None:
    old, other_server = (
        app.test_client(),
        create_app(sample_study, store, Secrets("key", TOKEN), Settings()).test_client(),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda _self: int(time.time() - 13 * 3600))
        sign_in(old)
    sign_in(other_server)
    session = participant.http.get_cookie("equipoise_session_blackbox-predict")
    for cookie in ("", "x", TOKEN, session.value, cookie_of(old), cookie_of(other_server)):
        assert with_cookie(app, cookie).get("/researcher/").status_code == 403, cookie
    new = app.test_client()
    sign_in(new)
    assert with_cookie(app, cookie_of(new)).get("/researcher/").status_code == 200


def test_scripts_and_other_sites_cannot_use_the_researchers_cookie(app: Flask) -> None:
    cookie = sign_in(app.test_client()).headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/researcher/"):
        assert part in cookie
    assert TOKEN not in cookie


def test_a_new_token_makes_cookies_of_the_old_token_invalid(
    app: Flask, researcher: FlaskClient, sample_study: Study, store: SqliteStore
) -> None:
    renewed = create_app(sample_study, store, Secrets(SECRETS.signing_key, "another token"), Settings())
    assert with_cookie(renewed, cookie_of(researcher)).get("/researcher/").status_code == 403
    assert sign_in(renewed.test_client()).status_code == 403


# Signing out


def test_signing_out_makes_the_cookie_and_its_copies_invalid(served: Flask) -> None:
    http, other = served.test_client(), served.test_client()
    sign_in(http)
    sign_in(other)
    copy = cookie_of(http)
    assert with_cookie(served, copy).get("/researcher/").status_code == 200
    left = http.post("/researcher/sign-out")
    assert (left.status_code, left.headers["Location"]) == (303, "/researcher/")
    assert http.get_cookie(COOKIE, path="/researcher/") is None
    for browser in (http, with_cookie(served, copy)):
        assert browser.get("/researcher/").status_code == 403
    assert other.get("/researcher/").status_code == 200, "a colleague stays signed in"


def test_signing_out_at_one_server_signs_out_at_all_that_share_the_store(
    served: Flask, any_store: Store, small_study: Study
) -> None:
    store = another(any_store)
    second = create_app(small_study, store, SECRETS, Settings())
    http = served.test_client()
    sign_in(http)
    copy = cookie_of(http)
    assert with_cookie(second, copy).get("/researcher/").status_code == 200
    with_cookie(second, copy).post("/researcher/sign-out")
    assert http.get("/researcher/").status_code == 403
    store.close()


def test_a_cookie_from_before_a_backup_was_restored_is_invalid(
    served: Flask, any_store: Store, small_study: Study, tmp_path: Path
) -> None:
    """The restored store lacks the entry of the sign-in, or another entry has its number."""
    http = served.test_client()
    sign_in(http)
    store = SqliteStore(tmp_path / "backup" / "equipoise.db")
    restored = create_app(small_study, store, SECRETS, Settings())
    assert with_cookie(restored, cookie_of(http)).get("/researcher/").status_code == 403
    for _ in range(3):
        sign_in(restored.test_client())
    assert with_cookie(restored, cookie_of(http)).get("/researcher/").status_code == 403
    store.close()


def test_signing_out_twice_or_without_having_signed_in_does_no_harm(app: Flask, store: SqliteStore) -> None:
    http = app.test_client()
    before = noted(store)
    assert http.post("/researcher/sign-out").status_code == 303
    assert noted(store) == before
    assert http.get("/researcher/sign-out").status_code == 405


# Forms of other sites


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_form_of_another_site_causes_no_sign_in_or_sign_out(
    app: Flask, researcher: FlaskClient, headers: dict[str, str]
) -> None:
    reply = sign_in(app.test_client(), headers=headers)
    assert (reply.status_code, reply.headers.getlist("Set-Cookie")) == (403, [])
    assert researcher.post("/researcher/sign-out", headers=headers).status_code == 403
    assert researcher.get("/researcher/").status_code == 200


@pytest.mark.parametrize("headers", FROM_OUR_PAGE)
def test_the_servers_own_form_is_accepted_from_every_browser(app: Flask, headers: dict[str, str]) -> None:
    http = app.test_client()
    assert sign_in(http, headers=headers).status_code == 303
    assert http.post("/researcher/sign-out", headers=headers).status_code == 303


# Log entries


def test_sign_in_and_sign_out_are_logged_and_the_store_verifies(
    served: Flask, any_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    http = served.test_client()
    sign_in(http, "a-guess")
    sign_in(http)
    http.post("/researcher/sign-out")
    (refused, refusal), (came, sign_in_), (left, sign_out) = noted(any_store)
    assert (refused, came, left) == ("sign-in refused", "signed in", "signed out")
    assert refusal == {"number": 1}
    assert sign_in_ == sign_out
    assert problems(any_store) == []
    for message in ("sign-in refused", "signed in", "signed out"):
        assert message in caplog.text
    held = repr(rows(any_store, "SELECT * FROM events")) + caplog.text + repr([vars(one) for one in caplog.records])
    for secret in ("a-guess", TOKEN, "127.0.0.1"):
        assert secret not in held


def test_wrong_tokens_do_not_fill_the_log(app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        sign_in(app.test_client(), f"guess-{number}")
    assert noted(store) == [("sign-in refused", {"number": 1})]
    monotonic = time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: monotonic() + 3601)
    sign_in(app.test_client(), "guess-31")
    assert noted(store)[1:] == [("sign-in refused", {"number": 30})]


def test_wrong_tokens_that_are_not_logged_yet_are_logged_at_the_next_sign_in(app: Flask, store: SqliteStore) -> None:
    for number in range(30):
        sign_in(app.test_client(), f"guess-{number}")
    for _ in range(2):
        assert sign_in(app.test_client()).status_code == 303
    assert [(event, details.get("number")) for event, details in noted(store)] == [
        ("sign-in refused", 1), ("sign-in refused", 29), ("signed in", None), ("signed in", None),
    ]  # fmt: skip


def test_wrong_tokens_during_a_failure_of_the_store_are_logged_later(
    app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: object, **_details: object) -> None:
        raise StoreUnavailable("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(store, "note", away)
        for number in range(3):
            assert sign_in(app.test_client(), f"guess-{number}").status_code == 403
    assert sign_in(app.test_client()).status_code == 303
    assert noted(store)[0] == ("sign-in refused", {"number": 3})


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x"])
def test_a_body_that_is_not_a_form_does_not_count_as_a_wrong_token(
    app: Flask, store: SqliteStore, content_type: str
) -> None:
    http = app.test_client()
    for _ in range(KEYS_TRIED_PER_MINUTE + 1):
        reply = http.post("/researcher/sign-in", data=f"token={TOKEN}", content_type=content_type)
        assert reply.status_code == 415
    assert noted(store) == []
    assert sign_in(http, "wrong").status_code == 403


def test_a_sign_in_does_not_change_the_digest_of_the_data(served: Flask, any_store: Store) -> None:
    before = verified(any_store)
    http = served.test_client()
    sign_in(http)
    http.post("/researcher/sign-out")
    assert verified(any_store) == before
    assert before.problems == []


def test_verification_finds_a_changed_entry_about_the_researcher(app: Flask, store: SqliteStore) -> None:
    from tests.server.stores import execute_sql

    sign_in(app.test_client())
    execute_sql(store, "UPDATE events SET details = '{}' WHERE event = 'signed in'")
    assert any("the log is missing or changed" in problem for problem in problems(store))


def test_without_the_store_a_sign_in_fails_and_the_page_gives_the_reason(
    app: Flask, researcher: FlaskClient, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: object, **_details: object) -> None:
        raise StoreUnavailable("disk I/O error at /secret/place")

    for name in ("note", "events"):
        monkeypatch.setattr(store, name, away)
    http = app.test_client()
    replies = [sign_in(http), researcher.get("/researcher/"), researcher.post("/researcher/sign-out")]
    for reply in replies:
        assert reply.status_code == 503
        assert "The store cannot be used now" in reply.text
        assert "secret" not in reply.text
        assert int(reply.headers["Retry-After"]) >= 1
        assert reply.headers.getlist("Set-Cookie") == []
    assert sign_in(http, "wrong").status_code == 403
