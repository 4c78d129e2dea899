"""Running a study's application under a production server (granian): processes with many threads and one store."""

import gc
import ipaddress
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from batteries.errors import InputError
from experiment.loading import load_study
from experiment.study import Study
from server.app import create_app
from server.logs import write_json_lines
from server.metrics import share_figures
from server.secret_files import read_secrets
from server.settings import Settings
from server.store.opened import is_address, open_store, opened_store

GC_THRESHOLD = 50_000
"""New objects after which Python looks for garbage; its default of 700 suits programs that do not stay."""
STOP_TIMEOUT_S = 7
"""What is under way when the server is told to stop gets this long to finish."""


def serve(folder: Path, settings: Settings, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve the study in `folder` until the process is told to stop (Ctrl-C, SIGTERM); what is under way is finished.

    Parameters
    ----------
    folder
        The study's folder.
    settings
        Where to listen and the like.
    on_ready
        Called when nothing that a person could mend stands in the way any more.

    Raises
    ------
    InputError
        If the study or its store cannot be used, or the host or port cannot be listened on.
    """
    # Tried here first, so that a mistake is one sentence and not a worker that dies.
    study = load_study(folder)
    location = store_location(study, settings)
    if settings.processes > 1 and not is_address(location):
        raise InputError(
            f"--processes {settings.processes}: a SQLite file has one writer, so that more processes gain nothing; "
            "leave it at 1, or use PostgreSQL (--store postgresql://...)."
        )
    address = _free_address(settings.host, settings.port)
    with opened_store(location) as store:
        store.check_integrity()
        store.register_study(study)
    read_secrets(secrets_folder(study, settings))
    on_ready()
    with _shared_metrics() if settings.processes > 1 else nullcontext():
        Server(
            "equipoise",
            address=address,
            port=settings.port,
            interface=Interfaces.WSGI,
            workers=settings.processes,
            blocking_threads=settings.threads,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_TIMEOUT_S,
            log_level=LogLevels.error,
        ).serve(target_loader=partial(_load_app, folder, settings), wrap_loader=False)


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """Make a folder in which processes leave their figures, to be added up by whichever is asked."""
    with tempfile.TemporaryDirectory(prefix="equipoise-metrics-") as folder:
        share_figures(folder)
        yield


def store_location(study: Study, settings: Settings) -> str:
    """Return where a study's answers go."""
    return settings.store or str(study.store_path)


def secrets_folder(study: Study, settings: Settings) -> Path:
    """Return the folder of a server's secrets."""
    return settings.secrets or study.folder / "data"


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


def _load_app(folder: Path, settings: Settings) -> Callable[..., Any]:
    """Make the application, in the worker process that will serve it."""
    write_json_lines(settings.log_level)
    if settings.processes == 1:
        _keep_to_one_core(settings.port)
    threading.Thread(target=_stop_with_parent, name="equipoise-parent-watch", daemon=True).start()
    _wake_for_signals()
    study = load_study(folder)
    store = open_store(store_location(study, settings))
    app = create_app(study, store, read_secrets(secrets_folder(study, settings)), settings)
    # What is there now stays: looking through it for garbage again and again would make some answers wait.
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    return app


def _keep_to_one_core(port: int) -> None:
    """Keep this process, before it has threads, on one core, where the system knows of such a thing.

    Python runs on one core at a time. Kept on one, it need not wake another at each of its many handovers between
    threads, which takes a third of the time of a request. Chosen by the port, so that two servers take two cores.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[port % len(cores)]})


def _wake_for_signals() -> None:
    """Wake the first thread for a signal that the system hands to another: Python acts on signals in the first only."""
    if os.name != "posix":
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    first = threading.get_ident()

    def pass_on() -> None:
        number = os.read(read, 1)[0]
        signal.pthread_kill(first, number)

    threading.Thread(target=pass_on, name="equipoise-signals", daemon=True).start()


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
