"""Reads an export of Equipoise back, as rows of the view `trials`. Nothing that the analysis uses is lost."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from analysis.data.columns import LAB_TIMING, SIGNALS, VIEW_COLUMNS
from analysis.exports.bids import tsv_text
from analysis.exports.codebook import Column
from analysis.exports.documents import FORMAT_VERSION, PROVENANCE, check_files, read_checksums
from analysis.exports.json_cells import json_value_of
from analysis.exports.spss import spss_names
from batteries.errors import InputError
from batteries.files.csv_files import long_cells, unguarded
from batteries.files.file_reading import parse_json, read_json_lines, read_text

ROWS_AT_ONCE = 20_000
_OF_JSPSYCH = {"trial_type": "trial_type", "plugin_version": "plugin_version", "time_elapsed": "time_elapsed_ms"}
_FROM_ITEM = ("task", "factors", "content", "key")
_SINCE_FIRST_EXPORT = {"confidence", "confidence_rt_ms"}
"""Columns that exports of an earlier Equipoise lack."""

Row = dict[str, Any]
"""The values of a row of a table, by column: texts, numbers, true and false, JSON values, or None."""


class Provenance(BaseModel):
    """The content of `provenance.json`, as far as the import needs it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    equipoise_export: int = Field(description="Version of the layout.")
    format: str = Field(description="Format of the tables.")
    study: str = Field(description="Name of the study.")
    tables: dict[str, str] = Field(description="File of each table, or a pattern of files.")
    items: str = Field(description="File with the items.")
    codebook: str = Field(description="File with the codebook.")
    n_rows: dict[str, int] = Field(description="Number of rows of each table.")


@dataclass(frozen=True)
class ReadExport:
    """An export that was found in a folder. Its files are read when they are needed."""

    folder: Path
    provenance: Provenance

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return self.provenance.n_rows["trials"]

    def rows(self) -> Iterator[list[Any]]:
        """Yield the rows of the view `trials`, each with its cells in the order of `VIEW_COLUMNS`.

        Raises
        ------
        InputError
            If a file is missing, was changed, or cannot be read.
        """
        trials = self._files("trials")
        others = [self.provenance.items, self.provenance.codebook]
        runs_file = self.provenance.tables.get("runs")
        check_files(self.folder, [*trials, *others, *([runs_file] if runs_file else [])])
        codebook = self._codebook()
        items = self._items()
        runs = {}
        if runs_file:
            runs = {row["run"]: row["run_parameters"] for row in self._table(runs_file, codebook["runs"])}
        n_rows = 0
        for name in trials:
            for row in self._table(name, codebook["trials"]):
                n_rows += 1
                yield _view_row(row, items, runs, self.folder / name)
        if n_rows != self.n_trials:
            raise InputError(
                f"{self.folder}: the trials have {n_rows:,} rows, but the export had {self.n_trials:,} rows. Fix: name "
                "the complete folder of the export."
            )

    def _files(self, table: str) -> list[str]:
        """Return the names of the files of a table."""
        pattern = self.provenance.tables[table]
        if "*" not in pattern:
            return [pattern]
        return sorted(name for name in read_checksums(self.folder) if fnmatchcase(name, pattern))

    def _codebook(self) -> dict[str, list[Column]]:
        path = self.folder / self.provenance.codebook
        content = parse_json(read_text(path), str(path))
        return {table: [Column(**column) for column in columns] for table, columns in content.items()}

    def _items(self) -> dict[tuple[str, str], dict[str, Any]]:
        lines = read_json_lines(self.folder / self.provenance.items)
        next(lines)  # The header.
        return {(item["battery"], item["item_id"]): item for _, item in lines}

    def _table(self, name: str, columns: Sequence[Column]) -> Iterator[Row]:
        return _READERS[self.provenance.format](self.folder / name, columns)


def find_export(folder: Path) -> ReadExport:
    """Return the export in a folder.

    Raises
    ------
    InputError
        If the folder has no export, a newer Equipoise made it, or its format cannot be read back.
    """
    found = [path for path in (folder / PROVENANCE, folder / "documentation" / PROVENANCE) if path.is_file()]
    if not found:
        raise InputError(
            f"{folder}: there is no export of Equipoise in this folder ({PROVENANCE} is missing). Fix: name the folder "
            "that `equipoise export` made, or name a table with --map."
        )
    content = parse_json(read_text(found[0]), str(found[0]))
    if not isinstance(content, dict) or "equipoise_export" not in content:
        raise InputError(f"{found[0]}: this file is not from `equipoise export`. Fix: name the folder of an export.")
    if content["equipoise_export"] > FORMAT_VERSION:
        raise InputError(f"{found[0]}: a newer version of Equipoise made this export. Fix: update Equipoise.")
    provenance = Provenance.model_validate(content)
    if provenance.format not in _READERS:
        raise InputError(
            f"{folder}: an export in the format `{provenance.format}` cannot be read back. Fix: export with --format "
            "csv."
        )
    return ReadExport(folder, provenance)


def _view_row(row: Row, items: dict[tuple[str, str], dict[str, Any]], runs: dict[str, Any], path: Path) -> list[Any]:
    """Return a row of the view from a row of the exported trials."""
    item = items.get((row["battery"], row["item_id"]))
    if item is None:
        raise InputError(
            f"{path}: the item `{row['item_id']}` is not in the file of items. Fix: name the complete folder of the "
            "export."
        )
    signals = {name.removeprefix("signal_"): row[name] for name in SIGNALS if row.get(name)}
    device = {name.removeprefix("device_"): row[name] for name in LAB_TIMING if row.get(name) is not None}
    jspsych = {to: row[name] for name, to in _OF_JSPSYCH.items() if row[name] is not None}
    computed = {
        "task": item["task"],
        **{name: _json(item[name]) for name in ("factors", "content", "key")},
        "response": None if row["response"] is None else _json(row["response"]),
        "signals": _json(signals) if signals else None,
        "jspsych": _json(jspsych) if jspsych or row["rt"] is not None else None,
        "run_parameters": _json(runs[row["run"]]) if runs.get(row["run"]) is not None else None,
        "presentation": _json(row["presentation"]) if row.get("presentation") is not None else None,
        "device": _json(device) if device else None,
        **{name: row.get(name) for name in _SINCE_FIRST_EXPORT},
    }
    return [computed[name] if name in computed else _plain(row[name]) for name in VIEW_COLUMNS]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(text: str | None, column: Column, path: Path, line: int) -> Any:
    """Return the value of a text cell."""
    if text is None or text == "":
        return None
    try:
        return _FROM_TEXT[column.type](text)
    except ValueError:
        raise InputError(
            f"{path}, line {line}: `{column.name}` is {text!r}, which is not a {column.type}. Fix: export the data "
            "again."
        ) from None


def _true_or_false(text: str) -> bool:
    return {"true": True, "false": False}[text]


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "text": str,
    "time": str,
    "JSON": json_value_of,
    "whole number": int,
    "number": float,
    "true or false": _true_or_false,
}


def _read_csv(path: Path, columns: Sequence[Column]) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file, long_cells():
        reader = csv.reader(file, strict=True)
        _check_header(next(reader, []), columns, path)
        for cells in reader:
            yield _from_texts(map(unguarded, cells), columns, path, reader.line_num)


def _read_tsv(path: Path, columns: Sequence[Column]) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="\n") as file:
        _check_header(next(file, "").rstrip("\n").split("\t"), columns, path)
        for line, text in enumerate(file, start=2):
            yield _from_texts(map(tsv_text, text.rstrip("\n").split("\t")), columns, path, line)


def _from_texts(texts: Iterable[str | None], columns: Sequence[Column], path: Path, line: int) -> Row:
    return {column.name: _value(text, column, path, line) for column, text in zip(columns, texts, strict=True)}


def _check_header(header: Sequence[str], columns: Sequence[Column], path: Path) -> None:
    if list(header) != [column.name for column in columns]:
        raise InputError(f"{path}, line 1: the columns are not those of the codebook. Fix: export the data again.")


def _read_json_lines(path: Path, columns: Sequence[Column]) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            row = parse_json(line, f"{path}, line {number}")
            yield {column.name: row[column.name] for column in columns}


def _read_parquet(path: Path, columns: Sequence[Column]) -> Iterator[Row]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE):
            for row in batch.to_pylist():
                yield {column.name: _from_binary(row[column.name], column) for column in columns}


def _from_binary(value: Any, column: Column) -> Any:
    return json_value_of(value) if column.type == "JSON" and value is not None else value


def _read_spss(path: Path, columns: Sequence[Column]) -> Iterator[Row]:
    import pyreadstat  # noqa: PLC0415 - an extra

    names = spss_names(columns)
    first = 0
    while True:
        table, _ = pyreadstat.read_sav(str(path), row_limit=ROWS_AT_ONCE, row_offset=first, output_format="dict")
        n_rows = len(table[names[0]])
        values = [table[name] for name in names]
        for row in zip(*values, strict=True):
            yield {column.name: _from_spss(value, column) for column, value in zip(columns, row, strict=True)}
        if n_rows < ROWS_AT_ONCE:
            return
        first += n_rows


def _from_spss(value: Any, column: Column) -> Any:
    if value is None or value == "" or value != value:  # noqa: PLR0124 - not a number
        return None
    if column.type in {"text", "time", "JSON"}:
        return _from_binary(str(value), column)
    return float(value) if column.type == "number" else bool(value) if column.type == "true or false" else int(value)


_READERS: dict[str, Callable[[Path, Sequence[Column]], Iterator[Row]]] = {
    "csv": _read_csv,
    "psych-ds": _read_csv,
    "bids": _read_tsv,
    "jsonl": _read_json_lines,
    "parquet": _read_parquet,
    "spss": _read_spss,
}
"""The function that reads a table in each format. An Inspect log has no table of trials, so it is not here."""
