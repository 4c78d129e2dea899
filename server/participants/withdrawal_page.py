"""Withdrawal after the end: a page on which participants delete their responses with the withdrawal code."""

from flask import Blueprint, render_template, request
from werkzeug.exceptions import TooManyRequests

from server.context import context
from server.logs import logger
from server.metrics import note_unavailable
from server.participants.page_html import embedded_html
from server.request_body import read_field
from server.security.fetch_metadata import refuse_other_sites
from server.store import Store, StoreUnavailable

withdrawal = Blueprint("withdrawal", __name__)

LONGEST_CODE = 64
"""Largest number of characters of a code that the server looks up. Real codes are shorter."""


@withdrawal.get("/withdraw")
def ask() -> str:
    """Show the page that asks for the withdrawal code."""
    return _page()


@withdrawal.post("/withdraw")
def delete() -> tuple[str, int]:
    """Delete the responses that belong to the code, or show that the code is unknown.

    The server looks up the code before it counts wrong codes. So it accepts a right code even after many wrong codes
    from the same network.
    """
    refuse_other_sites()
    code = read_field("code")
    sessions = sessions_of_code(context().store, code)
    if not sessions:
        context().limits.count_wrong_code()
        return _page(code=code, problem="delete_unknown"), 404
    for session in sessions:
        context().store.withdraw_session(session)
        logger.info("session withdrawn", extra={"session": session})
    return _page(is_done=True), 200


def sessions_of_code(store: Store, code: str) -> list[str]:
    """Return the sessions of this study with a withdrawal code. Case and spaces in the code make no difference."""
    plain = "".join(code.split()).upper()
    is_code = plain.isalnum() and len(plain) <= LONGEST_CODE
    return store.sessions_with_code(context().study, plain) if is_code else []


@withdrawal.errorhandler(StoreUnavailable)
def store_is_away(error: StoreUnavailable) -> tuple[str, int, dict[str, str]]:
    """Show the page with the message that nothing was deleted yet."""
    note_unavailable(error)
    return _page(code=request.form.get("code", ""), problem="leave_failed"), 503, {"Retry-After": "5"}


@withdrawal.errorhandler(TooManyRequests)
def too_many(error: TooManyRequests) -> tuple[str, int, dict[str, str]]:
    """Ask the participant to try again later."""
    return _page(problem="too_many_requests"), 429, {"Retry-After": str(error.retry_after)}


def _page(code: str = "", problem: str | None = None, is_done: bool = False) -> str:
    study = context().study
    contact = study.definition.timeline.contact
    return render_template(
        "withdraw.html",
        study=study,
        contact_html=embedded_html(study.texts[contact], study.words) if contact else None,
        code=code,
        problem=problem,
        is_done=is_done,
    )
