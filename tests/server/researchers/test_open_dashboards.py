"""Open dashboards on a real server: they occupy no thread, end at the sign-out, and do not delay the stop."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.server.served import ServedParticipant, Server, posix

N_THREADS = 4
N_DASHBOARDS = 12


@pytest.fixture
def server(study_folder: Path) -> Iterator[Server]:
    with Server(study_folder, EQUIPOISE_THREADS=str(N_THREADS)) as server:
        yield server
    while ServedParticipant.clients:
        ServedParticipant.clients.pop().close()


@contextmanager
def signed_in(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=20) as http:
        assert http.post("/researcher/sign-in", data={"token": server.secret("researcher-token")}).status_code == 303
        yield http


def test_more_dashboards_than_threads_leave_all_threads_to_participants(server: Server) -> None:
    with ExitStack() as stack:
        http = stack.enter_context(signed_in(server))
        streams = [stack.enter_context(http.stream("GET", "/researcher/live")) for _ in range(N_DASHBOARDS)]
        assert [stream.status_code for stream in streams] == [200] * N_DASHBOARDS
        participant = ServedParticipant(server.url)
        for trial_index in range(5):
            assert participant.answer(trial_index).status_code == 201
        assert http.get("/researcher/").status_code == 200


def test_an_event_is_sent_only_if_the_numbers_change(server: Server) -> None:
    with signed_in(server) as http, http.stream("GET", "/researcher/live", timeout=30) as stream:
        lines = stream.iter_lines()
        received = [next(lines) for _ in range(3)]
        began_at = time.monotonic()
        ServedParticipant(server.url)
        changed = next(line for line in lines if line.startswith("id: "))
        assert received[0] == "id: 1"
        assert changed == "id: 2"
        assert time.monotonic() - began_at < 20


@posix
def test_open_dashboards_do_not_delay_the_stop_of_a_server(server: Server) -> None:
    with ExitStack() as stack:
        http = stack.enter_context(signed_in(server))
        streams = [stack.enter_context(http.stream("GET", "/researcher/live")) for _ in range(3)]
        assert [stream.status_code for stream in streams] == [200] * 3
        server.stop(within_s=9)
