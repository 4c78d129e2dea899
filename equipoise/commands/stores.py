"""A study's store, wherever it is: what the commands about answers, places and people have in common."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from batteries.errors import InputError
from batteries.files.csv_files import write_rows
from batteries.files.private_files import whole_or_not_at_all
from equipoise.progress_bar import spinner
from experiment.records import Kind
from experiment.study.definition import Study
from server.participants.participant_auth import LINK_PARAMETER, make_link_token
from server.security.secret_files import read_secrets
from server.serve import secrets_folder, store_location
from server.settings import read_settings
from server.store import Access, Conflict, Release, Store, StoreUnavailable
from server.store.copying import back_up, copy_store
from server.store.models import SessionFound
from server.store.open import is_address, opened_store
from server.store.sql.identities import IDENTITY_COLUMNS
from server.store.sql.sessions import LISTED as SESSION_COLUMNS
from server.store.verify import Verified, verify


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
    slot = store_location(study, read_settings(store=location))
    try:
        with opened_store(slot, must_exist) as store:
            yield store
    except StoreUnavailable as error:
        raise InputError(f"the store cannot be used now ({error}); try again when that is mended.") from None


@contextmanager
def store_to_read(study: Study, location: str | None = None) -> Iterator[Store]:
    """Open the store of a study for a command that changes nothing; say in one line if the study's files changed."""
    with store_of(study, location, must_exist=True) as store:
        tell_of_changes(study, store)
        yield store


def tell_of_changes(study: Study, store: Store) -> None:
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
    slot = store_location(study, read_settings(store=location))
    return "the database" if is_address(slot) else slot


def verify_store(study: Study, location: str | None = None) -> Verified:
    """Check that all is in a store that was acknowledged, unchanged."""
    with store_to_read(study, location) as store, spinner("Checking"), store.snapshot() as db:
        damage = db.damage()
        found = verify(db)
        found.problems[:0] = damage
        if not damage and not db.execute("SELECT 1 FROM studies LIMIT 1").fetchone():
            found.problems.append(
                "no study is registered in this store, so it is not the one in which answers were stored. Fix: look "
                "for the file that was here, or a backup."
            )
        return found


def back_up_store(study: Study, path: Path, location: str | None = None) -> Verified:
    """Write a backup of a store, which may be in use, to a new file."""
    with store_to_read(study, location) as store, spinner("Backing up"):
        verified = back_up(store, path)
        _note(store, study, Access.BACKED_UP)
    return verified


def move_store(source: str, target: str) -> Verified:
    """Copy a store, a file or a database, into another that is empty.

    Raises
    ------
    InputError
        If a store cannot be used, or the target is not empty.
    """
    try:
        with opened_store(source, must_exist=True) as read, opened_store(target) as write, spinner("Copying"):
            verified = copy_store(read, write)
            _note(read, None, Access.COPIED)
    except StoreUnavailable as error:
        raise InputError(f"a store cannot be used ({error}); nothing was copied.") from None
    return verified


def _note(store: Store, study: Study | None, access: Access, **details: Any) -> None:
    """Note in the store's log what was done; say so where the log cannot be written, as on a disk that is only read."""
    try:
        is_noted = bool(store.note(study, access, **details))
        reason = "no version of this study was served with it"
    except StoreUnavailable as error:
        is_noted, reason = False, str(error)
    if not is_noted:
        click.echo(f"Not noted in the log of the store ({reason}). Fix: keep a note of your own.", err=True)


def slots_table(study: Study, location: str | None = None) -> list[tuple[str, ...]]:
    """Return the places of people by group, as rows of text with a heading and a sum."""
    with store_to_read(study, location) as store:
        groups = [group for group in store.progress(study) if group.kind is Kind.HUMAN]
    counts = [
        (group.n_completed, group.n_under_way, group.n_lapsed, group.n_replaced, group.n_withdrawn) for group in groups
    ]
    heading = ("group", "completed", "under way", "lapsed", "replaced", "withdrawn", "")
    rows = [
        (str(group.group), *map(str, row), "" if group.is_open else "closed")
        for group, row in zip(groups, counts, strict=True)
    ]
    return [heading, *rows, ("all", *(str(sum(column)) for column in zip(*counts, strict=True)), "")]


def open_group(study: Study, group: int, is_open: bool, location: str | None = None) -> None:
    """Open or close a counterbalance group for new participants."""
    with store_of(study, location) as store:
        tell_of_changes(study, store)
        try:
            store.open_group(study, group, is_open)
        except Conflict:
            n_groups = study.definition.design.groups
            raise InputError(f"--group {group}: there is no such group; the groups are 1 to {n_groups}.") from None


def release_slot(study: Study, reason: Release, named: SessionSelector, location: str | None = None) -> SessionFound:
    """Release the place of a session, so that somebody else is recruited.

    Raises
    ------
    InputError
        If there is no such session, its place was released before, or the reason is an exclusion.
    """
    if reason is Release.EXCLUSION:
        raise InputError(
            "--reason exclusion: this would release the place and leave the answers in the analysis. "
            f'Fix: `equipoise exclude {study.folder} ... --reason "..."`, which does both.'
        )
    with store_of(study, location, must_exist=True) as store:
        found = find_session(store, study, named)
        if not store.release_slot(found.session, reason):
            raise InputError(f"the place of session {found.session} was released before; nothing was changed.")
    return found


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
            raise InputError(f"--session {named.session}: this study has no such session; mend the name.")
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
        raise InputError(f"{option} has begun this study; mend it.")
    return sessions


def write_log(study: Study, path: Path, location: str | None = None) -> int:
    """Write the log of decisions about places as CSV; return how many there are."""
    with store_to_read(study, location) as store:
        events = store.events(study)
    rows = [(event.event_index, event.at, event.event, event.session, json.dumps(event.details)) for event in events]
    _write_csv(path, ("event_index", "at", "event", "session", "details"), rows)
    return len(rows)


def write_sessions(study: Study, path: Path, location: str | None = None) -> int:
    """Write a row for each session to a CSV file, and return how many: how it went, on what, and who by their own word.

    Raises
    ------
    InputError
        If the store or the file cannot be used.
    """
    with store_to_read(study, location) as store:
        sessions = store.sessions(study)
        _note(store, study, Access.EXPORTED, what="sessions", number=len(sessions))
    columns = list(dict.fromkeys([*SESSION_COLUMNS, *(name for session in sessions for name in session)]))
    _write_csv(path, columns, [[session.get(name, "") for name in columns] for session in sessions])
    return len(sessions)


def write_identities(study: Study, path: Path, location: str | None = None) -> int:
    """Write the panel ids of a study with their pseudonyms as CSV, for the owner's eyes; return how many there are."""
    with store_to_read(study, location) as store:
        people = store.identities(study)
        _note(store, study, Access.EXPORTED, what="identities", number=len(people))
    columns = list(dict.fromkeys([*IDENTITY_COLUMNS, *(name for person in people for name in person)]))
    _write_csv(path, columns, [[person.get(name, "") for name in columns] for person in people])
    return len(people)


def delete_identities(
    study: Study, named: SessionSelector, everybody: bool, location: str | None = None
) -> tuple[int, list[str]]:
    """Delete ids and codes, one person's or everybody's, and leave the answers.

    Returns
    -------
    int
        How many were deleted.
    list of str
        A sentence on each file that may still hold them.
    """
    if everybody and named != SessionSelector():
        raise InputError("--everybody deletes all ids and codes; leave it out to delete one person's.")
    with store_of(study, location, must_exist=True) as store:
        participant = None if everybody else find_session(store, study, named).participant
        n_deleted = store.delete_identities(study, participant)
        return n_deleted, store.kept_traces()


def write_links(study: Study, n_links: int, address: str, path: Path) -> None:
    """Write new personal links to a study, a line each.

    Raises
    ------
    InputError
        If the study does not go by personal links.
    """
    if study.definition.recruitment.entry != "link":
        raise InputError(
            f"{study.folder / 'study.yaml'}: personal links work only with `recruitment: {{entry: link}}`; set it."
        )
    parts = urlsplit(address)
    is_plain = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
    if not is_plain or re.search(r"\s", address):
        raise InputError(
            f"--address {address!r}: this is no address of a study; write it like https://study.example.org."
        )
    key = read_secrets(secrets_folder(study, read_settings())).signing_key
    rows = [[f"{address.rstrip('/')}/?{LINK_PARAMETER}={make_link_token(study, key)}"] for _ in range(n_links)]
    _write_csv(path, ["link"], rows)


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a CSV file for its owner alone, as what it holds leads to people."""
    with whole_or_not_at_all(path, is_private=True) as file:
        write_rows(file, [columns, *rows])
