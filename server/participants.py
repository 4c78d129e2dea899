"""The participant's way through a study: consent, plan, answers, completion, withdrawal.

A session is known by a random token in a cookie; the store keeps only the token's digest. No answer key is in
anything that is sent, practice feedback apart, which comes after the answer.
"""

import hashlib
import secrets
from dataclasses import asdict
from importlib.resources import files
from typing import Any, Literal, TypeVar

from flask import Blueprint, Response, current_app, jsonify, render_template, request, send_from_directory
from markdown_it import MarkdownIt
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from werkzeug.exceptions import HTTPException

from batteries.errors import InputError
from batteries.reading import describe
from batteries.tasks import task_named
from experiment import records
from experiment.plan import Phase
from experiment.records import Kind, Source, Status
from experiment.study import Study
from server.cookies import set_cookie
from server.store import Conflict, SessionStart, Store, StoredSession

participants = Blueprint("participants", __name__, template_folder="templates")

Model = TypeVar("Model", bound=BaseModel)

COOKIE_MAX_AGE_S = 7 * 24 * 3600

_markdown = MarkdownIt("commonmark", {"html": False})


class BadRequest(HTTPException):
    """A request whose body does not fit; the description says why."""

    code = 422


class NoSession(HTTPException):
    """A request without a session, or with a forged one."""

    code = 401
    description = "There is no session here; open the study's link to begin."


class Start(BaseModel):
    """Body of `POST /api/session`."""

    model_config = ConfigDict(extra="forbid")

    start_id: str = Field(
        pattern=records.UUID_PATTERN, description="UUID made by the client; a retry with the same id is one session."
    )
    consent_digest: str = Field(description="Digest of the consent that was shown, as `GET /api/study` gives it.")
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(description="human or simulated.")


class Answer(records.Response):
    """Body of `POST /api/responses`."""

    session: str = Field(description="The session that the answer belongs to, as `GET /api/session` names it.")


@participants.get("/")
def page() -> str:
    """The page that runs the study."""
    return render_template("study.html", study=_study().definition)


@participants.get("/static/<path:name>")
def static(name: str) -> Response:
    """The web client's bundle."""
    response = send_from_directory(str(files("experiment.web") / "static"), name)
    response.headers["Cache-Control"] = "no-cache"  # ask each time, answered from the cache by ETag
    return response


@participants.get("/api/study")
def study_texts() -> Response:
    """What is shown before the session; nothing is stored."""
    study = _study()
    timeline = study.definition.timeline
    return jsonify(
        title=study.definition.title,
        language=study.definition.language,
        consent_html=_html(study.texts[timeline.consent]),
        consent_digest=_consent_digest(study),
        instructions_html=[_html(study.texts[name]) for name in timeline.instructions],
        fixation_ms=study.definition.timing.fixation_ms,
    )


@participants.post("/api/session")
def start() -> tuple[Response, int]:
    """Begin a session, after consent; a browser that has one under way gets that one."""
    body = _body(Start)
    study = _study()
    if body.consent_digest != _consent_digest(study):
        raise BadRequest("The consent was given to another text than today's; please reload the page and read it.")
    under_way = _find_session()
    if under_way and under_way.session.status is Status.ACTIVE and under_way.session.participant.kind is body.kind:
        return _session_json(under_way), 200
    token = secrets.token_urlsafe(32)
    stored = _store().start_session(
        study, SessionStart(body.start_id, body.kind, Source.WEB, _token_digest(token), body.consent_digest)
    )
    response = _session_json(stored)
    set_cookie(response, _cookie_name(), token, max_age_s=COOKIE_MAX_AGE_S, samesite="Lax")
    return response, 201


@participants.get("/api/session")
def session() -> Response:
    """The session's plan and how far it has come."""
    return _session_json(_session())


@participants.post("/api/responses")
def respond() -> tuple[Response, int]:
    """Store one answer; after a practice trial, say what was right."""
    stored = _session()
    body = _body(Answer)
    if body.session != stored.session.session:
        # A page that waited offline while another session began in the same browser.
        raise Conflict("This answer belongs to another session than this browser's.")
    if body.trial_index >= len(stored.trials):
        raise BadRequest(f"There is no trial {body.trial_index} in this session.")
    trial = stored.trials[body.trial_index]
    task = task_named(trial.item.task)
    try:
        task.check_response(trial.item.content, body.response)
    except InputError as error:
        raise BadRequest(f"Trial {body.trial_index}: {error}") from None
    is_new = _store().add_response(stored.session.session, body)
    feedback = None
    if trial.phase is Phase.PRACTICE:
        feedback = asdict(task.feedback(trial.item.content, trial.item.key, body.response))
    return jsonify(response_id=body.response_id, feedback=feedback), 201 if is_new else 200


@participants.post("/api/complete")
def complete() -> Response:
    """Close a session whose answers are all there, and give the completion code."""
    _require_json()
    stored = _session()
    _store().complete_session(stored.session.session)
    return jsonify(_completion(stored))


@participants.post("/api/withdraw")
def withdraw() -> Response:
    """Delete the session's answers, as the participant asks."""
    _require_json()
    _store().withdraw_session(_session().session.session)
    return jsonify({})


def _study() -> Study:
    study: Study = current_app.extensions["equipoise"]["study"]
    return study


def _store() -> Store:
    store: Store = current_app.extensions["equipoise"]["store"]
    return store


def _cookie_name() -> str:
    # Cookies do not tell ports apart: two studies on one machine need names of their own.
    return f"equipoise_session_{_study().name}"


def _find_session() -> StoredSession | None:
    token = request.cookies.get(_cookie_name())
    return _store().find_session(_token_digest(token)) if token else None


def _session() -> StoredSession:
    stored = _find_session()
    if stored is None:
        raise NoSession()
    return stored


def _session_json(stored: StoredSession) -> Response:
    body: dict[str, Any] = {
        "session": stored.session.session,
        "kind": stored.session.participant.kind,
        "status": stored.session.status,
        "fixation_ms": stored.fixation_ms,
        "next_trial_index": stored.n_answered,
        # Neither key, factors nor item id: a factor such as `outcome` may tell the answer.
        "trials": [
            {
                "trial_index": trial.trial_index,
                "phase": trial.phase,
                "task": trial.item.task,
                "content": trial.item.content,
            }
            for trial in stored.trials
        ],
    }
    if stored.session.status is Status.COMPLETED:
        body |= _completion(stored)
    return jsonify(body)


def _completion(stored: StoredSession) -> dict[str, str]:
    return {"completion_code": stored.completion_code, "debrief_html": _html(stored.debrief)}


def _body(model: type[Model]) -> Model:
    _require_json()
    try:
        return model.model_validate_json(request.get_data(), strict=True)
    except ValidationError as error:
        raise BadRequest(describe(error, model)) from None


def _require_json() -> None:
    # A form on another site can post to us with the participant's cookie, but not with this content type.
    if request.mimetype != "application/json":
        raise BadRequest("The request must be application/json.")


def _html(markdown: str) -> str:
    rendered: str = _markdown.render(markdown)
    return rendered


def _consent_digest(study: Study) -> str:
    text = study.texts[study.definition.timeline.consent]
    return hashlib.sha256(text.encode()).hexdigest()


def _token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
