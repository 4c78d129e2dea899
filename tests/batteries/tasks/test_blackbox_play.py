"""Games of `blackbox_play`: the rules of the published study, scores, and moves against the rules."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.blackbox import Port, all_ports, trace
from batteries.errors import InputError
from batteries.tasks.blackbox_play import BlackboxPlay
from batteries.tasks.interactive import MOST_ACTIONS

TASK = BlackboxPlay()
ATOMS: Any = [[2, 3], [3, 6], [6, 2], [7, 7]]
CONTENT = TASK.checked_content({}, ATOMS)
SIZES = [3, 4, 8]


def fire(port: str) -> Any:
    return {"action": "fire", "port": port}


def play(*actions: Any, content: Any = None, key: Any = None) -> list[Any]:
    whole = TASK.checked_content(content or {}, key or ATOMS)
    return [move["observation"] for move in TASK.moves(whole, key or ATOMS, actions)]


def state_after(*actions: Any, **content: Any) -> Any:
    return TASK.state_after(TASK.checked_content(content, ATOMS), ATOMS, actions)


GUESS: Any = {"action": "guess", "cells": ATOMS}


@st.composite
def boards(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    size = draw(st.sampled_from(SIZES))
    n_atoms = draw(st.integers(1, 4))
    cells: Any = [[row, column] for row in range(1, size + 1) for column in range(1, size + 1)]
    content: Any = {"size": size, "n_atoms": n_atoms, "n_rays": draw(st.integers(1, 4 * size))}
    return TASK.checked_content(content, cells[:n_atoms]), draw(
        st.lists(st.sampled_from(cells), min_size=n_atoms, max_size=n_atoms, unique_by=tuple)
    )


@given(boards(), st.data())
def test_every_ray_has_the_outcome_of_the_rules_and_used_ports_are_refused(
    board: tuple[dict[str, Any], Any], data: st.DataObject
) -> None:
    content, atoms = board
    ports = data.draw(st.lists(st.sampled_from([str(port) for port in all_ports(content["size"])]), max_size=30))
    seen = [move["observation"] for move in TASK.moves(content, atoms, map(fire, ports))]
    used: set[str] = set()
    n_rays = points = 0
    for port, observation in zip(ports, seen, strict=True):
        outcome = trace(frozenset(map(tuple, atoms)), Port.parse(port, content["size"]), content["size"]).outcome
        if n_rays == content["n_rays"]:
            assert observation == {"refused": "no_rays_left"}
        elif port in used:
            assert observation == {"refused": "port_used"}
        else:
            assert observation == {"outcome": outcome}
            used |= {port, *({outcome} if "-" in outcome else ())}
            n_rays, points = n_rays + 1, points + 1 + ("-" in outcome)
    state = TASK.state_after(content, atoms, map(fire, ports))
    assert state.points == points + 5 * len(atoms)
    assert state.n_refused == len(ports) - n_rays


@given(boards(), st.data())
def test_a_game_is_a_pure_function_of_its_actions(board: tuple[dict[str, Any], Any], data: st.DataObject) -> None:
    content, atoms = board
    cells = [[row, column] for row in range(1, content["size"] + 1) for column in range(1, content["size"] + 1)]
    ports = [str(port) for port in all_ports(content["size"])]
    action = st.one_of(
        st.sampled_from(ports).map(fire),
        st.builds(
            lambda kind, cell: {"action": kind, "cell": cell},
            st.sampled_from(["mark", "unmark"]),
            st.sampled_from(cells),
        ),
    )
    actions = data.draw(st.lists(action, max_size=15))
    guess = data.draw(st.lists(st.sampled_from(cells), min_size=len(atoms), max_size=len(atoms), unique_by=tuple))
    actions.append({"action": "guess", "cells": guess})
    moves = TASK.moves(content, atoms, actions)
    assert moves == TASK.moves(content, atoms, json.loads(json.dumps(actions)))
    assert TASK.disagreements(content, atoms, moves) == []
    TASK.check_response(content, moves)
    assert TASK.is_over(TASK.state_after(content, atoms, actions))
    found = len(set(map(tuple, guess)) & set(map(tuple, atoms)))
    score = TASK.score(content, atoms, moves)
    assert (score.correct, score.score) == (found == len(atoms), found / len(atoms))
    # An observation never depends on later actions.
    for prefix in range(len(actions)):
        assert TASK.moves(content, atoms, actions[:prefix]) == moves[:prefix]


def test_the_score_is_that_of_the_published_study() -> None:
    state = state_after(
        fire("north-1"), fire("west-2"), fire("north-1"), {"action": "guess", "cells": [*ATOMS[:3], [1, 1]]}
    )
    n_exits = sum("-" in ray.outcome for ray in state.rays)
    assert state.points == 2 + n_exits + 5
    assert state.n_refused == 1


def test_marks_are_free_and_their_mistakes_are_refused() -> None:
    mark, unmark = ({"action": kind, "cell": [4, 4]} for kind in ("mark", "unmark"))
    assert play(unmark, mark, mark, unmark, mark) == [
        {"refused": "not_marked"}, {}, {"refused": "marked_already"}, {}, {},
    ]  # fmt: skip
    state = state_after(mark, unmark, mark, mark)
    assert (state.marks, state.points, state.n_refused) == ({(4, 4)}, 5 * len(ATOMS), 1)


def test_a_guess_tells_nothing_unless_the_study_shows_the_solution() -> None:
    assert play(fire("north-3"), GUESS)[-1] == {}
    solution = play(fire("north-3"), GUESS, content={"show_solution": True})[-1]
    assert solution["atoms"] == ATOMS
    assert solution["rays"] == [{"port": "north-3", "outcome": "absorbed", "path": [[1, 3], [2, 3]]}]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (fire("north-9"), "is not a port"),
        (fire("up-1"), "is not a port"),
        ({"action": "fire"}, "is not an action"),
        ({"action": "fire", "port": 3}, "is not an action"),
        ({"action": "mark", "cell": [0, 1]}, "[0, 1] is not a cell"),
        ({"action": "mark", "cell": [1, 9]}, "is not a cell"),
        ({"action": "mark", "cell": [1, 2, 3]}, "is not an action"),
        ({"action": "mark", "cell": [True, 1]}, "is not"),
        ({"action": "guess", "cells": ATOMS[:3]}, "must be 4 cells"),
        ({"action": "guess", "cells": [*ATOMS[:3], ATOMS[0]]}, "names a cell twice"),
        ({"action": "guess", "cells": [*ATOMS[:3], [9, 9]]}, "is not a cell"),
        ({"action": "solve"}, "is not an action"),
        ("fire", "is not an action"),
        (None, "is not an action"),
    ],
)
def test_something_that_is_not_an_action_gets_one_sentence(action: Any, words: str) -> None:
    with pytest.raises(InputError) as error:
        play(action)
    assert words in str(error.value)
    assert "Fix: " in str(error.value)


def test_an_item_without_marks_refuses_marks() -> None:
    with pytest.raises(InputError, match="this item has no marks"):
        play({"action": "mark", "cell": [1, 1]}, content={"allow_marks": False})


def test_nothing_follows_the_guess() -> None:
    with pytest.raises(InputError, match="follows the end"):
        play(GUESS, fire("north-1"))


@pytest.mark.parametrize(
    ("content", "key", "words"),
    [
        ({}, ATOMS[:3], "must be 4 cells"),
        ({}, [*ATOMS[:3], [9, 1]], "is not a cell"),
        ({}, None, "has a right answer"),
        ({"n_rays": 40, "size": 4}, ATOMS, "40"),
        ({"size": 2}, ATOMS, "greater than or equal to 3"),
    ],
)
def test_a_board_that_cannot_be_played_is_refused(content: Any, key: Any, words: str) -> None:
    with pytest.raises((InputError, ValueError)) as error:
        TASK.checked_content(content, key)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "response", [None, {}, [1], [{"action": fire("north-1")}], [{"action": "x", "observation": {}}]]
)
def test_a_response_of_another_form_is_refused(response: Any) -> None:
    with pytest.raises(InputError):
        TASK.check_response(CONTENT, response)


def test_a_response_with_too_many_moves_is_refused() -> None:
    move: Any = {"action": {"action": "mark", "cell": [1, 1]}, "observation": {}}
    TASK.check_response(CONTENT, [move] * MOST_ACTIONS)
    with pytest.raises(InputError, match="at most 1,000"):
        TASK.check_response(CONTENT, [move] * (MOST_ACTIONS + 1))


def test_observations_that_contradict_the_rules_are_named() -> None:
    moves = TASK.moves(CONTENT, ATOMS, [fire("north-3"), fire("east-5"), GUESS])
    moves[1] = {**moves[1], "observation": {"outcome": "reflected"}}
    assert TASK.disagreements(CONTENT, ATOMS, moves) == [1]


def test_on_a_small_board_equal_observations_give_equal_moves_for_all_pairs_of_boards() -> None:
    content = TASK.checked_content({"size": 3, "n_atoms": 2, "n_rays": 12}, [[1, 1], [1, 2]])
    cells: Any = [[row, column] for row in range(1, 4) for column in range(1, 4)]
    actions = [fire(str(port)) for port in all_ports(3)] + [{"action": "guess", "cells": [[1, 1], [3, 3]]}]
    by_outcomes: dict[str, Any] = {}
    for pair in combinations(cells, 2):
        moves = TASK.moves(content, list(pair), actions)
        outcomes = json.dumps([trace(frozenset(map(tuple, pair)), port, 3).outcome for port in all_ports(3)])
        assert by_outcomes.setdefault(outcomes, moves) == moves
    assert len(by_outcomes) < 36
