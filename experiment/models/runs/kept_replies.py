"""The replies of a model on disk. A reply is stored as soon as it arrives, so that it is not requested and paid twice.

The replies are in an SQLite file next to the logs of inspect-ai (Inspect). Inspect's cache and logs are not enough: the
cache leaves out some replies, and the logs are written late. If the program was killed, billed replies could be lost.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from batteries.errors import InputError
from batteries.files.private_files import PRIVATE_FILE, private_folder

FILE = "replies.db"


@dataclass(frozen=True)
class KeptReply:
    """A reply, with its tokens, times and settings."""

    condition: str
    """Digest of model, prompt, temperature and the other settings."""
    item_id: str
    epoch: int
    request_id: str
    reply: str
    thinking: str
    model_version: str
    """The model's exact name according to the provider."""
    stop_reason: str
    tokens_in: int
    tokens_out: int
    latency_s: float | None
    """Duration of the request, in seconds."""
    completed_at: str
    """Time at which the reply arrived, UTC, ISO 8601."""


@dataclass(frozen=True)
class KeptCondition:
    """A condition under which a model is asked: model, prompt, temperature and other settings."""

    condition: str
    """Digest of model, prompt, temperature and the other settings."""
    run: str
    """Label of the runs under this condition, without the number of the repetition."""
    model: str
    """Name of the model in inspect-ai."""
    temperature: float | None
    battery_digest: str
    n_items: int
    """Number of items of a whole run."""


@dataclass(frozen=True)
class KeptRun:
    """The kept replies of one condition and epoch."""

    condition: str
    epoch: int
    run: str | None
    """Label of the run, without the epoch; None if the file does not have a description of the condition."""
    model: str | None
    model_version: str
    """The model's exact name according to the provider."""
    temperature: float | None
    battery_digest: str | None
    n_items: int | None
    """Number of items of the whole run."""
    n_replies: int
    tokens_in: int
    tokens_out: int
    started_at: str
    """Time at which the first reply arrived, UTC, ISO 8601."""
    completed_at: str
    """Time at which the last reply arrived, UTC, ISO 8601."""


_COLUMNS = tuple(field.name for field in fields(KeptReply))
_REPLIES = f"""
CREATE TABLE IF NOT EXISTS replies (
    {", ".join(f"{name} NOT NULL" if name != "latency_s" else name for name in _COLUMNS)},
    PRIMARY KEY (condition, item_id, epoch)
) WITHOUT ROWID
"""
_CONDITIONS = """
CREATE TABLE IF NOT EXISTS conditions (
    condition PRIMARY KEY, run NOT NULL, model NOT NULL, temperature, battery_digest NOT NULL, n_items NOT NULL
) WITHOUT ROWID
"""
_RUNS = """
SELECT condition, epoch, run, model, MAX(model_version), temperature, battery_digest, n_items, COUNT(*),
       SUM(tokens_in), SUM(tokens_out), MIN(completed_at), MAX(completed_at)
  FROM replies LEFT JOIN conditions USING (condition) GROUP BY condition, epoch
"""
_INSERT = f"INSERT INTO replies VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT DO NOTHING"  # noqa: S608


class KeptReplies:
    """The replies of one model to the requests of one study."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, *replies: KeptReply) -> None:
        """Store replies. When this function returns, they are on disk. An earlier reply is not replaced."""
        with self._connection:
            self._connection.execute("BEGIN")
            self._connection.executemany(_INSERT, map(astuple, replies))

    def describe(self, conditions: Iterable[KeptCondition]) -> None:
        """Store descriptions of conditions. `runs` returns these descriptions with the numbers of replies."""
        rows = map(astuple, conditions)
        self._connection.executemany("INSERT OR IGNORE INTO conditions VALUES (?, ?, ?, ?, ?, ?)", rows)

    def runs(self) -> list[KeptRun]:
        """Return the number of replies under each condition, for each epoch."""
        return [KeptRun(*row) for row in self._connection.execute(_RUNS)]

    def find(self, condition: str, item_id: str, epoch: int) -> KeptReply | None:
        """Return a reply, or None if the request has no reply yet."""
        row = self._connection.execute(
            "SELECT * FROM replies WHERE condition = ? AND item_id = ? AND epoch = ?", (condition, item_id, epoch)
        ).fetchone()
        return None if row is None else KeptReply(*row)

    def asked(self, condition: str, epochs: int) -> dict[tuple[str, int], tuple[int, int]]:
        """Return the tokens (in, out) of each reply under a condition, by item and epoch."""
        rows = self._connection.execute(
            "SELECT item_id, epoch, tokens_in, tokens_out FROM replies WHERE condition = ? AND epoch <= ?",
            (condition, epochs),
        )
        return {(item_id, epoch): (tokens_in, tokens_out) for item_id, epoch, tokens_in, tokens_out in rows}


@contextmanager
def kept_replies(folder: Path) -> Iterator[KeptReplies]:
    """Open the replies in a folder. Only one process can use the replies of a model at a time.

    Raises
    ------
    InputError
        If another process uses the replies, or the file cannot be used.
    """
    path = folder / FILE
    try:
        private_folder(folder)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, PRIVATE_FILE))
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute(_REPLIES)
            connection.execute(_CONDITIONS)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InputError(
                f"{path}: another command asks this model now. Fix: wait until the other command has ended."
            ) from None
        raise InputError(f"{path}: cannot be used ({error}). Fix: check the permissions and the free space.") from None
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: this is not a file of replies ({error}). Fix: move this file away.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be used ({error.strerror}). Fix: check the permissions.") from None
    # An error of the block itself is not an error of this file.
    with closing(connection):
        yield KeptReplies(connection)
