"""Responses are stored completely, once, in order and for their session, in each kind of store."""

import json
import uuid
from collections import Counter
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from experiment.records import Response
from experiment.study.definition import Study
from server.store import (
    Conflict,
    NotYourSession,
    SlotState,
    Store,
)
from server.store.sql import responses
from tests.server.stores import (
    Person,
    another,
    at_once,
    of,
    problems,
    reopened,
    response,
    responses_of,
    rows,
)

# Responses.


def test_acknowledged_responses_are_present_after_reopening(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer(2)
    with closing(reopened(store)) as again:
        found = again.find_session(person.token)
        assert found is not None
        assert found.session == person.stored.session
        assert found.plan == person.stored.plan
        assert found.n_answered == 2
        assert found.slot is SlotState.RESERVED
        assert responses_of(again, person.session) == [(one.trial_index, one.response_id) for one in person.sent]
        assert problems(again) == []


def test_an_acknowledged_response_is_immediately_visible_to_another_server(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    with closing(another(store)) as other:
        for n_answered in range(1, person.n_trials + 1):
            person.answer()
            found = other.find_session(person.token)
            assert found is not None and found.n_answered == n_answered


def test_a_response_is_stored_with_all_its_fields(store: Store, small_study: Study) -> None:
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
def test_any_response_is_read_unchanged(store: Store, small_study: Study, value: Any) -> None:
    person = Person(store, small_study)
    person.send(response(0, response=value))
    assert store.responses(person.session) == {0: value}
    assert problems(store) == []


def test_any_time_is_read_unchanged(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.send(response(0, rt_ms=-0.0), response(1, rt_ms=86_399_999.999_999_99), response(2, rt_ms=5e-324))
    assert [row["rt_ms"] for row in store.trials()] == [0.0, 86_399_999.999_999_99, 5e-324]
    assert problems(store) == []


def test_a_field_that_a_client_omits_is_missing_in_the_store(store: Store, small_study: Study) -> None:
    left_out = ("rt_ms", "fixation_ms", "fixation_frames", "shown_at", "frames_dropped", "focus_lost")
    Person(store, small_study).send(response(0, **dict.fromkeys(left_out)))
    row = store.trials()[0]
    assert [row[name] for name in left_out] == [None] * 6
    assert problems(store) == []


def test_a_retried_response_is_stored_once(store: Store, small_study: Study) -> None:
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


def test_the_result_says_which_responses_are_new(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    person.answer()
    new = response(1)
    assert person.send(person.sent[0], new, new, response(2)) == [False, True, False, True]
    assert [index for index, _ in responses_of(store, person.session)] == [0, 1, 2]


def test_a_request_without_responses_changes_nothing(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    assert person.send() == []
    assert person.now.n_answered == 0


@pytest.mark.parametrize("trial_indices", [(1,), (0, 2), (0, 1, 0), (0, 1, 2, 3), (2, 1, 0)])
def test_a_request_with_a_response_out_of_order_is_refused_completely(
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
    with pytest.raises(Conflict, match=r"id belongs to another response\. Fix: give"):
        person.send(response(1, response_id=person.sent[0].response_id))
    with pytest.raises(Conflict, match=r"id belongs to another response\. Fix: give"):
        person.send(response(0, response_id=person.sent[0].response_id, response="reflected"))
    person.complete()
    with pytest.raises(Conflict, match="is over; it accepts no more"):
        person.send(response(3))
    person.withdraw()
    with pytest.raises(Conflict, match="is over; it accepts no more answers"):
        person.send(response(0))


def test_one_id_for_two_responses_of_a_request_is_refused_completely(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    twice = str(uuid.uuid4())
    with pytest.raises(Conflict, match=r"id belongs to another response\. Fix: give"):
        person.send(response(0, response_id=twice), response(1, response_id=twice))
    assert responses_of(store, person.session) == []
    assert person.answer(3) == [True] * 3


def test_a_response_with_another_sessions_token_is_refused(store: Store, small_study: Study) -> None:
    person, other = Person(store, small_study), Person(store, small_study)
    for session, token in [(person.session, other.token), (person.session, ""), ("no-such-session", person.token)]:
        with pytest.raises(NotYourSession, match="opened again in another"):
            store.add_responses(session, token, [response(0)])
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(0,)]


def test_simultaneous_responses_to_one_trial_are_one_response(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    outcomes = at_once(*[lambda: person.send(response(0))] * 20)
    assert (outcomes.count([True]), of(Conflict, outcomes)) == (1, 19)
    assert len(responses_of(store, person.session)) == 1
    assert problems(store) == []


def test_simultaneous_retries_of_one_response_are_one_response(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    sent = response(0)
    with closing(another(store)) as other:
        send = [partial(one.add_responses, person.session, person.token, [sent]) for one in (store, other)]
        outcomes = at_once(*send * 10)
    assert Counter(map(str, outcomes)) == {"[True]": 1, "[False]": 19}
    assert responses_of(store, person.session) == [(0, sent.response_id)]


def test_many_simultaneous_responses_on_two_servers(store: Store, small_study: Study) -> None:
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
    batch = [responses.ResponseBatch(person.session, person.token, sent) for sent in requests]
    batch.insert(2, responses.ResponseBatch(other.session, other.token, [response(0)]))
    batch.insert(3, responses.ResponseBatch(other.session, person.token, [response(1)]))
    with store.filling() as db:  # Used only as a transaction.
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


def test_a_commit_can_contain_more_responses_than_a_statement(any_store: Store, sample_study: Study) -> None:
    any_store.register_study(sample_study)
    people = at_once(*[partial(Person, any_store, sample_study)] * 45)
    sent = {person.session: [response(index) for index in range(person.n_trials)] for person in people}
    with any_store.filling() as db:
        outcomes = responses.add(
            db, [responses.ResponseBatch(person.session, person.token, sent[person.session]) for person in people]
        )
    assert outcomes == [[True] * person.n_trials for person in people]
    assert sum(map(len, outcomes)) > 1_100
    for person in people:
        stored = [(one.trial_index, one.response_id) for one in sent[person.session]]
        assert responses_of(any_store, person.session) == stored
    assert problems(any_store) == []


def test_a_response_that_cannot_be_stored_affects_no_other_response(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(20)]
    impossible = [response(0, response="\ud800"), response(0, response=["\udfff"])]  # Not encodable in any encoding.

    sent = [(*impossible, response(0), response(0))[number % 4] for number in range(20)]
    outcomes = at_once(*(partial(person.send, one) for person, one in zip(people, sent, strict=True)))
    assert all(outcome == [True] for outcome in outcomes[2::4] + outcomes[3::4])
    assert not any(outcome == [True] for outcome in outcomes[0::4] + outcomes[1::4])
    assert rows(store, "SELECT COUNT(*) FROM responses") == [(10,)]
    assert at_once(*[person.answer for person in people[0::4]]) == [[True]] * 5
    assert problems(store) == []


def test_a_programming_error_undoes_only_its_request(
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
