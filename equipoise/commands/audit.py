"""The audit of a published table: from a CSV file as printed to findings."""

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
"""Smallest width of a sentence, also on a narrow terminal."""


def audit(
    source: Path,
    *,
    participants: int | None = None,
    trials: int | None = None,
    items: int | None = None,
    scale: tuple[int, int] | None = None,
    whole_numbers: bool = False,
    totals: Sequence[str] = (),
    columns: Sequence[str] = (),
    output: Path | None = None,
) -> pd.DataFrame:
    """Audit a table in a CSV file, and write the findings if a file is named for them.

    Parameters
    ----------
    source
        The table as printed: CSV in UTF-8, with commas, semicolons or tabs.
    participants, trials, items, scale, whole_numbers, totals
        As in `analysis.audit.audit_table`.
    columns
        Headers by their meaning, each as `trials=Responses`.
    output
        File for the findings, `.csv`.

    Raises
    ------
    InputError
        If the file is not such a table, or the findings cannot be written; and as in `analysis.audit.audit_table`.
    """
    if output is not None:
        check_output(output, [".csv"])
        if output.resolve() == source.resolve():
            raise InputError(f"{output}: this is the table itself. Fix: name another file for the findings.")
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
    """Return a CSV file's cells as printed text; empty rows are left out.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or a row has more or fewer cells than the header.
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
            f"--column {column}: unknown form. Fix: write the column's meaning and its header, as trials=Responses."
        )
    return role.strip(), header.strip()


def all_consistent(found: pd.DataFrame) -> bool:
    """Return True if everything that could be checked is consistent."""
    return bool(found["verdict"].isin([CONSISTENT, NOT_CHECKABLE]).all())


def finding_lines(found: pd.DataFrame, width: int | None = None) -> list[str]:
    """Return the findings as lines of text in columns, and a line with their number.

    With a `width`, sentences are broken so that they stay in their column.
    """
    columns = [
        [title, *found[column]] for title, column in (("row", "row"), ("check", "check"), ("verdict", "verdict"))
    ]
    widths = [max(map(len, column)) for column in columns]
    indent = sum(widths) + 2 * len(widths)
    room = None if width is None else max(NARROWEST, width - indent)
    lines = []
    for *cells, sentence in zip(*columns, ["finding", *found["explanation"]], strict=True):
        start = "  ".join(cell.ljust(cell_width) for cell, cell_width in zip(cells, widths, strict=True))
        parts = [sentence] if room is None else textwrap.wrap(sentence, room)
        lines += [f"{start}  {parts[0]}", *(" " * indent + part for part in parts[1:])]
    counts = found["verdict"].value_counts()
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts)
    return [*lines, "", f"{len(found)} {'finding' if len(found) == 1 else 'findings'}: {summary}."]
