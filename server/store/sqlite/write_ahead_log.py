"""The write-ahead log of the SQLite file: its two files, and the move of its pages into the database file.

This module must not open and close the database file or the index of the log. On POSIX systems, closing one of them
would release SQLite's locks. SQLite has no locks on the log itself, so the module may open it.
"""

import os
import secrets
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from server.store.database import Database
from server.store.errors import StoreUnavailable

FileIdentity = tuple[int, int]
LogIdentity = tuple[FileIdentity | None, FileIdentity | None]
"""Identities of the log (`-wal`) and of its index (`-shm`); None for a missing file."""

LOG_STARTS = b"\x37\x7f\x06"
"""The first bytes of a log's header, for any byte order: https://www.sqlite.org/fileformat2.html#walformat."""


def identity_of(path: str | Path) -> FileIdentity:
    """Return the identity of a file. A different file with the same name has a different identity."""
    status = os.stat(path)  # noqa: PTH116 - asked several times for each commit, and a Path takes five times as long
    return status.st_dev, status.st_ino


def log_beside(path: Path) -> Path:
    """Return the path of a database file's log."""
    return path.with_name(f"{path.name}-wal")


def index_beside(path: Path) -> Path:
    """Return the path of the index of a database file's log."""
    return path.with_name(f"{path.name}-shm")


def size_of(path: Path) -> int:
    """Return a file's size in bytes; 0 if the file does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def log_identity(path: Path) -> LogIdentity:
    """Return the identities of the two files `-wal` and `-shm`, which are the log of a database file."""
    return _identity_or_none(f"{path}-wal"), _identity_or_none(f"{path}-shm")


def _identity_or_none(path: str | Path) -> FileIdentity | None:
    try:
        return identity_of(path)
    except FileNotFoundError:
        return None


def empty_log(connection: sqlite3.Connection, patience_s: float = 0.0) -> bool:
    """Move all pages of the log into the database file, and empty the log. Return True if this was possible.

    Parameters
    ----------
    connection
        A connection outside a transaction.
    patience_s
        Time in seconds for retries while other programs read the store.
    """
    (busy_timeout_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        deadline = time.monotonic() + patience_s
        while True:
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not is_busy or time.monotonic() > deadline:
                return not is_busy
            time.sleep(0.02)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")


def move_log(db: Database) -> None:
    """Move the log's pages into the database file, except pages that other connections still read.

    No program has to wait.
    """
    db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def put_log_aside(path: Path, log: LogIdentity, is_empty: bool) -> None:
    """Delete or rename a log, so that SQLite does not write the log into the file at `path`.

    Parameters
    ----------
    path
        The database file.
    log
        The identity of the log. A different log with the same path is not changed.
    is_empty
        True if the log is empty. An empty log is deleted; any other log is renamed.
    """
    name = f"{path.name}-before-{secrets.token_hex(4)}"
    for file, identity, suffix in zip((log_beside(path), index_beside(path)), log, ("-wal", "-shm"), strict=True):
        if identity is not None and _identity_or_none(file) == identity:
            if is_empty:
                file.unlink()
            else:
                file.rename(path.with_name(name + suffix))


def make_writable(path: Path) -> None:
    """Give the log's files the file permissions of the database file.

    SQLite makes the log's files with the present permissions of the database file. Without this function, a log that
    was made while the database file was read-only would stay read-only.
    """
    mode = path.stat().st_mode
    for file in (log_beside(path), index_beside(path)):
        with suppress(OSError):  # The file is missing, or belongs to another user.
            if (mode & ~file.stat().st_mode) & 0o222:
                file.chmod(mode)


def has_hole(path: Path) -> bool:
    """Return True if the log has content, but not SQLite's header at its beginning.

    If another program empties the log, SQLite writes further data after a hole at the beginning of the log.
    """
    return _start_of_log(path) not in (b"", LOG_STARTS)


def is_cut(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True if a program other than SQLite has emptied the log, so that committed pages are missing."""
    start = _start_of_log(path)
    if start:
        return start != LOG_STARTS
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()  # No work if SQLite has emptied the log.
    except sqlite3.OperationalError:
        return True
    return False


def _start_of_log(path: Path) -> bytes:
    try:
        log = os.open(f"{path}-wal", os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            return os.read(log, len(LOG_STARTS))
        finally:
            os.close(log)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StoreUnavailable(str(error)) from error


def save_from_memory(connection: sqlite3.Connection, path: Path) -> None:
    """Replace a database file whose log another program has emptied.

    The new file gets the content that the writing connection still has in memory.

    Raises
    ------
    sqlite3.Error, OSError
        If a page is neither in memory nor in the file, or if the disk is full. The database file is then not changed.
    """
    aside = path.with_name(f"{path.name}-saved-{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with closing(sqlite3.connect(aside)) as copy:
            connection.backup(copy)
            (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":  # SQLite read a page from the hole.
            raise sqlite3.DatabaseError(found)
        os.fsync(descriptor)
        aside.replace(path)
    finally:
        os.close(descriptor)
        aside.unlink(missing_ok=True)
    for file in (log_beside(path), index_beside(path)):
        file.unlink(missing_ok=True)
    sync_names(path.parent)


def sync_names(folder: Path) -> None:
    """Wait until the names of the files in a folder are on disk. On Windows, do nothing."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
