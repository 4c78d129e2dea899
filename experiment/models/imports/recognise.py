"""Recognition of a file's format by its content. The name of the file has no effect."""

import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from batteries.errors import InputError
from experiment.models.imports import anthropic_batch, inspect_log, lm_eval, openai_batch, published_vignettes, tables
from experiment.models.imports.column_map import ColumnMap
from experiment.models.imports.lines import Fields, csv_header, json_objects, opened
from experiment.models.imports.replies import Problem, Records
from experiment.models.imports.study_items import StudyItems

STORED_BLACKBOX = "stored-blackbox"
_N_LINES = 100
"""Number of lines that are read to recognise a JSON Lines file, because the first lines can be damaged."""
_N_HEAD = 100_000
_BLACKBOX = re.compile(rb'"(experimentConfig|promptStyles|predictions|atomConfig|exportTime)"\s*:')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')


class Format(NamedTuple):
    """The format of a file, and the function that reads its replies.

    The function is None for stored Black Box runs, because `read_stored_runs` reads whole runs from these files.
    """

    name: str
    read: Callable[[], Records] | None


def recognise(path: Path, items: StudyItems, column_map: ColumnMap | None = None) -> Format:
    """Return the format of a file.

    Raises
    ------
    InputError
        If the format is unknown, the file contains requests without replies, or the map does not fit the format.
    """
    if column_map is not None and column_map.describes_table:
        return Format(tables.NAME, partial(tables.read, path, items, column_map))
    found = _known_format(path, items, column_map.fixed_model if column_map else None)
    if column_map is not None and (found.name != lm_eval.NAME or column_map.model_fields_set != {"model"}):
        raise InputError(
            f"{path}: this map cannot be used with the format {found.name}. A map without `item`, `reply` and `choice` "
            "can only name the model of samples of lm-evaluation-harness. Fix: omit --map. To read a table, add `item` "
            "and `reply` to the map."
        )
    return found


def _known_format(path: Path, items: StudyItems, model: str | None) -> Format:
    with opened(path) as file:
        head = file.read(_N_HEAD)
    if head.startswith(b"PK\x03\x04"):
        return Format(inspect_log.NAME, partial(inspect_log.read, path))
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise InputError(f"{path}: the file is empty. Fix: export the results again.")
    if not start.startswith(b"{"):
        return _csv_format(path, items)
    lines = (fields for _, fields in islice(json_objects(path), _N_LINES) if not isinstance(fields, Problem))
    for fields in lines:
        found = _json_format(path, fields, items, model)
        if found:
            return found
    if _INSPECT.search(head) and not _BLACKBOX.search(head):
        return Format(inspect_log.NAME, partial(inspect_log.read, path))
    if _BLACKBOX.search(head):
        return Format(STORED_BLACKBOX, None)
    raise _unknown(path)


def _json_format(path: Path, fields: Fields, items: StudyItems, model: str | None) -> Format | None:
    if anthropic_batch.fits(fields):
        return Format(anthropic_batch.NAME, partial(anthropic_batch.read, path))
    if openai_batch.fits(fields):
        return Format(openai_batch.NAME, partial(openai_batch.read, path))
    if lm_eval.fits(fields):
        return Format(lm_eval.NAME, partial(lm_eval.read, path, items, model))
    if isinstance(fields.get("results"), list):
        return Format(STORED_BLACKBOX, None)
    if isinstance(fields.get("eval"), dict):
        return Format(inspect_log.NAME, partial(inspect_log.read, path))
    if "custom_id" in fields and ("body" in fields or "params" in fields):
        raise InputError(
            f"{path}: this file contains requests to a model, without replies. Fix: give the file of results that the "
            "provider made."
        )
    return None


def _csv_format(path: Path, items: StudyItems) -> Format:
    if published_vignettes.fits(csv_header(path)):
        return Format(published_vignettes.NAME, partial(published_vignettes.read, path, items))
    raise _unknown(path)


def _unknown(path: Path) -> InputError:
    return InputError(
        f"{path}: the format of this file is unknown. Fix: describe its columns, such as "
        "--map item=COLUMN,reply=COLUMN,model==NAME."
    )
