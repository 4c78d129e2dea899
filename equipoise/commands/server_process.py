"""`equipoise serve` and `equipoise simulate`: serve a study to people or to simulated participants."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
import httpx

from batteries.errors import InputError
from equipoise.commands.check.checklist import listed
from equipoise.commands.check.duration import deadline_problem
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, setting_of, shown_location, store_of
from equipoise.progress_bar import progress_bar
from experiment.load_study import load_study
from experiment.records import Kind
from experiment.simulated_participants import simulate as simulate_participants
from experiment.study.definition import Study
from experiment.study.unfinished_texts import find_gaps
from server.locations import secrets_folder, store_location
from server.logs import logger
from server.security.allowed_hosts import is_for_this_machine_only
from server.security.secret_files import read_secrets
from server.serve import free_port, link
from server.serve import serve as serve_until_stopped
from server.settings import Settings, read_settings
from server.store.models import has_active_owner
from server.store.open import opened_store

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15


@contextmanager
def running_server(
    folder: Path, location: StoreAddress | None = None, environment: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """Serve a study on a free port of this machine. Yield the URL. At the end of the `with` block, stop the server.

    Parameters
    ----------
    folder
        The study's folder.
    location
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    environment
        Environment variables of the server, with its settings; by default those of this process.

    Raises
    ------
    InputError
        If the server does not start.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        # -P: Python must not import a folder `analysis` or `server` of the user instead of the packages of Equipoise.
        [
            sys.executable,
            "-P",
            "-m",
            "equipoise",
            "serve",
            str(folder),
            "--port",
            str(port),
            "--quiet",
            *(["--store", str(location)] if location else []),
        ],
        stdin=subprocess.DEVNULL,
        # All simulated participants come from one address, and respond faster than people do.
        env={
            **environment,
            "EQUIPOISE_STARTS_PER_MINUTE": "1000000",
            "EQUIPOISE_REQUESTS_PER_SECOND": "100000",
            "EQUIPOISE_SLOTS_PER_ADDRESS": "1000000",
            "EQUIPOISE_LOG_LEVEL": "WARNING",
        },
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
    with httpx.Client(timeout=5) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise InputError(
                    f"the server for this study exited at once (exit code {process.returncode}). Fix: correct the "
                    "problem in the message above."
                )
            try:
                client.get(f"{url}/api/study").raise_for_status()
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
    raise InputError(
        f"the server did not respond within {START_TIMEOUT_S} s. Fix: close other programs, and try again."
    )


def number_of_simulated(study: Study, location: StoreAddress | None = None) -> int:
    """Return the number of simulated participants who have begun the study."""
    with store_of(study, location) as store:
        store.register_study(study)
        return sum(group.n_begun for group in store.progress(study) if group.kind is Kind.SIMULATED)


def researcher_token(study: Study) -> str:
    """Return the token with which the researcher signs in at a study's server."""
    return read_secrets(secrets_folder(study, read_settings())).researcher_token


def announce(folder: Path, settings: Settings) -> None:
    """Print the addresses of the served study's pages."""
    study = load_study(folder)
    address = link(settings.host, settings.port)
    token = read_secrets(secrets_folder(study, settings)).researcher_token
    with opened_store(store_location(study, settings)) as store:
        has_owner = has_active_owner(store.accounts(study))
    click.echo(f"{study.definition.title}")
    click.echo(f"  participants: {address}/")
    click.echo(f"  researchers:  {address}/researcher/{'' if has_owner else f'#{token}'}")
    if gaps := find_gaps(study):
        click.echo(
            f"Note: participants see texts with a gap: {listed(gaps)}. Correct them before you launch the study."
        )
    click.echo("Press Ctrl-C to stop; no response is lost.")


def serve(
    study: StudyFolder,
    *,
    store: StoreAddress | None = None,
    host: str | None = None,
    port: int | None = None,
    processes: int | None = None,
    proxies: int | None = None,
    quiet: bool = False,
) -> None:
    """Serve a study until Ctrl-C.

    Parameters
    ----------
    study
        The study or its folder.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    host, port
        Address and port to listen on.
    processes
        Number of server processes; more than one needs PostgreSQL.
    proxies
        Number of reverse proxies in front of the server.
    quiet
        True to print the log only, without the addresses of the pages.

    Raises
    ------
    InputError
        If the study or a setting is invalid, or the port is in use.
    """
    folder = study.folder if isinstance(study, Study) else Path(study)
    settings = read_settings(store=setting_of(store), host=host, port=port, processes=processes, proxies=proxies)

    def on_ready() -> None:
        if quiet:
            _log_gaps(folder, settings)
        else:
            announce(folder, settings)

    serve_until_stopped(folder, settings, on_ready=on_ready)


def _log_gaps(folder: Path, settings: Settings) -> None:
    """Log a warning about marks such as TODO in the participants' pages.

    A server that only this machine can reach logs no warning, because it serves simulated participants.
    """
    gaps = find_gaps(load_study(folder))
    if gaps and not is_for_this_machine_only(settings):
        logger.warning(
            f"participants read unfinished texts: {'; '.join(map(str, gaps))}. Fix: replace each mark with your own "
            "text, and start the server again."
        )


def simulate(study: StudyFolder, n_participants: int, seed: int = 1, store: StoreAddress | None = None) -> str:
    """Simulate participants who respond to a study over HTTP.

    The store marks their responses as simulated, and keeps all earlier responses.

    Parameters
    ----------
    study
        The study or its folder.
    n_participants
        Number of new simulated participants.
    seed
        Seed of the participants and their responses.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    str
        The file of the store, or the words `the database`, without the database's address.

    Raises
    ------
    InputError
        If the number is less than 1, or the server does not start.
    """
    study = loaded(study)
    if n_participants < 1:
        raise InputError(f"-n {n_participants}: no participant would begin. Fix: ask for at least 1 participant.")
    if problem := deadline_problem(study):
        click.secho(
            f"WARNING: {problem} Responses after the deadline are missing. Fix: raise `timing.deadline_ms`, or shorten "
            "the questions.",
            err=True,
            bold=True,
        )
    with running_server(study.folder, store) as url, progress_bar("Simulating participants", n_participants) as on_done:
        first_number = number_of_simulated(study, store)
        simulate_participants(url, researcher_token(study), study, n_participants, seed, on_done, first_number)
    return shown_location(study, store)
