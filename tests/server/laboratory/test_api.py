"""The laboratory's program over HTTP: permission, requests, replies, refusals and uploads."""

import json
import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from experiment.records import Source
from experiment.study.definition import Study, consent_digest
from experiment.study.demographics import DemographicQuestion
from experiment.study.timeline import PracticeCriterion, Resume
from server.app import create_app
from server.settings import Settings
from server.store import Identity, SqliteStore, Store
from server.store.database import as_text
from tests.server.conftest import SECRETS, Participant
from tests.server.laboratory.laboratories import DEVICE
from tests.server.stores import (
    at_once,
    held_by,
    practising,
    problems,
    recruiting,
    rows,
    saying,
    sign_in,
    verified,
    version_of,
)
from tests.server.test_api_fuzz import assert_no_server_error, mutated, quick

TOKEN = {"Authorization": f"Bearer {SECRETS.researcher_token}"}
ADDRESS = "/api/lab/session"
BROWSER = {"width_px": 1280, "height_px": 720, "screen_width_px": 1920, "screen_height_px": 1080, "pixel_ratio": 1.5,
           "touch": False, "phone": False, "automation": False}  # fmt: skip


def new_id() -> str:
    return str(uuid.uuid4())


class Experimenter:
    """The laboratory's program: a client of the server, and the current session."""

    def __init__(self, app: Flask) -> None:
        self.http = app.test_client()
        self.study: Study = app.extensions["equipoise"].study
        self.session: dict[str, Any] = {}

    def body(self, participant: str = "P01", **more: Any) -> dict[str, Any]:
        """Return the body of a start."""
        digest = consent_digest(self.study.definition, self.study.texts, Source.LAB)
        fields = {"start_id": new_id(), "consent_digest": digest, "study_digest": self.study.digest}
        return fields | {"participant": participant, "device": DEVICE.model_dump()} | more

    def send(self, body: Any, headers: dict[str, str] = TOKEN) -> TestResponse:
        return self.http.post(ADDRESS, json=body, headers=headers)

    def start(self, participant: str = "P01", **more: Any) -> TestResponse:
        reply = self.send(self.body(participant, **more))
        if reply.status_code < 300:
            self.session = reply.get_json()
        return reply

    def find(self, headers: dict[str, str] = TOKEN, **who: Any) -> TestResponse:
        return self.http.get(ADDRESS, query_string=who, headers=headers)

    def check_slot(self, participant: str = "P01", headers: dict[str, str] = TOKEN, **who: Any) -> TestResponse:
        return self.http.get("/api/lab/slot", query_string={"participant": participant} | who, headers=headers)

    def post(self, address: str, **body: Any) -> TestResponse:
        return self.http.post(address, json=body)

    def respond(self, *responses: dict[str, Any]) -> TestResponse:
        return self.post("/api/responses", session=self.session["session"], responses=list(responses))

    def answers(self, *indices: int) -> list[dict[str, Any]]:
        """Return responses to trials, by default to all trials."""
        return [answer(index) for index in indices or range(len(self.session["trials"]))]

    def take(self) -> dict[str, Any]:
        """Respond to the remaining trials and complete the session."""
        first = self.http.get("/api/session").get_json()["next_trial_index"]
        assert self.respond(*self.answers(*range(first, len(self.session["trials"])))).status_code == 201
        completed: dict[str, Any] = self.post("/api/complete").get_json()
        return completed

    def brought(self, **more: Any) -> dict[str, Any]:
        """Return the fields of this laboratory's session, for an upload."""
        names = ("session", "participant", "group", "seed", "started_at", "withdrawal_code")
        return {name: self.session[name] for name in names} | more


def answer(index: int, response: str = "absorbed") -> dict[str, Any]:
    return {
        "response_id": new_id(), "trial_index": index, "response": response, "rt_ms": 812.25, "input": "key",
        "fixation_ms": 200.02, "fixation_frames": 12, "fixation_frames_intended": 12, "frame_ms": 16.68, "visit": 1,
        "frames_dropped": 0, "shown_at": "2026-11-22T10:00:00.123Z", "onset_source": "flip",
    }  # fmt: skip


def refused(reply: TestResponse, status: int) -> str:
    """Return the sentence of a refusal."""
    assert reply.status_code == status, reply.text
    assert not reply.headers.getlist("Set-Cookie")
    sentence: str = reply.get_json()["error"]
    assert sentence.endswith((".", "!"))
    return sentence


LabOf = Callable[..., Experimenter]


@pytest.fixture
def lab_of(small_study: Study, any_store: Store) -> LabOf:
    """Make the laboratory of a study that a test chooses, recruited as it chooses."""

    def make(study: Study = small_study, settings: Settings | None = None, **recruitment: Any) -> Experimenter:
        recruited = recruiting(study, **recruitment) if recruitment else study
        return Experimenter(create_app(recruited, any_store, SECRETS, settings or Settings()))

    return make


@pytest.fixture
def lab(lab_of: LabOf) -> Experimenter:
    return lab_of()


@pytest.fixture
def other_lab(small_study: Study, tmp_path: Path) -> Iterator[Experimenter]:
    """A laboratory without a connection, with a separate store."""
    with closing(SqliteStore(tmp_path / "elsewhere" / "equipoise.db")) as store:
        yield Experimenter(create_app(small_study, store, SECRETS, Settings()))


# Permission


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Bearer wrong"},
     {"Authorization": SECRETS.researcher_token}, {"Authorization": f"Basic {SECRETS.researcher_token}"},
     {"Authorization": f"Bearer {SECRETS.researcher_token}x"}, {"Authorization": "Bearer \u00ff"}],
)  # fmt: skip
def test_a_laboratory_session_needs_the_researchers_token(
    lab: Experimenter, any_store: Store, headers: dict[str, str]
) -> None:
    before = held_by(any_store)
    assert "Authorization: Bearer" in refused(lab.send(lab.body(), headers), 403)
    assert "Authorization: Bearer" in refused(lab.find(headers, participant="P01"), 403)
    assert "Authorization: Bearer" in refused(lab.check_slot(headers=headers), 403)
    assert held_by(any_store) == before


def test_guesses_of_the_token_are_limited_and_the_right_token_is_accepted(lab: Experimenter) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    statuses = [lab.send(lab.body(), wrong).status_code for _ in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    assert lab.start().status_code == 201
    assert lab.find(participant="P01").status_code == 200


def test_the_researchers_cookie_begins_no_laboratory_session(lab: Experimenter) -> None:
    assert sign_in(lab.http).status_code == 303
    refused(lab.send(lab.body(), {}), 403)


# Starts


def test_the_reply_to_a_laboratory_start_has_all_fields_that_the_program_needs(
    lab: Experimenter, any_store: Store
) -> None:
    reply = lab.start(group=2)
    assert reply.status_code == 201
    found = any_store.session_on(lab.study, Identity("lab", "P01"), 1)
    assert found is not None
    on_the_web = lab.http.get("/api/session").get_json()
    assert lab.session.items() >= on_the_web.items()
    assert {name: lab.session[name] for name in lab.session.keys() - on_the_web.keys()} == {
        "group": 2,
        "seed": 1,
        "participant": found.session.participant.participant,
        "started_at": found.session.started_at.isoformat(),
        "withdrawal_code": found.plan.withdrawal_code,
        "n_answers": 0,
        "n_other_sessions": 0,
    }
    assert found.session.source is Source.LAB
    assert "HttpOnly" in reply.headers["Set-Cookie"]


def test_an_existing_session_is_resumed_with_status_200(lab: Experimenter) -> None:
    lab.start()
    lab.respond(*lab.answers(0, 1))
    before = lab.session
    assert lab.start().status_code == 200
    assert (lab.session["session"], lab.session["next_trial_index"], lab.session["visit"]) == (before["session"], 2, 2)
    assert lab.respond(*lab.answers(2)).status_code == 201


def test_a_laboratory_session_uses_the_web_addresses_after_the_start(
    lab_of: LabOf, small_study: Study, any_store: Store
) -> None:
    timeline = small_study.definition.timeline.model_copy(update={"demographics": "about-you.yaml"})
    study = replace(
        saying(version_of(small_study, "asking"), timeline=timeline),
        texts=dict(small_study.texts) | {"about-you.yaml": "questions: ..."},
        demographics=(DemographicQuestion(name="age", ask="How old are you?", answer="number", low=18, high=120),),
    )
    lab = lab_of(study)
    lab.start()
    assert [question["name"] for question in lab.session["demographics"]] == ["age"]
    assert lab.post("/api/demographics", session=lab.session["session"], answers={"age": 30}).status_code == 200
    practised = lab.respond(*lab.answers(0))
    assert practised.get_json()["responses"][0]["feedback"]["correct"] in {True, False}
    refused(lab.respond(answer(1, "nothing that the task knows")), 422)
    assert lab.post("/api/visit", visit_id=new_id()).get_json()["visit"] == 2
    completed = lab.take()
    assert completed["withdrawal_code"] == lab.session["withdrawal_code"]
    (row,) = any_store.sessions(study)
    assert (row["status"], row["source"], row["demographics_age"]) == ("completed", "lab", 30)
    assert row["device_pacing"] == "frames"
    assert {trial["onset_source"] for trial in any_store.trials(study)} == {"flip"}
    assert problems(any_store) == []


def test_withdrawal_in_the_laboratory_deletes_all_responses(lab: Experimenter, any_store: Store) -> None:
    lab.start()
    lab.respond(*lab.answers(0, 1))
    assert lab.post("/api/withdraw").status_code == 200
    assert rows(any_store, "SELECT COUNT(*) FROM responses") == [(0,)]
    assert rows(any_store, "SELECT device FROM visits") == [(None,)]
    assert "cannot begin this study again" in refused(lab.start(), 409)
    assert "cannot begin this study again" in refused(lab.start(session_number=2), 409)
    assert lab.find(participant="P01").get_json()["status"] == "withdrawn"
    assert problems(any_store) == []


def test_the_withdrawal_code_from_the_laboratory_deletes_the_responses_later(
    lab: Experimenter, any_store: Store
) -> None:
    lab.start()
    code = lab.take()["withdrawal_code"]
    assert lab.http.post("/withdraw", data={"code": code}).status_code == 200
    assert rows(any_store, "SELECT status FROM sessions") == [("withdrawn",)]


@pytest.mark.parametrize("way_in", ["panel", "link"])
def test_the_web_studys_kind_of_entry_does_not_affect_the_laboratory(lab_of: LabOf, way_in: str) -> None:
    assert lab_of(entry=way_in).start().status_code == 201


def test_a_completed_session_number_is_refused_with_a_fix(lab: Experimenter) -> None:
    lab.start()
    lab.take()
    assert "`--session-number 2`" in refused(lab.start(), 409)
    assert lab.start(session_number=2).status_code == 201


def test_a_start_can_name_a_group_and_a_refusal_names_the_group(lab_of: LabOf) -> None:
    lab = lab_of(quota_per_group=1)
    assert lab.start(group=3).get_json()["group"] == 3
    assert "Group 3 is full" in refused(lab.start("P02", group=3), 409)
    assert "no group 4" in refused(lab.start("P02", group=4), 409)
    assert "in group 3, not 1" in refused(lab.start(group=1), 409)


def test_a_rehearsal_is_stored_as_simulated(lab: Experimenter, any_store: Store) -> None:
    assert lab.start(kind="simulated").status_code == 201
    assert (lab.session["kind"], any_store.identities(lab.study)) == ("simulated", [])
    assert lab.find(participant="P01").status_code == 404
    lab.take()
    assert lab.start(kind="simulated").status_code == 201
    assert lab.start().status_code == 201
    assert {row["kind"] for row in any_store.sessions(lab.study)} == {"simulated", "human"}


def test_simultaneous_starts_with_one_code_make_one_session(lab: Experimenter, any_store: Store) -> None:
    bodies = [lab.body() for _ in range(4)]
    statuses = at_once(*(lambda body=body: Experimenter(lab.http.application).send(body).status_code
                         for body in bodies))  # fmt: skip
    assert set(statuses) <= {200, 201, 409}
    assert rows(any_store, "SELECT COUNT(*) FROM sessions") == [(1,)]
    assert problems(any_store) == []


def test_many_participants_can_begin_at_the_same_time(lab_of: LabOf) -> None:
    lab = lab_of(settings=Settings(starts_per_minute=1))
    assert [lab.start(f"P{number}").status_code for number in range(5)] == [201] * 5


# Checks and lookups


def test_finding_a_session_stores_nothing(lab: Experimenter, any_store: Store) -> None:
    assert lab.find(participant="P01").status_code == 404
    lab.start(session_number=2)
    lab.respond(*lab.answers(0))
    before = held_by(any_store)
    reply = Experimenter(lab.http.application).find(participant="P01", session_number="2")
    assert reply.get_json() == lab.session | {"next_trial_index": 1, "n_answers": 1}
    assert not reply.headers.getlist("Set-Cookie")
    assert lab.find(participant="P01").status_code == 404
    assert lab.find(participant="P02", session_number="2").status_code == 404
    assert held_by(any_store) == before


@pytest.mark.parametrize(
    "who", [{}, {"participant": ""}, {"participant": " "}, {"participant": "P01", "session_number": "0"},
            {"participant": "P01", "session_number": "x"}, {"participant": "P01", "group": "1"}],
)  # fmt: skip
def test_an_invalid_code_is_not_looked_up(lab: Experimenter, who: dict[str, str]) -> None:
    refused(lab.find(**who), 422)


@pytest.mark.parametrize("who", [{"participant": ""}, {"session_number": "0"}, {"group": "x"}, {"kind": "human"}])
def test_a_check_for_an_invalid_slot_is_refused(lab: Experimenter, who: dict[str, str]) -> None:
    refused(lab.check_slot(**who), 422)


def test_the_check_of_a_slot_gives_the_same_result_as_the_start(lab_of: LabOf, any_store: Store) -> None:
    lab = lab_of(quota=2, quota_per_group=1)
    assert lab.start(group=3).status_code == 201
    before = held_by(any_store)
    assert lab.check_slot("P02").status_code == lab.check_slot("P02", group="1").status_code == 200
    assert "Group 3 is full" in refused(lab.check_slot("P02", group="3"), 409)
    assert "no group 4" in refused(lab.check_slot("P02", group="4"), 409)
    assert held_by(any_store) == before
    assert lab.start("P02").status_code == 201
    assert "no free slot for participant P03" in refused(lab.check_slot("P03"), 409)
    assert lab.post("/api/withdraw").status_code == 200
    assert lab.check_slot("P03").status_code == 200
    assert "cannot begin this study again" in refused(lab.check_slot("P02"), 409)


def test_the_check_of_a_slot_refuses_a_participant_who_cannot_resume(lab: Experimenter, any_store: Store) -> None:
    lab.start(group=2)
    before = held_by(any_store)
    assert lab.check_slot().status_code == lab.check_slot(group="2").status_code == 200
    assert "in group 2, not 1" in refused(lab.check_slot(group="1"), 409)
    assert held_by(any_store) == before
    lab.take()
    assert refused(lab.check_slot(), 409) == refused(lab.start(), 409)
    assert lab.check_slot(session_number="2").status_code == 200


# Refusals


@pytest.mark.parametrize("participant", ["P", "P01", "p 01", "Ж-7", "x" * 64, "a'b\"c;--", "1.2"])
def test_a_laboratory_code_may_have_any_printable_characters(lab: Experimenter, participant: str) -> None:
    assert lab.start(participant).status_code == 201
    assert lab.find(participant=participant).status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"participant": value} for value in ("", " P01", "P01 ", "P\t01", "P\n01", "x" * 65, "\0", "\u200e", 1, None)]
    + [{"session_number": value} for value in (0, -1, 10_001, 1.5, "1", True, None)]
    + [{"group": value} for value in (1.5, "1", True)]
    + [{"kind": value} for value in ("model", "", None)]
    + [{"start_id": "P01"}, {"study_digest": None}, {"consent_digest": 1}, {"extra": 1}, {"device": {}},
       {"device": BROWSER}, {"device": DEVICE.model_dump() | {"pacing": "hope"}},
       {"device": DEVICE.model_dump() | {"frame_ms": 0}}, {"uploaded": {}}],
    ids=str,
)  # fmt: skip
def test_an_invalid_start_is_refused(lab: Experimenter, any_store: Store, change: dict[str, Any]) -> None:
    before = held_by(any_store)
    refused(lab.send(lab.body() | change), 422)
    assert held_by(any_store) == before


@pytest.mark.parametrize("name", ["start_id", "consent_digest", "study_digest", "participant"])
def test_the_refusal_names_a_missing_field_of_a_start(lab: Experimenter, name: str) -> None:
    body = lab.body()
    del body[name]
    assert f"`{name}`" in refused(lab.send(body), 422)


def test_a_start_is_json(lab: Experimenter) -> None:
    for data in (b"", b"{", b"[]", b"null", b'{"participant": "\\ud800"}'):
        reply = lab.http.post(ADDRESS, data=data, content_type="application/json", headers=TOKEN)
        refused(reply, 422)
    refused(lab.http.post(ADDRESS, data=json.dumps(lab.body()), headers=TOKEN), 415)


def test_a_start_with_another_study_is_refused(lab: Experimenter, any_store: Store) -> None:
    before = held_by(any_store)
    message = refused(lab.start(study_digest="0" * 64), 409)
    assert f"version 1.0 of `{lab.study.name}`" in message
    assert "differs from the server's study" in message
    assert "study's consent text for the laboratory" in refused(lab.start(consent_digest="0" * 64), 422)
    assert held_by(any_store) == before


def test_a_web_session_accepts_only_a_browser_device(lab: Experimenter, small_study: Study, any_store: Store) -> None:
    visitor = Participant(lab.http.application)
    assert visitor.start(device=DEVICE.model_dump()).status_code == 422
    visitor.start(device=BROWSER)
    refused(visitor.http.post("/api/visit", json={"visit_id": new_id(), "device": DEVICE.model_dump()}), 422)
    assert visitor.http.post("/api/visit", json={"visit_id": new_id(), "device": BROWSER}).status_code == 200


def test_a_laboratory_code_is_in_no_log_and_on_no_page(lab: Experimenter, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        lab.start("the-code-of-somebody")
        lab.take()
        lab.start("the-code-of-somebody")
    assert "session begun" in caplog.text
    assert "the-code" not in caplog.text + repr([vars(record) for record in caplog.records])
    assert sign_in(lab.http).status_code == 303
    page = lab.http.get("/researcher/").text
    assert "the-code" not in page
    assert '<tfoot><tr><th scope="row">All</th><td class="picture"></td><td>1</td>' in page


def test_a_laboratory_learns_how_much_a_withdrawal_would_delete(lab_of: LabOf, small_study: Study) -> None:
    lab = lab_of(saying(small_study, resume=Resume(interrupted_trial="skip")))

    def numbers(reply: TestResponse) -> tuple[int, int]:
        return reply.get_json()["n_answers"], reply.get_json()["n_other_sessions"]

    assert numbers(lab.start("P01")) == (0, 0)
    missed = {"response_id": new_id(), "trial_index": 1, "response": None, "missing": "interrupted"}
    assert lab.respond(answer(0), missed).status_code == 201
    assert numbers(lab.find(participant="P01")) == (1, 0)
    assert numbers(lab.start("P01")) == (1, 0)
    lab.take()
    assert numbers(lab.start("P02")) == (0, 0), "the sessions of other participants do not count"
    assert numbers(lab.start("P01", session_number=2)) == (0, 1)
    assert numbers(lab.find(participant="P01")) == (len(lab.session["trials"]) - 1, 1)
    assert numbers(lab.start("P01", kind="simulated")) == (0, 0), "a rehearsal is not a session of the participant"


# Uploads


def bring(lab: Experimenter, source: Experimenter, answers: list[dict[str, Any]], **more: Any) -> TestResponse:
    """Upload a session with its responses from another machine."""
    reply = lab.start(uploaded=source.brought(**more), kind=source.session["kind"])
    if reply.status_code < 300 and answers:
        sent = lab.respond(*answers)
        assert sent.status_code in {200, 201}, sent.text
    return reply


def test_an_uploaded_session_is_complete_and_a_second_upload_changes_nothing(
    lab: Experimenter, other_lab: Experimenter, any_store: Store
) -> None:
    other_lab.start()
    answers = other_lab.answers()
    assert other_lab.respond(*answers[:2]).status_code == 201
    assert bring(lab, other_lab, answers[:2]).status_code == 201
    assert other_lab.respond(*answers[2:]).status_code == 201
    completion = other_lab.post("/api/complete").get_json()
    seen = []
    for _ in range(2):
        assert bring(lab, other_lab, answers).status_code == 200
        completed = lab.post("/api/complete", completed_at="2026-11-22T11:30:00.000+01:00")
        assert completed.get_json() == completion
        seen.append(verified(any_store))
        assert (seen[-1].problems, seen[-1].n_responses) == ([], 3)
    assert seen[0] == seen[1]
    (row,) = any_store.sessions(lab.study)
    assert row["completed_at"] == "2026-11-22T10:30:00.000+00:00"
    assert row["started_at"] == as_text(datetime.fromisoformat(other_lab.session["started_at"]))
    assert row["uploaded_at"] is not None
    assert [trial["response"] for trial in any_store.trials(lab.study)] == ['"absorbed"'] * 3


def test_a_session_can_be_uploaded_to_a_full_study(lab_of: LabOf, other_lab: Experimenter, any_store: Store) -> None:
    lab = lab_of(quota=1)
    other = Participant(lab.http.application)
    other.start()
    other_lab.start()
    answers = other_lab.answers()
    assert bring(lab, other_lab, answers[:1]).status_code == 201
    assert bring(lab, other_lab, answers).status_code == 200
    for look in (lambda: lab.http.get("/api/session"), lambda: lab.post("/api/visit", visit_id=new_id())):
        assert look().status_code == 200
    assert lab.post("/api/complete").status_code == 200
    rows_of = {row["source"]: row for row in any_store.sessions(lab.study)}
    assert (rows_of["lab"]["status"], rows_of["lab"]["slot"], rows_of["lab"]["release_reason"]) == (
        "completed",
        "released",
        "no room",
    )
    assert rows_of["web"]["slot"] == "reserved"
    assert problems(any_store) == []


def test_the_next_session_belongs_to_the_same_uploaded_participant(lab: Experimenter, other_lab: Experimenter) -> None:
    other_lab.start()
    bring(lab, other_lab, other_lab.answers())
    lab.post("/api/complete")
    lab.start(session_number=2)
    assert lab.session["participant"] == other_lab.session["participant"]
    other_lab.start(session_number=3)
    assert lab.start(session_number=3, uploaded=other_lab.brought()).status_code == 201
    assert "a different session with" in refused(lab.start(session_number=4, uploaded=other_lab.brought()), 409)
    assert lab.find(participant="P01", session_number="3").get_json()["session"] == other_lab.session["session"]


def test_a_session_begun_on_a_server_can_run_on_another_machine_and_be_uploaded(
    lab_of: LabOf, other_lab: Experimenter, any_store: Store
) -> None:
    """So the server chooses group and order, and the laboratory needs no connection for the rest of the session."""
    server = lab_of(quota_per_group=2)
    server.start("P00", group=3)
    server.start("P01", group=3)
    assert other_lab.start("P01", uploaded=server.brought()).status_code == 201
    planned = {
        name: server.session[name] for name in ("session", "participant", "group", "seed", "withdrawal_code", "trials")
    }
    assert other_lab.session.items() >= planned.items()
    answers = other_lab.answers()
    for n_taken in range(1, 4):
        assert other_lab.respond(*answers[:n_taken]).status_code == 201
        assert bring(server, other_lab, answers[:n_taken]).status_code == 200
        assert server.session["next_trial_index"] == n_taken - 1
    assert other_lab.start("P01").get_json()["next_trial_index"] == 3
    completion = other_lab.post("/api/complete").get_json()
    assert server.post("/api/complete", completed_at="2026-11-22T10:30:00Z").get_json() == completion
    (row,) = [row for row in any_store.sessions(server.study) if row["session"] == other_lab.session["session"]]
    assert (row["status"], row["slot"], row["n_visits"]) == ("completed", "confirmed", 1)
    assert row["completed_at"] == "2026-11-22T10:30:00.000+00:00"
    assert problems(any_store) == []


def test_an_uploaded_withdrawal_withdraws_the_session_and_a_retry_changes_nothing(
    lab: Experimenter, other_lab: Experimenter, any_store: Store
) -> None:
    other_lab.start()
    bring(lab, other_lab, other_lab.answers(0, 1))
    for _ in range(2):
        assert bring(lab, other_lab, []).status_code == 200
        assert lab.post("/api/withdraw").status_code == 200
    assert lab.start(uploaded=other_lab.brought()).get_json()["status"] == "withdrawn"
    refused(lab.respond(*other_lab.answers(0, 1)), 409)
    assert rows(any_store, "SELECT COUNT(*) FROM responses") == [(0,)]
    assert problems(any_store) == []


def test_an_uploaded_withdrawal_of_an_unknown_session_does_not_withdraw_another_participant_with_the_code(
    lab: Experimenter, other_lab: Experimenter, any_store: Store
) -> None:
    lab.start()
    lab.take()
    other_lab.start()
    message = refused(lab.start(uploaded=other_lab.brought(is_withdrawn=True), session_number=2), 409)
    assert "`equipoise withdraw STUDY --participant P01`" in message
    assert lab.start("B-P01", uploaded=other_lab.brought(is_withdrawn=True), session_number=2).status_code == 201
    assert lab.post("/api/withdraw").status_code == 200
    assert rows(any_store, "SELECT status FROM sessions ORDER BY 1") == [("completed",), ("withdrawn",)]


def test_an_uploaded_rehearsal_stays_simulated(lab: Experimenter, other_lab: Experimenter, any_store: Store) -> None:
    other_lab.start(kind="simulated")
    assert bring(lab, other_lab, other_lab.answers()).status_code == 201
    assert bring(lab, other_lab, []).status_code == 200
    assert any_store.identities(lab.study) == []
    assert {row["kind"] for row in any_store.trials(lab.study)} == {"simulated"}


def test_a_large_file_is_uploaded_100_responses_at_a_time_without_a_limit(
    sample_study: Study, any_store: Store, tmp_path: Path
) -> None:
    """The responses are sent as fast as the server accepts them, under the default limits of a server."""
    lab = Experimenter(create_app(sample_study, any_store, SECRETS, Settings()))
    with closing(SqliteStore(tmp_path / "elsewhere" / "equipoise.db")) as store:
        source = Experimenter(create_app(sample_study, store, SECRETS, Settings()))
        for number in range(4):
            source.start(f"P{number}")
            answers = [
                answer(trial["trial_index"]) | ({} if trial["task"] == "blackbox_predict" else {"response": 2})
                for trial in source.session["trials"]
            ]
            assert len(answers) > 20
            assert lab.start(f"P{number}", uploaded=source.brought()).status_code == 201
            assert lab.respond(*answers[:100]).status_code == 201
            assert lab.post("/api/complete").status_code == 200
    assert problems(any_store) == []


RIGHT, WRONG = "east-5", "absorbed"


@pytest.mark.parametrize("otherwise", ["continue", "end"])
@pytest.mark.parametrize(
    "practice", [(RIGHT, RIGHT), (WRONG, RIGHT, RIGHT, RIGHT), (WRONG,) * 6], ids=["at once", "second", "never"]
)
def test_uploaded_practice_has_the_same_result(
    small_study: Study, any_store: Store, tmp_path: Path, otherwise: str, practice: tuple[str, ...]
) -> None:
    criterion = PracticeCriterion(correct=2, rounds=3, otherwise=otherwise)
    study = practising(version_of(small_study, "practising"), 2, criterion)
    lab = Experimenter(create_app(study, any_store, SECRETS, Settings()))
    with closing(SqliteStore(tmp_path / "elsewhere" / "equipoise.db")) as store:
        source = Experimenter(create_app(study, store, SECRETS, Settings()))
        source.start()
        answers = [answer(index, response) for index, response in enumerate(practice)]
        for one in answers:
            result = source.respond(one).get_json()["responses"][0]["feedback"].get("practice")
        if not result["ended"]:
            rest = [answer(index) for index in range(6, len(source.session["trials"]))]
            assert source.respond(*rest).status_code == 201
            answers += rest
        in_source = source.http.get("/api/session").get_json()
        for _ in range(2):
            assert bring(lab, source, answers).status_code in {200, 201}
            in_target = lab.http.get("/api/session").get_json()
            assert {**in_target, "visit": 1} == {**in_source, "visit": 1}
    assert problems(any_store) == []


@pytest.mark.parametrize(
    "change",
    [{"session": "x"}, {"session": "0" * 17}, {"participant": "P01"}, {"seed": -1}, {"seed": 2**31}, {"seed": "1"},
     {"group": "1"}, {"started_at": "today"}, {"started_at": "2026-11-22T10:00:00"}, {"withdrawal_code": "abc"},
     {"started_at": "0001-01-01T00:00:00+14:00"}, {"kind": "simulated"}, {"kind": "model"}, {"extra": 1}],
    ids=str,
)  # fmt: skip
def test_an_invalid_upload_is_refused(
    lab: Experimenter, other_lab: Experimenter, any_store: Store, change: dict[str, Any]
) -> None:
    other_lab.start()
    before = held_by(any_store)
    refused(lab.start(uploaded=other_lab.brought(**change)), 422)
    assert held_by(any_store) == before


def test_an_upload_with_another_group_or_seed_is_refused(lab: Experimenter, other_lab: Experimenter) -> None:
    other_lab.start()
    assert "differ" in refused(lab.start(uploaded=other_lab.brought(), group=3), 422)
    assert lab.start(uploaded=other_lab.brought(), group=1).status_code == 201
    assert "This server has a different session" in refused(lab.start(uploaded=other_lab.brought(seed=9)), 409)


def test_a_web_session_cannot_send_its_completion_time(lab: Experimenter, any_store: Store) -> None:
    visitor = Participant(lab.http.application)
    visitor.start()
    visitor.answer_all()
    reply = visitor.http.post("/api/complete", json={"completed_at": "2020-01-01T00:00:00Z"})
    assert "Only a laboratory session" in refused(reply, 409)
    assert visitor.complete().status_code == 200


@given(data=st.data())
@quick
def test_no_changed_value_in_a_start_causes_status_500(
    lab: Experimenter, any_store: Store, data: st.DataObject
) -> None:
    uploaded = {"session": f"{len(rows(any_store, 'SELECT 1 FROM sessions')):016x}", "participant": "p-0123456789ab",
            "group": 1, "seed": 1, "started_at": "2026-11-22T10:00:00Z", "withdrawal_code": None}  # fmt: skip
    body = lab.body(session_number=1, group=None, kind="human", uploaded=data.draw(st.sampled_from([None, uploaded])))
    reply = lab.send(mutated(data, body))
    assert_no_server_error(reply)
    assert problems(any_store) == []
