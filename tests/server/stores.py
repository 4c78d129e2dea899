"""Shared parts of the tests of stores: small studies, a participant, a clock, and SQL statements on the tables."""

import dataclasses
import re
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import psycopg
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from batteries.items import Battery
from experiment.records import Kind, Response, Source, TrialAction
from experiment.study.definition import Study
from experiment.study.recruitment import Recruitment
from experiment.study.timeline import PracticeCriterion
from server.store import Identity, SessionStart, SqliteStore, Store, StoredSession, StoreUnavailable, database
from server.store.postgres.store import PostgresStore
from server.store.sql import resuming, session_rows
from server.store.sql.store import SqlStore
from server.store.tables import TABLES
from server.store.verify import Verified, verify


def make_small(study: Study, groups: int = 3) -> Study:
    """Return the sample study with one practice trial and two test trials per session."""
    kept = study.test_items[: 2 * groups]
    apart = {study.definition.practice[0]}
    items = tuple(item for item in study.battery.items if item in kept or item.item_id in apart)
    design = study.definition.design.model_copy(update={"groups": groups})
    definition = study.definition.model_copy(update={"design": design, "attention_checks": ()})
    return dataclasses.replace(
        study,
        definition=definition,
        battery=Battery(**(study.battery.model_dump(exclude={"items"}) | {"items": items})),
        groups={item.item_id: 1 + position % groups for position, item in enumerate(kept)},
    )


def recruiting(study: Study, **fields: Any) -> Study:
    """Return the study with another `recruitment`, which changes no digest."""
    definition = study.definition.model_copy(update={"recruitment": Recruitment(**fields)})
    changed = dataclasses.replace(study, definition=definition)
    assert changed.digest == study.digest
    return changed


def without_device(view: str) -> str:
    """Return the query of the view `trials` as it was before the view had the device of a trial."""
    changed = re.sub(r",\s*\(SELECT visits\.device [^)]*\) AS device", "", view)
    assert changed != view
    return changed


def version_of(study: Study, version: str) -> Study:
    """Return the study as another version of itself."""
    return dataclasses.replace(study, definition=study.definition.model_copy(update={"version": version}))


def response(trial_index: int, **changes: Any) -> Response:
    """Return a response as a client sends it."""
    fields = {
        "response_id": str(uuid.uuid4()),
        "trial_index": trial_index,
        "response": "absorbed",
        "rt_ms": 1234.5,
        "fixation_ms": 200.1,
        "fixation_frames": 12,
        "shown_at": "2026-11-21T10:00:00.123Z",
        "frames_dropped": 0,
        "focus_lost": 1,
    }
    return Response.model_validate(fields | changes)


def action(action_index: int, trial_index: int = 0, **changes: Any) -> TrialAction:
    """Return an action in a trial of an interactive task, as a client sends it."""
    fields = {
        "action_id": str(uuid.uuid4()),
        "trial_index": trial_index,
        "action_index": action_index,
        "action": {"action": "fire", "port": f"north-{action_index + 1}"},
        "since_onset_ms": 1000.25 * (action_index + 1),
        "rt_ms": 1000.25,
        "input": "key",
        "visit": 1,
    }
    return TrialAction.model_validate(fields | changes)


class Person:
    """A participant who begins a session of a study in a store, and may complete the session."""

    def __init__(
        self,
        store: Store,
        study: Study,
        kind: Kind = Kind.HUMAN,
        identity: Identity | None = None,
        start_id: str | None = None,
    ) -> None:
        self.store, self.study = store, study
        self.start_id = start_id or str(uuid.uuid4())
        self.kind, self.identity = kind, identity
        self.sent: list[Response] = []
        self.token = ""
        self.begin()

    def begin(self) -> StoredSession:
        """Begin a session, or resume it as the same participant with a new token."""
        token, held = uuid.uuid4().hex, self.token or None
        fields = (self.start_id, self.kind, Source.WEB, token, "consent", self.identity)
        start = SessionStart(*fields, held_digest=held)
        self.stored, self.token = self.store.start_session(self.study, start), token
        return self.stored

    @property
    def session(self) -> str:
        """The session's name."""
        return self.stored.session.session

    @property
    def group(self) -> int:
        """The session's group."""
        assert self.stored.session.group is not None
        return self.stored.session.group

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return len(self.stored.plan.trials)

    @property
    def now(self) -> StoredSession:
        """The session in the store's present state."""
        found = self.store.find_session(self.token)
        assert found is not None
        return found

    def send(self, *responses: Response) -> list[bool]:
        """Send responses in one request."""
        return self.store.add_responses(self.session, self.token, responses)

    def answer(self, n: int = 1) -> list[bool]:
        """Respond to the next trials in one request."""
        new = [response(len(self.sent) + number) for number in range(n)]
        stored = self.send(*new)
        self.sent += new
        return stored

    def act(self, action_index: int, trial_index: int, **changes: Any) -> bool:
        """Send an action in a trial, as in an interactive task."""
        one = action(action_index, trial_index, **changes)
        return self.store.add_action(self.session, self.token, one, {"outcome": "absorbed"})

    def answer_all(self) -> "Person":
        """Respond to all remaining trials in one request."""
        self.answer(self.n_trials - len(self.sent))
        return self

    def complete(self, passed_checks: bool = True) -> "Person":
        """Respond to the remaining trials and complete the session."""
        self.answer_all()
        self.store.complete_session(self.study, self.session, passed_checks)
        return self

    def withdraw(self) -> "Person":
        """Withdraw from the study."""
        self.store.withdraw_session(self.session)
        return self


class Clock:
    """The clock of the stores, which a test can advance."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def advance(self, minutes: float) -> None:
        """Advance the clock."""
        self._ahead += timedelta(minutes=minutes)

    def put_to(self, at: datetime) -> None:
        """Set the clock to a time."""
        self._ahead = at - datetime.now(UTC)

    def now(self, zone: tzinfo | None = None) -> datetime:
        """Return the time of the clock."""
        return datetime.now(zone) + self._ahead

    @contextmanager
    def installed(self) -> Iterator["Clock"]:
        """Use this clock in the stores for a block."""
        clock = self

        class Shifted(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return clock.now(tz)

        with pytest.MonkeyPatch.context() as patch:
            for module in (database, resuming, session_rows):  # The modules that use `datetime.now`.
                patch.setattr(module, "datetime", Shifted)
            yield self


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Do each job in a thread, all at the same moment; return the result or the exception of each job."""
    outcomes: list[Any] = [None] * len(jobs)
    barrier = threading.Barrier(len(jobs))

    def run(number: int) -> None:
        barrier.wait()
        try:
            outcomes[number] = jobs[number]()
        except Exception as error:  # The test checks it.
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def reopened(store: Store) -> Store:
    """Close a store and open it again."""
    store.close()
    return another(store)


def another(store: Store) -> Store:
    """Open the same store a second time, as another server would."""
    return SqliteStore(store.path) if isinstance(store, SqliteStore) else PostgresStore(address(store))


def address(store: Store) -> str:
    """Return the address of a store's database."""
    assert isinstance(store, PostgresStore)
    return store._url


def empty(url: str) -> None:
    """Delete all rows of a store in PostgreSQL."""
    with psycopg.connect(url) as db:
        for table in reversed(TABLES):
            db.execute(f'DELETE FROM "{table}"'.encode())


def empty_open(store: PostgresStore) -> None:
    """Delete all rows of an open store, with its own connections, and all that the store remembers of the rows."""
    store._write(lambda db: [db.execute(f'DELETE FROM "{table}"') for table in reversed(TABLES)])
    SqlStore.__init__(store)


def rows(store: Store, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a store's tables."""
    if isinstance(store, PostgresStore):
        # A new connection to PostgreSQL takes far longer than most queries, so the query uses an open connection. After
        # a restart of the server, the open connections are of no use.
        with suppress(StoreUnavailable), store._reading() as db:
            return list(map(tuple, db.execute(query, parameters).fetchall()))
    with store.snapshot() as db:
        return list(map(tuple, db.execute(query, parameters).fetchall()))


def held_by(store: Store) -> dict[str, str]:
    """Return the rows of each table as text, in alphabetical order."""
    with store.snapshot() as db:
        return {
            table: "\n".join(sorted(map(repr, db.execute(f'SELECT * FROM "{table}"').fetchall()))) for table in TABLES
        }


def execute_sql(store: Store, *statements: str) -> None:
    """Change a store's tables directly, as a database tool can, without the check of foreign keys."""
    if isinstance(store, SqliteStore):
        connection = sqlite3.connect(store.path)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return
    with psycopg.connect(address(store)) as db:
        db.execute("SET session_replication_role = replica")
        for statement in statements:
            db.execute(statement.encode())


def verified(store: Store) -> Verified:
    """Return the result of a check of the whole store."""
    with store.snapshot() as db:
        return verify(db)


def problems(store: Store) -> list[str]:
    """Return the problems that a check of the whole store finds."""
    return verified(store).problems


def responses_of(store: Store, session: str) -> list[tuple[int, str]]:
    """Return trial index and response id of a session's stored responses."""
    found = rows(store, "SELECT trial_index, response_id FROM responses WHERE session = ? ORDER BY 1", (session,))
    return [(int(index), str(response_id)) for index, response_id in found]


def sign_in(http: FlaskClient, token: str = "researcher-token", **more: Any) -> TestResponse:
    """Sign in as the researcher, as the form of the page does."""
    reply: TestResponse = http.post("/researcher/sign-in", data={"token": token}, **more)
    return reply


def of(kind: type[Exception], outcomes: Iterable[Any]) -> int:
    """Return the number of outcomes that are such an exception."""
    return sum(isinstance(outcome, kind) for outcome in outcomes)


def saying(study: Study, /, **fields: Any) -> Study:
    """Return the study with other fields in its definition."""
    return dataclasses.replace(study, definition=study.definition.model_copy(update=fields))


def practising(study: Study, n_in_round: int, criterion: PracticeCriterion | None) -> Study:
    """Return the study with `n_in_round` practice trials per round, all with the same right answer, and a criterion."""
    (one,) = (item for item in study.battery.items if item.item_id in study.definition.practice)
    rounds = [one, *(one.model_copy(update={"item_id": f"practice-{n}"}) for n in range(2, n_in_round + 1))]
    others = [item for item in study.battery.items if item is not one]
    practised = saying(study, practice=tuple(item.item_id for item in rounds), practice_criterion=criterion)
    battery = Battery(**(study.battery.model_dump(exclude={"items"}) | {"items": (*rounds, *others)}))
    return dataclasses.replace(practised, battery=battery)
