"""Failover test: the primary database fails under load, its standby is promoted, no acknowledged response is lost.

The setup is that of docs/how-to/survive-a-database-failure.md: two PostgreSQL servers with synchronous replication, and
a real server with both PostgreSQL servers in its address.
"""

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from server.serve import free_port
from server.store.open import open_store
from server.store.verify import verify
from tests.end_to_end.test_durability import start_server
from tests.postgres import PostgresCluster
from tests.postgres_standby import PostgresStandby
from tests.silent_network import SilentNetwork

pytestmark = pytest.mark.skipif(os.name != "posix", reason="freezes processes, which Windows cannot do")

N_CLIENTS = 6
BACK_WITHIN_S = 30.0
"""Longest time from the failure of the primary to new acknowledged responses of each participant."""


class Participant(threading.Thread):
    """Completes sessions, and sends each request until the server acknowledges it, as the participant's page does."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.acknowledged: list[tuple[str, str]] = []
        self.failures: list[str] = []
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.is_set():
            with httpx.Client(base_url=self.url, timeout=10) as http:
                digest = self.insist(http, "GET", "/api/study")["consent_digest"]
                start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
                session = self.insist(http, "POST", "/api/session", start)
                for trial in session["trials"]:
                    if self.is_over.is_set():
                        return
                    answer = {
                        "response_id": str(uuid.uuid4()),
                        "trial_index": trial["trial_index"],
                        "response": "absorbed" if trial["task"] == "blackbox_predict" else 2,
                    }
                    self.insist(http, "POST", "/api/responses", {"session": session["session"], "responses": [answer]})
                    self.acknowledged.append((session["session"], answer["response_id"]))
                    time.sleep(0.02)
                self.insist(http, "POST", "/api/complete", {})

    def insist(self, http: httpx.Client, method: str, path: str, body: Any = None) -> Any:
        while True:
            try:
                response = http.request(method, path, json=body)
                if response.status_code < 500:
                    return response.raise_for_status().json()
                self.failures.append(str(response.status_code))
            except httpx.TransportError as error:
                self.failures.append(repr(error))
            time.sleep(0.25)


@dataclass
class Drill:
    """A server under load, with two databases in its address."""

    primary: PostgresCluster
    network: SilentNetwork
    standby: PostgresStandby
    participants: list[Participant]

    def wait_for_answers(self, within_s: float, n: int = 1) -> None:
        """Wait until the server has acknowledged `n` more responses of each participant."""
        deadline = time.monotonic() + within_s
        so_far = [len(one.acknowledged) for one in self.participants]
        while not all(len(one.acknowledged) >= n + m for one, m in zip(self.participants, so_far, strict=True)):
            assert time.monotonic() < deadline, "a participant got no more acknowledgements"
            time.sleep(0.05)


@contextmanager
def drill(study_folder: Path, processes: int = 1) -> Iterator[Drill]:
    with (
        PostgresCluster() as primary,
        PostgresStandby(primary) as standby,
        SilentNetwork(primary.port) as network,
    ):
        database = primary.new_database().rpartition("/")[2]
        address = f"postgresql://postgres@127.0.0.1:{network.port},127.0.0.1:{standby.port}/{database}"
        port = free_port()
        server = start_server(study_folder, port, "--store", address, "--processes", str(processes))
        participants = [Participant(f"http://127.0.0.1:{port}") for _ in range(N_CLIENTS)]
        try:
            for participant in participants:
                participant.start()
            running = Drill(primary, network, standby, participants)
            running.wait_for_answers(within_s=30, n=10)
            yield running
            for participant in participants:
                participant.is_over.set()
            for participant in participants:
                participant.join(30)
                assert not participant.is_alive()
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
        acknowledged = sorted(pair for participant in participants for pair in participant.acknowledged)
        with closing(open_store(standby.url(database))) as store, store.snapshot() as db:
            stored = sorted(map(tuple, db.execute("SELECT session, response_id FROM responses").fetchall()))
            assert stored == acknowledged  # no response is lost or duplicate
            assert verify(db).problems == []


def freeze(drill: Drill) -> None:
    drill.primary.freeze()


def kill(drill: Drill) -> None:
    drill.primary.kill()


def unplug(drill: Drill) -> None:
    drill.network.unplug()


@pytest.mark.usefixtures("postgres")  # skips this test if PostgreSQL is missing
@pytest.mark.parametrize("fail", [freeze, kill, unplug])
def test_a_failed_primary_is_replaced_by_its_standby_without_a_lost_or_duplicate_response(
    study_folder: Path, fail: Callable[[Drill], None]
) -> None:
    with drill(study_folder) as running:
        failed_at = time.monotonic()
        fail(running)
        time.sleep(3)  # time until the failure is noticed
        running.standby.promote()
        running.wait_for_answers(within_s=BACK_WITHIN_S - (time.monotonic() - failed_at), n=5)
        assert any(one.failures for one in running.participants), "no participant noticed the failure"
        running.primary.kill()  # by the guide, an old primary never returns by itself


def test_no_response_is_acknowledged_before_the_standby_has_stored_it(
    postgres: PostgresCluster, study_folder: Path
) -> None:
    """While the standby is frozen, the primary delays commits, and no client gets an acknowledgement."""
    del postgres
    with drill(study_folder) as running:
        running.standby.freeze()
        time.sleep(1)
        before = [len(one.acknowledged) for one in running.participants]
        time.sleep(9)
        assert [len(one.acknowledged) for one in running.participants] == before
        running.standby.thaw()
        running.wait_for_answers(within_s=BACK_WITHIN_S, n=5)
        wait_until_replicated(running)


def wait_until_replicated(running: Drill) -> None:
    for participant in running.participants:
        participant.is_over.set()
        participant.join(30)
    with psycopg.connect(running.primary.url("postgres"), autocommit=True) as db:
        deadline = time.monotonic() + 30
        while db.execute(
            "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication WHERE pg_current_wal_lsn() IS NOT NULL"
        ).fetchall() != [(True,)]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    running.standby.promote()
