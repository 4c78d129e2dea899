"""The host names that a server accepts.

Another site can make its own host name point to this machine (DNS rebinding). A browser would then let pages of the
other site read the server's replies. But the browser sends the host name of the other site with each request. So the
server accepts only the names of this machine, and the names in the settings `host` and `hosts`. It also accepts any
numeric address, such as 127.0.0.1.
"""

import ipaddress
import re
import socket
from functools import lru_cache

from flask import request
from werkzeug.exceptions import HTTPException

from server.settings import Settings

WITHOUT_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::\d*)?")
OF_ANY_NAME = frozenset({"/healthz", "/readyz"})
"""Paths of the health checks. For these paths, the server accepts any host name, because probes use various names.
"""


class WrongHost(HTTPException):
    """Error for a request with a host name that the server does not accept."""

    code = 421


class Hosts:
    """The host names that a server accepts.

    Parameters
    ----------
    settings
        Settings with the address that the server listens on, and the public names of the server.
    """

    def __init__(self, settings: Settings) -> None:
        machine = socket.gethostname().lower()
        own = {"localhost", machine, f"{machine}.local", settings.host.lower()}
        if not _is_loopback(settings.host):
            own.add(socket.getfqdn().lower())
        self._names = own | set(settings.hosts)
        self.has = lru_cache(256)(self._has)
        """Function that returns True if the server accepts the name in a `Host` header, with or without a port."""

    def refuse_others(self) -> None:
        """Raise an error if the request has a host name that the server does not accept.

        Raises
        ------
        WrongHost
            If the server does not accept the name. The message states the setting that adds a name.
        """
        environ = request.environ
        host = environ.get("HTTP_HOST", "")
        if host and environ["PATH_INFO"] not in OF_ANY_NAME and not self.has(host):
            raise WrongHost(
                "This server does not accept the host name in this address. Fix: if the host name is right, add it to "
                "the setting EQUIPOISE_HOSTS, and start the server again."
            )

    def _has(self, host: str) -> bool:
        found = WITHOUT_PORT.fullmatch(host.strip())
        if found is None:
            return False
        name = found[1].lower().removesuffix(".")
        return name in self._names or _is_number(name)


def is_for_this_machine_only(settings: Settings) -> bool:
    """Return True if other machines cannot reach the server, neither directly nor through a proxy."""
    return settings.proxies == 0 and _is_loopback(settings.host)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_number(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)
