"""Every CSV that Equipoise writes: no cell is run by a spreadsheet, and every text is read back as it was."""

import ast
import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.files.csv_files import guarded, is_formula, unguarded, write_rows
from tests.paths import ROOT

OURS = ("batteries", "experiment", "server", "analysis", "equipoise", "benchmarks")


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", " =1",
     "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b=1", "\0=1", '"=1', "'=1", "''=1", "' =1", '" =1', '"\t=1',
     "=cmd|'/C calc'!A0", "-2+3+cmd|' /C calc'!A0"],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_may_run_begins_with_an_apostrophe(text: str) -> None:
    assert is_formula(text)
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["", "x", "a=b", "north-3", "'tis", '"so"', " x", "3", "3-1", "−1", "– no", "(=1)"])
def test_other_texts_are_as_they_were(text: str) -> None:
    assert guarded(text) == text == unguarded(text)


@given(st.text(alphabet=st.sampled_from("'\"=+-@\t\r\n ＝x1\ufeff\0"), max_size=6) | st.text(max_size=20))
def test_every_text_is_read_back(text: str) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    assert not cell.startswith(("\t", "\r", "\n"))
    assert not cell.strip().lstrip('"').startswith(tuple("=+-@＝＋－＠"))


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2), max_size=5))
def test_rows_of_text_are_read_back(rows: list[list[str]]) -> None:
    file = io.StringIO(newline="")
    write_rows(file, rows)
    file.seek(0)
    assert [[unguarded(cell) for cell in row] for row in csv.reader(file, strict=True)] == rows


def test_numbers_are_not_changed() -> None:
    file = io.StringIO(newline="")
    write_rows(file, [[-1, -2.5, 1e-7, None, True, "-1"]])
    assert file.getvalue() == "-1,-2.5,1e-07,,True,'-1\n"


def calls(path: Path) -> set[str]:
    """Return the names of what a file calls, as `csv.writer` and `to_csv`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            named.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == "csv":
            named |= {alias.name for alias in node.names}
    return named


def test_csv_is_written_by_one_function_only() -> None:
    """A new writer would be unguarded: use `write_rows`, or `analysis.output_files.csv_bytes` for a data frame.

    The benchmarks' tables stay on the machine that made them.
    """
    files = [path for room in OURS for path in (ROOT / room).rglob("*.py") if "node_modules" not in path.parts]
    assert len(files) > 200
    writers = {path.relative_to(ROOT).as_posix() for path in files if calls(path) & {"writer", "DictWriter", "to_csv"}}
    assert writers == {"benchmarks/answered_store.py", "benchmarks/mixed_models.py"}


def test_only_the_exporter_that_refuses_formulas_writes_texts_unguarded() -> None:
    passing = [
        path.relative_to(ROOT).as_posix()
        for room in OURS
        for path in (ROOT / room).rglob("*.py")
        if "cell_of=" in path.read_text(encoding="utf-8")
    ]
    assert passing == ["batteries/exports/__init__.py"]
