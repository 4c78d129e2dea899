"""Exits: the completion code and link for each outcome; no other reply contains the panel id."""

import dataclasses
import json
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batteries.items import Battery
from experiment.study.definition import Study
from experiment.study.exclusion_rules import AttentionCheckRule
from experiment.study.recruitment import Exit, Exits
from experiment.study.timeline import PracticeCriterion, Resume
from server.app import create_app
from server.settings import Settings
from server.store import SqliteStore, Store
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import Clock, another, execute_sql, practising, problems, recruiting, saying

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, slots_per_address=1_000_000)
PANEL = "https://app.prolific.com/submissions/complete"
DONE = Exit(code="DONE-1234", link=f"{PANEL}?cc={{code}}")
FAILED = Exit(code="FAILED-99", link=f"{PANEL}?cc={{code}}")
PANEL_ID = "5f3a9c0d12ab34cd56ef7890"
NONE = {"code": None, "url": None}
RIGHT, WRONG = 2, 1
"""To the attention check."""


@pytest.fixture(scope="session")
def checked_study(sample_study: Study, small_study: Study) -> Study:
    """The small study with one attention check among its questions, which must not be failed."""
    (check,) = (item for item in sample_study.battery.items if item.item_id in sample_study.definition.attention_checks)
    check = check.model_copy(update={"key": RIGHT})
    order = small_study.definition.order.model_copy(update={"attention_check_spacing": 1})
    analysis = small_study.definition.analysis.model_copy(
        update={"exclusions": (AttentionCheckRule(rule="attention_check", max_failed=0),)}
    )
    study = saying(small_study, attention_checks=(check.item_id,), order=order, analysis=analysis)
    items = (*small_study.battery.items, check)
    battery = Battery(**(small_study.battery.model_dump(exclude={"items"}) | {"items": items}))
    return dataclasses.replace(study, battery=battery)


AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(checked_study: Study, store: SqliteStore) -> AppOf:
    """Serve the study with the exits and other fields of the definition that a test chooses."""

    def make(
        entry: str = "open",
        panel_parameter: str = "PROLIFIC_PID",
        study: Study | None = None,
        completion_code: str | None = None,
        **exits: Any,
    ) -> Flask:
        study = saying(study or checked_study, completion_code=completion_code)
        recruited = recruiting(study, entry=entry, panel_parameter=panel_parameter, exits=Exits(**exits))
        return create_app(recruited, store, SECRETS, NO_LIMITS)

    return make


def with_responses(app: Flask, check: int = RIGHT, panel_id: str | None = None, kind: str = "human") -> Participant:
    """Return a participant who has responded to every trial."""
    person = Participant(app)
    if panel_id is not None:
        assert person.http.get(f"/?PROLIFIC_PID={quote(panel_id, safe='')}").status_code == 303
    assert person.start(kind=kind).status_code == 201
    for trial in person.session["trials"]:
        changes = {"response": check} if trial["task"] == "multiple_choice" else {}
        assert person.answer(trial["trial_index"], **changes).status_code == 201
    return person


def completed(person: Participant) -> dict[str, Any]:
    reply = person.complete()
    assert reply.status_code == 200, reply.text
    completion: dict[str, Any] = reply.get_json()
    return completion


# By outcome


def test_without_exits_each_participant_gets_a_withdrawal_code_and_no_link(app_of: AppOf) -> None:
    app = app_of()
    codes = set()
    for _ in range(3):
        completion = completed(with_responses(app))
        assert completion["exit"] == {"code": completion["completion_code"], "url": None}
        assert completion["withdrawal_code"] == completion["completion_code"]
        codes.add(completion["completion_code"])
    assert len(codes) == 3


def test_a_completed_participant_gets_the_panels_code_and_link_and_a_withdrawal_code(
    app_of: AppOf, store: Store
) -> None:
    completion = completed(with_responses(app_of(completed=DONE)))
    assert completion["completion_code"] == "DONE-1234"
    assert completion["exit"] == {"code": "DONE-1234", "url": f"{PANEL}?cc=DONE-1234"}
    assert completion["withdrawal_code"] not in {None, "DONE-1234"}
    assert problems(store) == []


def test_a_participant_who_failed_the_checks_gets_the_exit_for_failed_checks(app_of: AppOf) -> None:
    app = app_of(completed=DONE, failed_checks=FAILED)
    passed, failed = completed(with_responses(app)), completed(with_responses(app, WRONG))
    assert (passed["completion_code"], passed["exit"]["url"]) == ("DONE-1234", f"{PANEL}?cc=DONE-1234")
    assert (failed["completion_code"], failed["exit"]["url"]) == ("FAILED-99", f"{PANEL}?cc=FAILED-99")
    assert failed["exit"]["code"] == "FAILED-99"


def test_without_an_exit_for_failed_checks_all_participants_get_the_same_exit(app_of: AppOf) -> None:
    app = app_of(completed=DONE)
    assert completed(with_responses(app, WRONG))["exit"] == completed(with_responses(app))["exit"] == {
        "code": "DONE-1234", "url": f"{PANEL}?cc=DONE-1234",
    }  # fmt: skip


def test_without_a_rule_no_participant_fails_the_checks(checked_study: Study, app_of: AppOf) -> None:
    analysis = checked_study.definition.analysis.model_copy(update={"exclusions": ()})
    app = app_of(study=saying(checked_study, analysis=analysis), completed=DONE, failed_checks=FAILED)
    assert completed(with_responses(app, WRONG))["completion_code"] == "DONE-1234"


@pytest.mark.parametrize("check", [RIGHT, WRONG])
def test_repeated_requests_get_the_same_exit(app_of: AppOf, check: int) -> None:
    person = with_responses(app_of(completed=DONE, failed_checks=FAILED), check)
    first = completed(person)
    assert completed(person) == first
    session = person.http.get("/api/session").get_json()
    assert {name: session[name] for name in first} == first
    visited = person.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).get_json()
    assert {name: visited[name] for name in first} == first


def test_a_link_without_a_code_contains_the_studys_code_or_the_withdrawal_code(app_of: AppOf) -> None:
    link = Exit(link=f"{PANEL}?cc={{code}}")
    own = completed(with_responses(app_of(completed=link)))
    assert own["exit"]["url"] == f"{PANEL}?cc={own['withdrawal_code']}"


def test_an_exits_code_replaces_the_studys_completion_code(app_of: AppOf, checked_study: Study) -> None:
    for exit_, code in ((Exit(), "FIXED-CODE"), (DONE, "DONE-1234")):
        study = saying(checked_study, version=code)
        completion = completed(with_responses(app_of(study=study, completion_code="FIXED-CODE", completed=exit_)))
        assert completion["completion_code"] == completion["exit"]["code"] == code
        assert completion["withdrawal_code"] not in {"FIXED-CODE", "DONE-1234", None}


def test_exits_can_change_during_data_collection(app_of: AppOf) -> None:
    person = with_responses(app_of(completed=DONE))
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    person.http = app_of(completed=Exit(code="NEW-CODE")).test_client()
    person.http.set_cookie(cookie.key, cookie.value)
    assert completed(person)["exit"] == {"code": "NEW-CODE", "url": None}


def test_the_study_reply_has_the_exits_before_the_start(app_of: AppOf, store: Store) -> None:
    app = app_of(
        no_consent=Exit(code="NO-CONSENT", link=f"{PANEL}?cc={{code}}"), incompatible_device=Exit(code="DEVICE")
    )
    exits = app.test_client().get("/api/study").get_json()["exits"]
    assert exits == {
        "no_consent": {"code": "NO-CONSENT", "url": f"{PANEL}?cc=NO-CONSENT"},
        "incompatible_device": {"code": "DEVICE", "url": None},
    }
    plain = app_of().test_client().get("/api/study").get_json()["exits"]
    assert plain == {"no_consent": NONE, "incompatible_device": NONE}
    assert store.trials() == []


def test_completion_codes_are_not_sent_before_the_end(app_of: AppOf) -> None:
    app = app_of(completed=DONE, failed_checks=FAILED)
    person = Participant(app)
    served = [person.http.get("/api/study").text, person.start().text, person.http.get("/api/session").text]
    for trial in person.session["trials"]:
        served.append(person.answer(trial["trial_index"]).text)
    assert not [text for text in served if "DONE-1234" in text or "FAILED-99" in text]


# Sessions that end


def ended(app: Flask, kind: str = "human", panel_id: str | None = None) -> dict[str, Any]:
    """Return the end page of a participant who does not pass the practice."""
    person = Participant(app)
    if panel_id is not None:
        person.http.get(f"/?PROLIFIC_PID={panel_id}")
    person.start(kind=kind)
    end_page: dict[str, Any] = person.answer(0).get_json()["responses"][0]["feedback"]["practice"]["ended"]
    session = person.http.get("/api/session").get_json()
    assert (session["status"], session["exit"]) == ("ended", end_page["exit"])
    return end_page


@pytest.fixture(scope="session")
def strict_study(checked_study: Study) -> Study:
    """One practice trial, which must be right."""
    return practising(checked_study, 1, PracticeCriterion(correct=1, rounds=1, otherwise="end"))


def test_a_participant_who_fails_the_practice_gets_its_exit_or_an_empty_exit(
    app_of: AppOf, strict_study: Study
) -> None:
    assert ended(app_of(study=strict_study, completed=DONE, failed_checks=FAILED))["exit"] == NONE
    exit_ = ended(app_of(study=strict_study, completed=DONE, practice_not_passed=FAILED))["exit"]
    assert exit_ == {"code": "FAILED-99", "url": f"{PANEL}?cc=FAILED-99"}


def test_a_participant_who_resumes_too_often_or_too_late_gets_its_exit_or_an_empty_exit(
    app_of: AppOf, checked_study: Study, clock: Clock
) -> None:
    for number, rules in enumerate((Resume(max_reloads=0), Resume(max_age_min=1))):
        study = saying(checked_study, resume=rules, version=f"2.{number}")
        for exits, exit_ in (
            ({"completed": DONE, "failed_checks": FAILED, "practice_not_passed": FAILED}, NONE),
            ({"not_resumed": Exit(code="BACK-1")}, {"code": "BACK-1", "url": None}),
        ):
            person = Participant(app_of(study=study, **exits))
            person.start()
            clock.advance(minutes=2)
            end_page = person.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).get_json()
            assert (end_page["status"], end_page["exit"]) == ("ended", exit_)
            assert person.http.get("/api/session").get_json()["exit"] == exit_


def test_a_participant_of_an_ended_session_gets_a_withdrawal_code(
    app_of: AppOf, strict_study: Study, store: Store
) -> None:
    app = app_of(study=strict_study, practice_not_passed=FAILED)
    code = ended(app)["withdrawal_code"]
    assert app.test_client().post("/withdraw", data={"code": code}).status_code == 200
    assert {row["status"] for row in store.trials()} == {"withdrawn"}
    assert problems(store) == []


def test_a_link_with_a_missing_code_is_refused(app_of: AppOf, strict_study: Study) -> None:
    """A panel treats an empty code as a wrong code."""
    with pytest.raises(ValueError, match="Fix: add `code`"):
        app_of(study=strict_study, practice_not_passed=Exit(link=f"{PANEL}?cc={{code}}"))


# Simulated participants


@pytest.mark.parametrize("check", [RIGHT, WRONG])
def test_a_simulated_participant_never_gets_a_panels_code(app_of: AppOf, check: int) -> None:
    app = app_of(completed=DONE, failed_checks=FAILED, completion_code="FIXED-CODE")
    person = with_responses(app, check, kind="simulated")
    completion = completed(person)
    for code in ("DONE-1234", "FAILED-99", "FIXED-CODE"):
        assert code not in json.dumps(completion)
        assert code not in person.http.get("/api/session").text
    assert completion["completion_code"] == completion["withdrawal_code"]


def test_a_simulated_participant_who_does_not_pass_the_practice_gets_no_panels_code(
    app_of: AppOf, strict_study: Study
) -> None:
    app = app_of(study=strict_study, completed=DONE, practice_not_passed=FAILED)
    assert "FAILED-99" not in json.dumps(ended(app, kind="simulated"))


# The panel id


WITH_ID = f"{PANEL}/{{id}}?cc={{code}}&pid={{id}}"


def test_the_panel_id_is_in_the_link_and_in_no_other_field(app_of: AppOf) -> None:
    exit_ = Exit(code="DONE-1234", link=WITH_ID)
    app = app_of("panel", completed=exit_, failed_checks=exit_)
    person = Participant(app)
    person.http.get(f"/?PROLIFIC_PID={PANEL_ID}&STUDY_ID=the-study&SESSION_ID=the-submission")
    served = [person.http.get("/api/study").text, person.start().text, person.http.get("/api/session").text]
    for trial in person.session["trials"]:
        served.append(person.answer(trial["trial_index"]).text)
    for secret in (PANEL_ID, "the-study", "the-submission"):
        assert not [text for text in served if secret in text]
    completion = completed(person)
    assert completion["exit"].pop("url") == f"{PANEL}/{PANEL_ID}?cc=DONE-1234&pid={PANEL_ID}"
    assert PANEL_ID not in json.dumps(completion)


def test_the_link_after_no_consent_contains_the_panel_id(app_of: AppOf, store: Store) -> None:
    http = app_of("panel", no_consent=Exit(code="NONE-1", link=WITH_ID)).test_client()
    http.get(f"/?PROLIFIC_PID={PANEL_ID}")
    assert http.get("/api/study").get_json()["exits"]["no_consent"]["url"] == (
        f"{PANEL}/{PANEL_ID}?cc=NONE-1&pid={PANEL_ID}"
    )
    assert store.trials() == []


def test_no_link_contains_another_participants_panel_id(app_of: AppOf) -> None:
    app = app_of("panel", completed=Exit(link=f"{PANEL}?pid={{id}}"))
    ids = (PANEL_ID, PANEL_ID[::-1])
    urls = [completed(with_responses(app, panel_id=panel_id))["exit"]["url"] for panel_id in ids]
    assert urls == [f"{PANEL}?pid={panel_id}" for panel_id in ids]


def test_the_link_contains_the_panel_id_after_the_entry_cookie_has_expired(
    app_of: AppOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session cookie is valid for a month. So a participant who returns on the third day belongs to the panel."""
    person = with_responses(app_of("panel", completed=Exit(code="DONE-1234", link=WITH_ID)), panel_id=PANEL_ID)
    monkeypatch.setattr("server.participants.participant_auth.MAX_AGE_S", -1)
    assert completed(person)["exit"]["url"] == f"{PANEL}/{PANEL_ID}?cc=DONE-1234&pid={PANEL_ID}"


awkward = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=40)


@given(panel_id=awkward, code=awkward.filter(lambda text: len(text) >= 4))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_link_contains_any_panel_id_and_code_unchanged(app_of: AppOf, panel_id: str, code: str) -> None:
    http = app_of(
        "panel", "pid", no_consent=Exit(code=code, link="https://panel.example/a/{id}/b?cc={code}&pid={id}")
    ).test_client()
    http.get("/", query_string={"pid": panel_id})
    url = http.get("/api/study").get_json()["exits"]["no_consent"]["url"]
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "panel.example", "")
    assert parse_qs(parts.query, strict_parsing=True) == {"cc": [code], "pid": [panel_id]}
    assert unquote(parts.path.split("/")[2]) == panel_id
    assert parts.path.split("/")[3] == "b"


# Withdrawing


def test_the_withdrawal_code_deletes_the_responses_and_the_completion_code_does_not(
    app_of: AppOf, store: Store
) -> None:
    app = app_of(completed=DONE)
    person, other = with_responses(app), with_responses(app)
    completion = completed(person)
    completed(other)
    assert person.http.post("/withdraw", data={"code": "DONE-1234"}).status_code == 404
    assert {row["status"] for row in store.trials()} == {"completed"}
    assert person.http.post("/withdraw", data={"code": completion["withdrawal_code"]}).status_code == 200
    statuses = {row["session"]: row["status"] for row in store.trials()}
    assert statuses == {person.session["session"]: "withdrawn", other.session["session"]: "completed"}


def test_only_an_old_session_with_the_studys_code_has_no_withdrawal_code(
    app_of: AppOf, checked_study: Study, any_store: Store
) -> None:
    """An earlier Equipoise stored the study's completion code instead of a withdrawal code."""
    study = saying(checked_study, completion_code="FIXED-CODE")
    person = with_responses(create_app(study, any_store, SECRETS, NO_LIMITS))
    execute_sql(any_store, "UPDATE sessions SET withdrawal_code = 'FIXED-CODE'")
    cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
    assert cookie is not None
    person.http = create_app(study, another(any_store), SECRETS, NO_LIMITS).test_client()
    person.http.set_cookie(cookie.key, cookie.value)
    completion = completed(person)
    assert (completion["completion_code"], completion["withdrawal_code"]) == ("FIXED-CODE", None)
    assert person.http.post("/withdraw", data={"code": "FIXED-CODE"}).status_code == 404
