"""Open the SQLite file: connections, updates of the tables, and errors for files that are not a store."""

import logging
import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path, PurePath

from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS
from server.store.sqlite.migrations import migrations
from server.store.sqlite.sqlite_utils_alone import Database
from server.store.sqlite.write_ahead_log import log_beside, size_of

logger = logging.getLogger("equipoise")

BUSY_TIMEOUT_S = 10.0
"""Longest time in seconds for which a commit waits for another process, such as an import while the server runs."""


def connect(path: Path, is_new: bool = False) -> sqlite3.Connection:
    """Return a connection that writes every commit to the disk. The caller begins and ends transactions.

    A new file is made only if `is_new` is True. Except on closing the last connection, SQLite does not move pages of
    the log into the file; `SqliteStore` does this.
    """
    if is_new:
        with suppress(FileExistsError):  # SQLite gives its log the same mode.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if is_new else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # A withdrawn response must leave no trace in the file.
        connection.execute("PRAGMA temp_store = MEMORY")  # Data for undoing a job need not be written to the disk.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def migrate(path: Path, must_exist: bool = False) -> None:
    """Update the tables of the file.

    Raise InputError for a file that is not a store, and for a store of a newer version. Such a file is not changed.

    Parameters
    ----------
    path
        The database file.
    must_exist
        True to refuse a missing or empty file; False to make a new store.
    """
    refuse_network(path.absolute())
    try:
        refuse_missing(path, must_exist)
        if size_of(path):
            refuse_strange(path, "mode=ro")
        with closing(connect(path, is_new=not must_exist)) as connection:
            _switch_to_wal(connection)
            # Everything is in one transaction: a second process waits here, and then finds nothing to do.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                migrations.apply(Database(connection))
    except (sqlite3.OperationalError, OSError) as error:
        raise InputError(
            f"{path}: the store cannot be opened now ({error}). Fix: check that the file's folder is writable and that "
            "no other program locks the file, then try again. The responses in the file are not changed."
        ) from None
    except (sqlite3.DatabaseError, UnicodeError, LookupError) as error:  # For instance a changed byte in the schema.
        raise InputError(
            f"{path}: this file is not a store, or is damaged ({error}). Fix: if this was your store, "
            "replace the file by a backup; otherwise move the file to another folder."
        ) from None


def refuse_missing(path: Path, must_exist: bool) -> None:
    """Raise InputError for a missing or empty file, if its log contains responses or the store must exist."""
    if size_of(path):
        return
    log = log_beside(path)
    if size_of(log):
        raise InputError(
            f"{path}: the database file is missing or empty, but its log {log.name} contains responses. Fix: put the "
            f"database file back beside {log.name}. If you no longer have the file, move {log.name} to another folder, "
            "keep the log, and put your latest backup in the database file's place."
        )
    if must_exist:
        what = "this file is empty" if path.exists() else "this file does not exist"
        raise InputError(
            f"{path}: {what}, so there are no responses yet, or the name is wrong. Fix: check the name of the file."
        )


def warn_of_open_file(path: Path) -> None:
    """Warn if other users of this machine can read the responses."""
    is_shut = not path.parent.stat().st_mode & 0o077
    if os.name != "nt" and not is_shut and path.stat().st_mode & 0o077:
        logger.warning(
            "%s: other users of this machine can read the responses. Fix: chmod 700 '%s'; chmod 600 '%s'*",
            path,
            path.parent,
            path,
        )


def refuse_network(path: PurePath) -> None:
    r"""Raise InputError for a store in a Windows network folder (`\\server\share`), where SQLite cannot lock files."""
    if path.drive.startswith("\\\\"):
        raise InputError(
            f"{path}: a store in a network folder can be damaged when two programs use the store. Fix: put the study "
            "on a disk of this machine, set --store to a file on a disk of this machine, or use a PostgreSQL database."
        )


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging.

    SQLite does not wait for another process that switches the file now. So this function tries again for some time.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def refuse_strange(path: Path, how: str) -> None:
    """Raise InputError for a file that is not a store, or a store of a newer version.

    `how` is an option for opening the file.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        applied = {migration.name for migration in migrations.applied(Database(connection))}
    # A first start that was interrupted leaves an empty list of migrations and nothing else.
    if not applied and tables - {"_sqlite_migrations"}:
        raise InputError(
            f"{path}: this is not an Equipoise store. Fix: move the file to another folder; Equipoise then makes a new "
            "store."
        )
    unknown = applied - set(KNOWN_MIGRATIONS)
    if unknown:
        raise InputError(
            f"{path}: this store was written by a newer version of Equipoise (your version does not know the "
            f"changes {', '.join(sorted(unknown))}). Fix: update Equipoise."
        )
