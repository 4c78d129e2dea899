"""Tables 12 to 18 of the Black Box paper (mode Predict): the plan of the sample study, R, and the printed numbers.

The shared data have one of the eight files of runs, so the statistical models of the paper cannot be computed from the
published responses. The plan is tested on fabricated files of all eight conditions against R's lme4 and car. The
printed tables that follow from the printed counts of Table 11 are computed again, with and without the error of the
paper: its analysis has every row twice (N = 11,280 instead of 5,640).
"""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equipoise as eq
from analysis.data.row_filters import add_flags
from analysis.data.tidy_table import read_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.planned.plan_mistakes import plan_mistakes, rows_of_items
from analysis.planned.results import PlannedResults, run_planned
from analysis.planned.study_rows import study_rows
from analysis.statistics.mixed_models.fit import fit_mixed_model
from equipoise.studies import copy_sample_study, sample_study_folder
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.planned_analyses import PlannedAnalyses
from tests.analysis.planned.fabricated_predict import PLANTED, write_exports

PLAN_FILE = sample_study_folder("blackbox-predict") / "analysis-of-stored-runs.yaml"
N_RAYS, N_ENTERED, N_RUNS = 235, 208, 24

# R 4.2.2, lme4 1.1-31, car 3.1-1, on the fabricated rows of the rays that enter the board, with the plan's formulas and
# glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhoend = 1e-9, maxfun = 1e5)).
# Type III tests, Anova(m, type = 3): chi-square of each term.
R_TESTS = {
    "accuracy": {
        "(Intercept)": 26.31804, "model": 1.66663, "augmented": 42.08314, "thinking": 66.17899, "ray_trace": 7.13011,
        "path_length": 223.31304, "atoms_near_path": 41.60047, "model:augmented": 2.50512, "model:thinking": 1.90421,
        "augmented:thinking": 0.03411, "model:augmented:thinking": 0.41008,
    },
    "path_length": {
        "(Intercept)": 18.98224, "model": 1.98633, "path_length": 112.11600, "augmented": 29.32571,
        "thinking": 12.39934, "model:path_length": 1.63999, "path_length:augmented": 0.10471,
        "path_length:thinking": 13.90717,
    },
}  # fmt: skip
R_SDS = {"accuracy": (0.59207951, 0.64372445), "path_length": (0.61819944, 0.74520128)}
"""Standard deviations of configurations, and of rays within configurations."""
R_COEFFICIENTS = {
    "accuracy": {
        "augmentedTrue": (1.09154166, 0.16826207), "thinkingTrue": (1.37209037, 0.16866409),
        "ray_traceTrue": (0.18091995, 0.06775455), "path_length": (-0.32376066, 0.02166542),
        "atoms_near_path": (-0.60523820, 0.09383767),
        "modelSonnet 4.5:augmentedTrue:thinkingTrue": (0.20168176, 0.33292541),
    },
    "path_length": {"path_length:thinkingTrue": (0.09435839, 0.02530237), "thinkingTrue": (0.62723193, 0.17812666)},
}  # fmt: skip
# The same with the errors of the published script: rbind(rows, rows), (1 | configuration/ray_id) with a constant
# ray_id, and glmerControl(optimizer = "bobyqa"). The ray is then the configuration again.
R_PUBLISHED = {
    "accuracy": {
        "augmented": 78.25191, "thinking": 123.22451, "ray_trace": 13.25106, "path_length": 1026.87625,
        "atoms_near_path": 204.23956, "model:augmented": 4.64528, "model:thinking": 3.53000,
    },
    "path_length": {"path_length": 296.73639, "path_length:thinking": 28.37238, "model:path_length": 2.96684},
}  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The sample study with the shipped plan, and fabricated runs in its store."""
    folder = tmp_path_factory.mktemp("predict") / "study"
    copy_sample_study("blackbox-predict", folder)
    definition = folder / "study.yaml"
    before, _, _ = definition.read_text(encoding="utf-8").partition("analysis:\n")
    shutil.copy(PLAN_FILE, folder)
    definition.write_text(before + PLAN_FILE.read_text(encoding="utf-8"), encoding="utf-8")
    study = load_study(folder)
    eq.models_import(study, write_exports(study, tmp_path_factory.mktemp("exports")))
    return study


@pytest.fixture(scope="module")
def trials(study: Study) -> pd.DataFrame:
    return apply_exclusions(read_trials(study.store_path), study.definition.analysis).trials


@pytest.fixture(scope="module")
def results(study: Study, trials: pd.DataFrame) -> PlannedResults:
    return run_planned(study_rows(trials), study.definition.analysis)


def test_the_shipped_plan_has_no_mistake_and_every_result_is_computed(study: Study, results: PlannedResults) -> None:
    assert plan_mistakes(study.definition.analysis, rows_of_items(study.test_items)) == []
    assert results.not_computed == []


def test_the_rows_of_imported_runs_have_their_prompt_thinking_and_tokens(trials: pd.DataFrame) -> None:
    settings = trials[["prompt", "thinking", "thinking_budget", "input_tokens", "output_tokens"]].drop_duplicates()
    prompts = [f"{style}+viz{aid}" for style in ("augmented", "baseline") for aid in ("", ", ray trace")]
    assert {tuple(row) for row in settings.astype(object).fillna(0).to_numpy()} == {
        (prompt, thinking, 10_000 if thinking else 0, 100, 10) for prompt in prompts for thinking in (True, False)
    }


@pytest.mark.parametrize("name", R_TESTS)
def test_the_models_of_the_plan_agree_with_r(results: PlannedResults, name: str) -> None:
    model = results.models[name].model
    assert int(model.fit["n"].iloc[0]) == N_ENTERED * N_RUNS == 4_992
    tests = model.anova.set_index("term")["statistic"]
    assert tests.to_dict() == pytest.approx(R_TESTS[name], rel=2e-3)
    coefficients = model.coefficients.set_index("term")
    for term, (estimate, std_error) in R_COEFFICIENTS[name].items():
        assert coefficients.loc[term, "estimate"] == pytest.approx(estimate, rel=1e-4), term
        assert coefficients.loc[term, "std_error"] == pytest.approx(std_error, rel=1e-3), term
    assert tuple(model.random["sd"]) == pytest.approx(R_SDS[name], rel=1e-4)
    ratios = results.models[name].exponentiated["odds_ratios"]
    assert ratios["odds_ratio"].tolist() == pytest.approx(np.exp(coefficients["estimate"]).tolist())


def test_the_planted_effects_are_inside_their_intervals(results: PlannedResults) -> None:
    coefficients = results.models["path_length"].model.coefficients.set_index("term")
    low, high = coefficients.loc["path_length:thinkingTrue", ["ci_low", "ci_high"]]
    assert low <= PLANTED["thinking:path_length"] <= high
    assert coefficients.loc["path_length:augmentedTrue", "p_value"] > 0.05
    moderation = results.models["path_length"].model.anova.set_index("term")["p_value"]
    assert moderation["path_length:thinking"] < 0.05


@pytest.mark.parametrize("name", R_PUBLISHED)
def test_the_published_script_has_statistics_that_are_too_large(
    study: Study, trials: pd.DataFrame, results: PlannedResults, name: str
) -> None:
    plan = study.definition.analysis
    planned = plan.models[name]
    rows = add_flags(study_rows(trials)("models"), plan.flags)
    entered = rows[~rows["reflected_at_entry"].astype(bool)]
    formula = planned.formula.replace("configuration/item_id", "configuration")
    doubled = pd.concat([entered, entered], ignore_index=True)
    published = fit_mixed_model(
        doubled, formula, family="binomial", reference=planned.reference, term_tests="treatment"
    ).anova.set_index("term")["statistic"]
    assert {term: published[term] for term in R_PUBLISHED[name]} == pytest.approx(R_PUBLISHED[name], rel=2e-3)
    ours = results.models[name].model.anova.set_index("term")["statistic"]
    assert all(published[term] > 1.7 * ours[term] for term in R_PUBLISHED[name])


def test_the_tables_of_the_plan_have_one_row_for_each_run_and_for_each_configuration(results: PlannedResults) -> None:
    leaders = results.tables["leaderboard"]
    assert leaders["n"].tolist() == [N_RAYS] * 10
    assert leaders["correct_mean"].is_monotonic_decreasing
    configurations = results.tables["configurations"]
    assert len(configurations) == 30
    of_board = configurations.groupby("configuration")["n"].sum()
    # Table 13, column n, is the number of rows of one model, and every row is there twice.
    assert (of_board // 3 * 2).tolist() == [368, 352, 400, 448, 288, 336, 384, 368, 400, 416]


# Table 11: Correct of N = 470 rows, by model, prompt, thinking and ray trace. Each row of the data is there twice.
TABLE_11 = """
    Haiku 4.5  augmented: 352 384 426 450  baseline: 270 202 288 366
    Opus 4.5   augmented: 384 388 440 440  baseline: 266 216 298 368
    Sonnet 4.5 augmented: 366 400 448 450  baseline: 278 216 292 370
"""
# Table 12: run, accuracy and interval in percent. Aug Think VoT: augmented prompt, thinking, ray trace.
TABLE_12 = """
    Haiku Aug Think VoT         95.7 93.9 97.6
    Sonnet Aug Think VoT        95.7 93.9 97.6
    Sonnet Aug Think No-VoT     95.3 93.4 97.2
    Opus Aug Think No-VoT       93.6 91.4 95.8
    Opus Aug Think VoT          93.6 91.4 95.8
    Haiku Aug Think No-VoT      90.6 88 93.3
    Sonnet Aug No-Think VoT     85.1 81.9 88.3
    Opus Aug No-Think VoT       82.6 79.1 86
    Haiku Aug No-Think VoT      81.7 78.2 85.2
    Opus Aug No-Think No-VoT    81.7 78.2 85.2
"""
# Table 15 prints Cramér's V with the bias correction of R's effectsize.
TABLE_15 = {"model": 0.016, "augmented": 0.303, "thinking": 0.185, "ray_trace": 0.027}
# Tables 17 and 18: numbers of errors in doubled rows; the three most common errors of each model, and their shares.
TABLE_17 = 596 + 30 + 1238 + 22 + 280 + 524 + 232
TABLE_18 = {"Haiku 4.5": ((458, 0.448), (214, 0.209), (178, 0.174)),
            "Sonnet 4.5": ((406, 0.432), (180, 0.191), (162, 0.172)),
            "Opus 4.5": ((374, 0.390), (202, 0.210), (184, 0.192))}  # fmt: skip


def printed_runs() -> pd.DataFrame:
    """Return one row for each run of Table 11, with its number of correct responses in doubled rows."""
    rows = []
    for line in TABLE_11.strip().splitlines():
        name, *of_prompts = line.replace("baseline:", "augmented:").split("augmented:")
        for augmented, counts in zip((True, False), of_prompts, strict=True):
            conditions = [(False, False), (False, True), (True, False), (True, True)]
            for (thinking, ray_trace), n_correct in zip(conditions, map(int, counts.split()), strict=True):
                rows.append((name.strip(), augmented, thinking, ray_trace, n_correct))
    return pd.DataFrame(rows, columns=["model", "augmented", "thinking", "ray_trace", "n_correct"])


def responses(n_copies: int) -> pd.DataFrame:
    """Return a row for each response of Table 11, with `n_copies` of each row (2 as published)."""
    runs = printed_runs()
    counts = runs["n_correct"] // 2 * n_copies
    table = runs.loc[np.repeat(runs.index, N_RAYS * n_copies)].drop(columns="n_correct").reset_index(drop=True)
    correct = np.concatenate([np.arange(N_RAYS * n_copies) < count for count in counts]).astype(int)
    short = {True: ("Aug", "Think", "VoT"), False: ("Base", "No-Think", "No-VoT")}
    names = [
        " ".join((model.split()[0], *(short[bool(is_on)][place] for place, is_on in enumerate(settings))))
        for model, *settings in table.itertuples(index=False)
    ]
    return table.assign(correct=correct, run=names)


PLAN = PlannedAnalyses.model_validate(
    {
        "tables": {"leaderboard": {"by": ["run"], "of": ["correct"], "order_by": ["-correct_mean"]}},
        "tests": {name: {"test": "chi_square", "of": "correct", "between": name} for name in TABLE_15},
    }
)


def test_table_12_follows_from_doubled_rows_and_the_interval_of_the_real_rows_is_wider() -> None:
    published = run_planned(lambda _: responses(2), PLAN).tables["leaderboard"].set_index("run")
    ours = run_planned(lambda _: responses(1), PLAN).tables["leaderboard"].set_index("run")
    lines = [line.split() for line in TABLE_12.strip().splitlines()]
    assert sorted(published["correct_mean"], reverse=True)[:10] == sorted(
        (published.loc[" ".join(words[:-3]), "correct_mean"] for words in lines), reverse=True
    )
    for *words, accuracy, low, high in lines:
        run = " ".join(words)
        share, n = published.loc[run, "correct_mean"], published.loc[run, "n"]
        half = 1.96 * math.sqrt(share * (1 - share) / n)
        assert n == 470
        assert [round(100 * value, 1) for value in (share, share - half, share + half)] == [
            float(accuracy), float(low), float(high)
        ]  # fmt: skip
        assert (ours.loc[run, "n"], ours.loc[run, "correct_mean"]) == (235, share)
        assert ours.loc[run, "correct_ci_high"] - ours.loc[run, "correct_ci_low"] > 1.3 * 2 * half


def corrected_v(chi_square: float, n: int, n_levels: int) -> float:
    """Return Cramér's V of a table of two rows with the bias correction of Bergsma (2013), as R's effectsize."""
    phi = max(0.0, chi_square / n - (n_levels - 1) / (n - 1))
    shrunk = min(2 - 1 / (n - 1), n_levels - (n_levels - 1) ** 2 / (n - 1))
    return math.sqrt(phi / (shrunk - 1))


def test_table_15_follows_from_doubled_rows_and_the_real_p_values_are_larger() -> None:
    published, ours = (run_planned(lambda _, n=n: responses(n), PLAN).tests.set_index("name") for n in (2, 1))
    assert (set(published["n"]), set(ours["n"])) == ({11_280}, {5_640})
    n_levels = {"model": 3, "augmented": 2, "thinking": 2, "ray_trace": 2}
    for name, printed in TABLE_15.items():
        assert round(corrected_v(published.loc[name, "statistic"], 11_280, n_levels[name]), 3) == printed
        assert published.loc[name, "statistic"] == pytest.approx(2 * ours.loc[name, "statistic"])
        assert published.loc[name, "effect"] == pytest.approx(ours.loc[name, "effect"])
    # The report has Cramér's V without a correction.
    assert ours["effect"].round(3).to_dict() == {"model": 0.021, "augmented": 0.303, "thinking": 0.185,
                                                 "ray_trace": 0.029}  # fmt: skip
    assert published["p_value"].round(3).to_dict() == {
        "model": 0.079,
        "augmented": 0,
        "thinking": 0,
        "ray_trace": 0.002,
    }
    assert ours["p_value"].round(3).to_dict() == {"model": 0.282, "augmented": 0, "thinking": 0, "ray_trace": 0.031}


def test_tables_17_and_18_count_every_error_of_table_11_twice() -> None:
    n_errors = 470 - printed_runs().set_index("model")["n_correct"]
    assert n_errors.sum() == TABLE_17 == 2 * 1_461
    for model, errors in TABLE_18.items():
        total = int(n_errors[model].sum())
        assert [round(count / total, 3) for count, _ in errors] == [share for _, share in errors]


def test_the_rows_of_the_stored_runs_are_those_of_the_paper(stored_runs: Path) -> None:
    """Tables 10 to 12, of the augmented prompt without thinking and without ray trace: the file of the shared data."""
    results = json.loads(stored_runs.read_text(encoding="utf-8"))["results"]
    n_predictions: dict[int, set[int]] = {}
    n_correct: dict[str, int] = {}
    for result in results:
        n_predictions.setdefault(result["configIndex"], set()).add(2 * len(result["predictions"]))
        n_right = sum(2 * prediction["correct"] for prediction in result["predictions"])
        n_correct[result["modelName"]] = n_correct.get(result["modelName"], 0) + n_right
    table_10 = [46, 44, 50, 56, 36, 42, 48, 46, 50, 52]
    assert n_predictions == {board: {n} for board, n in enumerate(table_10)}
    printed = printed_runs().query("augmented and not thinking and not ray_trace").set_index("model")["n_correct"]
    assert n_correct == printed.to_dict()
