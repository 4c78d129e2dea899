"""`equipoise identities` and `equipoise links`: export and delete panel ids, make personal links."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from batteries.errors import InputError
from equipoise.commands.store_access import (
    BY_COMMAND,
    SessionSelector,
    StoreAddress,
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


def identities_export(study: StudyFolder, output: Path | str, store: StoreAddress | None = None) -> int:
    """Write a CSV file of participants' ids and codes, with pseudonyms, sessions and withdrawal codes.

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
        Number of participants.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened:
        people = opened.identities(study)
        note_access(opened, study, Access.EXPORTED, what="identities", number=len(people))
    columns = list(dict.fromkeys([*IDENTITY_COLUMNS, *(name for person in people for name in person)]))
    write_private_csv(output, columns, [[person.get(name, "") for name in columns] for person in people])
    return len(people)


def identities_delete(
    study: StudyFolder,
    *,
    session: str | None = None,
    panel_id: str | None = None,
    participant: str | None = None,
    everybody: bool = False,
    store: StoreAddress | None = None,
) -> tuple[int, list[str]]:
    """Delete the panel ids and codes of one participant or of all participants, and keep the responses.

    Parameters
    ----------
    study
        The study or its folder.
    session, panel_id, participant
        Exactly one of these: the name of one of the participant's sessions, the panel id, or the laboratory's code.
    everybody
        True to delete the ids and codes of all participants.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    tuple of int and list of str
        Number of deleted ids and codes, and one sentence for each file that may still contain ids or codes.

    Raises
    ------
    InputError
        If neither a participant nor `everybody` is given, if both are given, or if the participant does not exist.
    """
    study = loaded(study)
    named = SessionSelector(session, panel_id, participant)
    if everybody and named != SessionSelector():
        raise InputError(
            "--everybody deletes the ids and codes of all participants, but one participant is named too. Fix: omit "
            "--everybody to delete the ids and codes of this participant only."
        )
    with store_of(study, store, must_exist=True) as opened:
        pseudonym = None if everybody else find_session(opened, study, named).participant
        n_deleted = opened.delete_identities(study, pseudonym, BY_COMMAND)
        return n_deleted, opened.kept_traces()


def links(study: StudyFolder, n_links: int, address: str, output: Path | str) -> None:
    """Write new personal links to a study as CSV, one link per line.

    Parameters
    ----------
    study
        The study or its folder.
    n_links
        Number of links.
    address
        Address of the study's server, such as `https://study.example.org`.
    output
        File to write, .csv.

    Raises
    ------
    InputError
        If the study does not use personal links, or the number or the address is invalid.
    """
    study = loaded(study)
    if n_links < 1:
        raise InputError(f"-n {n_links}: there is nothing to write. Fix: ask for at least 1 link.")
    if study.definition.recruitment.entry != "link":
        raise InputError(
            f"{study.folder / 'study.yaml'}: the study does not use personal links. Fix: write `recruitment: "
            "{entry: link}` in this file."
        )
    parts = urlsplit(address)
    is_plain = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
    if not is_plain or re.search(r"\s", address):
        raise InputError(
            f"--address {address!r}: this is not the address of a server. Fix: write an address such as "
            "https://study.example.org."
        )
    key = read_secrets(secrets_folder(study, read_settings())).signing_key
    rows = [[f"{address.rstrip('/')}/?{LINK_PARAMETER}={make_link_token(study, key)}"] for _ in range(n_links)]
    write_private_csv(output, ["link"], rows)
