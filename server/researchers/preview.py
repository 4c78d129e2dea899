"""Previews: a researcher takes the study as a participant, in a chosen group with a chosen seed, and is never counted.

A preview is a separate application with a private store in a temporary folder. A cookie of the browser names the
preview, and the requests of this browser then go to the private application. The page is marked as a preview. When the
preview has ended, the server refuses the cookie, so that nobody takes the real study by mistake.
"""

import dataclasses
import re
import secrets
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Blueprint, Flask, Response, current_app, redirect, render_template, request

from experiment.study.definition import Study
from experiment.study.recruitment import Recruitment
from server.context import context
from server.cookies import is_https
from server.request_body import read_field
from server.researchers.dashboard import dashboard_page
from server.researchers.signed_in import SignIn, require_role
from server.security.fetch_metadata import refuse_other_sites
from server.store import Role, SqliteStore

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

preview_forms = Blueprint("preview", __name__)

MOST_PREVIEWS = 8
"""Largest number of previews of one server. A further preview ends the oldest one."""
LONGEST_PREVIEW_S = 3600
LARGEST_SEED = 1_000_000
COOKIE = "equipoise_preview"
_COOKIE_VALUE = re.compile(rf"(?:^|[; ])(__Host-)?{COOKIE}=([0-9a-f]{{32}})(?:;|$)")
_OF_PARTICIPANTS = re.compile(r"/(?:$|withdraw$|study/|api/(?!lab/))")
"""Addresses of participants. The cookie has no effect on all other addresses."""
ENDED = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The preview has ended</title></head>
<body><h1>The preview has ended</h1><p>This page was a preview of the study. Load this page again to open the real
study, or start another preview on the <a href="/researcher/">researchers' pages</a>.</p></body></html>
"""
ENDED_JSON = b'{"error":"The preview has ended. Fix: load the page again."}'
_EXTENSION = "equipoise_previews"
MakeApp = Callable[[Study, SqliteStore, str], Flask]


@dataclass(frozen=True)
class Preview:
    """An open preview."""

    app: Flask
    store: SqliteStore
    folder: tempfile.TemporaryDirectory[str]
    ends_at: float = field(default_factory=lambda: time.monotonic() + LONGEST_PREVIEW_S)

    def close(self) -> None:
        """Delete the preview and its store."""
        self.store.close()
        self.folder.cleanup()


class Previews:
    """The open previews of a server.

    Parameters
    ----------
    study
        The served study.
    make_app
        Makes an application from a study, a store and the words that mark the preview.
    """

    def __init__(self, study: Study, make_app: MakeApp) -> None:
        self._study = study
        self._make_app = make_app
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Preview] = OrderedDict()

    def begin(self, group: int, seed: int) -> str:
        """Begin a preview of a group with a seed; return the random name of the preview."""
        name = secrets.token_hex(16)
        folder = tempfile.TemporaryDirectory(prefix="equipoise-preview-", ignore_cleanup_errors=True)
        store = SqliteStore(Path(folder.name) / "preview.db")
        study = _without_recruitment(self._study)
        store.register_study(study)
        with store.filling() as db:
            # The seed of the next session is the number of sessions that have begun, plus one.
            db.execute(
                'UPDATE slots SET n_begun = ?, is_open = CASE WHEN "group" = ? THEN 1 ELSE 0 END', (seed - 1, group)
            )
        app = self._make_app(study, store, f"group {group}, seed {seed}")
        with self._lock:
            self._open[name] = Preview(app, store, folder)
            outdated = [one for one, found in self._open.items() if found.ends_at < time.monotonic()]
            outdated += list(self._open)[: max(0, len(self._open) - len(outdated) - MOST_PREVIEWS)]
        for one in outdated:
            self.end(one)
        return name

    def find(self, name: str) -> Flask | None:
        """Return the application of a preview; None if the preview has ended."""
        found = self._open.get(name)
        return found.app if found is not None and found.ends_at > time.monotonic() else None

    def end(self, name: str) -> None:
        """End a preview, and delete its responses; nothing happens if it has ended."""
        with self._lock:
            found = self._open.pop(name, None)
        if found is not None:
            found.close()

    def end_all(self) -> None:
        """End all previews, because the server stops."""
        for name in list(self._open):
            self.end(name)


class PreviewRouter:
    """A WSGI application that sends the requests of a browser with a preview to the preview's application.

    Parameters
    ----------
    app
        The application for all other requests.
    previews
        The open previews.
    """

    def __init__(self, app: "WSGIApplication", previews: Previews) -> None:
        self._app = app
        self._previews = previews

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        cookies = environ.get("HTTP_COOKIE", "")
        if COOKIE not in cookies or not _OF_PARTICIPANTS.match(environ["PATH_INFO"]):
            return self._app(environ, start_response)
        named = _COOKIE_VALUE.search(cookies)
        preview = self._previews.find(named[2]) if named else None
        if preview is not None:
            return preview(environ, start_response)
        # A proxy in front of the server may speak HTTPS, so the name of the cookie decides.
        prefix, secure = ("__Host-", "; Secure") if f"__Host-{COOKIE}" in cookies else ("", "")
        is_page = not environ["PATH_INFO"].startswith("/api/")
        headers = [
            ("Content-Type", "text/html; charset=utf-8" if is_page else "application/json"),
            ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
            ("Cache-Control", "no-store"),
            ("Set-Cookie", f"{prefix}{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{secure}"),
        ]
        start_response("410 Gone", headers)
        return [ENDED if is_page else ENDED_JSON]


def add_previews(app: Flask, study: Study, make_app: MakeApp) -> None:
    """Let researchers make previews of the application's study."""
    previews = app.extensions[_EXTENSION] = Previews(study, make_app)
    app.wsgi_app = PreviewRouter(app.wsgi_app, previews)  # type: ignore[method-assign]


def end_previews(app: Flask) -> None:
    """End all previews of an application."""
    app.extensions[_EXTENSION].end_all()


@preview_forms.post("/preview")
def begin() -> Response | tuple[str, int]:
    """Begin a preview of a group with a seed, and open the study as a participant."""
    refuse_other_sites()
    sign_in = require_role(Role.VIEWER)
    if context().settings.processes > 1:
        return _refused(sign_in, "A preview needs a server with one process. Fix: serve a copy of the study locally.")
    group, seed = (_number(read_field(name)) for name in ("group", "seed"))
    n_groups = context().study.definition.n_groups
    if group is None or not 1 <= group <= n_groups or seed is None or not 1 <= seed <= LARGEST_SEED:
        return _refused(
            sign_in,
            f"There is no such preview. Fix: choose a group from 1 to {n_groups}, and a seed from 1 to {LARGEST_SEED}.",
        )
    response = redirect("/", code=303)
    assert isinstance(response, Response)
    _send_cookie(response, _previews().begin(group, seed), LONGEST_PREVIEW_S)
    return response


@preview_forms.post("/preview/end")
def end() -> Response:
    """End the preview of this browser, and delete its responses."""
    refuse_other_sites()
    named = _COOKIE_VALUE.search(request.environ.get("HTTP_COOKIE", ""))
    if named:
        _previews().end(named[2])
    response = redirect("/researcher/", code=303)
    assert isinstance(response, Response)
    _send_cookie(response, "", 0)
    return response


@preview_forms.get("/preview.css")
def style() -> Response:
    """Return the style sheet of the mark of previews."""
    return Response(render_template("preview.css"), mimetype="text/css")


def _previews() -> Previews:
    found: Previews = current_app.extensions[_EXTENSION]
    return found


def _refused(sign_in: SignIn, problem: str) -> tuple[str, int]:
    return dashboard_page(sign_in, problem=problem), 409


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _send_cookie(response: Response, value: str, max_age_s: int) -> None:
    secure = is_https(request.environ)
    name = f"__Host-{COOKIE}" if secure else COOKIE
    response.set_cookie(name, value, max_age=max_age_s, path="/", httponly=True, samesite="Strict", secure=secure)


def _without_recruitment(study: Study) -> Study:
    """Return a study that everybody may begin once, without codes and links of the panel.

    The other name of the study gives its cookies other names, so that a preview does not end a session of the same
    browser. The plans are the same, because they do not depend on the name.
    """
    definition = study.definition.model_copy(
        update={
            "study": f"{study.name}-preview",
            "completion_code": "PREVIEW",
            "recruitment": Recruitment(quota=1, time_out_min=study.definition.recruitment.time_out_min),
        }
    )
    return dataclasses.replace(study, definition=definition, panel_ids=None)
