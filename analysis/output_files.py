"""Results as the bytes of files: tables as CSV, figures as SVG, PDF and CSV."""

import io
from typing import Any

import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE, cell_texts
from analysis.figures import Drawing
from batteries.files.csv_files import cell_text


def drawing_files(drawing: Drawing) -> dict[str, bytes]:
    """Return a figure's files by their paths within the folder of an analysis."""
    name = f"figures/{drawing.name}"
    return {f"{name}.svg": drawing.svg.encode(), f"{name}.pdf": drawing.pdf, f"{name}.csv": csv_bytes(drawing.data)}


def csv_bytes(table: pd.DataFrame, *, heading: bool = True) -> bytes:
    """Return `table` as CSV in UTF-8 with Unix line ends, its text guarded, missing values as empty cells.

    Parameters
    ----------
    table : DataFrame
        Any table.
    heading : bool
        True to write the header first; False if `table` continues another.
    """
    file = io.BytesIO()
    if heading:
        file.write(f"{','.join(cell_text(str(name)) for name in table.columns)}\n".encode())
    write = _written_alone if table.shape[1] == 1 else cell_text
    for first in range(0, len(table), ROWS_AT_ONCE):
        rows = table.iloc[first : first + ROWS_AT_ONCE]
        cells = [cell_texts(rows.iloc[:, place], write) for place in range(table.shape[1])]
        file.write("".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True)).encode())
    return file.getvalue()


def _written_alone(value: Any) -> str:
    """Return a value as the only cell of its row, which no reader takes for a blank line."""
    return cell_text(value) or '""'
