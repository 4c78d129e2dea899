"""The page that runs a study in a browser, and the files that the page loads."""

import gzip
from functools import lru_cache
from importlib.resources import files

from flask import Blueprint, Response, current_app, make_response, render_template, request, send_from_directory
from werkzeug.exceptions import NotFound

from batteries.stimulus.parts import stored_name
from experiment.study.look import stylesheet
from server.asset_copies import logo_part
from server.context import context
from server.participants import participant_auth, participant_json
from server.request_body import RESPONSES_ADDRESS, largest_body

web_client = Blueprint("web_client", __name__)


@web_client.get("/")
def page() -> Response:
    """Return the page that runs the study. If the address has parameters, first redirect, to move them to a cookie."""
    return participant_auth.exchange() if request.args else _study_page()


def _study_page() -> Response:
    limit = largest_body(current_app.config, RESPONSES_ADDRESS)
    response = make_response(
        render_template("study.html", study=context().study, preview=context().preview, largest_responses_bytes=limit)
    )
    participant_auth.send_check_cookie(response)
    return response


@web_client.app_context_processor
def study_look() -> dict[str, str | None]:
    """Return what the templates of the participants' pages show of the study's own look."""
    study = context().study
    css, logo = stylesheet(study.definition.look), logo_part(study)
    return {
        "look_address": None if css is None else f"/study/{participant_json.digest_of(css)}.css",
        "logo_address": None if logo is None else f"/asset/{stored_name(logo)}",
    }


@web_client.get("/static/<path:name>")
def static(name: str) -> Response:
    """Return a file of the web client's bundle."""
    response = send_from_directory(str(files("experiment.web") / "static"), name, conditional=False)
    if request.accept_encodings.quality("gzip") > 0:
        response = _compressed(response)
    response.vary.add("Accept-Encoding")
    response.headers["Cache-Control"] = "no-cache"  # The browser asks each time if its copy is current (ETag).
    response.make_conditional(request)
    return response


def _compressed(plain: Response) -> Response:
    etag, _ = plain.get_etag()
    with plain:
        plain.direct_passthrough = False
        response = Response(_gzip(plain.get_data()), mimetype=plain.mimetype)
    response.content_encoding = "gzip"
    response.set_etag(f"{etag}-gzip")
    return response


@lru_cache(maxsize=8)
def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


@web_client.get("/study/<digest>.js")
def plugin(digest: str) -> Response:
    """Return the jsPsych plugin of the study whose text has this digest."""
    study = context().study
    for plugin in study.definition.plugins.values():
        if participant_json.digest_of(study.texts[plugin.file]) == digest:
            return _lasting(study.texts[plugin.file], "text/javascript")
    raise NotFound


@web_client.get("/study/<digest>.css")
def look(digest: str) -> Response:
    """Return the rules with the study's colour, if they have this digest."""
    css = stylesheet(context().study.definition.look)
    if css is None or participant_json.digest_of(css) != digest:
        raise NotFound
    return _lasting(css, "text/css")


def _lasting(text: str, mimetype: str) -> Response:
    """Return a text that never changes under its address."""
    response = Response(text, mimetype=mimetype)
    response.headers["Cache-Control"] = "max-age=31536000, immutable"
    return response
