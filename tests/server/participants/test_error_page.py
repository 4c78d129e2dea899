"""Errors as a page for people with a browser, and as JSON for programs."""

from typing import Any

import pytest
from flask import Flask

from experiment.study.definition import Study
from experiment.texts import catalogue
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS
from tests.server.stores import saying

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(("method", "address", "status"), [("GET", "/nowhere", 404), ("GET", "/api/responses", 405)])
def test_a_browser_gets_a_page_for_a_wrong_address(
    small_study: Study, store: SqliteStore, language: str, method: str, address: str, status: int
) -> None:
    http = create_app(saying(small_study, language=language), store, SECRETS, Settings()).test_client()
    reply = http.open(address, method=method, headers=BROWSER)
    assert (reply.status_code, reply.mimetype) == (status, "text/html")
    assert catalogue(language)["page_not_found_title"] in reply.text
    assert catalogue(language)["page_not_found"] in reply.text
    assert 'href="/"' in reply.text
    assert "Whom to ask" in reply.text  # the contact of the study
    assert "error" not in reply.text.split("<main>")[1].replace("error-page", "")


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/css,*/*;q=0.1", "image/png,*/*;q=0.8"])
@pytest.mark.parametrize(("address", "status"), [("/nowhere", 404), ("/api/responses", 405)])
def test_a_program_gets_json(app: Flask, accept: str | None, address: str, status: int) -> None:
    reply = app.test_client().get(address, headers={"Accept": accept} if accept else {})
    assert (reply.status_code, reply.mimetype) == (status, "application/json")
    assert set(reply.get_json()) == {"error"}
    assert "Accept" in reply.headers["Vary"]


def test_a_browser_gets_a_page_without_details_for_an_unexpected_error(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr("server.participants.study_page._study_page", fail)
    reply = app.test_client().get("/", headers=BROWSER)
    assert (reply.status_code, reply.mimetype) == (500, "text/html")
    assert catalogue("en")["server_error"] in reply.text
    assert "secret" not in reply.text
