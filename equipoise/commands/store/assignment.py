"""`equipoise assignment`: the slots of each group, closing and opening groups, releasing slots, the log."""

import json
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.store_access import (
    SessionSelector,
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


def assignment_show(study: StudyFolder, store: str | None = None) -> list[tuple[str, ...]]:
    """Return the slots by group, as rows of text with a header and a sum."""
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


def assignment_open(study: StudyFolder, group: int, store: str | None = None) -> None:
    """Open a closed counterbalance group for new participants."""
    _set_open(loaded(study), group, True, store)


def assignment_close(study: StudyFolder, group: int, store: str | None = None) -> None:
    """Close a counterbalance group for new participants; sessions that have begun continue."""
    _set_open(loaded(study), group, False, store)


def _set_open(study: Study, group: int, is_open: bool, location: str | None) -> None:
    with store_of(study, location) as store:
        warn_of_changes(study, store)
        try:
            store.open_group(study, group, is_open)
        except Conflict:
            n_groups = study.definition.design.groups
            raise InputError(
                f"--group {group}: this group does not exist. Fix: name one from 1 to {n_groups}."
            ) from None


def assignment_release(
    study: StudyFolder, reason: Release, named: SessionSelector, store: str | None = None
) -> SessionFound:
    """Release the slot of a session, so that another participant is recruited.

    Raises
    ------
    InputError
        If the session does not exist, its slot was released before, or the reason is an exclusion.
    """
    study = loaded(study)
    if reason is Release.EXCLUSION:
        raise InputError(
            "--reason exclusion: this would release the slot and leave the responses in the analysis. Fix: "
            f'`equipoise exclude {study.folder} ... --reason "..."`, which does both.'
        )
    with store_of(study, store, must_exist=True) as opened:
        found = find_session(opened, study, named)
        if not opened.release_slot(found.session, reason):
            raise InputError(
                f"the slot of session {found.session} was released before, so nothing was changed. Fix: none is needed."
            )
    return found


def assignment_log(study: StudyFolder, path: Path, store: str | None = None) -> int:
    """Write the log of decisions about slots as CSV; return the number of entries."""
    study = loaded(study)
    with store_to_read(study, store) as opened:
        events = opened.events(study)
    rows = [(event.event_index, event.at, event.event, event.session, json.dumps(event.details)) for event in events]
    write_private_csv(path, ("event_index", "at", "event", "session", "details"), rows)
    return len(rows)
