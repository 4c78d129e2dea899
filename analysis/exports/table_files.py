"""Tables as CSV, TSV, JSON Lines and Parquet. Each file is written in portions of rows."""

import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE, cell_texts
from analysis.exports.codebook import Column
from analysis.exports.json_cells import json_cell
from batteries.errors import InputError, how_to_install
from batteries.files.csv_files import cell_text, guarded


class TableFile(ABC):
    """A file for one table, which receives its rows in portions.

    Parameters
    ----------
    path
        The file to write.
    columns
        The columns, in order.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.columns = path, columns
        self._open()

    @abstractmethod
    def _open(self) -> None:
        """Open the file."""

    @abstractmethod
    def write(self, rows: pd.DataFrame) -> None:
        """Append rows, which have all columns. A cell of the type JSON is its value."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _LinesFile(TableFile):
    """A text file with one line for each row."""

    _file: IO[str]

    def _open(self) -> None:
        self._file = self.path.open("w", encoding="utf-8", newline="")

    def _rows(self, rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
        """Yield the texts of the cells of each row."""
        writes = [self._cell_of(column) for column in self.columns]
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows.iloc[first : first + ROWS_AT_ONCE]
            cells = [cell_texts(some[column.name], write) for column, write in zip(self.columns, writes, strict=True)]
            yield from zip(*cells, strict=True)

    def _cell_of(self, column: Column) -> Callable[[Any], str]:
        raise NotImplementedError

    def close(self) -> None:
        self._file.close()


def plain_cell(value: Any, column: Column) -> str:
    """Return a value as plain text: true and false in small letters, JSON as `json_cell`, nothing if it is missing."""
    if value is None:
        return ""
    if column.type == "JSON":
        return json_cell(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_text(column: Column) -> bool:
    return column.type in {"text", "time", "JSON"}


class CsvFile(_LinesFile):
    """A CSV file. A text that a spreadsheet program would compute has an apostrophe before it; a number never has."""

    def _open(self) -> None:
        super()._open()
        self._file.write(",".join(cell_text(column.name) for column in self.columns) + "\n")

    def _cell_of(self, column: Column) -> Callable[[Any], str]:
        cell_of = guarded if _is_text(column) else str
        return lambda value: cell_text(plain_cell(value, column), cell_of)

    def write(self, rows: pd.DataFrame) -> None:
        self._file.writelines(",".join(cells) + "\n" for cells in self._rows(rows))


NOT_AVAILABLE = "n/a"
"""The missing value in TSV files, as BIDS requires."""


def tsv_cell(text: str) -> str:
    """Return a text as a cell of a TSV file: safe in a spreadsheet, in one line, and not the word for a missing value.

    A text with a tab, a line end or a quotation mark at the start is written as JSON, and so is the text `n/a`.
    """
    if text == NOT_AVAILABLE or text.startswith('"') or not text.isprintable():
        return guarded(json.dumps(text))
    return guarded(text)


class TsvFile(_LinesFile):
    """A TSV file as BIDS requires: no quotation marks around cells, and `n/a` for a missing value."""

    def _open(self) -> None:
        super()._open()
        self._file.write("\t".join(column.name for column in self.columns) + "\n")

    def _cell_of(self, column: Column) -> Callable[[Any], str]:
        cell_of = tsv_cell if _is_text(column) else str
        return lambda value: NOT_AVAILABLE if value is None else cell_of(plain_cell(value, column))

    def write(self, rows: pd.DataFrame) -> None:
        self._file.writelines("\t".join(cells) + "\n" for cells in self._rows(rows))


class JsonLinesFile(_LinesFile):
    """A JSON Lines file: one object for each row, with all columns. A missing value is null."""

    def _cell_of(self, column: Column) -> Callable[[Any], str]:
        before = json.dumps(column.name, ensure_ascii=False) + ": "
        return lambda value: before + json.dumps(value, ensure_ascii=False)

    def write(self, rows: pd.DataFrame) -> None:
        self._file.writelines("{" + ", ".join(cells) + "}\n" for cells in self._rows(rows))


def require_package(name: str, needed_for: str) -> None:
    """Raise an InputError if a package of the extra `export` is not installed."""
    if importlib.util.find_spec(name) is None:
        extra = "models" if name == "inspect_ai" else "export"
        raise InputError(
            f"--format {needed_for}: this format needs the package {name}, which is not installed. Fix: "
            f"{how_to_install(extra)}"
        )


class ParquetFile(TableFile):
    """A Parquet file. Times are texts (ISO 8601), and JSON values are texts as in CSV."""

    def _open(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        types = {"whole number": pa.int64(), "number": pa.float64(), "true or false": pa.bool_()}
        self._schema = pa.schema(
            [
                pa.field(column.name, types.get(column.type, pa.string()), metadata=_field_metadata(column))
                for column in self.columns
            ]
        )
        self._table = pa.Table
        self._writer = pq.ParquetWriter(self.path, self._schema, compression="zstd")

    def write(self, rows: pd.DataFrame) -> None:
        values = [parquet_values(rows[column.name], column) for column in self.columns]
        self._writer.write_table(
            self._table.from_arrays([*map(self._array, values, self._schema)], schema=self._schema)
        )

    @staticmethod
    def _array(values: list[Any], of_field: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        return pa.array(values, type=of_field.type)

    def close(self) -> None:
        self._writer.close()


def _field_metadata(column: Column) -> dict[str, str]:
    return {"label": column.label, **({"unit": column.unit} if column.unit else {})}


def parquet_values(cells: pd.Series, column: Column) -> list[Any]:
    """Return the values of a column for Parquet and SPSS. A missing value is None, and a JSON value is a text."""
    if _is_text(column):
        return [text or None for text in cell_texts(cells, lambda value: plain_cell(value, column))]
    return cells.astype(object).where(cells.notna(), None).tolist()
