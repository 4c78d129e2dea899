"""`equipoise analyze` with a plan: published numbers from any table, a study's models and tests, locking the plan."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import equipoise as eq
from analysis.result import TableAnalysis
from equipoise.cli.main import main
from equipoise.studies import copy_sample_study

Edit = Callable[[Path, str, str], None]

GAMES = """\
subject: model
flags: {perfect: {atoms_correct: 4}}
tables:
  by_prompt: {by: [model, prompt, thinking], of: [atoms_correct, score, rays_used]}
  leaderboard:
    {by: [model, prompt, thinking], of: [atoms_correct, score, perfect], order_by: [-atoms_correct, score], first: 10}
models:
  atoms:
    formula: "atoms_correct ~ model * prompt * thinking + vot_grid + vot_ray + vot_hypothesis + mean_cells_per_ray
      + mean_atoms_per_ray + (1 | config_index)"
    family: gaussian
    reference: {model: Haiku 4.5, prompt: baseline}
    term_tests: treatment
    contrasts: [{of: [prompt, thinking], adjust: tukey}]
"""
ANSWERS = """\
tests:
  text_vs_image: {test: t, of: strict, per: participant, between: text_or_image, where: {one_shot: 0}}
  from_sums: {test: t, of: strict, per: participant, between: text_or_image, where: {one_shot: 0}, summary: sum}
  zero_vs_one: {test: t, of: strict, per: participant, between: one_shot, where: {text_or_image: text}}
"""
IN_STUDY = """\
  by: [outcome]
  models:
    accuracy:
      formula: "correct ~ subject * outcome + (1 | item_id)"
      reference: {subject: people}
  tests:
    outcomes: {test: anova, of: correct, per: participant, within: outcome}
"""


def analyze(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["analyze", *map(str, arguments)])


def done(*arguments: str | Path) -> str:
    result = analyze(*arguments)
    if result.exit_code != 0:
        raise AssertionError(result.output) from result.exception
    return result.output


def csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def cell(table: pd.DataFrame, column: str, **levels: Any) -> float:
    for factor, level in levels.items():
        table = table[table[factor] == level]
    assert len(table) == 1
    return float(table[column].iloc[0])


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_the_published_games_give_the_published_numbers(test_data: Path, tmp_path: Path, plan: Any) -> None:
    out = tmp_path / "out"
    done("--data", test_data / "blackbox" / "play_games.csv", "--plan", plan(GAMES), "-o", out)
    table = csv(out / "tables/by_prompt.csv")
    haiku = {"model": "Haiku 4.5", "prompt": "augmented", "thinking": True}
    assert cell(table, "n", **haiku) == 40
    assert [round(cell(table, f"{column}_{what}", **haiku), 2)
            for column, what in (("atoms_correct", "mean"), ("atoms_correct", "sd"), ("score", "mean"), ("score", "sd"),
                                 ("rays_used", "mean"))] == [1.77, 1.44, 26.40, 10.17, 10.95]  # fmt: skip
    first = csv(out / "tables/leaderboard.csv").iloc[0]
    assert (first["model"], first["prompt"], first["thinking"]) == ("Opus 4.5", "augmented", True)
    assert (round(first["atoms_correct_mean"], 2), round(first["atoms_correct_se"], 2)) == (1.8, 0.22)
    assert (first["score_mean"], first["perfect_mean"]) == (25.875, 0.15)
    anova = csv(out / "models/atoms.anova.csv")
    assert list(anova) == ["term", "test", "statistic_name", "statistic", "df", "df_error", "p_value"]
    assert set(anova["test"]) == {"treatment"}
    assert round(cell(anova, "statistic", term="prompt:thinking"), 4) == 15.3121
    assert round(cell(anova, "statistic", term="mean_cells_per_ray"), 4) == 14.2036
    random = csv(out / "models/atoms.random.csv")
    assert list(random) == ["group", "term", "sd"]
    assert round(cell(random, "sd", group="config_index"), 5) == 0.86425
    assert round(cell(random, "sd", group="Residual"), 5) == 0.79650
    fit = csv(out / "models/atoms.fit.csv")
    assert list(fit) == ["n", "loglik", "aic", "bic", "icc_adjusted", "r2_marginal", "r2_conditional", "rmse",
                         "converged", "singular"]  # fmt: skip
    assert fit.loc[0, ["icc_adjusted", "r2_conditional", "r2_marginal"]].astype(float).round(3).tolist() == [
        0.541, 0.597, 0.123,
    ]  # fmt: skip
    coefficients = csv(out / "models/atoms.coefficients.csv")
    assert list(coefficients) == ["term", "estimate", "std_error", "statistic", "df", "p_value", "ci_low", "ci_high"]
    assert "modelOpus 4.5:promptaugmented:thinkingTrue" in set(coefficients["term"])
    assert len(csv(out / "models/atoms.contrasts.csv")) == 6
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "play_games.csv" in report
    assert "prompt × thinking: χ²(1) = 15.312, p &lt; .001" in report
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".pdf", ".csv"}


def test_the_published_tests_have_their_paired_forms_too(test_data: Path, tmp_path: Path, plan: Any) -> None:
    out = tmp_path / "out"
    done("--data", test_data / "ir" / "human_answers.csv", "--plan", plan(ANSWERS), "-o", out)
    tests = csv(out / "tests.csv")
    row = tests[(tests["name"] == "text_vs_image")].iloc[0]
    assert (round(abs(row["statistic"]), 4), round(row["p_value"], 4), row["df"], row["n"]) == (0.6928, 0.4906, 72, 74)
    sums = tests[(tests["name"] == "from_sums")].iloc[0]
    assert (round(abs(sums["statistic"]), 4), round(sums["p_value"], 4)) == (0.7409, 0.4612)
    assert "sum of its rows" in sums["warnings"]
    forms = tests[tests["name"] == "zero_vs_one"].set_index("form")
    assert forms["statistic"].round(4).to_dict() == {"main test": -1.8633, "paired form": -2.8254}
    assert "treats them as independent" in forms.loc["main test", "warnings"]
    assert {"p_holm", "p_bh"} <= set(tests)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Fix: give the folder of a study"),
        (["study", "--plan", "p.yaml", "-o", "out"], "Fix: give the folder of a study"),
        (["study", "--data", "d.csv", "-o", "out"], "Fix: give the folder of a study"),
        (["study"], "no folder for the results is named"),
        (["--plan", "p.yaml", "-o", "out"], "no table is named. Fix: name a CSV file with --data"),
        (["--data", "d.csv", "--plan", "p.yaml", "--study-version", "1", "-o", "out"], "need a study"),
        (["--data", "d.csv", "--plan", "nowhere.yaml", "-o", "out"], "nowhere.yaml: this file does not exist"),
    ],
)
def test_arguments_that_do_not_fit_together_are_refused(arguments: list[str], message: str) -> None:
    result = analyze(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("data", "text", "message"),
    [
        ("a,b\n1,2\n", "tables: {t: {by: [a], of: [c]}}", "the table `t`: there is no column `c` in the data"),
        ("a,b\n1,2\n", "tables: {t: {by: [a], of: [b], where: {a: 7}}}", "`a` has no level 7. Fix: choose one of 1"),
        ("a,b\nx,2\n", "tables: {t: {by: [b], of: [a]}}", "contains text, such as 'x'"),
        (
            "a,b\n1,2\n",
            "subject: model\ntables: {t: {by: [a], of: [b]}}",
            "`subject: model`, but the file has no column",
        ),
        ("a,b\n1,2\n", "confidence: 0.9", "the plan is empty"),
        ("a,b\n1,2\n", "models: {m: {formula: 'b ~ a + (1 | z)'}}", "the model `m`:"),
        ("a,b\n1,2\n", "tests: {t: {test: t, of: b, between: a}}", "line 1"),
        ("", "tables: {t: {by: [a], of: [b]}}", "the file is empty"),
        ("a,a\n1,2\n", "tables: {t: {by: [a], of: [a]}}", "duplicate column `a`"),
        ("a,b\n1,2,3\n", "tables: {t: {by: [a], of: [b]}}", "line 2: this row has 3 cells, but the header has 2"),
        ("a;b\n1;2\n", "tables: {t: {by: [a], of: [b]}}", "not separated by commas"),
    ],
)
def test_odd_data_and_plans_get_a_sentence_and_leave_nothing(
    tmp_path: Path, plan: Any, data: str, text: str, message: str
) -> None:
    (tmp_path / "data.csv").write_text(data, encoding="utf-8")
    result = analyze("--data", tmp_path / "data.csv", "--plan", plan(text), "-o", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a study, whose plan was locked before twelve simulated participants, and the lock's digest."""
    study = tmp_path_factory.mktemp("locked") / "study"
    copy_sample_study("blackbox-predict", study)
    text = (study / "study.yaml").read_text(encoding="utf-8")
    assert "  by: [outcome]\n" in text
    (study / "study.yaml").write_text(text.replace("  by: [outcome]\n", IN_STUDY), encoding="utf-8")
    digest = done(study, "--lock").strip().removesuffix(".").split()[-1]
    command("simulate", study, "-n", "12")
    return study, digest


@pytest.fixture
def study(locked: tuple[Path, str], tmp_path: Path) -> Path:
    """Return a copy of the study with a locked plan."""
    return Path(shutil.copytree(locked[0], tmp_path / "study"))


def command(*arguments: str | Path) -> None:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def test_a_study_is_analyzed_by_its_locked_plan_and_deviations_are_reported(
    study: Path, locked: tuple[Path, str], edit: Edit
) -> None:
    _, digest = locked
    assert len(digest) == 64
    again = analyze(study, "--lock")
    assert again.exit_code == 2
    assert "was already locked at" in again.stderr
    command("models", "run", study, "--model", "baseline/tracer")
    out = study / "results"
    done(study, "-o", out)
    report = (out / "report.html").read_text(encoding="utf-8")
    assert digest in report
    assert "before the start of the first session" in report
    assert "The plan of this analysis is identical to the locked plan." in report
    assert ">exploratory<" not in report
    assert cell(csv(out / "models/accuracy.anova.csv"), "df", term="subject:outcome") == 2
    assert list(csv(out / "tests.csv")["name"]) == ["outcomes"]
    assert set(csv(out / "tables/sensitivity_models.csv")["rules"]) >= {"with all rules", "without any rule"}

    edit(study / "study.yaml", "min_ms: 2000", "min_ms: 1500")
    edit(study / "study.yaml", "    outcomes: {test: anova", "    other: {test: anova")
    done(study, "-o", out)
    manifest = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    deviations = " ".join(manifest["preregistration"]["deviations"])
    assert "`exclusions` was" in deviations
    assert "The test `outcomes` is in the locked plan, but not in the plan of this analysis." in deviations
    assert "The test `other` was not locked, so it is exploratory." in deviations
    assert ">exploratory<" in (out / "report.html").read_text(encoding="utf-8")
    assert list(csv(out / "tests.csv")["exploratory"]) == [True]
    assert {"with all rules", "as locked"} <= set(csv(out / "tables/sensitivity_models.csv")["rules"])


def test_results_that_cannot_be_computed_yet_are_listed(study: Path) -> None:
    out = study / "results"
    result = analyze(study, "-o", out, "--require-all")
    assert result.exit_code == 1
    assert f"The report is {out / 'report.html'}" in result.stdout
    heading, line = result.stderr.splitlines()
    assert heading == "1 result of the plan could not be computed:"
    assert line.startswith("- the model `accuracy`: `subject` has only one level")
    assert [f"- {one}" for one in json.loads((out / "provenance.json").read_text())["not_computed"]] == [line]
    report = (out / "report.html").read_text(encoding="utf-8")
    _, _, summary = report.partition('<h2 id="summary">')
    assert "1\u00a0result of the plan could not be computed" in summary.partition("</li>")[0]
    assert "Results that could not be computed" in report
    assert "<code>subject</code> has only one level" in report
    assert not (out / "models").exists()
    assert list(csv(out / "tests.csv")["name"]) == ["outcomes"]


def test_a_result_that_cannot_be_computed_does_not_stop_the_others(
    tmp_path: Path, plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b\nx,1\ny,2\nx,4\n", encoding="utf-8")
    missing = "".join(f"  t{n}: {{by: [a], of: [c{n}]}}\n" for n in range(12))
    plan("tables:\n  good: {by: [a], of: [b]}\n" + missing)
    result = analyze("--data", "data.csv", "--plan", "plan.yaml", "-o", "out")
    assert result.exit_code == 0
    heading, *lines = result.stderr.splitlines()
    assert heading == "12 results of the plan could not be computed:"
    assert lines[0] == "- the table `t0`: there is no column `c0` in the data. Fix: choose one of a, b."
    assert lines[10:] == [f"- and 2 more: see `not_computed` in {Path('out/provenance.json')}."]
    assert [path.name for path in Path("out/tables").iterdir()] == ["good.csv"]
    assert len(json.loads(Path("out/provenance.json").read_text())["not_computed"]) == 12
    _, _, summary = Path("out/report.html").read_text(encoding="utf-8").partition('<h2 id="summary">')
    assert "12\u00a0results of the plan could not be computed" in summary.partition("</li>")[0]

    made = eq.analyze(data="data.csv", plan="plan.yaml", output="by-function")
    assert isinstance(made, TableAnalysis)
    assert len(made.planned.not_computed) == 12
    with pytest.raises(eq.InputError, match=r"(?s)^12 results of the plan could not be computed:.*`t9`"):
        eq.analyze(data="data.csv", plan="plan.yaml", output="by-function", require_all=True)

    plan("tables:\n  good: {by: [a], of: [b]}\n")
    complete = analyze("--data", "data.csv", "--plan", "plan.yaml", "-o", "out", "--require-all")
    assert (complete.exit_code, complete.stderr) == (0, "")
    _, _, summary = Path("out/report.html").read_text(encoding="utf-8").partition('<h2 id="summary">')
    assert "could not be computed" not in summary


MISTAKES = """\
  by: [outcome]
  flags:
    lost: {outcome: absorbt}
  models:
    accuracy:
      formula: "correct ~ subject * (outcome + (1 | item_id)"
    speed:
      formula: "rt_ms ~ outcom + (1 | participant)"
      reference: {subject: people}
  tests:
    outcomes: {test: anova, of: correct, per: participant, within: outcome}
"""


def test_warnings_of_the_report_about_tests_and_models_are_listed(
    tmp_path: Path, plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"P{who},{level}{copy},{level},{'xy'[copy]},{int((who**2 + 3 * copy + 2 * level * who) % 5 < level)}"
        for who in range(8)
        for level in (1, 2, 3)
        for copy in (0, 1)
    ]
    lines = "\n".join(["participant,item_id,level,side,right", *rows])
    Path("data.csv").write_text(f"{lines}\n", encoding="utf-8")
    plan(
        "tests:\n"
        "  note: {test: anova, of: right, per: participant, within: level}\n"
        "  rows: {test: chi_square, of: right, between: side}\n"
        "models:\n  line: {formula: right ~ side}\n"
    )
    result = analyze("--data", "data.csv", "--plan", "plan.yaml", "-o", "out")
    assert result.exit_code == 0
    assert "Sphericity" in Path("out/report.html").read_text(encoding="utf-8"), "a note without a fix"
    heading, of_test, *of_model = result.stderr.splitlines()
    assert heading == "Warnings about results of the plan:"
    assert of_test.startswith("- test rows: The test treats the 48 rows as independent, but several")
    assert [line[:69] for line in of_model] == [
        "- model line: The formula has no random effect for `participant`, but",
        "- model line: The formula has no random effect for `item_id`, but tre",
    ]
    report = re.sub("</?code>", "`", Path("out/report.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    assert all(line.partition(": ")[2][:200] in report for line in (of_test, *of_model))


def test_mistakes_in_the_plan_are_refused_with_their_lines_before_it_is_locked_or_analyzed(
    study_folder: Path, edit: Edit
) -> None:
    path = study_folder / "study.yaml"
    edit(path, "  by: [outcome]\n", MISTAKES)
    line = path.read_text(encoding="utf-8").splitlines().index("  flags:") + 1
    for arguments in (["--lock"], ["-o", study_folder / "results"]):
        result = analyze(study_folder, *arguments)
        assert result.exit_code == 2
        flag, formula, whose, column = result.stderr.removeprefix("Error: ").splitlines()
        assert flag == (
            f"{path}, line {line + 1}: `analysis.flags.lost.outcome`: `outcome` has no level absorbt; did you mean "
            "`absorbed`? Fix: choose one of absorbed, exit, reflected."
        )
        assert formula.startswith(f"{path}, line {line + 4}: `analysis.models.accuracy.formula`: the formula ")
        assert whose.startswith(f"{path}, line {line + 6}: `analysis.models.speed.formula`: `rt_ms` is a response time")
        assert whose.endswith("Fix: write `who: people`.")
        assert column.startswith(
            f"{path}, line {line + 6}: `analysis.models.speed.formula`: the trials have no column `outcom`; did you "
            "mean `outcome`? Fix: "
        )
        assert not (study_folder / "analysis.lock.json").exists()
        assert not (study_folder / "results").exists()


def test_a_plan_for_any_table_with_a_formula_that_cannot_be_read_is_not_locked(tmp_path: Path, plan: Any) -> None:
    text = "models:\n  m:\n    formula: 'b ~ (a'\n    contrasts: [{of: [c]}]\n"
    result = analyze("--plan", plan(text), "--lock")
    assert result.exit_code == 2
    assert f"{tmp_path / 'plan.yaml'}, line 3: `models.m.formula`: the formula `b ~ (a` ends" in result.stderr
    assert not (tmp_path / "plan.lock.json").exists()


def test_an_export_of_a_store_is_analyzed_as_a_study(study: Path, tmp_path: Path, plan: Any) -> None:
    command("models", "run", study, "--model", "baseline/tracer")
    with closing(sqlite3.connect(study / "data/equipoise.db")) as store:
        pd.read_sql("SELECT * FROM trials", store).to_csv(tmp_path / "export.csv", index=False)
    text = "exclusions: [{rule: trial_rt, min_ms: 500}]\nby: [outcome]\nresamples: 1000\n"
    done("--data", tmp_path / "export.csv", "--plan", plan(text), "-o", tmp_path / "out")
    flow = csv(tmp_path / "out/tables/exclusions.csv")
    assert "trial_rt" in set(flow["step"])
    assert (tmp_path / "out/tables/accuracy.csv").exists()


def test_the_analysis_of_a_study_without_planned_tests_needs_no_slow_import() -> None:
    """The imports of scipy.stats and scipy.optimize took a quarter of the imports of `analyze`."""
    program = "import sys, equipoise.commands.analyze; print({'scipy.stats', 'scipy.optimize'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert found.stdout == "set()\n"
