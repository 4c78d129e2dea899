"""The page that a browser shows for an error, such as a wrong address. Programs get the same error as JSON."""

from flask import Response, render_template, request

from server.context import context
from server.participants.page_html import embedded_html

TEXTS = {404: "page_not_found", 405: "page_not_found"}
"""For each status, the key of the sentence for participants. Other statuses below 500 show the server's message."""


def wants_page() -> bool:
    """Return True if a person opened this address in a browser. Scripts and programs accept any type, or JSON."""
    return request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"


def error_page(message: str, status: int) -> Response:
    """Return an error as a page in the study's language, with a link to the study and the study's contact.

    Parameters
    ----------
    message
        The sentence for an error without a sentence for participants.
    status
        The status code of the reply.
    """
    study = context().study
    name = "server_error" if status >= 500 else TEXTS.get(status)
    contact = study.definition.timeline.contact
    page = render_template(
        "error.html",
        study=study,
        title="page_not_found_title" if status in TEXTS else "error_title",
        name=name,
        message=message,
        contact_html=embedded_html(study.texts[contact], study.words) if contact else None,
    )
    return Response(page, status, mimetype="text/html")
