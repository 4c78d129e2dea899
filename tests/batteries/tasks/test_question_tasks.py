"""Ratings, numbers and free texts: what is a possible response, what is right, and what is a mistake in an item."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.tasks import task_named
from batteries.tasks.free_text import comparable
from batteries.tasks.rating import points_of

SCALE: dict[str, Any] = {"prompt": "How glad?", "low": 0, "high": 1, "step": 0.1, "labels": ["not", "very"]}
HEIGHT: dict[str, Any] = {"prompt": "How high?", "low": 0, "high": 20_000, "unit": "m"}
CAPITAL: dict[str, Any] = {"prompt": "Which city?", "most_characters": 20}


def checked(task: str, content: dict[str, Any], key: Any) -> dict[str, Any]:
    return task_named(task).checked_content(content, key)


def test_the_points_of_a_scale_have_no_rounding_errors() -> None:
    assert points_of(0, 1, 0.1) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert [str(point) for point in points_of(-1, 1, 1)] == ["-1", "0", "1"]


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"high": 0}, "not greater than `low`"),
        ({"step": 0.3}, "not a whole number of steps"),
        ({"step": 0.0001}, "more than 1,001 points"),
        ({"step": 0.05}, "at most 11 fit as buttons"),
        ({"labels": ["not", "a little", "very"]}, "has 3 texts, and the scale has 11 points"),
        ({"low": float("inf")}, "finite"),
    ],
)
def test_a_scale_that_cannot_be_shown_is_refused(change: dict[str, Any], mistake: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=mistake):
        checked("rating", SCALE | change, 1)


def test_a_rating_is_right_only_at_its_key_and_is_its_own_value() -> None:
    content = checked("rating", SCALE, 0.3)
    rating = task_named("rating")
    assert [rating.score(content, 0.3, point).correct for point in (0.2, 0.3, 0.4)] == [False, True, False]
    assert rating.chance(content) == 1 / 11
    for refused in (0.35, -0.1, 1.1, True, "0.3", None):
        with pytest.raises(InputError, match=r"a point of the scale from 0 to 1 in steps of 0\.1"):
            rating.check_response(content, refused)


@pytest.mark.parametrize(
    ("key", "response", "right"),
    [
        (8849, 8849, True), (8849, 8849.0, True), (8849, 8848, False),
        ({"value": 8849, "tolerance": 50}, 8799, True), ({"value": 8849, "tolerance": 50}, 8899, True),
        ({"value": 8849, "tolerance": 50}, 8798, False), ({"value": 8849, "tolerance": 50}, 8900, False),
    ],
)  # fmt: skip
def test_a_number_is_right_within_its_tolerance(key: Any, response: float, right: bool) -> None:
    content = checked("number", HEIGHT, key)
    assert task_named("number").score(content, key, response).correct is right


def test_a_tolerance_is_exact_for_decimal_numbers() -> None:
    content = checked("number", {"prompt": "?", "low": 0, "high": 1, "decimals": 1}, {"value": 0.3, "tolerance": 0.1})
    assert task_named("number").score(content, {"value": 0.3, "tolerance": 0.1}, 0.2).correct  # 0.3 - 0.2 > 0.1


@pytest.mark.parametrize(
    "key", [{"value": 1}, {"value": 1, "tolerance": -1}, {"tolerance": 1}, -1, 20_001, "8849", [1]]
)
def test_a_key_without_a_number_or_its_tolerance_is_refused(key: Any) -> None:
    with pytest.raises(InputError, match=r"the (answer )?key .* Fix: "):
        checked("number", HEIGHT, key)


@pytest.mark.parametrize("response", [8849.5, -1, 20_001, "8849", True, None, float("nan"), float("inf")])
def test_an_impossible_number_is_refused(response: Any) -> None:
    with pytest.raises(InputError, match="a number from 0 to 20000 with at most 0 decimals"):
        task_named("number").check_response(checked("number", HEIGHT, 1), response)


@pytest.mark.parametrize("text", ["Paris", " paris. ", "PARIS!", "Ｐａｒｉｓ", "“Paris”"])
def test_a_text_is_right_without_regard_to_case_spaces_and_punctuation(text: str) -> None:
    content = checked("free_text", CAPITAL, ["Paris", "Lutetia"])
    assert task_named("free_text").score(content, ["Paris", "Lutetia"], text).correct


@pytest.mark.parametrize("text", ["Pari", "Paris is the capital", "Pa ris", "London"])
def test_another_text_is_wrong(text: str) -> None:
    assert not task_named("free_text").score(checked("free_text", CAPITAL, ["Paris"]), ["Paris"], text).correct


def test_accents_matter_but_not_how_they_are_stored() -> None:
    assert comparable("Malmo\u0308") == comparable("Malmö") != comparable("Malmo")


@pytest.mark.parametrize("key", [[], "Paris", ["..."], [""], ["a" * 21], [1], {"Paris": 1}])
def test_a_key_without_possible_texts_is_refused(key: Any) -> None:
    with pytest.raises(InputError, match="Fix: "):
        checked("free_text", CAPITAL, key)


@pytest.mark.parametrize("response", ["", "  \n", "a" * 21, "😀" * 11, 1, None, ["Paris"]])
def test_an_empty_or_too_long_text_is_refused(response: Any) -> None:
    """The length is that of a browser, which counts an emoji as two characters."""
    content = checked("free_text", CAPITAL, ["Paris"])
    task_named("free_text").check_response(content, "😀" * 10)
    with pytest.raises(InputError, match="Fix: "):
        task_named("free_text").check_response(content, response)


ORDER: dict[str, Any] = {"prompt": "Which first?", "options": ["ant", "bee", "cat"]}


@pytest.mark.parametrize(
    ("response", "credit"),
    [([3, 1, 2], 1), ([1, 3, 2], 2 / 3), ([3, 2, 1], 2 / 3), ([1, 2, 3], 1 / 3), ([2, 1, 3], 0)],
)
def test_the_credit_of_a_ranking_is_the_share_of_pairs_in_order(response: list[int], credit: float) -> None:
    content = checked("ranking", ORDER, [3, 1, 2])
    score = task_named("ranking").score(content, [3, 1, 2], response)
    assert score.correct is (credit == 1)
    assert score.score == pytest.approx(credit)
    assert task_named("ranking").chance(content) == 1 / 6


@pytest.mark.parametrize(
    "response", [[1, 2], [1, 2, 2], [1, 2, 3, 4], [0, 1, 2], ["1", 2, 3], [1.0, 2, 3], 1, None, "1,2,3"]
)
def test_a_ranking_has_every_option_once(response: Any) -> None:
    with pytest.raises(InputError, match="each number from 1 to 3 once"):
        task_named("ranking").check_response(checked("ranking", ORDER, None), response)


@pytest.mark.parametrize(
    ("reply", "order", "rule"),
    [
        ("3, 1, 2", [3, 1, 2], "first_line"), ("My order: 3 > 1 > 2.", [3, 1, 2], "first_line"),
        ("[3, 1, 2]", [3, 1, 2], "json"), ('{"ranking": [3, 1, 2]}', [3, 1, 2], "json"),
        ('["cat", "ant", "bee"]', [3, 1, 2], "json"),
        ("<answer>3,1,2</answer>", [3, 1, 2], "answer_tag"),
        ("1. cat\n2. ant\n3. Bee.", [3, 1, 2], "other_words"),
        ("Cats are large, so:\n\n3, 1, 2", [3, 1, 2], "last_line"),
        ("3, 1", None, "out_of_range"), ("3, 1, 1", None, "out_of_range"),
        ("3, 1, 2\n1, 2, 3", None, "several_answers"),
        ("I like cats.", None, "no_answer"), ("", None, "empty"),
    ],
)  # fmt: skip
def test_a_ranking_is_read_from_a_reply(reply: str, order: list[int] | None, rule: str) -> None:
    found = task_named("ranking").read_reply(checked("ranking", ORDER, None), reply)
    assert (found.response, found.rule) == (order, rule)


@pytest.mark.parametrize(
    ("task", "content", "key"),
    [
        ("ranking", ORDER, [3, 1, 2]),
        ("rating", SCALE, 1),
        ("number", HEIGHT | {"low": -3, "high": 3.5, "decimals": 2}, 1),
        ("free_text", CAPITAL, ["a"]),
    ],
)
@given(seed=st.integers(0, 10_000))
def test_drawn_responses_are_possible_and_right_or_wrong_as_asked(
    task: str, content: dict[str, Any], key: Any, seed: int
) -> None:
    whole = checked(task, content, key)
    asked, rng = task_named(task), random.Random(seed)
    asked.check_response(whole, asked.draw(whole, rng))
    wrong = asked.draw_wrong(whole, key, rng)
    asked.check_response(whole, wrong)
    assert not asked.score(whole, key, wrong).correct
    assert asked.score(whole, key, asked.right_response(whole, key)).correct
