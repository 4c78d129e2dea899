"""The HTTP API for laboratories. The laboratory's program sends the researcher's token.

After the start, the program uses the same addresses as a web session (`server.participants.views`). The reply to the
start contains a cookie, which the program sends with each later request. The server stores the laboratory code of a
participant only in the table of identities. For a rehearsal (`simulated`), the server stores no code. So a rehearsal
can be opened again only with its `start_id`. Error messages are in English, because the experimenter reads them.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from flask import Blueprint, Response, jsonify, request
from pydantic import ValidationError
from werkzeug.exceptions import NotFound

from batteries.files.file_reading import describe
from experiment.lab_api import LabFields, LabStart, SessionQuery, SlotQuery, SlotReply
from experiment.records import Kind, Source, Status
from experiment.study.definition import consent_digest
from server.context import context
from server.logs import logger
from server.participants import participant_auth, participant_json, practice_criterion
from server.request_body import BadRequest, read_body
from server.researchers.signed_in import require_token
from server.store import LAB, Conflict, Identity, Refusal, SessionStart, StoredSession

laboratory = Blueprint("laboratory", __name__)

_FULL = (
    "no free slot for participant {participant}: all slots are reserved or confirmed. Fix: raise the quota in "
    "study.yaml, or release a slot with `equipoise assignment release`."
)
SENTENCES = {
    "cannot_begin_again": "participant {participant} has withdrawn. The server has deleted the responses, and the "
    "participant cannot begin this study again. Fix: if this is another person, use another code.",
    "slot_given_away": "participant {participant} no longer has a slot: the slot was released after the time-out or "
    "with `equipoise assignment release`. The server keeps the responses so far. Fix: raise the quota in study.yaml, "
    "or release the slot of a participant who will not return (`equipoise assignment release`). Then run the same "
    "command again.",
    "study_full": _FULL,
    "slots_taken": _FULL,
    "start_of_another": "the program sent a start id (`start_id`) that belongs to a session of another participant, "
    "not of participant {participant}. Fix: run the same command again.",
    "opened_at_once": "another program opened the session of participant {participant} at the same moment. Fix: close "
    "the other program, and run the same command again.",
}
"""Sentences for the experimenter if the server refuses a start. Each key is also the key of the text for participants
on the web.
"""

Query = TypeVar("Query", bound=SessionQuery)


@laboratory.get("/api/lab/session")
def find() -> Response:
    """Return the participant's session with the requested session number, without opening the session."""
    require_token()
    query = _read_query(SessionQuery)
    stored = context().store.session_on(context().study, _identity(query), query.session_number)
    if stored is None:
        raise NotFound
    return jsonify(_session_json(stored, query))


@laboratory.get("/api/lab/slot")
def check_slot() -> Response:
    """Return the group of a session that may begin or be resumed. Refuse a participant who may not do that."""
    require_token()
    query = _read_query(SlotQuery)
    with _refusals_for_experimenter(query):
        group = context().store.require_slot(context().study, _identity(query), query.session_number, query.group)
    return jsonify(SlotReply(study_digest=context().study.digest, group=group).model_dump())


@laboratory.post("/api/lab/session")
def start() -> tuple[Response, int]:
    """Begin a session, resume the session with the requested number, or store an uploaded session."""
    require_token()
    body = read_body(LabStart)
    study, store = context().study, context().store
    shown = study.definition, study.texts
    if body.study_digest != study.digest and body.uploaded:
        shown = store.content(study, body.study_digest) or shown  # The store refuses an unknown digest.
    elif body.study_digest != study.digest:
        raise Conflict(
            f"the laboratory's study differs from the server's study (version {study.definition.version} of "
            f"`{study.name}`, digest {study.digest[:12]}...). Fix: use the same study folder on both machines."
        )
    if body.consent_digest != consent_digest(*shown, Source.LAB):
        raise BadRequest(
            "`consent_digest` is not the digest of the study's consent text for the laboratory. Fix: show the study's "
            "consent text for the laboratory, and send the digest of this text."
        )
    token = secrets.token_urlsafe(32)
    begun = SessionStart(
        body.start_id,
        body.kind,
        Source.LAB,
        participant_auth.digest_of_token(token),
        body.consent_digest,
        _identity(body) if body.kind is Kind.HUMAN else None,
        body.device,
        body.session_number,
        body.group,
        body.uploaded,
        body.study_digest,
    )
    with _refusals_for_experimenter(body):
        stored = store.start_session(study, begun)
    practice_criterion.release_if_failed(store, stored)
    what = ("session uploaded" if body.uploaded else "session begun") if stored.is_new else "session resumed"
    logger.info(what, extra={"session": stored.plan.session, "group": stored.session.group})
    response = jsonify(_session_json(stored, body))
    participant_auth.send_token(response, token)
    return response, 201 if stored.is_new else 200


def _read_query(form: type[Query]) -> Query:
    try:
        return form.model_validate_strings(request.args.to_dict())
    except ValidationError as error:
        raise BadRequest(describe(error, form)) from None


def _identity(query: SessionQuery) -> Identity:
    return Identity(LAB, query.participant)


@contextmanager
def _refusals_for_experimenter(query: SessionQuery) -> Iterator[None]:
    """Replace the participant's sentence in a refusal by a sentence for the experimenter."""
    try:
        yield
    except Refusal as refusal:
        sentence = SENTENCES.get(refusal.text, "Participant {participant}: {refusal}")
        raise Conflict(sentence.format(participant=query.participant, refusal=refusal)) from None


def _session_json(stored: StoredSession, query: SessionQuery) -> dict[str, Any]:
    session, store = stored.session, context().store
    known = store.sessions_of(context().study, LAB, query.participant) if stored.plan.kind is Kind.HUMAN else []
    others = [one for one in known if one.session != session.session and one.status != Status.WITHDRAWN]
    fields = LabFields(
        group=session.group,
        seed=session.seed,
        participant=session.participant.participant,
        started_at=session.started_at,
        withdrawal_code=participant_json.withdrawal_code(stored.plan),
        n_answers=sum(response is not None for response in store.responses(session.session).values()),
        n_other_sessions=sum(one.participant == session.participant.participant for one in others),
    )
    reply = participant_json.session_json(stored)
    return {**reply, **fields.model_dump(), "started_at": session.started_at.isoformat()}
