"""The dashboard, the pages of participants, and the actions, with each role."""

import json
import re
import sqlite3
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from experiment.models.baselines import run_baseline
from experiment.records import Kind
from experiment.study.definition import Study
from server.app import create_app
from server.researchers import live
from server.researchers.dashboard import _EXTENSION
from server.settings import Settings
from server.store import Access, Account, Identity, Role, SqliteStore, Store
from tests.server.conftest import SECRETS
from tests.server.researchers.test_accounts import add_account, enter, fast_hashes
from tests.server.security.cross_site import ELSEWHERE
from tests.server.stores import Person, problems, recruiting, response, rows, sign_in

__all__ = ["fast_hashes"]


@pytest.fixture(autouse=True)
def always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the dashboard at every request."""
    monkeypatch.setattr(live, "LEAST_INTERVAL_S", 0)
    monkeypatch.setattr(live, "REST_FACTOR", 0)


@pytest.fixture
def study(small_study: Study) -> Study:
    return recruiting(small_study, quota_per_group=4)


@pytest.fixture
def served(study: Study, any_store: Store) -> Flask:
    return create_app(study, any_store, SECRETS, Settings())


SignIn = Callable[[Role], FlaskClient]


@pytest.fixture
def as_role(served: Flask, study: Study, any_store: Store) -> SignIn:
    def signed_in(role: Role) -> FlaskClient:
        add_account(any_store, study, f"a-{role}", role)
        http = served.test_client()
        assert enter(http, f"a-{role}").status_code == 303
        return http

    return signed_in


@pytest.fixture
def researcher(served: Flask) -> FlaskClient:
    """The browser of a researcher who has signed in with the link."""
    http = served.test_client()
    assert sign_in(http).status_code == 303
    return http


def words(page: Any) -> str:
    """Return the text of a page without tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.text)).split())


def row_of(page: Any, heading: str) -> list[int]:
    """Return the numbers in the first row with this heading."""
    (row,) = re.findall(rf'<tr><th scope="row">{re.escape(heading)}</th>(.*?)</tr>', page.text, re.DOTALL)[:1]
    return [int(text) for text in re.findall(r"<td>(\d+)</td>", row)]


# Numbers


def test_the_dashboard_counts_sessions_by_group_against_the_quota(
    researcher: FlaskClient, study: Study, any_store: Store
) -> None:
    Person(any_store, study).complete()
    Person(any_store, study).answer(2)
    Person(any_store, study).withdraw()
    Person(any_store, study, Kind.SIMULATED).complete()
    page = researcher.get("/researcher/")
    assert row_of(page, "1") == [1, 0, 4, 0, 0, 0]
    assert row_of(page, "2") == [0, 1, 4, 0, 0, 0]
    assert row_of(page, "3") == [0, 0, 4, 0, 0, 1]
    assert row_of(page, "All") == [1, 1, 12, 0, 0, 1]
    assert "1 of 12 completed, 1 under way" in words(page)
    assert "Simulated participants" in words(page)


def test_drop_out_is_counted_by_stage(researcher: FlaskClient, study: Study, any_store: Store, clock: Any) -> None:
    for n_answered in (0, 1, 2, 2, 3):
        Person(any_store, study).answer(n_answered)
    clock.advance(minutes=61)
    Person(any_store, study)  # Releases the slots of the others.
    page = researcher.get("/researcher/")
    expected = {
        "before the first response": [1, 1],
        "in the second quarter": [1, 0],
        "in the third quarter": [2, 0],
        "after the last response": [1, 0],
    }
    assert {stage: row_of(page, stage) for stage in expected} == expected


def test_failed_checks_exclusions_and_signals_are_counted(
    researcher: FlaskClient, study: Study, any_store: Store
) -> None:
    Person(any_store, study).complete(passed_checks=False)
    excluded = Person(any_store, study).complete()
    any_store.exclude_sessions([excluded.session], "fire alarm")
    Person(any_store, study).send(response(0, focus_lost=0, signals={"pasted": 2, "away_ms": 5}))
    page = researcher.get("/researcher/")
    assert row_of(page, "completed, but too many attention checks failed") == [1]
    assert row_of(page, "excluded by a researcher") == [1]
    assert row_of(page, "the participant pasted") == [1]
    assert row_of(page, "the window lost the focus") == [6]
    assert "7 responses of the latest 100 sessions" in words(page)


def test_the_dashboard_names_no_participant(researcher: FlaskClient, study: Study, any_store: Store) -> None:
    person = Person(any_store, study, identity=Identity("panel", "anna-4711")).complete()
    page = researcher.get("/researcher/").text
    for name in (person.session, person.stored.session.participant.participant, "anna-4711"):
        assert name not in page


def test_models_are_not_in_the_list_of_sessions(researcher: FlaskClient, study: Study, any_store: Store) -> None:
    any_store.add_runs(study, [run_baseline(study, "baseline/tracer")])
    assert "0 responses are stored" in words(researcher.get("/researcher/"))
    assert "No session has begun" in words(researcher.get("/researcher/participants"))
    ((pseudonym,),) = rows(any_store, "SELECT participant FROM participants")
    assert researcher.get(f"/researcher/participants/{pseudonym}").status_code == 404


def test_a_study_that_nobody_has_begun_has_a_dashboard(researcher: FlaskClient) -> None:
    page = words(researcher.get("/researcher/"))
    assert "0 of 12 completed" in page
    assert "There are no response times yet" in page


# The stream


def event_of(reply: Any) -> str:
    html: str = json.loads(re.search(r"^data: (.*)$", reply.text, re.MULTILINE)[1])
    return html


def test_the_stream_sends_the_same_numbers_as_the_page(researcher: FlaskClient, study: Study, any_store: Store) -> None:
    before = researcher.get("/researcher/live")
    assert before.mimetype == "text/event-stream"
    assert before.headers["Cache-Control"] == "no-store"
    Person(any_store, study).complete()
    after = event_of(researcher.get("/researcher/live"))
    assert after != event_of(before)
    assert after in researcher.get("/researcher/").text


def test_all_dashboards_share_one_computation(
    served: Flask, researcher: FlaskClient, any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LEAST_INTERVAL_S", 60)
    monitored, n_computed = any_store.monitored, []
    monkeypatch.setattr(any_store, "monitored", lambda study: n_computed.append(1) or monitored(study))
    for _ in range(5):
        researcher.get("/researcher/")
        researcher.get("/researcher/live")
    assert len(n_computed) == 1
    served.extensions[_EXTENSION].make_due()
    researcher.get("/researcher/")
    assert len(n_computed) == 2


def test_after_a_long_computation_the_next_one_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REST_FACTOR", 100)
    now, worked = [100.0], [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(live.time, "thread_time", lambda: worked[0])
    n_rendered = []

    def render() -> str:
        worked[0] += 0.5
        n_rendered.append(1)
        return str(len(n_rendered))

    shown = live.LiveDashboard(render, lambda _: set())
    assert shown.current().html == "1"
    now[0] += 49.9
    assert shown.current().html == "1"
    now[0] += 0.2
    assert shown.current().html == "2"


def test_a_computation_reads_a_snapshot_and_takes_no_connection_from_the_participants(
    study: Study, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.register_study(study)

    def no_shared_reader() -> None:
        raise AssertionError("the dashboard read through a connection of the participants")

    monkeypatch.setattr(store, "_reading", no_shared_reader)
    store.monitored(study)
    assert store.watched_sessions(study) == []
    assert store.history(study, "x") == []
    with store.snapshot() as db, pytest.raises((sqlite3.OperationalError, sqlite3.IntegrityError)):
        db.execute("INSERT INTO studies (study_digest) VALUES ('x')")


# The list and the page of a participant


def test_a_participants_page_shows_the_timeline_and_the_raw_events_without_the_panel_id(
    researcher: FlaskClient, study: Study, any_store: Store
) -> None:
    person = Person(any_store, study, identity=Identity("panel", "anna-4711", {"SESSION_ID": "sub-1"}))
    person.answer_all()
    any_store.complete_session(study, person.session, passed_checks=True)
    any_store.exclude_sessions([person.session], "fire alarm", "carl")
    pseudonym = person.stored.session.participant.participant
    assert pseudonym in researcher.get("/researcher/participants").text
    assert pseudonym in researcher.get(f"/researcher/participants?find={person.session}").text
    assert pseudonym not in researcher.get("/researcher/participants?find=x").text
    page = researcher.get(f"/researcher/participants/{pseudonym}")
    text = words(page)
    order = [text.index(word) for word in ("reserved", "first response", "confirmed", "excluded carl")]
    assert order == sorted(order)
    for word in ("fire alarm", "trial_index", "1234.5", "absorbed", person.session):
        assert word in text
    for secret in ("anna-4711", "sub-1"):
        assert secret not in page.text


def test_text_of_participants_is_shown_as_text(researcher: FlaskClient, study: Study, any_store: Store) -> None:
    person = Person(any_store, study)
    person.send(response(0, response="<script>alert(1)</script>"))
    any_store.exclude_sessions([person.session], "<b>bold</b>")
    page = researcher.get(f"/researcher/participants/{person.stored.session.participant.participant}")
    assert "<script>alert" not in page.text
    assert "<b>bold" not in page.text
    assert "&lt;script&gt;" in page.text


def test_an_unknown_participant_is_not_found(researcher: FlaskClient, study: Study, any_store: Store) -> None:
    person = Person(any_store, study)
    for name in ("x", person.session):
        page = researcher.get(f"/researcher/participants/{name}")
        assert page.status_code == 404
        assert "does not exist" in words(page)


def test_the_list_of_sessions_is_exported_without_identities_and_logged(
    researcher: FlaskClient, study: Study, any_store: Store
) -> None:
    person = Person(any_store, study, identity=Identity("panel", "anna-4711")).complete()
    reply = researcher.post("/researcher/sessions.csv")
    assert reply.mimetype == "text/csv"
    assert person.session in reply.text
    assert "anna-4711" not in reply.text
    (event,) = any_store.events(study, of=[Access.EXPORTED])
    assert event.details == {"what": "sessions", "number": 1, "by": "link"}


# Actions


def post(http: FlaskClient, address: str, **fields: str) -> Any:
    return http.post(f"/researcher/{address}", data=fields)


def decided(store: Store, study: Study) -> list[tuple[str, str | None]]:
    """Return the events that name a researcher."""
    return [(event.event, event.details["by"]) for event in store.events(study) if "by" in event.details]


def test_groups_are_closed_opened_and_extended(as_role: SignIn, study: Study, any_store: Store) -> None:
    http = as_role(Role.RESEARCHER)
    assert post(http, "groups/2/close").headers["Location"] == "/researcher/?done=group-closed"
    assert "2 (closed)" in words(http.get("/researcher/?done=group-closed"))
    assert post(http, "groups/2/open").status_code == 303
    assert post(http, "groups/1/extend", n_slots="3").status_code == 303
    assert row_of(http.get("/researcher/"), "1")[2] == 7
    by = "a-researcher"
    assert decided(any_store, study)[1:] == [("closed", by), ("opened", by), ("quota extended", by)]


def test_a_paused_study_admits_nobody_until_all_groups_are_open(
    as_role: SignIn, study: Study, any_store: Store
) -> None:
    http = as_role(Role.RESEARCHER)
    post(http, "groups/2/close")
    assert post(http, "pause").status_code == 303
    assert any_store.why_full(study) is not None
    assert post(http, "resume").status_code == 303
    assert any_store.why_full(study) is None
    assert all(group.is_open for group in any_store.progress(study))


@pytest.mark.parametrize(
    ("address", "fields"),
    [("groups/9/close", {}), ("groups/0/open", {}), ("groups/1/extend", {"n_slots": "0"}),
     ("groups/1/extend", {"n_slots": "-1"}), ("groups/1/extend", {"n_slots": "many"}), ("groups/1/extend", {}),
     ("groups/1/extend", {"n_slots": "٣"}), ("groups/1/extend", {"n_slots": "99999999999"})],
)  # fmt: skip
def test_an_impossible_change_is_refused_on_the_page(
    researcher: FlaskClient, study: Study, any_store: Store, address: str, fields: dict[str, str]
) -> None:
    reply = post(researcher, address, **fields)
    assert reply.status_code == 409
    assert 'role="alert"' in reply.text
    assert "Fix: " in reply.text
    assert decided(any_store, study) == []


def test_a_session_is_excluded_included_and_replaced(as_role: SignIn, study: Study, any_store: Store) -> None:
    person, http = Person(any_store, study).complete(), as_role(Role.RESEARCHER)
    session, pseudonym = person.session, person.stored.session.participant.participant
    reply = post(http, f"sessions/{session}/exclude", reason=" fire alarm ")
    assert reply.headers["Location"] == f"/researcher/participants/{pseudonym}?done=session-excluded"
    page = http.get(reply.headers["Location"])
    assert "excluded: fire alarm" in words(page)
    assert "Include again" in words(page)
    assert post(http, f"sessions/{session}/exclude", reason="again").status_code == 409
    assert post(http, f"sessions/{session}/include", reason="wrong session").status_code == 303
    assert post(http, f"sessions/{session}/replace").status_code == 303
    assert post(http, f"sessions/{session}/replace").status_code == 409
    assert {by for _, by in decided(any_store, study)[1:]} == {"a-researcher"}
    assert problems(any_store) == []


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 501])
def test_an_exclusion_needs_a_reason_on_one_line(
    researcher: FlaskClient, study: Study, any_store: Store, reason: str
) -> None:
    person = Person(any_store, study).complete()
    reply = post(researcher, f"sessions/{person.session}/exclude", reason=reason)
    assert reply.status_code == 409
    assert "reason" in words(reply)
    assert any_store.session_named(study, person.session).excluded_reason is None


def test_only_an_owner_deletes_responses_and_only_with_the_pseudonym(
    as_role: SignIn, study: Study, any_store: Store
) -> None:
    person = Person(any_store, study).complete()
    pseudonym, address = person.stored.session.participant.participant, f"sessions/{person.session}/delete"
    researcher, owner = as_role(Role.RESEARCHER), as_role(Role.OWNER)
    assert post(researcher, address, pseudonym=pseudonym).status_code == 403
    assert "Delete the responses" not in researcher.get(f"/researcher/participants/{pseudonym}").text
    assert post(owner, address, pseudonym="x").status_code == 409
    assert any_store.responses(person.session)
    assert post(owner, address, pseudonym=pseudonym).status_code == 303
    assert any_store.responses(person.session) == {}
    assert ("withdrew", "a-owner") in decided(any_store, study)
    assert problems(any_store) == []


def test_a_session_of_another_study_is_not_found(researcher: FlaskClient, any_store: Store, small_study: Study) -> None:
    from dataclasses import replace

    other = replace(small_study, definition=small_study.definition.model_copy(update={"study": "another"}))
    any_store.register_study(other)
    person = Person(any_store, other).complete()
    for action in ("exclude", "include", "replace", "delete"):
        assert post(researcher, f"sessions/{person.session}/{action}", reason="x").status_code == 404
    pseudonym = person.stored.session.participant.participant
    assert researcher.get(f"/researcher/participants/{pseudonym}").status_code == 404


# Access

READS = ["/researcher/", "/researcher/live", "/researcher/participants", "/researcher/participants/x"]
CHANGES = ["groups/1/close", "groups/1/open", "groups/1/extend", "pause", "resume", "sessions/x/exclude",
           "sessions/x/include", "sessions/x/replace", "sessions/x/delete", "sessions.csv"]  # fmt: skip


def everything(store: Store) -> list[Any]:
    return [rows(store, f"SELECT * FROM {table}") for table in ("slots", "events", "sessions", "accounts")]


def test_a_viewer_can_read_and_change_nothing(as_role: SignIn, study: Study, any_store: Store) -> None:
    person, http = Person(any_store, study).complete(), as_role(Role.VIEWER)
    before = everything(any_store)
    for change in CHANGES:
        reply = post(http, change.replace("/x/", f"/{person.session}/"), reason="x", n_slots="1")
        assert reply.status_code == 403, change
        assert "role viewer" in words(reply)
    assert everything(any_store) == before
    pseudonym = person.stored.session.participant.participant
    for address in ("/researcher/", f"/researcher/participants/{pseudonym}"):
        page = http.get(address)
        assert page.status_code == 200
        assert re.findall(r'<form method="post" action="([^"]*)"', page.text) in (
            ["/researcher/sign-out"],
            ["/researcher/sign-out", "/researcher/preview"],
        )


def test_a_change_of_role_applies_to_the_next_request(as_role: SignIn, study: Study, any_store: Store) -> None:
    from dataclasses import replace

    http = as_role(Role.RESEARCHER)
    account: Account = any_store.account(study, "a-researcher")
    any_store.save_account(study, replace(account, role=Role.VIEWER), Access.ROLE_CHANGED, "command line")
    assert post(http, "groups/1/close").status_code == 403
    assert http.get("/researcher/").status_code == 200


def test_a_participant_and_a_stranger_cannot_enter(served: Flask, study: Study, any_store: Store) -> None:
    from tests.server.conftest import Participant

    participant = Participant(served)
    participant.start()
    before = everything(any_store)
    for http in (participant.http, served.test_client()):
        for address in READS:
            page = http.get(address)
            assert page.status_code == 403, address
            assert "Sign in" in page.text
        for change in CHANGES:
            assert post(http, change, reason="x").status_code == 403, change
    assert everything(any_store) == before


def test_a_stolen_session_ends_at_the_sign_out(served: Flask, researcher: FlaskClient) -> None:
    cookie = researcher.get_cookie("equipoise_researcher_blackbox-predict", path="/researcher/")
    thief = served.test_client()
    thief.set_cookie("equipoise_researcher_blackbox-predict", cookie.value, path="/researcher/")
    assert thief.get("/researcher/live").status_code == 200
    researcher.post("/researcher/sign-out")
    for address in READS:
        assert thief.get(address).status_code == 403
    assert post(thief, "pause").status_code == 403


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_form_of_another_site_changes_nothing(
    researcher: FlaskClient, any_store: Store, headers: dict[str, str]
) -> None:
    before = everything(any_store)
    for change in CHANGES:
        reply = researcher.post(f"/researcher/{change}", data={"reason": "x"}, headers=headers)
        assert reply.status_code == 403, change
    assert everything(any_store) == before


def test_a_read_request_changes_nothing(researcher: FlaskClient, any_store: Store) -> None:
    before = everything(any_store)
    for change in CHANGES:
        assert researcher.get(f"/researcher/{change}").status_code in {404, 405}, change
    for address in READS:
        researcher.get(address)
    assert everything(any_store) == before
