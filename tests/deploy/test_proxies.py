"""The recipes for reverse proxies, each with the real proxy in front of a real server."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from equipoise.studies import copy_sample_study
from server.serve import free_port
from tests.deploy.proxies import PROXIES, Proxy, connections_to, running_proxy
from tests.server_process import ServerProcess
from tests.waiting import wait_until_it_replies

PANEL_ID = "5f3a9c0e7b1d2f4a6c8e0b1d"
STARTS_PER_MINUTE = 5
SPELLINGS = [
    f"X{first}Forwarded{second}For" for first in "-_" for second in "-_"
]  # a program's environment has one name for all these headers


@dataclass(frozen=True)
class Site:
    """A study behind a proxy."""

    proxy: Proxy
    server: ServerProcess
    server_port: int
    server_log: Path

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.proxy.url, verify=False, timeout=20, **options)


@contextmanager
def served(folder: Path, log: Path, **settings: str) -> Iterator[tuple[ServerProcess, int]]:
    """Serve a study behind one proxy, as the documentation says."""
    port = free_port()
    process = ServerProcess(folder, port, "--proxies", "1", environment=settings, log=log)
    try:
        wait_until_it_replies(f"http://127.0.0.1:{port}/readyz", process)
        yield process, port
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(params=PROXIES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    study = tmp_path / "study"
    copy_sample_study("blackbox-predict", study)
    with (study / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("\nrecruitment: {entry: panel}\n")
    folder = tmp_path / request.param
    folder.mkdir()
    for path in (tmp_path, folder, *tmp_path.parents):  # a proxy without root's rights must reach this folder
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o011)
    log = tmp_path / "server.log"
    with (
        served(study, log, EQUIPOISE_STARTS_PER_MINUTE=str(STARTS_PER_MINUTE)) as (server, port),
        running_proxy(request.param, folder, port) as proxy,
    ):
        time.sleep(0.5)  # until the connection that asked for /readyz is closed
        yield Site(proxy, server, port, log)


def begin(client: httpx.Client, **headers: str) -> httpx.Response:
    digest = client.get("/api/study").json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    return client.post("/api/session", json=start, headers=headers)


def slow_request(proxy: Proxy, n_sent: int) -> Any:
    """Send only a part of a request of 40,000 bytes; Apache reads 16 KB before it connects to the server."""
    connection = proxy.connect()
    connection.sendall(
        b"POST /api/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 40000\r\n\r\n" + b" " * n_sent
    )
    return connection


def test_a_session_is_completed_and_slow_clients_large_bodies_and_false_addresses_stop_at_the_proxy(site: Site) -> None:
    """One test checks all promises of a recipe, because each start of the two programs takes seconds."""
    a_slow_body_does_not_reach_the_server(site)
    a_session_works(site)
    a_large_body_is_refused(site)
    a_false_address_is_not_believed(site)
    no_log_contains_a_panel_id(site)


def a_slow_body_does_not_reach_the_server(site: Site) -> None:
    assert connections_to(site.server_port) == 0
    slow = [
        slow_request(site.proxy, n_sent) for n_sent in (0, 10, 39_000) * 14
    ]  # more requests than the server has threads
    time.sleep(1)
    assert connections_to(site.server_port) == 0
    with site.client() as client:
        began = time.monotonic()
        assert client.get("/readyz").status_code == 200
        assert time.monotonic() - began < 15
    for connection in slow:
        connection.close()


def a_session_works(site: Site) -> None:
    with site.client() as client:
        entered = client.get(f"/?PROLIFIC_PID={PANEL_ID}&STUDY_ID=s&SESSION_ID=t")
        assert entered.status_code == 303
        assert PANEL_ID not in entered.headers["Location"]
        page = client.get(entered.headers["Location"])
        assert page.status_code == 200
        assert "Secure" in entered.headers["Set-Cookie"]
        started = begin(client)
        assert started.status_code == 201, started.text
        session = started.json()
        trial = session["trials"][0]
        answer = {
            "response_id": str(uuid.uuid4()), "trial_index": 0, "rt_ms": 1234.5,
            "response": "absorbed" if trial["task"] == "blackbox_predict" else 2,
        }  # fmt: skip
        sent = client.post("/api/responses", json={"session": session["session"], "responses": [answer]})
        assert sent.status_code == 201, sent.text
        assert client.get("/api/session").json()["next_trial_index"] == 1
    assert connections_to(site.server_port) >= 1, "connections to the server stay open"


def a_large_body_is_refused(site: Site) -> None:
    """Only responses may be larger than 64 KB, up to 4 MB."""
    seen = site.server_log.read_text()
    headers = {"Content-Type": "application/json"}
    with site.client() as client:
        for address, accepted, refused in (("session", 60_000, 70_000), ("responses", 4_000_000, 4_200_000)):
            url = f"/api/{address}?PROLIFIC_PID={PANEL_ID}"
            assert _answered(client, url, b" " * refused, headers) == 413
            chunked = client.post(url, content=(b" " * (refused // 7) for _ in range(7)), headers=headers)
            assert chunked.status_code in {411, 413, 502}  # Caddy 2.6 has no more specific status
            assert _answered(client, url, b" " * accepted, headers) in {401, 422}
    assert site.server_log.read_text() == seen


def _answered(client: httpx.Client, url: str, body: bytes, headers: dict[str, str]) -> int:
    """Return the status of a reply. After 502, the request is repeated, as the page repeats it.

    A proxy on a busy machine replies 502 if the server replies before the proxy has sent the whole body.
    """
    status = 502
    for _ in range(5):
        status = client.post(url, content=body, headers=headers).status_code
        if status != 502:
            break
    return status


def a_false_address_is_not_believed(site: Site) -> None:
    """For any header of an attacker, the limit of new sessions counts the attacker's real address."""
    n_begun = 1
    for number in range(2 * STARTS_PER_MINUTE):
        with site.client() as client:
            client.get(f"/?PROLIFIC_PID={PANEL_ID[:-2]}{number:02}")
            headers = {"Forwarded": f"for=192.0.2.{number}"} | dict.fromkeys(SPELLINGS, f"192.0.2.{number}")
            n_begun += begin(client, **headers).status_code == 201
    assert n_begun == STARTS_PER_MINUTE


def no_log_contains_a_panel_id(site: Site) -> None:
    site.server.terminate()  # so that the proxy reports an error
    site.server.wait(20)
    with site.client(headers={"Referer": f"https://localhost/?PROLIFIC_PID={PANEL_ID}"}) as client:
        assert client.get(f"/?PROLIFIC_PID={PANEL_ID}").status_code in {502, 503}
        client.post(f"/api/session?PROLIFIC_PID={PANEL_ID}", content=b"{}")
    time.sleep(0.5)
    assert PANEL_ID[:-2] not in site.proxy.written()
    assert PANEL_ID[:-2] not in site.server_log.read_text()


def test_without_a_proxy_the_headers_would_be_trusted(tmp_path: Path) -> None:
    """This test shows that the recipes are needed: without a proxy, a false address is accepted."""
    study = tmp_path / "study"
    copy_sample_study("blackbox-predict", study)
    with served(study, tmp_path / "server.log", EQUIPOISE_STARTS_PER_MINUTE="2") as (_, port):
        for number in range(4):
            with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
                assert begin(client, **{"X-Forwarded-For": f"192.0.2.{number}"}).status_code == 201


def test_the_dashboard_changes_through_the_proxy_and_ends_at_the_sign_out(site: Site) -> None:
    token = (site.server_log.parent / "study" / "data" / "researcher-token").read_text(encoding="ascii")
    with site.client() as researcher, site.client() as participant:
        assert researcher.post("/researcher/sign-in", data={"token": token}).status_code == 303
        with researcher.stream("GET", "/researcher/live", timeout=15) as stream:
            lines = stream.iter_lines()
            before = next(line for line in lines if line.startswith("data: "))
            participant.get(f"/?PROLIFIC_PID={PANEL_ID}")
            assert begin(participant).status_code == 201
            assert next(line for line in lines if line.startswith("data: ")) != before
            researcher.post("/researcher/sign-out")
            assert next(line for line in lines if line.startswith("event: ")) == "event: end"
