"""Real servers, as `equipoise serve` starts them, and participants who take a study on them."""

import os
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import httpx
import pytest

from server.serve import free_port
from server.store import SqliteStore, Store
from tests.server.stores import problems
from tests.server_process import ServerProcess

posix = pytest.mark.skipif(os.name != "posix", reason="these tests send signals, which Windows does not have")


def parsed(text: str) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in lines}


class Server:
    """A server in separate processes, as `equipoise serve` starts it."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0, **environment: str) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.arguments = arguments
        self.environment = environment
        self.log_path = folder.parent / f"log-{self.port}"

    def __enter__(self) -> Self:
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        self.log_path.touch()
        environment = {"EQUIPOISE_REQUESTS_PER_SECOND": "100000"} | self.environment
        self.process = ServerProcess(
            self.folder, self.port, *self.arguments, environment=environment, log=self.log_path
        )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        with httpx.Client() as client:
            while time.monotonic() < deadline:
                assert self.process.poll() is None, self.log
                with suppress(httpx.TransportError):
                    if client.get(f"{self.url}/readyz").status_code == 200:
                        return
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill_group()

    def stop(self, within_s: float) -> None:
        """Signal the server to stop, and assert that it stops in time and without an error."""
        self.process.terminate()
        self.ended(within_s)

    def ended(self, within_s: float) -> None:
        began = time.monotonic()
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server was still there after {within_s} s") from None
        assert code == 0, self.log
        assert time.monotonic() - began < within_s

    @property
    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8")

    def workers(self) -> list[int]:
        """Return the process ids of the server's workers."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
        return [pid for pid, parent in pairs if parent == self.process.pid]

    def secret(self, name: str) -> str:
        return (self.folder / "data" / name).read_text(encoding="ascii")

    def figures(self) -> dict[str, float]:
        token = self.secret("researcher-token")
        reply = httpx.get(f"{self.url}/metrics", headers={"Authorization": f"Bearer {token}"})
        return parsed(reply.raise_for_status().text)


class ServedParticipant:
    """A participant who takes a study on a real server."""

    clients: ClassVar[list[httpx.Client]] = []
    """All opened clients; the test closes them at its end."""

    def __init__(self, url: str, address: str = "/", **client: Any) -> None:
        self.http = httpx.Client(base_url=url, timeout=60, **client)
        self.clients.append(self.http)
        self.http.get(address)
        digest = self.http.get("/api/study").json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        self.session = self.http.post("/api/session", json=start).raise_for_status().json()
        self.acknowledged: list[str] = []

    def body(self, trial_index: int) -> dict[str, Any]:
        task = self.session["trials"][trial_index]["task"]
        answer = {"response_id": str(uuid.uuid4()), "trial_index": trial_index, "rt_ms": 4321.5}
        answer["response"] = "absorbed" if task == "blackbox_predict" else 2
        return {"session": self.session["session"], "responses": [answer]}

    def answer(self, trial_index: int) -> httpx.Response:
        body = self.body(trial_index)
        reply = self.http.post("/api/responses", json=body)
        if reply.status_code == 201:
            self.acknowledged.append(body["responses"][0]["response_id"])
        return reply


def stored_ids(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "data" / "equipoise.db")) as db:
        return {response_id for (response_id,) in db.execute("SELECT response_id FROM responses")}


def assert_sound(folder: Path) -> None:
    """Check the store of a stopped server with its checksums."""
    store: Store = SqliteStore(folder / "data" / "equipoise.db")
    assert problems(store) == []
    store.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a store's lock, so that every write waits."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")
