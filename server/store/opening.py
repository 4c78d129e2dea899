"""Opening the SQLite file: connections, the newest schema, and a refusal, untouched, of what is not ours."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path, PurePath

from sqlite_utils import Database

from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS
from server.store.schema import migrations

BUSY_TIMEOUT_S = 10.0
"""How long a commit waits for another process (an import beside a running server) to finish its own."""
CHECKPOINT_PAGES = 4_000
"""Pages of 4 KB in the log after which they move to the file. Those of sessions under way are written to the log again
and again and move once, so that a longer log spares the disk."""

FileIdentity = tuple[int, int]


def identity_of(path: Path) -> FileIdentity:
    """Return what tells a file from another that takes its place under the same name."""
    status = path.stat()
    return status.st_dev, status.st_ino


def connect(path: Path, is_new: bool = False) -> sqlite3.Connection:
    """Return a connection that syncs every commit, with transactions left to the caller; makes a file only if told."""
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
        connection.execute("PRAGMA secure_delete = ON")  # a withdrawn answer leaves no trace in the file
        connection.execute("PRAGMA temp_store = MEMORY")  # what a job may have to undo need not go to the disk
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def migrate(path: Path) -> None:
    """Bring the file's schema up to date; refuse, untouched, what is no store or comes from a newer version."""
    refuse_network(path.absolute())
    try:
        if path.exists() and path.stat().st_size > 0:
            refuse_strange(path, "mode=ro")
        with closing(connect(path, is_new=True)) as connection:
            _switch_to_wal(connection)
            # One transaction around all: whoever comes second waits here, and finds nothing left to do.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                migrations.apply(Database(connection))
    except sqlite3.OperationalError as error:
        raise InputError(
            f"{path}: the store cannot be opened now ({error}); check that its folder can be written to and that no "
            "other program holds the file, then try again. The answers in it are not touched."
        ) from None
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{path}: this file is not a store, or is damaged ({error}); if it is your data, restore it from a backup, "
            "otherwise move it away."
        ) from None


def refuse_network(path: PurePath) -> None:
    r"""Refuse a store in a network's folder, as Windows names it (`\\server\share`): SQLite cannot lock it safely."""
    if path.drive.startswith("\\\\"):
        raise InputError(
            f"{path}: a store in a folder of the network can be damaged when two programs use it; put the study on a "
            "disk of this machine, name a file there with --store, or use a PostgreSQL database."
        )


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging; SQLite does not wait by itself for another process that does the same."""
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
    """Refuse a file that is no store of ours, or a newer one's; `how` says how SQLite is to open it."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        applied = {migration.name for migration in migrations.applied(Database(connection))}
    # A first start that was interrupted leaves the empty list of migrations and nothing else.
    if not applied and tables - {"_sqlite_migrations"}:
        raise InputError(f"{path}: this is not an Equipoise store; move it away, and a new one will be made.")
    unknown = applied - set(KNOWN_MIGRATIONS)
    if unknown:
        raise InputError(
            f"{path}: this store was written by a newer Equipoise (it has {', '.join(sorted(unknown))}); "
            "update Equipoise to read it."
        )
