"""Access to a study's folder and its store, for the commands."""

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

BY_COMMAND = "command line"
"""Name, in the study's log, of the person who uses a command."""
StudyFolder = Study | Path | str
"""A study, or its folder."""
StoreAddress = Path | str
"""A store: its file, or the address of its database."""


def loaded(study: StudyFolder) -> Study:
    """Return a study. If `study` is a folder, load the study from this folder."""
    return study if isinstance(study, Study) else load_study(Path(study))


def setting_of(store: StoreAddress | None) -> str | None:
    """Return a given store as text.

    None means that the environment variable `EQUIPOISE_STORE` or the default applies.
    """
    return None if store is None else str(store)


@dataclass(frozen=True)
class SessionSelector:
    """The name of one session, or the id or code of one participant. Exactly one field is set."""

    session: str | None = None
    """Name of the session in the store."""
    panel_id: str | None = None
    """The participant's panel id, or the token of their personal link."""
    participant: str | None = None
    """The laboratory's code for the participant."""


@contextmanager
def store_of(study: Study, location: StoreAddress | None = None, must_exist: bool = False) -> Iterator[Store]:
    """Open the store of a study's responses.

    Parameters
    ----------
    study
        The study.
    location
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    must_exist
        True to raise an error if the file is missing; False to make a new store.

    Raises
    ------
    InputError
        If the store cannot be used.
    """
    path = store_location(study, read_settings(store=setting_of(location)))
    try:
        with opened_store(path, must_exist) as store:
            yield store
    except StoreUnavailable as error:
        raise InputError(f"the store cannot be used now ({error}). Fix: correct this error, and try again.") from None


@contextmanager
def store_to_read(study: Study, location: StoreAddress | None = None) -> Iterator[Store]:
    """Open a study's store for a command that changes nothing; print a note if the study's files changed."""
    with store_of(study, location, must_exist=True) as store:
        warn_of_changes(study, store)
        yield store


def warn_of_changes(study: Study, store: Store) -> None:
    """Print a note on standard error if the files of a study changed after its version was registered."""
    changed = store.changed_since(study)
    if changed is not None:
        click.echo(
            f"Note: {study.folder / 'study.yaml'}: {changed} changed since version {study.definition.version} was "
            "served. This command uses the stored version.",
            err=True,
        )


def shown_location(study: Study, location: StoreAddress | None = None) -> str:
    """Return the address of a study's store, without a password."""
    return without_password(store_location(study, read_settings(store=setting_of(location))))


def note_access(store: Store, study: Study | None, access: Access, **details: Any) -> None:
    """Write a researcher's action, such as an export, to the store's log. Print a note if the log cannot be written."""
    try:
        is_noted = bool(store.note(study, access, **details, by=BY_COMMAND))
        reason = "no version of this study was served with this store"
    except StoreUnavailable as error:
        is_noted, reason = False, str(error)
    if not is_noted:
        click.echo(
            f"This action is not in the store's log ({reason}). Fix: write the action in your own records.", err=True
        )


def find_session(store: Store, study: Study, named: SessionSelector) -> SessionFound:
    """Return the named session, or the latest session of the named participant.

    The errors are those of `sessions_named`.
    """
    return sessions_named(store, study, named)[-1]


def sessions_named(store: Store, study: Study, named: SessionSelector) -> list[SessionFound]:
    """Return the named session, or all sessions of the named participant, the oldest first.

    Raises
    ------
    InputError
        If no name is given, if several names are given, or if no session or participant has this name.
    """
    if [named.session, named.panel_id, named.participant].count(None) != 2:
        raise InputError(
            "no session is named, or several sessions are named. Fix: give one of --session, --panel-id and "
            "--participant."
        )
    if named.session is not None:
        found = store.session_named(study, named.session)
        if found is None:
            raise InputError(
                f"--session {named.session}: this study has no session with this name. Fix: correct the name."
            )
        return [found]
    if named.participant is not None:
        sessions = store.sessions_of(study, "lab", named.participant)
        option, name = f"--participant {named.participant}", "code"
    else:
        panel_id = named.panel_id or ""
        # The id of a personal link is the part before the signature.
        sessions = store.sessions_of(study, "panel", panel_id) or store.sessions_of(
            study, "link", panel_id.partition(".")[0]
        )
        option, name = f"--panel-id {panel_id}", "id"
    if not sessions:
        raise InputError(f"{option}: no participant with this {name} has begun this study. Fix: correct the {name}.")
    return sessions


def write_private_csv(path: Path | str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file that only its owner can read, because its content identifies people."""
    with atomic_write(Path(path), is_private=True) as file:
        write_rows(file, [columns, *rows])
