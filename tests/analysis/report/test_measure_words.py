"""A report's words on items, weights, scopes and runs are true for the plan and the data."""

import re
from pathlib import Path
from typing import Any

import pytest

from analysis.report.computation import rule_sentences
from analysis.result import Analysis
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.report.test_report_words import N_ITEMS, report, responses


def plan_of(**changes: Any) -> AnalysisPlan:
    return AnalysisPlan.model_validate({"by": ["condition"], "difficulty": "level", "resamples": 1000} | changes)


def study(view: Any, row: Any) -> Any:
    """Four people, and two models with two runs each. Model M has invalid replies: at i00 twice, at i01 once."""
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 5)]
    runs = [
        responses(row, n_wrong + epoch, kind="model", model=model, model_version=model, run=f"{model}, epoch {epoch}",
                  run_parameters=f'{{"epoch": {epoch}}}')
        for model, n_wrong in (("M", 3), ("N", 1)) for epoch in (1, 2)
    ]  # fmt: skip
    for run, item in ((0, 0), (1, 0), (1, 1)):
        runs[run][item] |= {"response": '"none of these"', "valid": 0}
    people[0] = people[0][1:]  # One person has no response to i00, so items have different weights.
    return view(people, runs)


@pytest.fixture(scope="module")
def of_default(view: Any, row: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, str]:
    return report(study(view, row), tmp_path_factory.mktemp("a") / "out", plan_of())


@pytest.fixture(scope="module")
def of_left_out(view: Any, row: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, str]:
    """The report with invalid replies left out, items and clusters as a random sample, and a comparison."""
    plan = plan_of(invalid="left_out", items="random", item_cluster="level", comparisons={"overall": {}})
    return report(study(view, row), tmp_path_factory.mktemp("b") / "out", plan)


def test_items_with_only_invalid_replies_were_asked_but_have_no_valid_reply(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    analysis, text = of_left_out
    assert analysis.tables["differences_overall"].set_index("model")["n_items"].to_dict() == {"M": 11, "N": 12}
    both = "that participants answered and that have a valid reply of"
    for words in (
        f"Items: items {both} the model.",
        f"All numbers use the items {both} every model.",
        "over the items that have a valid reply of both models. Each item has the same weight",
        f"over the items {both} the model. In the model's accuracy in a difference",
        f"over the shared items: the items {both} the model.",
        "Pairs of models were compared on the items that have a valid reply of both models.",
        f"as one group, over the items {both} every model.",
        "excludes 1 item without a valid reply of the model.",
        "standard deviation of the accuracies of the runs, over the items that have a valid reply of every run.",
    ):
        assert words in text, words
    untrue = r"given to the participants|(model|both|run)s? (was|were) asked(?! (each item at most once|12 test items))"
    assert not re.findall(f".*(?:{untrue}).*", text)
    of_all = of_default[1]
    assert "Items: items that participants answered and that the model was asked." in of_all
    assert "over the items that both models were asked." in of_all
    assert "valid reply of" not in of_all


def test_the_methods_section_says_how_many_items_the_runs_were_asked(
    view: Any, row: Any, tmp_path: Path, of_left_out: tuple[Analysis, str]
) -> None:
    assert "4 model runs were asked 12 test items each: M (2 runs); N (2 runs)." in of_left_out[1]
    short = responses(row, 3, kind="model", run="M", model="M")[: N_ITEMS - 3]
    full = responses(row, 3, kind="model", run="N", model="N")
    text = report(view(responses(row, 2, participant="P"), short, full), tmp_path / "out", AnalysisPlan())[1]
    assert "2 model runs were asked 9 to 12 test items each: M; N." in text
    assert "the same items" not in text.split("\nMethods section\n")[1].split("\n", maxsplit=1)[0]


def test_invalid_replies_are_different_responses_only_if_they_are_in_the_analysis(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    assert "An invalid reply is not the same response as any other reply." in of_default[1]
    assert "An invalid reply is not" not in of_left_out[1]
    assert "Invalid replies are left out." in of_left_out[1]
    for _, text in (of_default, of_left_out):
        assert "A run has one response to each item" not in text
        assert "In a run, the model was asked each item at most once." in text


def test_the_note_on_weights_is_true_for_the_accuracies_of_models(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    """With invalid replies left out, an item with one valid reply of two has half the weight in the accuracy."""
    equal = "In the tables of accuracy of models, all items have equal weights."
    trials = "In the tables of accuracy of models, the weight of an item is the number of the model's trials"
    assert equal in of_default[1]
    assert trials not in of_default[1]
    assert trials in of_left_out[1]
    assert equal not in of_left_out[1]
    of_m = of_left_out[0].tables["accuracy_overall"].set_index("subject").loc["M"]
    assert of_m["accuracy"] == pytest.approx(of_m["n_correct"] / of_m["n_trials"])
    pairs = of_left_out[0].tables["model_differences"]
    assert pairs["accuracy_1"].item() != pytest.approx(of_m["accuracy"]), "equal weights give another accuracy"


def test_each_meaning_of_weights_names_its_table(of_default: tuple[Analysis, str]) -> None:
    text = of_default[1]
    assert not re.findall(r"In (?:a|the) model's accuracy, .*", text)
    assert "In the model's accuracy in this table, the weight of an item is the number of participants'" in text
    assert "In the model's accuracy at the shared items, the weight of an item" in text
    assert "In a model's accuracy in this analysis, the weight of an item" in text


def test_with_random_items_the_report_names_the_intervals_that_do_not_generalize_to_other_items(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    text = of_left_out[1]
    groups = text.split("\nParticipants and models as groups\n")[1].split("\nEvery digit", maxsplit=1)[0]
    assert "No interval of this table generalizes to other items." in groups
    scope = "CIs of participants generalize to other participants with these items."
    difficulty = text.split("\nAccuracy by level of difficulty (")[1].split("\nEvery digit", maxsplit=1)[0]
    assert scope in difficulty.split("Slope of accuracy over difficulty")[0]
    assert "In the CI of a slope difference, the levels of level are a random sample only for the model." in text
    (rule,) = (line for line in text.splitlines() if line.startswith("In the tables of accuracy and of differences"))
    assert (
        "for participants and models as groups, measures beyond accuracy, tables of means and confidence "
        "ratings, no CI of participants generalizes to other levels of level."
    ) in rule
    assert "A test generalizes" not in rule
    assert "the correlation between participants and model over the levels of level." in rule
    assert "right at the same items" not in rule
    assert scope not in of_default[1]
    assert "is computed as the interval of participants is" not in text
    assert "So these intervals treat the participants and the models as random samples, but not the items." in text


def test_with_random_items_the_rules_say_that_a_test_generalizes_to_other_units_of_the_test() -> None:
    """A test with one value per item does generalize to other items, whatever the CIs of participants do."""
    tests = {"it": {"test": "t", "of": "correct", "per": "item_id", "against": "chance"}}
    rules = " ".join(rule_sentences(plan_of(items="random", tests=tests), ["people"]))
    assert (
        "no CI of participants generalizes to other items. A test generalizes to other units of the kind that its n "
        "counts. So tests whose units are participants or runs stay with these items."
    ) in rules
    assert "tests and confidence ratings, no CI" not in rules


def test_intervals_of_accuracy_by_difficulty_do_not_depend_on_the_scope(view: Any, row: Any, tmp_path: Path) -> None:
    """The words above are true: these intervals are the same with fixed and with random items."""
    rows = study(view, row)
    fixed, random = (report(rows, tmp_path / items, plan_of(items=items))[0].tables for items in ("fixed", "random"))
    for name in ("difficulty", "difficulty_trends", "people_and_models", "error_agreement"):
        assert fixed[name].equals(random[name]), name
    assert not fixed["accuracy"].equals(random["accuracy"])


def test_a_difference_has_the_scope_of_its_two_parts() -> None:
    rules = " ".join(rule_sentences(AnalysisPlan(), ["people"]))
    assert "does each for its own part" not in rules
    assert (
        "In the CI of a difference, the participants are a random sample. The items are a random sample only for the "
        "model's accuracy."
    ) in rules


def test_slopes_cite_the_method_that_uses_correlations_between_levels(of_default: tuple[Analysis, str]) -> None:
    text = of_default[1]
    assert "MOVER uses the correlations between the levels (Zou, 2007)." in text
    assert "\nZou, G. Y. (2007). Toward using confidence intervals" in text


def test_the_spread_of_runs_by_chance_is_the_root_of_a_variance(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    """With two runs, the expected SD is .80 of this root (the constant c4 of a normal sample of two)."""
    for _, text in (of_default, of_left_out):
        assert "By chance: square root of the expected variance of these accuracies" in text
        assert "the SD is on average below this value, even if the runs differ only by chance (with 2 runs, by" in text
        assert "expected standard deviation" not in text
        assert "would give" not in text
        assert "The variance between the accuracies of a model's runs was compared with its expected value" in text
        assert "standard deviation between the runs of a model was compared" not in text
    assert re.search(r"\nM: the accuracies of 2 runs have an SD of [\d.]+ points; the variance expected", of_default[1])
    assert (
        "\nM: the accuracies of 2 runs over the items that have a valid reply of every run have an SD of"
        in (of_left_out[1])
    )


def test_accuracy_and_slope_by_difficulty_explain_their_weights_and_items(of_default: tuple[Analysis, str]) -> None:
    text = of_default[1]
    weights = "The weight of an item is the number of participants' responses, so a model's accuracy can differ from"
    assert weights in text.split("\nAccuracy by level of difficulty (")[1].split("\nSlope of accuracy", maxsplit=1)[0]
    assert "The accuracies and CIs are those of the table Accuracy by level of difficulty, with its weights" in text
    slopes = text.split("\nSlope of accuracy over difficulty (")[1].split("\nEvery digit", maxsplit=1)[0]
    assert "Slope: change of accuracy if level grows by 1" in slopes
    assert "Change: accuracy at the last level minus accuracy at the first level." in slopes
    assert "Slope difference: participants' slope at the items of this row, minus the model's slope." in slopes
    assert "can differ from the difference of the two slopes in the table." in slopes


def test_models_alone_have_no_words_about_participants_weights(view: Any, row: Any, tmp_path: Path) -> None:
    models = [responses(row, n, kind="model", run=name, model=name) for n, name in ((2, "M"), (4, "N"))]
    text = report(view(models), tmp_path / "out", plan_of(items="random"))[1]
    notes = text.split("\nAccuracy by level of difficulty (")[1].split("\nMethods section\n", maxsplit=1)[0]
    assert "Slope: change of accuracy" in notes
    assert "answered" not in notes
    assert "CIs of participants" not in notes


def test_kappa_says_how_several_replies_count(of_default: tuple[Analysis, str]) -> None:
    replies = (
        "the item counts with the share of correct replies: with one correct reply of two, the model is half right."
    )
    assert replies in of_default[1]


def test_the_constant_response_names_all_that_tie_and_its_items(
    of_default: tuple[Analysis, str], view: Any, row: Any, tmp_path: Path
) -> None:
    assert "100.0 % of 12 items correct by always responding “1”." in of_default[1]
    people = [responses(row, n, participant=f"P{n}") for n in range(1, 4)]
    for trial in (trial for one in people for trial in one):
        trial["key"] = str(1 + int(trial["item_id"][1:]) % 4)
    tie = report(view(people), tmp_path / "four", AnalysisPlan())[1]
    four = "by always giving the same response (“1”, “2”, “3” and “4” are equally good)."
    assert f"25.0 % of 12 items correct {four}" in tie


def test_ratios_are_described_only_if_the_report_shows_them(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    with_ratios = of_left_out[1]
    assert "Ratio of accuracies: the model's accuracy divided by participants' accuracy" in with_ratios
    assert "The intervals of ratios of accuracies (model divided by participants)" in with_ratios
    without = of_default[1]
    assert "atio of accuracies" not in without
    assert "atios of accuracies" not in without
    assert "Its interval is a MOVER interval for ratios (Donner & Zou, 2012)." in without, "of normalized accuracy"


def test_the_methods_section_counts_the_trials_of_models_that_are_left_out(
    of_default: tuple[Analysis, str], of_left_out: tuple[Analysis, str]
) -> None:
    words = "Trials of models were left out for these reasons: test trial without a valid response (0 runs, 3 trials)."
    assert f"No exclusion rule was applied to models. {words}" in of_left_out[1]
    assert "Trials of models were left out" not in of_default[1]


def test_the_factors_in_the_methods_section_are_those_of_the_accuracies(of_default: tuple[Analysis, str]) -> None:
    assert "Accuracy was computed by these factors of the items: condition (2 levels)." in of_default[1]
    assert "Item factors that the plan does not use" not in of_default[1], "level is the difficulty"


def test_the_caption_on_colours_is_true_for_participants(of_default: tuple[Analysis, str], view: Any, row: Any,
                                                          tmp_path: Path) -> None:  # fmt: skip
    analysis, text = of_default
    assert "In the figures of accuracies and of differences, each model has one colour" in text
    assert "each condition of a model has one marker. People are black." in text
    assert "In all figures of this report" not in text
    of_models = set(re.findall("#0072b2|#e69f00", analysis.figures["accuracy"].svg, re.IGNORECASE))
    assert of_models == {"#0072b2", "#e69f00"}
    for name in ("response_times", "rt_distributions"):
        assert not re.findall("#0072b2|#e69f00|#56b4e9", analysis.figures[name].svg, re.IGNORECASE), name
