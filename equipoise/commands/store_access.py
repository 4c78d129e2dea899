"""Access to a study's folder and its store, for all commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.locations import store_location, without_password
from server.settings import read_settings
from server.store import Access, Store, StoreUnavailable
from server.store.models import SessionFound
from server.store.open import opened_store

StudyFolder = Study | Path | str
"""A study, or its folder."""


def loaded(study: StudyFolder) -> Study:
    """Return a study, loaded from its folder if necessary."""
    return study if isinstance(study, Study) else load_study(Path(study))


@dataclass(frozen=True)
class SessionSelector:
    """Name of a session; exactly one of these fields."""

    session: str | None = None
    """Its name in the store."""
    panel_id: str | None = None
    """The participant's panel id, or a personal link's token."""
    participant: str | None = None
    """The laboratory's own code for the participant."""


@contextmanager
def store_of(study: Study, location: str | None = None, must_exist: bool = False) -> Iterator[Store]:
    """Open the store of a study's responses.

    Parameters
    ----------
    study
        The study.
    location
        Its store, a file or the address of a database; by default the store in the settings.
    must_exist
        True if a missing file is a mistake; False to make a new store.

    Raises
    ------
    InputError
        If the store cannot be used.
    """
    path = store_location(study, read_settings(store=location))
    try:
        with opened_store(path, must_exist) as store:
            yield store
    except StoreUnavailable as error:
        raise InputError(f"the store cannot be used now ({error}). Fix: remove the cause, and try again.") from None


@contextmanager
def store_to_read(study: Study, location: str | None = None) -> Iterator[Store]:
    """Open the store of a study for a command that changes nothing; print one line if the study's files changed."""
    with store_of(study, location, must_exist=True) as store:
        warn_of_changes(study, store)
        yield store


def warn_of_changes(study: Study, store: Store) -> None:
    """Report on standard error the changes in a study's folder since its version was registered, if any."""
    changed = store.changed_since(study)
    if changed is not None:
        click.echo(
            f"Note: {study.folder / 'study.yaml'}: {changed} changed since version {study.definition.version} was "
            "served. This command uses the stored version.",
            err=True,
        )


def shown_location(study: Study, location: str | None = None) -> str:
    """Return the address of a study's store, without a password."""
    return without_password(store_location(study, read_settings(store=location)))


def note_access(store: Store, study: Study | None, access: Access, **details: Any) -> None:
    """Write an action to the store's log; report it if the log cannot be written, for instance on a read-only disk."""
    try:
        is_noted = bool(store.note(study, access, **details))
        reason = "no version of this study was served with it"
    except StoreUnavailable as error:
        is_noted, reason = False, str(error)
    if not is_noted:
        click.echo(f"Not written to the log of the store ({reason}). Fix: keep a note of your own.", err=True)


def find_session(store: Store, study: Study, named: SessionSelector) -> SessionFound:
    """Return the named session; for a participant with several, the latest. See `sessions_named`."""
    return sessions_named(store, study, named)[-1]


def sessions_named(store: Store, study: Study, named: SessionSelector) -> list[SessionFound]:
    """Return the named session, or all sessions of the named participant, the oldest first.

    Raises
    ------
    InputError
        If not exactly one name is given, or the session does not exist.
    """
    if [named.session, named.panel_id, named.participant].count(None) != 2:
        raise InputError(
            "no session is named, or several are. Fix: name it by one of --session, --panel-id and --participant."
        )
    if named.session is not None:
        found = store.session_named(study, named.session)
        if found is None:
            raise InputError(f"--session {named.session}: this study has no such session. Fix: correct the name.")
        return [found]
    if named.participant is not None:
        sessions = store.sessions_of(study, "lab", named.participant)
        option = f"--participant {named.participant}: no participant with this code"
    else:
        panel_id = named.panel_id or ""
        # The id of a personal link is the part before the signature.
        sessions = store.sessions_of(study, "panel", panel_id) or store.sessions_of(
            study, "link", panel_id.partition(".")[0]
        )
        option = f"--panel-id {panel_id}: no participant with this id"
    if not sessions:
        raise InputError(f"{option} has begun this study. Fix: check it.")
    return sessions


def write_private_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file readable by its owner only, because its content identifies people."""
    with atomic_write(path, is_private=True) as file:
        write_rows(file, [columns, *rows])
