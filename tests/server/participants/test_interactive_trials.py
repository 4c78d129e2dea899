"""Trials of interactive tasks over HTTP: one observation for each stored action, and nothing else of the state."""

import json
import uuid
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from analysis.data.tidy_table import read_trials
from batteries.blackbox import Port, all_ports, trace
from batteries.tasks import TASKS
from batteries.tasks.blackbox_play import BlackboxPlay
from experiment.load_study import load_study
from experiment.study.definition import Study
from server.app import create_app
from server.store import SqliteStore, Store
from tests.guess_number import GuessNumber
from tests.server.conftest import SECRETS, Participant
from tests.server.participants.test_signals import NO_LIMITS
from tests.server.stores import problems, version_of
from tests.timed_study import choice, make_timed_study

BOARD = {"size": 4, "n_atoms": 2, "n_rays": 8}
CELLS = [[row, column] for row in range(1, 5) for column in range(1, 5)]


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    for task in (GuessNumber(), BlackboxPlay()):
        monkeypatch.setitem(TASKS, task.name, task)


def number_item(item_id: str, number: int, **content: Any) -> dict[str, Any]:
    return {"item_id": item_id, "task": "guess_number", "factors": {"topic": "test"}, "content": content, "key": number}


def board_item(item_id: str, atoms: list[list[int]], **content: Any) -> dict[str, Any]:
    whole = BOARD | content
    return {"item_id": item_id, "task": "blackbox_play", "factors": {"topic": "test"}, "content": whole, "key": atoms}


def made(folder: Path, *items: dict[str, Any], **more: Any) -> Study:
    return load_study(make_timed_study(folder, items, **more))


@pytest.fixture
def games(tmp_path: Path) -> Study:
    """A practice trial of one task, and then a test trial."""
    return made(tmp_path / "games", number_item("a", 37), number_item("b", 64), practice=1)


def begun(study: Study, store: Store) -> Participant:
    store.register_study(study)
    participant = Participant(create_app(study, store, SECRETS, NO_LIMITS))
    assert participant.start().status_code == 201
    return participant


def action_of(number: int, action_index: int, trial_index: int = 0, **changes: Any) -> dict[str, Any]:
    action = {"action": "guess", "number": number}
    sent = {"action_id": str(uuid.uuid4()), "trial_index": trial_index, "action_index": action_index, "action": action}
    return sent | changes


def send(participant: Participant, action: dict[str, Any]) -> TestResponse:
    return participant.http.post("/api/action", json={"session": participant.session["session"], "action": action})


def guess(participant: Participant, numbers: Iterable[int], trial_index: int = 0) -> list[Any]:
    replies = [
        send(participant, action_of(number, index, trial_index)).get_json() for index, number in enumerate(numbers)
    ]
    return [(reply["observation"], reply["is_over"]) for reply in replies]


def sentence(reply: TestResponse, status: int) -> str:
    assert reply.status_code == status, reply.text
    return str(reply.get_json()["error"])


def moves_of(store: Store, trial_index: int) -> Any:
    (row,) = [row for row in store.trials() if row["trial_index"] == trial_index]
    return row["response"] and json.loads(row["response"])


def test_a_game_is_played_action_by_action_and_its_moves_are_the_response(games: Study, any_store: Store) -> None:
    participant = begun(games, any_store)
    assert guess(participant, [50, 25, 37]) == [("lower", False), ("higher", False), ("right", True)]
    reply = participant.answer(0, response=3)
    assert reply.status_code == 201
    assert reply.get_json()["responses"][0]["feedback"]["correct"] is True
    assert guess(participant, [1, 2, 3, 4, 5, 6, 7], 1)[-1] == ("higher", True)
    assert participant.answer(1, response=7).get_json()["responses"][0]["feedback"] is None
    assert participant.complete().status_code == 200
    assert moves_of(any_store, 0)[1] == {"action": {"action": "guess", "number": 25}, "observation": "higher"}
    assert len(moves_of(any_store, 1)) == 7
    assert problems(any_store) == []


def test_the_moves_are_scored_in_the_tidy_table(games: Study, sqlite_store: SqliteStore) -> None:
    participant = begun(games, sqlite_store)
    for trial_index, numbers in enumerate([[50, 37], [64]]):
        guess(participant, numbers, trial_index)
        participant.answer(trial_index, response=len(numbers))
    table = read_trials(sqlite_store.path)
    assert table.sort_values("trial_index")["correct"].tolist() == [True, True]


def test_an_action_that_is_sent_again_gets_the_same_observation(games: Study, any_store: Store) -> None:
    participant, action = begun(games, any_store), action_of(50, 0)
    replies = [send(participant, action) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [201, 200, 200]
    assert len({reply.data for reply in replies}) == 1
    send(participant, action_of(25, 1))
    assert send(participant, action).data == replies[0].data
    assert len(any_store.actions(participant.session["session"], 0)) == 2


def test_a_reload_continues_the_game_where_it_was(games: Study, any_store: Store) -> None:
    participant = begun(games, any_store)
    assert participant.session["moves"] == []
    guess(participant, [50, 25])
    session = participant.http.get("/api/session").get_json()
    assert [move["observation"] for move in session["moves"]] == ["lower", "higher"]
    assert send(participant, action_of(37, 2, attempt=2, visit=2)).get_json() == {
        "observation": "right",
        "is_over": True,
    }
    participant.answer(0, response=3)
    assert participant.http.get("/api/session").get_json()["moves"] == []
    assert problems(any_store) == []


def test_a_second_window_gets_no_observation(games: Study, any_store: Store) -> None:
    participant = begun(games, any_store)
    guess(participant, [50])
    assert "another window" in sentence(send(participant, action_of(30, 0)), 409)
    assert len(any_store.actions(participant.session["session"], 0)) == 1


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        (action_of(50, 1), 409, "has not arrived"),
        (action_of(50, 0, 1), 409, "has not arrived"),
        (action_of(50, 0, 99), 422, "no trial 99"),
        (action_of(50, 0, action={"action": "guess"}), 422, "is not an action of this task"),
        (action_of(50, 0, action={"action": "peek", "number": 1}), 422, "is not an action of this task"),
        (action_of(50, 0, action=None), 422, "is not an action of this task"),
        (action_of(50, 0, action_id="x"), 422, "action_id"),
        (action_of(50, 0, score=1), 422, "score"),
    ],
)
def test_an_impossible_action_is_refused_and_not_stored(
    games: Study, any_store: Store, action: dict[str, Any], status: int, words: str
) -> None:
    participant = begun(games, any_store)
    assert words in sentence(send(participant, action), status)
    assert any_store.actions(participant.session["session"], action["trial_index"]) == []


def test_a_trial_without_actions_has_no_actions(tmp_path: Path, any_store: Store) -> None:
    participant = begun(made(tmp_path / "study", choice("a")), any_store)
    assert "`multiple_choice`" in sentence(send(participant, action_of(50, 0)), 422)


def test_a_game_that_is_over_accepts_no_action(games: Study, any_store: Store) -> None:
    participant = begun(games, any_store)
    guess(participant, [37])
    assert "answered already" in sentence(send(participant, action_of(50, 1)), 409)
    participant.answer(0, response=1)
    assert "answered already" in sentence(send(participant, action_of(50, 1)), 409)
    participant.withdraw()
    assert send(participant, action_of(50, 0, 1)).status_code == 409
    assert any_store.actions(participant.session["session"], 0) == []


@pytest.mark.parametrize(
    ("numbers", "response", "words"),
    [
        ([50], 1, "not over"),
        ([50, 37], 1, "has 2 stored actions"),
        ([37], True, "has 1 stored actions"),
        ([37], [{"action": {"action": "guess", "number": 37}, "observation": "right"}], "has 1 stored actions"),
        ([], 0, "not over"),
    ],
)
def test_a_response_that_is_not_the_finished_game_is_refused(
    games: Study, any_store: Store, numbers: list[int], response: Any, words: str
) -> None:
    participant = begun(games, any_store)
    guess(participant, numbers)
    assert words in sentence(participant.answer(0, response=response), 422)
    assert moves_of(any_store, 0) is None


def test_no_game_has_more_actions_than_the_limit_but_it_can_be_ended(
    tmp_path: Path, sqlite_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.participants.interactive_trials.MOST_ACTIONS", 3)
    participant = begun(made(tmp_path / "study", number_item("a", 37)), sqlite_store)
    guess(participant, [1, 2, 3])
    assert "Fix: end the trial" in sentence(send(participant, action_of(4, 3)), 422)
    assert send(participant, action_of(37, 3)).get_json()["is_over"]


# What a participant can learn.


BOARDS = [list(map(list, cells)) for cells in combinations([tuple(cell) for cell in CELLS], 2)][::5]
PORTS = [str(port) for port in all_ports(4)]


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Iterable[SqliteStore]:
    store = SqliteStore(tmp_path_factory.mktemp("one") / "store.db")
    yield store
    store.close()


@pytest.fixture
def apps(tmp_path: Path, one_store: SqliteStore) -> dict[int, Flask]:
    return {}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_replies_differ_only_if_the_observations_differ(
    tmp_path_factory: pytest.TempPathFactory, one_store: SqliteStore, apps: dict[int, Flask], data: st.DataObject
) -> None:
    """Two boards that agree on the rays of a game give replies that are equal byte for byte, also after a reload."""
    one = data.draw(st.sampled_from(BOARDS))
    rays = data.draw(st.lists(st.sampled_from(PORTS), max_size=6))
    seen = [trace(frozenset(map(tuple, one)), Port.parse(port), 4).outcome for port in rays]  # type: ignore[arg-type]
    alike = [
        board
        for board in BOARDS
        if [trace(frozenset(map(tuple, board)), Port.parse(port), 4).outcome for port in rays] == seen  # type: ignore[arg-type]
    ]
    other = data.draw(st.sampled_from(alike))
    marks = data.draw(st.lists(st.sampled_from(CELLS), max_size=4))
    actions: list[Any] = [{"action": "fire", "port": port} for port in rays]
    actions += [{"action": "mark", "cell": cell} for cell in marks]
    actions = data.draw(st.permutations(actions))
    if data.draw(st.booleans()):
        actions.append({"action": "guess", "cells": data.draw(st.sampled_from(BOARDS))})
    replies = []
    for board in (one, other):
        number = BOARDS.index(board)
        if number not in apps:
            folder = make_timed_study(tmp_path_factory.mktemp("board") / "study", [board_item("board", board)])
            study = version_of(load_study(folder), f"board {number}")
            one_store.register_study(study)
            apps[number] = create_app(study, one_store, SECRETS, NO_LIMITS)
        participant = Participant(apps[number])
        assert participant.start().status_code == 201
        sent = [send(participant, action_of(0, index, action=action)) for index, action in enumerate(actions)]
        sent.append(participant.http.get("/api/session"))
        name = participant.session["session"]
        replies.append([(reply.status_code, reply.text.replace(name, ""), _headers(reply)) for reply in sent])
    assert replies[0] == replies[1]


def _headers(reply: TestResponse) -> list[tuple[str, str]]:
    return [(name, value) for name, value in reply.headers if name != "Date"]
