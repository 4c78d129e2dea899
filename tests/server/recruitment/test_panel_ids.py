"""A panel id is not a password: it opens no existing session, and replies do not reveal the participants."""

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask

from experiment.study.definition import Study
from server.app import create_app
from server.participants.participant_auth import make_link_token
from server.security.rate_limits import UNPROVEN_CLAIMS_PER_MINUTE
from server.settings import Settings
from server.store import BegunElsewhere, Identity, SqliteStore, Store
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import PANEL_ID, SUBMISSION, Visitor, from_panel, pid, refused
from tests.server.stores import Person, at_once, held_by, of, problems, recruiting, rows

ELSEWHERE = "begun with your ID in another browser"
AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    """Make an application of the small study for people of a panel."""

    def make(settings: Settings | None = None, panel_ids: frozenset[str] | None = None, **recruitment: Any) -> Flask:
        study = recruiting(small_study, **{"entry": "panel"} | recruitment)
        object.__setattr__(study, "panel_ids", panel_ids)
        return create_app(study, store, SECRETS, settings or Settings())

    return make


@pytest.fixture
def panel(app_of: AppOf) -> Flask:
    return app_of()


def victim_of(app: Flask) -> Visitor:
    """Return a participant who has begun and responded to one trial."""
    visitor = Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert visitor.start().status_code == 201
    visitor.answer(0)
    visitor.session = visitor.get("/api/session").get_json()
    return visitor


IMPOSTORS = [
    {},
    {"SESSION_ID": ""},
    {"SESSION_ID": SUBMISSION[:-1]},
    {"SESSION_ID": SUBMISSION.upper()},
    {"SESSION_ID": "66aa77bb88cc99dd00ee1200"},
    {"STUDY_ID": SUBMISSION},
]


@pytest.mark.parametrize("parameters", IMPOSTORS)
@pytest.mark.parametrize("state", ["under way", "completed", "withdrawn"])
def test_a_known_id_alone_opens_completes_and_deletes_nothing(
    panel: Flask, store: SqliteStore, parameters: dict[str, str], state: str
) -> None:
    victim = victim_of(panel)
    code = victim.complete().get_json()["withdrawal_code"] if state == "completed" else "no code yet"
    if state == "withdrawn":
        victim.withdraw()
    before = held_by(store)
    impostor = Visitor(panel, from_panel(PANEL_ID, **parameters))
    reply = impostor.start()
    assert ELSEWHERE in refused(reply, 409)
    assert "Set-Cookie" not in reply.headers
    for tried in (impostor.get("/api/session"), impostor.post("/api/complete", {}), impostor.withdraw()):
        refused(tried, 401)
        assert code not in tried.text
    assert code not in reply.text
    assert held_by(store) == before
    assert victim.get("/api/session").status_code == 200
    assert problems(store) == []


def test_the_submission_that_began_resumes_in_another_browser(panel: Flask) -> None:
    victim = victim_of(panel)
    again = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert again.start().status_code == 201
    assert again.session["session"] == victim.session["session"]
    assert again.complete().status_code == 200


@pytest.mark.parametrize("kept", [(), ("STUDY_ID",)])
def test_without_a_submission_id_only_the_browser_that_began_resumes(app_of: AppOf, kept: tuple[str, ...]) -> None:
    app = app_of(panel_parameter="pid", kept_parameters=kept)
    first = Visitor(app, "/?pid=p-17&SESSION_ID=x")
    first.start()
    assert ELSEWHERE in refused(Visitor(app, "/?pid=p-17&SESSION_ID=x").start(), 409)
    first.get("/?pid=p-17&SESSION_ID=x")
    assert first.get("/api/session").status_code == 200
    assert first.complete().status_code == 200


def test_the_browser_that_began_resumes_without_the_entry_cookie(
    app_of: AppOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry cookie is valid for a day and the session cookie for a week. The link is reopened on the third day."""
    app = app_of(panel_parameter="pid", kept_parameters=())
    first = Visitor(app, "/?pid=p-17")
    first.start()
    with monkeypatch.context() as patch:
        patch.setattr("server.participants.participant_auth.MAX_AGE_S", -1)
        first.get("/?pid=p-17")
    assert first.get("/api/session").status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr("server.participants.participant_auth.MAX_AGE_S", -1)
        first.get("/?pid=somebody-else")
    refused(first.get("/api/session"), 401)


def test_a_start_whose_reply_was_lost_can_be_retried_without_a_cookie(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(panel_parameter="pid", kept_parameters=())
    visitor, start_id = Visitor(app, "/?pid=p-17"), str(uuid.uuid4())
    first = visitor.start(start_id=start_id).get_json()
    visitor.http.delete_cookie("equipoise_session_blackbox-predict", domain="localhost")
    assert visitor.start(start_id=start_id).get_json()["session"] == first["session"]
    assert len(rows(store, "SELECT * FROM sessions")) == 1


def test_another_participants_session_is_not_a_proof(panel: Flask) -> None:
    """The attacker's cookie is a valid cookie of another session."""
    victim_of(panel)
    attacker = Visitor(panel, from_panel(pid("attacker"), SESSION_ID="mine"))
    attacker.start()
    cookie = attacker.http.get_cookie("equipoise_session_blackbox-predict", domain="localhost")
    assert cookie is not None
    attacker.get(from_panel(PANEL_ID))
    attacker.http.set_cookie(cookie.key, cookie.value, domain="localhost")
    attacker.complete()
    assert ELSEWHERE in refused(attacker.start(), 409)


def test_simultaneous_starts_with_one_panel_id_make_one_session(any_store: Store, small_study: Study) -> None:
    study = recruiting(small_study, entry="panel")
    any_store.register_study(study)
    outcomes = at_once(*[lambda: Person(any_store, study, identity=Identity("panel", PANEL_ID))] * 8)
    assert of(BegunElsewhere, outcomes) == 7, outcomes
    assert len(rows(any_store, "SELECT * FROM sessions")) == 1


def test_only_the_submission_that_began_gets_the_session_from_the_store(any_store: Store, small_study: Study) -> None:
    study = recruiting(small_study, entry="panel")
    any_store.register_study(study)
    hers, other = Identity("panel", "anna", {"SESSION_ID": "s-1"}), Identity("panel", "anna", {"SESSION_ID": "s-2"})
    person = Person(any_store, study, identity=hers)
    with pytest.raises(BegunElsewhere):
        Person(any_store, study, identity=other)
    assert [any_store.may_resume(study, one) for one in (hers, other, Identity("panel", "anna"))] == [
        True,
        False,
        False,
    ]
    assert not any_store.may_resume(study, Identity("panel", "bert", {"SESSION_ID": "s-1"}))
    assert Person(any_store, study, identity=hers).session == person.session


# Replies do not reveal the participants


def answers_of(app: Flask, address: str) -> list[tuple[int, bytes, list[str]]]:
    """Return all replies before a start, without the parts that change with each request."""
    http = app.test_client()
    replies = [http.get(address), http.get("/"), http.get("/api/study"), http.get("/api/session")]
    names = [sorted(name for name, _ in reply.headers) for reply in replies]
    return [(reply.status_code, reply.data, name) for reply, name in zip(replies, names, strict=True)]


@pytest.mark.parametrize("quota", [None, 1])
@pytest.mark.parametrize("state", ["under way", "completed", "withdrawn"])
def test_before_a_start_known_and_unknown_ids_get_the_same_reply(app_of: AppOf, quota: int | None, state: str) -> None:
    app = app_of(quota=quota, panel_ids=frozenset({PANEL_ID, pid("invited")}))
    victim = victim_of(app)
    if state == "completed":
        victim.complete()
    elif state == "withdrawn":
        victim.withdraw()
    known = answers_of(app, from_panel(PANEL_ID, SESSION_ID="wrong"))
    for unknown in (pid("invited"), pid("stranger")):
        assert answers_of(app, from_panel(unknown, SESSION_ID="wrong")) == known


def test_in_a_full_study_only_the_submission_that_began_resumes_and_guesses_are_limited(app_of: AppOf) -> None:
    app = app_of(quota=1)
    victim_of(app)
    hers = Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert hers.study()["notice"] is None
    for number in range(UNPROVEN_CLAIMS_PER_MINUTE):
        assert Visitor(app, from_panel(PANEL_ID, SESSION_ID=f"guess-{number}")).study()["notice"]
    assert hers.study()["notice"], "a guess after too many wrong ones was still compared"
    assert hers.start().status_code == 429


def test_starts_with_known_ids_are_limited_for_each_address_separately(app_of: AppOf) -> None:
    app = app_of()
    victim_of(app)
    statuses = [
        Visitor(app, from_panel(PANEL_ID, SESSION_ID=f"g-{number}")).start().status_code
        for number in range(UNPROVEN_CLAIMS_PER_MINUTE + 5)
    ]
    assert statuses == [409] * UNPROVEN_CLAIMS_PER_MINUTE + [429] * 5
    distant = Visitor(app, from_panel(pid("new"), SESSION_ID="n"))
    distant.http.environ_base["REMOTE_ADDR"] = "198.51.100.23"
    assert distant.start().status_code == 201


def test_starts_with_unknown_ids_in_a_full_study_are_limited_because_they_reveal_known_ids(app_of: AppOf) -> None:
    app = app_of(quota=1)
    victim = victim_of(app)
    start = {"consent_digest": victim.study()["consent_digest"], "kind": "human"}

    def start_at_once(panel_id: str, address: str = "127.0.0.1") -> int:
        visitor = Visitor(app, from_panel(panel_id))
        visitor.http.environ_base["REMOTE_ADDR"] = address
        return visitor.post("/api/session", start | {"start_id": str(uuid.uuid4())}).status_code

    statuses = [start_at_once(pid(f"p{number}")) for number in range(UNPROVEN_CLAIMS_PER_MINUTE + 1)]
    assert statuses == [409] * UNPROVEN_CLAIMS_PER_MINUTE + [429]
    assert start_at_once(PANEL_ID) == 429
    assert victim.answer(1).status_code == 201
    assert start_at_once(pid("p0"), "198.51.100.23") == 409


def test_starts_without_a_panel_id_in_a_full_study_are_not_limited_as_claims(app_of: AppOf) -> None:
    app = app_of(entry="open", quota=1)
    Visitor(app).start()
    statuses = {Visitor(app).start().status_code for _ in range(UNPROVEN_CLAIMS_PER_MINUTE + 5)}
    assert statuses == {409}


def test_guesses_from_other_clients_do_not_lock_out_the_browser_that_began(app_of: AppOf) -> None:
    app = app_of()
    victim = victim_of(app)
    for number in range(UNPROVEN_CLAIMS_PER_MINUTE + 1):
        Visitor(app, from_panel(PANEL_ID, SESSION_ID=f"g-{number}")).start()
    victim.get(from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert victim.post("/api/visit", {"visit_id": str(uuid.uuid4())}).status_code == 200
    assert victim.start().status_code == 200
    assert victim.complete().status_code == 200


# Permitted ids


def test_only_ids_in_the_list_can_begin(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(panel_ids=frozenset({PANEL_ID}))
    reply = Visitor(app, from_panel(pid("stranger"))).start()
    assert "not on the list" in refused(reply, 403)
    assert rows(store, "SELECT * FROM identities") == []
    assert Visitor(app, from_panel(PANEL_ID)).start().status_code == 201


def test_a_study_can_set_the_pattern_of_its_panel_ids(app_of: AppOf) -> None:
    app = app_of(panel_parameter="sona", panel_id_pattern="[0-9]{5}")
    for strange in ("1234", "123456", "1234a", "12345%0A6"):
        refused(Visitor(app, f"/?sona={strange}").start(), 403)
    assert Visitor(app, "/?sona=12345").start().status_code == 201


@pytest.mark.parametrize(
    "placeholder",
    [
        "{{%PROLIFIC_PID%}}", "${e://Field/PID}", "${workerId}", "ASSIGNMENT_ID_NOT_AVAILABLE", "[%MID%]", "[id]",
        "%SURVEY_CODE%", "<id>", "#id#", "{id}", "undefined", "null",
    ],
)  # fmt: skip
def test_a_placeholder_is_not_a_panel_id_in_any_study(app_of: AppOf, store: SqliteStore, placeholder: str) -> None:
    """Every participant would have the same id, and the first one would take the only slot of this id."""
    app = app_of(panel_parameter="worker", panel_id_pattern=".+")
    visitor = Visitor(app, f"/?worker={quote(placeholder)}")
    assert "has a placeholder instead of your ID" in visitor.study()["notice"]
    assert visitor.start().status_code == 403
    assert "placeholder" in visitor.start().get_json()["error"]
    assert rows(store, "SELECT * FROM sessions") == []
    assert Visitor(app, "/?worker=maria").start().status_code == 201


def test_a_placeholder_of_the_submission_is_not_kept_because_everybody_would_have_it(
    app_of: AppOf, store: SqliteStore
) -> None:
    app = app_of()
    first = Visitor(app, from_panel(PANEL_ID, SESSION_ID="{{%SESSION_ID%}}"))
    assert first.start().status_code == 201
    other = Visitor(app, from_panel(PANEL_ID, SESSION_ID="{{%SESSION_ID%}}"))
    assert other.start().status_code == 409


# Personal links


def test_a_personal_link_is_a_proof(app_of: AppOf, small_study: Study) -> None:
    """Every person with the link can open the session; the server signs the link, so it cannot be forged."""
    app = app_of(entry="link", quota=1)
    token = make_link_token(small_study, SECRETS.signing_key)
    first, second = Visitor(app, f"/?token={token}"), Visitor(app, f"/?token={token}")
    first.start()
    assert second.study()["notice"] is None
    assert second.start().status_code == 201
    assert second.session["session"] == first.session["session"]
    other = Visitor(app, f"/?token={make_link_token(small_study, SECRETS.signing_key)}")
    for _ in range(UNPROVEN_CLAIMS_PER_MINUTE + 1):
        assert other.study()["notice"]
    assert Visitor(app, f"/?token={token}").start().status_code == 201
