"""`equipoise assignment`: list the slots of each group, close and open groups, release a slot, write the log."""

import json
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.store_access import (
    BY_COMMAND,
    SessionSelector,
    StoreAddress,
    StudyFolder,
    find_session,
    loaded,
    store_of,
    store_to_read,
    warn_of_changes,
    write_private_csv,
)
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Conflict, Release
from server.store.models import SessionFound


def assignment_show(study: StudyFolder, store: StoreAddress | None = None) -> list[tuple[str, ...]]:
    """Return the number of slots in each state, for each counterbalance group.

    Parameters
    ----------
    study
        The study or its folder.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    list of tuple of str
        Rows of a table: the header, one row for each group, and the sums.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened:
        groups = [group for group in opened.progress(study) if group.kind is Kind.HUMAN]
    counts = [
        (group.n_completed, group.n_under_way, group.n_lapsed, group.n_replaced, group.n_withdrawn) for group in groups
    ]
    heading = ("group", "completed", "under way", "lapsed", "replaced", "withdrawn", "")
    rows = [
        (str(group.group), *map(str, row), "" if group.is_open else "closed")
        for group, row in zip(groups, counts, strict=True)
    ]
    return [heading, *rows, ("all", *(str(sum(column)) for column in zip(*counts, strict=True)), "")]


def assignment_open(study: StudyFolder, group: int, store: StoreAddress | None = None) -> None:
    """Open a closed counterbalance group for new participants.

    Parameters
    ----------
    study
        The study or its folder.
    group
        Number of the group, from 1.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Raises
    ------
    InputError
        If the group does not exist.
    """
    _set_open(loaded(study), group, True, store)


def assignment_close(study: StudyFolder, group: int, store: StoreAddress | None = None) -> None:
    """Close a counterbalance group for new participants; sessions that have begun continue.

    Parameters
    ----------
    study
        The study or its folder.
    group
        Number of the group, from 1.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Raises
    ------
    InputError
        If the group does not exist.
    """
    _set_open(loaded(study), group, False, store)


def assignment_extend(study: StudyFolder, group: int, slots: int, store: StoreAddress | None = None) -> None:
    """Add slots to the quota of a counterbalance group, and to the quota of the whole study.

    Parameters
    ----------
    study
        The study or its folder.
    group
        Number of the group, from 1.
    slots
        Number of slots to add.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the study has no quota, the group does not exist, or the number is not positive.
    """
    study = loaded(study)
    with store_of(study, store) as opened:
        warn_of_changes(study, opened)
        try:
            opened.extend_quota(study, group, slots, BY_COMMAND)
        except Conflict as conflict:
            raise InputError(f"nothing was changed: {conflict}") from None


def _set_open(study: Study, group: int, is_open: bool, location: StoreAddress | None) -> None:
    with store_of(study, location) as store:
        warn_of_changes(study, store)
        try:
            store.open_group(study, group, is_open, BY_COMMAND)
        except Conflict:
            n_groups = study.definition.n_groups
            raise InputError(
                f"--group {group}: this group does not exist. Fix: name a group from 1 to {n_groups}."
            ) from None


def assignment_release(
    study: StudyFolder,
    reason: str,
    *,
    session: str | None = None,
    panel_id: str | None = None,
    participant: str | None = None,
    store: StoreAddress | None = None,
) -> SessionFound:
    """Release the slot of a session, so that another participant can take the slot.

    Parameters
    ----------
    study
        The study or its folder.
    reason
        `return`, the only reason: the participant returned the submission at the panel.
    session, panel_id, participant
        Exactly one of these: the session's name in the store, the participant's panel id, or the laboratory's code for
        the participant. An id or a code selects the participant's latest session.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    SessionFound
        The session whose slot was released.

    Raises
    ------
    InputError
        If the session does not exist, if its slot was released before, or if the reason is not `return`.
    """
    study = loaded(study)
    if reason == Release.EXCLUSION:
        raise InputError(
            "--reason exclusion: the slot would be released, but the responses would stay in the analysis. Fix: use "
            f'`equipoise exclude {study.folder} ... --reason "..."`, which also excludes the session from the analysis.'
        )
    if reason != Release.RETURN:
        raise InputError(f"--reason {reason}: unknown reason. Fix: write `return`.")
    with store_of(study, store, must_exist=True) as opened:
        found = find_session(opened, study, SessionSelector(session, panel_id, participant))
        if not opened.release_slot(found.session, Release.RETURN, BY_COMMAND):
            raise InputError(
                f"the slot of session {found.session} was released before, so nothing was changed. Fix: none is needed."
            )
    return found


def assignment_log(study: StudyFolder, output: Path | str, store: StoreAddress | None = None) -> int:
    """Write the log of a study to a CSV file: decisions about slots, and researchers' sign-ins, exports and changes.

    Parameters
    ----------
    study
        The study or its folder.
    output
        File to write, .csv. Only the owner of the file can read it.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    int
        Number of entries.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened:
        events = opened.events(study)
    rows = [(event.event_index, event.at, event.event, event.session, json.dumps(event.details)) for event in events]
    write_private_csv(output, ("event_index", "at", "event", "session", "details"), rows)
    return len(rows)
