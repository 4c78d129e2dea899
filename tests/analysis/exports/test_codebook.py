"""The codebook describes every column in words."""

import pandas as pd
import pytest

from analysis.exports.codebook import ABOUT_TABLES, TABLES, Column, codebook_rows, described, factor_column
from server.store.sql.sessions import LISTED


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_column_has_a_meaning_and_names_are_unique(table: str) -> None:
    columns = TABLES[table]
    assert all(column.label and "\n" not in column.label for column in columns)
    assert len({column.name for column in columns}) == len(columns)
    assert table in ABOUT_TABLES


def test_a_name_with_a_unit_has_this_unit_in_the_codebook() -> None:
    units = {"_ms": "ms", "_hz": "Hz", "_px": "pixels"}
    for column in (column for columns in TABLES.values() for column in columns):
        for end, unit in units.items():
            assert not column.name.endswith(end) or column.unit == unit, column
        assert column.type != "time" or column.unit == "UTC"


def test_the_list_of_sessions_has_descriptions_for_all_columns_of_the_store() -> None:
    assert set(LISTED) <= {column.name for column in TABLES["sessions"]}


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        (pd.Series([10, 9], dtype="Int32"), "whole number", ["9", "10"]),
        (pd.Series([0.5, 2.0]), "number", ["0.5", "2"]),
        (pd.Series([True, False], dtype="boolean"), "true or false", []),
        (pd.Series(["b", "a", None], dtype="category"), "text", ["a", "b"]),
        (pd.Series([f"item {number}" for number in range(99)], dtype="category"), "text", []),
    ],
)
def test_a_factor_has_its_type_and_levels(values: pd.Series, kind: str, levels: list[str]) -> None:
    column = factor_column("how_far", values)
    assert (column.type, list(column.levels), column.label) == (kind, levels, "Factor of the item: how far")


def test_levels_are_written_with_their_labels() -> None:
    column = Column("side", "text", "Side", "", {"l": "left", "r": ""})
    assert codebook_rows({"trials": [column]}) == [("trials", "side", "text", "", "Side", "l = left; r")]
    assert described("trials", ["side", "rt_ms"], {"side": column})[0] is column
