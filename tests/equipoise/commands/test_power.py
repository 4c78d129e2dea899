"""`equipoise power` on the command line."""

import csv
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.power.comparisons import comparison_analysis
from analysis.power.simulated_responses import Population, planned_trials
from analysis.power.simulation import simulated_power
from equipoise.cli.main import main
from equipoise.commands.power.request import parse_effect
from equipoise.commands.power.simulator import design_of
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.plan import Phase, plan_session
from tests.paths import ROOT

STUDIES = ROOT / "equipoise" / "studies"
PLAN = """
  tests:
    conditions: {test: t, of: correct, per: participant, within: condition, levels: [B, A], equivalence_margin: 0.1}
    chance: {test: t, of: correct, per: participant, against: chance, family: another, equivalence_margin: 0.1}
  comparisons:
    overall: {equivalence_margin: 0.2}
    cells: {by: [condition]}
  models:
    answers:
      formula: correct ~ condition + (1 | participant) + (1 | item_id)
      family: binomial
      who: people
    against:
      formula: correct ~ subject * condition + (1 | item_id)
      family: binomial
"""


@pytest.fixture(scope="module")
def vignettes(tmp_path_factory):
    """Return a study with a test and mixed models in its analysis plan."""
    folder = tmp_path_factory.mktemp("power") / "study"
    copy_sample_study("intuition-single", folder)
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(PLAN)
    return folder


def typed(study, *arguments, simulations=200):
    return CliRunner().invoke(main, ["power", str(study), *map(str, arguments), "--simulations", str(simulations)])


def power_output(study, *arguments, **options):
    done = typed(study, *arguments, **options)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(study, *arguments):
    done = typed(study, *arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    return done.stderr


def test_the_default_is_a_paired_t_test_of_the_first_effect(vignettes):
    before = sorted(vignettes.rglob("*"))
    text = power_output(vignettes, "--effect", "condition=B:-0.10", "-n", 60, "-n", 12, "-n", 24, "--item-sd", 0)
    assert "paired t test of accuracy at condition = B against condition = A; alpha 0.05, two-sided." in text
    assert (
        "accuracy 0.8, -0.1 at condition = B. Standard deviations in log-odds: 1 for participants, 0 for items" in text
    )
    assert [line.split()[0] for line in text.splitlines() if line.strip()[:2] in ("12", "24", "60")] == [
        "12",
        "24",
        "60",
    ]
    assert "The smallest of these N that finds the effect in at least 80 % of studies: " in text
    assert "Without any effect, the analysis is significant in" in text
    assert "Warning" not in text
    assert "singular" not in text
    assert sorted(vignettes.rglob("*")) == before


def test_the_same_seed_prints_the_same_report(vignettes):
    first, again, other = (
        power_output(vignettes, "--effect", "condition=B:-0.05", "-n", 12, "--seed", seed) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_an_effect_of_zero_gives_false_positive_rates(vignettes):
    text = power_output(vignettes, "--effect", "condition=B:0", "-n", 24, "--item-sd", 0)
    assert "false positives" in text
    assert "The effect is 0, so these are false-positive rates." in text
    assert "smallest" not in text


def test_a_test_with_fixed_items_prints_a_warning(vignettes):
    text = power_output(vignettes, "--effect", "condition=B:-0.1", "-n", 90, "--item-sd", 1.5)
    assert "Warning: the rate of false positives is higher than alpha = 0.05" in text
    stories = power_output(
        vignettes, "--effect", "condition=B:-0.1", "-n", 90, "--item-sd", 1.5,
        "--item", "scenario_number", "--item", "version",
    )  # fmt: skip
    assert "1.5 for items (scenario_number, version)" in stories
    assert "Warning" not in stories


def test_unequal_groups_and_exclusions_are_reported(vignettes):
    text = power_output(vignettes, "--effect", "condition=B:-0.1", "-n", 12, "-n", 20, "-n", 31, "--excluded", 0.1)
    assert "With N = 20, 31, some groups have one participant more than other groups" in text
    assert "each participant is excluded with probability 0.1." in text


def test_the_report_says_if_no_number_of_participants_is_enough(vignettes):
    text = power_output(vignettes, "--effect", "condition=B:-0.01", "-n", 6)
    assert "in at least 80 % of studies: none of these N; in at least 90 % of studies: none of these N." in text


def test_a_test_and_a_model_of_the_plan(vignettes):
    effect = ("--effect", "condition=B:-0.2", "-n", 18)
    text = power_output(vignettes, *effect, "--test", "conditions")
    assert "Analysis: the plan's test `conditions`; alpha 0.05" in text
    model = power_output(vignettes, *effect, "--model", "answers", simulations=20)
    assert "Analysis: `condition` in the plan's model `answers`; alpha 0.05" in model
    assert "mean estimate (log-odds)" in model
    assert "not converged" in model
    assert "singular" in model


def test_a_test_against_chance_has_its_false_positives_at_chance(vignettes):
    """An accuracy of 0.8 without any further effect is above chance, so it is not a false positive."""
    arguments = ("--effect", "condition=B:0", "-n", 12, "--item-sd", 0, "--test", "chance")
    text = power_output(vignettes, *arguments, simulations=60)
    assert rows_of(text) == rows_of(power_output(vignettes, *arguments[2:], simulations=60))
    assert "Analysis: the plan's test `chance` against chance; alpha 0.05" in text
    assert "mean estimate (accuracy, minus chance)" in text
    assert re.search(r"12 +12\.0 +1\.000 ", text)
    (rate,) = re.findall(r"With an accuracy at chance, the analysis is significant in (\d+\.\d) % of studies", text)
    assert float(rate) < 15
    assert "false-positive rates" not in text


def test_several_effects_add_up(vignettes):
    text = power_output(
        vignettes, "--effect", "condition=B,inference_level=3:-0.2", "--effect", "condition=B:-0.1", "-n", 30,
        "--item-sd", 0,
    )  # fmt: skip
    assert "accuracy 0.8, -0.2 at condition = B and inference_level = 3, -0.1 at condition = B" in text
    assert "interaction contrast at condition = B and inference_level = 3 against condition = A and" in text


def test_the_table_is_written_and_replaced(vignettes, tmp_path):
    out = tmp_path / "power"
    for seed in (1, 2):
        text = power_output(vignettes, "--effect", "condition=B:-0.1", "-n", 12, "-n", 24, "--seed", seed, "-o", out)
        assert text.rstrip().endswith(f"Written to {out}: power.csv and power.svg.")
        assert "with the effect" in (out / "power.svg").read_text(encoding="utf-8")
        with (out / "power.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [(row["effect"], row["n_participants"]) for row in rows] == [
            ("as given", "12"), ("as given", "24"), ("none", "24")
        ]  # fmt: skip
        assert f"{float(rows[0]['power']):.3f}" in text
        about = json.loads((out / "provenance.json").read_text(encoding="utf-8"))["power"]
        assert about["request"]["seed"] == seed
        assert about["request"]["effects"] == [{"levels": {"condition": "B"}, "difference": -0.1}]
        assert about["study"] == "intuition-single"


def test_results_of_an_analysis_are_not_overwritten(vignettes, tmp_path):
    (tmp_path / "provenance.json").write_text('{"files": {"a.csv": ""}}', encoding="utf-8")
    message = refused(vignettes, "--effect", "condition=B:-0.1", "-o", tmp_path)
    assert "contains the results of an analysis. Fix: choose another folder" in message
    assert [path.name for path in tmp_path.iterdir()] == ["provenance.json"]


def test_a_study_with_the_design_deal(sample_study):
    text = power_output(sample_study.folder, "--effect", "outcome=exit:-0.15", "-n", 40, "-n", 60, "--accuracy", 0.7)
    assert "paired t test of accuracy at outcome = exit against outcome = absorbed" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--effect", "colour=red:0.1"], "the effect at colour = red: the test items have no factor `colour`"),
        (["--effect", "condition=C:0.1"], "`condition` has no level C. Fix: choose one of A, B."),
        (["--effect", "condition=B:0.2"], "the accuracy would be 1 where condition = B"),
        (["--effect", "condition=B:-0.6"], "must be above chance (0.25)"),
        (["--effect", "condition=B:0.1", "--accuracy", "0.2"], "would be 0.2 where there is no effect"),
        (
            ["--effect", "condition=B"],
            "the effect `condition=B` cannot be read. Fix: write the levels and the difference",
        ),
        (["--effect", "condition=B:much"], "the effect `condition=B:much` cannot be read"),
        (["--effect", "condition=B:nan"], "the effect `condition=B:nan` cannot be read"),
        (["--effect", "=B:0.1"], "the effect `=B:0.1` cannot be read"),
        (["--effect", "condition=A,condition=B:0.1"], "cannot be read"),
        (
            ["--effect", "condition=B:0.1", "--test", "none"],
            "has no test `none`. Fix: choose one of its tests (conditions, chance).",
        ),
        (
            ["--effect", "condition=B:0.1", "--model", "none"],
            "`none`. Fix: choose one of its models (answers, against).",
        ),
        (["--effect", "condition=B:0.1", "--model", "against"], "the model `against` uses runs of models"),
        (
            ["--effect", "condition=B:0.1", "--model", "answers", "--term", "x"],
            "has no term `x`. Fix: choose one of its terms (condition",
        ),
        (
            ["--effect", "condition=B:0.1", "--term", "x"],
            "a term is named, but no mixed model is named. Fix: name the mixed model with --model.",
        ),
        (
            ["--effect", "condition=B:0.1", "--test", "a", "--model", "b"],
            "both a test and a mixed model are named. Fix: omit the test or the mixed model.",
        ),
        (["--effect", "condition=B:0.1", "--item", "tale"], "there is no column `tale` to identify the items"),
        (["--effect", "condition=B:0.1", "-n", "1"], "'-n'"),
        (["--effect", "condition=B:0.1", "--excluded", "1"], "'--excluded'"),
        ([], "there is no effect. Fix: write at least one effect"),
        (["--test", "conditions"], "there is no effect"),
        (["--effect", "condition=B:0"], "the effect is 0, so no number of participants reaches the power"),
        (["--effect", "condition=B:0.1", "--largest-n", "5"], "but the study has 6 groups. Fix: give --largest-n 6"),
        (["--effect", "condition=B:0.1", "--power", "0.04"], "power 0.04: this value is outside the limits"),
        (["--against-model", "1.2"], "the accuracy of the model is 1.2. Fix: give a number of more than 0"),
        (["--against-model", "gpt"], "there are no responses yet. Fix: import or run the model first"),
        (["--against-model", "0.7", "--test", "conditions"], "a test or a mixed model is named too"),
        (["--comparison", "overall", "--effect", "condition=B:0.1"], "a comparison is named, but no model"),
        (["--against-model", "0.7", "--comparison", "x"], "has no comparison `x`. Fix: choose one of overall, cells."),
        (["--against-model", "0.7", "--comparison", "cells", "--term", "B"], "the term `B` cannot be read"),
        (["--equivalence", "--effect", "condition=B:0.1"], "equivalence needs a margin. Fix: name a test"),
        (["--equivalence", "--against-model", "0.7"], "equivalence needs a margin"),
        (
            ["--equivalence", "--test", "conditions", "--effect", "condition=B:0.1"],
            "the true difference is +0.1, which is not within the margin of 0.1",
        ),
    ],
)
def test_bad_input_is_refused_with_a_sentence(vignettes, arguments, message):
    assert message in refused(vignettes, *arguments)


def test_too_few_remaining_participants_are_refused_with_a_sentence(vignettes):
    message = refused(vignettes, "--effect", "condition=B:0.1", "-n", "2", "--excluded", "0.9999")
    assert "no simulated study could be analysed" in message


def test_an_effect_is_read_from_the_right():
    assert parse_effect("ratio=1:2, place = a b : +0.05").levels == {"ratio": "1:2", "place": "a b"}
    assert parse_effect("ratio=1:2:-.05").difference == -0.05


def rows_of(text):
    """Return the rows of the printed table: the number of participants, and the power as printed."""
    return {int(n): float(power) for n, power in re.findall(r"^ *(\d+) +\d+\.\d +(\d\.\d{3}) ", text, re.MULTILINE)}


def test_without_n_the_smallest_number_with_the_power_is_found(vignettes, tmp_path):
    arguments = ("--effect", "condition=B:-0.1", "--item-sd", 0, "--seed", 3)
    text = power_output(vignettes, *arguments, "-o", tmp_path / "out")
    assert (
        "smallest N with a power of at least 80 % or 90 %, among multiples of 6 (the number of groups) up to 1,000."
        in text
    )
    found = re.findall(
        r"^(\d+) participants give a power of (\d+) % \(95 % CI (\d+) to (\d+) %\)\.$", text, re.MULTILINE
    )
    (n_80, power_80, low, high), (n_90, *_) = [[int(number) for number in one] for one in found]
    rows = rows_of(text)
    assert rows[n_80 - 6] < 0.8 <= rows[n_80]
    assert rows[n_90 - 6] < 0.9 <= rows[n_90]
    assert low < power_80 < high
    assert all(n % 6 == 0 for n in rows)
    assert f"studies with N = {n_90}" in text
    with (tmp_path / "out" / "power.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [int(row["n_participants"]) for row in table if row["effect"] == "as given"] == sorted(rows)
    assert [int(row["n_participants"]) for row in table if row["effect"] == "none"] == [n_90]
    (at_80,) = (row for row in table if row["n_participants"] == str(n_80) and row["effect"] == "as given")
    assert (f"{100 * float(at_80['power']):.0f}", f"{100 * float(at_80['ci_low']):.0f}") == (str(power_80), str(low))
    assert "with the effect" in (tmp_path / "out" / "power.svg").read_text(encoding="utf-8")
    assert f"{n_80} participants give a power of" in (tmp_path / "out" / "provenance.json").read_text(encoding="utf-8")
    alone = power_output(vignettes, *arguments, "-n", n_80)
    assert rows_of(alone) == {n_80: rows[n_80]}


def test_the_search_says_how_far_the_largest_number_falls_short(vignettes):
    text = power_output(
        vignettes, "--effect", "condition=B:-0.03", "--largest-n", 40, "--power", 0.95, "--power", 0.7, simulations=100
    )
    power = re.search(r"A power of 70 % is not reached: with 36 participants the power is (\d+\.\d) % \(95 % CI", text)[
        1
    ]
    assert float(power) == pytest.approx(100 * rows_of(text)[36], abs=0.06)
    assert "95 % is" not in text
    assert "participants give" not in text
    assert "For a larger N, use --largest-n." in text


def test_the_power_against_a_model_of_given_accuracy(vignettes):
    text = power_output(vignettes, "--against-model", 0.45, "-n", 12, "-n", 24, simulations=100)
    assert "people's accuracy against a model with an accuracy of 0.45; significant if the 95 % interval excl" in text
    assert "If people are as accurate as the model, the analysis is significant in" in text
    rows = rows_of(text)
    assert 0.9 < rows[24] <= 1
    assert not re.search(r"12\.0 .* -0\.", text)  # People are more accurate.
    cell = power_output(
        vignettes, "--against-model", 0.45, "--comparison", "cells", "--term", "condition=B", "-n", 24,
        "--effect", "condition=B:-0.3", "--accuracy", 0.75, simulations=100,
    )  # fmt: skip
    assert "at condition = B, by the plan's comparison `cells`" in cell
    assert rows_of(cell)[24] < 0.3


def test_alpha_is_one_minus_the_confidence_of_the_plan(vignettes, tmp_path):
    """A comparison with a model is significant if the interval with this confidence excludes 0."""
    copy_sample_study("intuition-single", tmp_path / "study")
    with (tmp_path / "study" / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("  confidence: 0.7\n")
    arguments = ("--against-model", 0.7, "-n", 12)
    usual = rows_of(power_output(vignettes, *arguments, simulations=60))
    given = power_output(vignettes, *arguments, "--alpha", 0.3, simulations=60)
    assert "significant if the 70 % interval excludes 0" in given
    assert power_output(tmp_path / "study", *arguments, simulations=60) == given
    assert rows_of(given)[12] > usual[12] + 0.1
    study = load_study(tmp_path / "study")
    trials = planned_trials(design_of(study), 12)
    (power,) = simulated_power(
        trials, np.full(len(trials.table), 0.8), comparison_analysis(trials, study.definition.analysis, 0.7, alpha=0.3),
        Population(1.0, 0.5), ns=[12], simulations=60,
    )["power"]  # fmt: skip
    assert rows_of(given) == {12: round(power, 3)}


def test_the_power_to_show_equivalence_with_a_model(vignettes, tmp_path):
    arguments = ("--against-model", 0.9, "--comparison", "overall", "--equivalence", "-n", 48)
    text = power_output(vignettes, *arguments, "-o", tmp_path / "out", simulations=100)
    figure = (tmp_path / "out" / "power.svg").read_text(encoding="utf-8")
    assert "percent of studies that show equivalence" in figure
    assert "with a difference as large as the margin, 48 participants" in figure
    assert "margin 0.2, alpha 0.05 in each of two one-sided tests (90 % interval)" in text
    assert "Responses: accuracy 0.9." in text
    assert "True difference: +0.000." in text
    assert "that shows equivalence in at least 80 % of studies: 48" in text
    (rate,) = re.findall(r"as large as the margin, the analysis shows equivalence in (\d+\.\d) % of studies", text)
    assert float(rate) < 15
    apart = power_output(vignettes, *arguments, "--accuracy", 0.8, simulations=100)
    assert "True difference: -0.100." in apart
    assert rows_of(apart)[48] < rows_of(text)[48]


def test_the_power_to_show_equivalence_with_a_test(vignettes):
    text = power_output(vignettes, "--test", "conditions", "--equivalence", "--item-sd", 0, "--power", 0.8)
    assert "Analysis: equivalence in the plan's test `conditions`; margin 0.1" in text
    assert re.search(r"^\d+ participants give a power of [89]\d % ", text, re.MULTILINE)
    assert "Warning" not in text
    chance = power_output(vignettes, "--test", "chance", "--equivalence", "-n", 30, "--item-sd", 0, simulations=60)
    assert "Responses: accuracy 0.25." in chance
    assert "True difference: +0.000." in chance


@pytest.fixture(scope="module")
def with_baselines(tmp_path_factory):
    """Return a Black Box study with the responses of two baselines."""
    folder = tmp_path_factory.mktemp("power") / "blackbox"
    copy_sample_study("blackbox-predict", folder)
    for model in ("tracer", "nearest-atom"):
        done = CliRunner().invoke(main, ["models", "run", str(folder), "--model", f"baseline/{model}"])
        assert done.exit_code == 0, done.output
    return folder


def test_the_power_against_the_stored_responses_of_a_model(with_baselines):
    text = power_output(
        with_baselines, "--against-model", "baseline/nearest-atom", "--accuracy", 0.9, "-n", 40, simulations=40
    )
    assert "people's accuracy against `baseline/nearest-atom` (accuracy 0.706)" in text
    assert re.search(r"40 +40\.0 .*\+0\.19\d", text)
    always_right = power_output(with_baselines, "--against-model", "baseline/tracer", "-n", 20, simulations=20)
    assert "`baseline/tracer` (accuracy 1)" in always_right
    assert "significant in 0.0 % of studies" in always_right
    assert "Fix: name one of `baseline/nearest-atom`, `baseline/tracer`." in refused(
        with_baselines, "--against-model", "tracer"
    )


@pytest.mark.parametrize("name", ["intuition-single", "blackbox-predict"])
def test_the_design_has_the_items_of_the_sessions(name):
    study = load_study(STUDIES / name)
    design = design_of(study)
    for group in range(1, study.definition.design.groups + 1):
        session = plan_session(study, group, seed=1).trials
        planned = {trial.item_id for trial in session if trial.phase is Phase.TEST}
        assert set(design.loc[design["group"] == group, "item_id"]) == planned
    item = study.battery.by_id[design["item_id"][0]]
    assert {factor: design[factor][0] for factor in item.factors} == item.factors
    assert (design["chance"] == (0.25 if name == "intuition-single" else design["chance"].min())).all()
