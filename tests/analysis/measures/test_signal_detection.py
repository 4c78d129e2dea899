import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.signal_detection import SIGNAL_COLUMNS, signal_measures
from analysis.statistics.intervals import mover_difference, wilson
from analysis.statistics.participant_intervals import pooled_proportions, proportion_interval
from analysis.statistics.signal_detection_measures import signal_detection
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=2_000)
UNKNOWN = "There is not enough information to know."
ASKED = {"signal": {"question": "metacognition"}, "response": UNKNOWN}


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def content(question, n):
    """Return an item in which the option has another number than in other items."""
    options = [f"{question} {n} is {letter}" for letter in "abc"]
    options.insert(n % 4, UNKNOWN)
    return {"text": "", "prompt": "Which?", "options": options}


def answers(row, hits, false_alarms, n_signal=6, n_noise=8, **who):
    """Return a subject's trials; the first trials of each kind have the response `UNKNOWN`."""
    asked = [("metacognition", n, n < hits) for n in range(n_signal)]
    asked += [("comprehension" if n % 2 else "knowledge", n, n < false_alarms) for n in range(n_noise)]
    rows = []
    for index, (question, n, says_so) in enumerate(asked):
        unknown = n % 4 + 1
        other = (n + 1) % 4 + 1
        rows.append(
            row(
                trial_index=index,
                item_id=f"{question}-{n}",
                content=content(question, n),
                factors={"question": question},
                key=unknown if question == "metacognition" else other,
                response=unknown if says_so else other,
                **who,
            )
        )
    return rows


def test_hits_less_false_alarms_are_counted_by_the_options_text(view, row):
    table = signal_measures(marked(view(answers(row, 5, 2, kind="model", run="M"))), PLAN, **ASKED)
    assert table.columns.tolist() == SIGNAL_COLUMNS
    line = table.iloc[0]
    assert line[["n_signal", "n_noise", "n_items", "n_invalid"]].tolist() == [6, 8, 14, 0]
    assert line["hit_rate"] == pytest.approx(5 / 6)
    assert line["false_alarm_rate"] == pytest.approx(2 / 8)
    assert line["difference"] == pytest.approx(5 / 6 - 2 / 8)
    reference = signal_detection(5, 6, 2, 8)
    assert line["d_prime"] == pytest.approx(reference.d_prime)
    assert line["criterion"] == pytest.approx(reference.criterion)
    assert tuple(line[["hit_rate_ci_low", "hit_rate_ci_high"]]) == pytest.approx(wilson(5, 6))
    expected = mover_difference(5 / 6, wilson(5, 6), 2 / 8, wilson(2, 8))
    assert tuple(line[["difference_ci_low", "difference_ci_high"]]) == pytest.approx(expected)
    assert line["d_prime_ci_high"] - line["d_prime"] == pytest.approx(1.959964 * reference.d_prime_se, rel=1e-6)


def test_people_are_pooled_and_their_intervals_generalize_to_participants(view, row):
    people = [answers(row, 3 + n % 4, n % 3, participant=f"P{n}") for n in range(12)]
    line = signal_measures(marked(view(people)), PLAN, **ASKED).iloc[0]
    hits, false_alarms = np.array([3 + n % 4 for n in range(12)]), np.array([n % 3 for n in range(12)])
    assert line["n_participants"] == 12
    assert line["hit_rate"] == pytest.approx(hits.sum() / 72)
    assert line["d_prime"] == pytest.approx(signal_detection(hits.sum(), 72, false_alarms.sum(), 96).d_prime)
    expected = proportion_interval(hits, np.full(12, 6), 0.95)
    assert tuple(line[["hit_rate_ci_low", "hit_rate_ci_high"]]) == pytest.approx(expected)
    both = pooled_proportions(np.column_stack([hits, false_alarms]), np.tile([6, 8], (12, 1)))
    assert tuple(line[["difference_ci_low", "difference_ci_high"]]) == pytest.approx(both.contrast([1, -1], 0.95))
    for name in ("difference", "d_prime", "criterion"):
        assert line[f"{name}_ci_low"] < line[name] < line[f"{name}_ci_high"]


def test_equal_participants_have_an_interval_with_a_width(view, row):
    people = [answers(row, 6, 0, participant=f"P{n}") for n in range(5)]
    line = signal_measures(marked(view(people)), PLAN, **ASKED).iloc[0]
    assert line["difference"] == 1
    assert line["difference_ci_low"] < 0.8
    assert line["d_prime_ci_low"] < line["d_prime"] < line["d_prime_ci_high"]
    assert line["d_prime"] == pytest.approx(signal_detection(30, 30, 0, 40).d_prime)


def test_noise_can_be_named_and_other_items_are_left_out(view, row):
    trials = marked(view(answers(row, 5, 3, kind="model", run="M")))
    line = signal_measures(trials, PLAN, noise={"question": "knowledge"}, **ASKED).iloc[0]
    assert (line["n_noise"], line["false_alarm_rate"]) == (4, 0.5)
    both = signal_measures(trials, PLAN, noise={"question": ("knowledge", "comprehension")}, **ASKED).iloc[0]
    assert (both["n_noise"], both["false_alarm_rate"]) == (8, 3 / 8)


def test_a_run_is_measured_on_the_items_that_people_answered(view, row):
    people = answers(row, 2, 1, n_signal=4, n_noise=8)
    model = answers(row, 6, 0, n_signal=6, n_noise=6, kind="model", run="M")
    table = signal_measures(marked(view(people, model)), PLAN, **ASKED).set_index("subject")
    assert table.loc["M", ["n_items", "n_items_only_model", "n_items_only_people"]].tolist() == [10, 2, 2]
    assert table.loc["M", "n_signal"] == 4
    assert pd.isna(table.loc["people", "n_items_only_model"])


def test_a_runs_items_have_the_weights_of_peoples_responses(view, row):
    many = [answers(row, 1, 0, n_signal=1, n_noise=2, participant=f"P{n}") for n in range(9)]
    all_items = answers(row, 1, 0, n_signal=2, n_noise=2, participant="all")
    model = answers(row, 1, 0, n_signal=2, n_noise=2, kind="model", run="M")
    line = signal_measures(marked(view(many, all_items, model)), PLAN, **ASKED).set_index("subject").loc["M"]
    assert line["hit_rate"] == pytest.approx(10 / 11)


def test_an_invalid_response_of_a_model_is_not_the_signal_response_and_is_counted(view, row):
    model = answers(row, 6, 0, kind="model", run="M")
    model[0] |= {"response": '"I do not know"', "valid": 0}
    model[1]["response"] = None
    line = signal_measures(marked(view(model)), PLAN, **ASKED).iloc[0]
    assert (line["n_invalid"], line["hit_rate"]) == (2, pytest.approx(4 / 6))


def test_items_that_do_not_offer_the_response_are_left_out_and_counted(view, row):
    extra = row(kind="model", run="M", trial_index=90, item_id="other", factors={"question": "knowledge"})
    board = {"size": 8, "atoms": [[3, 3]], "entry": "north-3"}
    ray = row(kind="model", run="M", trial_index=91, item_id="ray", task="blackbox_predict", content=board,
              key="absorbed", response="absorbed", factors={"question": "knowledge"})  # fmt: skip
    line = signal_measures(marked(view(answers(row, 5, 2, kind="model", run="M"), extra, ray)), PLAN, **ASKED).iloc[0]
    assert (line["n_noise"], line["n_items_without_response"]) == (8, 2)


def test_capitals_spaces_and_full_stops_make_no_difference_and_there_may_be_several_texts(view, row):
    trials = marked(view(answers(row, 5, 2, kind="model", run="M")))
    whole = signal_measures(trials, PLAN, **ASKED)
    for response in ("there is  not enough information to know", ["Man kann es nicht wissen.", UNKNOWN]):
        pd.testing.assert_frame_equal(signal_measures(trials, PLAN, signal=ASKED["signal"], response=response), whole)


def test_a_subject_without_trials_of_one_kind_has_a_reason_instead_of_measures(view, row):
    people = answers(row, 3, 0, n_noise=0)
    table = signal_measures(marked(view(people, answers(row, 3, 1, kind="model", run="M"))), PLAN, **ASKED)
    assert table["reason"].tolist() == ["no trials without signal"] * 2
    assert table["d_prime"].isna().all()
    assert table["n_items_only_model"].tolist()[1] == 8


def test_invalid_arguments_are_named(view, row):
    trials = marked(view(answers(row, 5, 2, kind="model", run="M")))
    for changes, message in (
        ({"signal": {"questions": "metacognition"}}, "no column `questions`"),
        ({"signal": {"question": "meta"}}, "no level meta. Fix: choose one of comprehension, knowledge, metacognition"),
        ({"response": "I do not know"}, "no signal item offers the response “I do not know”"),
        ({"noise": {"question": ("metacognition", "knowledge")}}, "both select the item `metacognition-0`"),
    ):
        with pytest.raises(InputError, match=message):
            signal_measures(trials, PLAN, **{**ASKED, **changes})
