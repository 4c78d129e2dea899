import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data import cell_text as module
from analysis.data.cell_text import cell_texts
from analysis.data.tidy_table import tidy_trials
from analysis.output_files import csv_bytes
from analysis.provenance.record import data_digest
from batteries.files.csv_files import guarded, unguarded
from tests.paths import FIXTURES

CELLS = {
    "str": ["x", None, "=1", "a,b", 'say "so"', "two\nlines", "", "x"],
    "float64": [1.5, float("nan"), -0.0, 1e20, 1e-7, 3.0, 0.1, 1.5],
    "Int64": [1, None, 3, 2**60, -5, 1, 1, 0],
    "boolean": [True, None, False, True, True, False, None, True],
    "Float64": [1.0, None, 2.5, 0.0, 1e300, 1.0, 7.0, 1.0],
    "object": [{"a": 1}, [1, 2], None, "=x", 1, 2.0, True, float("nan")],
}


@pytest.mark.parametrize("dtype", CELLS)
def test_every_cell_is_written_and_a_missing_cell_is_none(dtype):
    column = pd.Series(CELLS[dtype], dtype=dtype)
    written = cell_texts(column, repr)
    values = zip(column.tolist(), column.isna(), strict=True)
    assert written == [repr(None if missing else value) for value, missing in values]


def test_equal_cells_are_written_once():
    seen = []
    cell_texts(pd.Series(["a", "b", "a", "a"], dtype="str"), lambda value: seen.append(value) or value)
    assert seen == ["a", "b"]


@pytest.mark.parametrize("dtype", CELLS)
def test_csv_is_the_csv_of_pandas_except_for_the_guards(dtype):
    table = pd.DataFrame({dtype: pd.Series(CELLS[dtype], dtype=dtype), "=n": range(8)})
    theirs = [
        [guarded(cell) if isinstance(value, str) else cell for cell, value in zip(row, values, strict=True)]
        for row, values in zip(
            csv.reader(io.StringIO(table.to_csv(index=False, header=False))), table.to_numpy(dtype=object), strict=True
        )
    ]
    ours = list(csv.reader(io.StringIO(csv_bytes(table).decode(), newline="")))
    assert ours == [[dtype, "'=n"], *theirs]
    assert csv_bytes(table[["=n"]]) == ("'=n\n" + "".join(f"{n}\n" for n in range(8))).encode()


@pytest.mark.parametrize("text", ["one\rtwo", "one\r\ntwo", 'a "b", c'])
def test_line_ends_within_a_text_do_not_end_its_row(text):
    rows = list(csv.reader(io.StringIO(csv_bytes(pd.DataFrame({"t": [text], "n": [1]})).decode(), newline="")))
    assert rows == [["t", "n"], [text, "1"]]


def test_a_single_empty_cell_is_not_a_blank_line():
    assert csv_bytes(pd.DataFrame({"a": ["x", None]})) == b'a\nx\n""\n'


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=8))
def test_any_written_text_can_be_read_back(texts):
    table = pd.DataFrame({"text": texts, "n": range(len(texts))})
    _, *rows = csv.reader(io.StringIO(csv_bytes(table).decode(), newline=""), strict=True)
    assert [unguarded(text) for text, _ in rows] == texts


def test_long_tables_are_written_in_portions(monkeypatch):
    table = pd.DataFrame({"a": ["x", None, "y", "x", "z"], "b": [1.5, 2.0, None, 4.0, 5.0]})
    whole = csv_bytes(table)
    monkeypatch.setattr("analysis.output_files.ROWS_AT_ONCE", 2)
    assert csv_bytes(table) == whole


def test_the_digest_is_that_of_earlier_versions(view, session, row, monkeypatch):
    """Digests that were published: a failure means that the same data have another digest than before."""
    rows = view(
        session(participant="007", factors={"condition": "01", "level": 1, "share": 0.5, "shown": True}),
        row(participant="Zoë", trial_index=9, phase="practice", item_id="p", response=3, rt_ms=1e-7, frame_ms=16.67),
        session(kind="model", run="Model A", n_test=3, n_correct=2, factors={"condition": "1", "level": 2}),
        row(kind="model", run="Model A", trial_index=9, item_id="i9", response="I refuse", valid=0, imported_correct=0),
        row(participant="008", trial_index=3, response=None, rt_ms=None, signals='{"hidden": 2}', received_at="now"),
        row(participant="008", trial_index=4, response=["a", {"b": None}], task="multiple_choice",
            jspsych='{"trial_type": "t", "plugin_version": null, "time_elapsed_ms": 12.5}'),
    )  # fmt: skip
    table = tidy_trials(rows)
    expected = json.loads((FIXTURES / "data_digest.json").read_text(encoding="utf-8"))
    assert data_digest(table) == expected["digest"]
    in_lab = tidy_trials(rows.assign(session_number=1))
    assert data_digest(in_lab) != data_digest(tidy_trials(rows.assign(session_number=2))), (
        "only the session number differs"
    )
    monkeypatch.setattr("analysis.provenance.row_digest.ROWS_AT_ONCE", 3)
    assert data_digest(table.sample(frac=1, random_state=1)) == expected["digest"]
    assert module.ROWS_AT_ONCE > 1
    assert np.isfinite(table["rt_ms"].iloc[0])
