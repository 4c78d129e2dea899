"""The progress page, as a researcher who has signed in reads it."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.server.stores import sign_in


@pytest.fixture
def researcher(app: Flask) -> FlaskClient:
    """The browser of a researcher who has signed in."""
    http = app.test_client()
    assert sign_in(http).status_code == 303
    return http


def test_progress_counts_sessions_by_group_and_status(researcher: FlaskClient, participant: Any, newcomer: Any) -> None:
    participant.answer_all()
    participant.complete()
    newcomer.start(kind="simulated")
    newcomer.withdraw()
    text = " ".join(researcher.get("/researcher/").text.split())
    people, simulated = text.split("Simulated participants")
    assert '<th scope="row">1</th><td>1</td><td>0</td><td>0</td><td>0</td><td>0</td>' in people
    assert '<th scope="row">All</th><td>0</td><td>0</td><td>0</td><td>0</td><td>1</td>' in simulated


def test_the_progress_page_names_no_participant(researcher: FlaskClient, participant: Any, store: Any) -> None:
    page = researcher.get("/researcher/").text
    assert not [row for row in store.trials() if row["participant"] in page or row["session"] in page]
