"""A store and an application for each test, and a participant who sends HTTP requests."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from experiment.study.definition import Study
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from server.store.postgres.store import PostgresStore
from tests.postgres import PostgresCluster
from tests.server.laboratory.laboratories import LabOf, Laboratory
from tests.server.stores import Clock, empty, empty_open, make_small, recruiting

SECRETS = Secrets(signing_key="a signing key for tests", researcher_token="researcher-token")


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store. A test copies it, because a copy needs a tenth of the time of a new store."""
    path = tmp_path_factory.mktemp("empty") / "equipoise.db"
    SqliteStore(path).close()
    return path


@pytest.fixture
def sqlite_store(tmp_path: Path, empty_file: Path) -> Iterator[SqliteStore]:
    path = tmp_path / "data" / "equipoise.db"
    path.parent.mkdir(mode=0o700)
    shutil.copy(empty_file, path)
    store = SqliteStore(path)
    yield store
    store.close()


@pytest.fixture
def store(sqlite_store: SqliteStore) -> SqliteStore:
    return sqlite_store


@pytest.fixture
def app(sample_study: Study, store: SqliteStore) -> Flask:
    return create_app(sample_study, store, SECRETS, Settings())


def headers_of(kind: str | None) -> dict[str, str]:
    """Return the headers that a start needs; a simulated start needs the researcher's token."""
    return {"Authorization": f"Bearer {SECRETS.researcher_token}"} if kind == "simulated" else {}


class Participant:
    """A browser that sends a participant's requests."""

    def __init__(self, app: Flask) -> None:
        self.http: FlaskClient = app.test_client()
        self.session: dict[str, Any] = {}

    def start(self, **body: Any) -> TestResponse:
        digest = self.http.get("/api/study").get_json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        response = self.http.post("/api/session", json=start | body, headers=headers_of(body.get("kind")))
        self.session = response.get_json()
        return response

    def answer(self, trial_index: int, **changes: Any) -> TestResponse:
        """Send a possible answer to a trial."""
        answer = {
            "response_id": str(uuid.uuid4()),
            "trial_index": trial_index,
            "rt_ms": 1234.5,
            "fixation_ms": 200.1,
            "fixation_frames": 12,
            "shown_at": "2026-11-21T10:00:00.123Z",
            "frames_dropped": 0,
            "focus_lost": 0,
        }
        if "response" not in changes:
            answer["response"] = self.possible(trial_index)
        body = {"session": changes.pop("session", self.session["session"]), "responses": [answer | changes]}
        return self.http.post("/api/responses", json=body)

    def possible(self, trial_index: int) -> Any:
        trials = self.session["trials"]
        task = trials[trial_index]["task"] if 0 <= trial_index < len(trials) else "multiple_choice"
        return "absorbed" if task == "blackbox_predict" else 2

    def answer_all(self) -> None:
        for trial in self.session["trials"]:
            assert self.answer(trial["trial_index"]).status_code == 201

    def complete(self) -> TestResponse:
        return self.http.post("/api/complete", json={})

    def withdraw(self) -> TestResponse:
        return self.http.post("/api/withdraw", json={})


@pytest.fixture
def participant(app: Flask) -> Participant:
    participant = Participant(app)
    participant.start()
    return participant


@pytest.fixture
def participant_of() -> Callable[[Study, SqliteStore], Participant]:
    """Make a participant of another study than the sample."""
    return lambda study, store: Participant(create_app(study, store, SECRETS, Settings()))


@pytest.fixture
def newcomer(app: Flask) -> Participant:
    """A participant who has not begun."""
    return Participant(app)


@pytest.fixture(scope="session")
def small_study(sample_study: Study) -> Study:
    """A study with three groups and three trials per session, for the tests of the store."""
    return make_small(sample_study)


@pytest.fixture(params=["sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest) -> Store:
    """An empty store of each kind, for tests of the store contract."""
    store: Store = request.getfixturevalue("sqlite_store" if request.param == "sqlite" else "emptied_postgres_store")
    return store


@pytest.fixture(scope="session")
def shared_database(postgres: PostgresCluster) -> str:
    """The address of a database for all tests that do not change its tables; a new one takes ten times as long."""
    url = postgres.new_database()
    PostgresStore(url).close()
    return url


@pytest.fixture
def postgres_store(postgres: PostgresCluster, shared_database: str) -> Iterator[PostgresStore]:
    if not postgres.is_running:
        postgres.start()
    empty(shared_database)
    store = PostgresStore(shared_database)
    yield store
    store.close()


@pytest.fixture(scope="session")
def open_postgres_stores(postgres: PostgresCluster) -> Iterator[list[PostgresStore]]:
    """The store that `emptied_postgres_store` opened last, if there is one."""
    stores: list[PostgresStore] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def emptied_postgres_store(
    postgres: PostgresCluster, shared_database: str, open_postgres_stores: list[PostgresStore]
) -> PostgresStore:
    """An open store without rows; to open a store and its connections takes longer than most tests."""
    if not postgres.is_running:
        postgres.start()
    for store in list(open_postgres_stores):
        try:
            empty_open(store)
        except StoreUnavailable:  # A test has stopped the server, or closed the store.
            store.close()
            open_postgres_stores.remove(store)
    if not open_postgres_stores:
        empty(shared_database)
        open_postgres_stores.append(PostgresStore(shared_database))
    return open_postgres_stores[0]


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The stores' clock, which a test can advance."""
    with Clock().installed() as clock:
        yield clock


@pytest.fixture
def lab(any_store: Store, small_study: Study) -> Laboratory:
    any_store.register_study(small_study)
    return Laboratory(any_store, small_study)


@pytest.fixture
def lab_of(any_store: Store, small_study: Study) -> LabOf:
    """Make a laboratory with the small study, recruited in a way that a test chooses."""

    def make(study: Study = small_study, **recruitment: Any) -> Laboratory:
        recruited = recruiting(study, **recruitment)
        any_store.register_study(recruited)
        return Laboratory(any_store, recruited)

    return make
