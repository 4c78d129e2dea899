"""Running a study's application under a production server (granian): one process, one store, many threads."""

import ipaddress
import logging
import multiprocessing
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from batteries.errors import InputError
from batteries.reading import read_text
from experiment.loading import load_study
from server.app import create_app
from server.store import SqliteStore

TOKEN_BYTES = 24
BLOCKING_THREADS = 64
"""Requests handled at once; a request mostly waits for the shared commit."""


def serve(folder: Path, host: str, port: int, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve the study in `folder` until the process is told to stop (Ctrl-C, SIGTERM).

    Parameters
    ----------
    folder
        The study's folder.
    host, port
        Where to listen; a name, such as localhost, or an address.
    on_ready
        Called when nothing that a person could mend stands in the way any more.

    Raises
    ------
    InputError
        If the study or its store cannot be used, or the host or port cannot be listened on.
    """
    # Tried here first, so that a mistake is one sentence and not a worker that dies.
    study = load_study(folder)
    address = _free_address(host, port)
    store = SqliteStore(study.store_path)
    try:
        store.register_study(study)
    finally:
        store.close()
    researcher_token(folder)
    on_ready()
    server = Server(
        "equipoise",
        address=address,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=BLOCKING_THREADS,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=partial(_load_app, folder), wrap_loader=False)


def researcher_token(folder: Path) -> str:
    """Return the secret of the researcher's pages, made at first use and readable by its owner only.

    Raises
    ------
    InputError
        If the file does not hold a secret.
    """
    path = folder / "data" / "researcher-token"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written aside and moved into place: a half-written secret would be an easy one.
        aside = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES))
        aside.replace(path)
    token = read_text(path).strip()
    if len(token) < TOKEN_BYTES:
        raise InputError(f"{path}: this file does not hold a secret; delete it, and a new one will be made.")
    return token


def link(host: str, port: int) -> str:
    """Return the address of a study that is served at `host` and `port`, as a browser takes it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if address.is_unspecified:  # every address of this machine
        return f"http://{socket.gethostname()}:{port}"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port


def _load_app(folder: Path) -> Callable[..., Any]:
    """Make the application, in the worker process that will serve it."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    threading.Thread(target=_stop_with_parent, name="equipoise-parent-watch", daemon=True).start()
    study = load_study(folder)
    return create_app(study, SqliteStore(study.store_path), researcher_token(folder))


def _stop_with_parent() -> None:
    """End this worker when its parent has died, so that a killed server does not keep port and store."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _free_address(host: str, port: int) -> str:
    """Return the address that `host` names, after trying that nothing listens there yet."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server((host, port), family=family):
            return str(place[0])
    except socket.gaierror:
        raise InputError(f"--host {host}: no address of this machine has this name; try 127.0.0.1.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(
            f"cannot listen on {host}, port {port} ({reason}); choose another with --host or --port."
        ) from None
