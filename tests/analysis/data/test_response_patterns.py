"""Patterns of responses: faster than reading, and the same response in a row."""

import json
from itertools import groupby

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.data.columns import PATTERNS
from analysis.data.response_patterns import FASTEST_CHOICE_MS, FASTEST_MS_PER_WORD, patterns
from analysis.data.tidy_table import tidy_trials
from analysis.provenance.record import data_digest

TEXT = {"text": "one two three", "prompt": "four five?", "options": ["six", "seven eight"]}
BOARD = {"size": 8, "atoms": [[3, 3], [3, 5]], "entry": "north-4"}


def of_text(row, rt_ms, **changes):
    return row(content=TEXT, rt_ms=rt_ms, **changes)


def fast(table):
    return table["implausibly_fast"].tolist()


def runs(table):
    return [None if pd.isna(length) else int(length) for length in table["same_response_run"]]


# Too fast


def test_the_bound_is_that_of_the_documentation():
    assert (FASTEST_CHOICE_MS, FASTEST_MS_PER_WORD) == (200, 60)


@pytest.mark.parametrize(
    ("rt_ms", "is_fast"), [(0.0, True), (679.9, True), (680.0, False), (680.1, False), (6e4, False)]
)
def test_a_response_within_the_time_for_its_words_is_implausibly_fast(view, row, rt_ms, is_fast):
    """Eight words in text, question and options: 200 ms and eight times 60 ms."""
    assert fast(tidy_trials(view(of_text(row, rt_ms)))) == [is_fast]


def test_more_words_take_longer(view, row):
    longer = TEXT | {"text": " ".join(["word"] * 100)}
    rows = [of_text(row, 700.0), row(content=longer, rt_ms=700.0, trial_index=1, item_id="i2")]
    assert fast(tidy_trials(view(rows))) == [False, True]


def test_without_words_to_read_only_anticipations_are_too_fast(view, row):
    rays = [
        row(
            task="blackbox_predict",
            content=BOARD,
            key="reflected",
            response="reflected",
            rt_ms=rt_ms,
            trial_index=index,
        )
        for index, rt_ms in enumerate([150.0, 199.0, 201.0, 5000.0])
    ]
    assert fast(tidy_trials(view(rays)))[::3] == [True, False]


def test_the_flag_is_missing_without_a_response_time_and_for_models(view, row):
    table = tidy_trials(view(of_text(row, None), row(kind="model", run="M", content=TEXT, rt_ms=1.0, trial_index=1)))
    assert table["implausibly_fast"].isna().all()
    assert runs(table)[1] is None


def test_simulated_participants_practice_and_checks_are_flagged_too(view, row):
    rows = [
        of_text(row, 10.0, kind="simulated", participant="S1"),
        of_text(row, 10.0, phase="practice", trial_index=1),
        of_text(row, 10.0, phase="attention_check", trial_index=2),
    ]
    assert fast(tidy_trials(view(rows))) == [True] * 3


def test_a_missing_response_without_a_time_is_not_fast(view, row):
    table = tidy_trials(view(of_text(row, None, response=None, missing="deadline")))
    assert table["implausibly_fast"].isna().all()


# The same in a row


def answers(row, *given, **changes):
    return [
        row(trial_index=index, item_id=f"i{index}", response=response, **changes)
        for index, response in enumerate(given)
    ]


def test_the_length_of_a_run_increases_and_restarts_at_one(view, row):
    assert runs(tidy_trials(view(answers(row, 1, 1, 2, 2, 2, 1)))) == [1, 2, 1, 2, 3, 1]


def test_runs_follow_the_order_of_trials_and_not_of_rows(view, row):
    given = answers(row, 1, 1, 1, 2)
    table = tidy_trials(view(given[::-1]))
    assert runs(table) == [1, 3, 2, 1]


def test_a_run_ends_with_the_session(view, row):
    first, second = answers(row, 1, 1, participant="A"), answers(row, 1, 1, participant="B")
    assert runs(tidy_trials(view(first, second))) == [1, 2, 1, 2]
    of_one = answers(row, 1, 1, session="s1"), answers(row, 1, 1, session="s2", status="active", completed_at=None)
    assert runs(tidy_trials(view(*of_one))) == [1, 2, 1, 2]
    mixed = [rows for pair in zip(first, second, strict=True) for rows in pair]
    assert runs(tidy_trials(view(mixed))) == [1, 1, 2, 2]


def test_practice_is_left_out_and_does_not_end_a_run(view, row):
    practice = answers(row, 1, 1, phase="practice")
    test = [row(trial_index=index, item_id=f"t{index}", response=1) for index in (2, 3)]
    assert runs(tidy_trials(view(practice, test))) == [None, None, 1, 2]


def test_a_response_to_an_attention_check_counts_in_a_run(view, row):
    rows = answers(row, 1, 1, 1)
    rows[1] |= {"phase": "attention_check"}
    assert runs(tidy_trials(view(rows))) == [1, 2, 3]


@pytest.mark.parametrize("nothing", [None, "null"])
def test_a_trial_without_a_response_is_not_counted(view, row, nothing):
    rows = answers(row, 1, 2, 2)
    rows[1] |= {"response": nothing, "rt_ms": None, "missing": "deadline" if nothing else None}
    assert runs(tidy_trials(view(rows))) == [1, None, 1]


def test_responses_of_different_types_are_different(view, row):
    rows = answers(row, 1, 1)
    rows[1] |= {"response": json.dumps("1")}
    assert runs(patterns(tidy_with(rows, view))) == [1, 1]


def tidy_with(rows, view):
    """Return the columns that `patterns` needs, for rows that no grader would accept."""
    frame = view(rows)
    return frame.assign(
        response=[json.loads(cell) for cell in frame["response"]],
        content=[json.loads(cell) for cell in frame["content"]],
    )


@pytest.mark.parametrize("response", [[1, 2], {"a": 1, "b": [None]}, "text", 1.5, True])
def test_responses_of_any_form_can_be_a_run(view, row, response):
    rows = answers(row, response, response, 1)
    assert runs(patterns(tidy_with(rows, view))) == [1, 2, 1]


def test_models_have_no_runs_of_equal_responses(view, row):
    rows = answers(row, 1, 1, kind="model", run="M")
    assert runs(tidy_trials(view(rows))) == [None, None]


@given(
    given_answers=st.lists(
        st.tuples(
            st.sampled_from(["A", "B"]),
            st.sampled_from([1, 2, None]),
            st.sampled_from(["test", "test", "practice", "attention_check"]),
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(deadline=None, max_examples=60)
def test_the_length_of_a_run_is_the_number_of_equal_responses_so_far(view, row, given_answers):
    rows = [
        row(participant=who, trial_index=index, item_id=f"i{index}", response=response, phase=phase)
        for index, (who, response, phase) in enumerate(given_answers)
    ]
    found = runs(tidy_trials(view(rows)))
    expected = [None] * len(rows)
    for who in "AB":
        counted = [
            (index, response)
            for index, (participant, response, phase) in enumerate(given_answers)
            if participant == who and phase != "practice" and response is not None
        ]
        for _, same in groupby(counted, key=lambda one: one[1]):
            for length, (index, _) in enumerate(same, start=1):
                expected[index] = length
    assert found == expected


# In the table


def test_the_patterns_are_derived_and_not_part_of_the_digest(view, row):
    table = tidy_trials(view(answers(row, 1, 1, 2)))
    assert set(PATTERNS) <= set(table.columns)
    changed = table.assign(implausibly_fast=True, same_response_run=99)
    assert data_digest(changed) == data_digest(table)


def test_no_participant_is_excluded_for_a_pattern(view, row):
    from analysis.exclusions.flow import apply_exclusions
    from experiment.study.analysis_plan import AnalysisPlan

    table = tidy_trials(view([of_text(row, 1.0, trial_index=index, item_id=f"i{index}") for index in range(8)]))
    assert fast(table) == [True] * 8
    assert runs(table)[-1] == 8
    assert apply_exclusions(table, AnalysisPlan()).trials["excluded_by"].isna().all()


def test_types_are_whole_numbers_and_yes_or_no_that_can_be_missing(view, row):
    table = tidy_trials(view(answers(row, 1, None)))
    assert str(table["implausibly_fast"].dtype) == "boolean"
    assert str(table["same_response_run"].dtype) == "Int32"


def test_words_that_were_read_before_the_onset_do_not_make_a_response_too_fast(row, view):
    screens = [{"parts": [{"text": "word " * 100}], "duration_ms": None}]
    question = {
        "screens": screens,
        "text": "",
        "prompt": "Which words?",
        "most_entries": 9,
        "ordered": False,
        "typos": 0,
    }
    keys = {"text": "", "prompt": "Is this an English word?", "keys": {"f": "word", "j": "not a word"},
            "stimulus": [{"text": "flinder"}], "stimulus_ms": None, "mask_ms": None, "window_ms": None,
            "withhold": False}  # fmt: skip
    rows = view(
        row(task="recall", content=question, key=["word"], response=["word"], rt_ms=900, item_id="a", trial_index=0),
        row(task="keypress", content=keys, key="word", response="word", rt_ms=420, item_id="b", trial_index=1),
        row(task="keypress", content=keys, key="word", response="word", rt_ms=90, item_id="b", trial_index=2),
    )
    assert tidy_trials(rows)["implausibly_fast"].tolist() == [False, False, True]
