"""Signatures of cookies and links: HMAC-SHA256, changed keys, and clocks that differ."""

import hashlib
import hmac
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from itsdangerous import Signer, TimestampSigner
from itsdangerous.encoding import base64_encode

from batteries.errors import InputError
from experiment.study.definition import Study
from server.app import create_app
from server.participants.participant_auth import make_link_token
from server.security.secret_files import Secrets, read_secrets
from server.security.signatures import lately_signed_value, sign, sign_with_time, signed_value
from server.settings import Settings
from server.store import SqliteStore
from tests.server.stores import recruiting

OLD, NEW = "an old key, 24 characters", "a new key, 24 characters!"
PURPOSE = "cookie my-study"


@contextmanager
def clock_ahead(seconds: float) -> Iterator[None]:
    """Sign within the block as a server with a clock that is ahead."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda _self: int(time.time() + seconds))
        yield


def test_the_signature_is_hmac_sha256() -> None:
    value, signature = sign(NEW, PURPOSE, "value").rsplit(".", 1)
    derived = hashlib.sha256(f"equipoise {PURPOSE}signer{NEW}".encode()).digest()
    expected = hmac.new(derived, value.encode(), hashlib.sha256).digest()
    assert signature == base64_encode(expected).decode()


def test_a_signed_value_is_valid_only_for_its_purpose() -> None:
    assert signed_value(NEW, PURPOSE, sign(NEW, PURPOSE, "value")) == "value"
    assert lately_signed_value(NEW, PURPOSE, sign_with_time(NEW, PURPOSE, "value"), 60) == "value"
    assert signed_value(NEW, "link my-study", sign(NEW, PURPOSE, "value")) is None
    assert lately_signed_value(NEW, "link my-study", sign_with_time(NEW, PURPOSE, "value"), 60) is None
    assert signed_value(OLD, PURPOSE, sign(NEW, PURPOSE, "value")) is None


def test_the_newest_key_signs_and_older_keys_are_accepted() -> None:
    both = f"{OLD}\n\n {NEW} \n"
    assert signed_value(both, PURPOSE, sign(OLD, PURPOSE, "value")) == "value"
    assert lately_signed_value(both, PURPOSE, sign_with_time(OLD, PURPOSE, "value"), 60) == "value"
    assert sign(both, PURPOSE, "value") == sign(NEW, PURPOSE, "value") != sign(OLD, PURPOSE, "value")
    assert signed_value(NEW, PURPOSE, sign(OLD, PURPOSE, "value")) is None, "a key that is taken out is worthless"


def test_a_signature_of_an_earlier_version_stays_valid() -> None:
    """An earlier version used HMAC-SHA1, and links of running studies have been sent."""
    salt = f"equipoise {PURPOSE}"
    assert signed_value(NEW, PURPOSE, Signer(NEW, salt=salt).sign("value").decode()) == "value"
    assert lately_signed_value(NEW, PURPOSE, TimestampSigner(NEW, salt=salt).sign("value").decode(), 60) == "value"
    assert signed_value(NEW, PURPOSE, Signer(OLD, salt=salt).sign("value").decode()) is None


@pytest.mark.parametrize(
    ("ahead_s", "is_taken"), [(-70, False), (-50, True), (0, True), (2, True), (55, True), (70, False)]
)
def test_servers_with_clocks_less_than_a_minute_apart_accept_each_others_cookies(
    ahead_s: float, is_taken: bool
) -> None:
    with clock_ahead(ahead_s):
        signed = sign_with_time(NEW, PURPOSE, "value")
    assert (lately_signed_value(NEW, PURPOSE, signed, max_age_s=60) == "value") == is_taken


@pytest.mark.parametrize(
    "signed", ["", ".", "..", "value", "value.", ".x", "é.ÿ", "value\0.x", "\ud800.x", "a" * 10_000]
)
def test_an_unsigned_value_has_no_content(signed: str) -> None:
    assert signed_value(NEW, PURPOSE, signed) is None
    assert lately_signed_value(NEW, PURPOSE, signed, 60) is None


def test_a_participant_resumes_after_a_change_of_the_signing_key(small_study: Study, store: SqliteStore) -> None:
    def browser(key: str) -> Callable[[], int]:
        app = create_app(recruiting(small_study, entry="link"), store, Secrets(key, "token"), Settings())
        return lambda: http(app)

    def http(app: object) -> int:
        client = app.test_client()  # type: ignore[attr-defined]
        client.get(f"/?token={link}")
        for cookie in cookies:
            client.set_cookie(cookie.key, cookie.value)
        return int(client.get("/api/session").status_code)

    link = make_link_token(small_study, OLD)
    first = create_app(recruiting(small_study, entry="link"), store, Secrets(OLD, "token"), Settings()).test_client()
    first.get(f"/?token={link}")
    digest = first.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": "3f0a91bc-42aa-4bcd-8e11-0123456789ab", "consent_digest": digest, "kind": "human"}
    assert first.post("/api/session", json=start).status_code == 201
    cookies = [first.get_cookie(f"equipoise_{name}_{small_study.name}") for name in ("entry", "session")]
    assert browser(f"{OLD}\n{NEW}")() == 200
    assert browser(NEW)() == 401


def test_the_key_file_can_contain_several_keys(tmp_path: Path) -> None:
    made = read_secrets(tmp_path)
    path = tmp_path / "signing-key"
    with path.open("a") as file:
        file.write(f"\n{NEW}\n")  # as the documentation says, with or without a line break at the end of the file
    both = read_secrets(tmp_path)
    assert signed_value(both.signing_key, PURPOSE, sign(made.signing_key, PURPOSE, "value")) == "value"
    assert sign(both.signing_key, PURPOSE, "value") == sign(NEW, PURPOSE, "value")
    with path.open("a") as file:
        file.write("short\n")
    with pytest.raises(InputError, match="signing-key"):
        read_secrets(tmp_path)
