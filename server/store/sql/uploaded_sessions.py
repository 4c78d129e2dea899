"""Storage of uploaded sessions.

An uploaded session was run with another store, for instance in a laboratory without a connection to the server. Two
laboratories may use the same laboratory code for two people. But session names, pseudonyms and withdrawal codes are
random. So the store recognizes an uploaded session by these three, even if its laboratory code has changed. Before the
store adds a session, it checks whether a different participant has the same laboratory code.
"""

import json
from typing import Any

from experiment.lab_api import UploadedSession
from experiment.records import Participant, Source, Status
from experiment.study.definition import Study
from server.store.database import Database, now
from server.store.errors import Conflict
from server.store.models import Release, SessionStart, SlotState
from server.store.sql import assignment, identities, resuming, sessions, studies
from server.store.sql.assignment_log import lock_log
from server.store.sql.session_rows import begin, insert_participant
from server.store.sql.studies import Registered

OTHER_CONTENT = (
    "the session began with texts or items that this server does not know. Fix: serve the study folder of the "
    "laboratory; if only the wording of the study changed, run `equipoise revise` on both machines."
)
UNDER_OTHER_CODES = "upload the sessions of that laboratory under other codes, with `equipoise lab upload --prefix B-`."


def add_uploaded(db: Database, study: Study, start: SessionStart) -> bool:
    """Store an uploaded session. Return True if the session is new, and False if it is stored already.

    If the store knows the laboratory code, the participant keeps the pseudonym that belongs to the code in this store.
    Otherwise the participant gets the uploaded pseudonym. See `Store.start_session`.
    """
    uploaded = start.uploaded
    assert uploaded is not None
    registered = studies.find(db, start.content_digest or study.digest)
    if registered is None or registered.study_digest != studies.served(db, study).study_digest:
        raise Conflict(f"{uploaded.session}: {OTHER_CONTENT}")
    log = lock_log(db, registered.study_digest)
    known = identities.participant_of(db, study.name, start.identity) if start.identity else None
    if _is_here(db, registered, known, start, uploaded):
        resuming.give_to_client(db, uploaded.session, start)
        return False
    if known != uploaded.participant:
        _refuse_other_code(db, known, start, uploaded)
    if known not in {None, uploaded.participant}:
        _refuse_another_person(db, study, known, start, uploaded)
    participant = known or uploaded.participant
    if not uploaded.is_withdrawn:
        sessions.refuse_withdrawn(db, participant)
    if known is None:
        _bring(db, study, start, uploaded)
    resuming.free_start_id(db, uploaded.session, start)
    elsewhere = {} if participant == uploaded.participant else {"participant_elsewhere": uploaded.participant}
    slot = assignment.add_uploaded(log, start.kind, uploaded, study.definition.recruitment, **elsewhere)
    who = Participant(participant=participant, kind=start.kind)
    begin(db, study, registered, uploaded.session, who, uploaded.group, uploaded.seed, start, start.visit)
    db.execute(
        "UPDATE sessions SET slot = ?, release_reason = ?, seen_at = ? WHERE session = ?",
        (slot.value, None if slot is SlotState.RESERVED else Release.NO_ROOM.value, now(), uploaded.session),
    )
    return True


def _is_here(
    db: Database, registered: Registered, known: str | None, start: SessionStart, uploaded: UploadedSession
) -> bool:
    """Return True if the session is stored, even under another code.

    Raise an error if a different session has the same name. `known` is the pseudonym of the participant who has the
    code in this store.
    """
    stored = db.execute(
        'SELECT study_digest, kind, session_number, "group", seed, source, participant, withdrawal_code '
        "FROM sessions JOIN participants USING (participant) WHERE session = ?",
        (uploaded.session,),
    ).fetchone()
    if stored is None:
        return False
    *content, participant, withdrawal_code = stored
    brought: list[Any] = [
        registered.study_digest,
        start.kind.value,
        start.session_number,
        uploaded.group,
        uploaded.seed,
        Source.LAB.value,
    ]
    pseudonyms = {participant, _participant_elsewhere(db, uploaded.session)}
    is_theirs = not pseudonyms.isdisjoint({uploaded.participant, known} - {None})
    if content != brought or not is_theirs or uploaded.withdrawal_code not in {None, withdrawal_code}:
        raise Conflict(
            f"This server has a different session with the name {uploaded.session}: the study, participant, session "
            "number, group, seed or withdrawal code differs from the uploaded session. Fix: upload the session from "
            "the store in which the session was run."
        )
    return True


def _participant_elsewhere(db: Database, session: str) -> str | None:
    """Return the pseudonym that was uploaded with a session, if this store uses another pseudonym; otherwise None."""
    # Before `m010` the event was called `adopted`.
    found = db.execute(
        "SELECT details FROM events WHERE session = ? AND event IN ('uploaded', 'adopted') "
        "AND study_digest = (SELECT study_digest FROM sessions WHERE session = ?)",
        (session, session),
    ).fetchone()
    return json.loads(found[0]).get("participant_elsewhere") if found else None


def _refuse_other_code(db: Database, known: str | None, start: SessionStart, uploaded: UploadedSession) -> None:
    """Raise an error if the participant of a session has another code, or is of another kind, in this store."""
    there = db.execute(
        "SELECT kind, external_id FROM participants LEFT JOIN identities USING (participant) WHERE participant = ?",
        (uploaded.participant,),
    ).fetchone()
    if there is None:
        return
    kind, code = there
    who = f"The participant of session {uploaded.session}"
    if kind != start.kind:
        raise Conflict(
            f"{who} is stored on this server as another kind of participant ({kind}). Fix: upload the session as "
            f"{kind}."
        )
    if code is None and known is None:  # The code was deleted after an earlier upload.
        return
    brought = _code(start)
    if code is None:
        raise Conflict(
            f"The laboratory code of the participant of session {uploaded.session} was deleted on this server. The "
            f"code {brought} belongs to another person on this server. Fix: {UNDER_OTHER_CODES}"
        )
    prefix = code.removesuffix(brought)
    how = f"under the code {code}" if prefix == code else f"with `equipoise lab upload --prefix {prefix}`"
    raise Conflict(
        f"{who} has the code {code} on this server, not {brought}. Fix: upload the session {how}, as before."
    )


def _refuse_another_person(
    db: Database, study: Study, known: str, start: SessionStart, uploaded: UploadedSession
) -> None:
    """Raise an error if the code of an uploaded session seems to belong to a different person in this store.

    In two cases, the code seems to belong to a different person. The participant with the code has a session with the
    same number in this store, or has withdrawn in one of the two stores. Without the error, two people with the same
    code would become one participant. A withdrawal of one of them would then delete the responses of the other.

    Two kinds of stored sessions are ignored. The first is a session without a response, because the laboratory may
    have continued it without the server. The second is an earlier session of the same uploaded participant.
    """
    there = db.execute(
        "SELECT session, status, session_number, n_answered FROM sessions JOIN studies USING (study_digest) "
        "WHERE study = ? AND participant = ? ORDER BY session",
        (study.name, known),
    ).fetchall()
    others = [one for one in there if _participant_elsewhere(db, one[0]) != uploaded.participant]
    code = _code(start)
    if_other = f"if this is another person, {UNDER_OTHER_CODES}"
    if uploaded.is_withdrawn:
        if len(others) < len(there) or any(status == Status.WITHDRAWN for _, status, *_ in there):
            return
        raise Conflict(
            f"In session {uploaded.session} of a laboratory, participant {code} withdrew. This server also has a "
            f"participant {code}. Fix: if this is the same person, delete their responses on this "
            f"server with `equipoise withdraw STUDY --participant {code}`; {if_other}"
        )
    for session, status, session_number, n_answered in others:
        if status == Status.WITHDRAWN:
            raise Conflict(
                f"A participant {code} has withdrawn on this server, and their responses were deleted. Fix: {if_other}"
            )
        if session_number == start.session_number and n_answered > 0:
            raise Conflict(
                f"This server already has another session with the number {session_number} of participant {code}: "
                f"{session}. "
                f"Fix: {if_other}"
            )


def _code(start: SessionStart) -> str:
    return start.identity.external_id if start.identity else ""


def _bring(db: Database, study: Study, start: SessionStart, uploaded: UploadedSession) -> None:
    """Store the participant of an uploaded session whose laboratory code is unknown in this store."""
    is_here = db.execute("SELECT 1 FROM participants WHERE participant = ?", (uploaded.participant,)).fetchone()
    if not is_here:
        insert_participant(db, study, uploaded.participant, start)
    elif start.identity is not None:  # The code was deleted after an earlier upload.
        identities.insert(db, study.name, start.identity, uploaded.participant)
