"""Entry of participants: by an open address, from a panel, or by a personal link; each participant takes part once."""

import base64
import json
import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from experiment.study.definition import Study
from server.app import create_app
from server.participants import participant_auth
from server.participants.participant_auth import make_link_token
from server.settings import Settings
from server.store import Identity, Release, SqliteStore
from tests.server.conftest import SECRETS
from tests.server.participants.visitors import PANEL_ID, SUBMISSION, Visitor, from_panel, pid, refused
from tests.server.stores import Clock, held_by, recruiting, rows, sign_in

AppOf = Callable[..., Flask]


@pytest.fixture
def app_of(small_study: Study, store: SqliteStore) -> AppOf:
    """Make an application of the small study, recruited in a way that a test chooses."""
    return lambda settings=None, **recruitment: create_app(
        recruiting(small_study, **recruitment), store, SECRETS, settings or Settings()
    )


@pytest.fixture
def panel(app_of: AppOf) -> Flask:
    return app_of(entry="panel")


def sent(reply: TestResponse, name: str) -> str:
    """Return the cookie with this name that a reply sets; cookies that it deletes do not count."""
    (cookie,) = [one for one in reply.headers.getlist("Set-Cookie") if f"equipoise_{name}_" in one]
    assert "Max-Age=0" not in cookie
    return cookie


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return all that was logged, with the fields of each record besides its message."""
    return caplog.text + repr([vars(record) for record in caplog.records])


# The panel id


def test_the_panel_id_is_removed_from_the_address_and_nothing_is_stored_before_consent(
    panel: Flask, store: SqliteStore
) -> None:
    before = held_by(store)
    visitor = Visitor(panel, from_panel(PANEL_ID, STUDY_ID="s", SESSION_ID=SUBMISSION))
    assert visitor.came_in.status_code == 303
    assert visitor.came_in.headers["Location"] == "/"
    assert visitor.came_in.headers["Referrer-Policy"] == "no-referrer"
    assert PANEL_ID not in visitor.came_in.text
    assert PANEL_ID not in sent(visitor.came_in, "entry")  # not readable for a person who looks at the screen
    assert visitor.get("/").status_code == 200
    assert visitor.study()["notice"] is None
    assert held_by(store) == before


def test_scripts_cannot_read_the_entry_cookie_which_lasts_a_day(panel: Flask) -> None:
    cookie = sent(Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).came_in, "entry")
    for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=86400"):
        assert part in cookie


def test_an_entry_cookie_of_an_earlier_version_is_read(
    panel: Flask, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_before(one: Identity) -> dict[str, object]:
        return {"source" if name == "id_kind" else name: value for name, value in asdict(one).items()}

    monkeypatch.setattr(participant_auth, "asdict", as_before)
    assert Visitor(panel, from_panel(PANEL_ID)).start().status_code == 201
    assert rows(store, "SELECT id_kind, external_id FROM identities") == [("panel", PANEL_ID)]


def test_the_panel_id_is_only_in_the_table_of_identities(
    panel: Flask, store: SqliteStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    assert PANEL_ID not in json.dumps(visitor.session)
    Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start()  # and opens the link a second time
    again = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    again.start()
    again.complete()
    again.withdraw()
    again.start()
    other = Visitor(panel, from_panel(pid("other")))
    other.start()
    for table, content in held_by(store).items():
        for secret in (PANEL_ID, SUBMISSION):
            assert (secret in content) == (table == "identities"), table
    for row in store.trials():
        assert PANEL_ID not in repr(row)
    http = panel.test_client()
    sign_in(http)
    figures = http.get("/metrics", headers={"Authorization": "Bearer researcher-token"}).text
    for shown in (http.get("/researcher/").text, figures, logged(caplog)):
        assert PANEL_ID not in shown
        assert SUBMISSION not in shown
    assert caplog.records, "nothing was logged, so that nothing was proved"


def test_only_the_kept_parameters_are_stored_with_the_panel_id(panel: Flask, store: SqliteStore) -> None:
    Visitor(panel, from_panel(PANEL_ID, STUDY_ID="st-1", SESSION_ID=SUBMISSION, name="Ada", utm="x")).start()
    (identity,) = rows(store, "SELECT study, id_kind, external_id, parameters FROM identities")
    assert identity[:3] == ("blackbox-predict", "panel", PANEL_ID)
    assert json.loads(identity[3]) == {"STUDY_ID": "st-1", "SESSION_ID": SUBMISSION}
    assert "Ada" not in repr(held_by(store))


def test_a_study_names_its_own_parameters(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(entry="panel", panel_parameter="pid", kept_parameters=("wave",))
    assert refused(Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start(), 403)
    Visitor(app, "/?pid=p-17&wave=2&STUDY_ID=s").start()
    ((external_id, parameters),) = rows(store, "SELECT external_id, parameters FROM identities")
    assert (external_id, json.loads(parameters)) == ("p-17", {"wave": "2"})


@pytest.mark.parametrize("value", ["", "a b", "a\nb", "\0", "é", "x" * 129])
def test_a_malformed_kept_parameter_is_not_stored(panel: Flask, store: SqliteStore, value: str) -> None:
    assert Visitor(panel, from_panel(PANEL_ID, STUDY_ID=value, SESSION_ID=SUBMISSION)).start().status_code == 201
    ((parameters,),) = rows(store, "SELECT parameters FROM identities")
    assert json.loads(parameters) == {"SESSION_ID": SUBMISSION}


@pytest.mark.parametrize(
    "panel_id",
    [
        "jane",
        PANEL_ID[:-1],
        f"{PANEL_ID}0",
        PANEL_ID.upper(),
        f"g{PANEL_ID[1:]}",
        f"{PANEL_ID}\n0",
        "",
        " ",
        "x" * 129,
        "two words",
        "a\tb",
        "a\nb",
        "a\0b",
        "\x1b[31m",
        "\x7f",
        "é",
        "日本",
        "a\u2028b",
        "\u200b",
    ],
)
def test_a_malformed_panel_id_begins_no_session(panel: Flask, store: SqliteStore, panel_id: str) -> None:
    visitor = Visitor(panel, from_panel(panel_id))
    assert visitor.came_in.status_code == 303
    cookies = visitor.came_in.headers.getlist("Set-Cookie")
    assert len(cookies) == bool(panel_id.strip())
    for cookie in cookies:  # It has the reason for the notice, and not the id.
        assert base64.urlsafe_b64encode(b'{"error": "id_invalid"}').decode() in cookie
    assert "link" in str(visitor.study()["notice"])
    assert "link" in refused(visitor.start(), 403)
    assert rows(store, "SELECT * FROM sessions") == []


@pytest.mark.parametrize(
    "panel_id", ["a", "x" * 128, "5f3a", "A-b_c.d~e", "me@example.org", "'; DROP TABLE identities;--"]
)
def test_a_panel_id_of_any_usual_format_begins_a_session(app_of: AppOf, store: SqliteStore, panel_id: str) -> None:
    """From a panel other than Prolific, because Prolific's ids have one form."""
    panel_id = panel_id.replace(" ", "")
    assert Visitor(app_of(entry="panel", panel_parameter="pid"), f"/?pid={quote(panel_id)}").start().status_code == 201
    assert rows(store, "SELECT external_id FROM identities") == [(panel_id,)]


@pytest.mark.parametrize("address", ["/?PROLIFIC_PID", "/?=x", "/?%00=1", "/?prolific_pid=x"])
def test_unknown_parameters_are_removed_from_the_address(panel: Flask, address: str) -> None:
    visitor = Visitor(panel, address)
    assert (visitor.came_in.status_code, visitor.came_in.headers["Location"]) == (303, "/")
    assert refused(visitor.start(), 403)


def test_no_parameter_redirects_to_another_site(panel: Flask) -> None:
    for address in ("/?next=https://evil.example", "/?PROLIFIC_PID=x&url=//evil.example", "/?//evil.example"):
        assert Visitor(panel, address).came_in.headers["Location"] == "/"
    forged = panel.test_client().get(from_panel("x"), headers={"X-Forwarded-Host": "evil.example"})
    assert forged.headers["Location"] == "/"


# Each participant takes part once


def test_a_participant_resumes_the_same_session_in_another_browser(panel: Flask, store: SqliteStore) -> None:
    first = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    first.start()
    first.answer(0)
    second = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert second.start().status_code == 201
    assert second.session["session"] == first.session["session"]
    assert second.session["next_trial_index"] == 1
    assert second.session["trials"] == first.session["trials"]
    assert len(rows(store, "SELECT * FROM sessions")) == 1


def test_resuming_in_another_browser_makes_the_earlier_cookie_invalid(panel: Flask, store: SqliteStore) -> None:
    first = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    first.start()
    first.answer(0)
    second = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    second.start()
    before = held_by(store)
    for reply in (
        first.get("/api/session"),
        first.answer(1),
        first.post("/api/complete", {}),
        first.post("/api/withdraw", {}),
    ):
        refused(reply, 401)
    assert held_by(store) == before
    assert second.answer(1).status_code == 201


def test_a_completed_participant_gets_the_same_code_and_no_second_session(panel: Flask, store: SqliteStore) -> None:
    first = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    first.start()
    code = first.complete().get_json()["completion_code"]
    again = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert again.start().status_code == 201
    assert (again.session["status"], again.session["completion_code"]) == ("completed", code)
    assert again.post("/api/complete", {}).get_json()["completion_code"] == code
    assert len(rows(store, "SELECT * FROM sessions")) == 1


def test_a_withdrawn_participant_cannot_begin_another_session(panel: Flask, store: SqliteStore) -> None:
    first = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    first.start()
    first.answer(0)
    first.withdraw()
    before = held_by(store)
    assert "left this study" in refused(first.start(), 409)
    assert "left this study" in refused(Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start(), 409)
    assert held_by(store) == before


def test_another_participant_in_the_same_browser_gets_a_new_session(panel: Flask, store: SqliteStore) -> None:
    """As in a laboratory, or a family: the panel id in the address identifies the present participant."""
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    first = visitor.session["session"]
    visitor.answer(0)
    visitor.get(from_panel(pid("somebody-else")))
    seen = visitor.get("/api/session")
    assert seen.status_code == 401, "the second person is shown the first one's session"
    visitor.start()
    assert visitor.session["session"] != first
    assert visitor.answer(0).status_code == 201
    assert len(rows(store, "SELECT * FROM identities")) == 2


def test_another_participant_in_the_same_browser_does_not_get_the_first_participants_code(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    code = visitor.complete().get_json()["completion_code"]
    visitor.get(from_panel(pid("somebody-else")))
    assert code not in visitor.get("/api/session").text


def test_a_participant_who_opens_the_link_again_resumes_without_a_new_start(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    visitor.answer(0)
    visitor.get(from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert visitor.get("/api/session").get_json()["next_trial_index"] == 1


def test_the_same_panel_id_is_another_participant_in_another_study(
    small_study: Study, panel: Flask, store: SqliteStore
) -> None:
    Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start()
    other = recruiting(renamed(small_study, "another-study"), entry="panel")
    there = Visitor(create_app(other, store, SECRETS, Settings()), from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    assert there.start().status_code == 201
    assert there.session["next_trial_index"] == 0
    assert len(rows(store, "SELECT * FROM sessions")) == 2


def test_simultaneous_starts_of_one_participant_make_one_session(panel: Flask, store: SqliteStore) -> None:
    from tests.server.stores import at_once

    visitors = [Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)) for _ in range(8)]
    replies = at_once(*(visitor.start for visitor in visitors))
    assert {reply.status_code for reply in replies} <= {201, 401}
    assert len(rows(store, "SELECT * FROM sessions")) == 1
    assert [visitor.get("/api/session").status_code for visitor in visitors].count(200) == 1


def test_a_simulated_participant_has_no_panel_id(panel: Flask, store: SqliteStore) -> None:
    assert Visitor(panel).start(kind="simulated").status_code == 201
    assert Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start(kind="simulated").status_code == 201
    assert rows(store, "SELECT * FROM identities") == []
    assert Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start().status_code == 201


# Personal links


@pytest.fixture
def linked(app_of: AppOf) -> Flask:
    return app_of(entry="link")


def test_a_personal_link_begins_one_session(linked: Flask, small_study: Study, store: SqliteStore) -> None:
    token = make_link_token(small_study, SECRETS.signing_key)
    first = Visitor(linked, f"/?token={token}")
    assert (first.came_in.status_code, first.came_in.headers["Location"]) == (303, "/")
    assert first.start().status_code == 201
    first.answer(0)
    second = Visitor(linked, f"/?token={token}")
    second.start()
    assert second.session["session"] == first.session["session"]
    refused(first.get("/api/session"), 401)
    other = Visitor(linked, f"/?token={make_link_token(small_study, SECRETS.signing_key)}")
    assert other.start().status_code == 201
    assert other.session["session"] != first.session["session"]
    assert {source for (source,) in rows(store, "SELECT id_kind FROM identities")} == {"link"}
    assert token not in repr(held_by(store))


def forged_tokens(study: Study) -> Iterator[str]:
    right = make_link_token(study, SECRETS.signing_key)
    name, signature = right.rsplit(".", 1)
    yield from ("", "x", ".", "..", name, f"{name}.", f".{signature}", right[:-1], f"{right}A", right.upper())
    yield f"{'0' * len(name)}.{signature}"
    yield f"{name}.{signature[::-1]}"
    yield f"{name} .{signature}"
    yield f"{name}\0.{signature}"
    yield make_link_token(study, "another key")
    yield make_link_token(renamed(study, "another-study"), SECRETS.signing_key)


def renamed(study: Study, name: str) -> Study:
    import dataclasses

    return dataclasses.replace(study, definition=study.definition.model_copy(update={"study": name}))


def test_a_forged_personal_link_begins_no_session(linked: Flask, small_study: Study, store: SqliteStore) -> None:
    for token in forged_tokens(small_study):
        visitor = Visitor(linked, f"/?token={quote(token)}")
        assert visitor.came_in.status_code == 303
        assert "link" in str(visitor.study()["notice"]), token
        refused(visitor.start(), 403)
    assert rows(store, "SELECT * FROM sessions") == []


def test_a_study_accepts_either_panel_ids_or_personal_links(linked: Flask, panel: Flask, small_study: Study) -> None:
    refused(Visitor(linked, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start(), 403)
    refused(Visitor(panel, f"/?token={make_link_token(small_study, SECRETS.signing_key)}").start(), 403)


def test_a_panel_id_is_refused_after_the_study_changed_to_personal_links(panel: Flask, linked: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    later = linked.test_client()
    cookie = visitor.http.get_cookie("equipoise_entry_blackbox-predict", domain="localhost")
    assert cookie is not None
    later.set_cookie(cookie.key, cookie.value)
    digest = later.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    refused(later.post("/api/session", json=start), 403)


# Open studies


def test_an_open_study_ignores_panel_ids_and_removes_them_from_the_address(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(entry="open")
    visitors = [Visitor(app, from_panel(PANEL_ID, STUDY_ID="s")) for _ in range(2)]
    for visitor in visitors:
        assert visitor.came_in.status_code == 303
        assert "Set-Cookie" not in visitor.came_in.headers
        assert visitor.start().status_code == 201
    assert visitors[0].session["session"] != visitors[1].session["session"]
    assert rows(store, "SELECT * FROM identities") == []
    assert PANEL_ID not in repr(held_by(store))


def test_an_address_without_parameters_is_not_redirected(panel: Flask) -> None:
    visitor = Visitor(panel)
    assert visitor.came_in.status_code == 200
    (cookie,) = visitor.came_in.headers.getlist("Set-Cookie")
    assert cookie.startswith("equipoise_check_")
    assert "link" in visitor.study()["notice"]


# Cookies


def test_a_cookie_of_one_study_is_invalid_for_another_study(small_study: Study, panel: Flask, tmp_path: Path) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    other_store = SqliteStore(tmp_path / "other" / "equipoise.db")
    other = create_app(
        recruiting(renamed(small_study, "another-study"), entry="panel"), other_store, SECRETS, Settings()
    )
    http = other.test_client()
    for name in ("session", "entry"):
        cookie = visitor.http.get_cookie(f"equipoise_{name}_blackbox-predict", domain="localhost")
        assert cookie is not None
        http.set_cookie(f"equipoise_{name}_another-study", cookie.value)
    refused(http.get("/api/session"), 401)
    digest = http.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    refused(http.post("/api/session", json=start), 403)
    other_store.close()


def test_entry_cookies_and_session_cookies_are_not_interchangeable(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    http = panel.test_client()
    for name, other in (("session", "entry"), ("entry", "session")):
        cookie = visitor.http.get_cookie(f"equipoise_{other}_blackbox-predict", domain="localhost")
        assert cookie is not None
        http.set_cookie(f"equipoise_{name}_blackbox-predict", cookie.value)
    refused(http.get("/api/session"), 401)
    digest = http.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    refused(http.post("/api/session", json=start), 403)


def test_cookies_over_https_are_bound_to_the_host_and_the_reply_demands_https(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID), https=True)
    for reply, name in ((visitor.came_in, "entry"), (visitor.start(), "session")):
        assert reply.headers["Strict-Transport-Security"] == "max-age=31536000"
        cookie = sent(reply, name)
        assert cookie.startswith("__Host-equipoise_")
        for part in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
            assert part in cookie
        assert "Domain" not in cookie
    assert visitor.get("/api/session").status_code == 200


def test_cookies_over_http_have_no_prefix_and_the_reply_does_not_demand_https(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    for reply, name in ((visitor.came_in, "entry"), (visitor.start(), "session")):
        assert "Strict-Transport-Security" not in reply.headers
        cookie = sent(reply, name)
        assert cookie.startswith("equipoise_")
        assert "Secure" not in cookie


def test_a_cookie_from_http_is_invalid_over_https(panel: Flask) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    visitor.base = "https://localhost"
    refused(visitor.get("/api/session"), 401)


@pytest.mark.parametrize(
    ("proxies", "protocol", "is_https"),
    [(1, "https", True), (1, "http", False), (1, "http, https", True), (1, "https, http", False), (1, "", False),
     (1, "HTTPS://", False), (2, "https, http", True), (2, "https", False), (0, "https", False),
     (0, "https, https", False)],
)  # fmt: skip
def test_only_configured_proxies_can_report_https(app_of: AppOf, proxies: int, protocol: str, is_https: bool) -> None:
    app = app_of(Settings(proxies=proxies), entry="panel")
    reply = app.test_client().get(from_panel(PANEL_ID), headers={"X-Forwarded-Proto": protocol})
    assert sent(reply, "entry").startswith("__Host-equipoise_entry_") == is_https
    assert ("Secure" in sent(reply, "entry")) == is_https
    assert ("Strict-Transport-Security" in reply.headers) == is_https


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image", "Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-site"},
     {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "same-origin"}],
)  # fmt: skip
def test_a_frame_or_image_of_another_site_begins_and_ends_no_session(panel: Flask, headers: dict[str, str]) -> None:
    visitor = Visitor(panel, from_panel(PANEL_ID))
    visitor.start()
    reply = visitor.http.get(from_panel("somebody-else"), base_url=visitor.base, headers=headers)
    assert (reply.status_code, reply.headers.getlist("Set-Cookie")) == (303, [])
    assert visitor.get("/api/session").status_code == 200


def test_a_link_on_the_panels_site_begins_a_session(panel: Flask) -> None:
    headers = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "cross-site"}
    http = panel.test_client()
    assert sent(http.get(from_panel(PANEL_ID), headers=headers), "entry")
    digest = http.get("/api/study").get_json()["consent_digest"]
    start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
    assert http.post("/api/session", json=start).status_code == 201


def test_the_researchers_cookie_over_https_is_secure(panel: Flask) -> None:
    reply = sign_in(panel.test_client(), base_url="https://localhost")
    cookie = reply.headers["Set-Cookie"]
    assert cookie.startswith("__Secure-equipoise_researcher_")
    assert "Secure;" in cookie
    assert reply.headers["Strict-Transport-Security"]


def test_each_start_makes_a_new_token(panel: Flask) -> None:
    seen = set()
    for _ in range(3):
        visitor = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
        seen.add(sent(visitor.start(), "session").split("=")[1].split(".")[0])
    assert len(seen) == 3
    assert all(len(token) >= 40 for token in seen)  # at least 240 bits


# Slots


def test_a_full_study_is_reported_before_and_after_consent(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(entry="panel", quota=2)
    people = [Visitor(app, from_panel(pid(f"person-{number}"), SESSION_ID=f"s-{number}")) for number in range(3)]
    assert people[2].study()["notice"] is None
    for visitor in people[:2]:
        assert visitor.start().status_code == 201
    before = held_by(store)["sessions"]
    assert "taken at the moment" in people[2].study()["notice"]
    assert "taken at the moment" in refused(people[2].start(), 409)
    assert held_by(store)["sessions"] == before
    assert len(rows(store, "SELECT * FROM identities")) == 2
    again = Visitor(app, from_panel(pid("person-0"), SESSION_ID="s-0"))
    assert again.study()["notice"] is None  # a participant with a session can resume
    assert again.start().status_code == 201
    for visitor in (again, people[1]):
        assert visitor.complete().status_code == 200
    assert "all the participants it needs" in people[2].study()["notice"]
    assert "all the participants it needs" in refused(people[2].start(), 409)


def test_the_slot_of_a_withdrawn_participant_goes_to_the_next_participant(app_of: AppOf) -> None:
    app = app_of(entry="panel", quota=1)
    first, second = (Visitor(app, from_panel(pid(name))) for name in ("first", "second"))
    first.start()
    refused(second.start(), 409)
    first.withdraw()
    assert second.study()["notice"] is None
    assert second.start().status_code == 201


def test_a_participant_whose_slot_went_to_another_participant_cannot_resume(app_of: AppOf) -> None:
    app = app_of(entry="panel", quota=1, time_out_min=10)
    with Clock().installed() as clock:
        first, second = (Visitor(app, from_panel(pid(name), SESSION_ID=name)) for name in ("first", "second"))
        first.start()
        clock.advance(minutes=11)
        assert second.start().status_code == 201
        assert "given to another participant" in refused(first.post("/api/visit", {"visit_id": str(uuid.uuid4())}), 409)
        assert "given to another participant" in refused(
            Visitor(app, from_panel(pid("first"), SESSION_ID="first")).start(), 409
        )


def test_a_participant_whose_slot_the_researcher_released_cannot_resume(app_of: AppOf, store: SqliteStore) -> None:
    app = app_of(entry="panel")
    visitor = Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    visitor.start()
    store.release_slot(visitor.session["session"], Release.RETURN)
    refused(visitor.post("/api/visit", {"visit_id": str(uuid.uuid4())}), 409)
    refused(Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start(), 409)


def test_a_closed_study_still_accepts_simulated_participants(app_of: AppOf) -> None:
    app = app_of(entry="panel", quota=1)
    Visitor(app, from_panel(PANEL_ID, SESSION_ID=SUBMISSION)).start()
    assert Visitor(app).start(kind="simulated").status_code == 201


def test_another_participants_start_id_is_refused(panel: Flask, store: SqliteStore) -> None:
    """A browser makes the id of a start; a client with another panel id gets no session by knowing this start id."""
    first = Visitor(panel, from_panel(PANEL_ID, SESSION_ID=SUBMISSION))
    start_id = str(uuid.uuid4())
    first.start(start_id=start_id)
    first.answer(0)
    other = Visitor(panel, from_panel(pid("somebody-else")))
    reply = other.start(start_id=start_id)
    assert reply.status_code == 409 or other.session["session"] != first.session["session"]
    assert first.get("/api/session").status_code == 200
