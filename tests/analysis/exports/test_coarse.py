"""Coarse data: free texts and exact answers about participants do not leave the store, and scores stay the same."""

import json
from typing import Any

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exports.coarse import GIVEN, RARE, band, coarse_answers, coarse_sessions, without_free_texts

SURVEY = {
    "plugin": "survey-text",
    "parameters": {},
    "answers": [{"response": {"city": "Paris"}}, {"response": {"city": "Rome"}}],
}


def survey_row(row: Any, index: int, response: Any, **changes: Any) -> Any:
    return row(task="jspsych", content=SURVEY, key=SURVEY["answers"][0], response=response, trial_index=index,
               item_id=f"i{index}", **changes)  # fmt: skip


def answer(city: str, **others: Any) -> dict[str, Any]:
    return {"response": {"city": city}, **others}


def test_a_typed_text_is_replaced_and_a_possible_answer_stays(row: Any, view: Any) -> None:
    rows = view(
        survey_row(row, 0, answer("Paris", rt=812)),
        survey_row(row, 1, answer("My name is Bob", rt=900)),
        survey_row(row, 2, answer("I live in Kiel")),
        survey_row(row, 3, answer("My name is Bob")),
    )
    responses = [json.loads(text) for text in without_free_texts(rows)["response"]]
    assert responses == [
        answer("Paris", rt=812),
        answer("text 1", rt=900),
        answer("text 2"),
        answer("text 1"),
    ]
    before, after = tidy_trials(rows), tidy_trials(without_free_texts(rows))
    for column in ("correct", "score", "same_response_run"):
        pd.testing.assert_series_equal(before[column], after[column])


def test_replies_of_models_and_choices_stay(row: Any, view: Any) -> None:
    rows = view(survey_row(row, 0, "a raw reply", kind="model", valid=0), row(participant="P02", response=2))
    pd.testing.assert_frame_equal(without_free_texts(rows), rows)


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0-9"), (9, "0-9"), (10, "10-19"), (99, "90-99"), (100, "100-199"), (34_500, "30000-39999"), (18.5, "10-19"),
     (-1, "-10 to -1")],
)  # fmt: skip
def test_a_band_keeps_one_digit_and_is_at_least_ten_wide(number: float, words: str) -> None:
    assert band(number) == words


def test_an_answer_of_few_participants_is_not_exported() -> None:
    answers = ["Malta", *["Peru"] * 5, None]
    assert coarse_answers(answers, "abcdefg", is_free_text=False) == [RARE, *["Peru"] * 5, None]
    assert coarse_answers(["I am Bob", None, ""], "abc", is_free_text=True) == [GIVEN, None, GIVEN]
    assert coarse_answers([70, *[24] * 5], "abcdef", is_free_text=False) == [RARE, *["20-29"] * 5]


def test_an_answer_in_five_sessions_of_one_participant_is_not_exported() -> None:
    sessions = [{"participant": "p1", "demographics_country": "Malta"}] * 5
    sessions += [{"participant": f"q{number}", "demographics_country": "Peru"} for number in range(5)]
    coarse = [session["demographics_country"] for session in coarse_sessions(sessions, set())]
    assert coarse == [RARE] * 5 + ["Peru"] * 5


def test_an_answer_to_an_unknown_question_is_treated_as_stated() -> None:
    sessions = [
        {"participant": f"p{number}", "demographics_age": 34, "demographics_job": "nurse in Kiel"}
        for number in range(5)
    ]
    coarse = coarse_sessions(sessions, {"demographics_job"})
    assert coarse[0] == {"participant": "p0", "demographics_age": "30-39", "demographics_job": GIVEN}
    assert sessions[0]["demographics_age"] == 34


FREE = {"prompt": "Which animal barks?", "text": "", "most_characters": 100, "lines": 1}
LIST = {"prompt": "Which words?", "text": "", "most_entries": 10, "ordered": False, "typos": 1}


def test_typed_answers_of_questions_and_lists_are_replaced_and_keep_their_scores(row: Any, view: Any) -> None:
    def one(index: int, task: str, content: Any, key: Any, response: Any, **changes: Any) -> Any:
        return row(task=task, content=content, key=key, response=response, trial_index=index, item_id=f"i{index}",
                   **changes)  # fmt: skip

    rows = view(
        one(0, "free_text", FREE, ["a dog", "dog"], " DOG. "),
        one(1, "free_text", FREE, ["a dog", "dog"], "Call me on 0170 1234"),
        one(2, "free_text", FREE, None, "I am Ines, and I am ill"),
        one(3, "recall", LIST, ["river", ["sofa", "couch"]], ["Couch", "rivre", "my name is Ines"]),
        one(4, "recall", LIST, None, ["bread", "Call me on 0170 1234"]),
        one(5, "free_text", FREE, None, "a reply", kind="model", run="m", model="m", participant="m"),
    )
    coarse = without_free_texts(rows)
    responses = [json.loads(text) for text in coarse["response"]]
    assert responses == ["dog", "text 1", "text 2", ["sofa", "river", "text 3"], ["text 4", "text 1"], "a reply"]
    before, after = tidy_trials(rows), tidy_trials(coarse)
    for column in ("correct", "score"):
        pd.testing.assert_series_equal(before[column], after[column])
