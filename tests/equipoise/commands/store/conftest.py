"""Studies with responses, in a file and in a database."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.equipoise.commands.store.commands import (
    FORMULA,
    StoredStudy,
    answer,
    cloned,
    in_a_database,
    make_small_study,
    on_a_file,
)


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> StoredStudy:
    """Return a panel's study without sessions, on a file and in a database."""
    folder = tmp_path / "study"
    make_small_study(folder, "panel")
    if request.param == "sqlite":
        return on_a_file(folder)
    return in_a_database(folder, request.getfixturevalue("postgres").new_database())


@pytest.fixture(scope="session")
def file_template(tmp_path_factory: pytest.TempPathFactory) -> StoredStudy:
    folder = tmp_path_factory.mktemp("template") / "study"
    make_small_study(folder, "panel")
    return filled(on_a_file(folder))


@pytest.fixture(scope="session")
def database_template(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> StoredStudy:
    folder = tmp_path_factory.mktemp("template") / "study"
    make_small_study(folder, "panel")
    return filled(in_a_database(folder, postgres.new_database()))


def filled(stored: StoredStudy) -> StoredStudy:
    """Make four participants: one completed, one is under way, one withdrew, and one has an id like a formula."""
    answer(stored, "anna", n_answers=100, then="complete")
    answer(stored, "bert", n_answers=3)
    answer(stored, "carl", n_answers=2, then="withdraw")
    answer(stored, FORMULA, n_answers=0)
    return stored


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> StoredStudy:
    """Return a panel's study with four participants, on a file and in a database; each test has a new copy."""
    kind = "file" if request.param == "sqlite" else "database"
    template: StoredStudy = request.getfixturevalue(f"{kind}_template")
    folder = tmp_path / "study"
    shutil.copytree(template.folder, folder)
    if kind == "file":
        copy = on_a_file(folder)
    else:
        copy = in_a_database(folder, cloned(request.getfixturevalue("postgres"), template.location))
    copy.sessions, copy.codes = dict(template.sessions), dict(template.codes)
    return copy


@pytest.fixture
def by_link(tmp_path: Path) -> Path:
    make_small_study(tmp_path / "study", "link")
    return tmp_path / "study"


@pytest.fixture
def by_panel(tmp_path: Path) -> Path:
    make_small_study(tmp_path / "study", "panel")
    return tmp_path / "study"
