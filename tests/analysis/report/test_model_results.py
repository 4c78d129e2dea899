"""Figures and tables of statistical models in the report are as readable as those of afex and emmeans."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.figures.drawing.subject_styles import looks
from analysis.planned.figures import model_figures
from analysis.planned.models import FittedModel
from analysis.planned.results import run_planned
from analysis.report.html import environment
from analysis.report.planned_section import planned_section
from experiment.study.planned_analyses import PlannedAnalyses

GROUPS = "(1 | participant)"
MODELS = ["mini, temperature 0", "mini, temperature 1"]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Ten people and two runs of two models respond in two conditions at three levels."""
    rng = np.random.default_rng(3)
    names = [*(f"p{n}" for n in range(10)), "r1", "r2", "r3", "r4"]
    table = pd.DataFrame({"participant": np.repeat(names, 24)})
    table["subject"] = table["participant"].map(
        dict.fromkeys(["r1", "r2"], MODELS[0]) | dict.fromkeys(["r3", "r4"], MODELS[1])
    )
    table["subject"] = table["subject"].fillna("people")
    table["kind"] = np.where(table["subject"] == "people", "human", "model")
    table["condition"] = np.tile(["A", "B"], len(table) // 2)
    table["level"] = np.tile(np.repeat([0, 2, 3], 8), len(names))
    table["rt_ms"] = 900 + 40 * (table["condition"] == "B") + rng.normal(0, 60, len(table))
    table["correct"] = (rng.random(len(table)) < 0.7).astype(int)
    return table


def fitted(rows: pd.DataFrame, **planned: Any) -> tuple[FittedModel, dict[str, Any]]:
    """Return a fitted model and its section of the report."""
    plan = PlannedAnalyses.model_validate({"models": {"m": planned}})
    found = run_planned(lambda _: rows, plan)
    assert found.not_computed == []
    (section,) = planned_section(found, plan, {})["models"]
    return found.models["m"], section


def table_of(section: dict[str, Any], title: str) -> tuple[list[str], list[list[str]], bool]:
    """Return the headings and the rows of a table, and whether the report shows the table open."""
    (part,) = (part for part in section["parts"] if part["title"] == title)
    return [column.heading for column in part["table"].columns], part["table"].rows, part["is_open"]


def test_a_coefficient_names_each_factor_and_its_level(rows: pd.DataFrame) -> None:
    model, section = fitted(rows, formula=f"rt_ms ~ subject * condition + factor(level) + {GROUPS}")
    words = [row[0] for row in table_of(section, "Coefficients")[1]]
    assert words == ["(Intercept)", "subject: mini, temperature 1", "subject: people", "condition: B", "level: 2",
                     "level: 3", "subject: mini, temperature 1 × condition: B",
                     "subject: people × condition: B"]  # fmt: skip
    assert [row[0] for row in table_of(section, "Standardized coefficients")[1]] == words
    (forest,) = model_figures(model, 0.95)
    assert forest.name == "m_coefficients"
    assert "condition: B" in forest.svg
    assert "conditionB" not in forest.svg
    assert "conditionB" in set(model.tables()["m.coefficients"]["term"]), "files have R's names"


def test_a_model_with_contrasts_has_a_figure_of_them_and_shows_their_table(rows: pd.DataFrame) -> None:
    asked = {"formula": f"correct ~ subject * condition + {GROUPS}", "family": "binomial"}
    model, section = fitted(rows, **asked, contrasts=[{"of": ["subject"], "by": ["condition"]}])
    forest, _ = model_figures(model, 0.95)
    assert (forest.name, len(forest.data)) == ("m_contrasts", len(model.contrasts[0]))
    assert (
        forest.title
        == "Forest plot: difference of marginal means of subject in log-odds, with 95\u00a0% CI (not adjusted)"
    )
    headings = re.findall(r">(condition: [AB])<", forest.svg)
    assert headings == ["condition: A", "condition: B"]
    assert table_of(section, "Contrasts of marginal means")[2], "the plan requests the contrasts"
    assert not table_of(section, "Coefficients")[2]
    many = [{"of": ["subject", "condition"]}]
    assert not table_of(fitted(rows, **asked, contrasts=many)[1], "Contrasts of marginal means")[2]


def test_subjects_are_lines_with_their_own_styles_and_conditions_are_positions(rows: pd.DataFrame) -> None:
    contrasts = [{"of": ["subject"], "by": ["condition"]}]
    model, _ = fitted(rows, formula=f"rt_ms ~ subject * condition + {GROUPS}", contrasts=contrasts)
    styles = looks([("human", "people"), *(("model", name) for name in MODELS)])
    means = model_figures(model, 0.95, styles)[1]
    assert means.title.startswith("rt_ms, marginal mean with 95\u00a0% CI by condition and subject")
    assert all(styles["model", name].colour.lower() in means.svg.lower() for name in MODELS)


def test_no_line_connects_subjects(rows: pd.DataFrame) -> None:
    def lines_of(factor: str) -> int:
        contrasts = [{"of": [factor]}]
        model, _ = fitted(rows, formula=f"rt_ms ~ subject + condition + {GROUPS}", contrasts=contrasts)
        blue = re.findall(
            r'd="M ([\d.]+) [\d.]+ ?\nL ([\d.]+) [^"]*"[^>]*stroke: #0072b2', model_figures(model, 0.95)[1].svg
        )
        return sum(start != end for start, end in blue)  # Intervals are vertical.

    assert lines_of("condition") == 1
    assert lines_of("subject") == 0


def test_the_table_of_terms_has_one_column_for_the_statistic(rows: pd.DataFrame) -> None:
    _, linear = fitted(rows, formula=f"rt_ms ~ condition + {GROUPS}")
    assert table_of(linear, "Terms")[0] == ["term", "F", "df", "df error", "p"]
    _, logistic = fitted(rows, formula=f"correct ~ condition + {GROUPS}", family="binomial")
    assert table_of(logistic, "Terms")[0] == ["term", "χ²", "df", "p"]
    _, section = fitted(rows, formula=f"rt_ms ~ condition * subject + {GROUPS}")
    assert [row[0] for row in table_of(section, "Terms")[1]] == ["condition", "subject", "condition × subject"]
    others = section["term_sentences"][-1]
    assert re.search(r"condition × subject, F\(2, [\d.,]+\) = [\d.]+, p = [\d.]+\.$", others), "with its test"
    of_fit = dict(map(tuple, table_of(section, "Fit")[1]))
    assert (of_fit["n"], of_fit["converged"]) == ("336", "yes")
    assert re.fullmatch(r"−1,[\d.]+", of_fit["log-likelihood"])
    assert table_of(fitted(rows, formula=f"rt_ms ~ 1 + {GROUPS}")[1], "Terms")[1] == []


def test_an_analysis_of_variance_has_one_sentence_and_one_line_for_each_effect(rows: pd.DataFrame) -> None:
    people = rows[rows["kind"] == "human"]
    anova = {"test": "anova", "of": "rt_ms", "per": "participant", "within": ["condition", "level"]}
    t = {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition"}
    plan = PlannedAnalyses.model_validate({"tests": {"a": anova, "t": t}})
    found = run_planned(lambda _: people, plan)
    section = planned_section(found, plan, {})
    of_anova, of_t = section["test_sentences"]
    assert of_anova["words"] == (
        "a: Repeated-measures analysis of variance with 2 factors (type III) of rt_ms (n = 10\u00a0participants):"
    )
    beginnings = ["Main effect of condition (A, B): F(1, 9) = ", "Main effect of level (0, 2, 3): F(",
                  "Interaction condition × level: F("]  # fmt: skip
    assert [effect[: len(begin)] for effect, begin in zip(of_anova["effects"], beginnings, strict=True)] == beginnings
    assert all("generalized eta squared" in effect for effect in of_anova["effects"])
    assert (of_t["effects"], of_t["words"][:10]) == ([], "t: Paired ")
    page = (
        environment()
        .get_template("planned.html")
        .render(planned=section, registration={"is_recorded": True, "deviations": []})
    )
    assert page.split('id="tests"')[1].count("<li>") >= 5
    assert "eta squared 0.000" not in page
