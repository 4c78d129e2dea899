"""Client addresses and host names that a real server accepts from each header of a request.

Wrong tokens are counted by address: a client that can forge another address with each guess never reaches the limit.
"""

import itertools
import socket
from collections.abc import Iterator

import pytest

from equipoise.studies import copy_sample_study
from tests.server.served import Server

N_GUESSES = 12
"""Two more than the limit of one address per minute."""
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def behind_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("proxied") / "study"
    copy_sample_study("blackbox-predict", folder)
    with Server(folder, "--proxies", "1", EQUIPOISE_HOSTS="study.example.org") as server:
        yield server
        server.stop(within_s=10)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("alone") / "study"
    copy_sample_study("blackbox-predict", folder)
    with Server(folder) as server:
        yield server
        server.stop(within_s=10)


def status_of(server: Server, address: str, *headers: str) -> int:
    """Send a request with just these headers, and return the status of the reply."""
    lines = [f"GET {address} HTTP/1.1", *headers, "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


def last_status(server: Server, *headers: str) -> int:
    """Guess the researcher's token repeatedly; `FORGED` becomes a new address each time, and `SEEN` a fixed address."""
    seen = f"198.51.100.{next(numbers)}"
    for number in range(N_GUESSES):
        sent = [line.replace("FORGED", f"203.0.113.{number}").replace("SEEN", seen) for line in headers]
        status = status_of(server, "/metrics", "Host: localhost", "Authorization: Bearer a-guess", *sent)
    return status


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Forwarded-For: SEEN"],
        ["X-Forwarded-For: FORGED, SEEN"],
        ["X-Forwarded-For: FORGED", "X-Forwarded-For: SEEN"],
        ["X_Forwarded_For: FORGED", "X-Forwarded-For: SEEN"],
        ["X-Forwarded-For: SEEN", "X_Forwarded_For: FORGED"],
        ["X-Forwarded_For: FORGED", "X-Forwarded-For: SEEN", "X_Forwarded-For: FORGED"],
    ],
)
def test_only_the_value_that_a_counted_proxy_adds_is_trusted(behind_a_proxy: Server, headers: list[str]) -> None:
    assert last_status(behind_a_proxy, *headers) == 429


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "X_Forwarded_For", "X-Real-IP", "Forwarded", "Remote-Addr", "REMOTE_ADDR"]
)
def test_without_a_counted_proxy_no_header_gives_another_address(alone: Server, name: str) -> None:
    value = "for=FORGED" if name == "Forwarded" else "FORGED"
    assert last_status(alone, f"{name}: {value}") == 429


@pytest.mark.parametrize(
    "headers",
    [
        ["Host: evil.example"],
        ["Host: evil.example", "X-Forwarded-Host: localhost"],
        ["Host: evil.example", "X_Forwarded_Host: localhost"],
    ],
)
def test_without_a_counted_proxy_the_name_is_that_of_the_host_header(alone: Server, headers: list[str]) -> None:
    assert status_of(alone, "/api/study", *headers) == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (["Host: study.example.org"], 200),
        (["Host: 127.0.0.1", "X-Forwarded-Host: study.example.org"], 200),
        (["Host: 127.0.0.1", "X-Forwarded-Host: evil.example"], 421),
        (["Host: 127.0.0.1", "X-Forwarded-Host: study.example.org", "X-Forwarded-Host: evil.example"], 421),
        (["Host: evil.example", "X_Forwarded_Host: study.example.org"], 421),
        (["Host: evil.example"], 421),
    ],
)
def test_behind_a_counted_proxy_the_host_name_is_the_forwarded_name(
    behind_a_proxy: Server, headers: list[str], status: int
) -> None:
    assert status_of(behind_a_proxy, "/api/study", *headers) == status
