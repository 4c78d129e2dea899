"""Simulated sessions: begun only with the researcher's token, and never given a code or a link of people."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from experiment.records import Source
from experiment.study.definition import Study, consent_digest
from experiment.study.recruitment import Exit, Exits
from experiment.study.timeline import PracticeCriterion, Resume
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS, Participant
from tests.server.participants.visitors import PANEL_ID, Visitor, from_panel, refused
from tests.server.stores import held_by, practising, recruiting, rows, saying

PEOPLES = "https://panel.example.org/end?cc={code}"
OUTCOMES = ("completed", "failed_checks", "practice_not_passed", "not_resumed", "no_consent", "incompatible_device")
EXITS = Exits(**{name: Exit(code=f"PEOPLE-{name}", link=PEOPLES) for name in OUTCOMES})
SIGNS_OF_PEOPLES_EXITS = ("PEOPLE-", "panel.example.org", "FIXED-CODE")
AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    """Serve a study whose every exit has a code and a link."""

    def make(study: Study = small_study, **recruitment: Any) -> Flask:
        coded = saying(study, completion_code="FIXED-CODE")
        return create_app(recruiting(coded, exits=EXITS, **recruitment), store, SECRETS, Settings())

    return make


def start_of(app: Flask) -> dict[str, Any]:
    digest = app.test_client().get("/api/study").get_json()["consent_digest"]
    return {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "simulated"}


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "researcher-token",
        "Basic researcher-token",
        "Bearer researcher-token2",
    ],
)
@pytest.mark.parametrize("recruitment", [{}, {"entry": "panel"}, {"entry": "link"}, {"quota": 1}])
def test_a_simulated_session_needs_the_researchers_token(
    app_of: AppOf, store: SqliteStore, authorization: str | None, recruitment: dict[str, Any]
) -> None:
    app = app_of(**recruitment)
    before = held_by(store)
    headers = {} if authorization is None else {"Authorization": authorization}
    reply = app.test_client().post("/api/session", json=start_of(app), headers=headers)
    refused(reply, 403)
    assert "Set-Cookie" not in reply.headers
    assert held_by(store) == before


def test_with_the_token_a_simulation_needs_no_slot_and_no_panel_id(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(entry="panel", quota=1)
    Visitor(app, from_panel(PANEL_ID)).start()
    assert Visitor(app).start(kind="simulated").status_code == 201
    assert len(rows(store, "SELECT * FROM identities")) == 1


def test_a_persons_cookie_begins_no_simulated_session(app_of: AppOf, store: SqliteStore) -> None:
    person = Participant(app_of())
    person.start()
    reply = person.http.post("/api/session", json=start_of(person.http.application))
    refused(reply, 403)
    assert person.http.get("/api/session").get_json()["kind"] == "human"
    assert len(rows(store, "SELECT * FROM sessions")) == 1


def test_a_simulated_sessions_cookie_begins_no_further_session_without_the_token(app_of: AppOf) -> None:
    program = Participant(app_of())
    program.start(kind="simulated")
    refused(program.http.post("/api/session", json=start_of(program.http.application)), 403)


def assert_no_peoples_exit(text: str) -> None:
    assert not [sign for sign in SIGNS_OF_PEOPLES_EXITS if sign in text], text


def test_human_participants_receive_the_exits_of_the_study(app_of: AppOf) -> None:
    """The texts that the other tests search for are in the replies to human participants."""
    person = Participant(app_of())
    assert "PEOPLE-no_consent" in person.http.get("/api/study").text
    person.start()
    person.answer_all()
    assert "PEOPLE-completed" in person.complete().text


def test_a_simulated_session_that_is_completed_has_no_exit_of_people(app_of: AppOf) -> None:
    program = Participant(app_of())
    served = [program.start(kind="simulated").text]
    program.answer_all()
    served += [program.complete().text, program.complete().text, program.http.get("/api/session").text]
    served += [program.http.get("/api/study").text]
    visit = program.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())})
    assert_no_peoples_exit("".join([*served, visit.text]))
    completion = program.complete().get_json()
    assert completion["completion_code"] == completion["withdrawal_code"]
    assert completion["exit"]["url"] is None


def test_the_cookie_of_a_simulated_session_gives_no_exit_of_human_participants(app_of: AppOf) -> None:
    """With the cookie, a browser could resume the session as a human participant."""
    program = Participant(app_of(entry="panel"))
    program.start(kind="simulated")
    cookie = program.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    browser = Visitor(program.http.application, from_panel(PANEL_ID))
    browser.http.set_cookie(cookie.key, cookie.value, domain="localhost")
    browser.session = browser.get("/api/session").get_json()
    assert_no_peoples_exit(browser.get("/api/study").text + json.dumps(browser.session) + browser.complete().text)


def test_a_simulated_session_that_fails_the_practice_has_no_exit_of_people(app_of: AppOf, small_study: Study) -> None:
    strict = practising(small_study, 1, PracticeCriterion(correct=1, rounds=1, otherwise="end"))
    program = Participant(app_of(strict))
    program.start(kind="simulated")
    answered = program.answer(0)
    assert answered.get_json()["responses"][0]["feedback"]["practice"]["ended"] is not None
    assert_no_peoples_exit(answered.text + program.http.get("/api/session").text)


def test_a_simulated_session_that_resumes_too_often_gets_an_empty_exit(app_of: AppOf, small_study: Study) -> None:
    program = Participant(app_of(saying(small_study, resume=Resume(max_reloads=0))))
    program.start(kind="simulated")
    reply = program.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())})
    assert reply.get_json()["status"] == "ended"
    assert_no_peoples_exit(reply.text + program.http.get("/api/session").text)


def test_a_rehearsal_in_the_laboratory_has_no_exit_of_people(app_of: AppOf, small_study: Study) -> None:
    app = app_of()
    study = app.extensions["equipoise"].study
    program = Participant(app)
    start = start_of(app) | {"participant": "P01", "study_digest": study.digest}
    start["consent_digest"] = consent_digest(study.definition, study.texts, Source.LAB)
    reply = program.http.post("/api/lab/session", json=start, headers={"Authorization": "Bearer researcher-token"})
    assert reply.status_code == 201, reply.text
    program.session = reply.get_json()
    program.answer_all()
    assert_no_peoples_exit(program.complete().text + program.http.get("/api/session").text)
