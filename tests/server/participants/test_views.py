"""A participant's requests over HTTP, and the content of the store afterwards."""

import gzip
import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batteries.items import Battery
from experiment.load_study import load_study
from experiment.plan import intertrial_ms, plan_session
from experiment.study.definition import Study
from server.app import create_app
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import SqliteStore
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import Clock, execute_sql, rows


def stored_responses(store: SqliteStore) -> list[dict[str, Any]]:
    return [row for row in store.trials() if row["response"] is not None]


def test_nothing_is_stored_before_consent(newcomer: Any, store: SqliteStore) -> None:
    newcomer.http.get("/")
    newcomer.http.get("/api/study")
    assert newcomer.http.get("/api/session").status_code == 401
    assert newcomer.http.post("/api/responses", json={}).status_code == 401
    assert store.trials() == []
    assert newcomer.start(consent_digest="other").status_code == 422
    assert store.trials() == []


def test_a_whole_session_is_stored_unchanged(participant: Any, store: SqliteStore, sample_study: Study) -> None:
    participant.answer_all()
    done = participant.complete().get_json()
    assert len(done["completion_code"]) >= 8
    assert "What this was about" in done["debrief_html"]

    rows = store.trials()
    plan = plan_session(sample_study, rows[0]["group"], rows[0]["seed"])
    assert [(row["trial_index"], row["phase"], row["item_id"]) for row in rows] == [
        (trial.trial_index, trial.phase, trial.item_id) for trial in plan.trials
    ]
    for row in rows:
        assert json.loads(row["response"]) == participant.possible(row["trial_index"])
        assert (row["rt_ms"], row["fixation_ms"], row["fixation_frames"]) == (1234.5, 200.1, 12)
        assert row["shown_at"] == "2026-11-21T10:00:00.123+00:00"
        assert (row["kind"], row["source"], row["status"]) == ("human", "web", "completed")
        assert (row["study"], row["battery"]) == ("blackbox-predict", sample_study.battery.digest)


def test_a_retry_is_stored_once_and_gets_the_same_reply(participant: Any, store: SqliteStore) -> None:
    response_id = str(uuid.uuid4())
    first = participant.answer(0, response_id=response_id)
    again = participant.answer(0, response_id=response_id)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.get_json() == again.get_json()
    assert len(stored_responses(store)) == 1


def test_a_retry_of_the_last_response_is_accepted_after_completion(participant: Any, store: SqliteStore) -> None:
    last = participant.session["trials"][-1]["trial_index"]
    for index in range(last):
        participant.answer(index)
    response_id = str(uuid.uuid4())
    participant.answer(last, response_id=response_id)
    participant.complete()
    assert participant.answer(last, response_id=response_id).status_code == 200
    assert len(stored_responses(store)) == last + 1


def test_an_id_cannot_be_used_for_another_response(participant: Any, store: SqliteStore) -> None:
    response_id = str(uuid.uuid4())
    participant.answer(0, response_id=response_id)
    assert participant.answer(0, response_id=response_id, response="reflected").status_code == 409
    assert participant.answer(1, response_id=response_id).status_code == 409
    assert [row["response"] for row in stored_responses(store)] == ['"absorbed"']


def test_responses_out_of_order_and_second_responses_are_refused(participant: Any, store: SqliteStore) -> None:
    assert participant.answer(1).status_code == 409
    assert participant.answer(0).status_code == 201
    assert participant.answer(0).status_code == 409
    assert participant.answer(2).status_code == 409
    assert [row["trial_index"] for row in stored_responses(store)] == [0]


def test_a_trial_that_is_not_in_the_plan_is_refused(participant: Any, store: SqliteStore) -> None:
    refused = participant.answer(len(participant.session["trials"]))
    assert refused.status_code == 422
    assert "There is no trial" in refused.get_json()["error"]
    assert participant.answer(-1).status_code == 422
    assert stored_responses(store) == []


def test_no_response_is_accepted_after_completion(participant: Any, store: SqliteStore) -> None:
    participant.answer_all()
    participant.complete()
    n_stored = len(stored_responses(store))
    assert participant.answer(n_stored - 1).status_code == 409
    assert len(stored_responses(store)) == n_stored


def test_completion_needs_every_response_and_can_be_repeated(participant: Any) -> None:
    early = participant.complete()
    assert early.status_code == 409
    assert "answers have not arrived yet" in early.get_json()["error"]
    participant.answer_all()
    assert participant.complete().get_json() == participant.complete().get_json()


@pytest.mark.parametrize(
    "changes",
    [
        {"response": "up"},
        {"response": 3},
        {"response": None},
        {"response": {"a": ["b"]}},
        {"rt_ms": -1},
        {"rt_ms": "fast"},
        {"rt_ms": 1e30},
        {"response_id": "1"},
        {"response_id": None},
        {"trial_index": "0", "response": "absorbed"},
        {"trial_index": 10**30, "response": "absorbed"},
        {"frames_dropped": 10**30},
        {"shown_at": "yesterday"},
        {"shown_at": "2026-11-21T10:00:00"},  # no time zone
        {"correct": True},
    ],
)
def test_a_response_of_the_wrong_form_is_refused(participant: Any, store: SqliteStore, changes: dict[str, Any]) -> None:
    refused = participant.answer(**{"trial_index": 0} | changes)
    assert refused.status_code == 422
    assert refused.get_json()["error"]
    assert stored_responses(store) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"rt_ms": NaN}', b"[" * 5_000])
@pytest.mark.parametrize("address", ["/api/session", "/api/responses"])
def test_a_body_that_is_not_an_object_is_refused(participant: Any, address: str, body: bytes) -> None:
    refused = participant.http.post(address, data=body, content_type="application/json")
    assert refused.status_code == 422


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
def test_no_value_of_any_field_makes_the_server_fail(participant: Any, data: Any) -> None:
    """A valid body with one field of any value is stored or refused, but never causes status 500."""
    body = {
        "session": participant.session["session"], "response_id": str(uuid.uuid4()), "trial_index": 0,
        "response": "absorbed", "rt_ms": 1.0, "fixation_ms": 1.0, "fixation_frames": 1, "frames_dropped": 0,
        "focus_lost": 0, "shown_at": "2026-11-21T10:00:00Z", "start_id": str(uuid.uuid4()), "kind": "human",
        "consent_digest": "x",
    }  # fmt: skip
    only_start = {"start_id", "kind", "consent_digest"}
    field = data.draw(st.sampled_from(sorted(body)))
    body[field] = data.draw(json_values)
    address = "/api/session" if field in only_start else "/api/responses"
    sent = {name: value for name, value in body.items() if (name in only_start) == (field in only_start)}
    reply = participant.http.post(address, data=json.dumps(sent), content_type="application/json")
    assert reply.status_code < 500, reply.text


def test_responses_over_4_mb_are_refused(participant: Any, store: SqliteStore) -> None:
    refused = participant.answer(0, response="x" * 4096 * 1024)
    assert refused.status_code == 413
    assert "4096 KB" in refused.get_json()["error"]
    assert stored_responses(store) == []


@pytest.mark.parametrize("address", ["/api/responses", "/api/complete", "/api/withdraw", "/api/session"])
def test_only_json_is_accepted_so_that_no_other_site_can_post_a_form(participant: Any, address: str) -> None:
    assert participant.http.post(address, data={"a": "b"}).status_code == 415


def test_a_response_that_waited_in_the_browser_is_never_stored_in_another_session(
    participant: Any, newcomer: Any, store: SqliteStore
) -> None:
    newcomer.start()
    refused = newcomer.answer(0, session=participant.session["session"])
    assert refused.status_code == 409
    assert stored_responses(store) == []


def test_a_forged_or_missing_session_is_refused(app: Flask, participant: Any, store: SqliteStore) -> None:
    for token in ("", "x", "a" * 43):
        stranger = app.test_client()
        if token:
            stranger.set_cookie("equipoise_session_blackbox-predict", token)
        for address in ("/api/responses", "/api/complete", "/api/withdraw"):
            assert stranger.post(address, json={}).status_code == 401
        assert stranger.get("/api/session").status_code == 401
    assert stored_responses(store) == []
    assert {row["status"] for row in store.trials()} == {"active"}


def test_a_start_whose_reply_was_lost_is_one_session(newcomer: Any, store: SqliteStore) -> None:
    start_id = str(uuid.uuid4())
    first = newcomer.start(start_id=start_id).get_json()
    newcomer.http.delete_cookie("equipoise_session_blackbox-predict")  # the reply with its cookie was lost
    assert newcomer.start(start_id=start_id).get_json() == first
    assert newcomer.answer(0).status_code == 201
    assert len({row["session"] for row in store.trials()}) == 1


def test_a_second_tab_at_consent_gets_the_current_session(participant: Any, store: SqliteStore) -> None:
    participant.answer(0)
    again = participant.start()
    assert again.status_code == 200
    assert again.get_json()["next_trial_index"] == 1
    assert len({row["session"] for row in store.trials()}) == 1


def test_a_human_start_does_not_resume_a_simulated_session(newcomer: Any, store: SqliteStore) -> None:
    newcomer.start(kind="simulated")
    assert newcomer.start(kind="human").get_json()["kind"] == "human"
    assert {row["kind"] for row in store.trials()} == {"human", "simulated"}


def test_a_panels_code_is_never_given_to_a_simulated_participant(
    study_folder: Path, tmp_path: Path, edit: Any, participant_of: Any
) -> None:
    edit(study_folder / "study.yaml", "language: en", "language: en\ncompletion_code: PROLIFIC-C0DE")
    codes = {}
    for kind in ("human", "simulated"):
        someone = participant_of(load_study(study_folder), SqliteStore(tmp_path / kind / "equipoise.db"))
        someone.start(kind=kind)
        someone.answer_all()
        codes[kind] = someone.complete().get_json()["completion_code"]
    assert codes["human"] == "PROLIFIC-C0DE"
    assert codes["simulated"] != "PROLIFIC-C0DE"


def test_a_session_keeps_the_timing_and_debrief_it_began_with(
    study_folder: Path, store: SqliteStore, edit: Any, participant_of: Any
) -> None:
    before = participant_of(load_study(study_folder), store)
    before.start()
    before.answer_all()
    edit(study_folder / "study.yaml", "fixation_ms: 200", "fixation_ms: 500")
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    edit(study_folder / "debrief.md", "What this was about", "So long!")
    after = participant_of(load_study(study_folder), store)
    cookie = before.http.get_cookie("equipoise_session_blackbox-predict")
    after.http.set_cookie(cookie.key, cookie.value)
    assert after.http.get("/api/session").get_json()["fixation_ms"] == 200
    assert "What this was about" in after.complete().get_json()["debrief_html"]


def test_each_trial_is_sent_with_its_interval_from_the_seed_of_the_session(
    study_folder: Path, store: SqliteStore, edit: Any, participant_of: Any
) -> None:
    edit(study_folder / "study.yaml", "fixation_ms: 200", "fixation_ms: 200\n  intertrial_ms: {min: 500, max: 1500}")
    study = load_study(study_folder)
    session = participant_of(study, store).start().get_json()
    ((seed,),) = rows(store, "SELECT seed FROM sessions")
    planned = [intertrial_ms(study.definition.timing, seed, index) for index in range(len(session["trials"]))]
    assert [trial["intertrial_ms"] for trial in session["trials"]] == planned


def test_two_studies_on_one_machine_do_not_share_a_cookie(
    study_folder: Path, participant: Any, tmp_path: Path, edit: Any, participant_of: Any
) -> None:
    edit(study_folder / "study.yaml", "study: blackbox-predict", "study: other-study")
    other = participant_of(load_study(study_folder), SqliteStore(tmp_path / "other" / "equipoise.db"))
    other.http = other.http.application.test_client()
    for cookie in [participant.http.get_cookie("equipoise_session_blackbox-predict")]:
        other.http.set_cookie(cookie.key, cookie.value)
    other.start()
    assert other.http.get_cookie("equipoise_session_blackbox-predict").value == cookie.value


def test_the_cookie_is_for_https_only_where_there_is_https(newcomer: Any) -> None:
    assert "Secure" not in newcomer.start().headers["Set-Cookie"]
    digest = newcomer.http.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    begun = newcomer.http.post("/api/session", json=start, base_url="https://localhost")
    assert "Secure" in begun.headers["Set-Cookie"]


def test_simultaneous_copies_of_one_start_are_one_session(newcomer: Any, app: Flask, store: SqliteStore) -> None:
    start_id = str(uuid.uuid4())
    first = newcomer.start(start_id=start_id).get_json()
    for _ in range(2):  # the reply with its cookie was lost
        again = Participant(app)
        assert again.start(start_id=start_id).get_json()["session"] == first["session"]
    assert again.answer(0).status_code == 201
    assert len({row["session"] for row in store.trials()}) == 1


@pytest.mark.parametrize("since", ["an answer", "eleven minutes", "words about the person"])
def test_a_known_start_id_of_another_participant_gives_no_session(
    newcomer: Any, app: Flask, store: SqliteStore, clock: Clock, since: str
) -> None:
    start_id = str(uuid.uuid4())
    newcomer.start(start_id=start_id)
    if since == "an answer":
        newcomer.answer(0)
    elif since == "eleven minutes":
        clock.advance(minutes=11)
    else:
        store.add_demographics(newcomer.session["session"], {"age": 30})
    before = rows(store, "SELECT session, token_digest FROM sessions")
    thief = Participant(app)
    reply = thief.start(start_id=start_id)
    assert reply.status_code == 409
    assert reply.get_json()["error"] == "This page was used before. Please reload the page and begin again."
    assert not reply.headers.getlist("Set-Cookie")
    assert rows(store, "SELECT session, token_digest FROM sessions") == before
    assert newcomer.http.get("/api/session").status_code == 200, "the participant of the session continues"
    assert thief.start().status_code == 201


def test_reading_a_session_reserves_no_slot_but_a_visit_reserves_one(
    participant: Any, store: SqliteStore, sample_study: Study, clock: Clock
) -> None:
    """Any site can make a browser send GET; only the study's page can report a visit."""

    clock.advance(minutes=sample_study.definition.recruitment.time_out_min + 1)
    Participant(participant.http.application).start()  # a new participant for whom the store searches a slot
    (before, *others) = rows(store, "SELECT slot, release_reason, seen_at FROM sessions ORDER BY started_at")
    assert before[:2] == ("released", "time-out")
    for _ in range(2):
        assert participant.http.get("/api/session").status_code == 200
    assert rows(store, "SELECT slot, release_reason, seen_at FROM sessions ORDER BY started_at") == [before, *others]
    assert participant.http.post("/api/visit", json={"visit_id": str(uuid.uuid4())}).status_code == 200
    ((now, *_), *_) = rows(store, "SELECT slot FROM sessions ORDER BY started_at")
    assert now == "reserved"


def test_the_token_is_not_in_the_store(participant: Any, store: SqliteStore) -> None:
    token = participant.http.get_cookie("equipoise_session_blackbox-predict").value
    content = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert token.encode() not in content


def test_scripts_cannot_read_the_cookie(newcomer: Any) -> None:
    cookie = newcomer.start().headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_a_reload_resumes_the_session(participant: Any) -> None:
    participant.answer(0)
    participant.answer(1)
    again = participant.http.get("/api/session").get_json()
    assert again["next_trial_index"] == 2
    assert again["trials"] == participant.session["trials"]
    participant.session = again
    for trial in again["trials"][2:]:
        participant.answer(trial["trial_index"])
    code = participant.complete().get_json()["completion_code"]
    assert participant.http.get("/api/session").get_json()["completion_code"] == code


def test_withdrawing_deletes_the_responses_and_closes_the_session(participant: Any, store: SqliteStore) -> None:
    participant.answer(0)
    participant.answer(1)
    assert participant.withdraw().status_code == 200
    assert stored_responses(store) == []
    assert {row["status"] for row in store.trials()} == {"withdrawn"}  # the session is still counted
    assert participant.answer(0).status_code == 409
    assert participant.complete().status_code == 409
    assert participant.withdraw().status_code == 200


def test_only_practice_is_followed_by_feedback(participant: Any) -> None:
    feedback = [
        participant.answer(index).get_json()["responses"][0]["feedback"]
        for index in range(len(participant.session["trials"]))
    ]
    assert feedback[0]["solution"]["outcome"] == "east-5"
    assert feedback[0]["message"] == "Not quite: the ray leaves at EAST 5."
    assert feedback[0]["explanation"] == [
        "The atom at row 3, column 5 turns the ray.", "The atom at row 6, column 3 turns the ray.",
    ]  # fmt: skip
    assert feedback[0]["solution"]["encounters"] == [
        {"atoms": [[3, 5]], "n_cells": 4}, {"atoms": [[6, 3]], "n_cells": 5},
    ]  # fmt: skip
    assert set(feedback[1:]) == {None}


def test_groups_fill_evenly_and_seeds_count_up(app: Flask, store: SqliteStore, newcomer: Any) -> None:
    for _ in range(25):
        newcomer.http.delete_cookie("equipoise_session_blackbox-predict")
        newcomer.start()
    sessions = {(row["session"], row["group"], row["seed"]) for row in store.trials()}
    per_group = Counter(group for _, group, _ in sessions)
    assert sorted(per_group.values()) == [2] * 5 + [3] * 5
    assert {(group, seed) for _, group, seed in sessions} == {
        (group, seed) for group, n in per_group.items() for seed in range(1, n + 1)
    }


def test_simulated_participants_use_no_slots_of_human_participants(
    app: Flask, store: SqliteStore, newcomer: Any
) -> None:
    for kind in ["simulated"] * 7 + ["human"]:
        newcomer.http.delete_cookie("equipoise_session_blackbox-predict")
        newcomer.start(kind=kind)
    (human,) = {(row["group"], row["seed"]) for row in store.trials() if row["kind"] == "human"}
    assert human == (1, 1)
    assert newcomer.start(kind="model").status_code == 422


def collect(value: Any) -> set[str]:
    """Return every field name in a JSON value."""
    if isinstance(value, dict):
        return set(value) | {name for inner in value.values() for name in collect(inner)}
    if isinstance(value, list):
        return {name for inner in value for name in collect(inner)}
    return set()


def test_a_served_plan_has_neither_keys_nor_factors_nor_ids(app: Flask, sample_study: Study, newcomer: Any) -> None:
    for _ in range(10):  # one session in each group
        newcomer.http.delete_cookie("equipoise_session_blackbox-predict")
        served = newcomer.start().get_json()
        assert collect(served["trials"]) == {
            "trial_index", "phase", "task", "content", "size", "atoms", "entry", "text", "prompt", "options",
            "intertrial_ms",
        }  # fmt: skip
        assert not [item.item_id for item in sample_study.battery.items if item.item_id in json.dumps(served)]


def test_nothing_that_is_served_depends_on_the_keys(
    sample_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two studies that differ only in keys and factors get equal replies, byte for byte. So no reply contains a key."""

    def everything_served(name: str, key: int) -> list[bytes]:
        items = [
            item if item.item_id in sample_study.definition.practice
            else item.model_copy(update={
                "task": "multiple_choice",
                "content": {"text": "", "prompt": item.item_id.replace("config", "q"), "options": ["a", "b", "c"]},
                "key": key, "factors": item.factors | {"right_option": key},
            })
            for item in sample_study.battery.items
        ]  # fmt: skip
        battery = Battery(battery="keys", version="1", items=tuple(items))
        definition = sample_study.definition.model_copy(update={"completion_code": "CODE"})
        study = Study(sample_study.folder, definition, battery, sample_study.groups, sample_study.texts)
        store = SqliteStore(tmp_path / name / "equipoise.db")
        http = create_app(study, store, Secrets("key", "token"), Settings()).test_client()
        served = []
        for address in ("/", "/static/equipoise.js", "/static/equipoise.css"):
            with http.get(address) as page:
                served.append(page.data)
        digest = http.get("/api/study").get_json()["consent_digest"]
        start = http.post(
            "/api/session", json={"start_id": str(uuid.UUID(int=9)), "consent_digest": digest, "kind": "human"}
        )
        served += [http.get("/api/study").data, start.data, http.get("/api/session").data]
        for trial in start.get_json()["trials"]:
            answer = "absorbed" if trial["task"] == "blackbox_predict" else 2
            response = {"response_id": str(uuid.UUID(int=trial["trial_index"])), "trial_index": trial["trial_index"],
                        "response": answer}  # fmt: skip
            body = {"session": start.get_json()["session"], "responses": [response]}
            served.append(http.post("/api/responses", json=body).data)
        served += [http.post("/api/complete", json={}).data, http.get("/api/session").data]
        store.close()
        return served

    # Any two sessions differ in the random name of the session.
    monkeypatch.setattr("server.store.sql.sessions.secrets.token_hex", lambda _n: "0" * 16)
    one, other = everything_served("one", key=1), everything_served("other", key=2)
    assert len(one) > 30
    assert one == other


def test_no_reply_reveals_which_question_is_an_attention_check(
    sample_study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions that differ only in the attention check get equal replies, byte for byte."""

    def everything_served(name: str, phase: str) -> list[bytes]:
        store = SqliteStore(tmp_path / name / "equipoise.db")
        person = Participant(create_app(sample_study, store, SECRETS, Settings()))
        served = [person.start(start_id=str(uuid.UUID(int=9))).data]
        cookie = person.http.get_cookie("equipoise_session_blackbox-predict")
        assert cookie is not None
        execute_sql(store, f"UPDATE planned_trials SET phase = '{phase}' WHERE phase = 'attention_check'")
        store.close()
        store = SqliteStore(tmp_path / name / "equipoise.db")  # so that the changed plan is read
        http = create_app(sample_study, store, SECRETS, Settings()).test_client()
        http.set_cookie(cookie.key, cookie.value)
        served += [http.get("/api/session").data]
        served += [http.post("/api/visit", json={"visit_id": str(uuid.UUID(int=10))}).data]
        for trial in person.session["trials"]:
            answer = "absorbed" if trial["task"] == "blackbox_predict" else 2
            response = {"response_id": str(uuid.UUID(int=trial["trial_index"])), "trial_index": trial["trial_index"],
                        "response": answer}  # fmt: skip
            body = {"session": person.session["session"], "responses": [response]}
            served.append(http.post("/api/responses", json=body).data)
        served += [http.post("/api/complete", json={}).data, http.get("/api/session").data]
        store.close()
        return served

    monkeypatch.setattr("server.store.sql.sessions.secrets.token_hex", lambda _n: "0" * 16)
    one, other = everything_served("one", "attention_check"), everything_served("other", "test")
    assert len(one) > 20
    assert one == other
    assert b"attention" not in b"".join(one)


def test_every_page_has_strict_headers(participant: Any) -> None:
    for address in ("/", "/api/study", "/api/session", "/static/equipoise.js", "/nowhere"):
        with participant.http.get(address) as page:
            headers = page.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert "Server" not in headers or "Werkzeug" not in headers["Server"]


@pytest.mark.parametrize(
    ("method", "address"),
    [("GET", "/api/responses"), ("DELETE", "/api/session"), ("POST", "/api/study"), ("GET", "/api/withdraw")],
)
def test_a_wrong_method_is_refused(participant: Any, method: str, address: str) -> None:
    refused = participant.http.open(address, method=method)
    assert refused.status_code == 405
    assert refused.get_json()["error"]


def test_files_beside_the_bundle_cannot_be_requested(participant: Any) -> None:
    for address in ("/static/../__init__.py", "/static/%2e%2e/package.json", "/static/..%5cpackage.json"):
        assert participant.http.get(address).status_code == 404


@pytest.mark.parametrize("name", ["equipoise.js", "equipoise.css"])
def test_the_bundle_is_compressed_once_for_clients_that_accept_it(app: Flask, name: str) -> None:
    http = app.test_client()
    with http.get(f"/static/{name}", headers={"Accept-Encoding": "identity"}) as plain:
        data = plain.data
    packed = http.get(f"/static/{name}", headers={"Accept-Encoding": "gzip, br"})
    assert gzip.decompress(packed.data) == data
    assert len(packed.data) < len(data) / 2
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Length"] == str(len(packed.data))
    assert "Accept-Encoding" in packed.headers["Vary"] and "Accept-Encoding" in plain.headers["Vary"]
    assert packed.headers["ETag"] != plain.headers["ETag"]
    for one, encoding in ((plain, "identity"), (packed, "gzip")):
        headers = {"If-None-Match": one.headers["ETag"], "Accept-Encoding": encoding}
        with http.get(f"/static/{name}", headers=headers) as known:
            assert known.status_code == 304
