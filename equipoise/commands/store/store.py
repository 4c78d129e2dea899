"""`equipoise store`: verify a store, back it up, copy it, list its sessions."""

from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.store_access import StudyFolder, loaded, note_access, store_to_read, write_private_csv
from equipoise.progress_bar import spinner
from server.store import Access, StoreUnavailable
from server.store.copying import back_up, copy_store
from server.store.open import opened_store
from server.store.sql.sessions import LISTED as SESSION_COLUMNS
from server.store.verify import Verified, verify


def store_verify(study: StudyFolder, store: str | None = None) -> Verified:
    """Check that everything acknowledged is in the store, unchanged."""
    study = loaded(study)
    with store_to_read(study, store) as opened, spinner("Checking"), opened.snapshot() as db:
        damage = db.damage()
        found = verify(db)
        found.problems[:0] = damage
        if not damage and not db.execute("SELECT 1 FROM studies LIMIT 1").fetchone():
            found.problems.append(
                "no study is registered in this store, so it is not the one with the responses. Fix: find the file "
                "that was here, or a backup."
            )
        return found


def store_backup(study: StudyFolder, path: Path, store: str | None = None) -> Verified:
    """Write a backup of a store, which may be in use, to a new file."""
    study = loaded(study)
    with store_to_read(study, store) as opened, spinner("Backing up"):
        verified = back_up(opened, path)
        note_access(opened, study, Access.BACKED_UP)
    return verified


def store_copy(source: str, target: str) -> Verified:
    """Copy a store, a file or a database, into another that is empty.

    Raises
    ------
    InputError
        If a store cannot be used, or the target is not empty.
    """
    try:
        with opened_store(source, must_exist=True) as read, opened_store(target) as write, spinner("Copying"):
            verified = copy_store(read, write)
            note_access(read, None, Access.COPIED)
    except StoreUnavailable as error:
        raise InputError(f"a store cannot be used, so nothing was copied: {error}") from None
    return verified


def store_sessions(study: StudyFolder, path: Path, store: str | None = None) -> int:
    """Write one row per session to a CSV file (status, device, answers about the participant); return their number.

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
    write_private_csv(path, columns, [[session.get(name, "") for name in columns] for session in sessions])
    return len(sessions)
