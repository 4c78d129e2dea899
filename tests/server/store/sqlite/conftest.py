"""A participant under way in a store on a file."""

import pytest

from experiment.study.definition import Study
from server.store import SqliteStore
from tests.server.stores import (
    Person,
)


@pytest.fixture
def person(store: SqliteStore, small_study: Study) -> Person:
    """A participant who has answered one of three questions."""
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer()
    return person
