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
from server.serve import store_location
from server.settings import read_settings
from server.store import Access, Store, StoreUnavailable
from server.store.models import SessionFound
from server.store.open import is_address, opened_store

StudyFolder = Study | Path | str
"""A study, or its folder."""


def loaded(study: StudyFolder) -> Study:
    """Return a study, loaded from its folder if need be."""
    return study if isinstance(study, Study) else load_study(Path(study))


@dataclass(frozen=True)
class SessionSelector:
    """What a session is named by: one of these."""

    session: str | None = None
    """Its name in the store."""
    panel_id: str | None = None
    """The person's id at the panel, or a personal link's token."""
    participant: str | None = None
    """The laboratory's own code for the person."""


@contextmanager
def store_of(study: Study, location: str | None = None, must_exist: bool = False) -> Iterator[Store]:
    """Open the store that a study's answers go to.

    Parameters
    ----------
    study
        The study.
    location
        Its store, a file or the address of a database; by default what the settings say.
    must_exist
        Whether a file that is not there is a mistake, instead of a store to be made.

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
        raise InputError(f"the store cannot be used now ({error}); Fix: try again when the cause is removed.") from None


@contextmanager
def store_to_read(study: Study, location: str | None = None) -> Iterator[Store]:
    """Open the store of a study for a command that changes nothing; say in one line if the study's files changed."""
    with store_of(study, location, must_exist=True) as store:
        warn_of_changes(study, store)
        yield store


def warn_of_changes(study: Study, store: Store) -> None:
    """Say on standard error what changed in a study's folder since its version was registered, if anything did."""
    changed = store.changed_since(study)
    if changed is not None:
        click.echo(
            f"Note: {study.folder / 'study.yaml'}: {changed} changed since version {study.definition.version} was "
            "served. This command goes by what is stored.",
            err=True,
        )


def shown_location(study: Study, location: str | None = None) -> str:
    """Return where a study's answers go, in words, without a password."""
    path = store_location(study, read_settings(store=location))
    return "the database" if is_address(path) else path


def note_access(store: Store, study: Study | None, access: Access, **details: Any) -> None:
    """Note in the store's log what was done; say so where the log cannot be written, as on a disk that is only read."""
    try:
        is_noted = bool(store.note(study, access, **details))
        reason = "no version of this study was served with it"
    except StoreUnavailable as error:
        is_noted, reason = False, str(error)
    if not is_noted:
        click.echo(f"Not noted in the log of the store ({reason}). Fix: keep a note of your own.", err=True)


def find_session(store: Store, study: Study, named: SessionSelector) -> SessionFound:
    """Return the session that is named; of a person with several, the latest. See `sessions_named`."""
    return sessions_named(store, study, named)[-1]


def sessions_named(store: Store, study: Study, named: SessionSelector) -> list[SessionFound]:
    """Return the session that is named, or all sessions of the person who is named, the oldest first.

    Raises
    ------
    InputError
        If not just one name is given, or there is no such session.
    """
    if [named.session, named.panel_id, named.participant].count(None) != 2:
        raise InputError("name the session by one of --session, --panel-id and --participant.")
    if named.session is not None:
        found = store.session_named(study, named.session)
        if found is None:
            raise InputError(f"--session {named.session}: this study has no such session. Fix: correct the name.")
        return [found]
    if named.participant is not None:
        sessions = store.sessions_of(study, "lab", named.participant)
        option = f"--participant {named.participant}: nobody with this code"
    else:
        panel_id = named.panel_id or ""
        # Of a personal link the part before the signature is the id.
        sessions = store.sessions_of(study, "panel", panel_id) or store.sessions_of(
            study, "link", panel_id.partition(".")[0]
        )
        option = f"--panel-id {panel_id}: nobody with this id"
    if not sessions:
        raise InputError(f"{option} has begun this study. Fix: check it.")
    return sessions


def write_private_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file for its owner alone, as what it holds leads to people."""
    with atomic_write(path, is_private=True) as file:
        write_rows(file, [columns, *rows])
