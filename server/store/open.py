"""Open a store by its location: the path of a file, or the address of a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from batteries.errors import InputError, how_to_install
from server.store.contract import Store
from server.store.sqlite.store import SqliteStore

POSTGRES = ("postgresql://", "postgres://")


def is_address(location: str) -> bool:
    """Return True if a store's location is the address of a database, not the path of a file."""
    return "://" in location


def open_store(location: str, must_exist: bool = False) -> Store:
    """Return the store at a location. If the file does not exist, make a new store.

    Parameters
    ----------
    location
        A file's path, or `postgresql://user:password@host:port/database`.
    must_exist
        True to refuse a location without a store; False to make a new store there.

    Raises
    ------
    InputError
        If the store cannot be used. The message states the reason.
    """
    if location.startswith(POSTGRES):
        try:
            from server.store.postgres.store import PostgresStore  # noqa: PLC0415 - an extra, installed by those who need it
        except ImportError:
            raise InputError(f"PostgreSQL needs further packages. Fix: {how_to_install('postgres')}") from None
        return PostgresStore(location, must_exist)
    if is_address(location):
        scheme = location.partition("://")[0]
        raise InputError(f"--store {scheme}://...: unknown kind of store. Fix: use a file or postgresql://...")
    return SqliteStore(Path(location), must_exist)


@contextmanager
def opened_store(location: str, must_exist: bool = False) -> Iterator[Store]:
    """Open a store for a `with` block, and close it afterwards. For the parameters, see `open_store`."""
    store = open_store(location, must_exist)
    try:
        yield store
    finally:
        store.close()
