"""The participant's way through a study: consent, plan, answers, completion, withdrawal.

No answer key is in anything that is sent, practice feedback apart, which comes after the answer.
"""

import secrets
from collections.abc import Sequence
from typing import Any, Literal

from flask import Blueprint, Response, jsonify
from pydantic import BaseModel, ConfigDict, Field
from werkzeug.exceptions import HTTPException

from batteries.errors import InputError
from batteries.tasks import task_named
from experiment import records
from experiment.plan import Phase
from experiment.records import Kind, Source, Status
from server import entry, practice, sent
from server.attention import has_passed_checks
from server.bodies import BadRequest, read_body
from server.context import context
from server.logs import logger
from server.metrics import figures
from server.store import (
    NOTHING_PASSED_OVER,
    Identity,
    Refusal,
    Release,
    SessionPlan,
    SessionStart,
    StoredSession,
    Visit,
)

participants = Blueprint("participants", __name__)

MAX_RESPONSES_AT_ONCE = 100


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
    consent_digest: str | None = Field(
        description="Digest of the consent that was shown, as `GET /api/study` gives it."
    )
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(description="human or simulated.")
    device: records.FoundDevice | None = Field(default=None, description="What the session is taken on.")


class Opening(BaseModel):
    """Body of `POST /api/visit`."""

    model_config = ConfigDict(extra="forbid")

    visit_id: str = Field(
        pattern=records.UUID_PATTERN, description="UUID made by the client; a retry with the same id is one visit."
    )
    device: records.FoundDevice | None = Field(default=None, description="What the session is opened on.")


class AboutPerson(BaseModel):
    """Body of `POST /api/demographics`."""

    model_config = ConfigDict(extra="forbid")

    session: str = Field(description="The session that the answers belong to.")
    answers: dict[str, str | int | None] = Field(
        max_length=30, description="Answers by the questions' names; null for one left out."
    )


class Answers(BaseModel):
    """Body of `POST /api/responses`."""

    model_config = ConfigDict(extra="forbid")

    session: str = Field(description="The session that the answers belong to, as `GET /api/session` names it.")
    responses: tuple[records.Response, ...] = Field(
        min_length=1, max_length=MAX_RESPONSES_AT_ONCE, description="Answers to the next trials, in their order."
    )


class Completion(BaseModel):
    """Body of `POST /api/complete`."""

    model_config = ConfigDict(extra="forbid")

    completed_at: records.Moment | None = Field(
        default=None, description="When the last answer was in, of a session in the laboratory; else not given."
    )


class Nothing(BaseModel):
    """Body of a request that needs to say no more."""

    model_config = ConfigDict(extra="forbid")


@participants.get("/api/study")
def study_texts() -> Response:
    """What is shown before the session; nothing is stored."""
    return jsonify(sent.study_json(context().study, _why_closed()))


@participants.post("/api/session")
def start() -> tuple[Response, int]:
    """Begin a session, after consent; somebody who has one gets that one."""
    body = read_body(Start)
    study, store = context().study, context().store
    if body.consent_digest != sent.consent_digest(study):
        raise BadRequest(study.words.say("consent_changed"))
    under_way = _find_session()
    if under_way and under_way.session.status is Status.ACTIVE and under_way.plan.kind is body.kind:
        opened = store.open_session(study, entry.token_digest(), Visit(body.start_id, body.device))
        return jsonify(sent.session_json(opened)), 200
    context().limits.count_start()
    token = secrets.token_urlsafe(32)
    stored = store.start_session(
        study,
        SessionStart(
            body.start_id,
            body.kind,
            Source.WEB,
            entry.digest_of_token(token),
            body.consent_digest,
            _required_identity(body.kind),
            body.device,
        ),
    )
    logger.info("session begun", extra={"session": stored.plan.session, "group": stored.session.group})
    response = jsonify(sent.session_json(stored))
    entry.send_token(response, token)
    return response, 201


@participants.get("/api/session")
def session() -> Response:
    """The session's plan and how far it has come."""
    stored = _session()
    if stored.session.status is Status.ACTIVE and stored.ended_for is None:
        context().store.resume_session(context().study, stored.plan.session)
    return jsonify(sent.session_json(stored))


@participants.post("/api/visit")
def visit() -> Response:
    """Note that the session was opened again, and say how it goes on by the study's rules."""
    before = _session()
    body = read_body(Opening)
    stored = context().store.open_session(context().study, entry.token_digest(), Visit(body.visit_id, body.device))
    if stored.plan.session != before.plan.session:
        logger.info("session begun again", extra={"session": stored.plan.session, "group": stored.session.group})
    return jsonify(sent.session_json(stored))


@participants.post("/api/demographics")
def demographics() -> Response:
    """Store what somebody says about themselves, once."""
    plan = _session().plan
    body = read_body(AboutPerson)
    if body.session != plan.session:
        raise Refusal("other_session")
    questions = {question.name: question for question in context().study.demographics}
    for name, answer in body.answers.items():
        if name not in questions:
            raise BadRequest(f"There is no question `{name}` about the person.")
        try:
            questions[name].check(answer)
        except InputError as error:
            raise BadRequest(str(error)) from None
    context().store.add_demographics(plan.session, body.answers)
    return jsonify({})


@participants.post("/api/responses")
def respond() -> tuple[Response, int]:
    """Store answers, all or none; to a practice trial's, say what was right."""
    parts, token_digest = context(), entry.token_digest()
    plan = parts.store.find_plan(token_digest)
    if plan is None:
        raise entry.NoSession()
    parts.limits.count_request(plan.session)
    body = read_body(Answers)
    if body.session != plan.session:
        plan = _session().plan  # whoever is known no longer hears that first; somebody may have begun again
    if body.session != plan.session:
        # A page that waited offline while another session began in the same browser.
        raise Refusal("other_session")
    for response in body.responses:
        _check_response(plan, response)
    passed_over = _passed_over(plan, body.responses)
    is_new = parts.store.add_responses(plan.session, token_digest, body.responses, passed_over)
    figures().stored.inc(sum(is_new))
    stored = [
        {"response_id": response.response_id, "feedback": _feedback(plan, response)} for response in body.responses
    ]
    return jsonify(responses=stored), 201 if any(is_new) else 200


@participants.post("/api/complete")
def complete() -> Response:
    """Close a session whose answers are all there, and give the completion code."""
    body = read_body(Completion)
    stored = _session()
    plan, store = stored.plan, context().store
    answers = store.answers(plan.session)
    if stored.session.status is not Status.COMPLETED:
        passed_checks = has_passed_checks(plan, answers)
        store.complete_session(context().study, plan.session, passed_checks, body.completed_at)
        logger.info("session completed", extra={"session": plan.session})
    return jsonify(sent.completion_json(plan, answers))


@participants.post("/api/withdraw")
def withdraw() -> Response:
    """Delete the session's answers, as the participant asks."""
    read_body(Nothing)
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
        if store.sessions_of(study, who.source, who.external_id):
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


def _find_session() -> StoredSession | None:
    try:
        return _session()
    except entry.NoSession:
        return None


def _session() -> StoredSession:
    stored = context().store.find_session(entry.token_digest())
    if stored is None:
        raise entry.NoSession()
    context().limits.count_request(stored.plan.session)
    return stored


def _check_response(plan: SessionPlan, response: records.Response) -> None:
    if response.trial_index >= len(plan.trials):
        raise BadRequest(f"There is no trial {response.trial_index} in this session.")
    trial = plan.trials[response.trial_index]
    try:
        if response.missing is not None:
            _check_missing(plan, trial.phase, response)
        else:
            task_named(trial.item.task).check_response(trial.item.content, response.response)
    except InputError as error:
        raise BadRequest(f"Trial {response.trial_index}: {error}") from None


def _check_missing(plan: SessionPlan, phase: Phase, response: records.Response) -> None:
    timing, resume = plan.definition.timing, plan.definition.resume
    may_be = {"deadline": timing.deadline_ms is not None, "interrupted": resume.interrupted_trial == "skip"}
    if response.response is not None or phase is Phase.PRACTICE or not may_be[response.missing or ""]:
        raise InputError(f"an answer cannot be missing here as `{response.missing}`.")


def _passed_over(plan: SessionPlan, responses: Sequence[records.Response]) -> range:
    """Return the rounds of practice that these answers may pass over; refuse what the practice does not lead to."""
    n_practice = practice.n_planned(plan)
    first_question = next((response for response in responses if response.trial_index == n_practice), None)
    if plan.definition.practice_criterion is None or first_question is None:
        return NOTHING_PASSED_OVER
    answers = context().store.answers(plan.session) | {r.trial_index: r.response for r in responses}
    all_there = all(index in answers for index in range(n_practice))
    judged = practice.judged_so_far(plan, answers, n_practice) if all_there else None
    if judged and judged.has_ended:
        raise Refusal("session_over")
    return practice.passed_over(plan, answers)


def _feedback(plan: SessionPlan, response: records.Response) -> dict[str, Any] | None:
    trial = plan.trials[response.trial_index]
    if trial.phase is not Phase.PRACTICE:
        return None
    feedback = task_named(trial.item.task).feedback(trial.item.content, trial.item.key, response.response)
    said = {
        "correct": feedback.correct,
        "message": context().study.words.say(feedback.text, **feedback.values),
        "solution": feedback.solution,
    }
    if practice.ends_round(plan, response.trial_index):
        judged = practice.judge(plan, context().store.answers(plan.session), response.trial_index)
        if judged.has_ended and _session().ended_for is None:
            context().store.release_place(plan.session, Release.PRACTICE)
        said["practice"] = sent.practice_json(plan, judged)
    return said
