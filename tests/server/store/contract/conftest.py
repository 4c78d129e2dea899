"""The store under test: SQLite and PostgreSQL in turn."""

import pytest

from experiment.study.definition import Study
from server.store import (
    Store,
)


@pytest.fixture
def store(any_store: Store, small_study: Study) -> Store:
    """Each kind of store, with the small study in it."""
    any_store.register_study(small_study)
    return any_store
