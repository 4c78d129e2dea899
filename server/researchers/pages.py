"""All pages of the signed-in researchers, with their style sheet, their script and their error pages."""

from flask import Blueprint, Response, render_template
from werkzeug.exceptions import Forbidden, HTTPException, NotFound, ServiceUnavailable

from server.context import context
from server.researchers.actions import actions
from server.researchers.dashboard import dashboard
from server.researchers.participant_page import participant_pages
from server.researchers.preview import preview_forms
from server.researchers.sign_in import sign_in_form, sign_in_pages, store_is_away
from server.researchers.signed_in import NotSignedIn
from server.store import StoreUnavailable

researchers = Blueprint("researchers", __name__)
researchers.register_error_handler(StoreUnavailable, store_is_away)
for _pages in (dashboard, participant_pages, actions, preview_forms, sign_in_pages):
    researchers.register_blueprint(_pages)

PROBLEMS = {404: "This page does not exist. Fix: check the address."}


@researchers.get("/style.css")
def style() -> Response:
    """Return the style sheet of the researchers' pages. The content security policy forbids styles inside a page."""
    return Response(render_template("researcher.css"), mimetype="text/css")


@researchers.get("/dashboard.js")
def script() -> Response:
    """Return the script that keeps the dashboard up to date, and copies messages."""
    return Response(render_template("dashboard.js"), mimetype="text/javascript")


@researchers.errorhandler(NotSignedIn)
def not_signed_in(_: NotSignedIn) -> tuple[str, int]:
    """Show the form for signing in."""
    return sign_in_form(), 403


@researchers.errorhandler(NotFound)
@researchers.errorhandler(Forbidden)
@researchers.errorhandler(ServiceUnavailable)
def refused(error: HTTPException) -> tuple[str, int]:
    """Show a refusal as a page. Other errors, such as a wrong host name, get the same reply as all other addresses."""
    status = error.code or 500
    problem = PROBLEMS.get(status, error.description or "The request failed.")
    return render_template("refused.html", study=context().study, problem=problem), status
