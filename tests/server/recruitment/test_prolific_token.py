"""Prolific's secured external URL: only a recent token that Prolific signed for this study admits a participant."""

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from flask import Flask

from batteries.errors import InputError
from experiment.study.definition import Study
from server.app import create_app
from server.recruitment.prolific_token import LEEWAY_S, LIFE_S
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import PANEL_ID, SUBMISSION, Visitor, from_panel, pid, refused
from tests.server.recruitment.prolific_keys import IDS, KEY, OTHER_KEY, STUDY_URL, claims, jwk, token, write_keys
from tests.server.stores import held_by, recruiting, rows

AppOf = Callable[..., Flask]
FROM_PROLIFIC = "open this study from its page on Prolific"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write_keys(tmp_path / "prolific-keys.json")


@pytest.fixture
def secured(small_study: Study, store: SqliteStore, keys: Path) -> Flask:
    """The small study, for people whom Prolific sends by a secured external URL."""
    study = recruiting(small_study, entry="panel", prolific_secured_url=STUDY_URL)
    return create_app(study, store, SECRETS, Settings(prolific_keys=str(keys)))


def coming(signed: str, panel_id: str = PANEL_ID, **more: str) -> str:
    """Return the address of Prolific's link for a participant."""
    return from_panel(panel_id, **({"STUDY_ID": "study-1", "SESSION_ID": SUBMISSION} | more), prolific_token=signed)


def test_a_token_of_prolific_begins_a_session_and_is_removed_from_the_address(
    secured: Flask, store: SqliteStore
) -> None:
    signed = token()
    visitor = Visitor(secured, coming(signed))
    assert (visitor.came_in.status_code, visitor.came_in.headers["Location"]) == (303, "/")
    assert visitor.study()["notice"] is None
    assert visitor.start().status_code == 201
    ((external_id, parameters),) = rows(store, "SELECT external_id, parameters FROM identities")
    assert external_id == PANEL_ID
    assert json.loads(parameters) == {"STUDY_ID": "study-1", "SESSION_ID": SUBMISSION}
    assert signed not in repr(held_by(store))
    assert visitor.complete().status_code == 200


def test_without_ids_in_the_address_the_signed_ids_are_used(secured: Flask, store: SqliteStore) -> None:
    assert Visitor(secured, f"/?prolific_token={token()}").start().status_code == 201
    ((external_id, parameters),) = rows(store, "SELECT external_id, parameters FROM identities")
    assert (external_id, json.loads(parameters)["SESSION_ID"]) == (PANEL_ID, SUBMISSION)


@pytest.mark.parametrize(
    "audience",
    [STUDY_URL, "study.example.org", "https://study.example.org", "https://STUDY.example.org:443/?PROLIFIC_PID=x",
     ["https://other.example.org", STUDY_URL]],
)  # fmt: skip
def test_the_audience_is_the_studys_domain_in_any_form(secured: Flask, audience: Any) -> None:
    assert Visitor(secured, coming(token(aud=audience))).start().status_code == 201


def encoded(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def unsigned(algorithm: str) -> str:
    return f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': 'k1'})}.{encoded(claims())}."


def signed_with_the_public_key(form: str) -> str:
    """Return a token that is valid if the public key is used as the secret of HS256."""
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secret = public if form == "PEM" else base64.urlsafe_b64decode(jwk()["n"] + "==")
    content = f"{encoded({'alg': 'HS256', 'typ': 'JWT', 'kid': 'k1'})}.{encoded(claims())}"
    signature = hmac.new(secret, content.encode(), hashlib.sha256).digest()
    return f"{content}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def tampered(**changes: Any) -> str:
    header, _, signature = token().split(".")
    return f"{header}.{encoded(claims(**changes))}.{signature}"


NOW = int(time.time())
FORGED: dict[str, Callable[[], str]] = {
    "nothing": lambda: "",
    "no token": lambda: "x.y.z",
    "not JSON": lambda: "e30.e30.e30",
    "far too long": lambda: token(more="x" * 9_000),
    "expired": lambda: token(iat=NOW - 600, exp=NOW - 480),
    "expired just beyond the leeway": lambda: token(exp=int(time.time()) - LEEWAY_S - 1),
    "without exp": lambda: token(exp=None),
    "exp is a text": lambda: tampered(exp="soon"),
    "not valid yet": lambda: token(nbf=NOW + 10_000),
    "signed in the future": lambda: token(iat=NOW + 10_000, exp=NOW + 10_120),
    "another key under the right name": lambda: token(key=OTHER_KEY),
    "another key under its own name": lambda: token(key=OTHER_KEY, kid="k2"),
    "the right key under another name": lambda: token(kid="k2"),
    "without kid": lambda: token(kid=None),
    "alg none": lambda: unsigned("none"),
    "alg None": lambda: unsigned("None"),
    "alg empty": lambda: unsigned(""),
    "HS256 with the public key": lambda: signed_with_the_public_key("PEM"),
    "HS256 with the modulus": lambda: signed_with_the_public_key("n"),
    "RS384": lambda: token(algorithm="RS384"),
    "PS256": lambda: token(algorithm="PS256"),
    "another person in the same token": lambda: tampered(prolific=IDS | {"PROLIFIC_PID": pid("else")}),
    "another site": lambda: token(aud="https://evil.example.org/"),
    "another site with ours in its name": lambda: token(aud="https://study.example.org.evil.example/"),
    "ours as a user name": lambda: token(aud="https://study.example.org@evil.example/"),
    "another port": lambda: token(aud="https://study.example.org:8443/"),
    "without aud": lambda: token(aud=None),
    "aud is a number": lambda: token(aud=[7]),
    "without ids": lambda: token(prolific=None),
    "ids are a text": lambda: token(prolific=PANEL_ID),
    "without the participant": lambda: token(prolific={"SESSION_ID": SUBMISSION}),
    "another participant than the address": lambda: token(prolific=IDS | {"PROLIFIC_PID": pid("else")}),
    "another study than the address": lambda: token(prolific=IDS | {"STUDY_ID": "study-2"}),
    "another submission than the address": lambda: token(prolific=IDS | {"SESSION_ID": SUBMISSION[::-1]}),
    "an id of another form": lambda: token(prolific=IDS | {"PROLIFIC_PID": "jane"}),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_token_that_prolific_did_not_sign_recently_for_this_study_begins_no_session(
    secured: Flask, store: SqliteStore, forgery: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = FORGED[forgery]()
    visitor = Visitor(secured, coming(made))
    assert (visitor.came_in.status_code, visitor.came_in.headers["Location"]) == (303, "/")
    assert "Set-Cookie" not in visitor.came_in.headers
    assert FROM_PROLIFIC in str(visitor.study()["notice"])
    assert FROM_PROLIFIC in refused(visitor.start(), 403)
    assert rows(store, "SELECT * FROM sessions") == []
    assert not made or made not in caplog.text


def test_a_panel_id_without_a_token_begins_no_session(secured: Flask) -> None:
    visitor = Visitor(secured, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert FROM_PROLIFIC in refused(visitor.start(), 403)


def test_an_identity_from_before_tokens_were_required_is_refused(
    secured: Flask, small_study: Study, store: SqliteStore
) -> None:
    before = create_app(recruiting(small_study, entry="panel"), store, SECRETS, Settings())
    visitor = Visitor(before, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    cookie = visitor.http.get_cookie("equipoise_entry_blackbox-predict", domain="localhost")
    assert cookie is not None
    later = Visitor(secured)
    later.http.set_cookie(cookie.key, cookie.value, domain="localhost")
    assert FROM_PROLIFIC in refused(later.start(), 403)


# One use per token


def test_a_token_that_has_begun_a_session_opens_it_in_no_other_browser(secured: Flask, store: SqliteStore) -> None:
    signed = token(iat=int(time.time()) - 5)
    victim = Visitor(secured, coming(signed))
    replay = Visitor(secured, coming(signed))
    assert victim.start().status_code == 201
    before = held_by(store)
    assert "open the study from there again" in refused(replay.start(), 409)
    assert "open the study from there again" in refused(Visitor(secured, coming(signed)).start(), 409)
    assert held_by(store) == before
    assert victim.complete().status_code == 200
    refused(Visitor(secured, coming(signed)).start(), 409)


def test_a_token_opens_a_completed_session_in_one_other_browser(secured: Flask) -> None:
    first = Visitor(secured, coming(token(iat=int(time.time()) - 5)))
    first.start()
    assert first.complete().status_code == 200
    later = token(iat=int(time.time()) + 2)
    assert Visitor(secured, coming(later)).start().status_code == 201
    assert "open the study from there again" in refused(Visitor(secured, coming(later)).start(), 409)


def test_a_newer_token_reopens_the_session_after_a_replay_of_the_first_token(secured: Flask) -> None:
    signed = token(iat=int(time.time()) - 5)
    thief = Visitor(secured, coming(signed))
    thief.start()
    refused(Visitor(secured, coming(signed)).start(), 409)
    victim = Visitor(secured, coming(token(iat=int(time.time()) + 2)))
    assert victim.start().status_code == 201
    assert victim.session["session"] == thief.session["session"]
    refused(thief.get("/api/session"), 401)


def test_the_submission_id_proves_nothing_in_a_study_with_signed_tokens(secured: Flask) -> None:
    """The submission id is in the replayed address."""
    signed = token(iat=int(time.time()) - 5)
    Visitor(secured, coming(signed)).start()
    again = Visitor(secured, coming(signed, SESSION_ID=SUBMISSION))
    refused(again.start(), 409)


def test_a_missing_signature_time_is_computed_from_the_expiry_time(secured: Flask) -> None:
    signed = token(iat=None, exp=int(time.time()) + LIFE_S - 5)
    Visitor(secured, coming(signed)).start()
    refused(Visitor(secured, coming(signed)).start(), 409)
    later = token(iat=None, exp=int(time.time()) + LIFE_S + 2)
    assert Visitor(secured, coming(later)).start().status_code == 201


def test_the_page_may_be_loaded_twice_before_the_start(secured: Flask) -> None:
    """A browser that reloads or preloads the address has not used the token."""
    signed = token(iat=int(time.time()) - 5)
    visitor = Visitor(secured, coming(signed))
    visitor.get(coming(signed))
    assert visitor.start().status_code == 201


def test_a_participant_with_a_session_continues_after_the_token_has_expired(secured: Flask) -> None:
    visitor = Visitor(secured, coming(token()))
    visitor.start()
    visitor.get(coming(token(iat=NOW - 900, exp=NOW - 780)))
    assert visitor.get("/api/session").status_code == 200
    assert visitor.complete().status_code == 200


# The keys


def test_after_the_key_file_is_replaced_only_the_new_keys_are_valid(secured: Flask, keys: Path, tmp_path: Path) -> None:
    new = write_keys(tmp_path / "new.json", jwk(OTHER_KEY, "k2"))
    assert Visitor(secured, coming(token(OTHER_KEY, "k2"))).start().status_code == 403
    new.replace(keys)
    assert Visitor(secured, coming(token(OTHER_KEY, "k2"))).start().status_code == 201
    assert Visitor(secured, coming(token())).start().status_code == 403


@pytest.mark.parametrize("content", ["", "<html>", "{}", None])
def test_a_damaged_key_file_is_logged_and_the_earlier_keys_stay_valid(
    secured: Flask, keys: Path, content: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if content is None:
        keys.unlink()
    else:
        keys.write_text(content, encoding="utf-8")
    assert Visitor(secured, coming(token())).start().status_code == 201
    assert "cannot read Prolific's keys again" in caplog.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "this file does not exist"),
        ("", "not a JSON Web Key Set"),
        ("<html>", "not a JSON Web Key Set"),
        ("[]", "not a JSON Web Key Set"),
        ("{}", "not a JSON Web Key Set"),
        ('{"keys": {}}', "not a JSON Web Key Set"),
        ('{"keys": [{"kty": "RSA"}]}', "not a JSON Web Key Set"),
        (json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "HS256"}]}), "contain a public key"),
        (json.dumps({"keys": [{k: v for k, v in jwk().items() if k != "kid"}]}), "contain a public key"),
    ],
)
def test_a_file_without_usable_keys_is_refused_when_the_server_starts(
    small_study: Study, store: SqliteStore, tmp_path: Path, content: str | None, expected: str
) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    study = recruiting(small_study, entry="panel", prolific_secured_url=STUDY_URL)
    with pytest.raises(InputError, match=expected) as error:
        create_app(study, store, SECRETS, Settings(prolific_keys=str(path)))
    assert str(path) in str(error.value)


def test_without_keys_a_secured_study_is_not_served(small_study: Study, store: SqliteStore) -> None:
    study = recruiting(small_study, entry="panel", prolific_secured_url=STUDY_URL)
    with pytest.raises(InputError, match="EQUIPOISE_PROLIFIC_KEYS"):
        create_app(study, store, SECRETS, Settings())
