"""The embedded store: one SQLite file in WAL mode, with one writer thread that writes every commit to the disk.

The writer thread also reacts if another program replaces the file by a backup, or removes the write-ahead log (a file
with the latest commits). It then opens the backup, or saves the content of the log. Other threads that detect such a
change wake the writer thread.
"""

import glob
import logging
import math
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from batteries.errors import InputError
from server.store.database import Database, SqliteDatabase
from server.store.errors import StoreUnavailable
from server.store.sql import studies
from server.store.sql.actions import NewAction
from server.store.sql.group_commit import GroupCommit, run_batch
from server.store.sql.plan_cache import PlanCache
from server.store.sql.responses import ResponseBatch
from server.store.sql.store import SqlStore
from server.store.sqlite.file import connect, migrate, refuse_strange, warn_of_open_file
from server.store.sqlite.write_ahead_log import (
    LogIdentity,
    empty_log,
    has_hole,
    identity_of,
    is_cut,
    log_beside,
    log_identity,
    make_writable,
    move_log,
    put_log_aside,
    save_from_memory,
    size_of,
)

logger = logging.getLogger("equipoise")

Result = TypeVar("Result")
Job = Callable[[Database], Any]

LEAST_ROOM_BYTES = 128 * 1024
"""If the disk has less free space than this number of bytes, the health check reports that the store cannot be used.

The start of a session needs about 40 KB in the log.
"""
WRITER_CACHE_KB = 16 * 1024
"""Size of the page cache of the writing connection, in KB. It is enough for many millions of responses."""
MOVE_LOG_AFTER_ROWS = 4_000
"""After this number of changed rows (about 10 MB of log), the pages of the log are moved to the file. A page that was
changed several times is moved only once, so a longer log means fewer writes.
"""
EMPTY_LOG_AFTER_S = 60.0
"""Interval in seconds at which the log is emptied even if the store is never idle. Until then, the log may contain
data that another process has deleted.
"""
RETRY_TO_EMPTY_LOG_S = 0.5
"""Time in seconds between two attempts to empty the log after a deletion, while other programs read the log."""
READERS_PATIENCE_S = 2.0
"""Longest wait in seconds for programs that read the log. The log cannot be emptied while a program reads it."""
HANDS_OFF = "Never change the files -wal and -shm of the database while a program uses the database."
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


@dataclass(frozen=True)
class _Writing:
    """The connection that writes to the database, and the write-ahead log that the connection uses."""

    connection: sqlite3.Connection
    log: LogIdentity


class SqliteStore(SqlStore):
    """A store in one file.

    Parameters
    ----------
    path
        The database file. A missing file is made, with its folder.
    must_exist
        True to refuse a missing or empty file.

    Raises
    ------
    InputError
        If the file is not a store, is damaged, or was written by a newer Equipoise. Also if the file is missing
        although its log exists.
    """

    def __init__(self, path: Path, must_exist: bool = False) -> None:
        super().__init__()
        self.path = path
        if not must_exist:
            try:
                # Only the folder's owner can read the responses.
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{path.parent}: this folder cannot be made ({error.strerror}). Fix: correct the path."
                ) from None
        migrate(path, must_exist)
        warn_of_open_file(path)
        self._file = identity_of(path)
        self._damage: str | None = None
        self._generation = 0
        """Number that grows when all connections are closed. Connections with an earlier number are not used again."""
        self._idle_readers: queue.LifoQueue[tuple[int, sqlite3.Connection]] = queue.LifoQueue()
        # Only the writer thread uses the following attributes.
        self._writing: _Writing | None = None
        self._n_rows_moved = 0
        self._tried_to_empty_at = time.monotonic()
        self._must_empty_log = False
        self._moving: threading.Thread | None = None
        self._group: GroupCommit[ResponseBatch | NewAction | Job] = GroupCommit(self._commit, self._tidy)

    def _write(self, job: Callable[[Database], Result]) -> Result:
        result: Result = self._group.do(job)
        return result

    def _delete(self, job: Callable[[Database], Result]) -> Result:
        def delete(db: Database) -> Result:
            self._must_empty_log, self._tried_to_empty_at = True, -math.inf  # At once, after this commit.
            return job(db)

        return self._write(delete)

    def _add_batch(self, new: ResponseBatch | NewAction) -> Any:
        return self._group.do(new)

    def kept_traces(self) -> list[str]:
        deadline = time.monotonic() + READERS_PATIENCE_S
        while self._must_empty_log and time.monotonic() < deadline:
            time.sleep(0.1)
            with suppress(StoreUnavailable):
                self._group.do(_nothing)  # After this the writer tries again.
        traces = []
        if self._must_empty_log:
            traces.append(
                f"{log_beside(self.path)}: this log still contains deleted data, because a program reads the store. "
                "Fix: wait until that program (such as a backup) has ended. A running server then empties the log "
                "within a minute, and the next command on this store empties the log too."
            )
        name = glob.escape(self.path.name)
        aside = sorted(self.path.parent.glob(f"{name}-before-*-wal"))
        traces += [
            f"{log}: this file is the log of a database file that was replaced. It may contain deleted data. Fix: "
            "delete the log when you no longer need it."
            for log in aside
        ]
        traces += [
            f"{copy}: this copy of the store, made by a killed program, may contain deleted data. Fix: see in "
            "docs/how-to/run-online.md whether you need the copy; if not, delete the copy."
            for copy in sorted(self.path.parent.glob(f"{name}-saved-*"))
        ]
        return traces

    def check(self) -> None:
        super().check()
        if shutil.disk_usage(self.path.parent).free < LEAST_ROOM_BYTES:
            raise StoreUnavailable("there is no space on the disk for another session")

    def check_integrity(self) -> None:
        with self._reading() as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise InputError(
                f"{self.path}: the store is damaged ({found.partition(chr(10))[0]}). Fix: stop the server, move "
                "this file and its -wal and -shm files to another folder, keep these files, and put your latest backup "
                "in this file's place."
            )

    @contextmanager
    def snapshot(self) -> Iterator[Database]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # Moment of the snapshot.
            yield SqliteDatabase(connection)

    @contextmanager
    def filling(self) -> Iterator[Database]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteDatabase(connection)
            connection.execute("COMMIT")

    def close(self) -> None:
        """Finish pending writes, move all data into the database file, and remove the log.

        A second call changes nothing. If another program has the store open, the log is not removed. The database file
        then also has all data of the log, unless the other program reads for longer than `READERS_PATIENCE_S`.
        """
        if not self._group.close():
            logger.error("%s: another program locks the store, so the log was not moved into the file", self.path)
            return
        if self._writing is not None:
            with suppress(sqlite3.Error, StoreUnavailable):
                empty_log(self._writer_connection(), READERS_PATIENCE_S)
        self._close_connections()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one use. Uncommitted work is undone at the end."""
        self._require_files()
        generation = self._generation
        try:
            with closing(connect(self.path)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise self._unavailable(error, generation) from error

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        """Yield a connection for reading. After use, the connection is kept, and any thread may use it again."""
        generation = self._generation
        try:
            generation, connection = self._reader()
        except sqlite3.Error as error:
            raise self._unavailable(error, generation) from error
        try:
            yield SqliteDatabase(connection)
        except sqlite3.Error as error:
            connection.close()
            raise self._unavailable(error, generation) from error
        except BaseException:
            connection.close()
            raise
        self._idle_readers.put((generation, connection))
        if generation != self._generation:
            self._close_idle_readers()

    def _reader(self) -> tuple[int, sqlite3.Connection]:
        self._require_files()
        generation = self._generation
        with suppress(queue.Empty):
            while True:
                opened, connection = self._idle_readers.get_nowait()
                if opened == generation:
                    return generation, connection
                connection.close()
        connection = connect(self.path)
        connection.execute("PRAGMA query_only = ON")
        return generation, connection

    def _require_files(self) -> None:
        """Check that the file and its log are present, so that a connection reads all committed data.

        If the log was removed, the writer thread first saves its content. If another file replaced the store, the
        writer thread first opens it.

        Raises
        ------
        StoreUnavailable
            If the file is missing, or the writer thread cannot save the log's content or open the other file. The
            store does not make a new file in place of a missing file, because this would be a study without sessions.
        """
        if not self._has_its_files(self._writing):
            self._group.do(_nothing)  # The writer thread rescues the log, or switches to the new file.

    def _has_its_files(self, writing: _Writing | None) -> bool:
        """Return True if the file and its log are still the files that were opened."""
        try:
            file = identity_of(self.path)
        except OSError as error:
            raise StoreUnavailable(str(error)) from error
        return file == self._file and (writing is None or writing.log == log_identity(self.path))

    def _unavailable(self, error: sqlite3.Error, generation: int) -> StoreUnavailable:
        """Return the exception to raise for an error of SQLite.

        If the file is damaged, nothing more is written, because new data could be lost.
        """
        is_damage = getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGE
        with suppress(StoreUnavailable):
            # If a file was replaced or the log was cut just now, the file itself is not damaged.
            is_file_itself = self._has_its_files(self._writing) and not has_hole(self.path)
            if is_damage and self._damage is None and is_file_itself and generation == self._generation:
                self._damage = f"the file is damaged ({error}); nothing is stored until a backup replaces the file"
                logger.error("%s: %s", self.path, self._damage)
        return StoreUnavailable(str(error))

    # Only the writer thread calls the following methods.

    def _commit(self, batch: Sequence[ResponseBatch | NewAction | Job]) -> Sequence[Any]:
        try:
            connection = self._writer_connection()
            connection.execute("BEGIN IMMEDIATE")
            outcomes = run_batch(
                SqliteDatabase(connection), batch, of_one_alone=sqlite3.IntegrityError, of_all=sqlite3.Error
            )
            connection.execute("COMMIT")
        except StoreUnavailable:
            raise
        except sqlite3.Error as error:
            # After a full disk or an unreadable page, the next batch gets a new connection.
            unavailable = self._unavailable(error, self._generation)
            self._let_go()
            raise unavailable from error
        except Exception:
            self._let_go()
            raise
        if not self._has_its_files(self._writing):
            # A file was removed during the commit: data in a file without a name must not be acknowledged.
            if identity_of(self.path) != self._file:
                raise StoreUnavailable("another file replaced the store")
            self._rescue_log()
        elif is_cut(connection, self.path):
            self._save_from_memory(connection)
        elif self._must_empty_log:
            self._tidy(is_idle=False)
        return outcomes

    def _writer_connection(self) -> sqlite3.Connection:
        has_its_files = self._has_its_files(self._writing)
        if has_its_files and self._writing is not None and is_cut(self._writing.connection, self.path):
            self._save_from_memory(self._writing.connection)
            has_its_files = False  # There is a new file.
        if not has_its_files:
            if identity_of(self.path) == self._file:
                self._rescue_log()
            else:
                try:
                    self._take_up_file()
                except (OSError, InputError) as error:
                    raise StoreUnavailable(str(error)) from error
        if self._damage is not None:
            raise StoreUnavailable(self._damage)
        if self._writing is None:
            make_writable(self.path)
            connection = connect(self.path)
            connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # Opens the log.
            self._writing = _Writing(connection, log_identity(self.path))
            self._n_rows_moved = 0
        return self._writing.connection

    def _tidy(self, is_idle: bool) -> None:
        """Move the log's content to the file, if it is time to do so. Another thread moves most of it."""
        if is_idle and self._writing is None and not size_of(log_beside(self.path)):
            return
        if self._moving is not None and self._moving.is_alive():
            return
        try:
            if is_idle:
                self._writer_connection()  # Detects if the log was changed.
                if not size_of(log_beside(self.path)):
                    return
            if self._writing is not None:
                self._move_log(self._writing.connection, is_idle)
        except StoreUnavailable:
            pass  # The next write raises it too.
        except sqlite3.Error as error:
            logger.warning("%s: the log could not be moved into the file (%s)", self.path, error)
            self._let_go()

    def _move_log(self, connection: sqlite3.Connection, is_idle: bool) -> None:
        waited_s = time.monotonic() - self._tried_to_empty_at
        is_due = is_idle or waited_s > (RETRY_TO_EMPTY_LOG_S if self._must_empty_log else EMPTY_LOG_AFTER_S)
        was_moved_aside, self._moving = self._moving is not None, None
        if is_due and (self._must_empty_log or was_moved_aside):
            self._tried_to_empty_at = time.monotonic()
            if empty_log(connection):
                self._must_empty_log = False
        elif was_moved_aside:
            move_log(SqliteDatabase(connection))  # The next commit can then write from the start of the log.
        elif is_due or connection.total_changes - self._n_rows_moved > MOVE_LOG_AFTER_ROWS:
            self._n_rows_moved = connection.total_changes
            self._moving = threading.Thread(target=self._move_log_aside, name="equipoise-log", daemon=True)
            self._moving.start()

    def _move_log_aside(self) -> None:
        """Move the log's pages to the file, in a separate thread and connection, so that no commit waits."""
        with suppress(StoreUnavailable), self._reading() as db:
            move_log(db)

    def _rescue_log(self) -> None:
        """Move the content of a removed log to the file, and begin a new log.

        The open connection can still read the removed log.

        Raises
        ------
        StoreUnavailable
            If the content cannot be moved now, because a reader is active or the disk is full. The connection is kept
            for the next attempt.
        """
        assert self._writing is not None
        self._close_idle_readers()
        try:
            if self._writing.connection.in_transaction:
                self._writing.connection.execute("ROLLBACK")
            is_rescued = empty_log(self._writing.connection, READERS_PATIENCE_S)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"the log was removed, and its content cannot be saved now: {error}") from error
        if not is_rescued:
            raise StoreUnavailable("the log was removed while a program reads the store")
        self._close_connections()
        logger.warning("%s: its log was removed while the store was in use; nothing is lost. %s", self.path, HANDS_OFF)

    def _save_from_memory(self, connection: sqlite3.Connection) -> None:
        """Write a new database file from memory, because another program has truncated the log.

        The old file lacks the data that were only in the log.
        """
        try:
            save_from_memory(connection, self.path)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(
                f"another program has truncated the write-ahead log, and its content cannot be saved now: {error}"
            ) from error
        self._close_connections()
        logger.warning(
            "%s: its log was emptied by another program while the store was in use; nothing is lost. %s",
            self.path,
            HANDS_OFF,
        )

    def _take_up_file(self) -> None:
        """Continue with another file (a backup) that replaced the store."""
        file = identity_of(self.path)
        if not size_of(self.path):
            raise StoreUnavailable("the file is empty")
        refuse_strange(self.path, "mode=ro&immutable=1")  # Without reading a log.
        self._put_log_aside()
        migrate(self.path, must_exist=True)
        with closing(connect(self.path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for study in self._registered.values():
                studies.register(SqliteDatabase(connection), study)
            connection.execute("COMMIT")
        self._plans = PlanCache()
        self._damage = None
        self._file = file

    def _put_log_aside(self) -> None:
        """Move the log's content to the former file, or rename the log if a reader is active.

        If the log kept its name, SQLite would write its content into the new file.
        """
        if self._writing is None:
            self._close_connections()
            return
        is_empty = False
        with suppress(sqlite3.Error):
            is_empty = empty_log(self._writing.connection, READERS_PATIENCE_S)
        log = self._writing.log
        self._close_connections()
        put_log_aside(self.path, log, is_empty)

    def _let_go(self) -> None:
        """Save the log's content if necessary, then close all connections. The next batch uses new connections."""
        writing = self._writing
        with suppress(sqlite3.Error):
            if writing is not None and writing.connection.in_transaction:
                writing.connection.execute("ROLLBACK")
        with suppress(StoreUnavailable, sqlite3.Error):
            if writing is None or writing.connection.in_transaction:
                self._close_connections()
            elif not self._has_its_files(writing):
                if identity_of(self.path) == self._file:  # Otherwise the log belongs to the former file.
                    self._rescue_log()
            elif is_cut(writing.connection, self.path):
                self._save_from_memory(writing.connection)
            else:
                self._close_connections()

    def _close_connections(self) -> None:
        self._generation += 1
        self._close_idle_readers()
        if self._writing is not None:
            with suppress(sqlite3.Error):
                self._writing.connection.close()  # Undoes uncommitted work.
            self._writing = None

    def _close_idle_readers(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._idle_readers.get_nowait()[1].close()


def _nothing(_: Database) -> None:
    """Piece of work that does nothing, but wakes the writer thread, which then checks the file and the log."""
