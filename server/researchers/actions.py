"""The researchers' actions: forms that change the data collection. The study's log names who sent each form.

The commands of the command line (`equipoise assignment`, `exclude`, `withdraw`) use the same methods of the store.
"""

from collections.abc import Callable

from flask import Blueprint, Response, redirect
from werkzeug.exceptions import NotFound

from batteries.errors import InputError
from experiment.records import Kind
from experiment.study.reasons import checked_reason
from server.context import context
from server.request_body import read_field
from server.researchers.dashboard import dashboard_page, live_dashboard
from server.researchers.participant_page import page_of
from server.researchers.signed_in import SignIn, require_role
from server.security.fetch_metadata import refuse_other_sites
from server.store import Conflict, Release, Role
from server.store.models import SessionFound

actions = Blueprint("actions", __name__)

Reply = Response | tuple[str, int]


@actions.post("/groups/<int:group>/<any(open, close):action>")
def open_or_close(group: int, action: str) -> Reply:
    """Open a group for new participants, or close it."""
    return _change_groups(
        lambda by: context().store.open_group(context().study, group, action == "open", by),
        f"group-{'opened' if action == 'open' else 'closed'}",
    )


@actions.post("/<any(pause, resume):action>")
def pause_or_resume(action: str) -> Reply:
    """Close all groups for new participants, or open all groups."""

    def job(by: str) -> None:
        for group in context().store.progress(context().study):
            if group.kind is Kind.HUMAN and group.is_open == (action == "pause"):
                context().store.open_group(context().study, group.group, action == "resume", by)

    return _change_groups(job, f"study-{action}d")


@actions.post("/groups/<int:group>/extend")
def extend(group: int) -> Reply:
    """Add slots to the quota of a group."""

    def job(by: str) -> None:
        text = read_field("n_slots").strip()
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise InputError("the number of slots is not a whole number. Fix: write a number such as 5.")
        context().store.extend_quota(context().study, group, int(text), by)

    return _change_groups(job, "quota-extended")


@actions.post("/sessions/<session>/exclude")
def exclude(session: str) -> Reply:
    """Exclude a session from the analysis, with a reason."""
    return _change_session(
        Role.RESEARCHER,
        session,
        "session-excluded",
        lambda found, by: context().store.exclude_sessions([found.session], _reason(), by),
    )


@actions.post("/sessions/<session>/include")
def include(session: str) -> Reply:
    """Include an excluded session again, with a reason."""

    def job(found: SessionFound, by: str) -> None:
        context().store.include_sessions(context().study, [found.session], _reason(), by)

    return _change_session(Role.RESEARCHER, session, "session-included", job)


@actions.post("/sessions/<session>/replace")
def replace(session: str) -> Reply:
    """Release the slot of a session, so that another participant can take it."""

    def job(found: SessionFound, by: str) -> None:
        if not context().store.release_slot(found.session, Release.RETURN, by):
            raise Conflict("The slot of this session was released before, so nothing was changed. Fix: none is needed.")

    return _change_session(Role.RESEARCHER, session, "slot-released", job)


@actions.post("/sessions/<session>/delete")
def delete(session: str) -> Reply:
    """Delete the responses of a participant in all sessions. The form contains the pseudonym as a confirmation."""

    def job(found: SessionFound, by: str) -> None:
        if read_field("pseudonym").strip() != found.participant:
            raise InputError("the pseudonym is not that of this page. Fix: copy the pseudonym from the page's heading.")
        context().store.withdraw_session(found.session, by)

    return _change_session(Role.OWNER, session, "responses-deleted", job)


def _change_groups(job: Callable[[str], None], done: str) -> Reply:
    refuse_other_sites()
    sign_in = require_role(Role.RESEARCHER)
    try:
        job(sign_in.account)
    except (Conflict, InputError) as error:
        return dashboard_page(sign_in, problem=_sentence(error)), 409
    return _done("/researcher/", done)


def _change_session(least: Role, session: str, done: str, job: Callable[[SessionFound, str], None]) -> Reply:
    refuse_other_sites()
    sign_in = require_role(least)
    found = context().store.session_named(context().study, session)
    if found is None:
        raise NotFound
    try:
        job(found, sign_in.account)
    except (Conflict, InputError) as error:
        return _page_with(sign_in, found, error), 409
    return _done(f"/researcher/participants/{found.participant}", done)


def _page_with(sign_in: SignIn, found: SessionFound, error: Exception) -> str:
    return page_of(sign_in, found.participant, problem=_sentence(error))


def _done(page: str, done: str) -> Response:
    live_dashboard().make_due()
    response = redirect(f"{page}?done={done}", code=303)
    assert isinstance(response, Response)
    return response


def _reason() -> str:
    return checked_reason(read_field("reason"), "reason")


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
