"""`equipoise revise` and `equipoise exclude`: change the wording of a study that has sessions; exclude sessions."""

from collections.abc import Callable
from dataclasses import dataclass

from batteries.errors import InputError
from equipoise.commands.store_access import (
    BY_COMMAND,
    SessionSelector,
    StoreAddress,
    StudyFolder,
    loaded,
    sessions_named,
    store_of,
)
from experiment.study.definition import Study
from experiment.study.reasons import checked_reason
from server.store import Conflict, SlotState, Store
from server.store.models import Revision, SessionFound


@dataclass(frozen=True)
class Decided:
    """The sessions that the researcher excluded, or included again."""

    sessions: tuple[str, ...]
    """Names of the sessions, sorted."""
    has_slot: tuple[bool, ...] = ()
    """One value for each session that was included again: True if the session got a slot again."""


def revise(study: StudyFolder, reason: str, store: StoreAddress | None = None) -> Revision:
    """Accept new wording in a study that has sessions. The version of the study stays the same.

    Parameters
    ----------
    study
        The study or its folder, with the new wording.
    reason
        Reason, in one sentence for the log and the report.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Revision
        The number of the revision, and the fields and items that changed.

    Raises
    ------
    InputError
        If this version has no sessions, if nothing changed, or if anything other than the wording changed.
    """
    study, reason = loaded(study), checked_reason(reason)
    with store_of(study, store, must_exist=True) as opened:
        return opened.revise_study(study, reason)


def exclude(
    study: StudyFolder,
    reason: str,
    *,
    session: str | None = None,
    panel_id: str | None = None,
    participant: str | None = None,
    undo: bool = False,
    store: StoreAddress | None = None,
) -> Decided:
    """Exclude a session, or all sessions of a participant, from the analysis.

    The responses stay in the store, and the slots are released.

    Parameters
    ----------
    study
        The study or its folder.
    reason
        Reason, in one sentence for the log and the report; it must not identify a person.
    session
        Name of one session in the store.
    panel_id, participant
        Instead of `session`: the panel id or the laboratory's code of a participant, to select all their sessions.
    undo
        True to include excluded sessions in the analysis again.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Decided
        The sessions. With `undo`, also which of these sessions got a slot again.

    Raises
    ------
    InputError
        If the session does not exist, is withdrawn, or is already excluded. With `undo`, if the session is not
        excluded.
    """
    study, reason = loaded(study), checked_reason(reason)

    def exclude_all(opened: Store, sessions: list[str]) -> Decided:
        opened.exclude_sessions(sessions, reason, BY_COMMAND)
        return Decided(tuple(sessions))

    def include_again(opened: Store, sessions: list[str]) -> Decided:
        slots = opened.include_sessions(study, sessions, reason, BY_COMMAND)
        return Decided(tuple(sessions), tuple(slot is not SlotState.RELEASED for slot in slots))

    named = SessionSelector(session, panel_id, participant)
    return _decide(study, named, store, is_excluded=undo, job=include_again if undo else exclude_all)


def _decide(
    study: Study,
    named: SessionSelector,
    location: StoreAddress | None,
    *,
    is_excluded: bool,
    job: Callable[[Store, list[str]], Decided],
) -> Decided:
    with store_of(study, location, must_exist=True) as store:
        candidates = sessions_named(store, study, named)
        # If no session can be changed, the error for the last session gives the reason.
        found = [one for one in candidates if _is_open(one, is_excluded)] or candidates[-1:]
        try:
            return job(store, sorted(one.session for one in found))
        except Conflict as conflict:
            raise InputError(f"nothing was changed: {conflict}") from None


def _is_open(session: SessionFound, is_excluded: bool) -> bool:
    return (session.excluded_reason is not None) == is_excluded and (is_excluded or session.status != "withdrawn")
