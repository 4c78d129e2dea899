"""`equipoise audit`: check whether the numbers of a published table can all be true."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.audit import audit_table
from analysis.audit.table import CONSISTENT, NOT_CHECKABLE, VERDICTS
from analysis.output_files import csv_bytes
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import parse_csv, unguarded
from batteries.files.file_reading import read_text
from batteries.vignettes.battery_writer import check_output

NARROWEST = 30
"""Smallest width of the column `finding`, in characters. In a narrow terminal, lines can be wider than the terminal."""


def audit(
    source: Path | str,
    *,
    participants: int | None = None,
    trials: int | None = None,
    items: int | None = None,
    scale: tuple[int, int] | None = None,
    whole_numbers: bool = False,
    totals: Sequence[str] = (),
    columns: Sequence[str] = (),
    output: Path | str | None = None,
) -> pd.DataFrame:
    """Audit a table in a CSV file. If `output` is given, write the findings to this file.

    Parameters
    ----------
    source
        CSV file of the table as printed, in UTF-8 with commas, semicolons or tabs.
    participants
        Number of participants recruited in the whole study.
    trials
        Number of trials of one participant in one row of the table.
    items
        Number of responses of one participant over which each printed mean is computed.
    scale
        Lowest and highest possible response, as whole numbers.
    whole_numbers
        True if each response is a whole number. Only then can means and standard deviations be checked.
    totals
        Labels of the rows that contain sums of other rows.
    columns
        Meanings of columns. An entry is the meaning, `=` and the header of one column, such as `trials=Responses`.
    output
        File for the findings, `.csv`.

    Returns
    -------
    DataFrame
        One row per finding: `row`, `check`, `printed`, `expected`, `verdict`, `explanation`.

    Raises
    ------
    InputError
        If the file is not a table, if an argument does not fit the table, or if the findings cannot be written.
    """
    source, output = Path(source), None if output is None else Path(output)
    if output is not None:
        check_output(output, [".csv"])
        if output.resolve() == source.resolve():
            raise InputError(f"{output}: this is the table itself. Fix: choose another file for the findings.")
    table = read_printed(source)
    try:
        found = audit_table(
            table,
            participants=participants,
            trials=trials,
            items=items,
            scale=scale,
            whole_numbers=whole_numbers,
            totals=totals,
            columns=dict(map(_named, columns)),
        )
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    if output is not None:
        with atomic_write(output) as file:
            file.write(csv_bytes(found).decode())
    return found


def read_printed(path: Path) -> pd.DataFrame:
    """Return the cells of a CSV file as text, exactly as printed. Omit empty rows.

    Raises
    ------
    InputError
        If the file cannot be read or is empty, or if a row has more or fewer cells than the header.
    """
    text = read_text(path)
    heading = next((line for line in text.splitlines() if line.strip()), "")
    table = parse_csv(text, path, separator=max(",;\t", key=heading.count))
    rows = [[unguarded(cell) for cell in cells] for cells in table.rows if any(cell.strip() for cell in cells)]
    return pd.DataFrame(rows, columns=table.header, dtype=str)


def _named(column: str) -> tuple[str, str]:
    role, equals, header = column.partition("=")
    if not equals:
        raise InputError(
            f"--column {column}: the sign `=` is missing. Fix: write MEANING=HEADER, such as trials=Responses."
        )
    return role.strip(), header.strip()


def all_consistent(found: pd.DataFrame) -> bool:
    """Return True if everything that could be checked is consistent."""
    return bool(found["verdict"].isin([CONSISTENT, NOT_CHECKABLE]).all())


def finding_lines(found: pd.DataFrame, width: int | None = None) -> list[str]:
    """Return the findings as lines of text in columns, and a line with the number of findings.

    If `width` is given, long sentences are wrapped.
    """
    columns = [
        [title, *found[column]] for title, column in (("row", "row"), ("check", "check"), ("verdict", "verdict"))
    ]
    widths = [max(map(len, column)) for column in columns]
    indent = sum(widths) + 2 * len(widths)
    space = None if width is None else max(NARROWEST, width - indent)
    lines = []
    for *cells, sentence in zip(*columns, ["finding", *found["explanation"]], strict=True):
        start = "  ".join(cell.ljust(cell_width) for cell, cell_width in zip(cells, widths, strict=True))
        parts = [sentence] if space is None else textwrap.wrap(sentence, space)
        lines += [f"{start}  {parts[0]}", *(" " * indent + part for part in parts[1:])]
    counts = found["verdict"].value_counts()
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    return [*lines, "", f"{len(found)} {'finding' if len(found) == 1 else 'findings'}: {summary}."]
