"""Opening a store by its name: a file, or the address of a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batteries.errors import InputError
from server.store.contract import Store
from server.store.sqlite import SqliteStore

POSTGRES = ("postgresql://", "postgres://")


def is_address(location: str) -> bool:
    """Return whether a store's name is the address of a database, not a file."""
    return "://" in location


def open_store(location: str) -> Store:
    """Return the store at a place, which is made where it is not there yet.

    Parameters
    ----------
    location
        A file's path, or `postgresql://user:password@host:port/database`.

    Raises
    ------
    InputError
        If the store cannot be used; the message says why.
    """
    if location.startswith(POSTGRES):
        try:
            from server.store.postgres import PostgresStore  # noqa: PLC0415 - an extra, installed by those who need it
        except ImportError:
            raise InputError(
                "PostgreSQL needs further packages; install them with: pip install 'equipoise[postgres]'"
            ) from None
        return PostgresStore(location)
    if is_address(location):
        scheme = location.partition("://")[0]
        raise InputError(f"--store {scheme}://...: there is no such kind of store; name a file or postgresql://...")
    return SqliteStore(Path(location))


@contextmanager
def opened_store(location: str) -> Iterator[Store]:
    """Open a store for a block; see `open_store`."""
    store = open_store(location)
    try:
        yield store
    finally:
        store.close()
