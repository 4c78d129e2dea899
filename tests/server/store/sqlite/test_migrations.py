"""A store of the first version, opened by the present version: no data are lost or changed, and the study continues."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS
from experiment.models.baselines import run_baseline
from experiment.plan import plan_session
from experiment.records import Kind, Run
from experiment.study.definition import Study
from server.store import Conflict, SlotState, SqliteStore
from server.store.checksums import MODEL_COLUMNS, SCREEN_COLUMNS
from server.store.sql.studies import as_json
from server.store.sqlite import file as sqlite_file
from server.store.sqlite import migrations as migrations_module
from server.store.sqlite.migrations import migrations
from server.store.tables import TRIALS
from tests.server.stores import (
    Clock,
    Person,
    at_once,
    make_small,
    of,
    problems,
    recruiting,
    response,
    rows,
    verified,
    version_of,
    without_device,
)

STARTED_AT = "2026-03-01T10:{:02}:00.000+00:00"
RENAMED = {"completion_code": "withdrawal_code"}
"""Columns of the first version that have another name now."""
FIRST_TABLES = ("studies", "items", "participants", "sessions", "runs", "planned_trials", "responses")


def by_name(db: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    """All rows of a table or view, by the names of their columns."""
    found = db.execute(f'SELECT * FROM "{table}"')
    columns = [column[0] for column in found.description]
    return sorted((dict(zip(columns, row, strict=True)) for row in found), key=repr)


class FirstStore:
    """A store as the first version wrote it, filled by that version's statements."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        migrations.apply(Database(self.db), stop_before=KNOWN_MIGRATIONS[1])
        later = "fixation_frames_intended|frame_ms|onset_source|visit|input|missing|signals|jspsych|"
        later += "|".join((*MODEL_COLUMNS, *SCREEN_COLUMNS))
        since = rf",\s*(responses\.({later})|sessions\.(session_number|revision|excluded_at|excluded_reason)) AS \w+"
        self.db.execute(f"CREATE VIEW trials AS {re.sub(since, '', without_device(TRIALS))}")
        self.n = 0

    def register(self, study: Study) -> None:
        definition = study.definition.model_dump_json(exclude={"recruitment"})  # The first version had none.
        self.db.execute(
            "INSERT INTO studies VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                study.digest, study.name, study.definition.version, study.battery.digest, definition,
                as_json(dict(study.texts)), STARTED_AT.format(0),
            ),
        )  # fmt: skip
        self.db.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [
                (study.battery.digest, item.item_id, item.task, *map(as_json, (item.factors, item.content, item.key)))
                for item in study.battery.items
            ],
        )

    def begin(
        self, study: Study, group: int, seed: int, status: str, n_answers: int, kind: Kind = Kind.HUMAN
    ) -> dict[str, Any]:
        self.n += 1
        name = f"{self.n:016x}"
        plan = plan_session(study, group, seed)
        self.db.execute("INSERT INTO participants VALUES (?, ?)", (f"p-{name}", kind.value))
        self._insert_session(
            session=name, participant=f"p-{name}", study_digest=study.digest, battery_digest=study.battery.digest,
            group=group, seed=seed, source="web", status=status, started_at=STARTED_AT.format(self.n),
            completed_at=STARTED_AT.format(self.n + 30) if status == "completed" else None, consent_digest="consent",
            token_digest=f"token-{name}", start_id=f"start-{name}", completion_code=f"{self.n:08X}",
            n_trials=len(plan.trials),
        )  # fmt: skip
        self.db.executemany(
            "INSERT INTO planned_trials VALUES (?, ?, ?, ?)",
            [(name, trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials],
        )
        sent = [response(index, rt_ms=1000.5 + self.n, response=f"ä {index}") for index in range(n_answers)]
        for one in reversed(sent):  # The order of the rows in the file must not matter.
            self._insert_response(name, one.trial_index, one.response_id, as_json(one.response), one.rt_ms)
        return {"session": name, "token": f"token-{name}", "start_id": f"start-{name}", "sent": sent, "group": group}

    def add_run(self, study: Study, run: Run) -> None:
        name = "run-0123456789abcdef"
        self.db.execute("INSERT INTO participants VALUES (?, 'model')", (name,))
        self._insert_session(
            session=name, participant=name, study_digest=study.digest, battery_digest=study.battery.digest,
            source="api", status="completed", started_at=STARTED_AT.format(0), completed_at=STARTED_AT.format(1),
            n_trials=len(run.item_ids),
        )  # fmt: skip
        self.db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, run.run, run.model, run.model_version, 0.5, "prompt", as_json(run.parameters)),
        )
        self.db.executemany(
            "INSERT INTO planned_trials VALUES (?, ?, 'test', ?)",
            [(name, index, item_id) for index, item_id in enumerate(run.item_ids)],
        )
        for one in run.responses:
            self._insert_response(name, one.trial_index, one.response_id, as_json(one.response), None, "text", 1)

    def _insert_session(self, **row: Any) -> None:
        columns = ", ".join(f'"{column}"' for column in row)
        marks = ", ".join("?" * len(row))
        self.db.execute(f"INSERT INTO sessions ({columns}) VALUES ({marks})", list(row.values()))

    def _insert_response(
        self,
        session: str,
        trial_index: int,
        response_id: str,
        answer: str,
        rt_ms: float | None,
        text: str | None = None,
        imported_correct: int | None = None,
    ) -> None:
        self.db.execute(
            "INSERT INTO responses VALUES (?, ?, ?, 1, ?, ?, 200.5, 12, ?, ?, 0, 1, 1, ?, ?)",
            (
                response_id, session, trial_index, answer, rt_ms, STARTED_AT.format(1), STARTED_AT.format(2), text,
                imported_correct,
            ),
        )  # fmt: skip


@pytest.fixture
def first(tmp_path: Path, small_study: Study) -> Iterator[tuple[FirstStore, dict[str, dict[str, Any]]]]:
    """A store of the first version in which each kind of event had happened, and its sessions."""
    first = FirstStore(tmp_path / "equipoise.db")
    later = version_of(small_study, "1.1")
    first.register(small_study)
    first.register(later)
    sessions = {
        "completed": first.begin(small_study, 1, 1, "completed", 3),
        "under way": first.begin(small_study, 2, 1, "active", 2),
        "begun": first.begin(small_study, 3, 1, "active", 0),
        "withdrawn": first.begin(small_study, 1, 2, "withdrawn", 0),
        "simulated": first.begin(small_study, 1, 1, "completed", 3, Kind.SIMULATED),
        "simulated under way": first.begin(small_study, 2, 1, "active", 1, Kind.SIMULATED),
        "in the later version": first.begin(later, 1, 1, "active", 3),
    }
    first.add_run(small_study, run_baseline(small_study, "baseline/tracer"))
    yield first, sessions
    first.db.close()


def test_a_migration_changes_no_data(first: tuple[FirstStore, dict[str, Any]]) -> None:
    old, _ = first
    before = {table: by_name(old.db, table) for table in FIRST_TABLES}
    view = by_name(old.db, "trials")
    SqliteStore(old.path).close()
    for table in FIRST_TABLES:
        columns = before[table][0].keys()
        now = [{column: row[RENAMED.get(column, column)] for column in columns} for row in by_name(old.db, table)]
        assert sorted(now, key=repr) == before[table], table
    now = [{column: row[column] for column in view[0]} for row in by_name(old.db, "trials")]
    assert sorted(now, key=repr) == view
    assert len(view) == 7 * 3 + 6


def test_a_migrated_store_passes_all_checks(first: tuple[FirstStore, dict[str, Any]]) -> None:
    old, sessions = first
    with closing(SqliteStore(old.path)) as store:
        found = verified(store)
        assert found.problems == []
        assert found.n_sessions == len(sessions) + 1
        assert found.n_responses == sum(len(one["sent"]) for one in sessions.values()) + 6
        store.check_integrity()
        assert rows(store, "PRAGMA foreign_key_check") == []


def test_a_store_of_the_second_version_passes_all_checks(first: tuple[FirstStore, dict[str, Any]]) -> None:
    """Its checksums cover fewer columns than the present ones."""
    old, sessions = first
    migrations.apply(Database(old.db), stop_before=KNOWN_MIGRATIONS[2])
    checksums = by_name(old.db, "responses")
    with closing(SqliteStore(old.path)) as store:
        assert verified(store).problems == []
        kept = rows(store, "SELECT session, trial_index, checksum FROM responses ORDER BY session, trial_index")
        assert kept == sorted((row["session"], row["trial_index"], row["checksum"]) for row in checksums)
        under_way = sessions["under way"]
        new_response = response(2, visit=2, input="key", signals={"hidden": 1})
        store.add_responses(under_way["session"], under_way["token"], [new_response])
        assert verified(store).problems == []


def test_slots_follow_the_state_of_older_sessions(first: tuple[FirstStore, dict[str, Any]], small_study: Study) -> None:
    old, sessions = first
    with closing(SqliteStore(old.path)) as store:
        slots = dict(rows(store, "SELECT session, slot FROM sessions"))
        assert {name: slots[one["session"]] for name, one in sessions.items()} == {
            "completed": "confirmed",
            "under way": "reserved",
            "begun": "reserved",
            "withdrawn": "released",
            "simulated": "confirmed",
            "simulated under way": "reserved",
            "in the later version": "reserved",
        }
        assert slots["run-0123456789abcdef"] is None
        progress = {(one.kind, one.group): one for one in store.progress(small_study)}
        counts = [
            (one.n_begun, one.n_under_way, one.n_completed, one.n_withdrawn)
            for one in (progress[Kind.HUMAN, group] for group in (1, 2, 3))
        ]
        assert counts == [(2, 0, 1, 1), (1, 1, 0, 0), (1, 1, 0, 0)]
        assert progress[Kind.SIMULATED, 1].n_completed == 1
        assert all(one.is_open for one in progress.values())
        begun = next(event for event in store.events(small_study) if event.event == "begun before this log")
        assert set(begun.details["sessions"]) == {
            one["session"] for name, one in sessions.items() if name != "in the later version"
        }


def test_older_sessions_resume_where_they_stopped(first: tuple[FirstStore, dict[str, Any]], small_study: Study) -> None:
    old, sessions = first
    with closing(SqliteStore(old.path)) as store:
        store.register_study(small_study)
        for name in ("under way", "begun", "simulated under way", "in the later version"):
            one = sessions[name]
            study = version_of(small_study, "1.1") if name == "in the later version" else small_study
            found = store.find_session(one["token"])
            assert found is not None and found.plan.session == one["session"]
            assert [trial.item.item_id for trial in found.plan.trials] == [
                trial.item_id for trial in plan_session(small_study, one["group"], 1).trials
            ]
            assert found.n_answered == len(one["sent"])
            store.resume_session(study, one["session"])
            assert store.add_responses(one["session"], one["token"], one["sent"]) == [False] * len(one["sent"])
            left = [response(index) for index in range(len(one["sent"]), 3)]
            assert store.add_responses(one["session"], one["token"], left) == [True] * len(left)
            store.complete_session(study, one["session"], passed_checks=True)
            completed = store.find_session(one["token"])
            assert completed is not None and completed.slot is SlotState.CONFIRMED
        assert problems(store) == []


def test_older_sessions_can_be_withdrawn(first: tuple[FirstStore, dict[str, Any]], small_study: Study) -> None:
    old, sessions = first
    with closing(SqliteStore(old.path)) as store:
        for name in ("completed", "under way", "withdrawn"):
            store.withdraw_session(sessions[name]["session"])
        with pytest.raises(Conflict, match="is over"):
            store.add_responses(sessions["withdrawn"]["session"], sessions["withdrawn"]["token"], [response(0)])
        assert store.sessions_with_code(small_study, "00000001") == [sessions["completed"]["session"]]
        assert problems(store) == []


def test_new_participants_get_free_slots_and_unused_seeds(
    first: tuple[FirstStore, dict[str, Any]], small_study: Study
) -> None:
    old, _ = first
    with closing(SqliteStore(old.path)) as store:
        with Clock().installed() as clock:
            clock.put_to(datetime.fromisoformat(STARTED_AT.format(20)))  # Soon after the sessions under way began.
            study = recruiting(small_study, quota_per_group=2)
            newcomers = [Person(store, study) for _ in range(3)]
        assert Counter(person.group for person in newcomers) == {1: 1, 2: 1, 3: 1}
        assert {(person.group, person.stored.session.seed) for person in newcomers} == {(1, 3), (2, 2), (3, 2)}
        for person in newcomers:
            person.complete()
        assert problems(store) == []


def test_sessions_that_stopped_long_ago_release_their_slots(
    first: tuple[FirstStore, dict[str, Any]], small_study: Study
) -> None:
    old, sessions = first
    study = recruiting(small_study, quota_per_group=1)
    with closing(SqliteStore(old.path)) as store:
        newcomers = [Person(store, study) for _ in range(2)]
        assert {person.group for person in newcomers} == {2, 3}
        assert store.why_full(study)
        released = [event.session for event in store.events(study) if event.event == "released"]
        assert sorted(released) == sorted(sessions[name]["session"] for name in ("under way", "begun"))
        assert problems(store) == []


def test_an_older_import_is_not_stored_again(first: tuple[FirstStore, dict[str, Any]], small_study: Study) -> None:
    old, _ = first
    run = run_baseline(small_study, "baseline/tracer")
    with closing(SqliteStore(old.path)) as store:
        with pytest.raises(Conflict, match="in the store already, as part of the run `baseline/tracer`"):
            store.add_runs(small_study, [run.model_copy(update={"temperature": 0.9})])
        assert rows(store, "SELECT run, temperature FROM runs") == [("baseline/tracer", 0.5)]


def test_a_study_with_older_sessions_still_needs_a_new_version(
    first: tuple[FirstStore, dict[str, Any]], small_study: Study, sample_study: Study
) -> None:
    old, _ = first
    with closing(SqliteStore(old.path)) as store:
        store.register_study(small_study)
        with pytest.raises(InputError, match="give the study a new `version`"):
            store.register_study(make_small(sample_study, groups=4))


def test_a_store_is_migrated_once_for_any_number_of_servers(first: tuple[FirstStore, dict[str, Any]]) -> None:
    old, _ = first
    stores = at_once(*[partial(SqliteStore, old.path)] * 5)
    assert of(SqliteStore, stores) == 5, stores
    for store in stores:
        assert problems(store) == []
        store.close()
    applied = [row["name"] for row in by_name(old.db, "_sqlite_migrations")]
    assert sorted(applied) == sorted(KNOWN_MIGRATIONS)


@pytest.mark.parametrize("where", ["_keep_responses_by_session", "_chain_what_is_there", "_chain_answers"])
def test_an_interrupted_migration_leaves_the_store_unchanged(
    first: tuple[FirstStore, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    old, _ = first

    def shape() -> list[Any]:
        tables = [name for (name,) in old.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        sql = old.db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        return [sql, *(by_name(old.db, table) for table in sorted(tables))]

    before = shape()
    migrated = getattr(migrations_module, where)

    def break_off(*arguments: Any) -> None:
        migrated(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migrations_module, where, break_off)
        with pytest.raises(KeyboardInterrupt):
            SqliteStore(old.path)
    assert shape() == before
    with closing(SqliteStore(old.path)) as store:
        assert problems(store) == []


def test_a_new_store_and_a_migrated_one_have_the_same_tables(
    first: tuple[FirstStore, dict[str, Any]], tmp_path: Path
) -> None:
    old, _ = first
    SqliteStore(old.path).close()
    SqliteStore(tmp_path / "new.db").close()

    def shape(path: Path) -> Sequence[Any]:
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()

    assert shape(old.path) == shape(tmp_path / "new.db")


def test_an_empty_store_of_the_first_version_is_migrated_too(tmp_path: Path, small_study: Study) -> None:
    old = FirstStore(tmp_path / "equipoise.db")
    old.db.close()
    with closing(SqliteStore(old.path)) as store:
        store.register_study(small_study)
        Person(store, small_study).complete()
        assert problems(store) == []


def test_a_migration_on_a_full_disk_leaves_the_store_unchanged(
    first: tuple[FirstStore, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _ = first
    (n_pages,) = old.db.execute("PRAGMA page_count").fetchone()
    before = by_name(old.db, "trials")
    connect = sqlite_file.connect

    def on_a_full_disk(path: Path, is_new: bool = False) -> sqlite3.Connection:
        connection = connect(path, is_new)
        connection.execute(f"PRAGMA max_page_count = {n_pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "connect", on_a_full_disk)
        with pytest.raises(InputError, match=r"cannot be opened now.*full.*not changed"):
            SqliteStore(old.path)
    assert by_name(old.db, "trials") == before
    SqliteStore(old.path).close()
    now = [{column: row[column] for column in before[0]} for row in by_name(old.db, "trials")]
    assert sorted(now, key=repr) == before
