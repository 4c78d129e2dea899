"""Returning to a session: visits are counted once, and the study's rules decide which participants resume."""

from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.records import FoundDevice, Status
from experiment.study.timeline import Resume
from server.store import (
    NotYourSession,
    Release,
    Store,
    StudyFull,
    Visit,
)
from server.store.sql.resuming import MOST_VISITS
from tests.server.participants.returning import (
    DEVICE,
    BrowserOf,
    StudyOf,
    new_id,
    opened,
    panel,
    sessions_in,
    slot_of,
    visit,
    visits_of,
)
from tests.server.stores import (
    Clock,
    Person,
    another,
    at_once,
    of,
    problems,
    recruiting,
    responses_of,
    saying,
    version_of,
)

# Counting


def test_the_start_is_the_first_visit(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    assert person.stored.n_visits == 1
    assert [row[:3] for row in visits_of(any_store, person.session)] == [(1, person.start_id, 0)]


def test_a_visit_is_stored_with_its_device_and_the_progress_of_the_session(study_of: StudyOf, any_store: Store) -> None:
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
def test_a_retried_visit_counts_once(study_of: StudyOf, any_store: Store, ids: list[int]) -> None:
    person = Person(any_store, study_of())
    known = [person.start_id, *(new_id() for _ in range(3))]
    for n_sent, number in enumerate(ids, start=1):
        assert visit(person, known[number]).n_visits == len({0, *ids[:n_sent]})
    seen = [row[:2] for row in visits_of(any_store, person.session)]
    in_order = list(dict.fromkeys([known[0], *(known[number] for number in ids)]))
    assert seen == list(enumerate(in_order, start=1))
    assert problems(any_store) == []


def test_simultaneous_copies_of_one_visit_count_once(study_of: StudyOf, any_store: Store) -> None:
    person, known = Person(any_store, study_of(max_reloads=1)), new_id()
    with closing(another(any_store)) as other:
        send = [partial(one.open_session, person.study, person.token, Visit(known)) for one in (any_store, other)]
        outcomes = at_once(*send * 6)
    assert of(Exception, outcomes) == 0, outcomes
    assert {(found.n_visits, found.ended_for) for found in outcomes} == {(2, None)}
    assert len(visits_of(any_store, person.session)) == 2


def test_simultaneous_visits_are_all_counted(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    with closing(another(any_store)) as other:
        jobs = [
            partial(one.open_session, person.study, person.token, Visit(new_id())) for one in (any_store, other) * 6
        ]
        outcomes = at_once(*jobs)
    assert of(Exception, outcomes) == 0, outcomes
    assert [row[0] for row in visits_of(any_store, person.session)] == list(range(1, 14))


def test_a_visit_without_a_session_is_refused(study_of: StudyOf, any_store: Store) -> None:
    with pytest.raises(NotYourSession):
        any_store.open_session(study_of(), "a token of nobody's", Visit(new_id()))


def test_a_second_browser_is_another_visit_and_takes_over_the_session(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(), identity=panel())
    earlier, session = person.token, person.session
    person.start_id = new_id()
    assert person.begin().session.session == session
    assert person.stored.n_visits == 2
    with pytest.raises(NotYourSession):
        any_store.open_session(person.study, earlier, Visit(new_id()))
    assert len(visits_of(any_store, session)) == 2


def test_a_session_stores_at_most_a_hundred_visits_and_can_still_be_opened(study_of: StudyOf, any_store: Store) -> None:
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


def test_a_rule_about_many_visits_still_applies(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=MOST_VISITS + 5))
    for _ in range(MOST_VISITS + 5):
        assert visit(person).ended_for is None
    assert visit(person).ended_for is Release.RELOADED


def test_a_start_and_a_visit_count_but_a_read_request_does_not(browser_of: BrowserOf) -> None:
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
def test_a_session_is_resumed_at_most_as_often_as_the_study_allows(
    study_of: StudyOf, any_store: Store, max_reloads: int
) -> None:
    person = Person(any_store, study_of(max_reloads=max_reloads))
    person.answer()
    for number in range(max_reloads):
        assert visit(person).ended_for is None
        assert person.stored.n_visits == number + 2
        visit(person, person.start_id)  # a retry of an earlier visit does not count
    last = new_id()
    for _ in range(2):
        assert visit(person, last).ended_for is Release.RELOADED
    assert visit(person).ended_for is Release.RELOADED
    assert slot_of(any_store, person.session)[1:] == ("released", "reloaded too often")
    assert len(responses_of(any_store, person.session)) == 1, "the answers so far are kept"
    assert problems(any_store) == []


def test_a_session_is_resumed_up_to_its_greatest_age_and_not_later(
    study_of: StudyOf, any_store: Store, clock: Clock
) -> None:
    person = Person(any_store, study_of(max_age_min=30))
    clock.advance(minutes=29.5)
    assert visit(person).ended_for is None
    person.answer()
    clock.advance(minutes=1)
    assert visit(person).ended_for is Release.TOO_OLD
    assert slot_of(any_store, person.session)[1:] == ("released", "too old to resume")
    assert problems(any_store) == []


def test_the_rules_apply_in_another_browser_too(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0), identity=panel())
    person.start_id = new_id()
    assert person.begin().ended_for is Release.RELOADED
    assert person.begin().ended_for is Release.RELOADED
    assert sessions_in(any_store) == 1


def test_the_rules_with_which_the_session_began_apply(study_of: StudyOf, any_store: Store) -> None:
    lenient = study_of()
    person = Person(any_store, lenient)
    stricter = saying(version_of(lenient, "2"), resume=Resume(max_reloads=0))
    any_store.register_study(stricter)
    assert visit(person, study=stricter).ended_for is None


def test_a_participant_with_all_responses_can_always_complete(
    study_of: StudyOf, any_store: Store, clock: Clock
) -> None:
    """All responses are stored, so a session completes although it is too old or its slot is taken."""
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
def test_a_completed_participant_can_open_the_page_any_number_of_times(browser_of: BrowserOf, otherwise: str) -> None:
    browser = browser_of(max_reloads=0, otherwise=otherwise)
    browser.answer_all()
    code = browser.complete().get_json()["completion_code"]
    for _ in range(3):
        assert opened(browser)["completion_code"] == code
        assert browser.http.get("/api/session").get_json()["completion_code"] == code


def test_an_ended_session_gives_the_reason_and_the_contact(browser_of: BrowserOf) -> None:
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    for ended in (opened(browser), browser.http.get("/api/session").get_json(), browser.start().get_json()):
        assert ended["status"] == "ended"
        assert ended["message"].startswith("This study was opened too often")
        assert ended["exit"] == {"code": None, "url": None}
        assert ended["contact_html"]


def test_an_ended_session_accepts_no_responses_and_gives_no_code(browser_of: BrowserOf, any_store: Store) -> None:
    """Another tab, or a program that sends requests, gets the same refusal for an ended session."""
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    assert opened(browser)["status"] == "ended"
    statuses = [browser.answer(index).status_code for index in range(1, len(browser.session["trials"]))]
    completed = browser.complete()
    assert "completion_code" not in completed.get_json()
    assert set(statuses) == {409}
    assert len(responses_of(any_store, browser.session["session"])) == 1


def test_a_participant_of_an_ended_session_can_withdraw(browser_of: BrowserOf, any_store: Store) -> None:
    browser = browser_of(max_reloads=0)
    browser.answer(0)
    opened(browser)
    assert browser.withdraw().status_code == 200
    assert responses_of(any_store, browser.session["session"]) == []
    assert slot_of(any_store, browser.session["session"])[0] == "withdrawn"
    assert problems(any_store) == []


def test_the_slot_of_an_ended_session_goes_to_another_participant(study_of: StudyOf, any_store: Store) -> None:
    study = recruiting(study_of(max_reloads=0), quota=1)
    person = Person(any_store, study)
    with pytest.raises(StudyFull):
        Person(any_store, study)
    visit(person)
    assert any_store.why_full(study) is None
    Person(any_store, study).complete()
    assert problems(any_store) == []
