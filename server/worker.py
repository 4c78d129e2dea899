"""The worker process: the study's application in its gateway, and the end of the process with its parent."""

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
from server.gateway import LET_GO, Gateway
from server.locations import secrets_folder, store_location
from server.logs import logger, write_json_lines
from server.researchers.sign_in import note_refused_sign_ins
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store import Store, StoreAway
from server.store.open import open_store

GC_THRESHOLD = 50_000
"""New objects before Python collects garbage; its default of 700 is for short programs."""
LET_GO_AFTER_S = 3
"""Time for running requests when the server stops; then connections that never end are dropped."""
STOP_TIMEOUT_S = 9
"""Time after which a stopping process is killed."""
LONGEST_BACK_OFF_S = 30.0
"""Time between two starts of a process that dies at once."""


def load_app(folder: Path, settings: Settings) -> Callable[..., Any]:
    """Make the application, in the worker process that will serve it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # Until there is something to finish: a fork has its parent's handlers.
    write_json_lines(settings.log_level)
    if settings.processes == 1:
        _keep_to_one_core(settings.port)
    threading.Thread(target=_stop_with_parent, name="equipoise-parent-watch", daemon=True).start()
    try:
        study = load_study(folder)
        store = open_store_when_there(store_location(study, settings))
        app = create_app(study, store, read_secrets(secrets_folder(study, settings)), settings)
    except InputError as error:  # changed since the server was started
        logger.error("a server process cannot start", extra={"reason": str(error)})
        sys.exit(1)
    # The present objects stay: searching them for garbage repeatedly would delay some replies.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    return Gateway(app, settings.threads, on_stop=partial(_close, app, store))  # type: ignore[return-value]  # RSGI calls __rsgi__


def _close(app: Flask, store: Store) -> None:
    """Close the store, after recording what only this process knows."""
    with closing(store), app.app_context():
        note_refused_sign_ins()


def _keep_to_one_core(port: int) -> None:
    """Keep this process, before it has threads, on one core, if the system supports it.

    Python runs on one core at a time. On one core it need not wake another at each of its many switches between
    threads, which takes a third of the time of a request. The core is chosen by the port, so that two servers use two
    cores. A thread that is woken also waits until the running one rests, because it needs the interpreter that this one
    holds: interrupting it took a twentieth of the time.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        with suppress(OSError):  # Some containers forbid it; it only saves time.
            os.sched_setaffinity(0, {cores[port % len(cores)]})
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _stop_with_parent() -> None:
    """End this worker when its parent has died, so that a killed server does not keep port and store."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        if os.name == "posix":
            time.sleep(LET_GO_AFTER_S)
            os.kill(os.getpid(), LET_GO)
        time.sleep(STOP_TIMEOUT_S)
        os._exit(1)  # It hangs.


def open_store_when_there(location: str) -> Store:
    """Return the store once it can be reached: a database may start after the server, or be unavailable now."""
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
