"""CSV files: no spreadsheet computes a cell that Equipoise wrote, and every text is read back unchanged."""

import ast
import csv
import io
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.data_file_reader import read_data_file
from batteries.errors import InputError
from batteries.files.csv_files import guarded, is_formula, is_index, parse_csv, unguarded, write_rows
from batteries.vignettes.published_csv import PUBLISHED_COLUMNS, read_published_csv
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.tables import VARIABLES, read_tables
from equipoise.commands.audit import read_printed
from tests.paths import ROOT

OURS = ("batteries", "experiment", "server", "analysis", "equipoise", "benchmarks")


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", " =1",
     "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b=1", "\0=1", '"=1', "'=1", "''=1", "' =1", '" =1', '"\t=1',
     "=cmd|'/C calc'!A0", "-2+3+cmd|' /C calc'!A0"],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_may_compute_gets_an_apostrophe(text: str) -> None:
    assert is_formula(text)
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["", "x", "a=b", "north-3", "'tis", '"so"', " x", "3", "3-1", "−1", "– no", "(=1)"])
def test_other_texts_are_unchanged(text: str) -> None:
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
    """Return the names of the functions that a file calls, such as `csv.writer` and `to_csv`."""
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
    assert writers == {
        f"benchmarks/{name}.py"
        for name in ("answered_store", "coverage", "decisions", "effect_size_coverage", "mixed_models")
    }


def test_only_the_exporter_that_refuses_formulas_writes_texts_unguarded() -> None:
    passing = [
        path.relative_to(ROOT).as_posix()
        for room in OURS
        for path in (ROOT / room).rglob("*.py")
        if "cell_of=" in path.read_text(encoding="utf-8")
    ]
    assert passing == ["batteries/exports/__init__.py"]


FILE = Path("data.csv")


def test_blank_lines_count_as_lines_and_a_row_is_named_by_its_first_line() -> None:
    table = parse_csv('\n a , b\n\n"x\ny",1\n,\n2,3\n', FILE)
    assert table == (["a", "b"], [[], ["x\ny", "1"], ["", ""], ["2", "3"]], [3, 4, 6, 7])


def test_rows_of_a_ragged_table_may_have_any_number_of_cells() -> None:
    assert parse_csv("a,b\n1\n1,2,3\n", FILE, is_ragged=True).rows == [["1"], ["1", "2", "3"]]


def _in_a_template_set(path: Path) -> None:
    path.rename(path.with_name(VARIABLES))
    problems = Problems()
    read_tables(path.parent, problems, set())
    [found] = [problem for problem in problems if problem.file.name == VARIABLES]
    raise InputError(f"data.csv{', ' if found.key else ''}{found.key}: {found.sentence}")


READERS: list[Callable[[Path], object]] = [read_data_file, read_printed, read_published_csv, _in_a_template_set]
HEADER = ",".join(PUBLISHED_COLUMNS)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ('x\n"y,1\n2,3\n', "csv, line 3: this is not CSV (a double quote is not closed). Fix: close the double quote."),
        ('"x"y,1\n', "csv, line 2: this is not CSV (',' expected after '\"'). Fix: write each double quote"),
        ("a,\0\n", "csv: this is not a text file. Fix: save the table as CSV in UTF-8."),
    ],
)
def test_every_reader_reports_damaged_csv_with_its_line(
    read: Callable[[Path], object], rows: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text(f"{HEADER}\n{rows.replace('x', 'x' + ',' * HEADER.count(','), 1)}")
    with pytest.raises(InputError) as error:
        read(tmp_path / "data.csv")
    assert sentence in str(error.value)


@pytest.mark.parametrize("read", READERS[:3])
def test_every_reader_of_rows_of_one_length_reports_a_row_of_another_length(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    n = len(PUBLISHED_COLUMNS)
    for cells, fix in ((n - 1, "add the missing cells"), (n + 1, "put each cell that contains a comma")):
        (tmp_path / "data.csv").write_text(f"{HEADER}\n{','.join(['x'] * cells)}\n")
        with pytest.raises(InputError, match=f"line 2: this row has {cells} cells, but the header has {n}. Fix: {fix}"):
            read(tmp_path / "data.csv")


@pytest.mark.parametrize("read", READERS[:3])
def test_every_reader_accepts_a_cell_over_the_default_limit_of_the_csv_module(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    limit = csv.field_size_limit()
    (tmp_path / "data.csv").write_text(f"{HEADER}\n{'x' * 200_000}{',' * HEADER.count(',')}\n")
    # The reader of batteries reports that the empty vignette has no options.
    with (
        pytest.raises(InputError, match="the cell `vignette` does not have")
        if read is read_published_csv
        else nullcontext()
    ):
        read(tmp_path / "data.csv")
    assert csv.field_size_limit() == limit


def test_a_cell_over_the_limit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.maxsize", 10)
    with pytest.raises(InputError, match=r"data.csv, line 2: this is not CSV \(field larger than field limit \(10\)\)"):
        parse_csv("a,b\n1,12345678901\n", FILE)


@pytest.mark.parametrize("name", ["", "index", "Index", "Unnamed: 0", "unnamed: 0", "Unnamed: 0.1", " index "])
@pytest.mark.parametrize("cells", [["0", "1"], ["0.0", "1.0"], ["1", ""], ["3", "canary GUID"], []])
def test_a_column_of_row_numbers_is_an_index(name: str, cells: list[str]) -> None:
    assert is_index(name, cells)


@pytest.mark.parametrize(
    ("name", "cells"), [("social", ["0", "1"]), ("index", ["a"]), ("", ["1.5"]), ("Index", ["-1"]), ("indexes", ["1"])]
)
def test_a_column_with_another_name_or_other_cells_is_not_an_index(name: str, cells: list[str]) -> None:
    assert not is_index(name, cells)
