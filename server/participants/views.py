"""The requests of participants' browsers: consent, plan, responses, completion, withdrawal.

No reply contains an answer key, except the feedback after the response to a practice trial.
"""

import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TypeVar

from flask import Blueprint, Response, jsonify, request
from pydantic import JsonValue
from werkzeug.exceptions import TooManyRequests

from batteries.errors import InputError
from batteries.stimulus.shown import with_paths
from batteries.tasks import task_named
from batteries.tasks.rating import check_point
from experiment.participant_api import (
    ActionReply,
    ActionRequest,
    CompletionRequest,
    DemographicsRequest,
    EmptyRequest,
    ResponsesReply,
    ResponsesRequest,
    StartRequest,
    StoredResponseReply,
    VisitRequest,
)
from experiment.plan import Phase
from experiment.records import Kind, Presentation, Source, Status
from experiment.records import Response as TrialResponse
from experiment.study.definition import consent_digest
from experiment.study.timeline import Confidence, deadline_ms_of
from server.context import context
from server.logs import logger
from server.metrics import figures
from server.participants import interactive_trials, participant_auth, participant_json, practice_criterion
from server.participants.attention_checks import has_passed_checks
from server.participants.practice_feedback import feedback
from server.request_body import BadRequest, read_body
from server.researchers.signed_in import require_token
from server.security.rate_limits import address_key
from server.store import (
    NOTHING_PASSED_OVER,
    BegunElsewhere,
    Conflict,
    Identity,
    Refusal,
    SessionPlan,
    SessionStart,
    StoredSession,
    StoredTrial,
    StudyFull,
    Visit,
)

participants = Blueprint("participants", __name__)
OfSession = TypeVar("OfSession", ActionRequest, ResponsesRequest)


@participants.get("/api/study")
def study_texts() -> Response:
    """Return the data that the page shows before the session. Store nothing."""
    digest = participant_auth.find_token_digest()
    plan = context().store.find_plan(digest) if digest else None
    kind = plan.kind if plan else Kind.HUMAN
    returns_cookies = participant_auth.returns_cookies()
    return jsonify(
        participant_json.study_json(context().study, _why_closed(), returns_cookies, kind, _has_begun_before())
    )


@participants.post("/api/session")
def start() -> tuple[Response, int]:
    """Begin a session after consent. If the participant has a session already, return this session."""
    participant_auth.refuse_browser_without_cookies()
    body = read_body(StartRequest)
    study, store = context().study, context().store
    if body.kind is Kind.SIMULATED:
        require_token()
    elif study.lab_only_item:
        raise Refusal("lab_only")
    if body.consent_digest != consent_digest(study.definition, study.texts, Source.WEB):
        raise BadRequest(study.words.say("consent_changed"))
    under_way = _find_session()
    if under_way and under_way.session.status is Status.ACTIVE and under_way.plan.kind is body.kind:
        return jsonify(participant_json.session_json(_open(under_way, Visit(body.start_id, body.device)))), 200
    context().limits.count_start()
    token = secrets.token_urlsafe(32)
    identity = _required_identity(body.kind)
    is_repeated = store.session_of_start(body.start_id) is not None  # A signature is a proof only once.
    if body.resume_only and not is_repeated and (identity is None or not store.may_resume(study, identity)):
        raise Refusal("no_session")  # Without a consent, no session may begin.
    begun = SessionStart(
        body.start_id,
        body.kind,
        Source.WEB,
        participant_auth.digest_of_token(token),
        body.consent_digest,
        identity,
        body.device,
        group=participant_auth.wanted_group() if identity else None,
        held_digest=participant_auth.find_token_digest(),
    )
    stored = _begin(begun) if body.kind is Kind.HUMAN else store.start_session(study, begun)
    practice_criterion.release_if_failed(store, stored)
    logger.info("session begun", extra={"session": stored.plan.session, "group": stored.session.group})
    response = jsonify(participant_json.session_json(stored))
    participant_auth.send_token(response, token)
    return response, 201


@participants.get("/api/session")
def session() -> Response:
    """Return the session's plan and progress. Store nothing."""
    return jsonify(participant_json.session_json(_session()))


@participants.post("/api/visit")
def visit() -> Response:
    """Record that the session was opened again, apply the study's rules for resuming, and return the session."""
    before = _session()
    body = read_body(VisitRequest)
    return jsonify(participant_json.session_json(_open(before, Visit(body.visit_id, body.device))))


@participants.post("/api/demographics")
def demographics() -> Response:
    """Store the answers to the questions about the participant.

    If the session has answers already, they stay unchanged.
    """
    plan = _session().plan
    body = read_body(DemographicsRequest)
    if body.session != plan.session:
        raise Refusal("other_session")
    questions = {question.name: question for question in context().study.demographics}
    for name, answer in body.answers.items():
        if name not in questions:
            raise BadRequest(
                f"`demographics` contains the name `{name}`, but no question of this study about participants has this "
                "name. Fix: send only the names of this study's questions."
            )
        try:
            questions[name].check(answer)
        except InputError as error:
            raise BadRequest(str(error)) from None
    context().store.add_demographics(plan.session, body.answers)
    return jsonify({})


@participants.post("/api/responses")
def respond() -> tuple[Response, int]:
    """Store all responses of the request, or refuse all. Return the feedback on practice trials."""
    parts = context()
    plan, token_digest, body = _request_of_session(ResponsesRequest)
    responses = [_checked_response(plan, response) for response in body.responses]
    passed_over = _passed_over(plan, {response.trial_index: response.response for response in responses})
    is_new = parts.store.add_responses(plan.session, token_digest, responses, passed_over)
    if parts.preview is None:
        figures().stored.inc(sum(is_new))
    if any(practice_criterion.ends_round(plan, response.trial_index) for response in responses):
        now = parts.store.find_session(token_digest)
        if now is not None:
            practice_criterion.release_if_failed(parts.store, now)
    stored: list[StoredResponseReply] = [
        {"response_id": response.response_id, "feedback": feedback(plan, response)} for response in responses
    ]
    reply: ResponsesReply = {"responses": stored}
    return jsonify(reply), 201 if any(is_new) else 200


@participants.post("/api/action")
def act() -> tuple[Response, int]:
    """Store an action in a trial of an interactive task, and return its observation."""
    plan, token_digest, body = _request_of_session(ActionRequest)
    action = body.action
    passed_over = _passed_over(plan, {action.trial_index: None})
    observation, is_over = interactive_trials.observe(plan, action)
    is_new = context().store.add_action(plan.session, token_digest, action, observation, passed_over)
    reply: ActionReply = {"observation": observation, "is_over": is_over}
    return jsonify(reply), 201 if is_new else 200


@participants.post("/api/complete")
def complete() -> Response:
    """Close a session whose responses are complete, and return the completion code."""
    body = read_body(CompletionRequest)
    stored = _session()
    plan, store = stored.plan, context().store
    n_missing = len(plan.trials) - stored.n_answered
    if stored.session.status is Status.ACTIVE and stored.ended_for is None and n_missing > 0:
        # This comes before the responses are read. A response stored in between would escape the attention checks.
        raise Refusal("answers_missing", number=n_missing)
    responses = store.responses(plan.session)
    if stored.session.status is not Status.COMPLETED:
        passed_checks = has_passed_checks(plan, responses)
        store.complete_session(context().study, plan.session, passed_checks, body.completed_at)
        logger.info("session completed", extra={"session": plan.session})
    return jsonify(participant_json.completion_json(plan, responses))


@participants.post("/api/withdraw")
def withdraw() -> Response:
    """Delete the session's responses at the participant's request."""
    read_body(EmptyRequest)
    plan = _session().plan
    context().store.withdraw_session(plan.session)
    logger.info("session withdrawn", extra={"session": plan.session})
    return jsonify({})


def _why_closed() -> str | None:
    """Return the reason why this participant cannot begin now, or None.

    If the study is full, a participant may still resume a session, but must prove that it is theirs.
    """
    study, store = context().study, context().store
    if study.lab_only_item:
        return study.words.say("lab_only")
    is_open = study.definition.recruitment.entry == "open"
    who = None if is_open else participant_auth.identity()
    if who is None and not is_open:
        return study.words.say(participant_auth.no_entry().text)
    full = store.why_full(study)
    if full is None or (who is not None and _proves_a_session(who)):
        return None
    return study.words.say(full.text, **full.values)


def _has_begun_before() -> bool:
    """Return True if this participant proves that a session of another browser is theirs.

    Withdrawn sessions do not count. Before the consent, a client without a proof must not learn whether the study
    knows an id. So the result is then False, for known and for unknown ids. The number of unproven ids is limited, so
    that a client cannot try many submission ids.
    """
    study, store = context().study, context().store
    who = None if study.definition.recruitment.entry == "open" else participant_auth.identity()
    if who is None or (who.is_claim and not context().limits.may_look_up_claim()):
        return False
    if not store.may_resume(study, who):
        return False
    found = store.sessions_of(study, who.id_kind, who.external_id)
    return any(one.status != Status.WITHDRAWN for one in found)


def _proves_a_session(who: Identity) -> bool:
    """Return True if the participant has a session and proves that the session is theirs.

    Without a proof, the result is False, even if the store knows the participant's panel id. The number of requests
    without a proof is limited. Otherwise a client could try many submission ids (a proof) until the server accepts one
    of them.
    """
    limits = context().limits
    try:
        if who.is_claim:
            limits.refuse_more_claims()
        is_proven = context().store.may_resume(context().study, who)
        if who.is_claim and not is_proven:
            limits.count_unproven_claim()
    except TooManyRequests:
        return False
    return is_proven


def _required_identity(kind: Kind) -> Identity | None:
    if kind is Kind.SIMULATED or context().study.definition.recruitment.entry == "open":
        return None
    return participant_auth.required_identity()


def _begin(start: SessionStart) -> StoredSession:
    """Begin or resume a participant's session. Refuse the start if the client's network address has reached a limit."""
    study, store, limits, slots = context().study, context().store, context().limits, context().slots_per_address
    address = address_key(request.remote_addr)
    is_claim = start.identity is not None and start.identity.is_claim
    if is_claim:
        limits.refuse_more_claims()
    may_resume = start.identity is not None and store.may_resume(study, start.identity)
    with nullcontext() if may_resume else slots.one_more(address, start.start_id):
        try:
            stored = _start_in_group(start)
        except BegunElsewhere:
            limits.count_unproven_claim()
            raise
        except StudyFull:
            if is_claim and not may_resume:  # This refusal reveals that the id is unknown.
                limits.count_unproven_claim()
            raise
        if stored.n_visits == 1:  # The session is new, or the study's rules have begun it again.
            slots.add(address, stored.plan.session)
    return stored


def _start_in_group(start: SessionStart) -> StoredSession:
    """Begin or resume a session. If the group of the participant's link is full, the study is full."""
    try:
        return context().store.start_session(context().study, start)
    except Refusal:
        raise
    except Conflict:  # Its message is for a researcher who chooses a group in the laboratory.
        if start.group is None:
            raise
        raise StudyFull("study_full") from None


def _open(before: StoredSession, visit: Visit) -> StoredSession:
    """Open a session again. If the study's rules replace it by a new session, count this as a start."""
    store, limits = context().store, context().limits
    if before.plan.definition.resume.otherwise == "restart":
        limits.refuse_more_starts()
    stored = store.open_session(context().study, participant_auth.token_digest(), visit)
    practice_criterion.release_if_failed(store, stored)
    if stored.plan.session != before.plan.session:
        limits.count_start()
        if stored.plan.kind is Kind.HUMAN:
            context().slots_per_address.add(address_key(request.remote_addr), stored.plan.session)
        logger.info("session begun again", extra={"session": stored.plan.session, "group": stored.session.group})
    return stored


def _find_session() -> StoredSession | None:
    try:
        return _session()
    except participant_auth.NoSession:
        return None


def _session() -> StoredSession:
    stored = context().store.find_session(participant_auth.token_digest())
    if stored is None:
        raise participant_auth.NoSession()
    context().limits.count_request(stored.plan.session)
    return stored


def _request_of_session(model: type[OfSession]) -> tuple[SessionPlan, str, OfSession]:
    """Read a request that belongs to a session. Return the session's plan, the digest of its token, and the body."""
    token_digest = participant_auth.token_digest()
    plan = context().store.find_plan(token_digest)
    if plan is None:
        raise participant_auth.NoSession()
    context().limits.count_request(plan.session)
    body = read_body(model)
    if body.session != plan.session:
        plan = _session().plan  # The cached plan may be that of an earlier session of the same participant.
    if body.session != plan.session:
        # The page was offline while another session began in the same browser.
        raise Refusal("other_session")
    return plan, token_digest, body


def _checked_response(plan: SessionPlan, response: TrialResponse) -> TrialResponse:
    """Check a response, and return it with the paths of files in place of their addresses."""
    trial = interactive_trials.trial_of(plan, response.trial_index)
    try:
        response = interactive_trials.with_moves(plan, response)
        if response.missing is not None:
            _check_missing(plan, trial, response)
        else:
            task_named(trial.item.task).check_response(trial.item.content, response.response)
        if response.confidence is not None:
            _check_confidence(plan.definition.confidence, response)
    except InputError as error:
        raise BadRequest(f"Trial {response.trial_index}: {error}") from None
    return response.model_copy(
        update={
            "response": with_paths(trial.item.content, response.response),
            "presentation": _with_mapping(plan, response.presentation),
        }
    )


def _with_mapping(plan: SessionPlan, presentation: Presentation | None) -> Presentation | None:
    """Return the presentation with the session's mapping of response keys, or with None for a study with one mapping.

    A mapping that the browser has sent is not used.
    """
    has_several = plan.definition.response_keys.mappings > 1
    mapping = plan.definition.response_mapping(plan.group) if has_several else None
    if presentation is None and mapping is None:
        return None
    return (presentation or Presentation()).model_copy(update={"response_mapping": mapping})


def _check_confidence(scale: Confidence | None, response: TrialResponse) -> None:
    if scale is None or response.missing is not None:
        raise InputError("`confidence` was not asked in this trial. Fix: send no `confidence`.")
    check_point(scale.low, scale.high, scale.step, response.confidence)


def _check_missing(plan: SessionPlan, trial: StoredTrial, response: TrialResponse) -> None:
    timing, resume = plan.definition.timing, plan.definition.resume
    is_question = trial.phase is not Phase.PRACTICE
    may_be = {
        "deadline": deadline_ms_of(timing, not is_question, trial.item.content) is not None,
        "interrupted": is_question and resume.interrupted_trial == "skip",
        "too_large": trial.item.task == "jspsych",  # The responses of the other tasks are short.
    }
    if response.response is not None or not may_be[response.missing or ""]:
        raise InputError(f"`missing` must not be `{response.missing}` in this trial. Fix: send a response.")


def _passed_over(plan: SessionPlan, new: Mapping[int, JsonValue]) -> range:
    """Return the practice trials that new responses may skip. Refuse test trials if the practice was not passed.

    The keys of `new` are the indices of the trials. An action has the index of its trial, and no response.
    """
    n_practice = practice_criterion.n_planned(plan)
    if plan.definition.practice_criterion is None or n_practice not in new:
        return NOTHING_PASSED_OVER
    known = context().store.responses(plan.session) | dict(new)
    all_there = all(index in known for index in range(n_practice))
    judged = practice_criterion.judged_so_far(plan, known, n_practice) if all_there else None
    if judged and judged.has_ended:
        raise Refusal("session_over")
    passed = practice_criterion.passed_over(plan, known)
    if not all_there and not passed:
        raise Refusal("answer_missing")
    return passed
