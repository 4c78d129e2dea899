"""Host names that a server accepts. Other names are refused as a defence against DNS rebinding."""

import socket
from collections.abc import Callable

import pytest
from flask import Flask

from batteries.errors import InputError
from experiment.study.definition import Study
from server.app import create_app
from server.security.allowed_hosts import Hosts
from server.settings import Settings, read_settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS
from tests.server.stores import rows

AppOf = Callable[..., Flask]
FOREIGN = [
    "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example.", "127.1",
    "0x7f.0.0.1", "2130706433", "user@127.0.0.1", "127.0.0.1@evil.example", "[evil.example]", "[::1", "::1", "a b",
    "localhost:8000:8000", "evil.example#127.0.0.1", "évil",
]  # fmt: skip
OWN = [
    "localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:8000", "192.0.2.7",
    "[2001:db8::1]:443", socket.gethostname(), f"{socket.gethostname()}.local:8000",
]  # fmt: skip


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    return lambda **settings: create_app(small_study, store, SECRETS, Settings(**settings))


@pytest.mark.parametrize("host", FOREIGN)
def test_a_host_name_of_another_site_is_refused_with_the_setting_that_allows_it(app_of: AppOf, host: str) -> None:
    http = app_of().test_client()
    for address in ("/", "/api/study", "/researcher/", "/static/equipoise.js", "/nothing", "/researcher"):
        reply = http.get(address, environ_overrides={"HTTP_HOST": host.encode().decode("latin-1")})
        assert reply.status_code == 421, address
        assert "EQUIPOISE_HOSTS" in reply.get_json()["error"]
        assert "Content-Security-Policy" in reply.headers
        assert "evil" not in reply.get_json()["error"]


def test_nothing_is_stored_for_a_host_name_of_another_site(app_of: AppOf, store: SqliteStore) -> None:
    http = app_of().test_client()
    digest = http.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": "3f0a91bc-42aa-4bcd-8e11-0123456789ab", "consent_digest": digest, "kind": "human"}
    assert http.post("/api/session", json=start, headers={"Host": "evil.example"}).status_code == 421
    assert rows(store, "SELECT * FROM sessions") == []


@pytest.mark.parametrize("host", OWN)
def test_names_and_addresses_of_the_machine_need_no_setting(app_of: AppOf, host: str) -> None:
    assert app_of().test_client().get("/api/study", headers={"Host": host}).status_code == 200


def test_host_names_in_the_settings_and_the_bound_host_are_accepted(app_of: AppOf) -> None:
    http = app_of(hosts=("study.example.org", "lab.example.org"), host="host.example.org").test_client()
    for name in ("study.example.org", "Study.Example.Org:443", "lab.example.org.", "host.example.org:8000"):
        assert http.get("/api/study", headers={"Host": name}).status_code == 200, name
    assert http.get("/api/study", headers={"Host": "www.study.example.org"}).status_code == 421


def test_health_checks_can_use_any_host_name(app_of: AppOf) -> None:
    http = app_of().test_client()
    for address in ("/healthz", "/readyz"):
        assert http.get(address, headers={"Host": "equipoise.cluster.internal"}).status_code == 200


def test_a_host_name_from_a_counted_proxy_is_checked_too(app_of: AppOf) -> None:
    http = app_of(proxies=1, hosts=("study.example.org",)).test_client()
    for forwarded, status in (
        ("study.example.org", 200),
        ("evil.example", 421),
        ("evil.example, study.example.org", 200),
    ):
        assert http.get("/api/study", headers={"X-Forwarded-Host": forwarded}).status_code == status
    direct = app_of().test_client()
    assert direct.get("/api/study", headers={"X-Forwarded-Host": "evil.example"}).status_code == 200
    forged = {"Host": "evil.example", "X-Forwarded-Host": "localhost"}
    assert direct.get("/api/study", headers=forged).status_code == 421


def test_a_server_behind_a_proxy_without_a_public_name_logs_a_warning_at_the_start(
    app_of: AppOf, caplog: pytest.LogCaptureFixture
) -> None:
    app_of(proxies=1, hosts=("study.example.org",))
    app_of()
    assert "EQUIPOISE_HOSTS" not in caplog.text
    app_of(proxies=1)
    assert "EQUIPOISE_HOSTS" in caplog.text


def test_the_setting_accepts_names_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_HOSTS", " Study.Example.org, lab.example.org.")
    assert read_settings().hosts == ("study.example.org", "lab.example.org")


@pytest.mark.parametrize(
    "given", ["https://study.example.org", "study.example.org:443", "a b", "*", "a,,b", "é.org", "/"]
)
def test_an_invalid_host_name_in_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("EQUIPOISE_HOSTS", given)
    with pytest.raises(InputError, match=r"EQUIPOISE_HOSTS: .*is not the name of a server. Fix: write names such as"):
        read_settings()


def test_the_full_name_of_the_machine_is_accepted_if_the_server_listens_to_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "lab-3.psychology.example.edu")
    assert Hosts(Settings(host="0.0.0.0")).has("lab-3.psychology.example.edu:8000")
    assert not Hosts(Settings()).has("lab-3.psychology.example.edu:8000")


# Redirects


@pytest.mark.parametrize(
    "address",
    ["//evil.example/..", "//evil.example", "//evil.example/researcher", "///evil.example/", "/\\evil.example",
     "/\\/evil.example/..", "//evil.example/?PROLIFIC_PID=5f3a", "/researcher//evil.example/..", "//researcher",
     "/researcher/..//evil.example", "/static//evil.example", "/%2f%2fevil.example", "/%5cevil.example/", "//?a=b",
     "/researcher", "/?next=//evil.example", "/researcher?next=https://evil.example"],
)  # fmt: skip
def test_no_address_leads_to_another_site(app_of: AppOf, address: str) -> None:
    http = app_of().test_client()
    path, _, query = address.partition("?")
    for method in ("GET", "POST", "HEAD"):
        reply = http.open(
            "/", method=method, environ_overrides={"PATH_INFO": path, "RAW_URI": address, "QUERY_STRING": query}
        )
        location = reply.headers.get("Location", "/")
        assert location.startswith(("/", "http://localhost/")), location
        assert not location.startswith(("//", "/\\")), location
        assert "evil" not in location.partition("?")[0], location
        assert reply.status_code < 500
