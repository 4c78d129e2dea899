"""`equipoise coding refresh`: delete withdrawn answers from a coding study, and add new answers."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.coding.agreement import write_disagreements
from equipoise.commands.coding.answers import answers_to_code
from equipoise.commands.coding.codes import all_given, all_resolved, codes_of_coding
from equipoise.commands.coding.new import CodingStudy, described, trials_of, write_round
from equipoise.commands.coding.record import coding_folder
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded


@dataclass(frozen=True)
class Refreshed:
    """The changes of a refresh."""

    n_deleted: int
    """Number of distinct answers that were deleted, because no session with this answer is left."""
    n_added: int
    """Number of new distinct answers."""
    n_disagreements: int
    """Number of disagreements without a resolved code. Their texts stay in disagreements.csv."""
    is_changed: bool
    """False if there was nothing to change. Then the coders continue as before."""
    study: CodingStudy
    """The coding study. Its number of items is 0 if every answer is coded; then the texts are deleted."""


def coding_refresh(study: StudyFolder, name: str | None = None, store: StoreAddress | None = None) -> Refreshed:
    """Delete withdrawn answers from a coding study, add new answers, and keep the codes of all other answers.

    The coding study begins a new round if something changed. The items of the new round are the answers that fewer
    coders than `coders` have coded. If all answers are coded, the texts of the answers are deleted. The codes stay.

    Parameters
    ----------
    study
        The study with the answers, or its folder.
    name
        Name of the coding under `analysis.coding`. It may be omitted if the study has one coding by coders.
    store
        File or database address of the study's store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Refreshed
        The numbers of deleted and added answers, and the coding study.

    Raises
    ------
    InputError
        If there is no coding study, or its server is running.
    """
    study = loaded(study)
    folder = coding_folder(study, name)
    record = folder.read()
    trials = trials_of(study, store)
    answers = answers_to_code(folder, trials, record.salt)
    given, resolved = all_given(folder, record), all_resolved(folder, record)
    needed = folder.coding.coders or 0
    left = {one: answer for one, answer in answers.items() if len(given.get(one, {})) < needed}
    places = {one: answer.places for one, answer in answers.items()}
    n_deleted, n_added = len(record.answers.keys() - places.keys()), len(places.keys() - record.answers.keys())
    is_as_before = record.answers == places and resolved == record.resolved and len(folder.coder_ids()) >= needed
    if is_as_before and bool(left) == folder.is_open:
        return Refreshed(0, 0, 0, is_changed=False, study=described(folder, answers, len(left)))
    refuse_open_store(folder.store)
    folder.add_coders()
    record.given = {one: of for one, of in given.items() if one in answers}
    record.resolved = {one: codes for one, codes in resolved.items() if one in answers}
    record.answers = places
    record.round += 1
    folder.write(record)  # Before the store is deleted, so that no code can be lost.
    delete_store(folder.store)
    if left:
        write_round(folder, record, left)
    else:
        folder.delete_texts()
    write_disagreements(folder, trials)
    n_open = len([one for one in codes_of_coding(folder, trials).disagreements() if one not in record.resolved])
    return Refreshed(n_deleted, n_added, n_open, is_changed=True, study=described(folder, answers, len(left)))


def refuse_open_store(path: Path) -> None:
    """Raise InputError if another program, such as a server, has a store open."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path, timeout=1)) as connection:
            # SQLite leaves the write-ahead mode only if no other connection is open.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError:
        raise InputError(
            f"{path}: another program has this store open, so nothing was changed. Fix: stop the server of the coding "
            "study (Ctrl-C), and run the command again."
        ) from None


def delete_store(path: Path) -> None:
    """Delete a store and the files beside it. The store contains the texts of answers as items."""
    for file in sorted(path.parent.glob(f"{path.name}*")):
        try:
            file.unlink()
        except OSError as error:
            raise InputError(
                f"{file}: this file cannot be deleted ({error.strerror}). Fix: close the program that has the file "
                "open, and run the command again."
            ) from None
