"""Older stores of SQLite and PostgreSQL, opened by the present version: they pass all checks and are used further."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from batteries.canonical_json import digest
from batteries.store_format import KNOWN_MIGRATIONS
from experiment.models.baselines import run_baseline
from experiment.records import Kind, Source
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import Identity, SessionStart, SlotState, Visit
from server.store.checksums import (
    FIRST_FIXED,
    MODEL_COLUMNS,
    N_FIRST_COLUMNS,
    RESPONSE_COLUMNS,
    SCREEN_COLUMNS,
    TIMING_COLUMNS,
    link,
    link_response,
)
from server.store.contract import Store
from server.store.database import Database
from server.store.models import FORMER_REASONS
from server.store.open import open_store
from server.store.sql.session_rows import beginning
from server.store.tables import TRIALS
from tests.postgres import PostgresCluster
from tests.server.laboratory.laboratories import Laboratory
from tests.server.stores import (
    Clock,
    Person,
    make_small,
    problems,
    recruiting,
    rows,
    saying,
    verified,
    version_of,
    without_device,
)

COLUMNS_SINCE_M010 = (*MODEL_COLUMNS, *SCREEN_COLUMNS)
IN_M010 = tuple(column for column in RESPONSE_COLUMNS if column not in COLUMNS_SINCE_M010)
LATER = (*TIMING_COLUMNS, *IN_M010[N_FIRST_COLUMNS:])
COLUMNS = tuple(column for column in IN_M010 if column not in LATER)
VISITS = KNOWN_MIGRATIONS[2]
OCCASIONS = KNOWN_MIGRATIONS[4]
TOTALS = KNOWN_MIGRATIONS[6]
WORDS = KNOWN_MIGRATIONS[9]
SINCE_M010 = (("identities", "id_kind", "source"), ("sessions", "session_number", "occasion"))
"""Tables, with the present and former names of their columns."""
VIEW_OF_M010 = re.sub(rf",\s*responses\.({'|'.join(COLUMNS_SINCE_M010)}) AS \w+", "", without_device(TRIALS))
VIEW_OF_M009 = VIEW_OF_M010.replace("sessions.session_number AS session_number", "sessions.occasion AS occasion")
VIEW_OF_M006 = re.sub(r",\s*sessions\.(revision|excluded_at|excluded_reason) AS \w+", "", VIEW_OF_M009)
VIEW_OF_M004 = re.sub(r",\s*sessions\.occasion AS occasion", "", VIEW_OF_M006)
FIXED_IN_M006 = f"{FIRST_FIXED}, occasion, uploaded_at"


def rewrite_checksums_of_the_log(db: Database) -> None:
    """Give the entries of every log their checksums again, after a change."""
    for (study_digest,) in db.execute("SELECT study_digest FROM logs").fetchall():
        checksum = ""
        events = (
            "SELECT event_index, at, event, session, details FROM events WHERE study_digest = ? ORDER BY event_index"
        )
        for event in db.execute(events, (study_digest,)).fetchall():
            checksum = link(checksum, [study_digest, *event])
            db.execute(
                "UPDATE events SET checksum = ? WHERE study_digest = ? AND event_index = ?",
                (checksum, study_digest, event[0]),
            )
        db.execute("UPDATE logs SET checksum = ? WHERE study_digest = ?", (checksum, study_digest))


def take_back_to_m009(db: Database, migrations: str) -> None:
    """Make a store of the present version one of `m009`."""
    for table in ("actions", "payments", "accounts"):
        db.execute(f"DROP TABLE {table}")
    db.execute("ALTER TABLE slots DROP COLUMN n_added")
    db.execute("DROP VIEW trials")  # With the view, SQLite drops no column.
    for column in COLUMNS_SINCE_M010:
        db.execute(f"ALTER TABLE responses DROP COLUMN {column}")
    for table, new, old in SINCE_M010:
        db.execute(f"ALTER TABLE {table} RENAME COLUMN {new} TO {old}")
    for old, new in FORMER_REASONS.items():
        db.execute("UPDATE sessions SET release_reason = ? WHERE release_reason = ?", (old, new))
        db.execute(
            "UPDATE events SET details = REPLACE(details, ?, ?) WHERE event IN ('released', 'excluded')",
            (f':"{new}"', f':"{old}"'),
        )
    db.execute(
        """
        UPDATE events SET details = REPLACE(REPLACE(details, '"slot":', '"place":'), '"slot_released_for"',
            '"place_released_for"') WHERE event IN ('uploaded', 'surplus', 'excluded')
        """
    )
    db.execute("UPDATE events SET event = 'adopted' WHERE event = 'uploaded'")
    rewrite_checksums_of_the_log(db)
    db.execute(f"DELETE FROM {migrations} WHERE name >= '{WORDS}'")
    if migrations == "_migrations":  # In PostgreSQL only the newest is recorded.
        db.execute(f"INSERT INTO {migrations} (name, applied_at) VALUES ('{KNOWN_MIGRATIONS[8]}', '')")
    db.execute(f"CREATE VIEW trials AS {VIEW_OF_M009}")


def take_back_to_m006(db: Database, migrations: str) -> None:
    """Make a store of the present version one of `m006`."""
    take_back_to_m009(db, migrations)
    for (session,) in db.execute("SELECT session FROM sessions").fetchall():
        checksum = beginning(db, session, FIXED_IN_M006)
        query = f"SELECT {', '.join(IN_M010)} FROM responses WHERE session = ? ORDER BY trial_index"
        for row in db.execute(query, (session,)).fetchall():
            checksum = link_response(checksum, row)
            db.execute(
                "UPDATE responses SET checksum = ? WHERE session = ? AND trial_index = ?", (checksum, session, row[1])
            )
        db.execute("UPDATE sessions SET checksum = ? WHERE session = ?", (checksum, session))
    db.execute("DROP VIEW trials")  # With the view, SQLite drops no column.
    for column in ("revision", "excluded_at", "excluded_reason"):
        db.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    db.execute("ALTER TABLE identities DROP COLUMN signed_at")
    db.execute("ALTER TABLE studies DROP COLUMN content_digest")
    db.execute("DROP TABLE revisions")
    index = "idx_sessions_completion_code" if migrations == "_sqlite_migrations" else "sessions_withdrawal_code"
    db.execute("DROP TABLE response_totals")
    db.execute(f"DROP INDEX {index}")
    db.execute("ALTER TABLE identities DROP COLUMN checksum")
    for new, old in {"slot": "place", "withdrawal_code": "completion_code", "uploaded_at": "adopted_at"}.items():
        db.execute(f"ALTER TABLE sessions RENAME COLUMN {new} TO {old}")
    db.execute("ALTER TABLE slots RENAME TO places")
    db.execute(f"DELETE FROM {migrations} WHERE name >= '{TOTALS}'")
    if migrations == "_migrations":  # In PostgreSQL only the newest is recorded.
        db.execute(f"INSERT INTO {migrations} (name, applied_at) VALUES ('{KNOWN_MIGRATIONS[5]}', '')")
    db.execute(f"CREATE VIEW trials AS {VIEW_OF_M006}")


def put_under_the_digest_of_m006(db: Database, study: Study) -> str:
    """Rename a study to its digest of the time when the digest covered the analysis plan; return that digest."""
    definition = study.definition.model_dump(mode="json", exclude_defaults=True, exclude={"recruitment"})
    old = digest({"definition": definition, "battery": study.battery.digest, "texts": dict(study.texts)})
    columns = "study, version, battery_digest, definition, texts, registered_at, content_digest"
    db.execute(f"INSERT INTO studies (study_digest, {columns}) SELECT '{old}', {columns} FROM studies")
    for table in ("sessions", "slots", "logs", "events", "response_totals"):
        db.execute(f"UPDATE {table} SET study_digest = '{old}'")
    db.execute("DELETE FROM studies WHERE study_digest = ?", (study.digest,))
    rewrite_checksums_of_the_log(db)
    return old


def take_back_to_m004(db: Database, migrations: str) -> None:
    """Make a store of the present version one of `m004`."""
    take_back_to_m006(db, migrations)
    db.execute("DROP VIEW trials")
    for column in ("occasion", "adopted_at"):
        db.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    is_sqlite = migrations == "_sqlite_migrations"
    db.execute(f"DROP INDEX {'idx_sessions_study_digest_group_seed' if is_sqlite else 'sessions_seed'}")
    db.execute(f"DELETE FROM {migrations} WHERE name >= '{OCCASIONS}'")
    if not is_sqlite:  # In PostgreSQL only the newest is recorded.
        db.execute(f"INSERT INTO {migrations} (name, applied_at) VALUES ('{KNOWN_MIGRATIONS[3]}', '')")
    db.execute(f"CREATE VIEW trials AS {VIEW_OF_M004}")


def take_back(db: Database, migrations: str) -> None:
    """Make a store of the present version one of the first `m002`."""
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
    """Return a session's responses as that version stored them."""
    return db.execute(
        f"SELECT {', '.join(COLUMNS)} FROM responses WHERE session = ? ORDER BY trial_index", (session,)
    ).fetchall()


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Return a function that opens the same store."""
    if request.param == "sqlite":
        return lambda: open_store(str(tmp_path / "equipoise.db"))
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    if not cluster.is_running:
        cluster.start()
    url = cluster.new_database()
    return lambda: open_store(url)


@pytest.mark.parametrize("opened_since", [False, True], ids=["as it was", "opened by the version with visits"])
def test_a_store_without_columns_of_timing_passes_all_checks(
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
                for column in IN_M010[N_FIRST_COLUMNS:]:
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


def test_a_study_registered_with_its_analysis_plan_continues_in_its_groups(
    reopen: Callable[[], Store], sample_study: Study
) -> None:
    study = make_small(sample_study)
    assert study.definition.analysis.exclusions, "a study whose plan was part of its digest"
    with closing(reopen()) as store:
        store.register_study(study)
        people = [Person(store, study, identity=Identity("panel", f"p{n}")).complete() for n in range(4)]
        under_way = Person(store, study, identity=Identity("panel", "under way"))
        under_way.answer(1)
        with store.filling() as db:
            old = put_under_the_digest_of_m006(db, study)
            take_back_to_m006(db, "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations")
    assert old != study.digest
    plan = study.definition.analysis.model_copy(update={"by": ()})
    with closing(reopen()) as store:
        for served in (study, saying(study, analysis=plan)):
            store.register_study(served)
        assert rows(store, "SELECT study_digest FROM studies") == [(old,)]
        assert problems(store) == []
        under_way.store = store
        under_way.complete()
        newcomer = Person(store, study).complete()
        taken = [one.n_completed for one in store.progress(study) if one.kind is Kind.HUMAN]
        assert sorted(taken) == [2, 2, 2]
        assert [one.group for one in (*people, under_way, newcomer)] == [1, 2, 3, 1, 2, 3]
        assert {row["study_revision"] for row in store.sessions(study)} == {1}
        revised = saying(study, title="Another title")
        assert store.revise_study(revised, "typo").revision == 2
        assert Person(store, revised).stored.plan.definition.title == "Another title"
        assert problems(store) == []


def test_a_study_registered_with_two_plans_continues_with_the_plan_that_has_sessions(
    reopen: Callable[[], Store], sample_study: Study
) -> None:
    study = make_small(sample_study)
    other = saying(study, analysis=study.definition.analysis.model_copy(update={"by": ()}))
    with closing(reopen()) as store:
        store.register_study(study)
        begun = Person(store, study).complete()
        with store.filling() as db:
            old = put_under_the_digest_of_m006(db, study)
            later = digest("the same content under another plan, which was looked at and given up")
            db.execute(
                "INSERT INTO studies (study_digest, study, version, battery_digest, definition, texts, registered_at) "
                "SELECT ?, study, version, battery_digest, ?, texts, '9999' FROM studies",
                (later, other.definition.model_dump_json()),
            )
            take_back_to_m006(db, "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations")
    with closing(reopen()) as store:
        assert rows(store, "SELECT DISTINCT content_digest FROM studies") == [(study.digest,)]
        store.register_study(study)
        newcomer = Person(store, study)
        assert newcomer.stored.session.study_digest == old
        assert newcomer.group != begun.group
        assert len(rows(store, "SELECT study_digest FROM studies")) == 2


def test_a_store_without_session_numbers_passes_all_checks(reopen: Callable[[], Store], small_study: Study) -> None:
    with closing(reopen()) as store:
        store.register_study(small_study)
        store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
        done, under_way = Person(store, small_study).complete(), Person(store, small_study)
        anna = Person(store, small_study, identity=Identity("panel", "anna", {"STUDY_ID": "s"})).complete()
        Person(store, small_study).complete().withdraw()
        under_way.answer(1)
        before = verified(store)
        with store.filling() as db:
            take_back_to_m004(db, "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations")
    with closing(reopen()) as store:
        found = verified(store)
        assert (found.problems, found.n_responses) == ([], before.n_responses)
        listed = {row["session"]: row for row in store.sessions(small_study)}
        assert {row["session_number"] for row in listed.values()} == {None}
        under_way.store = store
        under_way.complete()
        assert [found.session for found in store.sessions_of(small_study, "panel", "anna")] == [anna.session]
        start = SessionStart("start", Kind.HUMAN, Source.LAB, "token", "c", Identity("lab", "P01"), session_number=2)
        assert store.start_session(small_study, start).is_new
        assert problems(store) == []
        with store.filling() as db:
            db.execute("UPDATE sessions SET session_number = 1 WHERE session = ?", (done.session,))
        assert [problem for problem in problems(store) if done.session in problem]


def test_a_store_without_totals_gets_them_and_checksums_of_its_panel_ids(
    reopen: Callable[[], Store], small_study: Study
) -> None:
    with closing(reopen()) as store:
        store.register_study(small_study)
        store.add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
        Person(store, small_study, identity=Identity("panel", "anna", {"STUDY_ID": "s"})).complete()
        under_way = Person(store, small_study)
        under_way.answer(2)
        with store.filling() as db:
            take_back_to_m004(db, "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations")
    with closing(reopen()) as store:
        assert problems(store) == []
        under_way.store = store
        under_way.complete()
    with closing(reopen()) as store:
        assert problems(store) == []
        with store.filling() as db:
            db.execute("DELETE FROM responses WHERE session = ?", (under_way.session,))
            db.execute("UPDATE identities SET external_id = 'bert'")
        found = "".join(problems(store))
        assert "12 responses were stored, but 9 are present" in found
        assert "the panel id, or a parameter of the panel id, was changed" in found


def test_a_store_with_former_words_passes_all_checks_and_is_used_further(
    reopen: Callable[[], Store], small_study: Study
) -> None:
    study = saying(small_study, resume=Resume(max_reloads=0, otherwise="restart"))
    ending = saying(version_of(small_study, "1.1"), resume=Resume(max_age_min=1))
    with closing(reopen()) as store:
        for one in (study, ending):
            store.register_study(one)
        restarted = Person(store, study, identity=Identity("panel", "anna"))
        store.open_session(study, restarted.token, Visit("second", None))
        with Clock().installed() as clock:
            too_old = Person(store, ending)
            clock.advance(minutes=2)
            store.open_session(ending, too_old.token, Visit("second", None))
            lapsed = Person(store, study)
            clock.advance(minutes=61)
            store.start_session(recruiting(study, quota=2), SessionStart("s", Kind.HUMAN, Source.WEB, "t", "c"))
        store.exclude_sessions([restarted.session, lapsed.session], "fire alarm")
        lab = Laboratory(store, study)
        uploaded = lab.add_uploaded("P01", session_number=1)
        before = verified(store)
        listed = store.sessions(study)
        assert {row["release_reason"] for row in [*listed, *store.sessions(ending)]} >= {
            "restarted", "too old to resume", "exclusion",
        }  # fmt: skip
        migrations = "_migrations" if "Postgres" in type(store).__name__ else "_sqlite_migrations"
        with store.filling() as db:
            take_back_to_m009(db, migrations)
            former = db.execute("SELECT DISTINCT release_reason FROM sessions WHERE slot = 'released'").fetchall()
            assert {("begun again",), ("too old to go on",)} <= set(former)
            words = {event for (event,) in db.execute("SELECT event FROM events").fetchall()}
            assert "adopted" in words and "uploaded" not in words
    assert before.problems == []
    with closing(reopen()) as store:
        found = verified(store)
        assert (found.problems, found.n_responses, found.n_sessions) == ([], before.n_responses, before.n_sessions)
        assert store.sessions(study) == listed
        (back,) = {one["external_id"] for one in store.identities(study) if one["id_kind"] == "lab"}
        assert back == "P01"
        again = store.include_sessions(study, [restarted.session, lapsed.session], "false alarm")
        assert SlotState.RELEASED in again
        lab = Laboratory(store, study)
        assert not lab.add_uploaded("P01", session_number=1).is_new
        assert uploaded.plan.session in {row["session"] for row in store.sessions(study)}
        assert problems(store) == []
