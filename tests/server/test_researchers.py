from typing import Any

import pytest
from flask import Flask


def test_the_link_opens_the_progress_page_and_its_token_leaves_the_url(app: Flask, participant: Any) -> None:
    http = app.test_client()
    entered = http.get("/researcher/enter/researcher-token")
    assert entered.status_code == 302
    assert entered.headers["Location"] == "/researcher/"
    page = http.get("/researcher/")
    assert page.status_code == 200
    assert "People" in page.text
    assert "Where does the ray come out?" in page.text


def test_progress_counts_sessions_by_group_and_status(app: Flask, participant: Any, newcomer: Any) -> None:
    participant.answer_all()
    participant.complete()
    newcomer.start(kind="simulated")
    newcomer.withdraw()
    http = app.test_client()
    http.get("/researcher/enter/researcher-token")
    text = " ".join(http.get("/researcher/").text.split())
    people, simulated = text.split("Simulated participants")
    assert '<th scope="row">1</th><td>1</td><td>0</td><td>0</td><td>0</td><td>0</td>' in people
    assert '<th scope="row">All</th><td>0</td><td>0</td><td>0</td><td>0</td><td>1</td>' in simulated


@pytest.mark.parametrize("address", ["/researcher/", "/researcher/enter/wrong", "/researcher/enter/"])
def test_nobody_else_gets_in(app: Flask, participant: Any, address: str) -> None:
    assert participant.http.get(address).status_code in {403, 404}


def test_the_progress_page_names_no_participant(app: Flask, participant: Any, store: Any) -> None:
    http = app.test_client()
    http.get("/researcher/enter/researcher-token")
    page = http.get("/researcher/").text
    assert not [row for row in store.trials() if row["participant"] in page or row["session"] in page]
