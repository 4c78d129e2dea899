"""The laboratory's files of each session: PsychoPy's table and log, frame intervals, events, gaze, attempts at trials.

The files are in the folder `lab` beside the store. By default, this folder is `data/lab` in the study's folder. The
frame intervals, the events, the logs and the data of eye trackers are in separate folders, so that `lab/*.csv` are only
tables of trials. A file name begins as in PsychoPy, with the participant code, the session number and the time. Then
comes the session's name in the store. Equipoise finds a file by this name, because the code, the clock and the time
zone can change.
"""

import re
from pathlib import Path

from batteries.errors import InputError
from batteries.files.private_files import private_folder
from experiment.lab.session_files.attempt_log import AttemptLog
from experiment.lab.session_files.events_tsv import write_events
from experiment.lab.session_files.psychopy_csv import Heading, date_of, write_psychopy_csv
from experiment.lab.session_files.psychopy_log import PsychoPyLog
from experiment.lab.visit_events import VisitEvents
from experiment.lab.visitor import Visitor
from experiment.lab_api import OpenSession
from experiment.records import Kind
from experiment.study.definition import Study
from server.store import Store, StoreUnavailable
from server.store.sql.lab_sessions import devices_of, trials_of, withdrawn_in_laboratory
from server.store.sqlite.store import SqliteStore

BEGUN = "_begun.jsonl"
FRAMES = "_frames.csv"
EVENTS = "_events.tsv"
LOG = ".log"
EYE = ".hdf5"

_FOLDERS = {FRAMES: "frames", EVENTS: "events", LOG: "logs"}
_EYE_FOLDER = "eye"


class LabFiles:
    """The files of a participant's current session.

    If these files cannot be written, the session continues, because the store has every response.

    Raises
    ------
    InputError
        If the folder cannot be created.
    """

    def __init__(self, study: Study, store: Store, visitor: Visitor, events: VisitEvents, log: PsychoPyLog) -> None:
        self._study = study
        self._store = store
        self._visitor, self._events, self._log = visitor, events, log
        self._attempt_log: AttemptLog | None = None
        self.session: OpenSession | None = None
        self._problem: str | None = None
        self._problem_of_events: str | None = None
        self.table: Path | None = None
        self.eye: Path | None = None
        self._folder = lab_folder(study, store)
        for name in _FOLDERS.values():
            _make_folder(self._folder / name)

    @property
    def problem(self) -> str | None:
        """The error of the last write or deletion that failed; None if nothing failed."""
        of_attempts = self._attempt_log.problem if self._attempt_log else None
        return self._problem or self._problem_of_events or of_attempts or self._log.problem

    def open_attempt_log(self, session: OpenSession) -> AttemptLog:
        """Return the attempt log of a session, which becomes the current session."""
        self.session = session
        self._attempt_log = AttemptLog(self._path(session, BEGUN), self._path(session, FRAMES))
        return self._attempt_log

    def write(self, session: OpenSession) -> None:
        """Write PsychoPy's table from the responses in the store, and the events and the log of the visit so far."""
        self._write_table(session)
        self.write_events_and_log()

    def _write_table(self, session: OpenSession) -> None:
        self.table = self._path(session, ".csv")
        who, began = self._visitor, session.started_at
        try:
            devices = devices_of(self._store, session.session)
            heading = Heading(
                who.participant, who.kind, who.session_number, session.group, session.seed, began, devices
            )
            write_psychopy_csv(self.table, self._study, heading, trials_of(self._store, session.session))
            self._problem = None
        except (InputError, StoreUnavailable) as error:  # For instance because the table is open in Excel.
            self._problem = (
                f"{error} Every response is in the store."
                if isinstance(error, InputError)
                else (f"{self.table}: this file cannot be written ({error}). Every response is in the store.")
            )

    def write_events_and_log(self) -> None:
        """Write the events of the visit so far, and append the events since the last call to PsychoPy's log."""
        if self.session is None or self._begun(self.session) is None:  # The participant may have withdrawn.
            return
        run = f"_run-{self.session.visit}"
        self._log.append_to(self._path(self.session, f"{run}{LOG}"), self._events)
        path = self._path(self.session, f"{run}{EVENTS}")
        self._problem_of_events = None
        try:
            write_events(path, self._study, self._events)
        except InputError as error:
            self._problem_of_events = f"{error} Every response is in the store, with the events of its trial."

    def eye_file(self, session: OpenSession) -> Path:
        """Return the file for the data of the eye tracker in the current visit, after making its folder.

        Raises
        ------
        InputError
            If the folder cannot be created.
        """
        self.eye = self._path(session, f"_run-{session.visit}{EYE}")
        _make_folder(self.eye.parent)
        return self.eye

    def delete(self, _: OpenSession) -> None:
        """Delete the files of all sessions of the participant who withdrew."""
        self.table = self.eye = None
        self._problem = delete_withdrawn(self._study, self._store)

    def _path(self, session: OpenSession, ending: str) -> Path:
        """Return the path of the session's file with this ending. The file may not exist yet."""
        kinds = [name for end, name in {**_FOLDERS, EYE: _EYE_FOLDER}.items() if ending.endswith(end)]
        folder = self._folder.joinpath(*kinds)
        begun = self._begun(session)
        if begun is not None:
            return folder / (begun.name.removesuffix(BEGUN) + ending)
        who = self._visitor
        code = re.sub(r"[^A-Za-z0-9._-]+", "-", who.participant).lstrip(".") or "participant"
        what = "rehearsal_" if who.kind is Kind.SIMULATED else ""
        return folder / f"{code}_{who.session_number}_{what}{date_of(session.started_at)}_{session.session}{ending}"

    def _begun(self, session: OpenSession) -> Path | None:
        """Return the file of the session's attempts at trials; None if no trial has begun."""
        return next(self._folder.glob(f"*_{session.session}{BEGUN}"), None)


def _make_folder(folder: Path) -> None:
    try:
        private_folder(folder)
    except OSError as error:
        raise InputError(
            f"{folder}: the laboratory's files cannot be written to this folder ({error.strerror}). Fix: make the "
            "folder writable, and run the command again."
        ) from None


def lab_folder(study: Study, store: Store) -> Path:
    """Return the folder for the laboratory's files.

    If the store is a file, this is the folder `lab` next to the file. If the store is in PostgreSQL, this is `data/lab`
    in the study's folder.
    """
    return (store.path.parent if isinstance(store, SqliteStore) else study.folder / "data") / "lab"


def delete_withdrawn(study: Study, store: Store) -> str | None:
    """Delete the files of all withdrawn sessions on this machine.

    Returns
    -------
    str or None
        Message for the experimenter about a file that cannot be deleted; None if all files are deleted.
    """
    try:
        with store.snapshot() as db:
            withdrawn = withdrawn_in_laboratory(db, study.name)
    except StoreUnavailable as error:
        return (
            "The store cannot be read, so the files of withdrawn participants on this machine are not deleted yet "
            f"({error}). Fix: run the command again."
        )
    problem = None
    for path in [path for session in withdrawn for path in lab_folder(study, store).rglob(f"*_{session}*")]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            problem = (
                f"{path}: this file of a withdrawn participant cannot be deleted ({error.strerror}). "
                "Fix: close the program that has the file open, and delete the file."
            )
    return problem
