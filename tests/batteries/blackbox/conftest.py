from collections.abc import Iterator
from pathlib import Path

import pytest

from batteries.blackbox import table_cache
from batteries.blackbox.outcome_table import OutcomeTable, outcome_table


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty cache folder instead of the user's."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_cache, "cache_folder", lambda: folder)
        yield folder


@pytest.fixture(scope="session")
def table() -> OutcomeTable:
    """The table for 8 x 8 cells and 4 atoms, which is computed only once."""
    return outcome_table()
