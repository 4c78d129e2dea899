"""The files in `data/lab` of a study: for each session PsychoPy's table, the frames, and what was begun."""

import re
from datetime import datetime
from pathlib import Path

from experiment.lab.desk import OpenSession
from experiment.lab.notes import Notes
from experiment.lab.psychopy_csv import Heading, date_of, write_psychopy_csv
from experiment.lab.session import Visitor
from experiment.records import LabDevice
from experiment.study import Study
from server.store import Store
from server.store.taken import trials_of, withdrawn_in_laboratory


class LabFiles:
    """The files of the session that a participant has now."""

    def __init__(self, study: Study, store: Store, visitor: Visitor, device: LabDevice) -> None:
        self._study = study
        self._store = store
        self._visitor = visitor
        self._device = device
        self.table: Path | None = None

    def notes_of(self, session: OpenSession) -> Notes:
        """Return the notes of a session."""
        _folder(self._study).mkdir(parents=True, exist_ok=True)
        return Notes(self._path(session, "_begun.jsonl"), self._path(session, "_frames.csv"))

    def write_table(self, session: OpenSession) -> None:
        """Write PsychoPy's table anew, from what is in the store."""
        who = self._visitor
        heading = Heading(who.participant, who.occasion, session.group, session.seed, session.started_at, self._device)
        self.table = self._path(session, ".csv")
        write_psychopy_csv(self.table, self._study, heading, trials_of(self._store, session.session))

    def delete(self, session: OpenSession) -> None:
        """Delete all files of a session, whose answers were withdrawn."""
        _delete(self._study, self._visitor.participant, self._visitor.occasion, session.started_at)
        self.table = None

    def _path(self, session: OpenSession, ending: str) -> Path:
        who = self._visitor
        return _folder(self._study) / f"{_base(_in_names(who.participant), who.occasion, session.started_at)}{ending}"


def delete_withdrawn(study: Study, store: Store) -> None:
    """Delete the files of all sessions whose answers were withdrawn, wherever and whenever that was."""
    with store.snapshot() as db:
        withdrawn = withdrawn_in_laboratory(db, study.name)
    for code, occasion, started_at in withdrawn:
        _delete(study, code, occasion, started_at)


def _delete(study: Study, code: str | None, occasion: int, started_at: datetime) -> None:
    """Delete the files of one session; without the code, as of a rehearsal, the time it began tells them."""
    for path in _folder(study).glob(f"{_base(_in_names(code) if code else '*', occasion, started_at)}*"):
        path.unlink()


def _folder(study: Study) -> Path:
    return study.folder / "data" / "lab"


def _base(code: str, occasion: int, started_at: datetime) -> str:
    return f"{code}_{occasion}_{date_of(started_at)}"


def _in_names(code: str) -> str:
    """Return a code as it can be part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", code)
