"""The files of an analysis as bytes: tables as CSV, figures as SVG, PDF and CSV."""

import io
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE, cell_texts
from analysis.figures import Drawing
from analysis.result import Analysis, TableAnalysis
from batteries.files.csv_files import cell_text


def analysis_files(analysis: Analysis) -> dict[str, bytes | Iterable[bytes]]:
    """Return the files of the analysis of a study: tables, models and figures, but not the report.

    The keys are paths in the folder of the results.
    """
    files: dict[str, bytes | Iterable[bytes]] = {
        f"tables/{name}.csv": csv_bytes(table) for name, table in analysis.tables.items()
    }
    files["tables/trials.csv"] = _trials_csv(analysis.exclusions.trials)
    files |= {f"{name}.csv": csv_bytes(table) for name, table in analysis.planned.files().items()}
    for drawing in (*analysis.figures.values(), *chain.from_iterable(analysis.figures_of_plan.values())):
        files |= drawing_files(drawing)
    return files


def table_analysis_files(analysis: TableAnalysis) -> dict[str, bytes]:
    """Return the files of the analysis of any other table: tables, models and figures, but not the report.

    The keys are paths in the folder of the results.
    """
    files = {f"{name}.csv": csv_bytes(table) for name, table in analysis.planned.files().items()}
    for drawing in chain.from_iterable(analysis.figures_of_plan.values()):
        files |= drawing_files(drawing)
    return files


def _trials_csv(trials: pd.DataFrame) -> Iterator[bytes]:
    """Yield the tidy table as CSV, some rows at a time. The whole text could be larger than the memory.

    The rows are sorted. The column `content` is omitted, because the battery contains the content of each item. Lists
    and dictionaries are written as JSON.
    """
    table = trials.drop(columns="content")
    by = ["kind", "participant", "session", "trial_index"]
    order = table[by].reset_index(drop=True).sort_values(by).index.to_numpy()
    for first in range(0, len(order), ROWS_AT_ONCE):
        rows = table.iloc[order[first : first + ROWS_AT_ONCE]]
        for column in ("key", "response"):
            cells = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in rows[column].tolist()]
            rows = rows.assign(**{column: pd.Series(cells, index=rows.index, dtype=object)})
        yield csv_bytes(rows, heading=first == 0)


def drawing_files(drawing: Drawing) -> dict[str, bytes]:
    """Return the files of a figure. The keys are paths in the folder of the results."""
    name = f"figures/{drawing.name}"
    return {f"{name}.svg": drawing.svg.encode(), f"{name}.pdf": drawing.pdf, f"{name}.csv": csv_bytes(drawing.data)}


def csv_bytes(table: pd.DataFrame, *, heading: bool = True) -> bytes:
    """Return a table as CSV in UTF-8 with Unix line ends.

    If a spreadsheet program would read a text as a formula, the cell has an apostrophe before the text. A missing
    value is an empty cell.

    Parameters
    ----------
    table : DataFrame
        Any table.
    heading : bool
        True to write the header first. False to write further rows of a file that already has a header.
    """
    file = io.BytesIO()
    if heading:
        file.write(f"{','.join(cell_text(str(name)) for name in table.columns)}\n".encode())
    write = _only_cell if table.shape[1] == 1 else cell_text
    for first in range(0, len(table), ROWS_AT_ONCE):
        rows = table.iloc[first : first + ROWS_AT_ONCE]
        cells = [cell_texts(rows.iloc[:, place], write) for place in range(table.shape[1])]
        file.write("".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True)).encode())
    return file.getvalue()


def _only_cell(value: Any) -> str:
    """Return the cell of a row in a table with only one column.

    An empty cell is written as two quotation marks, because programs ignore an empty line in a CSV file.
    """
    return cell_text(value) or '""'
