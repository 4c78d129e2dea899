"""Operation of a server: health, readiness, metrics, logs, secrets, and an orderly stop.

The second half runs real servers, as `equipoise serve` starts them, and stops them in every possible way.
"""

import ctypes
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import Flask

from batteries.errors import InputError
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.app import create_app
from server.security.secret_files import Secrets, read_secrets
from server.serve import free_port
from server.settings import Settings
from server.store import SqliteStore, StoreUnavailable
from tests.server.participants.visitors import pid
from tests.server.served import ServedParticipant, Server, assert_sound, locked, parsed, posix, stored_ids
from tests.server.stores import at_once, sign_in

TOKEN = "researcher-token"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


# Health and readiness


def test_a_running_server_is_alive_without_its_store(
    app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "check", lambda: pytest.fail("the store was asked"))
    store.path.rename(store.path.with_name("moved.db"))
    reply = app.test_client().get("/healthz")
    assert (reply.status_code, reply.get_json()) == (200, {"status": "alive"})


def test_a_server_is_ready_while_its_store_accepts_responses_and_otherwise_not(
    app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = app.test_client()
    assert http.get("/readyz").get_json() == {"status": "ready"}
    with monkeypatch.context() as patch:

        def away() -> None:
            raise StoreUnavailable("database or disk is full")

        patch.setattr(store, "check", away)
        reply = http.get("/readyz")
        assert reply.status_code == 503
        assert int(reply.headers["Retry-After"]) >= 1
        assert set(reply.get_json()) == {"error"}
        assert "disk" not in reply.text
    assert http.get("/readyz").status_code == 200


def test_a_server_without_its_store_file_is_not_ready_until_the_file_returns(
    app: Flask, participant: Any, store: SqliteStore
) -> None:
    participant.answer(0)
    http = app.test_client()
    away = store.path.with_name("elsewhere.db")
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.path.rename(away)
    for request in (lambda: http.get("/readyz"), lambda: participant.answer(1)):
        reply = request()
        assert (reply.status_code, reply.headers["Retry-After"]) == (503, "1")
    assert not store.path.exists(), "a new store was made, without the existing sessions"
    away.rename(store.path)
    assert http.get("/readyz").status_code == 200
    assert participant.answer(1).status_code == 201


def test_a_server_is_not_ready_while_its_database_is_down(small_study: Study, postgres: Any) -> None:
    from server.store.postgres.store import PostgresStore

    store = PostgresStore(postgres.new_database())
    http = create_app(small_study, store, Secrets("a key", TOKEN), Settings()).test_client()
    assert http.get("/readyz").status_code == 200
    postgres.stop()
    try:
        reply = http.get("/readyz")
        assert reply.status_code == 503
        assert set(reply.get_json()) == {"error"}
        assert http.get("/healthz").status_code == 200
    finally:
        postgres.start()
    deadline = time.monotonic() + 30
    while http.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline, "the server never found its database again"
        time.sleep(0.2)
    store.close()


# Metrics


def figures(http: Any) -> dict[str, float]:
    """Return the metrics by name and labels, as Prometheus reads them."""
    reply = http.get("/metrics", headers=AUTHORIZED)
    assert reply.status_code == 200
    return parsed(reply.text)


def test_the_metrics_count_requests_responses_and_sessions(app: Flask, participant: Any) -> None:
    http = app.test_client()
    before = figures(http)
    participant.answer(0)
    participant.answer(0)  # another response to the same question
    participant.answer(1)
    http.get("/nowhere")
    after = figures(http)

    def grown(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    assert grown("equipoise_responses_stored_total") == 2
    assert grown('equipoise_requests_total{endpoint="participants.respond",status="201"}') == 2
    assert grown('equipoise_requests_total{endpoint="participants.respond",status="409"}') == 1
    assert grown('equipoise_requests_total{endpoint="none",status="404"}') == 1
    assert grown('equipoise_request_seconds_count{endpoint="participants.respond"}') == 3
    assert grown('equipoise_request_seconds_bucket{endpoint="participants.respond",le="+Inf"}') == 3
    assert after['equipoise_sessions{group="1",kind="human",state="under_way"}'] == 1
    participant.withdraw()
    assert figures(http)['equipoise_sessions{group="1",kind="human",state="withdrawn"}'] == 1


def test_a_retry_counts_as_a_request_and_not_as_a_response(app: Flask, participant: Any) -> None:
    http = app.test_client()
    response_id = str(uuid.uuid4())
    participant.answer(0, response_id=response_id)
    before = figures(http)["equipoise_responses_stored_total"]
    participant.answer(0, response_id=response_id)
    assert figures(http)["equipoise_responses_stored_total"] == before


def test_requests_that_the_store_could_not_serve_are_counted(
    app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = app.test_client()
    before = figures(http)["equipoise_store_unavailable_total"]

    def away() -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "check", away)
    http.get("/readyz")
    assert figures(http)["equipoise_store_unavailable_total"] == before + 1


def test_a_page_that_fails_without_the_store_is_counted_and_logged_as_an_error(
    app: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    http = app.test_client()
    before = figures(http)["equipoise_store_unavailable_total"]

    def away(*_args: object, **_details: object) -> None:
        raise StoreUnavailable("no disk")

    with monkeypatch.context() as patch:
        patch.setattr(store, "sessions_with_code", away)
        patch.setattr(store, "note", away)
        assert http.post("/withdraw", data={"code": "ABCDEF0123"}).status_code == 503
        assert sign_in(http).status_code == 503
    assert figures(http)["equipoise_store_unavailable_total"] == before + 2
    errors = [(record.message, vars(record)["reason"]) for record in caplog.records if record.levelname == "ERROR"]
    assert errors == [("the store cannot be used", "no disk")] * 2


def test_the_metrics_contain_no_participant_and_no_network_address(
    app: Flask, participant: Any, store: SqliteStore
) -> None:
    http = app.test_client()
    http.get("/a-very-particular-address")
    sign_in(http, "a-guess")
    text = http.get("/metrics", headers=AUTHORIZED).text
    names = {row["session"] for row in store.trials()} | {row["participant"] for row in store.trials()}
    for personal in (*names, "a-very-particular-address", "a-guess", TOKEN, "127.0.0.1"):
        assert personal not in text


# Secrets


@pytest.mark.skipif(os.name != "posix", reason="Windows has no file modes")
def test_secrets_are_made_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        made = read_secrets(tmp_path / "new" / "secrets")
    finally:
        os.umask(old)
    assert made == read_secrets(tmp_path / "new" / "secrets")
    assert made.signing_key != made.researcher_token
    folder = tmp_path / "new" / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["researcher-token", "signing-key"]
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert len(path.read_text(encoding="ascii")) >= 32  # 192 bits


def test_no_two_folders_have_the_same_secrets(tmp_path: Path) -> None:
    found = [read_secrets(tmp_path / str(number)) for number in range(20)]
    assert len({secret for one in found for secret in (one.signing_key, one.researcher_token)}) == 40


def test_servers_that_start_together_use_the_same_secrets(tmp_path: Path) -> None:
    for number in range(20):
        folder = tmp_path / str(number)
        found = at_once(*[lambda folder=folder: read_secrets(folder)] * 8)
        assert all(isinstance(one, Secrets) for one in found), found
        assert len(set(found)) == 1
        assert sorted(path.name for path in folder.iterdir()) == ["researcher-token", "signing-key"]


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 40, b" " * 40])
def test_a_file_without_a_valid_secret_is_refused_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    read_secrets(tmp_path)
    (tmp_path / "signing-key").write_bytes(content)
    with pytest.raises(InputError, match="signing-key") as refused:
        read_secrets(tmp_path)
    assert "\n" not in str(refused.value)
    assert (tmp_path / "signing-key").read_bytes() == content


def test_a_secret_may_end_with_a_line_break(tmp_path: Path) -> None:
    made = read_secrets(tmp_path)
    path = tmp_path / "researcher-token"
    path.write_text(path.read_text(encoding="ascii") + "\n", encoding="ascii")
    assert read_secrets(tmp_path) == made


def test_an_error_names_the_folder_in_which_secrets_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot store the secrets"):
        read_secrets(tmp_path / "file" / "secrets")


def test_the_repr_of_secrets_does_not_show_them() -> None:
    shown = repr(Secrets("the signing key", "the researcher's token"))
    assert "the signing key" not in shown
    assert "the researcher's token" not in shown


# Real servers


@pytest.fixture(autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    while ServedParticipant.clients:
        ServedParticipant.clients.pop().close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a panel's study, which is shared by all tests that do not damage it."""
    folder = tmp_path_factory.mktemp("served") / "study"
    copy_sample_study("blackbox-predict", folder)
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("\nrecruitment: {entry: panel}\n")
    with Server(folder, EQUIPOISE_LOG_LEVEL="DEBUG") as server:
        yield server
        server.stop(within_s=10)
        assert_sound(folder)


def test_each_line_of_the_log_is_a_json_object_without_personal_data(server: Server) -> None:
    browser = "Mozilla/5.0 (a very particular browser)"
    address = "/?PROLIFIC_PID=5f3a9c0d12ab34cd56ef7890&SESSION_ID=66aa77bb88cc99dd"
    participant = ServedParticipant(server.url, address, headers={"User-Agent": browser})
    for trial in participant.session["trials"]:
        participant.answer(trial["trial_index"])
    code = participant.http.post("/api/complete", json={}).json()["completion_code"]
    participant.http.get("/nowhere?email=me@example.org", headers={"X-Forwarded-For": "203.0.113.9"})
    token = server.secret("researcher-token")
    for given in ("a-guess", token):
        httpx.post(f"{server.url}/researcher/sign-in", data={"token": given})
    again = ServedParticipant(server.url, f"/?PROLIFIC_PID={pid('another')}")
    again.http.post("/api/withdraw", json={})

    lines = server.log.splitlines()
    records = [json.loads(line) for line in lines]
    assert {"session begun", "session completed", "session withdrawn"} <= {record["message"] for record in records}
    for record in records:
        assert record["level"] in {"DEBUG", "INFO", "WARNING", "ERROR"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00", record["timestamp"])
    cookies = [cookie.value for cookie in participant.http.cookies.jar]
    assert cookies
    for personal in (
        "5f3a9c0d12ab34cd56ef7890", "66aa77bb88cc99dd", pid("another"), "203.0.113.9", "127.0.0.1", "me@example.org",
        browser,
        code, token, server.secret("signing-key"), "a-guess", "absorbed", "4321.5", *cookies,
        *participant.acknowledged,
    ):  # fmt: skip
        assert str(personal) not in server.log, personal


def test_an_unexpected_error_is_one_line_of_the_log_with_its_traceback(small_study: Study, tmp_path: Path) -> None:
    """In a separate process, because the format of the log is set for a whole process."""
    program = """
import logging
from server.logs import logger, write_json_lines
write_json_lines("INFO")
try:
    raise RuntimeError("line one\\nline two")
except RuntimeError as error:
    logger.exception("unexpected error", exc_info=error)
logging.getLogger("another.library").warning("a warning")
logging.getLogger("another.library").info("nothing")
logger.debug("nothing")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    error, warning = map(json.loads, done.stderr.splitlines())
    assert (error["level"], error["message"]) == ("ERROR", "unexpected error")
    assert "line two" in error["exc_info"]
    assert (warning["level"], warning["name"], warning["message"]) == ("WARNING", "another.library", "a warning")


def raw_request(address: str, head: str, body: bytes = b"") -> bytes:
    return f"POST {address} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode() + body


def read_reply(connection: socket.socket) -> tuple[int, dict[str, str]]:
    """Read one reply with its body; fail if the server ends the connection without a reply."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65_536)
        assert part, "the server closed the connection without an answer"
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65_536)
    return int(first.split()[1]), headers


@pytest.mark.parametrize("address", ["/api/complete", "/api/withdraw", "/api/responses", "/api/session"])
def test_a_late_body_closes_no_other_connection(server: Server, address: str) -> None:
    """A browser sends its next request on the same connection, so the server must not close this connection."""
    participant = ServedParticipant(server.url, f"/?PROLIFIC_PID={pid(address)}")
    cookie = "; ".join(f"{one.name}={one.value}" for one in participant.http.cookies.jar)
    head = f"Cookie: {cookie}\r\nContent-Type: application/json\r\nContent-Length: 2"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(raw_request(address, head))
        time.sleep(0.3)
        connection.sendall(b"{}")
        status, headers = read_reply(connection)
        assert status in {200, 409, 422}
        assert headers.get("connection", "keep-alive") != "close"
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_reply(connection)[0] == 200


def test_a_body_in_chunks_over_the_limit_is_refused(server: Server) -> None:
    participant = ServedParticipant(server.url, f"/?PROLIFIC_PID={pid('chunks')}")

    def chunks() -> Iterator[bytes]:
        yield json.dumps(participant.body(0)).encode()
        for _ in range(100):
            yield b" " * 1_024

    reply = participant.http.post("/api/responses", content=chunks(), headers={"Content-Type": "application/json"})
    assert reply.status_code in {411, 413}
    assert participant.http.get("/api/session").json()["next_trial_index"] == 0


@pytest.mark.parametrize(
    "request_line",
    [b"GET / HTTP/9.9", b"GET", b"\xff\xfe / HTTP/1.1", b"GET /\xff HTTP/1.1", b"GET /%zz?%zz HTTP/1.1",
     b"G\0T / HTTP/1.1", b"GET //evil.example/researcher HTTP/1.1", b"GET http://evil.example/ HTTP/1.1",
     b"POST /api/session HTTP/1.0", b"GET /" + b"a" * 200_000 + b" HTTP/1.1",
     "GET /?PROLIFIC_PID=é日本 HTTP/1.1".encode()],
    ids=lambda line: repr(line[:24]),
)  # fmt: skip
def test_a_malformed_request_is_refused_and_the_server_still_runs(server: Server, request_line: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection, suppress(ConnectionError):
        connection.sendall(request_line + b"\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        received = connection.recv(65_536)
        assert not received.startswith(b"HTTP/1.1 5")
        assert b"evil.example" not in received.partition(b"\r\n\r\n")[0]
    assert httpx.get(f"{server.url}/healthz").status_code == 200


# Stopping


@posix
def test_running_requests_are_finished_when_the_server_stops(study_folder: Path) -> None:
    with Server(study_folder) as server:
        participants = [ServedParticipant(server.url) for _ in range(8)]
        replies: list[Any] = []
        threads = [
            threading.Thread(target=lambda participant=participant: replies.append(participant.answer(0).status_code))
            for participant in participants
        ]
        with locked(study_folder / "data" / "equipoise.db"):
            for thread in threads:
                thread.start()
            time.sleep(0.5)  # all requests have arrived, and wait
            assert replies == []
            server.process.terminate()
            time.sleep(0.5)
            assert server.process.poll() is None, "the server ended while requests were under way"
            assert replies == []
        for thread in threads:
            thread.join(20)
        assert replies == [201] * 8
        server.ended(within_s=10)
    assert {response_id for participant in participants for response_id in participant.acknowledged} == stored_ids(
        study_folder
    )
    assert_sound(study_folder)


@posix
def test_wrong_tokens_that_are_not_logged_yet_are_logged_when_the_server_stops(study_folder: Path) -> None:
    with Server(study_folder) as server:
        for number in range(5):
            assert httpx.post(f"{server.url}/researcher/sign-in", data={"token": f"g-{number}"}).status_code == 403
        server.stop(within_s=10)
    with closing(sqlite3.connect(study_folder / "data" / "equipoise.db")) as db:
        noted = db.execute("SELECT details FROM events WHERE event = 'sign-in refused' ORDER BY event_index").fetchall()
    assert [json.loads(details) for (details,) in noted] == [{"number": 1}, {"number": 4}]
    assert_sound(study_folder)


class Load(threading.Thread):
    """A client that completes one session after the other, as fast as possible, until the server has stopped."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.acknowledged: list[str] = []
        self.unanswered: str | None = None
        self.refused: list[int] = []

    def run(self) -> None:
        with suppress(httpx.TransportError):
            while True:
                # A connection for each request, because the server may close an open connection between two requests.
                participant = ServedParticipant(self.url, limits=httpx.Limits(max_keepalive_connections=0))
                for trial in participant.session["trials"]:
                    body = participant.body(trial["trial_index"])
                    self.unanswered = body["responses"][0]["response_id"]
                    reply = participant.http.post("/api/responses", json=body)
                    if reply.status_code != 201:
                        self.refused.append(reply.status_code)
                    self.acknowledged.append(self.unanswered)
                    self.unanswered = None


@posix
def test_a_server_that_stops_under_load_loses_no_response_and_ends_within_seconds(
    study_folder: Path,
) -> None:
    with Server(study_folder) as server:
        clients = [Load(server.url) for _ in range(12)]
        for client in clients:
            client.start()
        time.sleep(2)
        server.stop(within_s=10)
        for client in clients:
            client.join(30)
    acknowledged = {response_id for client in clients for response_id in client.acknowledged}
    assert len(acknowledged) > 50, "the load was too light to prove anything"
    assert [status for client in clients for status in client.refused] == []
    stored = stored_ids(study_folder)
    assert acknowledged <= stored
    # The server replied to every request whose response it stored.
    assert stored <= acknowledged
    assert_sound(study_folder)


@posix
def test_open_connections_do_not_prevent_the_server_from_stopping(study_folder: Path) -> None:
    with Server(study_folder) as server:
        participants = [ServedParticipant(server.url) for _ in range(4)]
        is_over = threading.Event()

        def look(participant: ServedParticipant) -> None:
            with suppress(httpx.TransportError):
                while not is_over.is_set():
                    participant.http.get("/api/session")
                    time.sleep(0.02)

        threads = [threading.Thread(target=look, args=(participant,)) for participant in participants]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        try:
            server.stop(within_s=10)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


def threads_of(process: int) -> list[int]:
    return sorted(int(path.name) for path in Path(f"/proc/{process}/task").iterdir())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sends a signal to a thread, as only Linux can")
def test_a_server_stops_if_any_thread_gets_the_signal(study_folder: Path) -> None:
    """Python handles signals in its first thread only, which may be asleep if another thread gets the signal."""
    with Server(study_folder) as server:
        (worker,) = server.workers()
        others = [thread for thread in threads_of(worker) if thread != worker]
        assert others
        ctypes.CDLL(None).tgkill(worker, others[0], signal.SIGTERM)
        deadline = time.monotonic() + 8
        while worker in server.workers():
            assert time.monotonic() < deadline, "the worker slept through the signal"
            time.sleep(0.05)


@posix
def test_a_signal_during_the_start_stops_the_server(study_folder: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    # Python runs this file first, so that the workers need three seconds more to load the study, as for a large study.
    (slow / "sitecustomize.py").write_text(
        "import multiprocessing, pathlib, time\n"
        "import experiment.load_study\n"
        "load_study = experiment.load_study.load_study\n"
        "def slowly(folder):\n"
        "    if multiprocessing.parent_process() is not None:\n"
        f"        pathlib.Path({str(slow / 'begun')!r}).touch()\n"
        "        time.sleep(3)\n"
        "    return load_study(folder)\n"
        "experiment.load_study.load_study = slowly\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "equipoise", "serve", str(study_folder), "--port", str(free_port()), "--quiet"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(slow), os.environ.get("PYTHONPATH", "")])},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 30
        while not (slow / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.3)
        process.terminate()
        process.wait(8)
    except subprocess.TimeoutExpired:
        raise AssertionError("the server that was told to stop was still there after 8 s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# Workers


@posix
def test_a_killed_worker_is_replaced_and_sessions_continue(study_folder: Path) -> None:
    with Server(study_folder) as server:
        participant = ServedParticipant(server.url)
        for index in range(3):
            assert participant.answer(index).status_code == 201
        (worker,) = server.workers()
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + 30
        reply = None
        while reply is None or reply.status_code != 200:
            assert time.monotonic() < deadline, "no new worker replies"
            with suppress(httpx.TransportError):
                reply = participant.http.get("/api/session")
        assert reply.json()["next_trial_index"] == 3
        assert server.workers() != [worker]
        assert participant.answer(3).status_code == 201
        server.stop(within_s=10)
        for line in server.log.splitlines():
            json.loads(line)
    assert len(stored_ids(study_folder)) == 4
    assert_sound(study_folder)


def test_several_processes_are_refused_for_a_sqlite_file(study_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "equipoise", "serve", str(study_folder), "--processes", "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert "--processes 2" in sentence
    assert "PostgreSQL" in sentence
    assert not (study_folder / "data").exists()


@posix
def test_a_stop_during_a_restart_of_a_process_drops_open_connections(study_folder: Path, postgres: Any) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Server(study_folder, "--store", postgres.new_database(), "--processes", "2"))

        def open_connections() -> None:
            for _ in range(20):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
                connection.sendall(raw_request("/api/session", "Content-Type: application/json\r\nContent-Length: 500"))

        open_connections()
        time.sleep(0.5)
        os.kill(server.workers()[0], signal.SIGKILL)
        deadline = time.monotonic() + 10
        while "a server process has exited" not in server.log:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        open_connections()  # The first connections may all have been to the killed process.
        time.sleep(0.3)  # Less than the time before the killed process is started again.
        server.stop(within_s=9)
        assert "has dropped the connections that were still open" in server.log


@posix
def test_several_processes_share_sessions_and_add_their_metrics(study_folder: Path, postgres: Any) -> None:
    with Server(study_folder, "--store", postgres.new_database(), "--processes", "2") as server:
        workers = server.workers()
        assert len(workers) == 2
        # Without open connections the system distributes requests over the two processes.
        participants = [
            ServedParticipant(server.url, limits=httpx.Limits(max_keepalive_connections=0)) for _ in range(3)
        ]
        for participant in participants:
            for index in range(10):
                assert participant.answer(index).status_code == 201
        for _ in range(5):  # from each process
            figures = server.figures()
            assert figures["equipoise_responses_stored_total"] == 30
            assert figures['equipoise_requests_total{endpoint="participants.respond",status="201"}'] == 30
            groups = [value for name, value in figures.items() if "under_way" in name and "human" in name]
            assert sum(groups) == 3
        os.kill(workers[0], signal.SIGKILL)
        for participant in participants:
            for index in range(10, 15):
                body = participant.body(index)
                reply = None
                while reply is None:  # a request to the killed process gets no reply; the page sends the request again
                    with suppress(httpx.TransportError):
                        reply = participant.http.post("/api/responses", json=body)
                assert reply.status_code in {200, 201}
            assert participant.http.get("/api/session").json()["next_trial_index"] == 15
        server.stop(within_s=15)


@posix
def test_two_servers_that_start_together_share_secrets_and_sessions(study_folder: Path, postgres: Any) -> None:
    url = postgres.new_database()
    with ExitStack() as stack:
        servers = [Server(study_folder, "--store", url) for _ in range(2)]
        for server in servers:
            server.launch()
            stack.callback(server.__exit__, None, None, None)
        for server in servers:
            server.wait_until_ready()
        participant = ServedParticipant(servers[0].url)
        assert participant.answer(0).status_code == 201
        participant.http.base_url = httpx.URL(servers[1].url)
        assert participant.http.get("/api/session").json()["next_trial_index"] == 1
        assert participant.answer(1).status_code == 201
        names = sorted(path.name for path in (study_folder / "data").iterdir())
        assert names == ["researcher-token", "signing-key"]
        for server in servers:
            server.stop(within_s=10)


@posix
def test_a_second_server_of_the_same_file_does_no_harm(study_folder: Path) -> None:
    """A common mistake, such as a manual start in addition to the system's start: each response is still stored."""
    with Server(study_folder) as first, Server(study_folder) as second:
        participants = [ServedParticipant(server.url) for server in (first, second)]
        for index in range(10):
            replies = at_once(
                *(
                    lambda participant=participant, index=index: participant.answer(index).status_code
                    for participant in participants
                )
            )
            assert replies == [201, 201]
        for server in (first, second):
            server.stop(within_s=10)
    assert stored_ids(study_folder) == {
        response_id for participant in participants for response_id in participant.acknowledged
    }
    assert_sound(study_folder)
    assert load_study(study_folder).name == "blackbox-predict"
