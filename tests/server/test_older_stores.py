"""Stores of the first version with checksums, SQLite's and PostgreSQL's, opened by this one: whole, and going on."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from batteries.store_format import KNOWN_MIGRATIONS
from experiment.models.baselines import run_baseline
from experiment.records import Kind, Source
from experiment.study import Study
from server.store import Identity, SessionStart
from server.store.beginning import beginning
from server.store.checksums import FIRST_FIXED, N_FIRST_COLUMNS, RESPONSE_COLUMNS, TIMING_COLUMNS, link
from server.store.contract import Store
from server.store.database import Database
from server.store.opened import open_store
from server.store.view import TRIALS
from tests.postgres import PostgresCluster
from tests.server.stores import Person, problems, verified

LATER = (*TIMING_COLUMNS, *RESPONSE_COLUMNS[N_FIRST_COLUMNS:])
COLUMNS = tuple(column for column in RESPONSE_COLUMNS if column not in LATER)
VISITS = KNOWN_MIGRATIONS[2]
OCCASIONS = KNOWN_MIGRATIONS[4]
VIEW_OF_M004 = re.sub(r",\s*sessions\.occasion AS occasion", "", TRIALS)


def take_back_to_m004(db: Database, migrations: str) -> None:
    """Make a store of today one of `m004`."""
    db.execute("DROP VIEW trials")  # while it is there, SQLite drops no column
    for column in ("occasion", "adopted_at"):
        db.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    is_sqlite = migrations == "_sqlite_migrations"
    db.execute(f"DROP INDEX {'idx_sessions_study_digest_group_seed' if is_sqlite else 'sessions_seed'}")
    db.execute(f"DELETE FROM {migrations} WHERE name >= '{OCCASIONS}'")
    if not is_sqlite:  # it notes only the newest
        db.execute(f"INSERT INTO {migrations} (name, applied_at) VALUES ('{KNOWN_MIGRATIONS[3]}', '')")
    db.execute(f"CREATE VIEW trials AS {VIEW_OF_M004}")


def take_back(db: Database, migrations: str) -> None:
    """Make a store of today one of `m002`, as it first was."""
    take_back_to_m004(db, migrations)
    db.execute("DROP VIEW trials")
    for column in LATER:
        db.execute(f"ALTER TABLE responses DROP COLUMN {column}")
    db.execute("ALTER TABLE sessions DROP COLUMN demographics")
    db.execute("DROP TABLE visits")
    db.execute(f"DELETE FROM {migrations} WHERE name >= '{VISITS}'")
    since = rf",\s*responses\.({'|'.join(LATER)}) AS \w+"
    db.execute(f"CREATE VIEW trials AS {re.sub(since, '', VIEW_OF_M004)}")
    for (session,) in db.execute("SELECT session FROM sessions").fetchall():
        checksum = beginning(db, session, FIRST_FIXED)
        for row in answers(db, session):
            checksum = link(checksum, row)
            db.execute(
                "UPDATE responses SET checksum = ? WHERE session = ? AND trial_index = ?", (checksum, session, row[1])
            )
        db.execute("UPDATE sessions SET checksum = ? WHERE session = ?", (checksum, session))


def answers(db: Database, session: str) -> list[tuple[Any, ...]]:
    """Return what that version stored of a session's answers."""
    return db.execute(
        f"SELECT {', '.join(COLUMNS)} FROM responses WHERE session = ? ORDER BY trial_index", (session,)
    ).fetchall()


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Open the same store again and again."""
    if request.param == "sqlite":
        return lambda: open_store(str(tmp_path / "equipoise.db"))
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    if not cluster.is_running:
        cluster.start()
    url = cluster.new_database()
    return lambda: open_store(url)


@pytest.mark.parametrize("opened_since", [False, True], ids=["as it was", "opened by the version with visits"])
def test_a_store_without_columns_of_timing_is_whole_and_goes_on(
    reopen: Callable[[], Store], small_study: Study, opened_since: bool
) -> None:
    with closing(reopen()) as store:
        store.register_study(small_study)
        store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
        done, under_way = Person(store, small_study).complete(), Person(store, small_study)
        under_way.answer(1)
        migrations = "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations"
        with store.filling() as db:
            take_back(db, migrations)
            before = {name: answers(db, name) for (name,) in db.execute("SELECT session FROM sessions").fetchall()}
            if opened_since and migrations == "_sqlite_migrations":
                db.execute(f"INSERT INTO {migrations} (migration_set, name, applied_at) VALUES ('equipoise', ?, '')",
                           (VISITS,))  # fmt: skip
                for column in RESPONSE_COLUMNS[N_FIRST_COLUMNS:]:
                    db.execute(f"ALTER TABLE responses ADD COLUMN {column} {'INT' if column == 'visit' else 'TEXT'}")
                db.execute("ALTER TABLE sessions ADD COLUMN demographics TEXT")
                db.execute("CREATE TABLE visits (session TEXT, visit INTEGER, visit_id TEXT, at TEXT, "
                           "next_trial_index INTEGER, device TEXT)")  # fmt: skip
    assert sum(map(len, before.values())) > done.n_trials
    with closing(reopen()) as store:
        assert problems(store) == []
        with store.snapshot() as db:
            assert {name: answers(db, name) for name in before} == before
        under_way.store = store
        under_way.complete()
        Person(store, small_study).complete()
        assert problems(store) == []
        with store.filling() as db:
            db.execute("UPDATE responses SET frame_ms = 16.7 WHERE session = ? AND trial_index = 0", (done.session,))
        assert [problem for problem in verified(store).problems if done.session in problem]


def test_a_store_without_occasions_is_whole_and_goes_on(reopen: Callable[[], Store], small_study: Study) -> None:
    with closing(reopen()) as store:
        store.register_study(small_study)
        store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
        done, under_way = Person(store, small_study).complete(), Person(store, small_study)
        anna = Person(store, small_study, identity=Identity("panel", "anna")).complete()
        under_way.answer(1)
        before = verified(store)
        with store.filling() as db:
            take_back_to_m004(db, "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations")
    with closing(reopen()) as store:
        assert verified(store) == before
        listed = {row["session"]: row for row in store.sessions(small_study)}
        assert {row["occasion"] for row in listed.values()} == {None}
        under_way.store = store
        under_way.complete()
        assert Person(store, small_study, identity=Identity("panel", "anna")).session == anna.session
        start = SessionStart("start", Kind.HUMAN, Source.LAB, "token", "c", Identity("lab", "P01"), occasion=2)
        assert store.start_session(small_study, start).is_new
        assert problems(store) == []
        with store.filling() as db:
            db.execute("UPDATE sessions SET occasion = 1 WHERE session = ?", (done.session,))
        assert [problem for problem in problems(store) if done.session in problem]
