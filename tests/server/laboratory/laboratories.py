"""Shared parts of the tests of laboratory sessions: an experimenter with a study and a store."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from experiment.lab_api import UploadedSession
from experiment.records import Kind, LabDevice, Source
from experiment.study.definition import Study
from server.store import Identity, SessionStart, Store, StoredSession
from server.store.sql.lab_sessions import LabSessionRecord
from tests.server.stores import response, rows

DEVICE = LabDevice(
    width_px=1920,
    height_px=1080,
    full_screen=True,
    screen=0,
    monitor="lab1",
    nominal_hz=60,
    measured_hz=59.94,
    frame_ms=16.683,
    is_synchronised=True,
    pacing="frames",
    keyboard="ptb",
    psychopy_version="2026.2.0",
    python_version="3.11.2",
    platform="Linux",
    text_font="DejaVu Sans",
)
BEGAN_AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def new_id() -> str:
    return str(uuid.uuid4())


def start_of(code: str | None = "P01", **fields: Any) -> SessionStart:
    """Return the request of a laboratory; without a code, the session is a rehearsal."""
    who: dict[str, Any] = {"kind": Kind.HUMAN, "identity": Identity("lab", code)} if code else {"kind": Kind.SIMULATED}
    defaults = {"start_id": new_id(), "source": Source.LAB, "token_digest": new_id(), "consent_digest": "consent",
            "device": DEVICE, "session_number": 1}  # fmt: skip
    return SessionStart(**(defaults | who | fields))


def uploaded_session(session: str = "00000000000000aa", **fields: Any) -> UploadedSession:
    """Return the fields of a session that was run on another machine."""
    defaults = {"participant": "p-aaaaaaaaaaaa", "group": 1, "seed": 1, "started_at": BEGAN_AT}
    return UploadedSession(session=session, **(defaults | fields))


def uploaded(one: LabSessionRecord, prefix: str = "") -> SessionStart:
    """Return the request of a laboratory that uploads a session."""
    uploaded = UploadedSession(
        session=one.session,
        participant=one.participant,
        group=one.group,
        seed=one.seed,
        started_at=one.started_at,
        withdrawal_code=one.withdrawal_code,
    )
    return start_of(f"{prefix}{one.code}", start_id=one.start_id, session_number=one.session_number, uploaded=uploaded)


class Laboratory:
    """An experimenter with a study and a store."""

    def __init__(self, store: Store, study: Study) -> None:
        self.store, self.study = store, study
        self.token = ""

    def start(self, code: str | None = "P01", **fields: Any) -> StoredSession:
        start = start_of(code, **fields)
        stored = self.store.start_session(self.study, start)
        self.token = start.token_digest
        return stored

    def add_uploaded(self, code: str | None = "P01", **fields: Any) -> StoredSession:
        session_number = fields.pop("session_number", 1)
        start_id = fields.pop("start_id", new_id())
        return self.start(code, session_number=session_number, start_id=start_id, uploaded=uploaded_session(**fields))

    def answer(self, stored: StoredSession, n: int | None = None) -> list[bool]:
        n_trials = len(stored.plan.trials)
        sent = [response(index, onset_source="flip") for index in range(n_trials if n is None else n)]
        return self.store.add_responses(stored.plan.session, self.token, sent)

    def complete(self, stored: StoredSession, **more: Any) -> None:
        if self.now().n_answered == 0:
            self.answer(stored)
        self.store.complete_session(self.study, stored.plan.session, True, **more)

    def now(self) -> StoredSession:
        found = self.store.find_session(self.token)
        assert found is not None
        return found


LabOf = Callable[..., Laboratory]


def log_of(store: Store, study: Study, session: str) -> list[tuple[str, dict[str, Any]]]:
    return [(event.event, event.details) for event in store.events(study) if event.session == session]


def n_sessions(store: Store) -> int:
    ((n,),) = rows(store, "SELECT COUNT(*) FROM sessions")
    return int(n)
