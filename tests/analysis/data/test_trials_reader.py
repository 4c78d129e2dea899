import sqlite3
from contextlib import closing

import pandas as pd
import pytest

from analysis.data import compact_columns
from analysis.data.columns import LATER_COLUMNS, VIEW_COLUMNS
from analysis.data.store_columns import OF_ITEM, OF_SESSION, OF_TRIAL, OF_VISIT
from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.data.trials_reader import RAW_COLUMNS, read_raw_rows
from batteries.errors import InputError


def write_store(path, rows, columns=VIEW_COLUMNS):
    names = ", ".join(f'"{column}"' for column in columns)
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(f"CREATE TABLE kept ({names}); CREATE VIEW trials AS SELECT * FROM kept;")
        marks = ", ".join("?" for _ in columns)
        store.executemany(f"INSERT INTO kept VALUES ({marks})", rows[list(columns)].itertuples(index=False))
    return path


@pytest.fixture
def both(tmp_path):
    """Return a function that writes rows as a store and as CSV and reads both."""

    def read(rows):
        rows.to_csv(tmp_path / "rows.csv", index=False)
        return read_raw_rows(write_store(tmp_path / "rows.db", rows)), read_raw_rows(tmp_path / "rows.csv")

    return read


def test_every_column_is_of_a_session_or_an_item_or_a_visit_or_a_trial():
    assert sorted((*OF_SESSION, *OF_ITEM, *OF_VISIT, *OF_TRIAL)) == sorted(VIEW_COLUMNS)


def test_cells_are_read_unchanged_and_empty_cells_are_missing(both, view, session, row):
    rows = view(session(participant="007"), row(participant="8", response=None, rt_ms=None, trial_index=4))
    for found in both(rows):
        assert found.columns.tolist() == list(RAW_COLUMNS)
        for column in set(VIEW_COLUMNS) & set(RAW_COLUMNS):
            cells, written = (
                [None if pd.isna(cell) else str(cell) for cell in table[column]] for table in (found, rows)
            )
            assert cells == written


def test_different_rows_of_the_same_name_in_a_csv_are_kept(both, view, row):
    """A store cannot have the same item and session with other contents; the reader of a CSV keeps such rows."""
    other = {"text": "", "prompt": "Another?", "options": ["a", "b"]}
    rows = view(
        row(trial_index=0), row(trial_index=1, content=other), row(trial_index=2),
        row(trial_index=3, content=other, battery="c" * 64), row(trial_index=4, status="active"),
    )  # fmt: skip
    _, found = both(rows)
    assert found["content"].astype(object).tolist() == rows["content"].tolist()
    assert found["battery"].astype(object).tolist() == rows["battery"].tolist()
    assert found["status"].astype(object).tolist() == rows["status"].tolist()


def test_items_with_the_same_name_in_several_batteries_keep_their_contents(both, view, row):
    other = {"text": "", "prompt": "Another?", "options": ["a", "b"]}
    rows = view(
        row(participant="P1", trial_index=0, item_id="i1"), row(participant="P1", trial_index=1, item_id="i2"),
        row(participant="P2", trial_index=0, item_id="i1", content=other, battery="c" * 64),
        row(participant="P3", trial_index=5, item_id="i2", status="active"),
    )  # fmt: skip
    for found in both(rows):
        for column in ("content", "battery", "status", "participant"):
            assert found[column].astype(object).tolist() == rows[column].tolist()


def test_more_rows_than_one_portion_keep_their_order(both, view, session, monkeypatch):
    monkeypatch.setattr(compact_columns, "ROWS_AT_ONCE", 3)
    rows = view([session(participant=f"P{n}", n_test=5, n_correct=n) for n in range(4)])
    for found in both(rows):
        assert found["response"].astype(object).tolist() == rows["response"].tolist()
        assert found["rt_ms"].astype(object).astype(float).tolist() == rows["rt_ms"].tolist()


def test_columns_that_an_earlier_store_lacks_are_missing(tmp_path, view, session):
    rows = view(session())
    early = [column for column in VIEW_COLUMNS if column not in LATER_COLUMNS]
    rows[early].to_csv(tmp_path / "early.csv", index=False)
    for path in (write_store(tmp_path / "early.db", rows, early), tmp_path / "early.csv"):
        found = read_raw_rows(path)
        assert found[[column for column in LATER_COLUMNS if column != "jspsych"]].isna().all(axis=None)
        assert found["trial_type"].isna().all() and not found["is_noted"].any()
        assert len(read_trials(path)) == 4


def test_a_store_with_text_that_is_not_utf_8_is_damaged(tmp_path, view, row):
    path = write_store(tmp_path / "rows.db", view(row()))
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE kept SET item_id = CAST(x'ff41' AS TEXT)")
    with pytest.raises(InputError, match=r"rows\.db: the store is damaged .* use a backup"):
        read_raw_rows(path)


def test_categories_numbers_and_texts_make_the_same_tidy_table(both, view, session, row):
    rows = view(
        session(participant="1"), session(kind="model", run="2", n_correct=1), row(participant="3", trial_index=9)
    )
    expected = tidy_trials(rows)
    numbers = rows.astype({"trial_index": "int64", "rt_ms": "float64", "valid": "int64", "attempt": "int64"})
    for other in (*both(rows), numbers, rows.astype({"participant": "category", "content": "category"})):
        pd.testing.assert_frame_equal(tidy_trials(other), expected)


def test_names_that_are_numbers_stay_different_if_written_differently(view, row):
    rows = view(row(session="a", participant=1), row(session="b", participant="01"), row(session="c", participant=1.5))
    assert tidy_trials(rows)["participant"].tolist() == ["1", "01", "1.5"]


def test_the_notes_of_jspsych_are_read_from_a_store_a_csv_and_a_frame(both, tmp_path, view, row):
    given = [
        None, "null", "{}", '{"trial_type": "t", "plugin_version": "1", "time_elapsed_ms": 12.5}',
        ' {"trial_type": "t", "time_elapsed_ms": 3}', '{"trial_type": "t"}, {"trial_type": "u"}',
    ]  # fmt: skip
    rows = view([row(trial_index=index, jspsych=text) for index, text in enumerate(given[:-1])])
    for found in (*both(rows), rows):
        table = tidy_trials(found)
        assert [None if pd.isna(cell) else cell for cell in table["trial_type"]] == [None, None, None, "t", "t"]
        assert [None if pd.isna(cell) else cell for cell in table["plugin_version"]] == [None, None, None, "1", None]
        assert table["time_elapsed"].fillna(-1).tolist() == [-1, -1, -1, 12.5, 3]
        assert table["rt"].notna().tolist() == [False, False, True, True, True], "where jsPsych noted anything"
    several = view(row(), row(trial_index=1, jspsych=given[3]), row(trial_index=2, jspsych=given[-1]))
    with pytest.raises(InputError, match=r"several\.db, row 3: `jspsych` is '{.*which is not a JSON object"):
        read_raw_rows(write_store(tmp_path / "several.db", several))


def test_a_time_that_is_not_a_number_is_named(view, row):
    with pytest.raises(InputError, match=r"row 1: `jspsych` is .* which is not a JSON object with a number"):
        tidy_trials(view(row(jspsych='{"time_elapsed_ms": "soon"}')))


def test_response_times_in_a_store_that_are_not_numbers_are_named_by_their_row(tmp_path, view, session, row):
    rows = view([session(participant=f"P{n}") for n in range(100)], row(participant="Q", rt_ms="fast"))
    for kept in (rows, rows.assign(rt_ms=[1e400] * 401)):
        with pytest.raises(InputError, match=r"`rt_ms` is '(fast|inf)', which is not a number"):
            read_trials(write_store(tmp_path / f"{len(list(tmp_path.iterdir()))}.db", kept))


def test_notes_that_are_not_a_json_object_are_named(view, row):
    for column in ("signals", "jspsych"):
        with pytest.raises(InputError, match=f"row 2: `{column}` is '3', which is not a JSON object"):
            tidy_trials(view(row(**{column: None}), row(trial_index=1, **{column: "3"})))
        assert len(tidy_trials(view(row(**{column: ' {"hidden": 1} '})))) == 1
