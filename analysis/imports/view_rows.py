"""Trials of other programs as rows: of the view `trials` if there is a battery, otherwise of a plain table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from analysis.data.columns import VIEW_COLUMNS
from analysis.imports.trial_records import TrialRecord
from batteries.errors import InputError
from batteries.items import Battery, Item
from batteries.stimulus.parts import option_words
from batteries.tasks import task_named


@dataclass(frozen=True)
class OfStudy:
    """The study whose items were shown."""

    name: str
    version: str
    battery: Battery
    practice: tuple[str, ...] = ()
    attention_checks: tuple[str, ...] = ()


def pseudonyms(records: Sequence[TrialRecord], is_kept: bool) -> dict[str, str]:
    """Return the name of each participant in the new table: P1, P2 and so on in the order of the table.

    The ids of panels are personal data. With `is_kept`, the names are the ids in the table.
    """
    ids = list(dict.fromkeys(record.participant for record in records))
    width = len(str(len(ids)))
    return {name: name if is_kept else f"P{number:0{width}}" for number, name in enumerate(ids, start=1)}


def _sessions(records: Sequence[TrialRecord]) -> Iterator[list[TrialRecord]]:
    """Yield the trials of each session in their order."""
    order = {pair: number for number, pair in enumerate(dict.fromkeys((r.participant, r.session) for r in records))}
    in_order = sorted(records, key=lambda record: (order[record.participant, record.session], record.position))
    for _, of_session in groupby(in_order, key=lambda record: (record.participant, record.session)):
        yield list(of_session)


def view_rows(
    records: Sequence[TrialRecord], study: OfStudy, names: Mapping[str, str]
) -> tuple[list[list[Any]], list[str]]:
    """Return rows of the view `trials`, and a sentence for each difference between the scores.

    Raises
    ------
    InputError
        If an item is not in the battery, or a response is not possible.
    """
    rows: list[list[Any]] = []
    n_different, example = 0, ""
    n_of_participant: dict[str, int] = {}
    for of_session in _sessions(records):
        name = names[of_session[0].participant]
        n_of_participant[name] = number = n_of_participant.get(name, 0) + 1
        for index, record in enumerate(of_session):
            item = study.battery.by_id.get(record.item_id)
            if item is None:
                raise InputError(
                    f"{record.where}: the battery has no item `{record.item_id}`. Fix: correct the column of the item "
                    "in the map, or name the study with these items."
                )
            response = _possible(record, item)
            score = None if response is None else item.score(response)
            if score is not None and record.correct is not None and score.correct != record.correct:
                n_different, example = n_different + 1, example or record.where
            rows.append(_view_row(record, item, study, name, f"{name}-{number}", index, response, number))
    if not n_different:
        return rows, []
    return rows, [
        f"{n_different:,} responses have another score in the table than with the battery's key, the first at "
        f"{example}. The analysis uses the battery's key. Fix: check the map if this is not expected."
    ]


def _view_row(
    record: TrialRecord, item: Item, study: OfStudy, name: str, session: str, index: int, response: Any, number: int
) -> list[Any]:
    phase = record.phase or (
        "practice"
        if item.item_id in study.practice
        else "attention_check"
        if item.item_id in study.attention_checks
        else "test"
    )
    values = {
        "study": study.name,
        "study_version": study.version,
        "battery": study.battery.digest,
        "session": session,
        "participant": name,
        "kind": "human",
        "source": "import",
        "status": "completed" if record.is_finished else "active",
        "group": record.group,
        "session_number": number,
        "trial_index": index,
        "phase": phase,
        "item_id": item.item_id,
        "task": item.task,
        "factors": _json(item.factors),
        "content": _json(item.content),
        "key": _json(item.key),
        "response": None if response is None else _json(response),
        "rt_ms": record.rt_ms,
        "valid": None if response is None else 1,
    }
    return [values.get(column) for column in VIEW_COLUMNS]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _possible(record: TrialRecord, item: Item) -> Any:
    """Return the response in the form of the item's task: the number of an option for its number or its text."""
    if record.response is None:
        return None
    task = task_named(item.task)
    candidates = [record.response]
    if isinstance(record.response, str):
        with suppress(ValueError):
            candidates.append(json.loads(record.response))
        options = option_words(item.content) if "options" in item.content else []
        if record.response in options:
            candidates.append(options.index(record.response) + 1)
    for candidate in candidates:
        value = int(candidate) if isinstance(candidate, float) and candidate.is_integer() else candidate
        try:
            task.check_response(item.content, value)
        except InputError:
            continue
        return value
    raise InputError(
        f"{record.where}: {record.response!r} is not a possible response to the item `{item.item_id}`. Fix: add this "
        "text to `responses` in the map, with the response that it means."
    )


PLAIN_COLUMNS = ("participant", "session", "trial_index", "phase", "item_id", "response", "correct", "rt_ms", "group")
"""The columns of a plain table, before the further columns of the map."""


def plain_rows(records: Sequence[TrialRecord], names: Mapping[str, str]) -> tuple[list[str], list[list[Any]]]:
    """Return the header and the rows of a plain table, which `equipoise analyze` reads as any tidy table."""
    others = list(dict.fromkeys(name for record in records for name in record.others))
    rows = []
    n_of_participant: dict[str, int] = {}
    for of_session in _sessions(records):
        name = names[of_session[0].participant]
        n_of_participant[name] = number = n_of_participant.get(name, 0) + 1
        for index, record in enumerate(of_session):
            correct = None if record.correct is None else str(record.correct).lower()
            values = [name, f"{name}-{number}", index, record.phase or "test", record.item_id, record.response, correct,
                      record.rt_ms, record.group]  # fmt: skip
            rows.append([*values, *(record.others.get(other) for other in others)])
    header = [*PLAIN_COLUMNS, *others]
    is_used = [any(row[place] is not None for row in rows) for place in range(len(header))]
    shown = [place for place, used in enumerate(is_used) if used]
    return [header[place] for place in shown], [[row[place] for place in shown] for row in rows]
