"""The small tables of an export: sessions, participants, events and runs, each as a data frame with its columns."""

import json
from collections.abc import Iterable, Mapping, Sequence
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
    sessions: Sequence[dict[str, Any]], questions: Sequence[DemographicQuestion], is_full: bool
) -> tuple[list[Column], list[dict[str, Any]]]:
    """Return the list of sessions with its columns. Without `is_full`, the answers about participants are coarse."""
    if not is_full:
        known = {ANSWER + question.name: question.answer for question in questions}
        asked = {name for session in sessions for name in session if name.startswith(ANSWER)}
        sessions = coarse_sessions(sessions, {name for name in asked if known.get(name, "text") == "text"})
    names = list(dict.fromkeys([*LISTED, *(name for session in sessions for name in session)]))
    others = question_columns(questions, is_full)
    return described("sessions", names, others), list(sessions)


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


def events_table(events: Sequence[LogEvent], is_full: bool) -> tuple[list[Column], pd.DataFrame]:
    """Return the log of a study without the researchers' accesses. Only with `is_full`, it has all details."""
    accesses = {access.value for access in Access}
    names = ["event_index", "at", "event", "session", "group", "because", *(["details"] if is_full else [])]
    columns = described("events", names, {})
    records = [
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
    ]
    return columns, frame(columns, records)


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
