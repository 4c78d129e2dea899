"""A study's store, wherever it is: what the commands about answers, places and people have in common."""

import csv
import json
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from batteries.errors import InputError
from equipoise.progress import spinner
from experiment.records import Kind
from experiment.study import Study
from server.entry import LINK_PARAMETER, make_link_token
from server.secret_files import read_secrets
from server.serving import secrets_folder, store_location
from server.settings import read_settings
from server.store import Conflict, Release, Store, StoreUnavailable
from server.store.copying import back_up, copy_store
from server.store.identities import IDENTITY_COLUMNS
from server.store.opened import is_address, opened_store
from server.store.sessions import LISTED as SESSION_COLUMNS
from server.store.values import SessionFound
from server.store.verifying import Verified, verify


@dataclass(frozen=True)
class Named:
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
    place = store_location(study, read_settings(store=location))
    if must_exist and not is_address(place) and not Path(place).exists():
        raise InputError(f"{place}: there is no such store; nothing has been answered yet, or the name is another.")
    try:
        with opened_store(place) as store:
            yield store
    except StoreUnavailable as error:
        raise InputError(f"the store cannot be used now ({error}); try again when that is mended.") from None


def shown_location(study: Study, location: str | None = None) -> str:
    """Return where a study's answers go, in words, without a password."""
    place = store_location(study, read_settings(store=location))
    return "the database" if is_address(place) else place


def verify_store(study: Study, location: str | None = None) -> Verified:
    """Check that all is in a store that was acknowledged, unchanged."""
    with store_of(study, location, must_exist=True) as store, spinner("Checking"), store.snapshot() as db:
        return verify(db)


def back_up_store(study: Study, path: Path, location: str | None = None) -> Verified:
    """Write a backup of a store, which may be in use, to a new file."""
    with store_of(study, location, must_exist=True) as store, spinner("Backing up"):
        return back_up(store, path)


def move_store(source: str, target: str) -> Verified:
    """Copy a store, a file or a database, into another that is empty.

    Raises
    ------
    InputError
        If a store cannot be used, or the target is not empty.
    """
    if not is_address(source) and not Path(source).exists():
        raise InputError(f"{source}: there is no such store; mend the name.")
    try:
        with opened_store(source) as read, opened_store(target) as write, spinner("Copying"):
            return copy_store(read, write)
    except StoreUnavailable as error:
        raise InputError(f"a store cannot be used ({error}); nothing was copied.") from None


def places_table(study: Study, location: str | None = None) -> list[tuple[str, ...]]:
    """Return the places of people by group, as rows of text with a heading and a sum."""
    with store_of(study, location) as store:
        store.register_study(study)
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
        store.register_study(study)
        try:
            store.open_group(study, group, is_open)
        except Conflict:
            n_groups = study.definition.design.groups
            raise InputError(f"--group {group}: there is no such group; the groups are 1 to {n_groups}.") from None


def release_place(study: Study, reason: Release, named: Named, location: str | None = None) -> SessionFound:
    """Release the place of a session, so that somebody else is recruited.

    Raises
    ------
    InputError
        If there is no such session, or its place was released before.
    """
    with store_of(study, location, must_exist=True) as store:
        found = find_session(store, study, named)
        if not store.release_place(found.session, reason):
            raise InputError(f"the place of session {found.session} was released before; nothing was changed.")
    return found


def find_session(store: Store, study: Study, named: Named) -> SessionFound:
    """Return the session that is named; of a person with several, the latest.

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
        return found
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
    return sessions[-1]


def write_log(study: Study, path: Path, location: str | None = None) -> int:
    """Write the log of decisions about places as CSV; return how many there are."""
    with store_of(study, location, must_exist=True) as store:
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
    with store_of(study, location, must_exist=True) as store:
        sessions = store.sessions(study)
    columns = list(dict.fromkeys([*SESSION_COLUMNS, *(name for session in sessions for name in session)]))
    _write_csv(path, columns, [[session.get(name, "") for name in columns] for session in sessions])
    return len(sessions)


def write_identities(study: Study, path: Path, location: str | None = None) -> int:
    """Write the panel ids of a study with their pseudonyms as CSV, for the owner's eyes; return how many there are."""
    with store_of(study, location, must_exist=True) as store:
        people = store.identities(study)
    columns = list(dict.fromkeys([*IDENTITY_COLUMNS, *(name for person in people for name in person)]))
    _write_csv(path, columns, [[person.get(name, "") for name in columns] for person in people])
    return len(people)


def delete_identities(study: Study, named: Named, everybody: bool, location: str | None = None) -> int:
    """Delete ids and codes, one person's or everybody's, and leave the answers; return how many."""
    if everybody and named != Named():
        raise InputError("--everybody deletes all ids and codes; leave it out to delete one person's.")
    with store_of(study, location, must_exist=True) as store:
        if everybody:
            return store.delete_identities(study)
        return store.delete_identities(study, find_session(store, study, named).participant)


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
    """Write a CSV file for its owner alone, as what it holds leads to people; whole, or not at all."""
    if not path.name or path.is_dir():
        raise InputError(f"{path}: this is a folder; name a file.")
    aside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([[_guarded(cell) for cell in row] for row in rows])
        aside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: the file cannot be written ({error.strerror}); name another place.") from None
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _guarded(cell: object) -> object:
    """Return a text so that no spreadsheet takes it for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
