"""Cells of exported tables: every value is read back unchanged, and no cell runs in a spreadsheet."""

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.exports.bids import tsv_text
from analysis.exports.codebook import Column
from analysis.exports.json_cells import json_cell, json_value_of
from analysis.exports.spss import SpssFile, spss_names
from analysis.exports.table_files import CsvFile, TsvFile, tsv_cell
from batteries.errors import InputError
from batteries.files.csv_files import is_formula
from tests.missing import skip_but_never_in_ci

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_a_json_cell_has_the_same_value_when_it_is_read(value: Any) -> None:
    read = json_value_of(json_cell(value))
    assert (json.dumps(read), type(read)) == (json.dumps(value), type(value))


@given(TEXTS)
def test_a_json_cell_is_never_empty_and_stays_in_one_line(text: str) -> None:
    cell = json_cell(text)
    assert cell
    assert cell.splitlines() == [cell]


@pytest.mark.parametrize("text", ["absorbed", "north-3", "a b", "#1", "Yes, I do"])
def test_a_plain_text_has_no_quotation_marks(text: str) -> None:
    assert json_cell(text) == text


@pytest.mark.parametrize("text", ["3", "true", "null", "NaN", '{"a": 1}', '"a"', " a", ""])
def test_a_text_that_looks_like_json_is_written_as_json(text: str) -> None:
    assert json_cell(text) == json.dumps(text)


@given(TEXTS)
def test_a_tsv_cell_has_the_same_text_when_it_is_read(text: str) -> None:
    cell = tsv_cell(text)
    assert tsv_text(cell) == text
    assert not {"\t", "\n", "\r"} & set(cell)
    assert not is_formula(cell) or cell.startswith("'")


TABLE = [Column("name", "text", ""), Column("size", "number", ""), Column("is_big", "true or false", "")]
ROWS = pd.DataFrame(
    {
        "name": pd.Series(["=1+1", "-2", None, 'a "b", c'], dtype="str"),
        "size": pd.Series([-2.0, None, 0.1, 1e20], dtype="Float64"),
        "is_big": pd.Series([True, None, False, True], dtype="boolean"),
    }
)


def test_texts_in_csv_are_guarded_and_numbers_are_not(tmp_path: Path) -> None:
    with CsvFile(tmp_path / "table.csv", TABLE) as file:
        file.write(ROWS)
    rows = list(csv.reader(io.StringIO((tmp_path / "table.csv").read_text(encoding="utf-8"))))
    assert rows == [
        ["name", "size", "is_big"],
        ["'=1+1", "-2.0", "true"],
        ["'-2", "", ""],
        ["", "0.1", "false"],
        ['a "b", c', "1e+20", "true"],
    ]


def test_a_missing_value_in_tsv_is_not_available_and_the_same_text_is_different(tmp_path: Path) -> None:
    with TsvFile(tmp_path / "table.tsv", TABLE[:1]) as file:
        file.write(pd.DataFrame({"name": pd.Series([None, "n/a"], dtype="str")}))
    lines = (tmp_path / "table.tsv").read_text(encoding="utf-8").splitlines()
    assert lines == ["name", "n/a", '"n/a"']
    assert [tsv_text(line) for line in lines[1:]] == [None, "n/a"]


def test_names_for_spss_are_valid_and_unique() -> None:
    columns = [Column(name, "text", "") for name in ("with", "Level", "level", "1st", "a b", "a-b", "x" * 80, "größe")]
    names = spss_names(columns)
    assert names == ["v_with", "Level", "level_2", "v_1st", "a_b", "a_b_2", "x" * 64, "gr__e"]


def test_a_text_that_spss_cannot_hold_is_refused(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyreadstat") is None:
        skip_but_never_in_ci("pyreadstat is not installed: pip install -e '.[export]'")
    file = SpssFile(tmp_path / "table.sav", TABLE[:1])
    file.write(pd.DataFrame({"name": ["x" * 32_768]}))
    with pytest.raises(InputError, match="more than 32,767 bytes, which SPSS cannot read"):
        file.close()
