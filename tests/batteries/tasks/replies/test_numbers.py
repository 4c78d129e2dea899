"""Replies whose answer is a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.tasks.replies.numbers import read


def on_scale(number: float) -> bool:
    return number in range(1, 8)


def anything(_number: float) -> bool:
    return True


@pytest.mark.parametrize(
    ("reply", "rating", "rule"),
    [
        ("5", 5, "first_line"),
        ("**5**\nBecause the story is sad.", 5, "first_line"),
        ("7 (very)", 7, "first_line"),
        ("5 - agree", 5, "first_line"),
        ("5/7", 5, "first_line"),
        ('{"rating": 6, "confidence": 90}', 6, "json"),
        ("<answer>3</answer> On the scale from 1 to 7, it is low.", 3, "answer_tag"),
        (r"So the rating is \boxed{4}.", 4, "boxed"),
        ("I would rate this 5 out of 7.", 5, "statement"),
        ("On a scale from 1 to 7, I'd say 5.", 5, "statement"),
        ("The scale is 1-7. My answer: 4.", 4, "statement"),
        ("It is a 7-point scale.\n\n6", 6, "last_line"),
        ("I'd give it a 6.", 6, "in_sentence"),
        ("<think>Perhaps 4?</think>2", 2, "first_line"),
        ("٥", 5, "first_line"),
    ],
)
def test_one_rating_is_found(reply: str, rating: int, rule: str) -> None:
    found = read(reply, on_scale)
    assert (found.response, found.rule) == (rating, rule)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("<think>4</think>", "only_reasoning"),
        ("That is hard to say.", "no_answer"),
        ("maybe 3 or 4", "several_answers"),
        ("My rating is 3 or 4.", "several_answers"),
        ("I estimate 3 to 5", "several_answers"),
        ("My rating is 3. No, my rating is 5.", "several_answers"),
        ('{"rating": 3} {"rating": 4}', "several_answers"),
        ("9", "out_of_range"),
        ("5.5", "out_of_range"),
        ("-5", "out_of_range"),
    ],
)
def test_a_reply_without_exactly_one_rating_is_invalid(reply: str, reason: str) -> None:
    found = read(reply, on_scale)
    assert (found.response, found.rule) == (None, reason)


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("8,849 m", 8849),
        ("about 8849 metres", 8849),
        ("1,234,567.5", 1234567.5),
        ("4,5", 4.5),
        ("-4.5", -4.5),
        ("+3", 3),
        ("1.5e3", 1500),
        ("12 %", 12),
        ("Between 100 and 200, I estimate 150.", 150),
    ],
)
def test_an_estimate_keeps_its_sign_decimals_and_thousands(reply: str, number: float) -> None:
    assert read(reply, anything).response == number


@given(st.integers(-10_000_000, 10_000_000) | st.decimals(-1000, 1000, places=3).map(float))
def test_every_number_alone_is_read_unchanged(number: float) -> None:
    assert read(str(number), anything).response == number


@given(st.text())
def test_any_text_is_accepted(reply: str) -> None:
    found = read(reply, on_scale)
    assert found.is_valid == (found.response is not None)
    assert found.response is None or on_scale(float(str(found.response)))
