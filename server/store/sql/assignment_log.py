"""The log of decisions about slots, and of the researcher's actions.

Entries are only added, and have a chain of checksums.

A writer first locks the end of the study's log. So decisions about slots are made one after the other, even if several
server processes run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.store.checksums import link
from server.store.database import Database, marks, now
from server.store.models import Access, LogEvent


@dataclass
class Log:
    """The end of a study's log, which this transaction has locked."""

    db: Database
    study_digest: str
    n_events: int
    checksum: str
    by: str | None = None
    """Name of the researcher who decided, for the entries; None if a participant or a rule of the study decided."""

    def write(self, event: str, session: str | None = None, **details: Any) -> None:
        """Append an entry on a decision, with details such as the reason."""
        if self.by is not None:
            details["by"] = self.by
        at, text = now(), json.dumps(details, ensure_ascii=False, separators=(",", ":"))
        self.checksum = link(self.checksum, [self.study_digest, self.n_events, at, event, session, text])
        self.db.execute(
            "INSERT INTO events (study_digest, event_index, at, event, session, details, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.study_digest, self.n_events, at, event, session, text, self.checksum),
        )
        self.n_events += 1
        self.db.execute(
            "UPDATE logs SET n_events = ?, checksum = ? WHERE study_digest = ?",
            (self.n_events, self.checksum, self.study_digest),
        )


def lock_log(db: Database, study_digest: str, by: str | None = None) -> Log:
    """Lock a study's log, so that no other transaction adds an event until this transaction ends."""
    n_events, checksum = db.execute(
        f"SELECT n_events, checksum FROM logs WHERE study_digest = ?{db.for_update}",
        (study_digest,),
    ).fetchone()
    return Log(db, study_digest, n_events, checksum, by)


def lock_log_of(db: Database, session: str, by: str | None = None) -> Log:
    """Lock the log of the study to which a session belongs, as `lock_log` does."""
    (study_digest,) = db.execute("SELECT study_digest FROM sessions WHERE session = ?", (session,)).fetchone()
    return lock_log(db, study_digest, by)


def note(db: Database, study_digests: Iterable[str], access: Access, details: Mapping[str, Any]) -> list[int]:
    """See `Store.note`."""
    numbers = []
    for study_digest in sorted(study_digests):  # All writers use this order, so that no two wait for each other.
        log = lock_log(db, study_digest)
        numbers.append(log.n_events)
        log.write(access.value, **details)
    return numbers


EVENTS_AT_ONCE = 5_000
"""Number of entries that `stream_log` reads together."""


def read_log(
    db: Database, study_digest: str, since: int = 0, of: Sequence[str] = (), until: int | None = None
) -> list[LogEvent]:
    """See `Store.events`. `until` is the number of the first entry that is not returned."""
    chosen = f" AND event IN ({marks(of)})" if of else ""
    before, end = (" AND event_index < ?", (until,)) if until is not None else ("", ())
    rows = db.execute(
        "SELECT event_index, at, event, session, details FROM events "
        f"WHERE study_digest = ? AND event_index >= ?{before}{chosen} ORDER BY event_index",
        (study_digest, since, *end, *of),
    )
    return [LogEvent(index, at, event, session, json.loads(details)) for index, at, event, session, details in rows]


def stream_log(db: Database, study_digest: str) -> Iterator[LogEvent]:
    """Yield all entries of a study's log, without keeping all entries in memory."""
    ((n_events,),) = db.execute("SELECT n_events FROM logs WHERE study_digest = ?", (study_digest,)).fetchall()
    for first in range(0, n_events, EVENTS_AT_ONCE):
        yield from read_log(db, study_digest, first, until=first + EVENTS_AT_ONCE)
