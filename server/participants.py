"""The participant's way through a study: consent, plan, answers, completion, withdrawal.

A session is known by a random token in a signed cookie; the store keeps only the token's digest. No answer key is in
anything that is sent, practice feedback apart, which comes after the answer.
"""

import hashlib
import secrets
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

from flask import Blueprint, Response, jsonify, render_template, request, send_from_directory
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
from server import entry
from server.attention import has_passed_checks
from server.context import context
from server.logs import logger
from server.metrics import figures
from server.store import Identity, Refusal, SessionPlan, SessionStart, StoredSession

participants = Blueprint("participants", __name__, template_folder="templates")

Model = TypeVar("Model", bound=BaseModel)

MAX_RESPONSES_AT_ONCE = 100

_markdown = MarkdownIt("commonmark", {"html": False})


class BadRequest(HTTPException):
    """A request whose body does not fit; the description says why."""

    code = 422


class NoSession(HTTPException):
    """A request without a session, or with a forged one."""

    code = 401
    text = "no_session"


class NoEntry(HTTPException):
    """A start by somebody of whom the study does not know who they are."""

    code = 403
    text = "no_entry"


class Start(BaseModel):
    """Body of `POST /api/session`."""

    model_config = ConfigDict(extra="forbid")

    start_id: str = Field(
        pattern=records.UUID_PATTERN, description="UUID made by the client; a retry with the same id is one session."
    )
    consent_digest: str = Field(description="Digest of the consent that was shown, as `GET /api/study` gives it.")
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(description="human or simulated.")


class Answers(BaseModel):
    """Body of `POST /api/responses`."""

    model_config = ConfigDict(extra="forbid")

    session: str = Field(description="The session that the answers belong to, as `GET /api/session` names it.")
    responses: tuple[records.Response, ...] = Field(
        min_length=1, max_length=MAX_RESPONSES_AT_ONCE, description="Answers to the next trials, in their order."
    )


class Nothing(BaseModel):
    """Body of a request that needs to say no more."""

    model_config = ConfigDict(extra="forbid")


@participants.get("/")
def page() -> str | Response:
    """The page that runs the study; what else the address says is taken out of it first."""
    return entry.exchange() if request.args else render_template("study.html", study=context().study)


@participants.get("/static/<path:name>")
def static(name: str) -> Response:
    """The web client's bundle."""
    response = send_from_directory(str(files("experiment.web") / "static"), name)
    response.headers["Cache-Control"] = "no-cache"  # ask each time, answered from the cache by ETag
    return response


@participants.get("/api/study")
def study_texts() -> Response:
    """What is shown before the session; nothing is stored."""
    study = context().study
    timeline = study.definition.timeline
    return jsonify(
        title=study.definition.title,
        language=study.definition.language,
        consent_html=_html(study.texts[timeline.consent]),
        consent_digest=_consent_digest(study),
        instructions_html=[_html(study.texts[name]) for name in timeline.instructions],
        fixation_ms=study.definition.timing.fixation_ms,
        notice=_why_closed(),
    )


@participants.post("/api/session")
def start() -> tuple[Response, int]:
    """Begin a session, after consent; somebody who has one gets that one."""
    body = _body(Start)
    study, store = context().study, context().store
    if body.consent_digest != _consent_digest(study):
        raise BadRequest(study.words.say("consent_changed"))
    under_way = _find_session()
    if under_way and under_way.session.status is Status.ACTIVE and under_way.plan.kind is body.kind:
        store.resume_session(study, under_way.plan.session)
        return _session_json(under_way), 200
    context().limits.count_start()
    token = secrets.token_urlsafe(32)
    stored = store.start_session(
        study,
        SessionStart(
            body.start_id, body.kind, Source.WEB, _digest(token), body.consent_digest, _required_identity(body.kind)
        ),
    )
    logger.info("session begun", extra={"session": stored.plan.session, "group": stored.session.group})
    response = _session_json(stored)
    entry.SESSION_COOKIE.send(response, token, _cookie_max_age_s())
    return response, 201


@participants.get("/api/session")
def session() -> Response:
    """The session's plan and how far it has come."""
    stored = _session()
    if stored.session.status is Status.ACTIVE:
        context().store.resume_session(context().study, stored.plan.session)
    return _session_json(stored)


@participants.post("/api/responses")
def respond() -> tuple[Response, int]:
    """Store answers, all or none; to a practice trial's, say what was right."""
    parts, token_digest = context(), _digest(_token())
    plan = parts.store.find_plan(token_digest)
    if plan is None:
        raise NoSession()
    parts.limits.count_request(plan.session)
    body = _body(Answers)
    if body.session != plan.session:
        _session()  # whoever is known no longer hears that first
        # A page that waited offline while another session began in the same browser.
        raise Refusal("other_session")
    for response in body.responses:
        _check_response(plan, response)
    is_new = parts.store.add_responses(plan.session, token_digest, body.responses)
    figures().stored.inc(sum(is_new))
    stored = [
        {"response_id": response.response_id, "feedback": _feedback(plan, response)} for response in body.responses
    ]
    return jsonify(responses=stored), 201 if any(is_new) else 200


@participants.post("/api/complete")
def complete() -> Response:
    """Close a session whose answers are all there, and give the completion code."""
    _body(Nothing)
    stored = _session()
    plan, store = stored.plan, context().store
    if stored.session.status is not Status.COMPLETED:
        store.complete_session(context().study, plan.session, has_passed_checks(plan, store.answers(plan.session)))
        logger.info("session completed", extra={"session": plan.session})
    return jsonify(_completion(plan))


@participants.post("/api/withdraw")
def withdraw() -> Response:
    """Delete the session's answers, as the participant asks."""
    _body(Nothing)
    plan = _session().plan
    context().store.withdraw_session(plan.session)
    logger.info("session withdrawn", extra={"session": plan.session})
    return jsonify({})


def _why_closed() -> str | None:
    """Return why nobody can begin here now, or None; somebody who has a session goes on with it."""
    study, store = context().study, context().store
    if study.definition.recruitment.entry != "open":
        who = entry.identity()
        if who is None:
            return study.words.say(NoEntry.text)
        if store.sessions_of(study, who.external_id):
            return None
    full = store.why_full(study)
    return study.words.say(full.text, **full.values) if full else None


def _required_identity(kind: Kind) -> Identity | None:
    if kind is Kind.SIMULATED or context().study.definition.recruitment.entry == "open":
        return None
    identity = entry.identity()
    if identity is None:
        raise NoEntry()
    return identity


def _cookie_max_age_s() -> int:
    return context().settings.session_days * 24 * 3600


def _token() -> str:
    token = entry.SESSION_COOKIE.read(_cookie_max_age_s())
    if token is None:
        raise NoSession()
    return token


def _find_session() -> StoredSession | None:
    try:
        return _session()
    except NoSession:
        return None


def _session() -> StoredSession:
    token = _token()
    stored = context().store.find_session(_digest(token))
    if stored is None:
        raise NoSession()
    context().limits.count_request(stored.plan.session)
    return stored


def _check_response(plan: SessionPlan, response: records.Response) -> None:
    if response.trial_index >= len(plan.trials):
        raise BadRequest(f"There is no trial {response.trial_index} in this session.")
    item = plan.trials[response.trial_index].item
    try:
        task_named(item.task).check_response(item.content, response.response)
    except InputError as error:
        raise BadRequest(f"Trial {response.trial_index}: {error}") from None


def _feedback(plan: SessionPlan, response: records.Response) -> dict[str, Any] | None:
    trial = plan.trials[response.trial_index]
    if trial.phase is not Phase.PRACTICE:
        return None
    feedback = task_named(trial.item.task).feedback(trial.item.content, trial.item.key, response.response)
    return {
        "correct": feedback.correct,
        "message": context().study.words.say(feedback.text, **feedback.values),
        "solution": feedback.solution,
    }


def _session_json(stored: StoredSession) -> Response:
    plan = stored.plan
    body: dict[str, Any] = {
        "session": plan.session,
        "kind": plan.kind,
        "status": stored.session.status,
        "fixation_ms": plan.definition.timing.fixation_ms,
        "next_trial_index": stored.n_answered,
        # Neither key, factors nor item id: a factor such as `outcome` may tell the answer.
        "trials": [
            {
                "trial_index": trial.trial_index,
                "phase": trial.phase,
                "task": trial.item.task,
                "content": trial.item.content,
            }
            for trial in plan.trials
        ],
    }
    if stored.session.status is Status.COMPLETED:
        body |= _completion(plan)
    return jsonify(body)


def _completion(plan: SessionPlan) -> dict[str, str]:
    return {"completion_code": plan.completion_code, "debrief_html": _html(plan.debrief)}


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


@lru_cache(maxsize=256)
def _html(markdown: str) -> str:
    rendered: str = _markdown.render(markdown)
    return rendered


def _consent_digest(study: Study) -> str:
    text = study.texts[study.definition.timeline.consent]
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
