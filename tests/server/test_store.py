"""What a store promises, whoever implements it."""

import os
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.loading import load_study
from experiment.models.baselines import run_baseline
from experiment.models.stored_blackbox import read_stored_runs
from experiment.records import Kind, Response, Source
from experiment.study import Study
from server.store import Conflict, SessionStart, SqliteStore, StoredSession, StoreUnavailable
from server.store.opening import connect
from server.store.writer import GroupCommitWriter


def start(store: SqliteStore, study: Study, token: str = "token", kind: Kind = Kind.HUMAN) -> StoredSession:
    return store.start_session(study, SessionStart(str(uuid.uuid4()), kind, Source.WEB, token, "consent"))


def response(trial_index: int, **changes: Any) -> Response:
    fields = {"response_id": str(uuid.uuid4()), "trial_index": trial_index, "response": "absorbed"}
    return Response.model_validate(fields | changes)


def stored_responses(path: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT session, trial_index, response FROM responses ORDER BY 1, 2").fetchall()


@pytest.fixture(autouse=True)
def _registered(store: SqliteStore, sample_study: Study) -> None:
    store.register_study(sample_study)


def test_what_is_acknowledged_is_there_after_reopening(store: SqliteStore, sample_study: Study) -> None:
    session = start(store, sample_study)
    store.add_response(session.session.session, response(0))
    store.close()
    again = SqliteStore(store.path)
    found = again.find_session("token")
    assert found is not None
    assert found.session == session.session
    assert found.trials == session.trials
    assert found.n_answered == 1
    again.close()


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(store: SqliteStore) -> None:
    connection = connect(store.path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    connection.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=30))
def test_any_sequence_of_answers_and_retries_leaves_a_gapless_start_of_the_plan(
    sample_study: Study, tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[int, bool]]
) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("store") / "equipoise.db")
    store.register_study(sample_study)
    session = start(store, sample_study).session.session
    ids: dict[int, str] = {}
    expected: list[int] = []
    for trial_index, is_retry in attempts:
        response_id = ids.get(trial_index) if is_retry else None
        one = response(trial_index, **({"response_id": response_id} if response_id else {}))
        if response_id:
            assert store.add_response(session, one) is False
        elif trial_index == len(expected):
            assert store.add_response(session, one) is True
            expected.append(trial_index)
            ids[trial_index] = one.response_id
        else:
            with pytest.raises(Conflict):
                store.add_response(session, one)
    assert [row[1] for row in stored_responses(store.path)] == expected
    store.close()


def test_simultaneous_starts_fill_groups_evenly(store: SqliteStore, sample_study: Study) -> None:
    threads = [threading.Thread(target=start, args=(store, sample_study, f"token-{number}")) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sessions = {(row["session"], row["group"], row["seed"]) for row in store.trials()}
    assert Counter(group for _, group, _ in sessions) == dict.fromkeys(range(1, 11), 6)
    assert Counter(seed for _, _, seed in sessions) == dict.fromkeys(range(1, 7), 10)


def test_simultaneous_answers_to_one_trial_are_one_answer(store: SqliteStore, sample_study: Study) -> None:
    session = start(store, sample_study).session.session
    outcomes: list[str] = []

    def answer() -> None:
        try:
            store.add_response(session, response(0))
            outcomes.append("stored")
        except Conflict:
            outcomes.append("refused")

    threads = [threading.Thread(target=answer) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(outcomes) == {"stored": 1, "refused": 19}
    assert len(stored_responses(store.path)) == 1


def test_a_withdrawn_place_is_filled_again(store: SqliteStore, sample_study: Study) -> None:
    for number in range(10):
        start(store, sample_study, f"token-{number}")
    leaver = store.find_session("token-4")
    assert leaver is not None
    store.withdraw_session(leaver.session.session)
    successor = start(store, sample_study, "token-10")
    assert successor.session.group == leaver.session.group
    assert successor.session.seed == 2  # a seed is never used twice, so no two plans are the same


def test_a_run_is_stored_once(store: SqliteStore, sample_study: Study) -> None:
    (first,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    (again,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    assert (first.is_new, again.is_new) == (True, False)
    rows = store.trials()
    assert len(rows) == 235
    assert {(row["kind"], row["run"], row["source"], row["status"], row["valid"]) for row in rows} == {
        ("model", "baseline/tracer", "api", "completed", 1)
    }


def test_stored_answers_cannot_come_in_twice_in_other_company(
    store: SqliteStore, sample_study: Study, stored_runs: Path
) -> None:
    haiku, *others = read_stored_runs(sample_study, [stored_runs])
    part = haiku.model_copy(update={"item_ids": haiku.item_ids[:23], "responses": haiku.responses[:23]})
    store.add_runs(sample_study, [part])
    with pytest.raises(Conflict, match=r"is in the store already, as part of the run `Haiku 4.5"):
        store.add_runs(sample_study, [*others, haiku])
    assert len(store.trials()) == 23  # all or none


def test_another_run_with_the_same_label_gets_a_number(store: SqliteStore, sample_study: Study) -> None:
    run = run_baseline(sample_study, "baseline/tracer")
    other = run.model_copy(
        update={"responses": tuple(r.model_copy(update={"response_id": str(uuid.uuid4())}) for r in run.responses)}
    )
    labels = [added.run for added in store.add_runs(sample_study, [run, other])]
    assert labels == ["baseline/tracer", "baseline/tracer (2)"]


def test_a_changed_study_that_people_answered_needs_a_new_version(
    store: SqliteStore, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    store.register_study(study)
    start(store, study, kind=Kind.SIMULATED)
    edit(study_folder / "consent.md", "ten minutes", "nine minutes")
    changed = load_study(study_folder)
    store.register_study(changed)  # nobody but simulated participants has answered

    start(store, changed, "person")
    edit(study_folder / "consent.md", "nine minutes", "five minutes")
    with pytest.raises(InputError, match="give it a new `version`"):
        store.register_study(load_study(study_folder))
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    store.register_study(load_study(study_folder))


def test_a_session_keeps_its_items_when_the_battery_changes(
    store: SqliteStore, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    store.register_study(study)
    before = start(store, study)
    edit(study_folder / "battery.jsonl", '"options":["red","blue"', '"options":["scarlet","blue"')
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    store.register_study(load_study(study_folder))
    after = store.find_session("token")
    assert after is not None
    assert after.trials == before.trials


def test_a_store_of_a_newer_version_is_refused_and_untouched(store: SqliteStore) -> None:
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('equipoise', 'm999_future', '')"
        )
    db.close()
    before = store.path.read_bytes()
    with pytest.raises(InputError, match=r"written by a newer Equipoise .*m999_future"):
        SqliteStore(store.path)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"these are my notes\n" * 100, b"SQLite format 3\x00" + b"\x00" * 600])
def test_a_file_that_is_no_store_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.db"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE trials (a)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="not an Equipoise store"):
        SqliteStore(path)
    assert path.read_bytes() == before


def counting_writer(path: Path) -> GroupCommitWriter:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute("CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY) STRICT")
        return connection

    return GroupCommitWriter(connect)


def test_a_failing_job_undoes_itself_and_no_other(tmp_path: Path) -> None:
    writer = counting_writer(tmp_path / "n.db")
    outcomes: dict[int, str] = {}

    def insert(n: int) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO numbers VALUES (?)", (n,))
            if n % 3 == 0:
                raise Conflict(f"{n}")

        try:
            writer.write(job)
            outcomes[n] = "stored"
        except Conflict:
            outcomes[n] = "refused"

    threads = [threading.Thread(target=insert, args=(n,)) for n in range(90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    with sqlite3.connect(tmp_path / "n.db") as db:
        stored = {n for (n,) in db.execute("SELECT n FROM numbers")}
    db.close()
    assert stored == {n for n in range(90) if n % 3}
    assert {n for n, outcome in outcomes.items() if outcome == "stored"} == stored


def test_what_cannot_be_written_is_not_acknowledged_and_writing_goes_on_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    writer = counting_writer(path)
    writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (1)"))
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")  # as a full disk or a locked file would
    writer_error: list[BaseException] = []

    def insert() -> None:
        try:
            writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (2)"))
        except StoreUnavailable as error:
            writer_error.append(error)

    thread = threading.Thread(target=insert)
    thread.start()
    thread.join(timeout=30)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert len(writer_error) == 1
    writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (3)"))
    writer.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT n FROM numbers").fetchall() == [(1,), (3,)]
    db.close()


def test_a_closed_store_takes_nothing(store: SqliteStore, sample_study: Study) -> None:
    session = start(store, sample_study).session.session
    store.close()
    with pytest.raises(StoreUnavailable):
        store.add_response(session, response(0))


def test_threads_that_come_and_go_leave_no_connections_behind(store: SqliteStore, sample_study: Study) -> None:
    start(store, sample_study)
    for _ in range(100):
        thread = threading.Thread(target=store.find_session, args=("token",))
        thread.start()
        thread.join()
    assert store._idle_readers.qsize() <= 2


def test_a_commit_or_rollback_that_fails_ends_no_writer(tmp_path: Path) -> None:
    class Failing(sqlite3.Connection):
        failing: tuple[str, ...] = ()

        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            if sql in self.failing:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *arguments)

    connection = sqlite3.connect(tmp_path / "n.db", isolation_level=None, check_same_thread=False, factory=Failing)
    connection.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY) STRICT")
    writer = GroupCommitWriter(lambda: connection)
    for failing in [("BEGIN IMMEDIATE",), ("COMMIT",)]:
        connection.failing = failing
        with pytest.raises(StoreUnavailable):
            writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (1)"))
    connection.failing = ("COMMIT", "ROLLBACK")
    with pytest.raises(StoreUnavailable):
        writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (1)"))
    connection.failing = ()
    with pytest.raises(StoreUnavailable):  # the transaction that could not be rolled back is in the way once more
        writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (2)"))
    writer.write(lambda db: db.execute("INSERT INTO numbers VALUES (3)"))
    writer.close()
    with sqlite3.connect(tmp_path / "n.db") as db:
        assert db.execute("SELECT n FROM numbers").fetchall() == [(3,)]
    db.close()


def test_a_withdrawn_answer_leaves_no_trace_in_the_files(store: SqliteStore, sample_study: Study) -> None:
    session = start(store, sample_study).session.session
    marked = response(0, response_id="5ca1ab1e-0000-4000-8000-00000badcafe")
    store.add_response(session, marked)

    def traces() -> int:
        return sum(path.read_bytes().count(b"5ca1ab1e-0000") for path in store.path.parent.iterdir())

    assert traces() > 0
    store.withdraw_session(session)
    assert traces() == 0


def test_a_first_start_that_was_interrupted_is_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)"
        )
    db.close()
    SqliteStore(path).close()
    SqliteStore(path).close()


def test_many_processes_can_open_a_new_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "data" / "equipoise.db"
    program = (
        "import sys; from pathlib import Path; from server.store import SqliteStore; "
        "SqliteStore(Path(sys.argv[1])).close()"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(6)]
    assert [process.wait(60) for process in processes] == [0] * 6


def test_the_view_has_a_row_for_every_planned_trial_even_without_its_item(
    store: SqliteStore, sample_study: Study
) -> None:
    stored = start(store, sample_study)
    with connect(store.path) as db:
        db.execute("DELETE FROM items WHERE item_id = ?", (stored.trials[3].item.item_id,))
    db.close()
    assert len(store.trials()) == len(stored.trials)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no file modes")
def test_the_answers_are_for_their_owners_eyes(store: SqliteStore) -> None:
    assert store.path.parent.stat().st_mode & 0o077 == 0


def test_times_are_stored_in_utc(store: SqliteStore, sample_study: Study) -> None:
    run = run_baseline(sample_study, "baseline/tracer")
    elsewhere = datetime(2026, 11, 21, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    store.add_runs(sample_study, [run.model_copy(update={"started_at": elsewhere})])
    assert {row["started_at"] for row in store.trials()} == {"2026-11-22T04:30:00.000+00:00"}


def test_a_code_finds_its_own_session_and_a_shared_one_finds_nobody(
    store: SqliteStore, sample_study: Study, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    own = start(store, sample_study)
    assert store.sessions_with_code(own.completion_code) == [own.session.session]
    edit(study_folder / "study.yaml", "language: en", "language: en\ncompletion_code: SHARED")
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    shared = load_study(study_folder)
    store.register_study(shared)
    assert start(store, shared, "other").completion_code == "SHARED"
    assert store.sessions_with_code("SHARED") == []
