"""Running a study's application under a production server (granian): one process, one store, many threads."""

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
from experiment.loading import load_study
from server.app import create_app
from server.store import SqliteStore

BLOCKING_THREADS = 64
"""Requests handled at once; a request mostly waits for the shared commit."""


def serve(folder: Path, host: str, port: int) -> None:
    """Serve the study in `folder` until the process is told to stop (Ctrl-C, SIGTERM).

    Raises
    ------
    InputError
        If the study or its store cannot be used, or the port is taken.
    """
    # Tried here first, so that a mistake is one sentence and not a worker that dies.
    study = load_study(folder)
    store = SqliteStore(study.store_path)
    try:
        store.register_study(study)
    finally:
        store.close()
    _check_port_is_free(host, port)
    server = Server(
        "equipoise",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=BLOCKING_THREADS,
        log_level=LogLevels.error,
    )
    server.serve(target_loader=partial(_load_app, folder), wrap_loader=False)


def researcher_token(folder: Path) -> str:
    """Return the secret of the researcher's pages, made at first use and readable by its owner only."""
    path = folder / "data" / "researcher-token"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text(encoding="ascii").strip()


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


def _check_port_is_free(host: str, port: int) -> None:
    try:
        with socket.create_server((host, port)):
            pass
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another with --port."
        ) from None
