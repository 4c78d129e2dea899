"""The small tables of an export: sessions, participants, events and runs, each as a data frame with its columns."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.exports.coarse import coarse_sessions
from analysis.exports.codebook import Column, Type, described
from analysis.exports.table_files import plain_cell
from batteries.errors import InputError
from experiment.study.demographics import DemographicQuestion
from server.store import Access
from server.store.models import LogEvent
from server.store.sql.sessions import LISTED

ANSWER = "demographics_"
"""Beginning of the name of a column with answers to a question about the participant."""

_DTYPES = {"whole number": "Int64", "number": "Float64", "true or false": "boolean"}


def frame(columns: Sequence[Column], records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return records as a data frame with one column for each description. A record may lack values."""
    records = list(records)
    found: dict[str, pd.Series] = {}
    for column in columns:
        values = [record.get(column.name) for record in records]
        if column.type == "text":
            values = [None if value is None else plain_cell(value, column) for value in values]
        found[column.name] = pd.Series(values, dtype=_DTYPES.get(column.type, "object"))
    return pd.DataFrame(found, index=pd.RangeIndex(len(records)))


def question_columns(questions: Sequence[DemographicQuestion], is_full: bool) -> dict[str, Column]:
    """Return the description of the column of each question about the participant."""
    found = {}
    for question in questions:
        name = ANSWER + question.name
        kind: Type = "whole number" if is_full and question.answer == "number" else "text"
        levels = dict.fromkeys(question.options, "") if is_full else {}
        found[name] = Column(name, kind, question.ask, "", levels)
    return found


def sessions_table(
    read: Callable[[], Iterable[dict[str, Any]]], questions: Sequence[DemographicQuestion], is_full: bool
) -> tuple[list[Column], Iterator[dict[str, Any]], list[dict[str, Any]]]:
    """Return the list of sessions with its columns, and the answers about participants.

    Without `is_full`, the answers are coarse. `read` returns all sessions, in the same order at each call, because only
    the answers are in memory together.

    Returns
    -------
    tuple
        The columns; one record for each session; one record for each session with answers, which has the participant
        and the answers.
    """
    names = dict.fromkeys(LISTED)
    answers: dict[str, dict[str, Any]] = {}
    for session in read():
        names.update(dict.fromkeys(session))
        if any(name.startswith(ANSWER) for name in session):
            answers[session["session"]] = {
                name: value for name, value in session.items() if name == "participant" or name.startswith(ANSWER)
            }
    if not is_full:
        known = {ANSWER + question.name: question.answer for question in questions}
        free_texts = {name for name in names if name.startswith(ANSWER) and known.get(name, "text") == "text"}
        answers = dict(zip(answers, coarse_sessions([*answers.values()], free_texts), strict=True))
    columns = described("sessions", [*names], question_columns(questions, is_full))
    return columns, (session | answers.get(session["session"], {}) for session in read()), [*answers.values()]


def participants_table(
    participants: pd.DataFrame, sessions: Sequence[Mapping[str, Any]], columns_of_sessions: Sequence[Column]
) -> tuple[list[Column], pd.DataFrame]:
    """Return the participants with their dispositions, and with the answers in their first session that has answers."""
    asked = [column for column in columns_of_sessions if column.name.startswith(ANSWER)]
    answers: dict[str, dict[str, Any]] = {}
    for session in sessions:
        given = {column.name: session[column.name] for column in asked if session.get(column.name) is not None}
        if given:
            answers.setdefault(str(session["participant"]), given)
    names = ["participant", *(name for name in participants.columns if name != "participant")]
    columns = described("participants", names, {})
    table = participants[names].reset_index(drop=True)
    table["group"] = table["group"].astype(object).where(table["group"].notna(), None).map(_group_text)
    of_participant = [answers.get(str(name), {}) for name in table["participant"]]
    return [*columns, *asked], pd.concat([table, frame(asked, of_participant)], axis=1)


def _group_text(group: Any) -> str | None:
    return None if group is None else str(group)


def events_table(events: Iterable[LogEvent], is_full: bool) -> tuple[list[Column], Iterator[dict[str, Any]]]:
    """Return the log of a study without the researchers' accesses, one record for each entry.

    Only with `is_full`, it has all details.
    """
    accesses = {access.value for access in Access}
    names = ["event_index", "at", "event", "session", "group", "because", *(["details"] if is_full else [])]
    records = (
        {
            "event_index": event.event_index,
            "at": event.at,
            "event": event.event,
            "session": event.session,
            "group": event.details.get("group"),
            "because": event.details.get("because"),
            "details": event.details,
        }
        for event in events
        if event.event not in accesses
    )
    return described("events", names, {}), records


def runs_table(rows: pd.DataFrame) -> tuple[list[Column], pd.DataFrame]:
    """Return one row for each run of a model. `rows` are rows of the view, with at least one row of each run."""
    names = ["run", "session", "model", "model_version", "temperature", "prompt_digest", "source", "run_parameters"]
    columns = described("runs", names, {})
    of_models = rows[rows["kind"] == "model"].drop_duplicates("session").sort_values("run")
    records = [
        {
            name: None if pd.isna(value) else json.loads(value) if name == "run_parameters" else value
            for name, value in zip(names, row, strict=True)
        }
        for row in of_models[names].itertuples(index=False)
    ]
    return columns, frame(columns, records)


def refuse_unknown_format(form: str, formats: Iterable[str]) -> None:
    """Raise an InputError if there is no such format."""
    formats = list(formats)
    if form not in formats:
        raise InputError(f"--format: unknown format `{form}`. Fix: write one of {', '.join(formats)}.")
