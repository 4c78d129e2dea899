"""Coming back to a session: visits are counted once, and the study's rules say who goes on, begins again, or is out."""

import dataclasses
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.records import FoundDevice, Kind, Status
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.app import create_app
from server.settings import Settings
from server.store import (
    Conflict,
    Identity,
    NotYourSession,
    Place,
    Refusal,
    Release,
    SqliteStore,
    Store,
    StoredSession,
    StudyFull,
    Visit,
)
from server.store.copying import copy_store
from server.store.sql.sessions import MOST_VISITS
from tests.server.conftest import SECRETS, Participant
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    by_hand,
    of,
    problems,
    recruiting,
    reopened,
    response,
    responses_of,
    rows,
    saying,
    verified,
    version_of,
)

NO_LIMITS = Settings(requests_per_second=1_000_000, starts_per_minute=1_000_000, places_per_address=1_000_000)
DEVICE = FoundDevice(
    width_px=1280,
    height_px=720,
    screen_width_px=1920,
    screen_height_px=1080,
    pixel_ratio=1.5,
    frame_ms=16.7,
    touch=False,
    phone=False,
    keyboard=True,
    automation=False,
)


def new_id() -> str:
    return str(uuid.uuid4())


def visit(person: Person, visit_id: str | None = None, study: Study | None = None) -> StoredSession:
    """Let somebody open their session again; what they know of it then is what they are told."""
    person.stored = person.store.open_session(study or person.study, person.token, Visit(visit_id or new_id()))
    return person.stored


def visits_of(store: Store, session: str) -> list[tuple[Any, ...]]:
    query = "SELECT visit, visit_id, next_trial_index, device FROM visits WHERE session = ? ORDER BY visit"
    return rows(store, query, (session,))


def place_of(store: Store, session: str) -> tuple[Any, ...]:
    (found,) = rows(store, "SELECT status, place, release_reason FROM sessions WHERE session = ?", (session,))
    return found


def sessions_in(store: Store) -> int:
    ((n,),) = rows(store, "SELECT COUNT(*) FROM sessions")
    return int(n)


def panel(external_id: str = "anna") -> Identity:
    return Identity("panel", external_id, {"SESSION_ID": f"submission of {external_id}"})


StudyOf = Callable[..., Study]


@pytest.fixture
def study_of(small_study: Study, any_store: Store) -> StudyOf:
    """Give the small study rules for coming back, and register it."""

    def make(**rules: Any) -> Study:
        study = saying(small_study, resume=Resume(**rules))
        any_store.register_study(study)
        return study

    return make


@pytest.fixture
def again(study_of: StudyOf, any_store: Store) -> Person:
    """Somebody who has answered two of three questions, and must begin again if they come back."""
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"))
    person.answer(2)
    return person


# Counting


def test_the_start_is_the_first_visit(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    assert person.stored.n_visits == 1
    assert [row[:3] for row in visits_of(any_store, person.session)] == [(1, person.start_id, 0)]


def test_a_visit_is_noted_with_its_device_and_how_far_the_session_was(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    person.answer(2)
    known = new_id()
    any_store.open_session(person.study, person.token, Visit(known, DEVICE))
    number, visit_id, next_trial_index, device = visits_of(any_store, person.session)[-1]
    assert (number, visit_id, next_trial_index) == (2, known, 2)
    assert FoundDevice.model_validate_json(device) == DEVICE
    assert problems(any_store) == []


@given(ids=st.lists(st.integers(0, 3), max_size=12))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_visit_counts_once_however_often_it_is_sent(study_of: StudyOf, any_store: Store, ids: list[int]) -> None:
    person = Person(any_store, study_of())
    known = [person.start_id, *(new_id() for _ in range(3))]
    for n_sent, number in enumerate(ids, start=1):
        assert visit(person, known[number]).n_visits == len({0, *ids[:n_sent]})
    seen = [row[:2] for row in visits_of(any_store, person.session)]
    in_order = list(dict.fromkeys([known[0], *(known[number] for number in ids)]))
    assert seen == list(enumerate(in_order, start=1))
    assert problems(any_store) == []


def test_one_visit_sent_many_times_at_once_counts_once(study_of: StudyOf, any_store: Store) -> None:
    person, known = Person(any_store, study_of(max_reloads=1)), new_id()
    with closing(another(any_store)) as other:
        send = [partial(one.open_session, person.study, person.token, Visit(known)) for one in (any_store, other)]
        outcomes = at_once(*send * 6)
    assert of(Exception, outcomes) == 0, outcomes
    assert {(found.n_visits, found.ended_for) for found in outcomes} == {(2, None)}
    assert len(visits_of(any_store, person.session)) == 2


def test_many_visits_at_once_are_all_counted(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    with closing(another(any_store)) as other:
        jobs = [
            partial(one.open_session, person.study, person.token, Visit(new_id())) for one in (any_store, other) * 6
        ]
        outcomes = at_once(*jobs)
    assert of(Exception, outcomes) == 0, outcomes
    assert [row[0] for row in visits_of(any_store, person.session)] == list(range(1, 14))


def test_without_a_session_there_is_nothing_to_visit(study_of: StudyOf, any_store: Store) -> None:
    with pytest.raises(NotYourSession):
        any_store.open_session(study_of(), "a token of nobody's", Visit(new_id()))


def test_another_browser_is_another_visit_and_takes_the_session_over(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(), identity=panel())
    earlier, session = person.token, person.session
    person.start_id = new_id()
    assert person.begin().session.session == session
    assert person.stored.n_visits == 2
    with pytest.raises(NotYourSession):
        any_store.open_session(person.study, earlier, Visit(new_id()))
    assert len(visits_of(any_store, session)) == 2


def test_a_session_notes_a_hundred_visits_and_is_opened_all_the_same(study_of: StudyOf, any_store: Store) -> None:
    """A program that reloads the page without end must not fill the disk."""
    person = Person(any_store, study_of())
    for _ in range(MOST_VISITS + 20):
        visit(person)
    assert person.stored.n_visits == len(visits_of(any_store, person.session)) == MOST_VISITS == 100
    assert person.stored.ended_for is None
    assert visit(person, person.start_id).n_visits == MOST_VISITS
    person.complete()
    assert person.now.session.status is Status.COMPLETED
    assert problems(any_store) == []


def test_a_rule_about_many_visits_still_holds(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=MOST_VISITS + 5))
    for _ in range(MOST_VISITS + 5):
        assert visit(person).ended_for is None
    assert visit(person).ended_for is Release.RELOADED


# Over HTTP


@pytest.fixture
def browser_of(study_of: StudyOf, any_store: Store) -> Callable[..., Participant]:
    """Make somebody who has begun a study with rules for coming back."""

    def make(**rules: Any) -> Participant:
        browser = Participant(create_app(study_of(**rules), any_store, SECRETS, NO_LIMITS))
        assert browser.start().status_code == 201
        return browser

    return make


BrowserOf = Callable[..., Participant]


def opened(browser: Participant, visit_id: str | None = None) -> dict[str, Any]:
    reply = browser.http.post("/api/visit", json={"visit_id": visit_id or new_id()})
    assert reply.status_code == 200, reply.text
    session: dict[str, Any] = reply.get_json()
    return session


def test_a_start_and_a_visit_count_and_a_look_does_not(browser_of: BrowserOf) -> None:
    browser = browser_of()
    assert browser.session["visit"] == 1
    for _ in range(3):
        assert browser.http.get("/api/session").get_json()["visit"] == 1
    known = new_id()
    assert [opened(browser, known)["visit"] for _ in range(3)] == [2, 2, 2]
    start_id = new_id()
    assert [browser.start(start_id=start_id).get_json()["visit"] for _ in range(2)] == [3, 3]
    assert opened(browser)["visit"] == 4
    assert browser.http.get("/api/session").get_json()["visit"] == 4


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"visit_id": "1"},
        {"visit_id": None},
        {"visit_id": new_id(), "more": 1},
        {"visit_id": new_id(), "device": {}},
        {"visit_id": new_id(), "device": DEVICE.model_dump() | {"user_agent": "Mozilla"}},
        {"visit_id": new_id(), "device": DEVICE.model_dump() | {"width_px": -1}},
        {"visit_id": new_id(), "device": DEVICE.model_dump() | {"touch": 1}},
        {"visit_id": new_id(), "device": DEVICE.model_dump() | {"pixel_ratio": 0}},
    ],
)
def test_a_visit_of_the_wrong_form_is_refused_and_not_counted(browser_of: BrowserOf, body: dict[str, Any]) -> None:
    browser = browser_of()
    refused = browser.http.post("/api/visit", json=body)
    assert refused.status_code == 422
    assert refused.get_json()["error"]
    assert browser.http.get("/api/session").get_json()["visit"] == 1


# How often, and how late


@pytest.mark.parametrize("max_reloads", [0, 1, 3])
def test_a_session_is_opened_again_as_often_as_the_study_allows_and_no_more(
    study_of: StudyOf, any_store: Store, max_reloads: int
) -> None:
    person = Person(any_store, study_of(max_reloads=max_reloads))
    person.answer()
    for number in range(max_reloads):
        assert visit(person).ended_for is None
        assert person.stored.n_visits == number + 2
        visit(person, person.start_id)  # a retry of an earlier one is none
    last = new_id()
    for _ in range(2):
        assert visit(person, last).ended_for is Release.RELOADED
    assert visit(person).ended_for is Release.RELOADED
    assert place_of(any_store, person.session)[1:] == ("released", "reloaded too often")
    assert len(responses_of(any_store, person.session)) == 1, "the answers so far are kept"
    assert problems(any_store) == []


def test_a_session_is_gone_on_with_up_to_its_age_and_not_after(
    study_of: StudyOf, any_store: Store, clock: Clock
) -> None:
    person = Person(any_store, study_of(max_age_min=30))
    clock.advance(minutes=29.5)
    assert visit(person).ended_for is None
    person.answer()
    clock.advance(minutes=1)
    assert visit(person).ended_for is Release.TOO_OLD
    assert place_of(any_store, person.session)[1:] == ("released", "too old to go on")
    assert problems(any_store) == []


def test_the_rules_hold_for_who_comes_in_another_browser_too(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0), identity=panel())
    person.start_id = new_id()
    assert person.begin().ended_for is Release.RELOADED
    assert person.begin().ended_for is Release.RELOADED
    assert sessions_in(any_store) == 1


def test_the_rules_are_those_under_which_the_session_began(study_of: StudyOf, any_store: Store) -> None:
    lenient = study_of()
    person = Person(any_store, lenient)
    stricter = saying(version_of(lenient, "2"), resume=Resume(max_reloads=0))
    any_store.register_study(stricter)
    assert visit(person, study=stricter).ended_for is None


def test_who_has_answered_everything_is_always_let_through(study_of: StudyOf, any_store: Store, clock: Clock) -> None:
    """Too old, too often, and the place given to somebody else: with all the work done, they only have to hear so."""
    for otherwise in ("end", "restart"):
        plain = version_of(study_of(max_reloads=0, max_age_min=1, otherwise=otherwise), otherwise)
        study = recruiting(plain, quota=1)
        any_store.register_study(study)
        person = Person(any_store, study)
        person.answer_all()
        clock.advance(minutes=61)
        other = Person(any_store, study)
        session = person.session
        for _ in range(3):
            assert visit(person).ended_for is None
        assert person.session == session
        person.complete()
        assert person.now.session.status is Status.COMPLETED
        other.withdraw()
    assert problems(any_store) == []


@pytest.mark.parametrize("otherwise", ["end", "restart"])
def test_who_has_completed_may_look_as_often_as_they_like(browser_of: BrowserOf, otherwise: str) -> None:
    browser = browser_of(max_reloads=0, otherwise=otherwise)
    browser.answer_all()
    code = browser.complete().get_json()["completion_code"]
    for _ in range(3):
        assert opened(browser)["completion_code"] == code
        assert browser.http.get("/api/session").get_json()["completion_code"] == code


def test_a_session_that_has_ended_tells_why_and_how_to_ask(browser_of: BrowserOf) -> None:
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    for ended in (opened(browser), browser.http.get("/api/session").get_json(), browser.start().get_json()):
        assert ended["status"] == "ended"
        assert ended["message"].startswith("This study was opened again too often")
        assert ended["exit"] == {"code": None, "url": None}
        assert ended["contact_html"]


def test_a_session_that_has_ended_takes_no_more_answers_and_gives_no_code(
    browser_of: BrowserOf, any_store: Store
) -> None:
    """Another tab, or somebody who writes requests by hand, is told the same: what has ended is over."""
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    assert opened(browser)["status"] == "ended"
    statuses = [browser.answer(index).status_code for index in range(1, len(browser.session["trials"]))]
    completed = browser.complete()
    assert "completion_code" not in completed.get_json()
    assert set(statuses) == {409}
    assert len(responses_of(any_store, browser.session["session"])) == 1


def test_who_has_ended_can_still_have_their_answers_deleted(browser_of: BrowserOf, any_store: Store) -> None:
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    opened(browser)
    assert browser.withdraw().status_code == 200
    assert responses_of(any_store, browser.session["session"]) == []
    assert place_of(any_store, browser.session["session"])[0] == "withdrawn"
    assert problems(any_store) == []


def test_the_place_of_who_has_ended_goes_to_somebody_else(study_of: StudyOf, any_store: Store) -> None:
    study = recruiting(study_of(max_reloads=0), quota=1)
    person = Person(any_store, study)
    with pytest.raises(StudyFull):
        Person(any_store, study)
    visit(person)
    assert any_store.why_full(study) is None
    Person(any_store, study).complete()
    assert problems(any_store) == []


# Beginning again


def test_who_must_begin_again_does_so_as_the_same_person_in_the_same_group(again: Person, any_store: Store) -> None:
    before = again.stored
    Person(any_store, again.study), Person(any_store, again.study)
    first = again.session
    after = visit(again)
    assert after.session.session != first
    assert (after.session.participant, after.session.group) == (before.session.participant, before.session.group)
    assert (after.n_answered, after.n_visits, after.place, after.ended_for) == (0, 1, Place.RESERVED, None)
    assert after.session.seed != before.session.seed
    assert {trial.item.item_id for trial in after.plan.trials} == {trial.item.item_id for trial in before.plan.trials}
    assert after.plan.own_code != before.plan.own_code
    assert place_of(any_store, first) == ("active", "released", "begun again")
    assert len(responses_of(any_store, first)) == 2, "the first answers stay with the first session"
    assert problems(any_store) == []


def test_the_new_session_is_taken_to_its_end_and_the_first_takes_nothing_more(again: Person, any_store: Store) -> None:
    first = again.session
    visit(again)
    with pytest.raises(NotYourSession):
        any_store.add_responses(first, again.token, [response(2)])
    again.sent = []
    again.complete()
    assert again.now.session.status is Status.COMPLETED
    assert place_of(any_store, again.session) == ("completed", "confirmed", None)
    assert [len(responses_of(any_store, session)) for session in (first, again.session)] == [2, 3]
    assert problems(any_store) == []
    with closing(reopened(any_store)) as store:
        assert problems(store) == []


def test_a_retried_visit_begins_again_once(again: Person, any_store: Store) -> None:
    known = new_id()
    names = {visit(again, known).session.session for _ in range(4)}
    assert len(names) == 1
    assert sessions_in(any_store) == 2


def test_one_visit_sent_many_times_at_once_begins_again_once(again: Person, any_store: Store) -> None:
    known = new_id()
    with closing(another(any_store)) as other:
        send = [partial(one.open_session, again.study, again.token, Visit(known)) for one in (any_store, other)]
        outcomes = at_once(*send * 4)
    assert of(Exception, outcomes) == 0, outcomes
    assert sessions_in(any_store) == 2
    reserved = rows(any_store, "SELECT session FROM sessions WHERE place = 'reserved'")
    assert len(reserved) == 1
    assert problems(any_store) == []


def test_whoever_opens_two_windows_at_once_holds_one_place(again: Person, any_store: Store) -> None:
    with closing(another(any_store)) as other:
        jobs = [partial(one.open_session, again.study, again.token, Visit(new_id())) for one in (any_store, other) * 3]
        at_once(*jobs)
    reserved = rows(any_store, "SELECT session, token_digest FROM sessions WHERE place = 'reserved'")
    assert [token for _, token in reserved] == [again.token]
    assert problems(any_store) == []


def test_a_person_of_a_panel_begins_again_in_another_browser(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), identity=panel())
    person.answer(2)
    first, token = person.stored, person.token
    person.start_id = new_id()
    second = person.begin()
    assert second.session.session != first.session.session
    assert (second.session.participant, second.session.group) == (first.session.participant, first.session.group)
    assert second.n_answered == 0
    assert any_store.find_session(token) is None
    assert [one.session for one in any_store.sessions_of(person.study, "panel", "anna")][-1] == second.session.session
    assert problems(any_store) == []


def test_a_start_that_began_again_and_whose_reply_was_lost_may_be_sent_again(
    study_of: StudyOf, any_store: Store
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), identity=panel())
    person.start_id = new_id()
    second = person.begin().session.session
    assert person.begin().session.session == second
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_an_old_start_that_is_sent_again_after_one_began_again_begins_nothing(
    study_of: StudyOf, any_store: Store
) -> None:
    """Without a panel's id a start leads to the session that it began, and that one is over."""
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"))
    visit(person)
    second, token = person.session, person.token
    with suppress(Conflict):
        assert person.begin().ended_for is not None
    found = any_store.find_session(token)
    assert found is not None and found.session.session == second, "the second is not disturbed"
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_an_old_start_of_a_panels_person_that_is_sent_again_goes_on_with_what_they_have_now(
    study_of: StudyOf, any_store: Store
) -> None:
    """Begun, begun again by a reload, and then the page that still knows its first start comes without its cookie."""
    person = Person(any_store, study_of(max_reloads=1, otherwise="restart"), identity=panel())
    visit(person)
    visit(person)
    second = person.session
    assert sessions_in(any_store) == 2
    for _ in range(2):
        assert person.begin().session.session == second
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_two_browsers_of_a_panels_person_at_once_begin_again_once(study_of: StudyOf, any_store: Store) -> None:
    study = study_of(max_reloads=0, otherwise="restart")
    for number in range(3):
        identity = panel(f"person-{number}")
        Person(any_store, study, identity=identity)
        with closing(another(any_store)) as other:
            at_once(*[partial(Person, one, study, Kind.HUMAN, identity) for one in (any_store, other) * 2])
        found = any_store.sessions_of(study, identity.source, identity.external_id)
        assert [one.place for one in found].count("reserved") == 1
        assert problems(any_store) == []


def test_what_somebody_said_of_themselves_goes_with_them(again: Person, any_store: Store) -> None:
    any_store.add_demographics(again.session, {"age": 30})
    assert visit(again).has_demographics
    assert not any_store.add_demographics(again.session, {"age": 31})
    assert [session["demographics_age"] for session in any_store.sessions(again.study)] == [30, 30]


def test_who_timed_out_begins_again_where_there_is_room(again: Person, any_store: Store, clock: Clock) -> None:
    group = again.group
    clock.advance(minutes=61)
    Person(any_store, again.study)  # whoever comes lets the place go
    assert visit(again).session.group == group
    assert again.stored.place is Place.RESERVED
    assert problems(any_store) == []


def test_who_timed_out_does_not_begin_again_in_a_place_that_somebody_else_has(
    study_of: StudyOf, any_store: Store, clock: Clock
) -> None:
    study = recruiting(study_of(max_reloads=0, otherwise="restart"), quota=1)
    person = Person(any_store, study)
    person.answer(2)
    session = person.session
    clock.advance(minutes=61)
    other = Person(any_store, study)
    for _ in range(2):
        with pytest.raises(StudyFull):
            visit(person)
    assert person.now.session.session == session, "nothing was lost: the token still leads to the first session"
    assert sessions_in(any_store) == 2
    other.withdraw()
    assert visit(person).session.session != session
    assert problems(any_store) == []


@pytest.mark.parametrize("reason", [Release.EXCLUSION, Release.RETURN])
@pytest.mark.parametrize("otherwise", ["end", "restart"])
def test_whom_the_researcher_has_sent_away_does_not_come_in_again_by_a_reload(
    study_of: StudyOf, any_store: Store, reason: Release, otherwise: str
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise=otherwise), identity=panel())
    session = person.session
    any_store.release_place(session, reason)
    for come in (lambda: visit(person), person.begin):
        person.start_id = new_id()
        with suppress(StudyFull):
            assert come().ended_for is not None
    assert sessions_in(any_store) == 1
    assert place_of(any_store, session) == ("active", "released", reason.value), "the researcher's reason stays"
    assert problems(any_store) == []


def test_a_session_that_the_rules_ended_is_not_opened_by_releasing_its_place(
    study_of: StudyOf, any_store: Store
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="end"))
    assert visit(person).ended_for is Release.RELOADED
    before = any_store.events(person.study)
    assert any_store.release_place(person.session, Release.RETURN) is False
    assert person.now.ended_for is Release.RELOADED
    assert any_store.events(person.study) == before
    with pytest.raises(Refusal):
        person.answer()
    assert problems(any_store) == []


def test_in_a_new_version_of_the_study_the_session_ends_instead(again: Person, any_store: Store) -> None:
    """It has groups of its own, and the same group of another version is another group."""
    newer = version_of(again.study, "2")
    any_store.register_study(newer)
    assert visit(again, study=newer).ended_for is Release.RELOADED
    assert sessions_in(any_store) == 1
    assert problems(any_store) == []


def test_a_simulated_participant_begins_again_among_the_simulated(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), Kind.SIMULATED)
    second = visit(person)
    assert second.plan.kind is Kind.SIMULATED
    assert {one.kind for one in any_store.progress(person.study) if one.n_begun} == {Kind.SIMULATED}
    assert problems(any_store) == []


def test_over_http_the_answer_to_a_visit_is_the_new_session_and_all_else_follows(
    browser_of: BrowserOf, any_store: Store
) -> None:
    browser = browser_of(max_reloads=0, otherwise="restart")
    first = browser.session
    browser.answer(0)
    second = opened(browser)
    assert second["session"] != first["session"]
    assert (second["next_trial_index"], second["visit"], second["status"]) == (0, 1, "active")
    assert browser.http.get("/api/session").get_json() == second
    late = browser.answer(1)  # a page that is still in the first session
    assert late.status_code in {401, 409}
    browser.session = second
    browser.answer_all()
    assert browser.complete().status_code == 200
    assert [len(responses_of(any_store, one["session"])) for one in (first, second)] == [1, len(second["trials"])]
    assert problems(any_store) == []


def test_a_start_sent_again_with_the_cookie_after_one_began_again_changes_nothing(browser_of: BrowserOf) -> None:
    browser = browser_of(max_reloads=0, otherwise="restart")
    start_id = new_id()
    second = browser.start(start_id=start_id).get_json()
    assert browser.start(start_id=start_id).get_json() == second


@pytest.mark.parametrize("completes", [True, False])
def test_who_withdraws_after_beginning_again_withdraws_all_they_ever_answered(
    again: Person, any_store: Store, completes: bool
) -> None:
    any_store.add_demographics(again.session, {"age": 30})
    first = again.session
    again.stored = any_store.open_session(again.study, again.token, Visit(new_id(), DEVICE))
    assert [row[3] is None for row in visits_of(any_store, again.session)] == [False]
    again.sent = []
    again.answer()
    if completes:
        again.complete()
    bystander = Person(any_store, again.study).complete()
    again.withdraw()
    for session in (first, again.session):
        assert place_of(any_store, session)[:2] == ("withdrawn", "released")
        assert responses_of(any_store, session) == []
        assert rows(any_store, "SELECT demographics FROM sessions WHERE session = ?", (session,)) == [(None,)]
        assert {row[3] for row in visits_of(any_store, session)} == {None}
    assert len(responses_of(any_store, bystander.session)) == 3
    again.withdraw()
    assert problems(any_store) == []
    with pytest.raises(Conflict):
        again.complete()


def test_a_code_deletes_what_came_before_it_too(again: Person, any_store: Store) -> None:
    first = again.session
    visit(again)
    again.sent = []
    again.complete()
    (session,) = any_store.sessions_with_code(again.study, again.stored.plan.own_code)
    any_store.withdraw_session(session)
    assert responses_of(any_store, first) == responses_of(any_store, again.session) == []


def test_a_person_of_a_panel_who_withdrew_after_beginning_again_does_not_come_back(
    study_of: StudyOf, any_store: Store
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), identity=panel())
    visit(person)
    person.withdraw()
    person.start_id = new_id()
    with pytest.raises(Conflict, match="cannot begin it again"):
        person.begin()
    with pytest.raises(Conflict, match="cannot begin it again"):
        Person(any_store, person.study, identity=panel())


# The digest


HAND_MADE = [
    "UPDATE visits SET at = '2020-01-01T00:00:00+00:00' WHERE visit = 2",
    "UPDATE visits SET visit_id = '00000000-0000-0000-0000-000000000000' WHERE visit = 1",
    "UPDATE visits SET next_trial_index = next_trial_index + 1 WHERE visit = 2",
    "UPDATE visits SET device = NULL WHERE visit = 2",
    "UPDATE visits SET device = REPLACE(device, '1280', '1281') WHERE visit = 2",
    "UPDATE visits SET visit = 7 WHERE visit = 2",
    "DELETE FROM visits WHERE visit = 2",
    "DELETE FROM visits",
    "UPDATE sessions SET demographics = REPLACE(demographics, '30', '31')",
    "UPDATE sessions SET demographics = NULL",
]


@pytest.mark.parametrize("statement", HAND_MADE)
def test_the_digest_tells_of_a_visit_or_an_answer_about_the_person_that_was_changed_by_hand(
    study_of: StudyOf, any_store: Store, statement: str
) -> None:
    person = Person(any_store, study_of())
    person.answer()
    any_store.open_session(person.study, person.token, Visit(new_id(), DEVICE))
    any_store.add_demographics(person.session, {"age": 30, "gender": "woman"})
    before = verified(any_store)
    assert before == verified(any_store)
    assert before.problems == []
    by_hand(any_store, statement)
    assert verified(any_store).digest != before.digest


def test_a_visit_of_nobodys_is_found(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    by_hand(any_store, "UPDATE visits SET session = 'stranger'")
    assert any("stranger" in problem for problem in problems(any_store))
    assert person.now


def test_a_copy_has_the_visits_and_the_same_digest(
    study_of: StudyOf, any_store: Store, tmp_path: Path, again: Person
) -> None:
    visit(again)
    any_store.open_session(again.study, again.token, Visit(new_id(), DEVICE))
    any_store.add_demographics(again.session, {"age": 30})
    with closing(SqliteStore(tmp_path / "copy" / "equipoise.db")) as copy:
        assert copy_store(any_store, copy) == verified(any_store) == verified(copy)
        assert rows(copy, "SELECT * FROM visits ORDER BY 1, 2") == rows(any_store, "SELECT * FROM visits ORDER BY 1, 2")


# Any sequence


@given(
    happenings=st.lists(
        st.tuples(
            st.sampled_from(["come", "visit", "visit", "retry", "elsewhere", "answer", "answer", "finish", "leave",
                             "wait", "wait"]),
            st.integers(0, 5),
        ),
        max_size=25,
    ),
    rules=st.builds(
        Resume,
        max_age_min=st.sampled_from([None, 50.0]),
        max_reloads=st.sampled_from([None, 0, 1]),
        otherwise=st.sampled_from(["end", "restart"]),
    ),
    quota=st.sampled_from([None, 2, 4]),
)  # fmt: skip
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_places_add_up_and_everybody_is_one_person_in_one_group(
    small_study: Study, any_store: Store, happenings: list[tuple[str, int]], rules: Resume, quota: int | None
) -> None:
    study = recruiting(saying(version_of(small_study, new_id()), resume=rules), quota=quota)
    any_store.register_study(study)
    people: list[Person] = []
    left: set[str] = set()
    with Clock().installed() as clock:
        for what, who in happenings:
            if what == "wait":
                clock.advance(minutes=10 * (who + 1))
                continue
            if what == "come" or not people:
                try:
                    people.append(Person(any_store, study, identity=panel(new_id()) if who % 2 else None))
                except StudyFull:
                    assert quota is not None
                continue
            happens(what, people[who % len(people)], left)
            assert problems(any_store) == []
    per_person = Counter(person.identity.external_id for person in people if person.identity)
    assert set(per_person.values()) <= {1}
    found = rows(
        any_store,
        'SELECT participant, "group", place, status FROM sessions JOIN studies USING (study_digest) WHERE version = ?',
        (study.definition.version,),
    )
    assert len({participant for participant, *_ in found}) == len(people)
    assert len({row[:2] for row in found}) == len(people), "a person stays in one group"
    taken = [row for row in found if row[2] != "released"]
    assert len({row[0] for row in taken}) == len(taken), "a person holds one place at most"
    assert quota is None or len(taken) <= quota
    assert sum(group.n_begun for group in any_store.progress(study)) == len(found)
    for participant, _, _, status in found:
        assert (status == "withdrawn") == (participant in left)


def happens(what: str, person: Person, left: set[str]) -> None:
    participant = person.stored.session.participant.participant
    try:
        match what:
            case "visit":
                visit(person)
            case "retry":
                visit(person, person.start_id)
            case "elsewhere" if person.identity:
                person.start_id = new_id()
                person.begin()
            case "answer" if person.now.n_answered < 2:
                person.send(response(person.now.n_answered))
            case "finish":
                for index in range(person.now.n_answered, 3):
                    person.send(response(index))
                person.store.complete_session(person.study, person.session, passed_checks=True)
            case "leave":
                left.add(participant)
                person.withdraw()
    except Conflict:  # refused, as the place is gone or they have left; whoever is refused has changed nothing
        return
    person.stored = person.now


def test_the_log_tells_who_began_again_instead_of_which_session(again: Person, any_store: Store) -> None:
    first = again.session
    visit(again)
    told = [(event.event, event.session) for event in any_store.events(again.study)][1:]
    assert told == [("reserved", first), ("released", first), ("reserved", again.session)]
    last = any_store.events(again.study)[-1]
    assert last.details["instead_of"] == first
    assert dataclasses.asdict(last)["event"] == "reserved"
