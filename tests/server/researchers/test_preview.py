"""Previews: a researcher takes the study as a participant, and is never counted."""

import threading
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from experiment.plan import plan_session
from experiment.study.definition import Study
from server.app import create_app
from server.metrics import figures
from server.researchers import preview
from server.researchers.preview import end_previews
from server.settings import Settings
from server.store import Role, SqliteStore
from tests.server.conftest import SECRETS, Participant
from tests.server.researchers.test_accounts import add_account, enter, fast_hashes
from tests.server.security.cross_site import ELSEWHERE
from tests.server.stores import recruiting, rows, sign_in

__all__ = ["fast_hashes"]

COOKIE = "equipoise_preview"


@pytest.fixture
def study(sample_study: Study) -> Study:
    """A study with a panel and a quota, which a preview ignores."""
    return recruiting(sample_study, entry="panel", quota=1)


@pytest.fixture
def served(study: Study, store: SqliteStore) -> Any:
    app = create_app(study, store, SECRETS, Settings())
    yield app
    end_previews(app)


@pytest.fixture
def researcher(served: Flask) -> FlaskClient:
    http = served.test_client()
    assert sign_in(http).status_code == 303
    return http


def begin(http: FlaskClient, group: str = "3", seed: str = "7") -> Any:
    return http.post("/researcher/preview", data={"group": group, "seed": seed})


def taking(http: FlaskClient) -> Participant:
    participant = Participant(http.application)
    participant.http = http
    return participant


def stored(store: SqliteStore) -> list[Any]:
    return [rows(store, f"SELECT * FROM {table}") for table in ("sessions", "responses", "slots", "planned_trials")]


def test_a_preview_has_the_plan_of_its_group_and_seed_and_stores_nothing(
    researcher: FlaskClient, study: Study, store: SqliteStore
) -> None:
    before, n_counted = stored(store), figures().stored._value.get()
    reply = begin(researcher)
    assert (reply.status_code, reply.headers["Location"]) == (303, "/")
    page = researcher.get("/").text
    assert "<strong>Preview</strong>, group 3, seed 7." in page
    participant = taking(researcher)
    assert participant.start().status_code == 201
    planned = plan_session(study, 3, 7).trials
    assert len(participant.session["trials"]) == len(planned)
    shown = [trial["content"] for trial in participant.session["trials"]]
    contents = {item.item_id: item.content for item in study.battery.items}
    assert shown == [contents[trial.item_id] for trial in planned]
    participant.answer_all()
    done = participant.complete()
    assert "PREVIEW" in done.text
    assert stored(store) == before
    assert figures().stored._value.get() == n_counted


def test_other_browsers_take_the_real_study(researcher: FlaskClient, served: Flask, store: SqliteStore) -> None:
    begin(researcher)
    assert "Preview" not in served.test_client().get("/").text
    assert taking(served.test_client()).start().status_code == 403, "the real study needs a panel id"


def test_after_its_end_the_cookie_opens_neither_the_preview_nor_the_study(
    researcher: FlaskClient, served: Flask
) -> None:
    begin(researcher)
    copy = served.test_client()
    copy.set_cookie(COOKIE, researcher.get_cookie(COOKIE).value)
    assert "Preview" in copy.get("/").text
    ended = researcher.post("/researcher/preview/end")
    assert (ended.status_code, ended.headers["Location"]) == (303, "/researcher/")
    assert researcher.get_cookie(COOKIE) is None
    for address in ("/", "/api/study", "/api/session", "/withdraw"):
        copy.set_cookie(COOKIE, "0" * 32)
        reply = copy.get(address)
        assert reply.status_code == 410
        assert "The preview has ended" in reply.text
        assert copy.get_cookie(COOKIE) is None
    assert "Preview" not in researcher.get("/").text


@pytest.mark.parametrize("value", ["", "x", "0" * 32, "../../etc"])
def test_a_guessed_cookie_opens_no_preview(served: Flask, researcher: FlaskClient, value: str) -> None:
    begin(researcher)
    other = served.test_client()
    other.set_cookie(COOKIE, value)
    assert other.get("/").status_code == 410


def test_the_cookie_changes_no_page_of_researchers_and_programs(researcher: FlaskClient) -> None:
    begin(researcher)
    assert researcher.get("/researcher/").status_code == 200
    token = {"Authorization": f"Bearer {SECRETS.researcher_token}"}
    assert researcher.get("/api/lab/slot?participant=P01", headers=token).status_code == 200
    assert researcher.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("group", "seed"),
    [("0", "1"), ("11", "1"), ("x", "1"), ("1", "0"), ("1", "-1"), ("1", ""), ("1", "1e3"), ("1", "9" * 30)],
)
def test_an_impossible_preview_is_refused(researcher: FlaskClient, group: str, seed: str) -> None:
    reply = begin(researcher, group, seed)
    assert reply.status_code == 409
    assert "There is no such preview" in reply.text
    assert researcher.get_cookie(COOKIE) is None


def test_a_viewer_may_preview_but_nobody_without_a_sign_in(served: Flask, study: Study, store: SqliteStore) -> None:
    add_account(store, study, "vera", Role.VIEWER)
    http = served.test_client()
    assert begin(http).status_code == 403
    enter(http, "vera")
    assert begin(http).status_code == 303


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_form_of_another_site_begins_and_ends_no_preview(researcher: FlaskClient, headers: dict[str, str]) -> None:
    data = {"group": "1", "seed": "1"}
    assert researcher.post("/researcher/preview", data=data, headers=headers).status_code == 403
    begin(researcher)
    assert researcher.post("/researcher/preview/end", headers=headers).status_code == 403
    assert "Preview" in researcher.get("/").text


def test_old_previews_end_and_their_files_are_deleted(
    served: Flask, researcher: FlaskClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preview, "MOST_PREVIEWS", 2)
    monkeypatch.setattr(preview.tempfile, "tempdir", str(tmp_path))
    browsers = []
    n_threads = threading.active_count()
    for seed in ("1", "2", "3"):
        http = served.test_client()
        sign_in(http)
        begin(http, "1", seed)
        browsers.append(http)
    assert [http.get("/").status_code for http in browsers] == [410, 200, 200]
    assert len(list(tmp_path.glob("equipoise-preview-*"))) == 2
    monkeypatch.setattr(preview.time, "monotonic", lambda moment=preview.time.monotonic: moment() + 3601)
    assert browsers[2].get("/").status_code == 410
    end_previews(served)
    assert list(tmp_path.glob("equipoise-preview-*")) == []
    assert threading.active_count() <= n_threads


def test_several_processes_have_no_previews(study: Study, store: SqliteStore) -> None:
    http = create_app(study, store, SECRETS, Settings(processes=2)).test_client()
    sign_in(http)
    reply = begin(http)
    assert reply.status_code == 409
    assert "one process" in reply.text
