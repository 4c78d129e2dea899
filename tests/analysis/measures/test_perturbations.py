import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.perturbations import PERTURBATION_TABLE_COLUMNS, perturbation_effects
from analysis.statistics.intervals import mover_difference, wilson
from batteries.errors import InputError
from batteries.vignettes.build import perturbation_factors, perturbation_suffix
from batteries.vignettes.perturbation import Perturbation
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=4_000)
CLEAN = Perturbation()
SPACING = [Perturbation(spacing_proportion=share) for share in (0.25, 0.5)]
SPELLING = [Perturbation(spelling_letters=letters) for letters in (5, 10)]
CAPITALS = Perturbation(capitalisation_letters=5)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def answers(row, right, start=0, **who):
    """Return a subject's trials: for each perturbation, whether item 0, 1, ... was right; None leaves it out."""
    cells = [(perturbation, n, each) for perturbation, all_ in right for n, each in enumerate(all_) if each is not None]
    return [
        row(trial_index=start + index, item_id=f"story-{n}{perturbation_suffix(perturbation)}",
            factors={"scenario": f"story {n}", "variant": n, **perturbation_factors(perturbation)},
            response=1 if each else 2, **who)
        for index, (perturbation, n, each) in enumerate(cells)
    ]  # fmt: skip


@pytest.fixture
def run(row):
    def of(*right, **who):
        return answers(row, right, **{"kind": "model", "run": "M", **who})

    return of


def test_each_kind_and_degree_is_compared_with_the_same_items_unperturbed(view, run):
    rng = np.random.default_rng(1)
    clean = rng.random(30) < 0.9
    noisy = {perturbation: clean & (rng.random(30) < 0.8) for perturbation in (*SPACING, *SPELLING, CAPITALS)}
    table = perturbation_effects(marked(view(run((CLEAN, clean), *noisy.items()))), PLAN)
    assert table.columns.tolist() == PERTURBATION_TABLE_COLUMNS
    assert table[["perturbation", "level"]].to_numpy().tolist() == [
        ["capitalisation", "5 x 0.8"], ["character", "5 x 0.1"], ["character", "10 x 0.1"],
        ["spacing", "0.25"], ["spacing", "0.5"],
    ]  # fmt: skip
    expected = [noisy[each].mean() for each in (CAPITALS, *SPELLING, *SPACING)]
    assert table["accuracy_perturbed"].tolist() == pytest.approx(expected)
    assert table["accuracy_unperturbed"].tolist() == pytest.approx([clean.mean()] * 5)
    assert table["difference"].tolist() == pytest.approx([each - clean.mean() for each in expected])
    assert (table["n_items"] == 30).all()
    assert (table["ci_low"] <= table["difference"]).all()
    assert (table["difference"] <= table["ci_high"]).all()


def test_items_answered_only_perturbed_or_only_unperturbed_are_left_out_and_counted(view, run):
    rows = run((CLEAN, [1, 1, 0, 0, None, 1]), (SPACING[0], [1, 0, 0, None, 1, None]))
    line = perturbation_effects(marked(view(rows)), PLAN).iloc[0]
    assert (line["n_items"], line["n_items_only_perturbed"], line["n_items_only_unperturbed"]) == (3, 1, 2)
    assert line["accuracy_perturbed"] == pytest.approx(1 / 3)
    assert line["accuracy_unperturbed"] == pytest.approx(2 / 3)


def test_the_interval_of_a_run_is_paired_over_items(view, run):
    """The interval of the same accuracies is narrower if the perturbation never helps."""
    clean = [1] * 20 + [0] * 20
    harmed = [1] * 14 + [0] * 26
    mixed = [1] * 7 + [0] * 13 + [1] * 7 + [0] * 13
    widths = {}
    for name, noisy in (("harmed", harmed), ("mixed", mixed)):
        line = perturbation_effects(marked(view(run((CLEAN, clean), (CAPITALS, noisy)))), PLAN).iloc[0]
        assert line["difference"] == pytest.approx(-0.15)
        widths[name] = line["ci_high"] - line["ci_low"]
    assert widths["harmed"] < 0.6 * widths["mixed"]
    differences = np.array(harmed) - np.array(clean)
    drawn = np.random.default_rng(2).choice(differences, (20_000, 40)).mean(axis=1)
    line = perturbation_effects(marked(view(run((CLEAN, clean), (CAPITALS, harmed)))), PLAN).iloc[0]
    assert (line["ci_low"], line["ci_high"]) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)


def test_a_perturbation_without_effect_has_an_interval_with_a_width(view, run):
    line = perturbation_effects(marked(view(run((CLEAN, [1] * 10), (CAPITALS, [1] * 10)))), PLAN).iloc[0]
    n = 10 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 9)) ** 2
    expected = mover_difference(1, wilson(n, n), 1, wilson(n, n))
    assert (line["ci_low"], line["ci_high"]) == pytest.approx(expected)


def test_repeated_responses_do_not_change_the_weight_of_an_item(view, run):
    again = run((CLEAN, [0]), start=90) + run((CLEAN, [0]), start=95)
    rows = run((CLEAN, [1, 1]), (SPACING[0], [1, 1])) + again
    line = perturbation_effects(marked(view(rows)), PLAN).iloc[0]
    assert line["accuracy_unperturbed"] == pytest.approx((1 / 3 + 1) / 2)
    assert line["n_trials_unperturbed"] == 4


def test_people_are_pooled_with_intervals_over_participants(view, row):
    rng = np.random.default_rng(3)
    people = [
        answers(row, [(CLEAN, rng.random(8) < 0.9), (SPELLING[0], rng.random(8) < 0.6)], participant=f"P{n}")
        for n in range(15)
    ]
    trials = marked(view(people))
    line = perturbation_effects(trials, PLAN).iloc[0]
    noisy = trials["character_noise_number"] > 0
    assert line["subject"] == "people"
    assert line["difference"] == pytest.approx(trials["correct"][noisy].mean() - trials["correct"][~noisy].mean())
    assert line["ci_high"] < 0
    assert line["ci_low"] > -0.6


def test_kinds_applied_together_are_a_separate_kind(view, run):
    both = Perturbation(spacing_proportion=0.75, capitalisation_letters=10)
    table = perturbation_effects(marked(view(run((CLEAN, [1, 0]), (both, [0, 0])))), PLAN)
    assert table[["perturbation", "level"]].to_numpy().tolist() == [["spacing + capitalisation", "0.75 + 10 x 0.8"]]


def test_items_without_factors_of_perturbations_are_left_out(view, run, row):
    extra = row(kind="model", run="M", trial_index=80, item_id="check", response=2)
    table = perturbation_effects(marked(view(run((CLEAN, [1, 0]), (CAPITALS, [1, 0])), extra)), PLAN)
    assert table["n_trials_unperturbed"].tolist() == [2]


def test_batteries_without_perturbed_or_unperturbed_items_have_different_errors(view, run, row):
    with pytest.raises(InputError, match="no factor `spacing_noise_proportion`"):
        perturbation_effects(marked(view(row())), PLAN)
    with pytest.raises(InputError, match="the analysis has no unperturbed items"):
        perturbation_effects(marked(view(run((CAPITALS, [1, 0])))), PLAN)
    assert perturbation_effects(marked(view(run((CLEAN, [1, 0])))), PLAN).empty


def test_the_order_of_subjects_does_not_depend_on_the_order_of_rows(view, run, row):
    people = answers(row, [(CLEAN, [1, 0]), (CAPITALS, [1, 1])], participant="P")
    models = [run((CLEAN, [1, 0]), (CAPITALS, [0, 0]), run=name) for name in ("Model 10", "Model 9")]
    trials = marked(view(models, people))
    table = perturbation_effects(trials, PLAN)
    assert table["subject"].tolist() == ["people", "Model 9", "Model 10"]
    pd.testing.assert_frame_equal(perturbation_effects(trials.sample(frac=1, random_state=1), PLAN), table)
