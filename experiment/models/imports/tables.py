"""Replies in any CSV or JSON Lines file, described by a map of its columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from batteries.errors import InputError
from experiment.models.imports.column_map import ColumnMap, FixedText, RunColumns, Source
from experiment.models.imports.lines import (
    LONGEST_MS,
    Fields,
    csv_header,
    csv_rows,
    inner,
    json_objects,
    number_of,
    opened,
    text_of,
    whole_of,
)  # fmt: skip
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, Records
from experiment.models.imports.study_items import StudyItems

NAME = "table"


def read(path: Path, items: StudyItems, column_map: ColumnMap) -> Records:
    """Yield the replies of a file. A row of a wide table contains one reply of each model.

    Raises
    ------
    InputError
        If a column of the map is not in the file.
    """
    is_json = _is_json(path)
    if not is_json:
        _refuse_missing(path, csv_header(path), column_map)
    if isinstance(column_map.item, tuple | dict):
        unknown = items.unknown_factors(column_map.item)
        if unknown:
            raise InputError(
                f"{path}: the items have no factor `{unknown[0]}`. Fix: use the battery's names of factors. In a YAML "
                "map, `item: {FACTOR: COLUMN}` names the column of each factor."
            )
    runs = column_map.all_runs
    for line, cells in json_objects(path) if is_json else csv_rows(path):
        if isinstance(cells, Problem):
            yield cells
        else:
            yield from _records(line, cells, items, column_map, runs)


def _is_json(path: Path) -> bool:
    with opened(path) as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def _refuse_missing(path: Path, header: list[str], column_map: ColumnMap) -> None:
    named = column_map.item
    columns = [named] if isinstance(named, str) else list(named.values() if isinstance(named, dict) else named or ())
    for run in column_map.all_runs:
        columns += [source for source in run.model_dump().values() if isinstance(source, str)]
    for column in columns:
        if column not in header:
            shown = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
            raise InputError(
                f"{path}: the map names the column `{column}`, but the file has the columns {shown}. Fix: correct the "
                f"name of the column. If `{column}` is a value and not a column, write two equals signs in --map, as "
                "in model==gpt-4."
            )


def _cell(cells: Fields, column: str) -> Any:
    """Return a cell. In JSON, `doc.id` is the field `id` of the field `doc`, unless a field is named `doc.id`."""
    return cells[column] if column in cells else inner(cells, *column.split("."))


def _value(cells: Fields, source: Source | float | int | None) -> str:
    if isinstance(source, FixedText):
        return source.text
    return text_of(_cell(cells, source) if isinstance(source, str) else source).strip()


def _records(
    line: int, cells: Fields, items: StudyItems, column_map: ColumnMap, runs: list[RunColumns]
) -> Iterator[ImportedReply | Problem]:
    request = _request(cells, items, column_map)
    if request is None:
        yield Problem(
            line,
            ProblemKind.UNKNOWN_ITEM,
            ("no test item, or more than one test item, has these levels of the factors"),
        )
        return
    for run in runs:
        yield _record(line, request, cells, column_map, run)


def _request(cells: Fields, items: StudyItems, column_map: ColumnMap) -> str | None:
    named = column_map.item
    if isinstance(named, str):
        return _value(cells, named)
    assert named is not None
    columns = named if isinstance(named, dict) else {column: column for column in named}
    return items.id_by_factors({factor: _value(cells, column) for factor, column in columns.items()})


def _record(line: int, request: str, cells: Fields, column_map: ColumnMap, run: RunColumns) -> ImportedReply | Problem:
    column = run.reply or run.choice
    assert column is not None
    reply, model = text_of(_cell(cells, column)), _value(cells, run.model)
    if not reply.strip():
        return Problem(line, ProblemKind.FAILED, f"`{column}` is empty", request)
    if not model:
        return Problem(line, ProblemKind.UNREADABLE, "the model's name is empty", request)
    epoch = _value(cells, run.epoch)
    if epoch and not whole_of(epoch):
        return Problem(line, ProblemKind.UNREADABLE, f"the epoch `{epoch}` is not a whole number from 1", request)
    temperature = _value(cells, run.temperature)
    if temperature and number_of(temperature) is None:
        return Problem(line, ProblemKind.UNREADABLE, f"the temperature `{temperature}` is not a number", request)
    return ImportedReply(
        line=line,
        request=request,
        model=model,
        model_version=_value(cells, run.model_version) or None,
        reply=reply,
        has_response=run.choice is not None,
        response=_response(reply, column_map) if run.choice is not None else None,
        prompt=_value(cells, run.prompt) or None,
        temperature=number_of(temperature) if temperature else None,
        epoch=whole_of(epoch) if epoch else None,
        latency_ms=number_of(_value(cells, run.rt_ms), LONGEST_MS),
        finish_reason=_value(cells, run.finish_reason) or None,
        thinking=text_of(_cell(cells, run.thinking)) if run.thinking else "",
    )


def _response(text: str, column_map: ColumnMap) -> JsonValue:
    return column_map.values.get(text.strip(), text.strip())
