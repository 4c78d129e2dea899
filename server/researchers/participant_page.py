"""The list of sessions, and the page of one participant: timeline, raw events, and the forms of the actions.

The pages show pseudonyms, and never a panel id.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template, request
from werkzeug.exceptions import NotFound

from batteries.files.csv_files import write_rows
from experiment.records import Kind, Status
from server.context import context
from server.researchers.done import DONE
from server.researchers.signed_in import SignIn, note, require_role
from server.security.fetch_metadata import refuse_other_sites
from server.store import Access, Role, SlotState
from server.store.monitor_models import SessionHistory
from server.store.sql.sessions import LISTED

participant_pages = Blueprint("participant_pages", __name__)

MOST_LISTED = 200
NOT_SHOWN = frozenset({"by", "taken", "closed", "added", "quota", "quota_per_group", "excluded_at", "completed_at"})
"""Details of a log entry that the timeline omits: its other columns show them, or they are about other groups."""


@dataclass(frozen=True)
class TimelineEntry:
    """An event in a session: a log entry, a visit or the first or last response."""

    at: str
    what: str
    by: str = ""
    details: str = ""


@participant_pages.get("/participants")
def sessions() -> str:
    """List the latest sessions, or those of one participant."""
    sign_in = require_role(Role.VIEWER)
    wanted = request.args.get("find", "").strip()
    found = context().store.watched_sessions(context().study, wanted, MOST_LISTED)
    return render_template(
        "participants.html",
        study=context().study,
        sign_in=sign_in,
        sessions=found,
        wanted=wanted,
        is_cut=len(found) == MOST_LISTED,
        may_change=sign_in.role.includes(Role.RESEARCHER),
    )


@participant_pages.post("/sessions.csv")
def export() -> Response:
    """Send the list of all sessions as a CSV file, without identities, devices and demographics."""
    refuse_other_sites()
    sign_in = require_role(Role.RESEARCHER)
    rows = context().store.sessions(context().study)
    note(Access.EXPORTED, what="sessions", number=len(rows), by=sign_in.account)
    file = io.StringIO()
    write_rows(file, [LISTED, *([row[name] for name in LISTED] for row in rows)])
    headers = {"Content-Disposition": f'attachment; filename="{context().study.name}-sessions.csv"'}
    return Response(file.getvalue(), mimetype="text/csv", headers=headers)


@participant_pages.get("/participants/<participant>")
def participant(participant: str) -> str:
    """Show the sessions of a participant."""
    return page_of(require_role(Role.VIEWER), participant, done=DONE.get(request.args.get("done", "")))


def page_of(sign_in: SignIn, participant: str, problem: str | None = None, done: str | None = None) -> str:
    """Return the page of a participant, with the result of the last action.

    Raises
    ------
    NotFound
        If the study has no participant with this pseudonym.
    """
    study, store = context().study, context().store
    histories = [one for one in store.history(study, participant) if one.watched.participant == participant]
    if not histories:
        raise NotFound
    return render_template(
        "participant.html",
        study=study,
        sign_in=sign_in,
        participant=participant,
        histories=[(one, timeline(one), message_for_panel(study.definition.title, one)) for one in histories],
        may_change=sign_in.role.includes(Role.RESEARCHER),
        may_delete=sign_in.role.includes(Role.OWNER),
        problem=problem,
        done=done,
    )


def timeline(history: SessionHistory) -> list[TimelineEntry]:
    """Return the events of a session in the order of time."""
    return sorted(_entries(history), key=lambda entry: entry.at)


def _entries(history: SessionHistory) -> Iterator[TimelineEntry]:
    for event in history.events:
        yield TimelineEntry(event.at, event.event, event.details.get("by", ""), _words(event.details))
    for visit, at, next_trial_index in history.visits:
        words = "opened" if visit == 1 else f"opened again (visit {visit})"
        yield TimelineEntry(at, words, details=f"next trial: {next_trial_index}")
    if history.responses:
        first, last = history.responses[0], history.responses[-1]
        yield TimelineEntry(first["received_at"], "first response", details=f"trial {first['trial_index']}")
        if len(history.responses) > 1:
            yield TimelineEntry(last["received_at"], "latest response", details=f"trial {last['trial_index']}")


def _words(details: Mapping[str, Any]) -> str:
    """Return the details of a log entry as text, without the numbers of the other groups."""
    shown = {name: value for name, value in details.items() if name not in NOT_SHOWN and value is not None}
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in shown.items())


def message_for_panel(title: str, history: SessionHistory) -> str | None:
    """Return a message that the researcher can send at the panel; None for simulated participants."""
    watched = history.watched
    if watched.kind != Kind.HUMAN or watched.status == Status.WITHDRAWN:
        return None
    if watched.excluded_reason is not None:
        return (
            f"Thank you for taking part in our study “{title}”. We could not use your session: "
            f"{watched.excluded_reason.rstrip('.')}. If you have questions, please write to us."
        )
    if watched.status == Status.COMPLETED:
        return f"Thank you for taking part in our study “{title}”. We have received all your responses."
    if watched.slot == SlotState.RELEASED:
        return (
            f"You began our study “{title}”, but did not complete it in time. Please return your submission. If you "
            "had a technical problem, please write to us."
        )
    return f"You began our study “{title}”. If you have a technical problem, please write to us."
