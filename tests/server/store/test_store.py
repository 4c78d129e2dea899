"""What a store promises, whoever implements it: every test here runs on both stores."""

import dataclasses
import json
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.models.baselines import run_baseline
from experiment.models.stored_blackbox import read_stored_runs
from experiment.plan import plan_session
from experiment.records import Kind, Response, Run, Source, Status
from experiment.study.definition import Study
from server.store import (
    Conflict,
    Identity,
    NotYourSession,
    Place,
    Release,
    SessionStart,
    SqliteStore,
    Store,
    StoredSession,
    StoreUnavailable,
    StudyFull,
)
from server.store.sql import plan_cache, responses
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
    version_of,
)

TIME_OUT_MIN = 60
"""As a study has it that says nothing else."""


@pytest.fixture
def store(any_store: Store, small_study: Study) -> Store:
    """Each kind of store, with the small study in it."""
    any_store.register_study(small_study)
    return any_store


def panel(external_id: str, **parameters: str) -> Identity:
    return Identity("panel", external_id, {"SESSION_ID": f"submission of {external_id}"} | parameters)


def groups_begun(store: Store) -> Counter[int]:
    return Counter(group for _, group in {(row["session"], row["group"]) for row in store.trials()})


def events(store: Store, study: Study, session: str | None = None) -> list[str]:
    """The words of the log, all or one session's."""
    return [event.event for event in store.events(study) if session is None or event.session == session]


# Answers.


def test_what_is_acknowledged_is_there_after_reopening(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer(2)
    with closing(reopened(store)) as again:
        found = again.find_session(person.token)
        assert found is not None
        assert found.session == person.stored.session
        assert found.plan == person.stored.plan
        assert found.n_answered == 2
        assert found.place is Place.RESERVED
        assert responses_of(again, person.session) == [(one.trial_index, one.response_id) for one in person.sent]
        assert problems(again) == []


def test_another_server_sees_at_once_what_was_acknowledged(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    with closing(another(store)) as other:
        for n_answered in range(1, person.n_trials + 1):
            person.answer()
            found = other.find_session(person.token)
            assert found is not None and found.n_answered == n_answered


def test_an_answer_is_kept_with_all_that_was_sent_with_it(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.send(
        response(
            0,
            response={"port": "north 3", "sure": [1, 2.5, None, True]},
            rt_ms=0.1 + 0.2,
            fixation_ms=201.25,
            fixation_frames=13,
            shown_at="2026-11-21T23:30:00.125-05:00",
            frames_dropped=2,
            focus_lost=3,
        )
    )
    row = store.trials()[0]
    assert json.loads(row["response"]) == {"port": "north 3", "sure": [1, 2.5, None, True]}
    assert (row["rt_ms"], row["fixation_ms"], row["fixation_frames"]) == (0.1 + 0.2, 201.25, 13)
    assert row["shown_at"] == "2026-11-22T04:30:00.125+00:00"
    assert (row["frames_dropped"], row["focus_lost"], row["attempt"], row["valid"]) == (2, 3, 1, 1)
    assert row["received_at"] >= row["started_at"]


@pytest.mark.parametrize(
    "value", ["", "ça va? ja, 是的 🙂", "a\x00b \u2028 \x7f", -0.0, 1e308, 2**70, None, [], [[{}]], {"ä": {"": False}}]
)
def test_any_answer_comes_back_as_it_was_given(store: Store, small_study: Study, value: Any) -> None:
    person = Person(store, small_study)
    person.send(response(0, response=value))
    assert store.answers(person.session) == {0: value}
    assert problems(store) == []


def test_any_time_on_the_clock_comes_back_as_it_was_measured(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.send(response(0, rt_ms=-0.0), response(1, rt_ms=86_399_999.999_999_99), response(2, rt_ms=5e-324))
    assert [row["rt_ms"] for row in store.trials()] == [0.0, 86_399_999.999_999_99, 5e-324]
    assert problems(store) == []


def test_what_a_client_leaves_out_is_missing_in_the_store_too(store: Store, small_study: Study) -> None:
    left_out = ("rt_ms", "fixation_ms", "fixation_frames", "shown_at", "frames_dropped", "focus_lost")
    Person(store, small_study).send(response(0, **dict.fromkeys(left_out)))
    row = store.trials()[0]
    assert [row[name] for name in left_out] == [None] * 6
    assert problems(store) == []


def test_a_retried_answer_is_stored_once(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    assert person.answer() == [True]
    assert person.send(person.sent[0]) == [False]
    assert person.send(person.sent[0], person.sent[0]) == [False, False]
    assert responses_of(store, person.session) == [(0, person.sent[0].response_id)]
    person.complete()
    assert person.send(*person.sent) == [False] * 3
    with closing(reopened(store)) as again:
        assert again.add_responses(person.session, person.token, person.sent) == [False] * 3
        assert problems(again) == []


def test_a_request_says_which_of_its_answers_are_new(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    new = response(1)
    assert person.send(person.sent[0], new, new, response(2)) == [False, True, False, True]
    assert [index for index, _ in responses_of(store, person.session)] == [0, 1, 2]


def test_a_request_without_answers_changes_nothing(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    assert person.send() == []
    assert person.now.n_answered == 0


@pytest.mark.parametrize("trial_indices", [(1,), (0, 2), (0, 1, 0), (0, 1, 2, 3), (2, 1, 0)])
def test_a_request_with_an_answer_out_of_order_is_refused_whole(
    store: Store, small_study: Study, trial_indices: tuple[int, ...]
) -> None:
    person = Person(store, small_study)
    with pytest.raises(Conflict):
        person.send(*map(response, trial_indices))
    assert responses_of(store, person.session) == []
    assert person.answer(3) == [True] * 3
    assert problems(store) == []


def test_a_refusal_says_what_is_wrong(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    with pytest.raises(Conflict, match="answer to an earlier question has not arrived"):
        person.send(response(2))
    with pytest.raises(Conflict, match="answered already, perhaps in another window"):
        person.send(response(0))
    with pytest.raises(Conflict, match="no trial 3 in this session"):
        person.send(response(3))
    with pytest.raises(Conflict, match="id belongs to another answer"):
        person.send(response(1, response_id=person.sent[0].response_id))
    with pytest.raises(Conflict, match="id belongs to another answer"):
        person.send(response(0, response_id=person.sent[0].response_id, response="reflected"))
    person.complete()
    with pytest.raises(Conflict, match="is over; it takes no more"):
        person.send(response(3))
    person.withdraw()
    with pytest.raises(Conflict, match="is over; it takes no more answers"):
        person.send(response(0))


def test_one_id_for_two_answers_of_a_request_is_refused_whole(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    twice = str(uuid.uuid4())
    with pytest.raises(Conflict, match="id belongs to another answer"):
        person.send(response(0, response_id=twice), response(1, response_id=twice))
    assert responses_of(store, person.session) == []
    assert person.answer(3) == [True] * 3


def test_nobody_answers_for_another(store: Store, small_study: Study) -> None:
    person, other = Person(store, small_study), Person(store, small_study)
    for session, token in [(person.session, other.token), (person.session, ""), ("no-such-session", person.token)]:
        with pytest.raises(NotYourSession, match="opened again elsewhere"):
            store.add_responses(session, token, [response(0)])
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(0,)]


def test_simultaneous_answers_to_one_trial_are_one_answer(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    outcomes = at_once(*[lambda: person.send(response(0))] * 20)
    assert (outcomes.count([True]), of(Conflict, outcomes)) == (1, 19)
    assert len(responses_of(store, person.session)) == 1
    assert problems(store) == []


def test_simultaneous_retries_of_one_answer_are_one_answer(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    sent = response(0)
    with closing(another(store)) as other:
        send = [partial(one.add_responses, person.session, person.token, [sent]) for one in (store, other)]
        outcomes = at_once(*send * 10)
    assert Counter(map(str, outcomes)) == {"[True]": 1, "[False]": 19}
    assert responses_of(store, person.session) == [(0, sent.response_id)]


def test_many_people_answer_at_once_on_two_servers(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(30)]
    with closing(another(store)) as other:
        for number, person in enumerate(people):
            person.store = (store, other)[number % 2]
        assert at_once(*[person.complete for person in people]) == people
    assert [len(responses_of(store, person.session)) for person in people] == [3] * 30
    assert problems(store) == []


def test_requests_of_one_session_in_one_commit_do_not_disturb_each_other(store: Store, small_study: Study) -> None:
    person, other = Person(store, small_study), Person(store, small_study)
    first, second = response(0), response(1)
    requests = [[first, response(2)], [first], [first], [second, response(1)], [second, response(2)], [response(0)]]
    batch = [responses.Answers(person.session, person.token, sent) for sent in requests]
    batch.insert(2, responses.Answers(other.session, other.token, [response(0)]))
    batch.insert(3, responses.Answers(other.session, person.token, [response(1)]))
    with store.filling() as db:  # a transaction; its name does not matter here
        outcomes = responses.add(db, batch)
    is_refused = [isinstance(outcome, Conflict) for outcome in outcomes]
    assert is_refused == [True, False, False, True, False, True, False, True]
    assert [outcome for outcome in outcomes if not isinstance(outcome, Conflict)] == [
        [True],
        [True],
        [False],
        [True, True],
    ]
    assert [index for index, _ in responses_of(store, person.session)] == [0, 1, 2]
    assert person.now.n_answered == 3
    assert problems(store) == []


def test_a_commit_can_hold_more_answers_than_a_statement(any_store: Store, sample_study: Study) -> None:
    any_store.register_study(sample_study)
    people = at_once(*[partial(Person, any_store, sample_study)] * 45)
    sent = {person.session: [response(index) for index in range(person.n_trials)] for person in people}
    with any_store.filling() as db:
        outcomes = responses.add(
            db, [responses.Answers(person.session, person.token, sent[person.session]) for person in people]
        )
    assert outcomes == [[True] * person.n_trials for person in people]
    assert sum(map(len, outcomes)) > 1_100
    for person in people:
        stored = [(one.trial_index, one.response_id) for one in sent[person.session]]
        assert responses_of(any_store, person.session) == stored
    assert problems(any_store) == []


def test_an_answer_that_cannot_be_stored_keeps_nobody_elses_out(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(20)]
    impossible = [response(0, response="\ud800"), response(0, response=["\udfff"])]  # no text in any encoding

    sent = [(*impossible, response(0), response(0))[number % 4] for number in range(20)]
    outcomes = at_once(*(partial(person.send, one) for person, one in zip(people, sent, strict=True)))
    assert all(outcome == [True] for outcome in outcomes[2::4] + outcomes[3::4])
    assert not any(outcome == [True] for outcome in outcomes[0::4] + outcomes[1::4])
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(10,)]
    assert at_once(*[person.answer for person in people[0::4]]) == [[True]] * 5
    assert problems(store) == []


def test_an_error_in_the_program_undoes_the_one_request_it_met(
    store: Store, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky, *others = (Person(store, small_study) for _ in range(10))
    row = responses.row

    def fail(session: str, sent: Response, *rest: Any) -> Any:
        return 1 // 0 if (session, sent.trial_index) == (unlucky.session, 1) else row(session, sent, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(responses, "row", fail)
        outcomes = at_once(unlucky.answer_all, *(person.answer_all for person in others))
    assert isinstance(outcomes[0], ZeroDivisionError)
    assert outcomes[1:] == others
    assert unlucky.now.n_answered == 0
    assert unlucky.answer(3) == [True] * 3
    assert problems(store) == []


# The session and its token.


def test_a_session_follows_the_plan_of_its_group_and_seed(store: Store, small_study: Study) -> None:
    for _ in range(7):
        stored = Person(store, small_study).stored
        assert stored.session.group is not None and stored.session.seed is not None
        plan = plan_session(small_study, stored.session.group, stored.session.seed)
        assert [(trial.trial_index, trial.phase, trial.item.item_id) for trial in stored.plan.trials] == [
            (trial.trial_index, trial.phase, trial.item_id) for trial in plan.trials
        ]
        assert [trial.item for trial in stored.plan.trials] == [
            small_study.battery.by_id[trial.item_id] for trial in plan.trials
        ]


def test_nobody_is_found_by_a_token_that_was_never_given(store: Store) -> None:
    assert store.find_session("nobody's") is None
    assert store.find_plan("nobody's") is None


def test_a_retried_start_is_one_session_and_the_later_token_is_valid(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    first, earlier_token = person.stored, person.token
    again = person.begin()
    assert again.session == first.session
    assert again.plan == first.plan
    assert again.n_answered == 1
    assert store.find_session(earlier_token) is None
    with pytest.raises(NotYourSession):
        store.add_responses(person.session, earlier_token, [response(1)])
    assert person.answer() == [True]
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]
    assert problems(store) == []


def test_a_replaced_token_opens_nothing_on_another_server_either(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    with closing(another(store)) as other:
        plan = other.find_plan(person.token)
        assert plan is not None and plan.session == person.session
        earlier_token = person.token
        person.begin()
        assert other.find_session(earlier_token) is None
        with pytest.raises(NotYourSession):
            other.add_responses(person.session, earlier_token, [response(0)])


def same_start_at_once(
    store: Store, study: Study, identity: Identity | None, start_id: str = str(uuid.uuid4())
) -> list[Any]:
    """Ten windows of one browser, or of one person, begin at the same moment."""

    def begin() -> StoredSession:
        own = str(uuid.uuid4()) if identity else start_id
        return store.start_session(
            study, SessionStart(own, Kind.HUMAN, Source.WEB, uuid.uuid4().hex, "consent", identity)
        )

    return at_once(*[begin] * 10)


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_simultaneous_starts_of_one_person_are_one_session(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    outcomes = same_start_at_once(store, small_study, identity)
    begun = {outcome.plan.session for outcome in outcomes if isinstance(outcome, StoredSession)}
    assert len(begun) == 1
    assert rows(store, "SELECT session, place FROM sessions") == [(begun.pop(), "reserved")]
    assert problems(store) == []


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_a_window_that_loses_its_token_to_another_is_told_so(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    for outcome in same_start_at_once(store, small_study, identity):
        assert isinstance(outcome, StoredSession | Conflict), repr(outcome)


@pytest.mark.parametrize("identity", [None, panel("anna")], ids=["by start", "by identity"])
def test_nobody_is_turned_away_for_the_place_that_they_have_just_got(
    store: Store, small_study: Study, identity: Identity | None
) -> None:
    study = recruiting(small_study, quota=1)
    with closing(another(store)) as other:
        outcomes = at_once(
            *(partial(same_start_at_once, one, study, identity, "00000000-0000-4000-8000-000000000001")
              for one in (store, other))
        )  # fmt: skip
    assert of(StudyFull, [outcome for some in outcomes for outcome in some]) == 0
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]


def test_the_plans_in_memory_have_a_bound_and_every_session_is_found_all_the_same(
    store: Store, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_cache, "MAX_TRIALS_IN_MEMORY", 11)
    people = at_once(*[partial(Person, store, small_study)] * 10)
    assert at_once(*(partial(store.find_plan, person.token) for person in people)) == [
        person.stored.plan for person in people
    ]
    kept = [store._plans.of_token(person.token) for person in people]
    assert sum(len(plan.trials) for plan in kept if plan) == 9


def test_a_session_keeps_its_items_and_its_debriefing_when_the_study_changes(
    any_store: Store, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    any_store.register_study(study)
    person = Person(any_store, study)
    edit(study_folder / "battery.jsonl", '"options":["red","blue"', '"options":["scarlet","blue"')
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    (study_folder / "debrief.md").write_text("Something else.\n", encoding="utf-8")
    changed = load_study(study_folder)
    any_store.register_study(changed)
    assert Person(any_store, changed).stored.plan.texts["debrief.md"] == "Something else.\n"
    with closing(reopened(any_store)) as again:
        found = again.find_session(person.token)
        assert found is not None
        assert found.plan == person.stored.plan
        person.store = again
        person.complete()
        assert problems(again) == []


# Places.


def test_simultaneous_starts_fill_the_groups_evenly(store: Store, small_study: Study) -> None:
    people = at_once(*[lambda: Person(store, small_study)] * 60)
    assert Counter(person.group for person in people) == {1: 20, 2: 20, 3: 20}
    assert Counter(person.stored.session.seed for person in people) == dict.fromkeys(range(1, 21), 3)
    assert [place for (place,) in rows(store, "SELECT place FROM sessions")] == ["reserved"] * 60
    assert problems(store) == []


def test_a_withdrawn_place_is_filled_again(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(3)]
    leaver = people[1].withdraw()
    successor = Person(store, small_study)
    assert successor.group == leaver.group
    assert successor.stored.session.seed == 2  # a seed is never used twice, so no two plans are the same


def test_simulated_participants_take_no_places_from_people(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=2, quota_per_group=1)
    simulated = [Person(store, study, Kind.SIMULATED) for _ in range(7)]
    assert [person.group for person in simulated] == [1, 2, 3, 1, 2, 3, 1]
    people = [Person(store, study) for _ in range(2)]
    assert [person.group for person in people] == [1, 2]
    assert {person.stored.session.seed for person in people} == {1}
    assert store.why_full(study)
    Person(store, study, Kind.SIMULATED).complete()
    assert problems(store) == []


def test_a_full_study_takes_nobody_and_says_so_beforehand(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=2)
    assert not store.why_full(study)
    first, second = Person(store, study), Person(store, study)
    assert store.why_full(study)
    with pytest.raises(StudyFull, match=r"taken just now.*try again in about 60 minutes"):
        Person(store, study)
    first.withdraw()
    assert not store.why_full(study)
    Person(store, study).complete()
    second.complete()
    with pytest.raises(StudyFull, match="has all the participants it needs"):
        Person(store, study)
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(3,)]  # who was refused left nothing behind


def test_a_quota_holds_for_each_group(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=2)
    assert Counter(Person(store, study).group for _ in range(6)) == {1: 2, 2: 2, 3: 2}
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)


def test_a_quota_can_be_raised_while_data_come_in(store: Store, small_study: Study) -> None:
    Person(store, recruiting(small_study, quota=1))
    raised = recruiting(small_study, quota=2)
    store.register_study(raised)
    assert Person(store, raised).group == 2


def test_simultaneous_starts_never_fill_more_places_than_there_are(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=7, quota_per_group=3)
    with closing(another(store)) as other:
        outcomes = at_once(*[partial(Person, one, study) for one in (store, other)] * 12)
    people = [outcome for outcome in outcomes if isinstance(outcome, Person)]
    assert sorted(Counter(person.group for person in people).values()) == [2, 2, 3]
    assert of(StudyFull, outcomes) == 24 - 7
    assert problems(store) == []


def test_a_closed_group_gets_no_newcomers_until_it_is_opened(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota_per_group=4)
    under_way = Person(store, study)
    store.open_group(study, 1, is_open=False)
    assert Counter(Person(store, study).group for _ in range(8)) == {2: 4, 3: 4}
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)
    under_way.complete()
    assert under_way.now.place is Place.CONFIRMED
    assert [progress.is_open for progress in store.progress(study)[:3]] == [False, True, True]
    store.open_group(study, 1, is_open=True)
    assert Person(store, study).group == 1
    assert [event for event in events(store, study) if event in {"closed", "opened"}] == ["closed", "opened"]


@pytest.mark.parametrize("group", [0, 4])
def test_a_group_that_is_not_there_can_be_neither_opened_nor_closed(
    store: Store, small_study: Study, group: int
) -> None:
    before = store.events(small_study)
    for is_open in (True, False):
        with pytest.raises(Conflict, match=f"no group {group}"):
            store.open_group(small_study, group, is_open)
    assert store.events(small_study) == before


def test_a_place_is_given_to_another_after_the_time_out(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=1)
    gone = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN - 1)
    assert store.why_full(study)
    with pytest.raises(StudyFull):
        Person(store, study)
    clock.advance(minutes=2)
    assert not store.why_full(study)
    successor = Person(store, study)
    assert (successor.group, successor.stored.session.seed) == (gone.group, 2)
    assert gone.now.place is Place.RELEASED
    assert gone.now.session.status is Status.ACTIVE
    released = next(event for event in store.events(study) if event.event == "released")
    assert (released.session, released.details["because"]) == (gone.session, "time-out")
    assert problems(store) == []


@pytest.mark.parametrize("sign_of_life", ["answer", "resume", "begin"])
def test_a_sign_of_life_keeps_a_place(store: Store, small_study: Study, clock: Clock, sign_of_life: str) -> None:
    study = recruiting(small_study, quota=1)
    person = Person(store, study)
    for _ in range(3):
        clock.advance(minutes=TIME_OUT_MIN - 1)
        if sign_of_life == "answer":
            person.answer()
        elif sign_of_life == "resume":
            store.resume_session(study, person.session)
        else:
            person.begin()
        with pytest.raises(StudyFull):
            Person(store, study)
    assert person.now.place is Place.RESERVED


def test_the_studys_own_time_out_counts(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=1, time_out_min=5)
    Person(store, study)
    clock.advance(minutes=4)
    assert store.why_full(study)
    clock.advance(minutes=2)
    assert not store.why_full(study)


def test_only_people_time_out(store: Store, small_study: Study, clock: Clock) -> None:
    simulated = Person(store, small_study, Kind.SIMULATED)
    clock.advance(minutes=2 * TIME_OUT_MIN)
    Person(store, small_study)
    assert simulated.now.place is Place.RESERVED


def test_who_comes_back_finds_their_place_if_it_is_free(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    assert away.now.place is Place.RELEASED
    store.resume_session(study, away.session)
    assert away.now.place is Place.RESERVED
    with pytest.raises(StudyFull):
        Person(store, study)
    assert away.complete().now.place is Place.CONFIRMED
    assert events(store, study, away.session) == ["reserved", "released", "regained", "confirmed"]
    assert problems(store) == []


def test_who_comes_back_too_late_is_told_so_and_keeps_their_answers(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    away.answer()
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    for come_back in (lambda: store.resume_session(study, away.session), away.begin):
        with pytest.raises(StudyFull, match=r"given to somebody else\. Your answers so far are safe"):
            come_back()
    assert len(responses_of(store, away.session)) == 1
    successor.withdraw()
    store.resume_session(study, away.session)
    assert away.now.place is Place.RESERVED


def test_nobody_comes_back_into_a_group_that_was_filled_meanwhile(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota_per_group=1)
    away = [Person(store, study) for _ in range(3)]
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    for person in away:
        if person.group == successor.group:
            with pytest.raises(StudyFull):
                store.resume_session(study, person.session)
        else:
            store.resume_session(study, person.session)
    assert store.why_full(study)
    assert problems(store) == []


def test_who_comes_back_finds_the_room_that_a_newcomer_would_find(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)  # takes the place, and goes away in turn
    clock.advance(minutes=TIME_OUT_MIN + 1)
    assert not store.why_full(study)
    store.resume_session(study, away.session)
    assert away.now.place is Place.RESERVED
    assert problems(store) == []


def test_to_come_back_in_time_or_after_the_end_changes_no_place(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study), Person(store, small_study).complete(), Person(store, small_study).withdraw()]
    before = store.events(small_study)
    for person in people:
        store.resume_session(small_study, person.session)
    assert [person.now.place for person in people] == [Place.RESERVED, Place.CONFIRMED, Place.RELEASED]
    assert store.events(small_study) == before


@pytest.mark.parametrize("reason", [Release.RETURN, Release.EXCLUSION])
def test_the_researcher_can_release_a_place_whether_or_not_the_session_is_over(
    store: Store, small_study: Study, reason: Release
) -> None:
    study = recruiting(small_study, quota=2)
    completed, under_way = Person(store, study).complete(), Person(store, study)
    for person in (completed, under_way):
        assert store.release_place(person.session, reason) is True
        assert store.release_place(person.session, reason) is False
        assert person.now.place is Place.RELEASED
        assert Person(store, study).group == person.group
    assert len(responses_of(store, completed.session)) == 3  # answers stay
    released = [event.details for event in store.events(study) if event.event == "released"]
    assert {details["because"] for details in released} == {reason.value}
    assert {"reserved", "confirmed"} <= {details["was"] for details in released}
    with pytest.raises(StudyFull):
        store.resume_session(study, under_way.session)
    under_way.complete()  # was not told, and answers on
    assert under_way.now.place is Place.RELEASED
    assert problems(store) == []


# The end of a session.


def test_a_session_is_complete_when_all_answers_are_in(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    for n_missing in (3, 2, 1):
        with pytest.raises(Conflict, match=f"^Some answers have not arrived yet: {n_missing}"):
            store.complete_session(small_study, person.session, passed_checks=True)
        assert person.now.session.status is Status.ACTIVE
        person.answer()
    store.complete_session(small_study, person.session, passed_checks=True)
    assert person.now.session.status is Status.COMPLETED
    assert person.now.session.completed_at is not None
    assert person.now.place is Place.CONFIRMED


def test_to_complete_again_is_the_same_as_once(store: Store, small_study: Study, clock: Clock) -> None:
    person = Person(store, small_study).complete()
    before, log = person.now, store.events(small_study)
    clock.advance(minutes=5)
    for passed_checks in (True, False):
        store.complete_session(small_study, person.session, passed_checks)
    assert person.now == before
    assert store.events(small_study) == log


def test_simultaneous_completions_are_one(store: Store, small_study: Study) -> None:
    person = Person(store, small_study).answer_all()
    complete = partial(store.complete_session, small_study, person.session, passed_checks=True)
    assert at_once(*[complete] * 10) == [None] * 10
    assert events(store, small_study, person.session) == ["reserved", "confirmed"]
    assert problems(store) == []


def test_who_failed_the_checks_is_replaced(store: Store, small_study: Study) -> None:
    study = recruiting(small_study, quota=1)
    failed = Person(store, study).complete(passed_checks=False)
    assert (failed.now.session.status, failed.now.place) == (Status.COMPLETED, Place.RELEASED)
    assert len(responses_of(store, failed.session)) == 3
    replacement = Person(store, study)
    assert (replacement.group, replacement.stored.session.seed) == (failed.group, 2)
    released = next(event for event in store.events(study) if event.event == "released")
    assert (released.details["because"], released.details["was"]) == ("attention check", "reserved")
    assert problems(store) == []


def test_a_simulated_participant_is_never_replaced(store: Store, small_study: Study) -> None:
    person = Person(store, small_study, Kind.SIMULATED).complete(passed_checks=False)
    assert person.now.place is Place.CONFIRMED


def test_who_completes_after_the_place_was_given_away_is_surplus(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=1)
    away = Person(store, study)
    away.answer()
    clock.advance(minutes=TIME_OUT_MIN + 1)
    successor = Person(store, study)
    away.complete()
    assert (away.now.session.status, away.now.place) == (Status.COMPLETED, Place.RELEASED)
    assert len(responses_of(store, away.session)) == 3
    assert events(store, study, away.session) == ["reserved", "released", "surplus"]
    assert successor.complete().now.place is Place.CONFIRMED
    assert problems(store) == []


def test_who_completes_after_a_time_out_has_their_place_if_it_is_free(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    assert away.complete().now.place is Place.CONFIRMED
    assert store.why_full(study)
    assert problems(store) == []


def test_who_completes_after_a_time_out_that_nobody_noticed_has_their_place(
    store: Store, small_study: Study, clock: Clock
) -> None:
    person = Person(store, recruiting(small_study, quota=1))
    clock.advance(minutes=24 * TIME_OUT_MIN)
    assert person.complete().now.place is Place.CONFIRMED


def test_who_fails_the_checks_after_a_time_out_has_no_place(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=2)
    away = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    Person(store, study)
    away.complete(passed_checks=False)
    assert away.now.place is Place.RELEASED
    assert not store.why_full(study)
    assert problems(store) == []


@pytest.mark.parametrize("n_answered", [0, 2, 3])
@pytest.mark.parametrize("is_completed", [False, True])
def test_withdrawal_takes_the_answers_along(
    store: Store, small_study: Study, n_answered: int, is_completed: bool
) -> None:
    stays = Person(store, small_study).complete()
    leaver = Person(store, small_study)
    leaver.answer(n_answered)
    if is_completed:
        leaver.complete()
    leaver.withdraw()
    assert responses_of(store, leaver.session) == []
    assert store.answers(leaver.session) == {}
    assert (leaver.now.session.status, leaver.now.place, leaver.now.n_answered) == (
        Status.WITHDRAWN,
        Place.RELEASED,
        0,
    )
    assert len(responses_of(store, stays.session)) == 3
    withdrew = next(event for event in store.events(small_study) if event.event == "withdrew")
    assert withdrew.details["answers_deleted"] == (3 if is_completed else n_answered)
    assert problems(store) == []


def test_to_withdraw_again_is_the_same_as_once(store: Store, small_study: Study) -> None:
    person = Person(store, small_study).complete().withdraw()
    before, log = person.now, store.events(small_study)
    person.withdraw()
    assert person.now == before
    assert store.events(small_study) == log


def test_nothing_comes_back_after_a_withdrawal(store: Store, small_study: Study) -> None:
    person = Person(store, small_study, identity=panel("anna"))
    person.answer_all()
    person.withdraw()
    with pytest.raises(Conflict, match="You have left this study"):
        store.complete_session(small_study, person.session, passed_checks=True)
    with pytest.raises(Conflict, match="is over"):
        person.send(person.sent[0])
    with pytest.raises(Conflict, match=r"You have left this study.*cannot begin it again"):
        person.begin()
    with pytest.raises(Conflict, match="You have left this study"):
        Person(store, small_study, identity=panel("anna"))
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]


def test_answers_on_their_way_do_not_outlive_a_withdrawal(store: Store, small_study: Study) -> None:
    with closing(another(store)) as other:
        for _ in range(5):
            person = Person(store, small_study)
            send = [partial(person.send, response(index)) for index in range(3)]
            at_once(*send, *send[:2], partial(other.withdraw_session, person.session), *send, *send[:1])
            assert responses_of(store, person.session) == []
            assert person.now.n_answered == 0
    assert problems(store) == []


# Panel ids and personal links.


def test_one_person_takes_part_once(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna"))
    anna.answer()
    again = Person(store, small_study, identity=panel("anna", STUDY_ID="other"))
    assert again.session == anna.session
    assert again.stored.n_answered == 1
    with pytest.raises(NotYourSession):
        anna.answer()
    again.send(response(1), response(2))
    store.complete_session(small_study, again.session, passed_checks=True)
    once_more = Person(store, small_study, identity=panel("anna"))
    assert once_more.stored.session.status is Status.COMPLETED
    assert once_more.stored.plan.own_code == anna.stored.plan.own_code
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(1,)]
    assert problems(store) == []


def test_one_person_takes_part_once_across_versions_of_a_study(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    anna = Person(store, small_study, identity=panel("anna"))
    store.register_study(later)
    again = Person(store, later, identity=panel("anna"))
    assert again.session == anna.session
    assert again.stored.plan.definition.version == "1.0"
    assert events(store, later) == ["registered"]
    assert problems(store) == []


def test_one_person_takes_part_once_even_if_two_versions_are_begun_at_once(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    with closing(another(store)) as other:
        for number in range(8):
            identity = panel(f"person-{number}")
            at_once(*(partial(Person, *where, identity=identity) for where in ((store, small_study), (other, later))))
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(8,)]
    assert problems(store) == []


def test_the_same_id_elsewhere_is_somebody_else(store: Store, small_study: Study) -> None:
    definition = small_study.definition.model_copy(update={"study": "another-study"})
    elsewhere = dataclasses.replace(small_study, definition=definition)
    store.register_study(elsewhere)
    people = [
        Person(store, small_study, identity=panel("anna")),
        Person(store, small_study, identity=Identity("link", "anna")),
        Person(store, elsewhere, identity=panel("anna")),
    ]
    assert len({person.session for person in people}) == 3
    for source, person in zip(("panel", "link"), people[:2], strict=True):
        assert [found.session for found in store.sessions_of(small_study, source, "anna")] == [person.session]


def test_who_a_panel_means_is_found_by_their_id(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna", STUDY_ID="s1", SESSION_ID="x")).complete()
    berta = Person(store, small_study, identity=panel("berta"))
    (found,) = store.sessions_of(small_study, "panel", "anna")
    assert (found.session, found.status, found.place) == (anna.session, "completed", "confirmed")
    assert found == store.session_named(small_study, anna.session)
    assert store.sessions_of(small_study, "panel", "nobody") == []
    assert store.session_named(small_study, "nobody") is None
    first, second = store.identities(small_study)
    assert first | {"created_at": ""} == {
        "source": "panel",
        "external_id": "anna",
        "participant": anna.stored.session.participant.participant,
        "session": anna.session,
        "status": "completed",
        "own_code": anna.stored.plan.own_code,
        "created_at": "",
        "STUDY_ID": "s1",
        "SESSION_ID": "x",
    }
    assert (second["external_id"], second["session"]) == ("berta", berta.session)


def test_no_kept_parameter_hides_whose_an_id_is(store: Store, small_study: Study) -> None:
    anna = Person(store, small_study, identity=panel("anna", session="x", participant="y", status="z"))
    (found,) = store.identities(small_study)
    assert found["session"] == anna.session
    assert found["participant"] == anna.stored.session.participant.participant
    assert found["status"] == "active"


def test_panel_ids_are_in_no_table_but_their_own(store: Store, small_study: Study) -> None:
    Person(store, small_study, identity=panel("anna-of-the-panel", SESSION_ID="kept-beside-it")).complete()
    secret = ("anna-of-the-panel", "kept-beside-it")
    for table in ("trials", "sessions", "participants", "events", "responses"):
        text = str(rows(store, f'SELECT * FROM "{table}"'))
        assert not any(word in text for word in secret), table


def test_panel_ids_can_be_deleted_without_touching_an_answer(store: Store, small_study: Study) -> None:
    people = {name: Person(store, small_study, identity=panel(name)).complete() for name in ("anna", "berta", "carl")}
    elsewhere = dataclasses.replace(
        small_study, definition=small_study.definition.model_copy(update={"study": "another-study"})
    )
    store.register_study(elsewhere)
    Person(store, elsewhere, identity=panel("anna"))
    before = store.trials()
    participant = people["berta"].stored.session.participant.participant
    assert store.delete_identities(small_study, participant) == 1
    assert store.delete_identities(small_study, participant) == 0
    assert [person["external_id"] for person in store.identities(small_study)] == ["anna", "carl"]
    assert store.delete_identities(small_study) == 2
    assert store.identities(small_study) == []
    assert len(store.identities(elsewhere)) == 1
    assert store.trials() == before
    assert problems(store) == []
    assert Person(store, small_study, identity=panel("anna")).session != people["anna"].session


# What was asked.


def test_a_changed_study_that_people_have_begun_needs_a_new_version(
    any_store: Store, study_folder: Path, edit: Callable[[Path, str, str], None]
) -> None:
    study = load_study(study_folder)
    any_store.register_study(study)
    Person(any_store, study, Kind.SIMULATED)
    any_store.add_runs(study, [run_baseline(study, "baseline/tracer")])
    edit(study_folder / "consent.md", "ten minutes", "nine minutes")
    changed = load_study(study_folder)
    any_store.register_study(changed)  # nobody but simulated participants and models has answered

    Person(any_store, changed)
    edit(study_folder / "consent.md", "nine minutes", "five minutes")
    with pytest.raises(InputError, match="give it a new `version`"):
        any_store.register_study(load_study(study_folder))
    any_store.register_study(changed)
    edit(study_folder / "study.yaml", 'version: "1.0"', 'version: "1.1"')
    any_store.register_study(load_study(study_folder))
    assert problems(any_store) == []


def test_a_study_is_registered_once_however_many_servers_start(any_store: Store, small_study: Study) -> None:
    with closing(another(any_store)) as other:
        register = [partial(one.register_study, small_study) for one in (any_store, other)]
        assert at_once(*register * 5) == [None] * 10
    assert rows(any_store, "SELECT COUNT(*) FROM studies") == [(1,)]
    assert rows(any_store, "SELECT COUNT(*) FROM items") == [(len(small_study.battery.items),)]
    assert rows(any_store, "SELECT COUNT(*) FROM places") == [(6,)]
    assert events(any_store, small_study) == ["registered"]
    assert problems(any_store) == []


def test_what_the_study_said_is_kept_with_the_sessions_begun_by_it(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    store.register_study(version_of(small_study, "1.2"))  # begun by nobody
    Person(store, small_study)
    Person(store, later)
    Person(store, later, Kind.SIMULATED)
    store.add_runs(later, [small_run(later)])
    found = {one.definition.version: one for one in store.registered_definitions(small_study)}
    assert {version: one.n_sessions for version, one in found.items()} == {"1.0": 1, "1.1": 2}
    assert found["1.0"].definition == small_study.definition


def test_a_code_finds_its_own_session_and_a_shared_one_finds_nobody(store: Store, small_study: Study) -> None:
    own, other = Person(store, small_study), Person(store, small_study)
    assert own.stored.plan.own_code != other.stored.plan.own_code
    assert store.sessions_with_code(small_study, own.stored.plan.own_code) == [own.session]
    definition = small_study.definition.model_copy(update={"completion_code": "SHARED", "version": "1.1"})
    shared = dataclasses.replace(small_study, definition=definition)
    store.register_study(shared)
    person = Person(store, shared)
    assert store.sessions_with_code(small_study, person.stored.plan.own_code) == [person.session]
    assert store.sessions_with_code(small_study, "SHARED") == []
    simulated = Person(store, shared, Kind.SIMULATED)
    assert store.sessions_with_code(small_study, simulated.stored.plan.own_code) == [simulated.session]


# Models.


def small_run(study: Study, name: str = "baseline/tracer", **changes: Any) -> Run:
    return run_baseline(study, name).model_copy(update=changes)


def with_new_ids(run: Run) -> Run:
    responses = (one.model_copy(update={"response_id": str(uuid.uuid4())}) for one in run.responses)
    return run.model_copy(update={"responses": tuple(responses)})


def test_a_run_is_stored_once(store: Store, sample_study: Study) -> None:
    (first,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    (again,) = store.add_runs(sample_study, [run_baseline(sample_study, "baseline/tracer")])
    assert (first.is_new, again.is_new) == (True, False)
    assert first.run == again.run == "baseline/tracer"
    stored = store.trials(sample_study)
    assert len(stored) == 235
    assert {(row["kind"], row["run"], row["source"], row["status"], row["valid"]) for row in stored} == {
        ("model", "baseline/tracer", "api", "completed", 1)
    }
    assert problems(store) == []


def test_a_run_that_two_imports_bring_at_once_is_stored_once(store: Store, small_study: Study) -> None:
    run = small_run(small_study)
    with closing(another(store)) as other:
        outcomes = at_once(*[partial(one.add_runs, small_study, [run]) for one in (store, other)] * 5)
    assert Counter(added.is_new for (added,) in outcomes) == {True: 1, False: 9}
    assert rows(store, "SELECT run FROM runs") == [("baseline/tracer",)]


def test_stored_answers_cannot_come_in_twice_in_other_company(
    any_store: Store, sample_study: Study, stored_runs: Path
) -> None:
    haiku, *others = read_stored_runs(sample_study, [stored_runs])
    part = haiku.model_copy(update={"item_ids": haiku.item_ids[:23], "responses": haiku.responses[:23]})
    any_store.add_runs(sample_study, [part])
    with pytest.raises(Conflict, match=r"is in the store already, as part of the run `Haiku 4.5"):
        any_store.add_runs(sample_study, [*others, haiku])
    assert len(any_store.trials()) == 23  # all or none
    assert problems(any_store) == []


def test_another_run_with_the_same_label_gets_a_number(store: Store, small_study: Study) -> None:
    run = small_run(small_study)
    labels = [added.run for added in store.add_runs(small_study, [run, with_new_ids(run), with_new_ids(run)])]
    assert labels == ["baseline/tracer", "baseline/tracer (2)", "baseline/tracer (3)"]
    (later,) = store.add_runs(small_study, [with_new_ids(run)])
    assert later.run == "baseline/tracer (4)"


def test_simultaneous_runs_with_the_same_label_get_different_numbers(store: Store, small_study: Study) -> None:
    run, later = small_run(small_study), version_of(small_study, "1.1")
    with closing(another(store)) as other:
        outcomes = at_once(
            *(
                partial(one.add_runs, study, [with_new_ids(run)])
                for one in (store, other)
                for study in (small_study, later) * 2
            )
        )
    assert len({added.run for (added,) in outcomes}) == 8


def test_a_models_text_is_kept_whatever_is_in_it(store: Store, small_study: Study) -> None:
    run = small_run(small_study, parameters={"stop": ["\x00", "é"], "top_p": 0.1})
    texts = ["I think\nthat – 🙂", "ends in nothing: \x00", ""] * 2
    told = zip(run.responses, texts, strict=True)
    responses = tuple(one.model_copy(update={"text": text, "valid": False}) for one, text in told)
    with_texts = run.model_copy(update={"responses": responses})
    if isinstance(store, SqliteStore):
        store.add_runs(small_study, [with_texts])
    else:  # it knows no text with NUL: all or nothing, and in words
        with pytest.raises(InputError, match="NUL"):
            store.add_runs(small_study, [with_texts])
        assert store.trials() == []
        return
    stored = rows(store, "SELECT text FROM responses ORDER BY trial_index")
    assert [text.replace("\x00", "") for (text,) in stored] == [text.replace("\x00", "") for text in texts]
    assert problems(store) == []


def test_a_run_that_says_less_than_it_was_asked_is_kept_as_it_is(store: Store, small_study: Study) -> None:
    run = small_run(small_study, temperature=0.7, prompt_digest="abc")
    backwards = run.model_copy(update={"responses": tuple(reversed(run.responses[1:]))})
    store.add_runs(small_study, [backwards])
    found = store.trials(small_study)
    assert [row["response"] is None for row in found] == [True] + [False] * 5
    assert {(row["temperature"], row["prompt_digest"]) for row in found} == {(0.7, "abc")}
    assert problems(store) == []


def test_times_are_stored_in_utc(store: Store, small_study: Study) -> None:
    elsewhere = datetime(2026, 11, 21, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    store.add_runs(small_study, [small_run(small_study, started_at=elsewhere)])
    assert {row["started_at"] for row in store.trials()} == {"2026-11-22T04:30:00.000+00:00"}


# What the researcher sees.


def test_the_progress_of_each_group_adds_up_to_all_that_were_begun(
    store: Store, small_study: Study, clock: Clock
) -> None:
    study = recruiting(small_study, quota_per_group=4)
    lapsed = Person(store, study)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    people = [Person(store, study) for _ in range(12)]
    first_group = [person for person in people if person.group == lapsed.group]
    first_group[0].complete()
    first_group[1].complete(passed_checks=False)
    first_group[2].withdraw()
    simulated = Person(store, study, Kind.SIMULATED).complete()
    by_group = {(one.kind, one.group): one for one in store.progress(study)}
    assert set(by_group) == {(kind, group) for kind in (Kind.HUMAN, Kind.SIMULATED) for group in (1, 2, 3)}
    found = by_group[Kind.HUMAN, lapsed.group]
    counts = (found.n_under_way, found.n_completed, found.n_lapsed, found.n_replaced, found.n_withdrawn)
    assert counts == (1, 1, 1, 1, 1)
    assert (by_group[Kind.HUMAN, 2].n_under_way, by_group[Kind.HUMAN, 2].n_begun) == (4, 4)
    assert by_group[Kind.SIMULATED, simulated.group].n_completed == 1
    begun = Counter((row["kind"], row["group"]) for row in store.trials(study) if row["trial_index"] == 0)
    assert {key: one.n_begun for key, one in by_group.items() if one.n_begun} == dict(begun)
    assert all(one.is_open for one in by_group.values())


def test_the_log_explains_every_decision(store: Store, small_study: Study, clock: Clock) -> None:
    study = recruiting(small_study, quota=3, quota_per_group=2)
    first = Person(store, study)
    store.open_group(study, 2, is_open=False)
    second = Person(store, study).complete()
    store.release_place(second.session, Release.EXCLUSION)
    clock.advance(minutes=TIME_OUT_MIN + 1)
    third = Person(store, study).withdraw()
    log = store.events(study)
    assert [event.event_index for event in log] == list(range(len(log)))
    assert [event.at for event in log] == sorted(event.at for event in log)
    assert [(event.event, event.session) for event in log] == [
        ("registered", None),
        ("reserved", first.session),
        ("closed", None),
        ("reserved", second.session),
        ("confirmed", second.session),
        ("released", second.session),
        ("released", first.session),
        ("reserved", third.session),
        ("withdrew", third.session),
        ("released", third.session),
    ]
    reasons = [event.details["because"] for event in log if event.event == "released"]
    assert reasons == ["exclusion", "time-out", "withdrawal"]
    assert log[3].details == {
        "kind": "human",
        "group": 3,
        "seed": 1,
        "taken": {"1": [0, 1], "2": [0, 0], "3": [0, 0]},
        "closed": [2],
        "quota": 3,
        "quota_per_group": 2,
    }
    assert log[6].details["seen_at"] < log[6].at


def test_the_log_of_each_study_is_its_own(store: Store, small_study: Study) -> None:
    later = version_of(small_study, "1.1")
    store.register_study(later)
    person, other = Person(store, small_study), Person(store, later)
    assert [event.session for event in store.events(small_study)] == [None, person.session]
    assert [event.session for event in store.events(later)] == [None, other.session]
    assert store.events(version_of(small_study, "never registered")) == []


def test_the_view_has_a_row_for_every_planned_trial_even_without_its_item(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    by_hand(store, f"DELETE FROM items WHERE item_id = '{person.stored.plan.trials[1].item.item_id}'")
    found = store.trials()
    assert len(found) == 3
    assert [row["content"] is None for row in found] == [False, True, False]


def test_the_trials_of_one_study_are_asked_for_by_its_name(store: Store, small_study: Study) -> None:
    definition = small_study.definition.model_copy(update={"study": "another-study"})
    elsewhere, later = dataclasses.replace(small_study, definition=definition), version_of(small_study, "1.1")
    store.register_study(elsewhere)
    store.register_study(later)
    people = [Person(store, study) for study in (small_study, later, elsewhere)]
    assert {row["session"] for row in store.trials(small_study)} == {person.session for person in people[:2]}
    assert {row["session"] for row in store.trials(elsewhere)} == {people[2].session}
    assert {row["session"] for row in store.trials()} == {person.session for person in people}


# The store as a whole.


def test_a_snapshot_sees_one_moment_whatever_is_written_meanwhile(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    with store.snapshot() as db:
        assert db.execute("SELECT COUNT(*) FROM responses").fetchone()[0] == 1
        person.answer()
        Person(store, small_study)
        assert db.execute("SELECT COUNT(*) FROM responses").fetchone()[0] == 1
        assert db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0] == 1
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(2,)]


def test_nothing_that_is_done_to_a_snapshot_stays(store: Store) -> None:
    with suppress(StoreUnavailable), store.snapshot() as db:
        db.execute("DELETE FROM logs")
    assert rows(store, "SELECT COUNT(*) FROM logs") == [(1,)]


def test_what_fails_while_a_store_is_filled_is_undone(any_store: Store) -> None:
    def fill_and_fail() -> None:
        with any_store.filling() as db:
            db.execute("INSERT INTO participants (participant, kind) VALUES ('p', 'human')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fill_and_fail()
    assert rows(any_store, "SELECT COUNT(*) FROM participants") == [(0,)]
    with any_store.filling() as db:
        db.execute("INSERT INTO participants (participant, kind) VALUES ('p', 'human')")
    assert rows(any_store, "SELECT COUNT(*) FROM participants") == [(1,)]


def test_a_whole_store_passes_its_checks(store: Store, small_study: Study) -> None:
    store.check()
    store.check_integrity()
    Person(store, small_study).complete()
    store.check()
    store.check_integrity()
    assert problems(store) == []


def test_a_closed_store_takes_nothing(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    store.close()
    for write in (
        person.answer,
        lambda: Person(store, small_study),
        person.withdraw,
        lambda: store.register_study(small_study),
        store.check,
    ):
        with pytest.raises(StoreUnavailable):
            write()
    store.close()
    with closing(another(store)) as again:
        assert responses_of(again, person.session) == []


def test_what_is_being_written_is_finished_before_the_store_is_closed(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(15)]
    outcomes = at_once(*[person.answer_all for person in people], store.close)
    with closing(another(store)) as again:
        n_stored = [len(responses_of(again, person.session)) for person in people]
        assert n_stored == [3 if isinstance(outcome, Person) else 0 for outcome in outcomes[:-1]]
        assert of(StoreUnavailable, outcomes) == n_stored.count(0)
        assert problems(again) == []
