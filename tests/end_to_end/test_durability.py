"""A server process killed with SIGKILL in mid-load: nothing that it acknowledged is lost, and no retry is doubled."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.serving import free_port

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process group, which Windows does not have")

N_CLIENTS = 12
LOAD_S = 1.5


class Client(threading.Thread):
    """Takes session after session as fast as the server lets it, and notes what was acknowledged."""

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


def start_server(folder: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", "serve", str(folder), "--port", str(port), "--quiet"],
        start_new_session=True,
        # The clients all come from one address, and answer faster than people do.
        env=os.environ | {"EQUIPOISE_STARTS_PER_MINUTE": "1000000", "EQUIPOISE_REQUESTS_PER_SECOND": "100000"},
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/api/study").raise_for_status()
            return process
        time.sleep(0.05)
    raise AssertionError("the server did not start")


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
    time.sleep(LOAD_S)
    deadline = time.monotonic() + 10
    while sum(client.unanswered is not None for client in clients if client.is_alive()) < 3:  # kill them on their way
        assert time.monotonic() < deadline, "no answers are under way; did the clients fail?"
        time.sleep(0.0005)
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    for client in clients:
        client.join(30)

    acknowledged = {response_id for client in clients for response_id in client.acknowledged}
    assert len(acknowledged) > 100, "the load was too light to prove anything"
    assert any(client.unanswered for client in clients), "the kill hit no request under way"
    assert acknowledged <= set(stored_ids(study_folder))

    # Each client sends its unacknowledged answer again, as the page does: stored or not before, it is there once now.
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


def test_a_worker_does_not_outlive_its_killed_parent(study_folder: Path) -> None:
    port = free_port()
    server = start_server(study_folder, port)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    again = start_server_when_free(study_folder, port)
    os.killpg(again.pid, signal.SIGTERM)
    again.wait(15)


def start_server_when_free(folder: Path, port: int) -> subprocess.Popen[bytes]:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/study", timeout=2)
        except httpx.TransportError:
            return start_server(folder, port)
        time.sleep(0.1)
    raise AssertionError("the worker still answers on the port")
