"""A data frame as CSV, its texts guarded against spreadsheets (`batteries.files.csv_files`)."""

import io
from typing import Any

import pandas as pd

from analysis.written_cells import ROWS_AT_ONCE, written_cells
from batteries.files.csv_files import cell_text


def csv_bytes(table: pd.DataFrame, *, heading: bool = True) -> bytes:
    """Return `table` as CSV in UTF-8 with Unix line ends, its text guarded, missing values as empty cells.

    Parameters
    ----------
    table : DataFrame
        Any table.
    heading : bool
        Whether the names of the columns come first; not where `table` continues another.
    """
    file = io.BytesIO()
    if heading:
        file.write(f"{','.join(cell_text(str(name)) for name in table.columns)}\n".encode())
    write = _written_alone if table.shape[1] == 1 else cell_text
    for first in range(0, len(table), ROWS_AT_ONCE):
        rows = table.iloc[first : first + ROWS_AT_ONCE]
        cells = [written_cells(rows.iloc[:, place], write) for place in range(table.shape[1])]
        file.write("".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True)).encode())
    return file.getvalue()


def _written_alone(value: Any) -> str:
    """Return a value as the only cell of its row, which no reader takes for a blank line."""
    return cell_text(value) or '""'
