"""The researcher's page on the progress of the data collection. The researcher signs in with a token first."""

from flask import Blueprint, Response, render_template

from server.context import context
from server.researchers.sign_in import sign_in_form, store_is_away
from server.researchers.signed_in import find_sign_in
from server.store import StoreUnavailable

researchers = Blueprint("researchers", __name__)
researchers.register_error_handler(StoreUnavailable, store_is_away)


@researchers.get("/")
def progress() -> str | tuple[str, int]:
    """Show the sessions by status, kind and group. Without a sign-in, show the form that asks for the token."""
    found = find_sign_in()
    if found is None:
        return sign_in_form(), 403
    study, store = context().study, context().store
    return render_template("progress.html", study=study, sign_in=found, progress=store.progress(study))


@researchers.get("/style.css")
def style() -> Response:
    """Return the style sheet of the researcher's pages."""
    return Response(render_template("progress.css"), mimetype="text/css")
