"""Participants who return to a session."""

import uuid
from collections.abc import Callable
from typing import Any

from experiment.records import FoundDevice
from experiment.study.definition import Study
from server.settings import Settings
from server.store import (
    Identity,
    Store,
    StoredSession,
    Visit,
)
from tests.server.conftest import Participant
from tests.server.stores import (
    Person,
    rows,
)

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)


DEVICE = FoundDevice(
    width_px=1280,
    height_px=720,
    screen_width_px=1920,
    screen_height_px=1080,
    pixel_ratio=1.5,
    frame_ms=16.7,
    touch=False,
    phone=False,
    keyboard=True,
    automation=False,
)


def new_id() -> str:
    return str(uuid.uuid4())


def visit(person: Person, visit_id: str | None = None, study: Study | None = None) -> StoredSession:
    """Let a participant open their session again, and keep the server's reply as their session."""
    person.stored = person.store.open_session(study or person.study, person.token, Visit(visit_id or new_id()))
    return person.stored


def visits_of(store: Store, session: str) -> list[tuple[Any, ...]]:
    query = "SELECT visit, visit_id, next_trial_index, device FROM visits WHERE session = ? ORDER BY visit"
    return rows(store, query, (session,))


def slot_of(store: Store, session: str) -> tuple[Any, ...]:
    (found,) = rows(store, "SELECT status, slot, release_reason FROM sessions WHERE session = ?", (session,))
    return found


def sessions_in(store: Store) -> int:
    ((n,),) = rows(store, "SELECT COUNT(*) FROM sessions")
    return int(n)


def panel(external_id: str = "anna") -> Identity:
    return Identity("panel", external_id, {"SESSION_ID": f"submission of {external_id}"})


StudyOf = Callable[..., Study]


BrowserOf = Callable[..., Participant]


def opened(browser: Participant, visit_id: str | None = None) -> dict[str, Any]:
    reply = browser.http.post("/api/visit", json={"visit_id": visit_id or new_id()})
    assert reply.status_code == 200, reply.text
    session: dict[str, Any] = reply.get_json()
    return session
