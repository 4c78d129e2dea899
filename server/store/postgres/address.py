"""Read addresses of PostgreSQL servers, and connect to one server, or to the primary of several servers."""

import re
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from batteries.errors import InputError
from server.store.errors import StoreAway
from server.store.postgres.connections import Connection

WORD = r"(?:[^:@/?#\[\]\s%]|%[0-9A-Fa-f]{2})"
HOST = r"(?:(?:[^:@/?#\[\]\s%,]|%[0-9A-Fa-f]{2})*|\[[0-9A-Fa-f:]+\])(?::\d+)?"
ADDRESS = re.compile(rf"postgres(?:ql)?://(?:{WORD}+(?::{WORD}*)?@)?{HOST}(?:,{HOST})*/{WORD}+(?:\?[^@\s]*)?")
"""Pattern of addresses whose user, password and host cannot be misread. Other addresses are refused.
"""

DEFAULTS: dict[str, Any] = {
    "application_name": "equipoise",
    "connect_timeout": 5,  # seconds
    # If the server is unplugged, the kernel closes the connection after 11 s, or after 6 s if sent data are not
    # acknowledged.
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 6_000,
}
"""Default parameters of a connection. A parameter after the `?` in an address replaces the default."""
OF_SEVERAL = {
    "target_session_attrs": "read-write",  # The present primary.
    "connect_timeout": 3,  # For each server: a request waits this long for a silent first server.
}
"""Defaults for an address with several servers."""
LONG_WORK = {"tcp_user_timeout": 30_000}
"""Defaults for long work, such as a copy. The server may be slow to read the data, so TCP waits longer."""
OF_CONNECTIONS: dict[str, Any] = {
    "autocommit": True,  # `transaction` begins and commits
    # PgBouncer in transaction mode gives each transaction another database session. A statement that was prepared in
    # one database session is missing in the next one, or belongs to another client.
    "prepare_threshold": None,
    # Every statement is one message of PostgreSQL's simple protocol. By default psycopg sends five messages of the
    # extended protocol. If a process freezes after some of the five messages, no limit of `connections.Limits` ends its
    # transaction. psycopg's `executemany` sends such messages too, so Equipoise must not use `executemany`.
    "cursor_factory": psycopg.ClientCursor,
}
"""Properties of every connection, which an address cannot change."""
FULL = ("too many clients", "connection slots", "too many connections", "no more connections")
"""Parts of the error messages of PostgreSQL and PgBouncer if all connections are in use."""


def read_address(url: str, **defaults: Any) -> str:
    """Return the parameters in an address as one text, with which psycopg opens connections.

    Parameters that the address omits have their default values.

    Parameters
    ----------
    url
        The address, `postgresql://...`.
    defaults
        Parameters that replace those in `DEFAULTS`.

    Raises
    ------
    InputError
        If `url` is not an address. The message does not quote the address, which may contain a password.
    """
    if not ADDRESS.fullmatch(url):
        raise InputError(
            "the address of the database is not of the form postgresql://user:password@host:port/database. "
            "Fix: correct the address. In a password write signs such as @ and / as %40 and %2F. Put commas between "
            "several servers (host1:port,host2:port)."
        )
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InputError(
            "the address of the database has an option after ? that PostgreSQL does not know. Fix: correct the option."
        ) from None
    several = OF_SEVERAL if _names_several(given) else {}
    return make_conninfo("", **DEFAULTS | several | defaults | given)


def _names_several(parameters: dict[str, Any]) -> bool:
    return "," in str(parameters.get("host") or parameters.get("hostaddr") or "")


def connect(conninfo: str) -> Connection:
    """Open a single connection.

    Raises
    ------
    StoreAway
        If no server can be used now, but perhaps soon.
    InputError
        If a server refuses this address, user or password.
    """
    try:
        return Connection.connect(conninfo, **OF_CONNECTIONS)
    except psycopg.OperationalError as error:
        if _is_away(conninfo, error):
            raise away(error) from None
    try:
        return Connection.connect(conninfo, **OF_CONNECTIONS)  # The server may have started meanwhile.
    except psycopg.OperationalError as error:
        raise refused(error) from None


def _is_away(conninfo: str, error: psycopg.OperationalError) -> bool:
    """Return True if a failure to connect may be temporary.

    psycopg does not report the code of such an error, and the text may be in any language. So this function tries to
    connect to the server again, and decides by the result.
    """
    if isinstance(error, psycopg.errors.ConnectionTimeout) or any(text in str(error) for text in FULL):
        return True
    parameters = conninfo_to_dict(conninfo)
    if _names_several(parameters):
        parameters["target_session_attrs"] = "any"
        try:
            Connection.connect(make_conninfo("", **parameters)).close()
        except psycopg.OperationalError:
            pass
        else:
            return True  # Only the primary is missing.
    found = pq.PGconn.ping(make_conninfo("", **parameters).encode())
    return found in {pq.Ping.REJECT, pq.Ping.NO_RESPONSE}  # Starting or recovering; not available.


def away(error: psycopg.Error) -> StoreAway:
    """Return the error for a database that is unavailable now."""
    return StoreAway(
        f"the database cannot be used now ({reason(error)}). Fix: start the database, or wait until the database is "
        "back."
    )


def refused(error: psycopg.Error) -> InputError:
    """Return the error for a database that cannot be used until a person changes something."""
    return InputError(
        f"the database cannot be used ({reason(error)}). Fix: check the address, the password and the user's rights."
    )


def reason(error: Exception) -> str:
    """Return an error's message in one line. With several servers, the line has one part per server."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    of_servers = [line.removeprefix("- ") for line in lines if line.startswith("- host:")]
    return "; ".join(of_servers or lines[:1])
