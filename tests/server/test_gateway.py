"""The HTTP layer before the application: slow, silent, incomplete and many clients do not disturb other clients."""

import asyncio
import json
import os
import resource
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import h2.config
import h2.connection
import httpx
import pytest
from flask import Flask
from pydantic import ValidationError

from equipoise.studies import copy_sample_study
from experiment.participant_api import ResponsesRequest
from server import gateway
from server.gateway import Gateway
from tests.server.served import ServedParticipant, Server, assert_sound, locked, posix, stored_ids
from tests.server.test_serve import raw_request, read_reply

N_SLOW = 2_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that all tests share; it must serve participants after all tests."""
    folder = tmp_path_factory.mktemp("gateway") / "study"
    copy_sample_study("blackbox-predict", folder)
    with Server(folder) as server:
        yield server
        server.stop(within_s=15)
        assert_sound(folder)


@pytest.fixture(autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    while ServedParticipant.clients:
        ServedParticipant.clients.pop().close()


@pytest.fixture(scope="module", autouse=True)
def _may_open_many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 3 * N_SLOW)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def connections(server: Server, n: int, first_bytes: bytes) -> Iterator[list[socket.socket]]:
    """Hold many connections open; on each connection a client has sent the same bytes and nothing more."""
    with ExitStack() as stack:
        held = []
        for _ in range(n):
            held.append(stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20)))
            held[-1].sendall(first_bytes)
        yield held


def take_whole_study(server: Server) -> None:
    """Take the study from its page to its code; every reply is due within ten seconds."""
    participant = ServedParticipant(server.url)
    participant.http.timeout = httpx.Timeout(10)
    assert participant.http.get("/").status_code == 200
    for trial in participant.session["trials"]:
        assert participant.answer(trial["trial_index"]).status_code == 201
    assert participant.http.post("/api/complete", json={}).json()["completion_code"]


def test_large_bodies_that_arrive_slowly_need_little_memory_and_change_nothing_for_the_others(server: Server) -> None:
    """Only some of these bodies are read at the same time. Small bodies never wait for large ones."""
    head = "Content-Type: application/json\r\nContent-Length: 4000000"
    with connections(server, 200, raw_request("/api/responses", head, b" " * 65_536)):
        take_whole_study(server)


JSON_HEAD = "Content-Type: application/json\r\nContent-Length: 60000"


@pytest.mark.parametrize(
    "first_bytes",
    [
        b"",
        b"POST /api/responses HTTP/1.1\r\nHost: localhost\r\nConte",
        raw_request("/api/responses", JSON_HEAD),
        raw_request("/api/session", JSON_HEAD, b'{"start_id": "'),
        raw_request("/nowhere", JSON_HEAD),
        raw_request("/withdraw", "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 50", b"code="),
        raw_request("/api/responses", "Content-Type: application/json\r\nTransfer-Encoding: chunked", b"5\r\n{\r\n"),
    ],
    ids=["silence", "half a header", "no body", "half a body", "to nowhere", "half a form", "half a chunk"],
)
def test_two_thousand_slow_clients_change_nothing_for_the_others(server: Server, first_bytes: bytes) -> None:
    with connections(server, N_SLOW, first_bytes):
        take_whole_study(server)


def test_two_thousand_simultaneous_participants_are_all_served(server: Server) -> None:
    """Also the 1,025th participant: each participant keeps a connection open, as browsers do."""
    with connections(server, N_SLOW, b"") as people:
        for person in people:
            person.sendall(b"GET /api/study HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for person in people:
            assert read_reply(person)[0] == 200


def cpu_s(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_unfinished_requests_of_http_2_neither_reach_the_application_nor_keep_a_core_busy(server: Server) -> None:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    for _ in range(32):
        client.send_headers(
            client.get_next_available_stream_id(),
            [(":method", "POST"), (":path", "/api/responses"), (":scheme", "http"), (":authority", "study"),
             ("content-type", "application/json"), ("content-length", "100")],
        )  # fmt: skip
    with connections(server, 4, client.data_to_send()) as held:
        for connection in held:
            with suppress(ConnectionError):
                assert not connection.recv(65_536).startswith(b"\0"), "the server speaks HTTP/2"
        before_s = cpu_s(server.workers()[0])
        time.sleep(2)
        assert cpu_s(server.workers()[0]) - before_s < 1
        take_whole_study(server)


@pytest.mark.parametrize(
    ("address", "head", "status"),
    [
        ("/nowhere", JSON_HEAD, 404),
        ("/api/study", JSON_HEAD, 405),
        ("/api/session", "Content-Type: text/plain\r\nContent-Length: 60000", 415),
        ("/api/responses", "Content-Type: application/json\r\nContent-Length: 6000000", 413),
        ("/api/session", "Content-Length: 60000", 415),
        ("/withdraw", "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 60000", 415),
        ("/researcher/sign-in", "Content-Type: text/plain\r\nContent-Length: 60000", 415),
        ("/nowhere", "Content-Type: text/plain\r\nContent-Length: 60000", 404),
        ("/api/study", "Content-Type: text/plain\r\nContent-Length: 60000", 405),
    ],
)
def test_a_request_is_refused_for_its_address_type_or_size_before_its_body_is_read(
    server: Server, address: str, head: str, status: int
) -> None:
    with connections(server, 1, raw_request(address, head)) as (connection,):
        assert read_reply(connection)[0] == status


@pytest.mark.parametrize(
    ("address", "media_type", "body", "of_the_body"),
    [
        ("/api/session", "Application/JSON", '{"start_id": 1}', "start_id"),
        ("/withdraw", "Application/X-WWW-Form-URLEncoded", "code=NOBODYS", "NOBODYS"),
    ],
)
def test_the_case_of_a_media_type_does_not_matter(
    server: Server, address: str, media_type: str, body: str, of_the_body: str
) -> None:
    reply = httpx.post(f"{server.url}{address}", content=body, headers={"Content-Type": media_type})
    assert reply.status_code in {404, 422}
    assert of_the_body in reply.text


def test_a_page_that_sends_a_large_body_gets_the_reply_before_the_connection_closes(server: Server) -> None:
    """A client that is still sending when its connection closes gets no reply."""
    for size in (70_000, 500_000):
        body = b"[" * size
        for address in ("/api/session", "/nowhere"):
            reply = httpx.post(f"{server.url}{address}", content=body, headers={"Content-Type": "application/json"})
            assert reply.status_code == 413
            assert reply.json()["error"]


def test_a_body_in_chunks_is_refused(server: Server) -> None:
    """No browser sends a body in chunks, and an incomplete body could seem complete."""
    participant = ServedParticipant(server.url)
    body = json.dumps(participant.body(0)).encode()
    chunks = (body[first : first + 7] for first in range(0, len(body), 7))
    reply = participant.http.post("/api/responses", content=chunks, headers={"Content-Type": "application/json"})
    assert reply.status_code == 411
    assert participant.answer(0).status_code == 201


def test_a_client_that_disconnects_during_its_body_causes_no_error(server: Server) -> None:
    before = server.log
    with connections(server, 5, raw_request("/api/session", JSON_HEAD, b"{")):
        time.sleep(0.2)
    take_whole_study(server)
    assert all(json.loads(line)["level"] != "ERROR" for line in server.log[len(before) :].splitlines())


def test_a_list_of_thousands_of_invalid_responses_costs_no_more_than_one(server: Server) -> None:
    participant = ServedParticipant(server.url)
    body = {"session": participant.session["session"], "responses": [{}] * 20_000}
    reply = participant.http.post("/api/responses", json=body)
    assert reply.status_code == 422
    with pytest.raises(ValidationError) as error:
        ResponsesRequest.model_validate_json(json.dumps(body))
    assert error.value.error_count() < 10


@pytest.mark.parametrize("spelling", ["X_Forwarded_For", "x_forwarded_for", "X-Forwarded_For"])
def test_a_header_with_underscores_does_not_replace_a_header_with_hyphens(app: Flask, spelling: str) -> None:
    environ = gateway.to_environ(made_scope(headers=[("x-forwarded-for", "192.0.2.1"), (spelling, "203.0.113.9")]))
    assert environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"


def test_unreadable_cookies_are_logged_and_no_session_is_lost(server: Server) -> None:
    """A site under the same domain may set a cookie with any bytes; granian then passes none of the cookies."""
    participant = ServedParticipant(server.url)
    own = "; ".join(f"{name}={value}" for name, value in participant.http.cookies.items())
    foreign = {"Cookie": f"city=Zürich; {own}".encode()}
    body = participant.body(0)
    with httpx.Client(base_url=server.url, headers=foreign) as http:
        assert http.get("/").status_code == 200, "the page exists, so it can show the reason"
        replies = [
            http.get("/api/study"),
            http.get("/researcher/"),
            http.get("/api/session"),
            http.post("/api/responses", json=body),  # 401: the page keeps the response
        ]
    assert [reply.status_code for reply in replies] == [400, 400, 401, 401]
    for reply in replies:
        assert (
            "cannot read a cookie that another site has set for this address. Fix: delete the cookies"
            in reply.json()["error"]
        )
    warnings = [message for message in messages(server) if "cookies of a request have a character" in message]
    assert len(warnings) == 1
    assert "Fix: configure the proxy to remove" in warnings[0]
    assert "city" not in server.log
    assert participant.http.post("/api/responses", json=body).status_code == 201


def test_the_health_check_replies_while_all_threads_wait_for_the_store(study_folder: Path) -> None:
    with Server(study_folder, EQUIPOISE_THREADS="4") as server:
        participants = [ServedParticipant(server.url) for _ in range(8)]
        with locked(study_folder / "data" / "equipoise.db"):
            threads = [Thread(target=participant.answer, args=(0,)) for participant in participants]
            for thread in threads:
                thread.start()
            time.sleep(0.5)  # all requests have arrived, and wait
            assert httpx.get(f"{server.url}/healthz", timeout=3).json() == {"status": "alive"}
        for thread in threads:
            thread.join(20)
        assert sum(len(participant.acknowledged) for participant in participants) == 8


# Time-out of a body


class FakeScope:
    proto = "http"
    http_version = "1.1"
    server = "127.0.0.1:8000"
    client = "127.0.0.1:50000"
    scheme = "http"
    query_string = ""

    def __init__(self, method: str, path: str, headers: list[tuple[str, str]]) -> None:
        self.method, self.path, self.headers = method, path, dict(headers)


def made_scope(method: str = "GET", path: str = "/", headers: list[tuple[str, str]] | None = None) -> Any:
    return FakeScope(method, path, headers or [])


class StalledBody:
    """A request without any bytes after the headers."""

    status = 0

    async def __call__(self) -> bytes:
        await asyncio.sleep(3600)
        return b""

    def response_empty(self, status: int, _headers: list[tuple[str, str]]) -> None:
        self.status = status


@pytest.mark.parametrize("n_bytes", [500, 4_000_000])
def test_a_body_that_does_not_arrive_in_time_gets_status_408(
    app: Flask, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    monkeypatch.setattr(gateway, "BODY_DEADLINE_S", 0.05)
    monkeypatch.setattr(gateway, "LARGE_BODY_BYTES_PER_S", 100_000_000)
    gate = Gateway(app, 1, on_stop=lambda: None)
    stalled = StalledBody()
    headers = [("content-type", "application/json"), ("content-length", str(n_bytes))]
    request = gate.__rsgi__(made_scope("POST", "/api/responses", headers), stalled)  # type: ignore[arg-type]
    # In a new thread, because a browser test in the same process may have an event loop in the present thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, request).result()
    assert stalled.status == 408


# Processes


@posix
def test_a_process_that_dies_repeatedly_is_always_restarted(study_folder: Path) -> None:
    with Server(study_folder) as server:
        participant = ServedParticipant(server.url)
        for index in range(3):
            deadline = time.monotonic() + 30
            reply = None
            while reply is None or reply.status_code != 201:
                assert time.monotonic() < deadline, server.log
                with suppress(httpx.TransportError):
                    reply = participant.answer(index)
            (worker,) = server.workers()
            os.kill(worker, signal.SIGKILL)
        server.wait_until_ready()
        server.stop(within_s=15)
    assert len(stored_ids(study_folder)) == 3


@posix
def test_the_workers_of_a_killed_server_end(study_folder: Path) -> None:
    with Server(study_folder) as server:
        participant = ServedParticipant(server.url)
        (worker,) = server.workers()
        with locked(study_folder / "data" / "equipoise.db"):
            waiting = Thread(target=_answer, args=(participant,))
            waiting.start()
            time.sleep(0.3)
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            deadline = time.monotonic() + 20
            while _is_alive(worker):
                assert time.monotonic() < deadline, "the worker outlives its server"
                time.sleep(0.1)
        waiting.join(20)


def _answer(participant: ServedParticipant) -> None:
    with suppress(httpx.TransportError):
        participant.answer(0)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@posix
@pytest.mark.parametrize("unfinished", [None, b"G", raw_request("/api/session", JSON_HEAD, b"{")])
def test_a_stopped_server_leaves_every_response_in_one_file(
    study_folder: Path, tmp_path: Path, unfinished: bytes | None
) -> None:
    with Server(study_folder) as server, connections(server, 0 if unfinished is None else 3, unfinished or b""):
        participant = ServedParticipant(server.url)
        for index in range(5):
            participant.answer(index)
        server.process.terminate()
        server.ended(within_s=9)
    moved = tmp_path / "elsewhere" / "data"
    moved.mkdir(parents=True)
    (study_folder / "data" / "equipoise.db").rename(moved / "equipoise.db")
    assert stored_ids(moved.parent) == set(participant.acknowledged)
    assert not (study_folder / "data" / "equipoise.db-wal").exists()


def test_a_low_limit_of_open_files_is_logged_with_a_fix(study_folder: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with Server(study_folder, EQUIPOISE_CONNECTIONS=str(1_000_000)) as server:
        warnings = [json.loads(line)["message"] for line in server.log.splitlines()]
    assert hard >= 1_000_000 or any("EQUIPOISE_CONNECTIONS" in warning for warning in warnings)


@posix
def test_a_server_waits_for_an_unavailable_database_and_logs_it(study_folder: Path, postgres: Any) -> None:
    url = postgres.new_database()
    postgres.stop()
    server = Server(study_folder, "--store", url)
    try:
        server.launch()
        deadline = time.monotonic() + 60
        while "the store is unavailable" not in server.log:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert server.process.poll() is None
        for line in server.log.splitlines():
            record = json.loads(line)
            assert (record["level"], record["message"]) == ("WARNING", "the store is unavailable; waiting for it")
            assert record["reason"] and record["next_try_in_s"]
    finally:
        postgres.start()
        try:
            server.wait_until_ready()
            assert ServedParticipant(server.url).answer(0).status_code == 201
        finally:
            server.__exit__(None, None, None)


@posix
def test_a_server_whose_data_other_users_can_read_logs_a_warning_with_a_fix() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        copy_sample_study("blackbox-predict", Path(name) / "study")
        data = Path(name) / "study" / "data"
        data.mkdir(mode=0o755)
        data.parent.chmod(0o755)
        with Server(data.parent) as server:
            logged = messages(server)
        assert any(f"{data}: other users of this machine can read this folder. Fix: chmod" in line for line in logged)
        data.chmod(0o700)
        with Server(data.parent) as server:
            assert not any("other users" in line for line in messages(server))


def messages(server: Server) -> list[str]:
    return [json.loads(line)["message"] for line in server.log.splitlines()]


@posix
def test_a_study_that_becomes_invalid_is_reported_and_served_again_after_its_correction(
    study_folder: Path,
) -> None:
    with Server(study_folder) as server:
        participant = ServedParticipant(server.url)
        whole = (study_folder / "study.yaml").read_text(encoding="utf-8")
        (study_folder / "study.yaml").write_text("study: [", encoding="utf-8")
        (worker,) = server.workers()
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while "a server process cannot start" not in messages(server):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        records = [json.loads(line) for line in server.log.splitlines()]
        (reason, *_) = [record["reason"] for record in records if "reason" in record]
        assert "study.yaml, line 1: this is not valid YAML" in reason
        (study_folder / "study.yaml").write_text(whole, encoding="utf-8")
        server.wait_until_ready()
        assert participant.answer(0).status_code == 201
