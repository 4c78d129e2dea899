"""The embedded store: one SQLite file in WAL mode, every commit fsynced, one writer thread."""

import queue
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from batteries.errors import InputError
from server.store import registry
from server.store.answers import Answers
from server.store.batch import do_batch
from server.store.database import Database, SqliteDatabase
from server.store.opening import FileIdentity, connect, identity_of, migrate, refuse_strange
from server.store.plans import Plans
from server.store.sql_store import SqlStore
from server.store.values import StoreUnavailable
from server.store.writer import GroupCommit

Result = TypeVar("Result")
Job = Callable[[Database], Any]

LEAST_ROOM_BYTES = 128 * 1024
"""A session's beginning takes some 40 KB of the log."""
WRITER_CACHE_KB = 16 * 1024
"""Room for the upper levels of the trees of many millions of answers."""


class SqliteStore(SqlStore):
    """A store in one file.

    Parameters
    ----------
    path
        The database file; made, with its folder, if it is not there.

    Raises
    ------
    InputError
        If the file is no store, is damaged, or was written by a newer Equipoise.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # answers are for their owner's eyes
        except OSError as error:
            raise InputError(f"{path.parent}: this folder cannot be made ({error.strerror}); mend the path.") from None
        migrate(path)
        self._file = identity_of(path)
        self._logs_of_file: set[FileIdentity] = set()
        self._replacing = threading.Lock()
        self._idle_readers: queue.LifoQueue[tuple[FileIdentity, sqlite3.Connection]] = queue.LifoQueue()
        self._writing: tuple[FileIdentity, sqlite3.Connection] | None = None
        self._group: GroupCommit[Answers | Job] = GroupCommit(self._commit)

    def _write(self, job: Callable[[Database], Result]) -> Result:
        result: Result = self._group.do(job)
        return result

    def _add_answers(self, new: Answers) -> list[bool]:
        is_new: list[bool] = self._group.do(new)
        return is_new

    def withdraw_session(self, session: str) -> None:
        super().withdraw_session(session)
        with suppress(StoreUnavailable), self._connection() as db:
            # The log still holds what was deleted; if a reader is in the way just now, a later checkpoint empties it.
            db.execute("PRAGMA busy_timeout = 0")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> None:
        super().check()
        if shutil.disk_usage(self.path.parent).free < LEAST_ROOM_BYTES:
            raise StoreUnavailable("there is no room on the disk for another session")

    def check_integrity(self) -> None:
        with self._reading() as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise InputError(
                f"{self.path}: the store is damaged ({found.partition(chr(10))[0]}); stop the server, move this file "
                "and those beside it (-wal, -shm) away, keep them, and put your latest backup in its place."
            )

    @contextmanager
    def snapshot(self) -> Iterator[Database]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # the moment that is seen from now on
            yield SqliteDatabase(connection)

    @contextmanager
    def filling(self) -> Iterator[Database]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SqliteDatabase(connection)
            connection.execute("COMMIT")

    def close(self) -> None:
        self._group.close()
        self._let_go_of_writing()
        while not self._idle_readers.empty():
            self._idle_readers.get()[1].close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for once; what is not committed at the end is undone."""
        self._current_file()
        try:
            with closing(connect(self.path)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        """Lend a reading connection: as many are kept as were ever needed at once, whatever threads come and go."""
        try:
            file, connection = self._reader()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error
        try:
            yield SqliteDatabase(connection)
        except sqlite3.Error as error:
            connection.close()
            raise StoreUnavailable(str(error)) from error
        except BaseException:
            connection.close()
            raise
        self._idle_readers.put((file, connection))

    def _reader(self) -> tuple[FileIdentity, sqlite3.Connection]:
        file = self._current_file()
        with suppress(queue.Empty):
            while True:
                opened, connection = self._idle_readers.get_nowait()
                if opened == file:
                    return file, connection
                connection.close()
        connection = connect(self.path)
        connection.execute("PRAGMA query_only = ON")
        return file, connection

    def _current_file(self) -> FileIdentity:
        """Return which file the store is in now: a backup may have been put in its place.

        Raises
        ------
        StoreUnavailable
            If it has vanished, or something else is in its place; what was written to a file without a name would be
            lost, and a new empty file would be a study without its sessions.
        """
        try:
            file = identity_of(self.path)
            if file != self._file:
                with self._replacing:
                    if file != self._file:
                        self._take_up(file)
        except (OSError, InputError, sqlite3.Error) as error:
            raise StoreUnavailable(str(error)) from error
        return file

    def _take_up(self, file: FileIdentity) -> None:
        """Go on with another file that was put in the place of the store: a backup."""
        if not self.path.stat().st_size:
            raise StoreUnavailable("the file is empty")
        refuse_strange(self.path, "mode=ro&immutable=1")  # by itself, without a log beside it
        name = f"before-{secrets.token_hex(4)}"
        for suffix in ("-wal", "-shm"):
            # A log of before belongs to the file that was here; SQLite would write it into the new one.
            log = self._beside(suffix)
            if log.exists() and identity_of(log) in self._logs_of_file:
                log.rename(self._beside(f"-{name}{suffix}"))
        migrate(self.path)
        with closing(connect(self.path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for study in self._registered.values():
                registry.register(SqliteDatabase(connection), study)
            connection.execute("COMMIT")
        self._plans = Plans()
        self._logs_of_file = set()
        self._file = file

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _commit(self, batch: Sequence[Answers | Job]) -> Sequence[Any]:
        try:
            connection = self._writer_connection()
            connection.execute("BEGIN IMMEDIATE")
            outcomes = do_batch(
                SqliteDatabase(connection), batch, of_one_alone=sqlite3.IntegrityError, of_all=sqlite3.Error
            )
            connection.execute("COMMIT")
            if not self._logs_of_file:
                logs = [self._beside(suffix) for suffix in ("-wal", "-shm")]
                self._logs_of_file = {identity_of(log) for log in logs if log.exists()}
        except sqlite3.Error as error:
            # A connection that has seen a full disk or an unreadable page is not trusted with the next batch.
            self._let_go_of_writing()
            raise StoreUnavailable(str(error)) from error
        except Exception:
            self._let_go_of_writing()
            raise
        return outcomes

    def _writer_connection(self) -> sqlite3.Connection:
        file = self._current_file()
        if self._writing is not None and self._writing[0] != file:
            self._let_go_of_writing()
        if self._writing is None:
            connection = connect(self.path)
            connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
            self._writing = (file, connection)
        return self._writing[1]

    def _let_go_of_writing(self) -> None:
        if self._writing is not None:
            with suppress(sqlite3.Error):
                self._writing[1].close()  # undoes what was not committed
            self._writing = None
            self._logs_of_file = set()  # with the last connection the log goes, too; the next makes another
