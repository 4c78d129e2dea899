"""A study's server: as a process of its own, as long as it is needed, and in words for whoever started it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import httpx

from batteries.errors import InputError
from experiment.loading import load_study
from experiment.records import Kind
from experiment.study import Study
from server.serving import free_port, link, researcher_token
from server.store import SqliteStore

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Serve a study on a free port of this machine and yield its URL; the server stops with the block.

    Raises
    ------
    InputError
        If the server does not start.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        # -P: a folder called `analysis` or `server` where the user happens to be must not be taken for ours.
        [sys.executable, "-P", "-m", "equipoise", "serve", str(folder), "--port", str(port), "--quiet"],
        stdin=subprocess.DEVNULL,
    )
    try:
        _wait_until_ready(process, url)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise InputError(f"the server for this study ended at once (exit code {process.returncode}); see above.")
        try:
            httpx.get(f"{url}/api/study", timeout=5).raise_for_status()
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise InputError(f"the server did not answer within {START_TIMEOUT_S} s; is the machine very busy? Try again.")


def number_of_simulated(study: Study) -> int:
    """Return how many simulated participants have begun the study so far."""
    store = SqliteStore(study.store_path)
    try:
        return sum(
            group.n_active + group.n_completed + group.n_withdrawn
            for group in store.progress(study)
            if group.kind == Kind.SIMULATED
        )
    finally:
        store.close()


def announce(folder: Path, host: str, port: int) -> None:
    """Print where a study is served."""
    address = link(host, port)
    click.echo(f"{load_study(folder).definition.title}")
    click.echo(f"  participants: {address}/")
    click.echo(f"  progress:     {address}/researcher/enter/{researcher_token(folder)}")
    click.echo("Press Ctrl-C to stop; nothing that was answered is lost.")
