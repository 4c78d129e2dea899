"""Server processes killed with SIGKILL under load: no acknowledged response is lost, and no retry is stored twice."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.serve import free_port
from server.store.open import open_store
from server.store.verify import verify
from tests.server_process import UNLIMITED, ServerProcess
from tests.waiting import wait_until_it_replies

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process group, which Windows does not have")

N_CLIENTS = 12
N_UNDER_LOAD = 100


class Client(threading.Thread):
    """Completes sessions as fast as the server allows, and records the acknowledged responses."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.acknowledged: list[str] = []
        self.unanswered: dict[str, Any] | None = None
        self.cookies: dict[str, str] = {}

    def run(self) -> None:
        with suppress(httpx.TransportError):
            while True:
                with httpx.Client(base_url=self.url, timeout=10) as http:
                    digest = http.get("/api/study").json()["consent_digest"]
                    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
                    session = http.post("/api/session", json=start).raise_for_status().json()
                    self.cookies = dict(http.cookies)
                    for trial in session["trials"]:
                        self._answer(http, session["session"], trial)
                    http.post("/api/complete", json={}).raise_for_status()

    def _answer(self, http: httpx.Client, session: str, trial: dict[str, Any]) -> None:
        response_id = str(uuid.uuid4())
        response = "absorbed" if trial["task"] == "blackbox_predict" else 2
        answer = {"response_id": response_id, "trial_index": trial["trial_index"], "response": response}
        self.unanswered = {"session": session, "responses": [answer]}
        http.post("/api/responses", json=self.unanswered).raise_for_status()
        self.acknowledged.append(response_id)
        self.unanswered = None


def start_server(folder: Path, port: int, *options: str) -> ServerProcess:
    process = ServerProcess(folder, port, *options, environment=UNLIMITED | {"EQUIPOISE_SLOTS_PER_ADDRESS": "1000000"})
    wait_until_it_replies(f"http://127.0.0.1:{port}/api/study", process)
    return process


def wait_for_acknowledgements(clients: Sequence[Client], n: int) -> None:
    """Wait until the clients together have `n` further acknowledged responses, however slow this machine is."""
    enough = sum(len(client.acknowledged) for client in clients) + n
    deadline = time.monotonic() + 60
    while sum(len(client.acknowledged) for client in clients) < enough:
        assert time.monotonic() < deadline, "the servers stopped acknowledging responses; did the clients fail?"
        time.sleep(0.01)


def stored_ids(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "data" / "equipoise.db") as db:
        ids = [response_id for (response_id,) in db.execute("SELECT response_id FROM responses")]
    db.close()
    return ids


def test_sigkill_under_load_loses_no_acknowledged_response(study_folder: Path) -> None:
    port = free_port()
    server = start_server(study_folder, port)
    clients = [Client(f"http://127.0.0.1:{port}") for _ in range(N_CLIENTS)]
    for client in clients:
        client.start()
    wait_for_acknowledgements(clients, N_UNDER_LOAD)
    deadline = time.monotonic() + 10
    while (
        sum(client.unanswered is not None for client in clients if client.is_alive()) < 3
    ):  # kill the server during requests
        assert time.monotonic() < deadline, "no requests are running; did the clients fail?"
        time.sleep(0.0005)
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    for client in clients:
        client.join(30)

    acknowledged = {response_id for client in clients for response_id in client.acknowledged}
    assert any(client.unanswered for client in clients), "no request was running when the server was killed"
    assert acknowledged <= set(stored_ids(study_folder))

    # Each client sends its unacknowledged response again, as the page does. Afterwards each response is stored once.
    server = start_server(study_folder, port)
    try:
        for client in clients:
            if client.unanswered:
                again = httpx.post(
                    f"http://127.0.0.1:{port}/api/responses", json=client.unanswered, cookies=client.cookies
                )
                assert again.status_code in {200, 201}
                acknowledged.update(answer["response_id"] for answer in client.unanswered["responses"])
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(15)
    ids = stored_ids(study_folder)
    assert acknowledged <= set(ids)
    assert len(ids) == len(set(ids))


class Traveller(Client):
    """Sends the same request to the next server if a server does not reply, as a load balancer does."""

    def __init__(self, urls: list[str], first: int) -> None:
        super().__init__(urls[first])
        self.urls = urls
        self.moves = 0
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            with httpx.Client(timeout=10) as http:
                digest = self.request(http, "GET", "/api/study", None)["consent_digest"]
                start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
                session = self.request(http, "POST", "/api/session", start)
                for trial in session["trials"]:
                    answer = {
                        "response_id": str(uuid.uuid4()),
                        "trial_index": trial["trial_index"],
                        "response": "absorbed" if trial["task"] == "blackbox_predict" else 2,
                    }
                    body = {"session": session["session"], "responses": [answer]}
                    self.request(http, "POST", "/api/responses", body)
                    self.acknowledged.append(answer["response_id"])
                self.request(http, "POST", "/api/complete", {})

    def request(self, http: httpx.Client, method: str, path: str, body: dict[str, Any] | None) -> Any:
        while True:
            try:
                return http.request(method, self.url + path, json=body).raise_for_status().json()
            except httpx.TransportError:
                self.moves += 1
                self.url = self.urls[(self.urls.index(self.url) + 1) % len(self.urls)]


def test_killing_one_of_three_servers_under_load_loses_no_response(study_folder: Path, postgres: Any) -> None:
    database = postgres.new_database()
    ports = [free_port() for _ in range(3)]
    servers = [start_server(study_folder, port, "--store", database) for port in ports]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    travellers = [Traveller(urls, number % 3) for number in range(N_CLIENTS)]
    try:
        for traveller in travellers:
            traveller.start()
        wait_for_acknowledgements(travellers, N_UNDER_LOAD)
        os.killpg(servers[1].pid, signal.SIGKILL)
        wait_for_acknowledgements(travellers, N_UNDER_LOAD)
        for traveller in travellers:
            traveller.stop.set()
        for traveller in travellers:
            traveller.join(60)
            assert not traveller.is_alive()
    finally:
        for server in servers:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(15)

    acknowledged = [response_id for traveller in travellers for response_id in traveller.acknowledged]
    assert sum(traveller.moves for traveller in travellers) >= N_CLIENTS // 3, "no client noticed the killed server"
    store = open_store(database)
    try:
        with store.snapshot() as db:
            stored = [row[0] for row in db.execute("SELECT response_id FROM responses").fetchall()]
            assert sorted(stored) == sorted(acknowledged)
            assert verify(db).problems == []
            statuses = {row[0] for row in db.execute("SELECT status FROM sessions").fetchall()}
            assert statuses == {"completed"}
    finally:
        store.close()


def test_a_worker_does_not_outlive_its_killed_parent(study_folder: Path) -> None:
    port = free_port()
    server = start_server(study_folder, port)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    again = start_server_when_free(study_folder, port)
    os.killpg(again.pid, signal.SIGTERM)
    again.wait(15)


def start_server_when_free(folder: Path, port: int) -> ServerProcess:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/study", timeout=2)
        except httpx.TransportError:
            return start_server(folder, port)
        time.sleep(0.1)
    raise AssertionError("the worker still replies on the port")


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def http(port: int) -> Iterator[Callable[[], httpx.Client]]:
    """Make HTTP clients for the server on the port."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10))


class Answering:
    """A participant who takes a study over HTTP, one response at a time, and records the acknowledged responses."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        digest = self.http.get("/api/study").json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        begun = self.http.post("/api/session", json=start).raise_for_status().json()
        self.session, self.trials = begun["session"], iter(begun["trials"])
        self.acknowledged: list[str] = []

    def answer(self, n: int) -> None:
        """Respond to the next questions. Send a refused response again, as the page does."""
        for trial in (next(self.trials) for _ in range(n)):
            given = "absorbed" if trial["task"] == "blackbox_predict" else 2
            answer = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": given}
            body = {"session": self.session, "responses": [answer]}
            deadline = time.monotonic() + 20
            while (status := self.http.post("/api/responses", json=body).status_code) not in {200, 201}:
                assert status == 503 and time.monotonic() < deadline, status
                time.sleep(0.1)
            self.acknowledged.append(answer["response_id"])


@pytest.mark.parametrize(
    "touch",
    [
        lambda data: (data / "equipoise.db-wal").unlink(),
        lambda data: (data / "equipoise.db-wal").rename(data / "moved"),
        lambda data: [(data / f"equipoise.db{suffix}").unlink() for suffix in ("-wal", "-shm")],
        lambda data: os.truncate(data / "equipoise.db-wal", 0),
    ],
    ids=["log deleted", "log moved", "log and index deleted", "log emptied"],
)
def test_no_acknowledged_response_is_lost_when_the_log_of_a_running_server_is_changed(
    study_folder: Path, touch: Any, port: int, http: Callable[[], httpx.Client]
) -> None:
    server = start_server(study_folder, port)
    try:
        person = Answering(http())
        person.answer(10)
        touch(study_folder / "data")
        person.answer(8)
        assert person.http.get("/readyz").status_code == 200
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert sorted(stored_ids(study_folder)) == sorted(person.acknowledged)


def test_the_database_file_alone_has_all_responses_a_few_seconds_after_the_last_response(
    study_folder: Path, tmp_path: Path, port: int, http: Callable[[], httpx.Client]
) -> None:
    """Without its log, which a person who copies or moves the file can forget. This also holds after a kill."""
    server = start_server(study_folder, port)
    log = study_folder / "data" / "equipoise.db-wal"
    try:
        person = Answering(http())
        person.answer(10)
        deadline = time.monotonic() + 20
        while log.stat().st_size:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    alone = tmp_path / "alone" / "data" / "equipoise.db"
    alone.parent.mkdir(parents=True)
    (study_folder / "data" / "equipoise.db").rename(alone)
    assert sorted(stored_ids(tmp_path / "alone")) == sorted(person.acknowledged)


def test_a_command_deletes_responses_without_a_trace_while_the_server_runs(
    study_folder: Path, port: int, http: Callable[[], httpx.Client]
) -> None:
    """No file of the data folder contains a trace, and all responses that came later are stored."""
    server = start_server(study_folder, port)
    data = study_folder / "data"
    try:
        person, other = Answering(http()), Answering(http())
        person.answer(10)
        other.answer(3)
        traces = [response_id.encode() for response_id in person.acknowledged]
        assert any(trace in path.read_bytes() for trace in traces for path in data.iterdir())
        command = [sys.executable, "-m", "equipoise", "withdraw", str(study_folder), "--session", person.session]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert not any(trace in path.read_bytes() for trace in traces for path in data.iterdir())
        other.answer(3)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert sorted(stored_ids(study_folder)) == sorted(other.acknowledged)
