"""Taking in a session that was taken elsewhere, as by a laboratory without a connection: as it is, and whole."""

from typing import Any

from experiment.records import Participant, Source
from experiment.study import Study
from server.store import assignment, identities, sessions
from server.store.beginning import begin, insert_participant
from server.store.database import Database
from server.store.log import lock_log
from server.store.times import now
from server.store.values import Adopted, Conflict, Place, Release, SessionStart


def adopt(db: Database, study: Study, start: SessionStart) -> bool:
    """Store a session that was taken elsewhere, or open it if it is here; return whether it is new.

    The person keeps the pseudonym that they have here, if any; else they bring theirs. See `Store.start_session`.
    """
    adopted = start.adopted
    assert adopted is not None
    log = lock_log(db, study.digest)
    known = identities.participant_of(db, study.name, start.identity) if start.identity else None
    participant = known or adopted.participant
    if _is_here(db, study, participant, start, adopted):
        sessions.hand_over(db, adopted.session, start)
        return False
    sessions.refuse_withdrawn(db, participant)
    if known is None:
        _bring(db, study, start, adopted)
    elif known != adopted.participant:
        _refuse_same_occasion(db, study, start, known)
    sessions.free_start_id(db, adopted.session, start)
    elsewhere = {} if participant == adopted.participant else {"participant_elsewhere": adopted.participant}
    place = assignment.adopt(log, start.kind, adopted, study.definition.recruitment, **elsewhere)
    who = Participant(participant=participant, kind=start.kind)
    begin(db, study, adopted.session, who, adopted.group, adopted.seed, start, start.visit)
    db.execute(
        "UPDATE sessions SET place = ?, release_reason = ?, seen_at = ? WHERE session = ?",
        (place.value, None if place is Place.RESERVED else Release.NO_ROOM.value, now(), adopted.session),
    )
    return True


def _is_here(db: Database, study: Study, participant: str, start: SessionStart, adopted: Adopted) -> bool:
    """Return whether the session is stored; refuse another session of the same name."""
    stored = db.execute(
        'SELECT study_digest, participant, kind, occasion, "group", seed, source, completion_code '
        "FROM sessions JOIN participants USING (participant) WHERE session = ?",
        (adopted.session,),
    ).fetchone()
    if stored is None:
        return False
    *content, own_code = stored
    brought: list[Any] = [
        study.digest,
        participant,
        start.kind.value,
        start.occasion,
        adopted.group,
        adopted.seed,
        Source.LAB.value,
    ]
    if content != brought or adopted.own_code not in {None, own_code}:
        raise Conflict(
            f"There is another session of the name {adopted.session} here; its study, participant, session number, "
            "group, seed or code is not that of the one you bring."
        )
    return True


def _refuse_same_occasion(db: Database, study: Study, start: SessionStart, participant: str) -> None:
    """Refuse a session that somebody of this code took elsewhere, and that somebody of this code has taken here too.

    Two laboratories that count their participants alike would make one participant of two people. A session here
    without an answer is not meant: the reply to its start was lost, and the laboratory went on by itself.
    """
    same = db.execute(
        "SELECT session FROM sessions JOIN studies USING (study_digest) "
        "WHERE study = ? AND participant = ? AND occasion = ? AND n_answered > 0",
        (study.name, participant, start.occasion),
    ).fetchone()
    if same and start.identity:
        raise Conflict(
            f"There is another session {start.occasion} of a participant {start.identity.external_id} here, {same[0]}; "
            "if that is somebody else, hand these on under codes of their own, with `lab send --prefix B-`."
        )


def _bring(db: Database, study: Study, start: SessionStart, adopted: Adopted) -> None:
    """Store somebody whom nobody here knows by the laboratory's code."""
    participant = adopted.participant
    there = db.execute("SELECT kind FROM participants WHERE participant = ?", (participant,)).fetchone()
    if there is None:
        insert_participant(db, study, participant, start)
        return
    has_code = db.execute("SELECT 1 FROM identities WHERE participant = ? LIMIT 1", (participant,)).fetchone()
    if has_code or there[0] != start.kind:
        raise Conflict(
            f"Whoever took session {adopted.session} is known here by another code, or as another kind of participant; "
            "bring it under the code that it was taken under."
        )
    if start.identity is not None:  # the code was deleted since
        identities.insert(db, study.name, start.identity, participant)
