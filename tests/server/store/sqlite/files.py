"""The files of a store, damage to them, and the methods of a store."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.store import Identity, SqliteStore
from tests.server.stores import (
    Person,
    response,
    rows,
    verified,
    version_of,
)


def files_of(store: SqliteStore) -> list[Path]:
    """The store's file, and SQLite's further files."""
    return sorted(store.path.parent.glob(f"{store.path.name}*"))


OPERATIONS: dict[str, Callable[[Person], Any]] = {
    "start_session": lambda person: Person(person.store, person.study),
    "add_responses": lambda person: person.send(response(1)),
    "complete_session": lambda person: person.store.complete_session(person.study, person.session, True),
    "withdraw_session": lambda person: person.withdraw(),
    "resume_session": lambda person: person.store.resume_session(person.study, person.session),
    "register_study": lambda person: person.store.register_study(version_of(person.study, "9")),
    "find_session": lambda person: person.now,
    "responses": lambda person: person.store.responses(person.session),
    "why_full": lambda person: person.store.why_full(person.study),
    "require_slot": lambda person: person.store.require_slot(person.study, Identity("lab", "P01"), 1, None),
    "progress": lambda person: person.store.progress(person.study),
    "events": lambda person: person.store.events(person.study),
    "trials": lambda person: person.store.trials(),
    "identities": lambda person: person.store.identities(person.study),
    "check": lambda person: person.store.check(),
    "check_integrity": lambda person: person.store.check_integrity(),
    "snapshot": lambda person: verified(person.store),
}
"""Calls of the store's methods, by name."""


def damage(path: Path, page: int, page_size: int = 4096) -> None:
    """Overwrite a page of a file (from 1) with noise, as a failing disk does."""
    with path.open("r+b") as file:
        file.seek((page - 1) * page_size)
        file.write(random.Random(page).randbytes(page_size))


def root_page(store: SqliteStore, table: str) -> int:
    (page,) = rows(store, "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))[0]
    return int(page)
