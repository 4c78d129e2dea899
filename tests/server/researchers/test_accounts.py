"""Accounts of researchers: sign-in with a password and a second factor, roles, and the log."""

import time
from collections.abc import Callable
from dataclasses import replace

import pyotp
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from experiment.study.definition import Study
from server.app import create_app
from server.researchers import passwords
from server.researchers.second_factor import STEP_S, time_step_of
from server.security.rate_limits import PASSWORDS_TRIED_PER_MINUTE
from server.settings import Settings
from server.store import Access, Account, Conflict, Role, SqliteStore, Store
from tests.server.conftest import SECRETS
from tests.server.security.cross_site import ELSEWHERE
from tests.server.stores import execute_sql, problems, rows, sign_in, verified

PASSWORD = "seven blue chairs sing"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture(autouse=True)
def fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", passwords.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    passwords._hash_of_nothing.cache_clear()


def add_account(store: Store, study: Study, name: str = "anna", role: Role = Role.OWNER, **fields: object) -> Account:
    account = Account(name, role, passwords.hash_password(PASSWORD), **fields)  # type: ignore[arg-type]
    store.save_account(study, account, Access.ACCOUNT_ADDED, "command line")
    return account


def enter(
    http: FlaskClient, account: str = "anna", password: str = PASSWORD, code: str = "", **more: object
) -> TestResponse:
    data = {"account": account, "password": password, "code": code}
    reply: TestResponse = http.post("/researcher/sign-in/account", data=data, **more)  # type: ignore[arg-type]
    return reply


@pytest.fixture
def anna(app: Flask, sample_study: Study, store: SqliteStore) -> Account:
    return add_account(store, sample_study)


def code_at(offset: int = 0) -> str:
    return pyotp.TOTP(SECRET).at(time.time() + STEP_S * offset)


def noted(store: Store, *events: str) -> list[str]:
    marks = ", ".join(f"'{event}'" for event in events)
    return [text for (text,) in rows(store, f"SELECT details FROM events WHERE event IN ({marks}) ORDER BY at")]


# Passwords


@pytest.mark.parametrize("password", ["short", "x" * 201, "passwordpassword", "aaaaaaaaaaaaaaaaaaa", "iloveyou1234",
                                      "blackbox-predict", "anna-anna-anna"])  # fmt: skip
def test_a_password_that_is_easy_to_guess_is_refused(password: str) -> None:
    from batteries.errors import InputError

    with pytest.raises(InputError, match="Fix: "):
        passwords.checked_password(password, "anna", "blackbox-predict")


@pytest.mark.parametrize("password", [PASSWORD, "日本語の長いパスワードです猫", "q8#vLm2!x", "only small letters here"])
def test_a_password_needs_no_particular_kind_of_character(password: str) -> None:
    assert passwords.checked_password(password, "anna") == password


def test_the_same_password_has_another_hash_each_time() -> None:
    first, second = passwords.hash_password(PASSWORD), passwords.hash_password(PASSWORD)
    assert first != second
    assert first.startswith("$argon2id$")
    assert passwords.is_password(PASSWORD, first)
    assert passwords.is_password(PASSWORD, second)
    assert not passwords.is_password(PASSWORD.upper(), first)


@pytest.mark.parametrize("password_hash", [None, "", "$argon2id$broken"])
def test_nothing_fits_a_missing_or_broken_hash(password_hash: str | None) -> None:
    assert not passwords.is_password("", password_hash)
    assert not passwords.is_password(PASSWORD, password_hash)


def test_the_hash_of_the_library_needs_64_mb_of_memory() -> None:
    assert (passwords.PasswordHasher().memory_cost, passwords.PasswordHasher().time_cost) == (64 * 1024, 3)


# The second factor


@pytest.mark.parametrize(
    ("at", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (2000000000, "279037")],
)
def test_codes_are_those_of_rfc_6238(at: int, code: str) -> None:
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # "12345678901234567890", as in the RFC's appendix B.
    assert time_step_of(secret, code, at) == at // STEP_S
    assert time_step_of(secret, f" {code[:3]} {code[3:]} ", at) == at // STEP_S
    assert time_step_of(secret, code, at + STEP_S) == at // STEP_S, "the clock of the telephone may be late"
    assert time_step_of(secret, code, at + 3 * STEP_S) is None
    assert time_step_of(secret, "", at) is None


def test_a_code_is_valid_once(app: Flask, sample_study: Study, store: SqliteStore) -> None:
    add_account(store, sample_study, totp_secret=SECRET)
    code, later = code_at(), code_at(1)
    assert enter(app.test_client(), code="000000").status_code == 403
    assert enter(app.test_client()).status_code == 403
    assert enter(app.test_client(), password="wrong", code=code).status_code == 403
    assert enter(app.test_client(), code=code).status_code == 303
    assert enter(app.test_client(), code=code).status_code == 403
    assert enter(app.test_client(), code=later).status_code == 303
    assert enter(app.test_client(), code=code).status_code == 403, "a code of an earlier step"


def test_of_two_uses_of_a_code_at_once_one_succeeds(any_store: Store, small_study: Study) -> None:
    from tests.server.stores import at_once

    any_store.register_study(small_study)
    add_account(any_store, small_study, totp_secret=SECRET)
    outcomes = at_once(*[lambda: any_store.use_code(small_study, "anna", 57)] * 6)
    assert sorted(outcomes) == [False] * 5 + [True]


# Signing in


def test_an_account_signs_in_and_the_page_names_it(app: Flask, anna: Account) -> None:
    http = app.test_client()
    reply = enter(http)
    assert (reply.status_code, reply.headers["Location"]) == (303, "/researcher/")
    page = http.get("/researcher/")
    assert page.status_code == 200
    assert "anna" in page.text
    assert "owner" in page.text


@pytest.mark.parametrize(
    ("account", "password"),
    [("anna", ""), ("anna", PASSWORD + "x"), ("anna", "x" * 5000), ("nobody", PASSWORD), ("", ""), ("link", "x"),
     ("ä\x00", PASSWORD), ("anna", SECRETS.researcher_token)],
)  # fmt: skip
def test_a_wrong_account_or_password_is_refused_with_the_same_words(
    app: Flask, anna: Account, account: str, password: str
) -> None:
    http = app.test_client()
    reply = enter(http, account, password)
    assert reply.status_code == 403
    assert "The account, the password or the code is wrong" in reply.text
    assert reply.headers.getlist("Set-Cookie") == []
    assert http.get("/researcher/").status_code == 403


def test_no_password_and_no_secret_is_in_the_log_or_on_a_page(
    app: Flask, sample_study: Study, store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    account = add_account(store, sample_study, totp_secret=SECRET)
    http = app.test_client()
    enter(http, password="a wrong password")
    enter(http, code=code_at())
    seen = repr(rows(store, "SELECT * FROM events")) + caplog.text + http.get("/researcher/").text
    for secret in (PASSWORD, "a wrong password", SECRET, account.password_hash):
        assert secret not in seen
    assert PASSWORD not in repr(rows(store, "SELECT * FROM accounts"))
    assert SECRET not in repr(account)


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_form_of_another_site_signs_nobody_in(app: Flask, anna: Account, headers: dict[str, str]) -> None:
    reply = enter(app.test_client(), headers=headers)
    assert (reply.status_code, reply.headers.getlist("Set-Cookie")) == (403, [])


def test_the_cookies_are_only_for_the_researchers_pages(app: Flask, anna: Account) -> None:
    cookies = enter(app.test_client()).headers.getlist("Set-Cookie")
    assert len(cookies) == 2
    for cookie in cookies:
        for part in ("HttpOnly", "SameSite=Strict", "Path=/researcher/"):
            assert part in cookie


def test_each_sign_in_has_a_new_cookie(app: Flask, anna: Account) -> None:
    http = app.test_client()
    found = set()
    for _ in range(3):
        enter(http)
        found.add(http.get_cookie("equipoise_researcher_blackbox-predict", path="/researcher/").value)
    assert len(found) == 3


# The link and accounts


def test_without_accounts_nobody_can_sign_in_with_a_password(app: Flask) -> None:
    for account, password in (("admin", "admin"), ("", ""), ("owner", "owner"), ("link", SECRETS.researcher_token)):
        assert enter(app.test_client(), account, password).status_code == 403


def test_an_owners_account_ends_the_use_of_the_link(app: Flask, sample_study: Study, store: SqliteStore) -> None:
    http = app.test_client()
    add_account(store, sample_study, "bea", Role.VIEWER)
    assert sign_in(http).status_code == 303, "only an owner's account replaces the link"
    add_account(store, sample_study)
    assert http.get("/researcher/").status_code == 403
    page = sign_in(http)
    assert page.status_code == 403
    assert "has accounts" in page.text
    assert 'name="token"' not in page.text
    store.save_account(sample_study, replace(store.account(sample_study, "anna"), is_active=False),
                       Access.ACCOUNT_DISABLED, "command line")  # fmt: skip
    assert sign_in(http).status_code == 303


# Changes of accounts


CHANGES: dict[str, Callable[[Account], Account]] = {
    "password": lambda account: replace(account, password_hash=passwords.hash_password("nine green doors hum")),
    "second factor": lambda account: replace(account, totp_secret=SECRET),
    "disabled": lambda account: replace(account, is_active=False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_credentials_ends_all_sign_ins(
    app: Flask, anna: Account, sample_study: Study, store: SqliteStore, change: str
) -> None:
    add_account(store, sample_study, "bea")
    http, other = app.test_client(), app.test_client()
    enter(http)
    enter(other, "bea")
    store.save_account(sample_study, CHANGES[change](anna), Access.PASSWORD_CHANGED, "command line")
    assert http.get("/researcher/").status_code == 403
    assert other.get("/researcher/").status_code == 200


def test_a_removed_account_is_signed_out_even_if_its_name_is_used_again(
    app: Flask, anna: Account, sample_study: Study, store: SqliteStore
) -> None:
    http = app.test_client()
    enter(http)
    assert store.remove_account(sample_study, "anna", "command line")
    assert not store.remove_account(sample_study, "anna", "command line")
    assert http.get("/researcher/").status_code == 403
    add_account(store, sample_study)
    assert http.get("/researcher/").status_code == 403
    assert enter(http).status_code == 303


def test_accounts_belong_to_one_study(any_store: Store, small_study: Study) -> None:
    other = replace(small_study, definition=small_study.definition.model_copy(update={"study": "another"}))
    add_account(any_store, small_study)
    assert any_store.accounts(other) == []
    app = create_app(other, any_store, SECRETS, Settings())
    assert enter(app.test_client()).status_code == 403


def test_a_name_is_used_once_and_an_unknown_account_cannot_change(any_store: Store, small_study: Study) -> None:
    account = add_account(any_store, small_study)
    with pytest.raises(Conflict, match="exists already"):
        add_account(any_store, small_study)
    with pytest.raises(Conflict, match="does not exist"):
        any_store.save_account(small_study, replace(account, name="bea"), Access.ROLE_CHANGED, "command line")
    assert any_store.accounts(small_study) == [account]


def test_every_change_is_in_the_log_with_its_author_and_changes_no_digest(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    before = verified(any_store).digest
    account = add_account(any_store, small_study)
    any_store.save_account(small_study, replace(account, role=Role.VIEWER), Access.ROLE_CHANGED, "command line")
    any_store.remove_account(small_study, "anna", "bea")
    logged = [(event.event, event.details["account"], event.details.get("role"), event.details["by"])
              for event in any_store.events(small_study)[1:]]  # fmt: skip
    assert logged == [
        ("account added", "anna", "owner", "command line"),
        ("role changed", "anna", "viewer", "command line"),
        ("account removed", "anna", None, "bea"),
    ]
    assert (problems(any_store), verified(any_store).digest) == ([], before)


DAMAGES = {
    "role": "UPDATE accounts SET role = 'owner' WHERE account = 'bea'",
    "password": "UPDATE accounts SET password_hash = 'x' WHERE account = 'anna'",
    "added": "INSERT INTO accounts (study, account, role, password_hash, is_active, created_at) "
    "VALUES ('blackbox-predict', 'eve', 'owner', 'x', 1, '')",
    "enabled": "UPDATE accounts SET is_active = 1 - is_active WHERE account = 'anna'",
    "removed": "DELETE FROM accounts WHERE account = 'anna'",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_verification_finds_accounts_that_were_changed_outside_equipoise(
    any_store: Store, small_study: Study, damage: str
) -> None:
    add_account(any_store, small_study)
    add_account(any_store, small_study, "bea", Role.VIEWER)
    assert problems(any_store) == []
    execute_sql(any_store, DAMAGES[damage])
    (problem,) = problems(any_store)
    assert "differs from the log" in problem


# Limits


def test_wrong_passwords_are_limited_for_each_address_and_no_account_is_locked(app: Flask, anna: Account) -> None:
    attacker, elsewhere = {"REMOTE_ADDR": "192.0.2.7"}, {"REMOTE_ADDR": "198.51.100.9"}
    replies = [
        enter(app.test_client(), password=f"guess {number}", environ_base=attacker).status_code
        for number in range(PASSWORDS_TRIED_PER_MINUTE + 3)
    ]
    assert replies == [403] * PASSWORDS_TRIED_PER_MINUTE + [429] * 3
    assert enter(app.test_client(), environ_base=attacker).status_code == 429, "no guess is checked any more"
    assert enter(app.test_client(), environ_base=elsewhere).status_code == 303


def test_a_browser_that_has_signed_in_before_is_not_locked_out_by_others_in_its_network(
    app: Flask, anna: Account, sample_study: Study, store: SqliteStore
) -> None:
    add_account(store, sample_study, "bea")
    own = app.test_client()
    enter(own)
    own.post("/researcher/sign-out")
    for number in range(PASSWORDS_TRIED_PER_MINUTE + 1):
        last = enter(app.test_client(), password=f"guess {number}")
    assert last.status_code == 429
    assert enter(own, "bea").status_code == 429, "the browser is known for its own account only"
    assert enter(own).status_code == 303
    for number in range(PASSWORDS_TRIED_PER_MINUTE):
        assert enter(own, password=f"guess {number}").status_code == 403
    assert enter(own).status_code == 429, "a stolen cookie of a browser allows no more guesses"


def test_wrong_codes_with_the_right_password_are_limited_for_all_addresses_together(
    app: Flask, sample_study: Study, store: SqliteStore
) -> None:
    add_account(store, sample_study, totp_secret=SECRET)
    add_account(store, sample_study, "bea")
    for number in range(PASSWORDS_TRIED_PER_MINUTE):
        elsewhere = {"REMOTE_ADDR": f"192.0.2.{number}"}
        assert enter(app.test_client(), code="000000", environ_base=elsewhere).status_code == 403
    assert enter(app.test_client(), code=code_at()).status_code == 429
    assert enter(app.test_client(), password="wrong", code=code_at()).status_code == 403
    assert enter(app.test_client(), "bea").status_code == 303


def test_wrong_passwords_are_counted_in_the_log(app: Flask, anna: Account, store: SqliteStore) -> None:
    for number in range(4):
        enter(app.test_client(), password=f"guess {number}")
    enter(app.test_client())
    assert noted(store, "sign-in refused") == ['{"number":1}', '{"number":3}']


def test_only_one_password_is_checked_at_a_time(app: Flask, anna: Account) -> None:
    with passwords.one_check_at_a_time(is_known=False):
        reply = enter(app.test_client())
    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
    assert enter(app.test_client()).status_code == 303


# The two sides


def test_participants_and_researchers_share_no_cookie(app: Flask, anna: Account, participant: object) -> None:
    http = app.test_client()
    enter(http)
    for name in ("equipoise_researcher", "equipoise_researcher_browser"):
        cookie = http.get_cookie(f"{name}_blackbox-predict", path="/researcher/")
        other = app.test_client()
        other.set_cookie("equipoise_session_blackbox-predict", cookie.value)
        assert other.get("/api/session").status_code == 401
    session = participant.http.get_cookie("equipoise_session_blackbox-predict")  # type: ignore[attr-defined]
    other = app.test_client()
    other.set_cookie("equipoise_researcher_blackbox-predict", session.value, path="/researcher/")
    assert other.get("/researcher/").status_code == 403
