"""The researcher's decisions about a study under way: revisions of its wording, exclusions of sessions by name."""

from collections.abc import Callable
from dataclasses import dataclass

from batteries.errors import InputError
from equipoise.commands.store_access import SessionSelector, StudyFolder, loaded, sessions_named, store_of
from experiment.study.definition import Study
from server.store import Conflict, SlotState, Store
from server.store.models import Revision, SessionFound

LONGEST_REASON = 500


@dataclass(frozen=True)
class Decided:
    """The sessions of a decision."""

    sessions: tuple[str, ...]
    """Their names, sorted."""
    has_slot: tuple[bool, ...] = ()
    """For sessions that were included again: True if the session has its slot again."""


def revise(study: StudyFolder, reason: str, store: str | None = None) -> Revision:
    """Accept a change of wording in a version of a study that has sessions.

    Parameters
    ----------
    study
        The study as it is now.
    reason
        Reason, in a sentence for the log and the report.
    store
        Its store; by default the store in the settings.

    Raises
    ------
    InputError
        If this version has no sessions, nothing changed, or more than the wording changed.
    """
    study, reason = loaded(study), checked_reason(reason)
    with store_of(study, store, must_exist=True) as opened:
        return opened.revise_study(study, reason)


def exclude(
    study: StudyFolder, named: SessionSelector, reason: str, *, undo: bool = False, store: str | None = None
) -> Decided:
    """Exclude a session, or all sessions of a participant, from the analysis; responses stay, slots are released.

    With `undo`, include excluded sessions again.

    Raises
    ------
    InputError
        If the session does not exist, or is excluded or withdrawn; with `undo`, if it is not excluded.
    """
    study, reason = loaded(study), checked_reason(reason)

    def leave_out(opened: Store, sessions: list[str]) -> Decided:
        opened.exclude_sessions(sessions, reason)
        return Decided(tuple(sessions))

    def take_back(opened: Store, sessions: list[str]) -> Decided:
        slots = opened.include_sessions(study, sessions, reason)
        return Decided(tuple(sessions), tuple(slot is not SlotState.RELEASED for slot in slots))

    return _decide(study, named, store, is_excluded=undo, job=take_back if undo else leave_out)


def _decide(
    study: Study,
    named: SessionSelector,
    location: str | None,
    *,
    is_excluded: bool,
    job: Callable[[Store, list[str]], Decided],
) -> Decided:
    with store_of(study, location, must_exist=True) as store:
        candidates = sessions_named(store, study, named)
        # If none can be changed, the error of the last one says why: it is withdrawn, or was decided before.
        found = [one for one in candidates if _is_open(one, is_excluded)] or candidates[-1:]
        try:
            return job(store, sorted(one.session for one in found))
        except Conflict as conflict:
            raise InputError(f"nothing was changed: {conflict}") from None


def _is_open(session: SessionFound, is_excluded: bool) -> bool:
    return (session.excluded_reason is not None) == is_excluded and (is_excluded or session.status != "withdrawn")


def checked_reason(reason: str) -> str:
    """Return a reason that can be stored in the log and printed in a report.

    Raises
    ------
    InputError
        If it is empty, too long, or contains unprintable characters.
    """
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise InputError(
            "--reason: it is empty, too long or not on one line. Fix: write one sentence of at most "
            f"{LONGEST_REASON} characters that identifies no person, since the log and the report print it."
        )
    return reason
