"""The files in `data/lab` of a study: for each session PsychoPy's table, the frames, and what was begun.

Their names begin as users of PsychoPy expect, with the code, the session and the time, and end with the session's name
in the store, by which they are found again, whatever the code, the clock or the time zone were.
"""

import re
from pathlib import Path

from batteries.errors import InputError
from experiment.lab.desk import OpenSession
from experiment.lab.notes import Notes
from experiment.lab.psychopy_csv import Heading, date_of, write_psychopy_csv
from experiment.lab.session import Visitor
from experiment.records import Kind, LabDevice
from experiment.study import Study
from server.store import Store
from server.store.taken import trials_of, withdrawn_in_laboratory

BEGUN = "_begun.jsonl"


class LabFiles:
    """The files of the session that a participant has now.

    They stand beside the store, which has every answer: what cannot be written to them stops no session.

    Raises
    ------
    InputError
        If there can be no such folder.
    """

    def __init__(self, study: Study, store: Store, visitor: Visitor, device: LabDevice) -> None:
        self._study = study
        self._store = store
        self._visitor = visitor
        self._device = device
        self._notes: Notes | None = None
        self._problem: str | None = None
        self.table: Path | None = None
        folder = _folder(study)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder}: the files of the laboratory cannot be written there ({error.strerror}); make it a folder "
                "that may be written to, and begin again."
            ) from None

    @property
    def problem(self) -> str | None:
        """Why a file could not be written or deleted, the last time; None if all could be."""
        return self._problem or (self._notes.problem if self._notes else None)

    def notes_of(self, session: OpenSession) -> Notes:
        """Return the notes of a session."""
        self._notes = Notes(self._path(session, BEGUN), self._path(session, "_frames.csv"))
        return self._notes

    def write_table(self, session: OpenSession) -> None:
        """Write PsychoPy's table anew, from what is in the store."""
        self.table = self._path(session, ".csv")
        who = self._visitor
        heading = Heading(
            who.participant, who.kind, who.occasion, session.group, session.seed, session.started_at, self._device
        )
        try:
            write_psychopy_csv(self.table, self._study, heading, trials_of(self._store, session.session))
            self._problem = None
        except OSError as error:  # such as a table that is open in Excel
            self._problem = f"{self.table}: it could not be written ({error.strerror}); every answer is in the store."

    def delete(self, session: OpenSession) -> None:
        """Delete all files of a session, whose answers were withdrawn."""
        self.table = None
        try:
            _delete(self._study, session.session)
        except InputError as error:  # the participant has left; the experimenter is told at the end
            self._problem = str(error)

    def _path(self, session: OpenSession, ending: str) -> Path:
        """Return where a file of a session is, or is to be if there is none of the session yet."""
        folder, name = _folder(self._study), session.session
        begun = next(folder.glob(f"*_{name}{BEGUN}"), None)
        if begun is not None:
            return begun.with_name(begun.name.removesuffix(BEGUN) + ending)
        who = self._visitor
        code = re.sub(r"[^A-Za-z0-9._-]+", "-", who.participant).lstrip(".") or "participant"
        what = "rehearsal_" if who.kind is Kind.SIMULATED else ""
        return folder / f"{code}_{who.occasion}_{what}{date_of(session.started_at)}_{name}{ending}"


def delete_withdrawn(study: Study, store: Store) -> None:
    """Delete the files of all sessions whose answers were withdrawn, wherever and whenever that was.

    Raises
    ------
    InputError
        If a file cannot be deleted.
    """
    with store.snapshot() as db:
        withdrawn = withdrawn_in_laboratory(db, study.name)
    for session in withdrawn:
        _delete(study, session)


def _delete(study: Study, session: str) -> None:
    for path in _folder(study).glob(f"*_{session}*"):
        try:
            path.unlink()
        except OSError as error:
            raise InputError(
                f"{path}: it holds what a participant has withdrawn, and cannot be deleted ({error.strerror}); close "
                "what has it open, and delete it."
            ) from None


def _folder(study: Study) -> Path:
    return study.folder / "data" / "lab"
