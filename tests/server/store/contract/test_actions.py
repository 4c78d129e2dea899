"""The actions of interactive tasks are stored once, in order and before their observation is sent, in each store."""

from collections import Counter
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from experiment.records import TrialAction
from experiment.study.definition import Study
from server.store import Conflict, NotYourSession, Store, StoredAction
from server.store.copying import copy_store
from server.store.sqlite.store import SqliteStore
from tests.server.stores import Person, action, another, at_once, execute_sql, problems, reopened, response, rows


def act(person: Person, one: TrialAction, observation: Any = None) -> bool:
    return person.store.add_action(person.session, person.token, one, observation or {"outcome": "absorbed"})


def seen(*actions: TrialAction) -> list[StoredAction]:
    return [StoredAction(one.action_id, one.action, {"outcome": "absorbed"}) for one in actions]


def test_an_acknowledged_action_is_present_after_reopening_with_all_its_fields(
    store: Store, small_study: Study
) -> None:
    person, sent = Person(store, small_study), [action(index) for index in range(3)]
    assert [act(person, one) for one in sent] == [True] * 3
    with closing(reopened(store)) as again:
        assert again.actions(person.session, 0) == seen(*sent)
        found = rows(again, "SELECT since_onset_ms, rt_ms, input, attempt, visit FROM actions ORDER BY action_index")
        assert found == [(1000.25 * number, 1000.25, "key", 1, 1) for number in (1, 2, 3)]
        resumed = again.find_session(person.token)
        assert resumed is not None and resumed.n_answered == 0
        assert problems(again) == []


def test_an_action_that_is_sent_again_is_stored_once(store: Store, small_study: Study) -> None:
    person, one = Person(store, small_study), action(0)
    with closing(another(store)) as other:
        send = [partial(there.add_action, person.session, person.token, one, 1) for there in (store, other)]
        assert Counter(at_once(*send * 8)) == {True: 1, False: 15}
        assert act(person, action(1))
        assert not act(person, one), "a late copy of the first action"
    assert len(store.actions(person.session, 0)) == 2
    assert problems(store) == []


def test_of_two_windows_only_the_first_gets_an_observation(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    with closing(another(store)) as other:
        stores = (store, other) * 4
        outcomes = at_once(*(partial(one.add_action, person.session, person.token, action(0), 1) for one in stores))
    assert outcomes.count(True) == 1
    assert all("another window" in str(outcome) for outcome in outcomes if outcome is not True)
    assert len(store.actions(person.session, 0)) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (action(1), "has not arrived"),
        (action(0, trial_index=1), "has not arrived"),
        (action(0, trial_index=99), "has not arrived"),
    ],
    ids=["an action is missing", "a trial is missing", "no such trial"],
)
def test_an_action_out_of_order_is_refused(store: Store, small_study: Study, wrong: TrialAction, words: str) -> None:
    person = Person(store, small_study)
    with pytest.raises(Conflict, match=words):
        act(person, wrong)
    assert rows(store, "SELECT COUNT(*) FROM actions") == [(0,)]


def test_a_trial_with_a_response_and_a_session_that_is_over_accept_no_action(store: Store, small_study: Study) -> None:
    person = Person(store, small_study)
    act(person, action(0))
    person.answer()
    with pytest.raises(Conflict, match="answered already"):
        act(person, action(1))
    assert act(person, action(0, trial_index=1))
    person.complete()
    with pytest.raises(Conflict, match="over"):
        act(person, action(1, trial_index=1))
    with pytest.raises(NotYourSession):
        store.add_action(person.session, "another token", action(2, trial_index=1), 1)
    assert problems(store) == []


def test_actions_and_responses_of_many_participants_are_one_chain_each(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(20)]

    def play(person: Person) -> None:
        for trial_index in range(person.n_trials):
            for index in range(3):
                act(person, action(index, trial_index))
            person.send(response(trial_index))
        store.complete_session(small_study, person.session, True)

    assert at_once(*(partial(play, person) for person in people)) == [None] * 20
    assert rows(store, "SELECT COUNT(*) FROM actions") == [(20 * 9,)]
    assert problems(store) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE actions SET observation = '{}' WHERE action_index = 0", "action 0 in trial 0"),
        ("UPDATE actions SET rt_ms = 5 WHERE action_index = 1", "action 1 in trial 0"),
        ("DELETE FROM actions WHERE action_index = 0", "action 1 in trial 0"),
        ("DELETE FROM actions WHERE action_index = 1", "the response to trial 0"),
        ("DELETE FROM actions WHERE trial_index = 1", "the end of its responses, was changed"),
    ],
)
def test_every_change_of_an_action_is_found(store: Store, small_study: Study, change: str, words: str) -> None:
    person = Person(store, small_study)
    for index in range(2):
        act(person, action(index))
    person.answer()
    act(person, action(0, trial_index=1))
    assert problems(store) == []
    execute_sql(store, change)
    assert any(words in problem for problem in problems(store)), problems(store)


def test_a_withdrawal_deletes_the_actions(store: Store, small_study: Study) -> None:
    person, other = Person(store, small_study), Person(store, small_study)
    for one in (person, other):
        act(one, action(0, action={"secret": "abracadabra"}))
    person.withdraw()
    assert rows(store, "SELECT session FROM actions") == [(other.session,)]
    with pytest.raises(Conflict):
        act(person, action(0))
    assert problems(store) == []


def test_a_copy_of_a_store_has_the_actions(store: Store, small_study: Study, tmp_path: Any) -> None:
    person = Person(store, small_study)
    sent = [action(index) for index in range(2)]
    for one in sent:
        act(person, one)
    with closing(SqliteStore(tmp_path / "copy.db")) as target:
        copy_store(store, target)
        assert target.actions(person.session, 0) == seen(*sent)
        assert problems(target) == []


def test_an_action_that_cannot_be_stored_affects_no_other_action(store: Store, small_study: Study) -> None:
    people = [Person(store, small_study) for _ in range(12)]
    sent = [action(0, action="\ud800" if number % 3 == 0 else "a") for number in range(12)]
    outcomes = at_once(*(partial(act, person, one) for person, one in zip(people, sent, strict=True)))
    assert [outcome is True for outcome in outcomes] == [number % 3 != 0 for number in range(12)]
    assert rows(store, "SELECT COUNT(*) FROM actions") == [(8,)]
    assert problems(store) == []
