"""`equipoise identities` and `equipoise links`: panel ids and personal links."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from batteries.errors import InputError
from equipoise.commands.store_access import (
    SessionSelector,
    StudyFolder,
    find_session,
    loaded,
    note_access,
    store_of,
    store_to_read,
    write_private_csv,
)
from server.locations import secrets_folder
from server.participants.participant_auth import LINK_PARAMETER, make_link_token
from server.security.secret_files import read_secrets
from server.settings import read_settings
from server.store import Access
from server.store.sql.identities import IDENTITY_COLUMNS


def identities_export(study: StudyFolder, path: Path, store: str | None = None) -> int:
    """Write the panel ids of a study with their pseudonyms as CSV, readable by its owner only; return their number."""
    study = loaded(study)
    with store_to_read(study, store) as opened:
        people = opened.identities(study)
        note_access(opened, study, Access.EXPORTED, what="identities", number=len(people))
    columns = list(dict.fromkeys([*IDENTITY_COLUMNS, *(name for person in people for name in person)]))
    write_private_csv(path, columns, [[person.get(name, "") for name in columns] for person in people])
    return len(people)


def identities_delete(
    study: StudyFolder, named: SessionSelector, everybody: bool, store: str | None = None
) -> tuple[int, list[str]]:
    """Delete ids and codes, one participant's or everybody's, and keep the responses.

    Returns
    -------
    int
        Number of deleted ids and codes.
    list of str
        One sentence for each file that may still hold them.
    """
    study = loaded(study)
    if everybody and named != SessionSelector():
        raise InputError("--everybody deletes all ids and codes. Fix: leave it out to delete one participant's.")
    with store_of(study, store, must_exist=True) as opened:
        participant = None if everybody else find_session(opened, study, named).participant
        n_deleted = opened.delete_identities(study, participant)
        return n_deleted, opened.kept_traces()


def links(study: StudyFolder, n_links: int, address: str, path: Path) -> None:
    """Write new personal links to a study, one per line.

    Raises
    ------
    InputError
        If the study does not use personal links.
    """
    study = loaded(study)
    if study.definition.recruitment.entry != "link":
        raise InputError(
            f"{study.folder / 'study.yaml'}: personal links work only with `recruitment: {{entry: link}}`. Fix: set it."
        )
    parts = urlsplit(address)
    is_plain = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
    if not is_plain or re.search(r"\s", address):
        raise InputError(
            f"--address {address!r}: this is not a study's address. Fix: write it like https://study.example.org."
        )
    key = read_secrets(secrets_folder(study, read_settings())).signing_key
    rows = [[f"{address.rstrip('/')}/?{LINK_PARAMETER}={make_link_token(study, key)}"] for _ in range(n_links)]
    write_private_csv(path, ["link"], rows)
