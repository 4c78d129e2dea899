"""The production server (granian), which serves a study with several processes and one store.

This module limits the number of connections of a process, and the time and the size of a request's headers.
`server.gateway` limits the time and the size of a request's body.
"""

import errno
import ipaddress
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import MPServer

from batteries.errors import InputError
from batteries.files.private_files import open_folder_warning
from experiment.load_study import load_study
from experiment.web.requirements import check_degrees
from server.asset_copies import keep_assets
from server.gateway import DROP_CONNECTIONS
from server.locations import assets_folder, secrets_folder, store_location
from server.logs import logger, write_json_lines
from server.metrics import share_figures
from server.recruitment.prolific_token import prolific_tokens
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store.open import is_address
from server.worker import DROP_CONNECTIONS_AFTER_S, LONGEST_BACK_OFF_S, STOP_TIMEOUT_S, load_app, open_store_when_there

HEADERS_TIMEOUT_S = 60
"""Longest wait for a request's headers, in seconds.

An idle connection is closed after the same time. A proxy should close its idle connections earlier.
"""
HEADERS_BYTES = 32 * 1024
"""Largest size of a request's headers, in bytes."""
BACKLOG = 4096
"""Number of connections that the operating system queues for the server. Linux allows this number by default."""
SPARE_FILES = 256
"""Number of files that a process may open for the store and the libraries, in addition to its connections."""
STEADY_AFTER_S = 60.0
"""If a process has lived for this time in seconds, its end does not count as a failed start."""


def serve(folder: Path, settings: Settings, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve the study in `folder` until the process is stopped (Ctrl-C, SIGTERM). Running requests are finished first.

    Parameters
    ----------
    folder
        The study's folder.
    settings
        The settings of the server, such as the address on which it listens.
    on_ready
        Function that is called after all checks, just before the server starts.

    Raises
    ------
    InputError
        If the study or its store cannot be used, or if the server cannot listen on the host and port.
    """
    write_json_lines(settings.log_level)
    # Checked before the workers start, so that the researcher reads one sentence and not the error of a dead worker.
    study = load_study(folder)
    check_degrees(study)
    location = store_location(study, settings)
    if settings.processes > 1 and not is_address(location):
        raise InputError(
            f"--processes {settings.processes}: only one process at a time can write to a store in an SQLite file, so "
            "several server processes are not possible. Fix: omit --processes, or use PostgreSQL (--store "
            "postgresql://...)."
        )
    prolific_tokens(study, settings)
    address = _free_address(settings.host, settings.port)
    with closing(open_store_when_there(location)) as store:
        store.check_integrity()
        store.register_study(study)
    keep_assets(study, assets_folder(study, settings))
    secrets = secrets_folder(study, settings)
    read_secrets(secrets)
    for private in {secrets} if is_address(location) else {secrets, Path(location).parent}:
        if warning := open_folder_warning(private):
            logger.warning(warning)
    if item := study.lab_only_item:
        logger.warning(
            f"the item `{item.item_id}` is a PsychoPy trial, which only the laboratory can show: the server refuses "
            "participants in a browser, and accepts sessions of the laboratory"
        )
    on_ready()
    with _shared_metrics() if settings.processes > 1 else nullcontext():
        _Supervisor(
            "equipoise",
            address=address,
            port=settings.port,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,  # A proxy offers HTTP/2: in granian, a few unfinished requests keep a core busy.
            websockets=False,
            backlog=BACKLOG,
            backpressure=_allow_connections(settings.connections),
            http1_settings=HTTP1Settings(header_read_timeout=HEADERS_TIMEOUT_S * 1000, max_buffer_size=HEADERS_BYTES),
            workers=settings.processes,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_TIMEOUT_S,
            log_level=LogLevels.error,
        ).serve(target_loader=partial(load_app, folder, settings), wrap_loader=False)


class _Supervisor(MPServer):
    """Granian's server with one change: if a process dies, a new process replaces it.

    Granian itself would stop all processes.

    This class replaces a method of granian 2.8, and works only with this version.
    """

    def _serve_loop(self, spawn_target: Any, target_loader: Any) -> None:
        back_off_s = dict.fromkeys(range(self.workers), 0.5)
        while True:
            self.main_loop_interrupt.wait()
            self.main_loop_interrupt.clear()
            if self.interrupt_signal:
                self._drop_connections_in_time()
                return
            if self.reload_signal:
                self._reload(spawn_target, target_loader)  # type: ignore[no-untyped-call]
            while self.interrupt_children:
                index = self.interrupt_children.pop()
                lived_s = time.monotonic() - self.wrks[index].birth
                back_off_s[index] = 0.5 if lived_s > STEADY_AFTER_S else min(2 * back_off_s[index], LONGEST_BACK_OFF_S)
                logger.error("a server process has exited; a new process is started", extra={"in_s": back_off_s[index]})
                if self._is_stopped_within(back_off_s[index]):
                    self._drop_connections_in_time()
                    return
                self._respawn_workers([index], spawn_target, target_loader)

    def _drop_connections_in_time(self) -> None:
        """Tell the processes to close their stores, before granian kills them.

        Granian would wait for connections that never end, and then kill the processes.
        """
        if os.name == "posix":
            processes = [worker.inner for worker in self.wrks]
            threading.Thread(target=_drop_connections, args=(processes,), name="equipoise-stop", daemon=True).start()

    def _is_stopped_within(self, wait_s: float) -> bool:
        ends_at = time.monotonic() + wait_s
        while not self.interrupt_signal and (left_s := ends_at - time.monotonic()) > 0:
            time.sleep(min(left_s, 0.2))
        return bool(self.interrupt_signal)


def _drop_connections(processes: Sequence[Any]) -> None:
    time.sleep(DROP_CONNECTIONS_AFTER_S)
    for process in processes:
        if process.is_alive():
            os.kill(process.pid, DROP_CONNECTIONS)


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """Make a temporary folder for the metrics of all processes.

    The process that receives a request for metrics adds up the metrics of all processes.
    """
    with tempfile.TemporaryDirectory(prefix="equipoise-metrics-") as folder:
        share_figures(folder)
        yield


def link(host: str, port: int) -> str:
    """Return the address with which a browser opens a study that is served at `host` and `port`."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if address.is_unspecified:  # The server listens on all addresses of this machine.
        return f"http://{socket.gethostname()}:{port}"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port


def _allow_connections(wanted: int) -> int:
    """Raise the limit on open files. Return the number of connections that the limit allows, at most `wanted`."""
    try:
        import resource  # noqa: PLC0415 - missing on Windows, which has no such limit
    except ImportError:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < needed:
            logger.warning(
                f"the system allows {soft} open files, which is enough for {soft - SPARE_FILES} connections, not for "
                f"{wanted}. Fix: raise the limit (`ulimit -n`, LimitNOFILE= in systemd), or lower "
                "EQUIPOISE_CONNECTIONS."
            )
            return max(1, soft - SPARE_FILES)
    return wanted


def _free_address(host: str, port: int) -> str:
    """Return the numeric address of `host`. Raise InputError if the port is in use."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server((host, port), family=family):
            return str(address[0])
    except socket.gaierror:
        raise InputError(
            f"--host {host}: no network address belongs to this name. Fix: use --host 127.0.0.1."
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"another program uses port {port} of {host}. Perhaps `equipoise serve` runs in another window. Fix: "
                f"stop this program, or choose another port, such as --port {port % 65_535 + 1}."
            ) from None
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise InputError(
            f"cannot listen on {host}, port {port} ({reason}). Fix: choose another host (--host) or port (--port)."
        ) from None
