"""A TCP forwarder that can become silent, like an unplugged cable, or close all connections, like a stopped network."""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self


class SilentNetwork:
    """A context manager that forwards connections on a port of 127.0.0.1 to another port, until a test unplugs it.

    An unplugged forwarder discards what it receives and closes nothing, so both sides observe only silence.

    Parameters
    ----------
    port : int
        The port to which it forwards.

    Attributes
    ----------
    port : int
        The port on which it listens.
    bytes_per_s : float or None
        Speed of the line to the client; None for no limit.
    n_messages : int
        The number of messages to the server: each round trip of a client counts once.
    """

    def __init__(self, port: int) -> None:
        self._to_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.bytes_per_s: float | None = None
        self.n_messages = 0
        self._is_plugged_in = True
        self._closes_new = False
        self._n_unplugged = 0
        self._is_closed = False
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends the wait for another connection
        self._listener.close()
        self.cut()

    def unplug(self) -> None:
        """Become silent, for existing and for new connections."""
        self._is_plugged_in = False
        self._n_unplugged += 1

    def plug_in(self) -> None:
        """Forward new connections again; the unplugged connections stay silent."""
        self._is_plugged_in = True
        self._closes_new = False

    def stop(self) -> None:
        """Close all connections, and until `plug_in` close each new connection."""
        self._closes_new = True
        self.cut()

    def cut(self) -> None:
        """Close all connections."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _start(self, job: object, *arguments: object) -> None:
        threading.Thread(target=job, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._is_closed:
                client, _ = self._listener.accept()
                if self._closes_new:
                    client.close()
                    continue
                self._sockets.append(client)
                if self._is_plugged_in:
                    server = socket.create_connection(("127.0.0.1", self._to_port))
                    self._sockets.append(server)
                    self._start(self._forward, client, server, True)
                    self._start(self._forward, server, client, False)

    def _forward(self, source: socket.socket, target: socket.socket, to_server: bool) -> None:
        n_unplugged = self._n_unplugged
        with suppress(OSError):
            while data := source.recv(16_384):
                if self._n_unplugged > n_unplugged:
                    return  # both sockets stay open
                self.n_messages += to_server
                if self.bytes_per_s and not to_server:
                    time.sleep(len(data) / self.bytes_per_s)
                target.sendall(data)
            if self._n_unplugged == n_unplugged:
                target.shutdown(socket.SHUT_WR)
