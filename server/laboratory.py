"""Sessions in the laboratory: begun by the experimenter's program, which shows the researcher's token.

What follows is the participant's way as on the web (`server.participants.views`), with the cookie that comes with the
start.
The laboratory's own code of a participant is kept among the identities and nowhere else. A rehearsal (`simulated`) is
nobody's: its code is not kept, and only the same `start_id` leads to it again. What is refused here is told to the
experimenter, whose program speaks English.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self, TypeVar

from flask import Blueprint, Response, jsonify, request
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from werkzeug.exceptions import NotFound

from batteries.files.file_reading import describe
from experiment import records
from experiment.records import Kind, Source
from server.context import context
from server.logs import logger
from server.participants import participant_auth, participant_json, practice
from server.request_body import BadRequest, read_body
from server.researchers.progress_page import require_token
from server.store import Adopted, Conflict, Identity, Refusal, SessionStart, StoredSession

laboratory = Blueprint("laboratory", __name__)

SOURCE = "lab"
"""Of the identities of people in the laboratory."""
LONGEST_CODE = 64
MOST_OCCASIONS = 10_000
LARGEST_SEED = 2**31 - 1


_FULL = (
    "The study has no place for {participant}: all are taken or under way; raise the quota in study.yaml, or release a "
    "place with `equipoise assignment release`."
)
SENTENCES = {
    "cannot_begin_again": "Participant {participant} has withdrawn from this study, and all their answers were "
    "deleted; they cannot begin it again. If this is somebody else, give another code.",
    "place_given_away": "The place of participant {participant} is no longer theirs: somebody else has it since the "
    "time-out, or it was released with `equipoise assignment release`; the answers so far are kept. After a time-out, "
    "raise the quota in study.yaml, or release the place of somebody who does not come back with `equipoise assignment "
    "release`, and run the same command again.",
    "study_full": _FULL,
    "places_taken": _FULL,
    "start_of_another": "This start has begun the session of another participant than {participant}; run the same "
    "command again.",
    "opened_at_once": "The session of participant {participant} was opened by another program at this moment; close "
    "one, and run the same command again.",
}
"""What the experimenter is told where a participant would hear the text of this name."""

Asked = TypeVar("Asked", bound=BaseModel)


class Who(BaseModel):
    """Who comes to the laboratory, and which time it is."""

    model_config = ConfigDict(extra="forbid")

    participant: str = Field(
        min_length=1,
        max_length=LONGEST_CODE,
        description="The laboratory's own code of the participant, such as `P01`.",
    )
    occasion: int = Field(
        default=1, ge=1, le=MOST_OCCASIONS, description="Which of the participant's sessions it is, from 1."
    )

    @field_validator("participant")
    @classmethod
    def _is_plain(cls, code: str) -> str:
        if not code.isprintable() or code != code.strip():
            raise ValueError(
                "a code has only characters that can be printed, and no space before or after it; mend it."
            )
        return code

    @property
    def identity(self) -> Identity:
        """Return whom the laboratory means."""
        return Identity(SOURCE, self.participant)


class Arrival(Who):
    """Who comes, which time it is, and for which group."""

    group: int | None = Field(default=None, description="The group that is wanted; null for the one whose turn it is.")


class Adopt(BaseModel):
    """What a session is that was taken elsewhere."""

    model_config = ConfigDict(extra="forbid")

    session: str = Field(pattern=r"^[0-9a-f]{16}$", description="Its name.")
    participant: str = Field(pattern=r"^p-[0-9a-f]{12}$", description="Pseudonym that the participant had there.")
    group: int = Field(description="Its counterbalance group.")
    seed: int = Field(ge=0, le=LARGEST_SEED, description="Seed of its plan.")
    started_at: records.Moment = Field(description="When it began.")
    own_code: str | None = Field(
        default=None,
        pattern=r"^[0-9A-F]{10}$",
        description="The code by which the participant was told that they can have the answers deleted; "
        "null if they were told none.",
    )
    is_withdrawn: bool = Field(
        default=False, description="Whether it was withdrawn there, and is brought to be withdrawn here too."
    )


class LabStart(Arrival):
    """Body of `POST /api/lab/session`."""

    start_id: str = Field(
        pattern=records.UUID_PATTERN, description="UUID made by the client; a retry with the same id is one session."
    )
    study_digest: str = Field(
        description="Digest of the study in the laboratory; must be that of the one served, or of an adopted session's "
        "revision of it."
    )
    consent_digest: str | None = Field(description="Digest of the consent that was shown; null where there is none.")
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(
        default=Kind.HUMAN, description="human, or simulated to rehearse."
    )
    device: records.LabDevice | None = Field(default=None, description="What the session is taken on.")
    adopt: Adopt | None = Field(default=None, description="What the session is, if it was taken elsewhere.")

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.adopt is not None and self.group not in {None, self.adopt.group}:
            raise ValueError("`group` and `adopt.group` differ; write the same, or leave `group` out.")
        return self


@laboratory.get("/api/lab/session")
def find() -> Response:
    """The session that somebody has begun on an occasion; it is not opened."""
    require_token()
    who = _read_query(Who)
    stored = context().store.session_on(context().study, who.identity, who.occasion)
    if stored is None:
        raise NotFound
    return jsonify(participant_json.session_json(stored) | _for_the_laboratory(stored))


@laboratory.get("/api/lab/place")
def place() -> Response:
    """Whether somebody may begin or go on, said before they sit down and not at the start; nothing is stored."""
    require_token()
    who = _read_query(Arrival)
    with _told_to_the_experimenter(who):
        context().store.require_place(context().study, who.identity, who.occasion, who.group)
    return jsonify({})


@laboratory.post("/api/lab/session")
def start() -> tuple[Response, int]:
    """Begin a session, go on with the one of this occasion, or take in one that was taken elsewhere."""
    require_token()
    body = read_body(LabStart)
    study, store = context().study, context().store
    shown = study.definition, study.texts
    if body.study_digest != study.digest and body.adopt:
        shown = store.content(study, body.study_digest) or shown  # the store refuses what it does not know
    elif body.study_digest != study.digest:
        served = f"version {study.definition.version} of `{study.name}`"
        raise Conflict(
            f"The study in the laboratory is not the one that is served: {served} with the digest "
            f"{study.digest[:12]}...; take the same folder in both places."
        )
    if body.consent_digest != participant_json.consent_digest_of(*shown):
        raise BadRequest("The consent was given to another text than the study's; show the study's own consent.")
    token = secrets.token_urlsafe(32)
    begun = SessionStart(
        body.start_id,
        body.kind,
        Source.LAB,
        participant_auth.digest_of_token(token),
        body.consent_digest,
        body.identity if body.kind is Kind.HUMAN else None,
        body.device,
        body.occasion,
        body.group,
        Adopted(**body.adopt.model_dump(), content_digest=body.study_digest) if body.adopt else None,
    )
    with _told_to_the_experimenter(body):
        stored = store.start_session(study, begun)
    practice.release_if_failed(store, stored)
    what = ("session adopted" if body.adopt else "session begun") if stored.is_new else "session gone on with"
    logger.info(what, extra={"session": stored.plan.session, "group": stored.session.group})
    response = jsonify(participant_json.session_json(stored) | _for_the_laboratory(stored))
    participant_auth.send_token(response, token)
    return response, 201 if stored.is_new else 200


def _read_query(form: type[Asked]) -> Asked:
    try:
        return form.model_validate_strings(request.args.to_dict())
    except ValidationError as error:
        raise BadRequest(describe(error, form)) from None


@contextmanager
def _told_to_the_experimenter(who: Who) -> Iterator[None]:
    """Say what is refused to the experimenter and not to the participant, in whose words the store says it."""
    try:
        yield
    except Refusal as refusal:
        sentence = SENTENCES.get(refusal.text)
        told = sentence.format(participant=who.participant) if sentence else f"Participant {who.participant}: {refusal}"
        raise Conflict(told) from None


def _for_the_laboratory(stored: StoredSession) -> dict[str, Any]:
    """Return what a laboratory must know of a session to make its plan, and to bring it elsewhere."""
    session = stored.session
    return {
        "group": session.group,
        "seed": session.seed,
        "participant": session.participant.participant,
        "started_at": session.started_at.isoformat(),
        "own_code": stored.plan.own_code,
    }
