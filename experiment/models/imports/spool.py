"""A temporary database of the replies of one import. It sorts the replies by run and item, with little memory.

Batch results are in any order, so a run is complete only after the last line. SQLite keeps the database in a temporary
file, which the operating system deletes after the import.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from experiment.models.imports.replies import ImportedReply, storable
from experiment.models.request_ids import RequestId

LOGPROB = "logprob"
"""Value of the option `--choice`, and of a run's parameter `choice`, for choices by log-probability."""


@dataclass(frozen=True)
class RunKey:
    """The model, its prompt and its settings. All replies with the same key belong to one run."""

    format: str
    model: str
    model_version: str
    provider: str | None
    template: str | None
    """First eight digits of the template's digest; None if unknown."""
    prompt: str | None
    """Name of the prompt or condition; None if unknown."""
    temperature: float | None
    epoch: int | None
    max_tokens: int | None
    made_run: str | None = None
    """Description of the run, if `models run` made it. The description alone then identifies the run."""
    choice: str | None = None
    """`logprob` if the responses are choices by log-probability; None if they are read from the replies."""


def condition_text(template: str | None, temperature: float | None, epoch: int | None) -> str:
    """Return a template, temperature and epoch as one text. The temperature is in hundredths, as in ids of requests."""
    return json.dumps([template, None if temperature is None else round(100 * temperature), epoch])


def run_key(format_: str, reply: ImportedReply, request: RequestId | None, choice: str | None) -> RunKey:
    """Return the key of a reply's run."""
    if reply.made_run is not None and choice is None:
        model = storable(reply.model)
        return RunKey(format_, model, model, reply.provider, None, None, None, None, None, made_run=reply.made_run)
    temperature = request.temperature if request and request.temperature is not None else reply.temperature
    return RunKey(
        format=format_,
        model=storable(reply.model),
        model_version=storable(reply.model_version or reply.model),
        provider=reply.provider,
        template=request.template if request else None,
        prompt=storable(reply.prompt) if reply.prompt else None,
        temperature=temperature,
        epoch=request.epoch if request else reply.epoch,
        max_tokens=reply.max_tokens,
        choice=choice,
    )


@dataclass(frozen=True, slots=True)
class SpooledReply:
    """A reply of the temporary database."""

    position: int
    """Position of the item in the study's test items."""
    reply: str
    has_response: bool
    response: JsonValue
    rule: str | None
    n_unlisted: int
    is_truncated: bool
    has_canary: bool
    finish_reason: str | None
    thinking: str
    tokens_in: int | None
    tokens_out: int | None
    latency_ms: float | None


class ReplyReading(NamedTuple):
    """The response in a reply."""

    response: JsonValue
    """The response in the form of the item's task; None if the reply is invalid."""
    is_valid: bool
    rule: str
    """The rule that read the response, or the reason why the reply is invalid."""


class Spool:
    """The replies of one import."""

    def __init__(self, canary: str | None) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._canary = canary.casefold() if canary else None
        self._run_ids: dict[RunKey, int] = {}
        self._times: dict[int, tuple[float, float]] = {}
        self._db.execute("BEGIN")
        self._db.execute(
            "CREATE TABLE replies (run INTEGER, position INTEGER, at REAL, digest BLOB, payload TEXT, "
            "PRIMARY KEY (run, position)) WITHOUT ROWID"
        )
        self._db.execute(
            "CREATE TABLE readings (run INTEGER, position INTEGER, response TEXT, is_valid INTEGER, rule TEXT, "
            "PRIMARY KEY (run, position)) WITHOUT ROWID"
        )
        self._db.execute("CREATE TABLE failures (condition TEXT, position INTEGER, PRIMARY KEY (condition, position))")

    @property
    def keys(self) -> list[RunKey]:
        """The keys of all runs, in an order that does not depend on the order of the lines."""
        return sorted(self._run_ids, key=lambda key: json.dumps(asdict(key)))

    def add(self, key: RunKey, position: int, reply: ImportedReply, file_time: datetime) -> bool | None:
        """Add a reply.

        Return True for a new reply, None for a repetition, and False for a different reply to the same request. Of two
        different replies, the earlier one is kept. If the replies have no times, the reply of the earlier line is kept.
        """
        run = self._run_ids.setdefault(key, len(self._run_ids))
        text = storable(reply.reply)
        payload = [
            text, reply.has_response, reply.response, reply.rule, reply.n_unlisted, reply.is_truncated,
            self._has_canary(reply), storable(reply.finish_reason) if reply.finish_reason else None,
            storable(reply.thinking), reply.tokens_in, reply.tokens_out, reply.latency_ms,
        ]  # fmt: skip
        content = json.dumps([text, reply.response, reply.is_truncated]).encode()
        at = reply.time.timestamp() if reply.time else None
        row = (run, position, at, hashlib.sha256(content).digest(), json.dumps(payload))
        self._note_time(run, at if at is not None else file_time.timestamp())
        if self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)", row).rowcount:
            return True
        stored_at, stored_digest = self._db.execute(
            "SELECT at, digest FROM replies WHERE run = ? AND position = ?", (run, position)
        ).fetchone()
        if stored_digest == row[3]:
            return None
        if at is not None and stored_at is not None and at < stored_at:
            self._db.execute("REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", row)
        return False

    def add_failure(self, request: RequestId | None, position: int) -> None:
        """Note a failed request."""
        parts = (request.template, request.temperature, request.epoch) if request else (None, None, None)
        condition = condition_text(*parts) if request else ""
        self._db.execute("INSERT OR IGNORE INTO failures VALUES (?, ?)", (condition, position))

    def replies(self, key: RunKey) -> Iterator[SpooledReply]:
        """Yield the replies of a run, in the order of the items."""
        rows = self._db.execute(
            "SELECT position, payload FROM replies WHERE run = ? ORDER BY position", (self._run_ids[key],)
        )
        for position, payload in rows:
            yield SpooledReply(position, *json.loads(payload))

    def add_readings(self, key: RunKey, readings: Iterable[tuple[int, ReplyReading]]) -> None:
        """Store the response in each reply of a run, or the reason why there is none, with the position of the item."""
        run = self._run_ids[key]
        self._db.executemany(
            "INSERT INTO readings VALUES (?, ?, ?, ?, ?)",
            (
                (run, position, json.dumps(reading.response), reading.is_valid, reading.rule)
                for position, reading in readings
            ),
        )

    def readings(self, key: RunKey) -> Iterator[ReplyReading]:
        """Yield the responses (or reasons) that `add_readings` stored for a run, in the order of the items."""
        rows = self._db.execute(
            "SELECT response, is_valid, rule FROM readings WHERE run = ? ORDER BY position", (self._run_ids[key],)
        )
        for response, is_valid, rule in rows:
            yield ReplyReading(json.loads(response), bool(is_valid), rule)

    def failures(self, key: RunKey) -> set[int]:
        """Return the positions of the items whose request failed, under the same prompt, temperature and epoch."""
        # A request without a temperature can have a reply that names the provider's default temperature.
        conditions = {condition_text(key.template, at, key.epoch) for at in (key.temperature, None)}
        rows = self._db.execute(
            f"SELECT position FROM failures WHERE condition IN ({', '.join('?' * (len(conditions) + 1))})",  # noqa: S608
            (*conditions, ""),
        )
        return {position for (position,) in rows}

    def times(self, key: RunKey) -> tuple[float, float]:
        """Return the times of the first and the last reply of a run, in seconds since 1970."""
        return self._times[self._run_ids[key]]

    def close(self) -> None:
        """Delete the database."""
        self._db.close()

    def _has_canary(self, reply: ImportedReply) -> bool:
        if self._canary is None:
            return False
        return self._canary in reply.reply.casefold() or self._canary in reply.thinking.casefold()

    def _note_time(self, run: int, at: float) -> None:
        first, last = self._times.get(run, (at, at))
        self._times[run] = min(first, at), max(last, at)
