"""Copy a store's content into another store of any kind, and back up a store that is in use."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from server.store.contract import Store
from server.store.database import Database
from server.store.errors import StoreUnavailable
from server.store.sqlite.store import SqliteStore
from server.store.sqlite.write_ahead_log import log_beside, size_of, sync_names
from server.store.tables import TABLES
from server.store.verify import Verified, verify

ROWS_AT_ONCE = 5_000


def copy_store(source: Store, target: Store, on_rows: Callable[[int], None] = lambda _n: None) -> Verified:
    """Copy the whole content of a store into an empty store. Return the result of the verification of the copy.

    Parameters
    ----------
    source, target
        The stores. Data that are written to the source during the copy are not copied.
    on_rows
        Function that is called with the number of rows copied since the last call, for instance to show progress.

    Raises
    ------
    InputError
        If the target is not empty, or the copy differs from the source. Then the target stays unchanged.
    """
    with source.snapshot() as read, target.filling() as write:
        if write.execute("SELECT 1 FROM studies LIMIT 1").fetchone():
            raise InputError("the target store has a study already. Fix: choose an empty store.")
        for table, columns in TABLES.items():
            write.fill(table, columns, _rows(read, table, columns, on_rows))
        with _naming_the_source():
            found = verify(read)
        copy = verify(write)
        if copy != found or _n_rows(read) != _n_rows(write):
            raise InputError(
                "a check found differences between the copy and the source store, so the copy was undone and the "
                "target store is still empty. Fix: copy the store again."
            )
    return copy


@contextmanager
def _naming_the_source() -> Iterator[None]:
    """Turn a read error into an error that names the source store, not the copy."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"the source store cannot be read ({error}). Fix: keep your earlier backups, and run `equipoise store "
            "verify` to see what is damaged."
        ) from None


def _n_rows(db: Database) -> list[int]:
    return [db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in TABLES]


def _rows(
    db: Database, table: str, columns: tuple[str, ...], on_rows: Callable[[int], None]
) -> Iterator[tuple[Any, ...]]:
    names = ", ".join(f'"{column}"' for column in columns)
    n_rows = 0
    with _naming_the_source():
        for row in db.stream(f'SELECT {names} FROM "{table}"'):
            yield row
            n_rows += 1
            if n_rows % ROWS_AT_ONCE == 0:
                on_rows(ROWS_AT_ONCE)
    on_rows(n_rows % ROWS_AT_ONCE)


def back_up(source: Store, path: Path, on_rows: Callable[[int], None] = lambda _n: None) -> Verified:
    """Write a backup (a SQLite store) of a store that may be in use. For the parameters, see `copy_store`.

    The file gets its name only when the backup is complete, on disk and checked.

    Raises
    ------
    InputError
        If a file with that name exists, or the file cannot be written.
    """
    if not path.name or path.exists():
        raise InputError(f"{path}: this file exists already. Fix: choose a new file name, so that no backup is lost.")
    # The name is visible, because a killed backup leaves responses in this file, and people overlook hidden files.
    aside = path.with_name(f"{path.name}.part")
    if aside.exists():
        raise InputError(
            f"{aside}: another backup is writing this file, or was killed while it wrote this file. Fix: if no backup "
            f"is running, delete {aside.name} and the files in the same folder whose names begin with {aside.name}."
        )
    parts = [aside, *(aside.with_name(aside.name + suffix) for suffix in ("-wal", "-shm", "-journal"))]
    try:
        aside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # From the first byte on, only its owner can read the file.
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise InputError(f"{path}: the backup cannot be written ({error}). Fix: choose another file.") from None
    try:
        target = SqliteStore(aside)
        try:
            verified = copy_store(source, target, on_rows)
        finally:
            target.close()
        if size_of(log_beside(aside)):
            raise StoreUnavailable("there is not enough space for the whole copy")
        _sync(aside)
        aside.rename(path)
        sync_names(path.parent)
    except (OSError, StoreUnavailable) as error:
        raise InputError(f"{path}: the backup cannot be written ({error}). Fix: choose another file.") from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return verified


def _sync(path: Path) -> None:
    """Wait until the content of a file is on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
