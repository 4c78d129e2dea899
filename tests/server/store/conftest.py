"""Stores of each kind in which each kind of event has happened once."""

from collections.abc import Iterator

import pytest

from experiment.study.definition import Study
from server.store import SqliteStore, Store
from server.store.postgres.store import PostgresStore
from tests.server.store.used_stores import KINDS, live_in
from tests.server.stores import (
    Person,
)


@pytest.fixture(scope="module", params=KINDS)
def lived_in(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, small_study: Study
) -> Iterator[tuple[Store, dict[str, Person]]]:
    """A store in which each kind of event has happened once, and its participants; a test must not change it."""
    if request.param == "postgres":
        store: Store = PostgresStore(request.getfixturevalue("postgres").new_database())
    else:
        store = SqliteStore(tmp_path_factory.mktemp("lived-in") / "equipoise.db")
    yield store, live_in(store, small_study)
    store.close()
