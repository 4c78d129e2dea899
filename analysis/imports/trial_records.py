"""The trials in a table of another program, read by a map of the columns."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.imports.table_map import Columns, Phase, TableMap
from batteries.errors import InputError
from batteries.files.csv_files import parse_csv, refuse_duplicate_columns, unguarded
from batteries.files.file_reading import parse_json, read_json_lines, read_text

_YES = {"1", "1.0", "true", "yes", "correct"}
_NO = {"0", "0.0", "false", "no", "incorrect"}
_PHASES: Mapping[str, Phase] = {"practice": "practice", "test": "test", "attention_check": "attention_check"}


@dataclass(frozen=True)
class TrialRecord:
    """A trial of a person in a table of another program."""

    where: str
    """File and line, for messages."""
    participant: str
    session: str
    item_id: str
    position: float
    """Position of the trial, which orders the trials of a session."""
    response: Any
    """The response: a text, or the JSON value that the map gives; None if there is no response."""
    correct: bool | None
    rt_ms: float | None
    phase: Phase | None
    group: int | None
    is_finished: bool
    others: dict[str, str] = field(default_factory=dict)
    """Further columns."""


def read_records(paths: Sequence[Path], table_map: TableMap) -> list[TrialRecord]:
    """Return the trials of several tables, in the order of the tables.

    Raises
    ------
    InputError
        If a file cannot be read, a column of the map is missing, a cell is invalid, or no row is a trial.
    """
    records = [record for path in paths for record in _records(path, table_map)]
    if not records:
        raise InputError(
            f"{', '.join(map(str, paths))}: no row is a trial. Fix: check `where` and `skip_without` in the map."
        )
    return records


def _records(path: Path, table_map: TableMap) -> Iterator[TrialRecord]:
    header, rows = _table(path)
    found = _Header(path, header)
    rows = rows[table_map.extra_header_rows :]
    columns = {
        name: found.column(getattr(table_map, name), name)
        for name in (
            "participant",
            "session",
            "item",
            "response",
            "correct",
            "rt",
            "trial",
            "phase",
            "group",
            "finished",
        )
    }
    if columns["participant"] is None:
        raise found.missing("participant", table_map.participant)
    for needed in ("item", "response") if table_map.wide is None else ():
        if columns[needed] is None:
            raise found.missing(needed, getattr(table_map, needed))
    for column in table_map.where:
        if column not in header:
            raise found.missing("where", (column,))
    others = {name: found.column(names, name) for name, names in table_map.columns.items()}
    wide = _wide_columns(path, header, table_map)
    required = [name for name in (table_map.skip_without or table_map.item) if name in header]
    for number, (line, cells) in enumerate(rows):
        is_wanted = all(cells.get(column, "") in texts for column, texts in table_map.where.items())
        if not is_wanted or any(not cells.get(column, "").strip() for column in required):
            continue
        reader = _Row(f"{path}, line {line}", cells, columns, table_map)
        kept = {name: cells[column] for name, column in others.items() if column is not None}
        if table_map.wide is None:
            yield reader.record(cells[str(columns["item"])], columns["response"], columns["correct"], columns["rt"],
                                number, kept)  # fmt: skip
        else:
            for place, (item, of_item) in enumerate(wide.items()):
                yield reader.record(item, of_item["response"], of_item.get("correct"), of_item.get("rt"), place, kept)


@dataclass(frozen=True)
class _Header:
    path: Path
    header: Sequence[str]

    def column(self, names: Columns, key: str) -> str | None:
        """Return the first of several names that is in the table; None if no name is in the table.

        If the map has only one name, the column must be in the table.
        """
        present = [name for name in names if name in self.header]
        if len(names) == 1 and not present:
            raise self.missing(key, names)
        return present[0] if present else None

    def missing(self, key: str, names: Sequence[str]) -> InputError:
        shown = ", ".join(self.header[:12]) + (", ..." if len(self.header) > 12 else "")
        wanted = " or ".join(f"`{name}`" for name in names)
        return InputError(
            f"{self.path}, line 1: there is no column {wanted}, which the map names for `{key}`. The columns are "
            f"{shown}. Fix: correct the name of the column in the map."
        )


def _wide_columns(path: Path, header: Sequence[str], table_map: TableMap) -> dict[str, dict[str, str]]:
    """Return the columns of each item of a table with one row per participant."""
    found: dict[str, dict[str, str]] = {}
    if table_map.wide is None:
        return found
    patterns = table_map.wide.model_dump(exclude_none=True)
    for kind, pattern in patterns.items():
        for name in header:
            match = re.fullmatch(pattern, name)
            if match:
                found.setdefault(match["item"], {})[kind] = name
    items = {item: columns for item, columns in found.items() if "response" in columns}
    if not items:
        raise InputError(
            f"{path}, line 1: no column fits `wide.response`, {table_map.wide.response}. Fix: correct the expression."
        )
    return items


@dataclass(frozen=True)
class _Row:
    """A row of a table."""

    where: str
    cells: Mapping[str, str]
    columns: Mapping[str, str | None]
    table_map: TableMap

    def record(
        self,
        item_id: str,
        response: str | None,
        correct: str | None,
        rt: str | None,
        place: int,
        others: dict[str, str],
    ) -> TrialRecord:
        """Return the trial with an item, from the columns with its response."""
        participant = self._text("participant")
        if not participant:
            raise InputError(
                f"{self.where}: the cell `{self.columns['participant']}` is empty. Fix: write the participant's id."
            )
        position = self._number("trial", self.columns["trial"])
        return TrialRecord(
            where=self.where,
            participant=participant,
            session=self._text("session") or participant,
            item_id=item_id.strip(),
            position=place if position is None else position,
            response=self._response(response),
            correct=self._yes_or_no(correct),
            rt_ms=self._rt_ms(rt),
            phase=self._phase(),
            group=self._group(),
            is_finished=self.columns["finished"] is None or self._text("finished").lower() in _YES,
            others=others,
        )

    def _text(self, key: str) -> str:
        column = self.columns[key]
        return "" if column is None else self.cells[column].strip()

    def _number(self, key: str, column: str | None) -> float | None:
        text = "" if column is None else self.cells[column].strip()
        if text.lower() in {"", "na", "nan", "null", "none"}:
            return None
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(
                f"{self.where}: the cell `{column}` is {text!r}, but `{key}` needs a number. Fix: correct the cell or "
                "the map."
            )
        return number

    def _rt_ms(self, column: str | None) -> float | None:
        rt = self._number("rt", column)
        return None if rt is None else rt * 1000 if self.table_map.rt_unit == "s" else rt

    def _group(self) -> int | None:
        group = self._number("group", self.columns["group"])
        return None if group is None else int(group)

    def _response(self, column: str | None) -> Any:
        text = "" if column is None else self.cells[column].strip()
        return self.table_map.responses.get(text, text or None)

    def _yes_or_no(self, column: str | None) -> bool | None:
        text = "" if column is None else self.cells[column].strip().lower()
        if text in _YES | _NO:
            return text in _YES
        if text in {"", "na", "nan", "null", "none"}:
            return None
        raise InputError(
            f"{self.where}: the cell `{column}` is {text!r}, but `correct` needs true or false, or 1 or 0. Fix: "
            "correct the cell or the map."
        )

    def _phase(self) -> Phase | None:
        text = self._text("phase")
        phase = self.table_map.phases.get(text, _PHASES.get(text))
        if text and phase is None:
            raise InputError(
                f"{self.where}: the cell `{self.columns['phase']}` is {text!r}, which is not a phase. Fix: add this "
                "text to `phases` in the map, with practice, test or attention_check."
            )
        return phase


Rows = list[tuple[int, dict[str, str]]]


def _table(path: Path) -> tuple[list[str], Rows]:
    """Return the header and the rows of a CSV, JSON or JSON Lines file. Each row has its line and its texts."""
    if path.suffix.lower() in {".json", ".jsonl"}:
        return _json_table(path)
    table = parse_csv(read_text(path, newline=""), path)
    refuse_duplicate_columns(table.header, path)
    lines = zip(table.lines, table.rows, strict=True)
    rows = [(line, dict(zip(table.header, map(unguarded, cells), strict=True))) for line, cells in lines if cells]
    return table.header, rows


def _json_table(path: Path) -> tuple[list[str], Rows]:
    if path.suffix.lower() == ".jsonl":
        numbered = [*read_json_lines(path)]
    else:
        content = parse_json(read_text(path), str(path))
        numbered = [*enumerate(content if isinstance(content, list) else [content], start=1)]
    for number, value in numbered:
        if not isinstance(value, dict):
            raise InputError(f"{path}, entry {number}: this is not a JSON object. Fix: export the data as CSV.")
    rows = [(number, {name: _cell(cell) for name, cell in value.items()}) for number, value in numbered]
    header = list(dict.fromkeys(name for _, row in rows for name in row))
    return header, [(number, dict.fromkeys(header, "") | row) for number, row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
