import json
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd
import pytest

from analysis.data.columns import FIXED_COLUMNS, FORMER_COLUMNS, VIEW_COLUMNS
from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.measures.accuracy import TABLE_COLUMNS
from analysis.output_files import csv_bytes
from analysis.provenance.record import data_digest
from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS, RESERVED_FACTOR_NAMES

SCHEMA = "CREATE TABLE kept ({}); CREATE VIEW trials AS SELECT * FROM kept;"


def write_store(path, rows):
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(SCHEMA.format(", ".join(f'"{column}"' for column in VIEW_COLUMNS)))
        marks = ", ".join("?" for _ in VIEW_COLUMNS)
        store.executemany(f"INSERT INTO kept VALUES ({marks})", rows.itertuples(index=False))
    return path


@pytest.fixture
def mixed(view, session, row):
    return view(
        session(participant="007", factors={"condition": "01", "level": 1}),
        row(participant="007", trial_index=9, phase="practice", item_id="p", response=3),
        session(kind="model", run="Model A", n_test=3, n_correct=2, battery="c" * 64,
                factors={"condition": "1", "level": 2}),
        row(kind="model", run="Model A", trial_index=9, item_id="i9", response="I refuse", valid=0, imported_correct=0,
            battery="c" * 64),
        row(participant="008", trial_index=3, item_id="i10", response=None, rt_ms=None),
    )  # fmt: skip


def test_responses_are_scored_by_the_grader_of_the_task(view, row):
    board = {"size": 8, "atoms": [[3, 3], [3, 5]], "entry": "north-4"}
    table = tidy_trials(
        view(
            row(trial_index=0, response=1),
            row(trial_index=1, item_id="i2", response=2),
            row(
                trial_index=2, item_id="b", task="blackbox_predict", content=board, key="reflected", response="north-4"
            ),
        )
    )
    assert table["correct"].tolist() == [True, False, True]
    assert table["score"].tolist() == [1, 0, 1]
    assert table["chance"].tolist() == pytest.approx([1 / 4, 1 / 4, 1 / 33])


def test_an_unanswered_trial_has_no_score_and_an_invalid_one_has_zero(mixed):
    table = tidy_trials(mixed)
    unanswered = table[table["response"].isna()]
    invalid = table[table["valid"].eq(False).fillna(False)]
    assert unanswered["correct"].isna().all()
    assert invalid["correct"].tolist() == [False]
    assert invalid["response"].tolist() == ["I refuse"]


def test_an_invalid_response_is_not_right_even_if_it_equals_the_key(view, row):
    assert tidy_trials(view(row(kind="model", response=1, valid=0)))["correct"].tolist() == [False]


def test_levels_keep_their_type_and_their_leading_zeros(mixed):
    table = tidy_trials(mixed)
    assert set(table["condition"].dropna()) == {"01", "1"}
    assert pd.api.types.is_integer_dtype(table["level"])
    assert table["participant"].iloc[0] == "007"


def test_a_store_and_its_csv_export_give_the_same_table_and_digest(mixed, tmp_path):
    store = write_store(tmp_path / "with space#1.sqlite", mixed)
    export = tmp_path / "export.csv"
    mixed.to_csv(export, index=False)
    pd.testing.assert_frame_equal(read_trials(store), read_trials(export))
    assert data_digest(store) == data_digest(export)
    assert read_trials(export)["participant"].iloc[0] == "007"


def test_a_store_is_opened_read_only(mixed, tmp_path):
    store = write_store(tmp_path / "store.sqlite", mixed)
    before = store.read_bytes()
    read_trials(store)
    assert store.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


def test_the_digest_does_not_depend_on_row_order_but_on_every_value(mixed):
    table = tidy_trials(mixed)
    shuffled = table.sample(frac=1, random_state=3)[sorted(table.columns)]
    assert data_digest(shuffled) == data_digest(table)
    assert data_digest(table.assign(correct=False)) == data_digest(table)
    for column, value in (("rt_ms", 1500.0001), ("item_id", "other"), ("response", 4), ("content", {"x": 1})):
        changed = table.astype({"item_id": "str"})
        changed.at[0, column] = value
        assert data_digest(changed) != data_digest(table), column


def test_the_digest_distinguishes_text_from_numbers(view, row):
    text, number = (tidy_trials(view(row(factors={"level": level}))) for level in ("1", 1))
    assert data_digest(text) != data_digest(number)


def test_mixed_levels_become_text_unless_two_levels_would_have_the_same_text(view, row):
    mixed = view(row(factors={"level": 1}), row(trial_index=1, item_id="i2", factors={"level": "low"}))
    assert tidy_trials(mixed)["level"].tolist() == ["1", "low"]
    alike = view(row(factors={"level": 1}), row(trial_index=1, item_id="i2", factors={"level": "1"}))
    with pytest.raises(InputError, match="as a text in some items, and as a number in other items"):
        tidy_trials(alike)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"factors": {"model": "x"}}, "factor `model`, which is the name of a column"),
        ({"factors": {"correct": "x"}}, "factor `correct`"),
        ({"factors": ["x"]}, "not a JSON object"),
        ({"factors": {"x": {"y": 1}}}, "not a single value"),
        ({"kind": "robot"}, "`kind` is 'robot'. Fix: write one of human, simulated, model"),
        ({"rt_ms": "fast"}, "`rt_ms` is 'fast', which is not a number"),
        ({"rt_ms": float("inf")}, "not a number"),
        ({"trial_index": 1.5}, "not a whole number"),
        ({"valid": "maybe"}, "not 0 or 1"),
        ({"item_id": None}, "`item_id` is empty"),
        ({"task": "riddle"}, "unknown task `riddle`"),
        ({"kind": "model", "run": None}, "a trial of a model has no `run`"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_with_its_row(view, row, changes, message):
    with pytest.raises(InputError, match=message) as error:
        tidy_trials(view(row(**changes)), "store.sqlite")
    assert str(error.value).startswith("store.sqlite")


def test_a_duplicate_row_is_an_error(view, row):
    with pytest.raises(InputError, match="more than one row for trial 0"):
        tidy_trials(view(row(), row()))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"participant": "A", "session": "s"}, {"participant": "B", "session": "s"}, "more than one participant"),
        ({"participant": "A"}, {"participant": "A", "kind": "simulated", "session": "t"}, "more than one kind"),
        ({"status": "completed"}, {"status": "active"}, "more than one status"),
        (
            {"kind": "model", "run": "R", "session": "a"},
            {"kind": "model", "run": "R", "session": "b"},
            "more than one run",
        ),
    ],
)
def test_contradictory_rows_are_an_error(view, row, first, second, message):
    with pytest.raises(InputError, match=message):
        tidy_trials(view(row(**first), row(trial_index=1, **second)))


def test_files_without_trials_are_refused_with_one_sentence(view, row, tmp_path):
    (tmp_path / "note.sqlite").write_text("hello")
    (tmp_path / "empty.sqlite").write_bytes(b"")
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other, other:
        other.execute("CREATE TABLE x (y)")
    (tmp_path / "broken.sqlite").write_bytes(b"SQLite format 3\x00" + b"x" * 200)
    write_store(tmp_path / "no_rows.sqlite", view())
    good = view(row()).to_csv(index=False)
    (tmp_path / "short.csv").write_text(good.rstrip().rsplit(",", 1)[0])
    (tmp_path / "unclosed.csv").write_text(good[: good.rindex("prompt") + 3])
    (tmp_path / "cut.csv").write_text(good[:-3])
    (tmp_path / "twice.csv").write_text(good.replace("study,", "study,study,", 1))
    view(row()).drop(columns=["item_id", "key"]).to_csv(tmp_path / "columns.csv", index=False)
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes(good.replace("demo", "d\xe9mo").encode("latin-1"))
    (tmp_path / "json.csv").write_text(good.replace('""options""', "options"))
    expected = {
        "none.sqlite": r"does not exist. Fix: name a store \(equipoise\.db\)", "note.sqlite": "not a store",
        "empty.sqlite": "not a store",
        "other.sqlite": "no view `trials`", "broken.sqlite": "is damaged .* use a backup",
        "no_rows.sqlite": "no trials yet",
        "short.csv": "line 2: .* cells, but the header has", "unclosed.csv": "not CSV",
        "cut.csv": "cells, but the header", "twice.csv": "duplicate column",
        "columns.csv": "no column `item_id`, `key`", "nothing.csv": "no column", "latin.csv": "not UTF-8",
        "json.csv": "row 1: `content` is .* not JSON", ".": "is a folder",
    }  # fmt: skip
    for name, message in expected.items():
        with pytest.raises(InputError, match=message) as error:
            read_trials(tmp_path / name)
        assert "\n" not in str(error.value)


def write_migrations(path, *names):
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT)")
        store.executemany("INSERT INTO _sqlite_migrations VALUES (?, ?, '2026')", names)


def test_a_store_of_a_newer_equipoise_is_refused(mixed, tmp_path):
    known = [("equipoise", name) for name in KNOWN_MIGRATIONS]
    write_migrations(write_store(tmp_path / "now.db", mixed), *known, ("another", "m9"))
    assert len(read_trials(tmp_path / "now.db")) == len(mixed)
    write_migrations(write_store(tmp_path / "newer.db", mixed), *known, ("equipoise", "m999_things"))
    with pytest.raises(
        InputError,
        match=r"newer\.db: .* by a newer version of Equipoise \(your version does not know the changes m999_things\)",
    ):
        read_trials(tmp_path / "newer.db")


def test_a_locked_store_is_distinguished_from_a_damaged_store(mixed, tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.data.trials_reader.PATIENCE_S", 0.05)
    path = write_store(tmp_path / "store.db", mixed)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match=r"store\.db: the store is locked by another program .* try again"):
            read_trials(path)
    assert len(read_trials(path)) == len(mixed)


@pytest.fixture
def foreign_folder():
    """Return a folder of another user that may be read but not written; root changes to the user nobody."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)

    @contextmanager
    def without_write_permission():
        user = os.geteuid()
        folder.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(user)
            folder.chmod(0o755)

    yield folder, without_write_permission
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name == "nt", reason="needs the permissions of POSIX")
def test_a_store_in_a_read_only_folder_is_read(mixed, foreign_folder):
    folder, without_write_permission = foreign_folder
    path = write_store(folder / "equipoise.db", mixed)
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA journal_mode = WAL")
    with without_write_permission():
        assert len(read_trials(path)) == len(mixed)
    assert [file.name for file in folder.iterdir()] == ["equipoise.db"]
    (folder / "equipoise.db-wal").write_bytes(b"")
    with (
        without_write_permission(),
        pytest.raises(InputError, match=r"cannot be opened .* copy the store .* together with its -wal"),
    ):
        read_trials(path)
    path.chmod(0)
    with without_write_permission(), pytest.raises(InputError, match=r"equipoise\.db: you may not read this file"):
        read_trials(path)


def test_text_that_a_spreadsheet_would_run_survives_a_guarded_export(view, row, tmp_path):
    rows = view(row(participant="=1+1"), row(participant="'=x", trial_index=1), row(participant="-5", trial_index=2))
    (tmp_path / "export.csv").write_bytes(csv_bytes(rows))
    assert "'=1+1" in (tmp_path / "export.csv").read_text()
    assert read_trials(tmp_path / "export.csv")["participant"].tolist() == ["=1+1", "'=x", "-5"]


def test_whole_numbers_of_any_size_keep_their_value(view, row):
    seeds = [None, 0, -1, 2**31 - 1, -(2**31), 2**31, -(2**63), 2**63 - 1]
    for some in (seeds[:1], seeds[:5], seeds):
        table = tidy_trials(view([row(trial_index=index, seed=seed) for index, seed in enumerate(some)]))
        assert [None if pd.isna(seed) else seed for seed in table["seed"]] == some


def test_a_row_of_the_tidy_table_needs_few_bytes(view, session):
    """A million responses are analyzed in one gigabyte. With texts as objects, a row would take 600 bytes."""
    factors = {f"f{index}": "level" for index in range(10)} | {f"n{index}": index for index in range(10)}
    table = tidy_trials(view([session(participant=f"P{n}", n_test=50, factors=factors) for n in range(40)]))
    assert table.memory_usage(index=False).sum() / len(table) < 440


def test_a_hundred_thousand_rows_are_read_in_seconds(view, session):
    rows = session(n_test=1000, factors={"condition": "a"})
    big = pd.concat([view(rows).assign(participant=f"P{n}", session=f"s{n}") for n in range(100)])
    start = time.perf_counter()
    table = tidy_trials(big)
    assert len(table) == 100_000
    assert time.perf_counter() - start < 20
    assert json.loads(json.dumps(table["content"].iloc[-1]))["prompt"] == "Which?"


def test_the_reserved_names_are_exactly_the_columns_of_the_tables():
    assert FIXED_COLUMNS | TABLE_COLUMNS | set(FORMER_COLUMNS.values()) == RESERVED_FACTOR_NAMES
