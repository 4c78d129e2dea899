"""Fixtures for several packages: a sample study, a copy to change, the published data, a real browser and database."""

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser

from experiment.load_study import load_study
from experiment.study.definition import Study
from tests.browser import quick_chromium_path, running_chromium
from tests.missing import skip_but_never_in_ci
from tests.one_practice_trial import copy_with_one_practice_trial
from tests.paths import ROOT
from tests.pgbouncer import PgBouncer, find_pgbouncer
from tests.postgres import PostgresCluster, find_binaries

# A busy machine is not a failure: without this setting hypothesis fails a test with a case of 200 ms.
settings.register_profile("without deadline", settings.default, deadline=None)
settings.load_profile("without deadline")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without garbage collection, and never search their modules for garbage afterwards.

    A search through ten thousand tests and all libraries takes half a second, and there are hundreds of searches.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def sample_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The sample study with one practice trial."""
    return load_study(copy_with_one_practice_trial(tmp_path_factory.mktemp("sample") / "study"))


@pytest.fixture
def study_folder(tmp_path: Path) -> Path:
    """A copy of the sample study with one practice trial."""
    return copy_with_one_practice_trial(tmp_path / "study")


@pytest.fixture
def edit() -> Callable[[Path, str, str], None]:
    """Replace a text that must be in a file."""

    def replace(path: Path, old: str, new: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{path} does not contain {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return replace


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder with published data, which is not part of the project; in CI a missing folder is an error."""
    folder = Path(os.environ.get("EQUIPOISE_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        skip_but_never_in_ci(f"the published data are not at {folder}; set EQUIPOISE_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def stored_runs(test_data: Path) -> Path:
    """The published Black Box runs: three models, ten configurations, 235 predictions per model."""
    return test_data / "blackbox" / "predict" / "augmented_no_thinking.json"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, if possible without windows; in CI a Chromium must be installed."""
    path = quick_chromium_path()
    if path is None:
        skip_but_never_in_ci("no Chromium or Chrome was found; install one or set EQUIPOISE_CHROMIUM to its path")
    with running_chromium(path) as browser:
        yield browser


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """A private PostgreSQL server for the tests, made when the first test needs it; in CI it must be available.

    A test makes a database with `postgres.new_database()`, and may stop or kill the server.
    """
    binaries = find_binaries()
    if binaries is None:
        skip_but_never_in_ci(
            "no PostgreSQL server was found; install one or set EQUIPOISE_POSTGRES_BIN to its programs' folder"
        )
    with PostgresCluster(binaries) as cluster:
        yield cluster


@pytest.fixture
def pgbouncer(postgres: PostgresCluster) -> Iterator[PgBouncer]:
    """A PgBouncer in transaction mode in front of the tests' PostgreSQL server; in CI it must be available."""
    program = find_pgbouncer()
    if program is None:
        skip_but_never_in_ci("no pgbouncer was found on the PATH; install the package pgbouncer")
    if not postgres.is_running:
        postgres.start()
    with PgBouncer(program, postgres) as pgbouncer:
        yield pgbouncer
