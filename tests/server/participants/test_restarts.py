"""Restarting a session, its digest, and random sequences of visits."""

import dataclasses
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.records import Kind, Status
from experiment.study.definition import Study
from experiment.study.timeline import Resume
from server.store import (
    Conflict,
    NotYourSession,
    Refusal,
    Release,
    SlotState,
    SqliteStore,
    Store,
    StudyFull,
    Visit,
)
from server.store.copying import copy_store
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
    execute_sql,
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


@pytest.fixture
def again(study_of: StudyOf, any_store: Store) -> Person:
    """A participant who has responded to two of three questions, and must restart after a return."""
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"))
    person.answer(2)
    return person


# Restarting


def test_a_restarted_session_has_the_same_participant_and_group(again: Person, any_store: Store) -> None:
    before = again.stored
    Person(any_store, again.study), Person(any_store, again.study)
    first = again.session
    after = visit(again)
    assert after.session.session != first
    assert (after.session.participant, after.session.group) == (before.session.participant, before.session.group)
    assert (after.n_answered, after.n_visits, after.slot, after.ended_for) == (0, 1, SlotState.RESERVED, None)
    assert after.session.seed != before.session.seed
    assert {trial.item.item_id for trial in after.plan.trials} == {trial.item.item_id for trial in before.plan.trials}
    assert after.plan.withdrawal_code != before.plan.withdrawal_code
    assert slot_of(any_store, first) == ("active", "released", "restarted")
    assert len(responses_of(any_store, first)) == 2, "the first answers stay with the first session"
    assert problems(any_store) == []


def test_the_restarted_session_can_be_completed_and_the_first_session_is_closed(
    again: Person, any_store: Store
) -> None:
    first = again.session
    visit(again)
    with pytest.raises(NotYourSession):
        any_store.add_responses(first, again.token, [response(2)])
    again.sent = []
    again.complete()
    assert again.now.session.status is Status.COMPLETED
    assert slot_of(any_store, again.session) == ("completed", "confirmed", None)
    assert [len(responses_of(any_store, session)) for session in (first, again.session)] == [2, 3]
    assert problems(any_store) == []
    with closing(reopened(any_store)) as store:
        assert problems(store) == []


def test_a_retried_visit_restarts_the_session_once(again: Person, any_store: Store) -> None:
    known = new_id()
    names = {visit(again, known).session.session for _ in range(4)}
    assert len(names) == 1
    assert sessions_in(any_store) == 2


def test_simultaneous_copies_of_one_visit_restart_the_session_once(again: Person, any_store: Store) -> None:
    known = new_id()
    with closing(another(any_store)) as other:
        send = [partial(one.open_session, again.study, again.token, Visit(known)) for one in (any_store, other)]
        outcomes = at_once(*send * 4)
    assert of(Exception, outcomes) == 0, outcomes
    assert sessions_in(any_store) == 2
    reserved = rows(any_store, "SELECT session FROM sessions WHERE slot = 'reserved'")
    assert len(reserved) == 1
    assert problems(any_store) == []


def test_a_participant_with_two_windows_has_one_slot(again: Person, any_store: Store) -> None:
    with closing(another(any_store)) as other:
        jobs = [partial(one.open_session, again.study, again.token, Visit(new_id())) for one in (any_store, other) * 3]
        at_once(*jobs)
    reserved = rows(any_store, "SELECT session, token_digest FROM sessions WHERE slot = 'reserved'")
    assert [token for _, token in reserved] == [again.token]
    assert problems(any_store) == []


def test_a_panel_participant_restarts_in_another_browser(study_of: StudyOf, any_store: Store) -> None:
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


def test_a_start_that_restarted_a_session_can_be_retried(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), identity=panel())
    person.start_id = new_id()
    second = person.begin().session.session
    assert person.begin().session.session == second
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_an_old_start_that_is_repeated_after_a_restart_begins_no_session(study_of: StudyOf, any_store: Store) -> None:
    """Without a panel id a start leads to the session that it began, and this session has ended."""
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"))
    visit(person)
    second, token = person.session, person.token
    with suppress(Conflict):
        assert person.begin().ended_for is not None
    found = any_store.find_session(token)
    assert found is not None and found.session.session == second, "the second is not disturbed"
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_an_old_start_of_a_panel_participant_resumes_the_present_session(study_of: StudyOf, any_store: Store) -> None:
    """A reload restarted the session. Then the page that still has the first start id sends it without a cookie."""
    person = Person(any_store, study_of(max_reloads=1, otherwise="restart"), identity=panel())
    visit(person)
    visit(person)
    second = person.session
    assert sessions_in(any_store) == 2
    for _ in range(2):
        assert person.begin().session.session == second
    assert sessions_in(any_store) == 2
    assert problems(any_store) == []


def test_two_simultaneous_browsers_of_a_panel_participant_restart_once(study_of: StudyOf, any_store: Store) -> None:
    study = study_of(max_reloads=0, otherwise="restart")
    for number in range(3):
        identity = panel(f"person-{number}")
        Person(any_store, study, identity=identity)
        with closing(another(any_store)) as other:
            at_once(*[partial(Person, one, study, Kind.HUMAN, identity) for one in (any_store, other) * 2])
        found = any_store.sessions_of(study, identity.id_kind, identity.external_id)
        assert [one.slot for one in found].count("reserved") == 1
        assert problems(any_store) == []


def test_a_restarted_session_keeps_the_demographic_answers(again: Person, any_store: Store) -> None:
    any_store.add_demographics(again.session, {"age": 30})
    assert visit(again).has_demographics
    assert not any_store.add_demographics(again.session, {"age": 31})
    assert [session["demographics_age"] for session in any_store.sessions(again.study)] == [30, 30]


def test_a_participant_restarts_after_the_time_out_if_a_slot_is_free(
    again: Person, any_store: Store, clock: Clock
) -> None:
    group = again.group
    clock.advance(minutes=61)
    Person(any_store, again.study)  # a further start releases the slot
    assert visit(again).session.group == group
    assert again.stored.slot is SlotState.RESERVED
    assert problems(any_store) == []


def test_a_participant_cannot_restart_after_the_time_out_if_the_slot_is_taken(
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
def test_a_participant_whose_slot_was_released_cannot_restart_by_a_reload(
    study_of: StudyOf, any_store: Store, reason: Release, otherwise: str
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise=otherwise), identity=panel())
    session = person.session
    any_store.release_slot(session, reason)
    for come in (lambda: visit(person), person.begin):
        person.start_id = new_id()
        with suppress(StudyFull):
            assert come().ended_for is not None
    assert sessions_in(any_store) == 1
    assert slot_of(any_store, session) == ("active", "released", reason.value), "the researcher's reason stays"
    assert problems(any_store) == []


def test_releasing_the_slot_of_an_ended_session_does_not_reopen_the_session(
    study_of: StudyOf, any_store: Store
) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="end"))
    assert visit(person).ended_for is Release.RELOADED
    before = any_store.events(person.study)
    assert any_store.release_slot(person.session, Release.RETURN) is False
    assert person.now.ended_for is Release.RELOADED
    assert any_store.events(person.study) == before
    with pytest.raises(Refusal):
        person.answer()
    assert problems(any_store) == []


def test_in_a_new_version_of_the_study_the_session_ends_instead(again: Person, any_store: Store) -> None:
    """Each version has its own groups, so the same group number in another version is another group."""
    newer = version_of(again.study, "2")
    any_store.register_study(newer)
    assert visit(again, study=newer).ended_for is Release.RELOADED
    assert sessions_in(any_store) == 1
    assert problems(any_store) == []


def test_a_restarted_simulated_participant_stays_simulated(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of(max_reloads=0, otherwise="restart"), Kind.SIMULATED)
    second = visit(person)
    assert second.plan.kind is Kind.SIMULATED
    assert {one.kind for one in any_store.progress(person.study) if one.n_begun} == {Kind.SIMULATED}
    assert problems(any_store) == []


def test_the_reply_to_a_visit_is_the_restarted_session(browser_of: BrowserOf, any_store: Store) -> None:
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


def test_a_start_repeated_with_the_cookie_after_a_restart_changes_nothing(browser_of: BrowserOf) -> None:
    browser = browser_of(max_reloads=0, otherwise="restart")
    start_id = new_id()
    second = browser.start(start_id=start_id).get_json()
    assert browser.start(start_id=start_id).get_json() == second


@pytest.mark.parametrize("completes", [True, False])
def test_withdrawal_after_a_restart_deletes_the_responses_of_all_sessions(
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
        assert slot_of(any_store, session)[:2] == ("withdrawn", "released")
        assert responses_of(any_store, session) == []
        assert rows(any_store, "SELECT demographics FROM sessions WHERE session = ?", (session,)) == [(None,)]
        assert {row[3] for row in visits_of(any_store, session)} == {None}
    assert len(responses_of(any_store, bystander.session)) == 3
    again.withdraw()
    assert problems(any_store) == []
    with pytest.raises(Conflict):
        again.complete()


def test_a_withdrawal_code_deletes_the_earlier_sessions_too(again: Person, any_store: Store) -> None:
    first = again.session
    visit(again)
    again.sent = []
    again.complete()
    (session,) = any_store.sessions_with_code(again.study, again.stored.plan.withdrawal_code)
    any_store.withdraw_session(session)
    assert responses_of(any_store, first) == responses_of(any_store, again.session) == []


def test_a_panel_participant_who_withdrew_after_a_restart_cannot_begin_another_session(
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
def test_a_manual_change_of_a_visit_or_a_demographic_answer_changes_the_digest(
    study_of: StudyOf, any_store: Store, statement: str
) -> None:
    person = Person(any_store, study_of())
    person.answer()
    any_store.open_session(person.study, person.token, Visit(new_id(), DEVICE))
    any_store.add_demographics(person.session, {"age": 30, "gender": "woman"})
    before = verified(any_store)
    assert before == verified(any_store)
    assert before.problems == []
    execute_sql(any_store, statement)
    assert verified(any_store).digest != before.digest


def test_verification_finds_a_visit_without_a_session(study_of: StudyOf, any_store: Store) -> None:
    person = Person(any_store, study_of())
    execute_sql(any_store, "UPDATE visits SET session = 'stranger'")
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


# Random sequences


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
def test_slots_add_up_and_each_participant_has_one_group_after_random_steps(
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
        'SELECT participant, "group", slot, status FROM sessions JOIN studies USING (study_digest) WHERE version = ?',
        (study.definition.version,),
    )
    assert len({participant for participant, *_ in found}) == len(people)
    assert len({row[:2] for row in found}) == len(people), "a person stays in one group"
    taken = [row for row in found if row[2] != "released"]
    assert len({row[0] for row in taken}) == len(taken), "a participant has at most one slot"
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
    except Conflict:  # refused, because the slot is gone or the participant has withdrawn; nothing has changed
        return
    person.stored = person.now


def test_the_log_names_the_session_that_a_restart_replaced(again: Person, any_store: Store) -> None:
    first = again.session
    visit(again)
    logged = [(event.event, event.session) for event in any_store.events(again.study)][1:]
    assert logged == [("reserved", first), ("released", first), ("reserved", again.session)]
    last = any_store.events(again.study)[-1]
    assert last.details["instead_of"] == first
    assert dataclasses.asdict(last)["event"] == "reserved"
