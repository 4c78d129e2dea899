import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import FLOW_COLUMNS, apply_exclusions
from analysis.figures import exclusion_flow
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.figures.layout import texts

STEPS = [
    ("withdrawn", "session withdrawn", 1, 24), ("not_completed", "session not completed", 0, 0),
    ("median_rt", "median response time under 20,000 ms", 3, 72),
    ("trial_rt", "trial's response time under 5,000 ms", 0, 89), ("unanswered", "test trial without a response", 0, 0),
]  # fmt: skip


def flow(steps=STEPS, participants=54, trials=1296, kind="human"):
    rows = []
    for step, criterion, n_participants, n_trials in steps:
        participants, trials = participants - n_participants, trials - n_trials
        rows.append((kind, step, criterion, n_participants, n_trials, participants, trials))
    rows.append((kind, "included", "in the analysis", participants, trials, participants, trials))
    return pd.DataFrame(rows, columns=FLOW_COLUMNS)


def spaced(drawing):
    return [text.replace("\u00a0", " ") for text in texts(drawing)]


def test_boxes_run_from_recruitment_to_the_analysis(readable):
    words = spaced(readable(exclusion_flow(flow(), "human", "a")))
    for expected in ("Recruited", "54 participants", "1,296 test trials", "Withdrawn", "session withdrawn",
                     "53 participants", "Median RT", "Trial RT", "In the analysis", "50 participants",
                     "1,111 test trials"):  # fmt: skip
        assert expected in words, expected
    assert words.index("Recruited") < words.index("In the analysis")


def test_steps_without_exclusions_are_in_small_print_and_not_in_a_box(readable):
    words = spaced(readable(exclusion_flow(flow(), "human", "a")))
    assert "Not completed" not in words
    assert "Steps that excluded nobody: not completed (session not completed)" in " ".join(words)


def test_the_description_names_every_step(readable):
    description = readable(exclusion_flow(flow(), "human", "a")).description.replace("\u00a0", " ")
    assert "Recruited: 54 participants, 1,296 test trials." in description
    assert "median RT (median response time under 20,000 ms): 3 participants, 72 test trials excluded" in description
    assert "In the analysis: 50 participants, 1,111 test trials." in description


COUNTS = ["n_participants", "n_trials"]
LEFT = ["participants_left", "trials_left"]


@pytest.mark.parametrize(
    ("row", "column"),
    [*((row, column) for row in (1, 2) for column in COUNTS + LEFT), *((5, column) for column in COUNTS)],
)
def test_numbers_that_do_not_add_up_are_refused(row, column):
    wrong = flow()
    wrong.loc[row, column] += 1
    with pytest.raises(RuntimeError, match="does not add up"):
        exclusion_flow(wrong, "human", "a")


def test_a_flow_without_its_last_row_is_refused():
    with pytest.raises(RuntimeError, match="does not add up"):
        exclusion_flow(flow().iloc[:-1], "human", "a")


def test_without_recruited_participants_there_is_no_figure_and_kinds_are_separate(readable):
    assert exclusion_flow(flow(), "model", "a") is None
    both = pd.concat([flow(), flow(STEPS[:1], 2, 48, "model")])
    words = spaced(readable(exclusion_flow(both, "model", "a")))
    assert "2 runs" in words
    assert "54 participants" not in words


def test_many_steps_with_long_words_can_be_read(readable):
    long = "participants who did something unusual for longer than they were told in the instructions " * 3
    steps = [(f"a_very_long_name_of_a_rule_{index}", long, index % 2, 30 * (index % 2)) for index in range(12)]
    readable(exclusion_flow(flow(steps, 123_456, 2_962_944), "human", "a"))
    readable(exclusion_flow(flow([(f"規則{n}", "參與者的反應時間太短" * 8, 1, 1) for n in range(3)]), "human", "a"))


def test_without_exclusions_there_are_two_boxes(readable):
    drawing = readable(exclusion_flow(flow([(step, rule, 0, 0) for step, rule, *_ in STEPS]), "human", "a"))
    assert "No step excluded anyone." in drawing.description


def test_the_flow_of_a_real_table_is_drawn_for_each_kind(view, session, readable):
    plan = AnalysisPlan(exclusions=[{"rule": "trial_rt", "min_ms": 2000}])
    trials = tidy_trials(view([session(participant=f"P{n}") for n in range(3)], session(kind="model"),
                              session(participant="W", status="withdrawn")))  # fmt: skip
    found = apply_exclusions(trials, plan).flow
    assert "In the analysis" in spaced(readable(exclusion_flow(found, "human", "a")))
    assert "1 run" in spaced(readable(exclusion_flow(found, "model", "a")))
    assert exclusion_flow(found, "simulated", "a") is None
