"""The worker process, which serves the study's application and ends with its parent process."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from flask import Flask

from batteries.errors import InputError
from experiment.load_study import load_study
from server.app import create_app
from server.gateway import DROP_CONNECTIONS, Gateway
from server.locations import secrets_folder, store_location
from server.logs import logger, write_json_lines
from server.researchers.preview import end_previews
from server.researchers.sign_in import note_refused_sign_ins
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store import Store, StoreAway
from server.store.open import open_store

GC_THRESHOLD = 50_000
"""Number of new objects after which Python searches for garbage. With the default of 700, it would search too often.
"""
DROP_CONNECTIONS_AFTER_S = 3
"""Time in seconds in which running requests must finish when the server stops. Then all connections are closed."""
STOP_TIMEOUT_S = 9
"""Time in seconds after which the server kills a stopping process."""
LONGEST_BACK_OFF_S = 30.0
"""Longest time in seconds between two attempts to start a process or to open the store."""


def load_app(folder: Path, settings: Settings) -> Callable[..., Any]:
    """Make the application in the worker process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # A fork has its parent's handlers; granian sets new ones later.
    write_json_lines(settings.log_level)
    if settings.processes == 1:
        _keep_to_one_core(settings.port)
    threading.Thread(target=_stop_with_parent, name="equipoise-parent-watch", daemon=True).start()
    try:
        study = load_study(folder)
        store = open_store_when_there(store_location(study, settings))
        app = create_app(study, store, read_secrets(secrets_folder(study, settings)), settings)
    except InputError as error:  # The study or the store has changed since the server was started.
        logger.error("a server process cannot start", extra={"reason": str(error)})
        sys.exit(1)
    # The present objects stay in use, and searching them for garbage would delay replies.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    return Gateway(app, settings.threads, on_stop=partial(_close, app, store))  # type: ignore[return-value]  # RSGI calls __rsgi__


def _close(app: Flask, store: Store) -> None:
    """Log the number of wrong tokens that this process has not logged yet, then close the store."""
    end_previews(app)
    with closing(store), app.app_context():
        note_refused_sign_ins()


def _keep_to_one_core(port: int) -> None:
    """Keep this process on one core, if the operating system can do so. Call this before the process starts threads.

    Python runs one thread at a time. With several cores, a switch between threads often wakes another core, which
    takes a third of a request's time. The number of the port determines the core, so that two servers use two cores.
    Batch scheduling avoids interruptions of the running thread, which took a twentieth of a request's time.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        with suppress(OSError):  # Some containers forbid these calls, which only save time.
            os.sched_setaffinity(0, {cores[port % len(cores)]})
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _stop_with_parent() -> None:
    """Wait until the parent process ends, then end this process, so that it does not occupy the port and the store."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        if os.name == "posix":
            time.sleep(DROP_CONNECTIONS_AFTER_S)
            os.kill(os.getpid(), DROP_CONNECTIONS)
        time.sleep(STOP_TIMEOUT_S)
        os._exit(1)  # The process has not stopped by itself.


def open_store_when_there(location: str) -> Store:
    """Return the store. If its database is not available yet, wait until it has started."""
    wait_s = 1.0
    while True:
        try:
            return open_store(location)
        except StoreAway as error:
            logger.warning(
                "the store is unavailable; waiting for it", extra={"reason": str(error), "next_try_in_s": wait_s}
            )
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_BACK_OFF_S)
