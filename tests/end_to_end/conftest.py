"""What tests of the whole need."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def rows() -> Any:
    """Read the rows of a study's view `trials`, as the analysis does."""

    def read(study_folder: Path) -> list[dict[str, Any]]:
        uri = f"{(study_folder / 'data' / 'equipoise.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM trials ORDER BY session, trial_index")]

    return read
