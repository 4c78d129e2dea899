"""`equipoise store`: verify, back up and copy a store; list the sessions in a store."""

from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.store_access import (
    StoreAddress,
    StudyFolder,
    loaded,
    note_access,
    store_to_read,
    write_private_csv,
)
from equipoise.progress_bar import spinner
from server.store import Access, StoreUnavailable
from server.store.copying import back_up, copy_store
from server.store.open import opened_store
from server.store.sql.sessions import LISTED as SESSION_COLUMNS
from server.store.verify import Verified, verify


def store_verify(study: StudyFolder, store: StoreAddress | None = None) -> Verified:
    """Check that every acknowledged response is in the store, unchanged.

    A response is acknowledged if the server confirmed to the client that it is stored.

    Parameters
    ----------
    study
        The study or its folder.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Verified
        Numbers of sessions and responses, the digest of the responses, and one sentence for each problem.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened, spinner("Checking"), opened.snapshot() as db:
        damage = db.damage()
        found = verify(db)
        found.problems[:0] = damage
        if not damage and not db.execute("SELECT 1 FROM studies LIMIT 1").fetchone():
            found.problems.append(
                "this store contains no study, so the responses are in another store. Fix: find the original store or "
                "a backup."
            )
        return found


def store_backup(study: StudyFolder, output: Path | str, store: StoreAddress | None = None) -> Verified:
    """Write a backup of a store to a new file; the server may be running.

    Parameters
    ----------
    study
        The study or its folder.
    output
        New file for the backup.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Verified
        Numbers of sessions and responses in the backup, their digest, and one sentence for each problem.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened, spinner("Backing up"):
        verified = back_up(opened, Path(output))
        note_access(opened, study, Access.BACKED_UP)
    return verified


def store_copy(source: StoreAddress, target: StoreAddress) -> Verified:
    """Copy a store into an empty store. Stop the server first.

    Parameters
    ----------
    source
        The store to copy: its file, or the address of its database.
    target
        The store to copy to: a new file, or the address of an empty database.

    Returns
    -------
    Verified
        Numbers of copied sessions and responses, and their digest.

    Raises
    ------
    InputError
        If a store cannot be used, or the target is not empty.
    """
    try:
        with (
            opened_store(str(source), must_exist=True) as read,
            opened_store(str(target)) as write,
            spinner("Copying"),
        ):
            verified = copy_store(read, write)
            note_access(read, None, Access.COPIED)
    except StoreUnavailable as error:
        raise InputError(f"a store cannot be used, so nothing was copied: {error}") from None
    return verified


def store_sessions(study: StudyFolder, output: Path | str, store: StoreAddress | None = None) -> int:
    """Write one row per session as CSV: status, consent, device, and the responses to the demographic questions.

    Parameters
    ----------
    study
        The study or its folder.
    output
        File to write, .csv.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    int
        Number of sessions.

    Raises
    ------
    InputError
        If the store or the file cannot be used.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened:
        sessions = opened.sessions(study)
        note_access(opened, study, Access.EXPORTED, what="sessions", number=len(sessions))
    columns = list(dict.fromkeys([*SESSION_COLUMNS, *(name for session in sessions for name in session)]))
    write_private_csv(output, columns, [[session.get(name, "") for name in columns] for session in sessions])
    return len(sessions)
