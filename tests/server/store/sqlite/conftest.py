"""A participant under way in a store in a file."""

import pytest

from experiment.study.definition import Study
from server.store import SqliteStore
from tests.server.stores import (
    Person,
)


@pytest.fixture
def person(store: SqliteStore, small_study: Study) -> Person:
    """A participant who has responded to one of three trials."""
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer()
    return person
