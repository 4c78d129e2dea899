"""The sentences on tests and models claim no more than the numbers show."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.figures.drawing.axes import number_text
from analysis.planned.figures import model_figures
from analysis.planned.results import PlannedResults, run_planned
from analysis.preregistration.deviations import NOT_LOCKED
from analysis.report.formatting import number, p_words
from analysis.report.html import environment
from analysis.report.methods_section import methods_of_data
from analysis.report.planned_section import planned_section
from analysis.report.planned_sentences import (
    _effect_size_words,
    model_words,
    ratio_sentences,
    sentence_of_test,
    term_sentences,
)
from analysis.report.summary import summary_sentences
from analysis.sentences import points
from experiment.study.planned_analyses import PlannedAnalyses

N_ITEMS = 24


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    """People and two models answer the same items in two conditions; the model `tracer` is always right."""
    rng = np.random.default_rng(5)
    names = [*(f"p{number:02d}" for number in range(20)), "mini", "tracer"]
    items = [f"i{number:02d}" for number in range(N_ITEMS)]
    table = pd.DataFrame({"participant": np.repeat(names, N_ITEMS), "item_id": np.tile(items, len(names))})
    table["subject"] = table["participant"].where(table["participant"].isin(["mini", "tracer"]), "people")
    table["condition"] = np.where(table["item_id"].str[1:].astype(int) % 2, "B", "A")
    odds = 0.3 - 0.9 * (table["condition"] == "B") + np.repeat(rng.normal(0, 0.7, len(names)), N_ITEMS)
    table["correct"] = (rng.random(len(table)) < 1 / (1 + np.exp(-odds))).astype(int)
    table.loc[table["subject"] == "tracer", "correct"] = 1
    table["rt_ms"] = 900 + 80 * (table["condition"] == "B") + rng.normal(0, 100, len(table))
    return table


def results(rows: pd.DataFrame, **content: Any) -> tuple[PlannedResults, PlannedAnalyses]:
    plan = PlannedAnalyses.model_validate(content)
    return run_planned(lambda _: rows, plan), plan


GROUPS = "(1 | participant) + (1 | item_id)"


def test_a_model_that_is_always_right_is_never_reported_as_no_effect(trials: pd.DataFrame) -> None:
    found, plan = results(trials, models={"m": {"formula": f"correct ~ subject + {GROUPS}", "family": "binomial"}})
    (summary,) = summary_sentences(found, plan)
    assert summary == (
        "Model `m`: significant: subject (p < 0.05, not corrected for the number of terms, with bias reduction because "
        "of separation)."
    )
    (sentence,) = term_sentences(found.models["m"], 0.95)
    assert sentence.startswith("subject: χ²(2) = ")
    assert "(Firth's bias reduction)" in model_words(found.models["m"])
    warning = planned_section(found, plan, {})["models"][0]["warnings"][0]
    assert warning.startswith("Every outcome is 1 at `subject` tracer (separation)")
    methods = methods_of_data(plan, found, "1.0")
    assert "were fitted by maximum likelihood" not in " ".join(methods.paragraphs)
    assert "The likelihood of m has no finite maximum (separation), so Firth's bias reduction (1993) was used, " in (
        " ".join(methods.paragraphs)
    )
    assert any(work.startswith("Firth, D. (1993)") for work in methods.references)


def test_a_term_without_a_test_is_not_estimated_and_not_called_insignificant(trials: pd.DataFrame) -> None:
    gap = trials[(trials["subject"] != "mini") | (trials["condition"] != "B")]
    found, plan = results(gap, models={"m": {"formula": f"rt_ms ~ subject * condition + {GROUPS}"}})
    sentences = term_sentences(found.models["m"], plan.confidence)
    assert sentences == ["Not estimated: subject, condition, subject × condition."]
    assert summary_sentences(found, plan) == ["Model `m`: not estimated: subject, condition, subject × condition."]


def test_a_fit_that_did_not_converge_has_no_significant_term(trials: pd.DataFrame) -> None:
    found, plan = results(trials, models={"m": {"formula": f"rt_ms ~ condition + {GROUPS}"}})
    found.models["m"].model.fit["converged"] = False
    assert summary_sentences(found, plan) == ["Model `m`: the fit did not converge, so no term was tested."]
    assert term_sentences(found.models["m"], 0.95) == ["No term was tested, because the fit did not converge."]


def test_each_table_of_terms_says_which_tests_it_has(trials: pd.DataFrame) -> None:
    formula = f"rt_ms ~ subject * condition + {GROUPS}"
    planned = {"formula": formula, "reference": {"subject": "people"}}
    models = {"one": planned, "two": planned | {"term_tests": "treatment"}}
    found, plan = results(trials, models=models)
    one, two = planned_section(found, plan, {})["models"]
    assert [model["parts"][0]["note"] for model in (one, two)] == [
        "Joint tests (type III): each term is tested over all levels of the other factors, with equal weights. F tests "
        "have Satterthwaite's degrees of freedom.",
        "Type III Wald χ² tests with treatment contrasts. The main effect of a factor is its effect at the reference "
        "levels of the other factors that interact with this factor.",
    ]
    assert any(sentence.startswith("condition: F(1, ") for sentence in one["term_sentences"])
    assert any(sentence.startswith("condition: χ²(1) = ") for sentence in two["term_sentences"])
    text = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert "The terms of one were tested by F tests over all levels of the other factors" in text
    assert "The terms of two were tested by Wald χ² tests of treatment contrasts" in text


def test_a_significant_term_of_a_linear_model_has_its_effect_size_with_an_interval(trials: pd.DataFrame) -> None:
    models = {"line": {"formula": f"rt_ms ~ condition + {GROUPS}"},
              "logit": {"formula": f"correct ~ condition + {GROUPS}", "family": "binomial"}}  # fmt: skip
    found, plan = results(trials, models=models)
    sizes = found.files()["models/line.effect_sizes"].iloc[0]
    (sentence,) = term_sentences(found.models["line"], 0.95)
    low, high = sizes["partial_eta_squared_ci_low"], sizes["partial_eta_squared_ci_high"]
    assert low < sizes["partial_eta_squared"] < high
    assert sentence.endswith(f", partial η² {sizes['partial_eta_squared']:.3f}, 95\xa0% CI [{low:.3f}, {high:.3f}].")
    assert "models/logit.effect_sizes" not in found.files()
    assert "η²" not in "".join(term_sentences(found.models["logit"], 0.95))
    line, logit = planned_section(found, plan, {})["models"]
    (part,) = (part for part in line["parts"] if part["title"] == "Effect sizes of terms")
    assert [column.heading for column in part["table"].columns] == [
        "term", "partial η²", "partial η², 95\xa0% CI", "partial ω²", "Cohen's f", "Cohen's f, 95\xa0% CI",
    ]  # fmt: skip
    assert all(part["title"] != "Effect sizes of terms" for part in logit["parts"])
    methods = methods_of_data(plan, found, "1.0")
    assert "The effect sizes of the terms of line are partial eta squared, " in " ".join(methods.paragraphs)
    assert any(work.startswith("Steiger, J. H. (2004)") for work in methods.references)


@pytest.mark.parametrize(
    ("formula", "family", "said", "not_said"),
    [
        ("rt_ms ~ condition", "gaussian", "fitted by least squares", ("restricted", "Satterthwaite")),
        (f"rt_ms ~ condition + {GROUPS}", "gaussian", "restricted maximum likelihood", ("least squares",)),
        ("correct ~ condition", "binomial", "by maximum likelihood, with glmm", ("mixed", "Laplace", "Satterthwaite")),
        (f"correct ~ condition + {GROUPS}", "binomial", "with Laplace's approximation", ("restricted",)),
    ],
)
def test_the_methods_name_the_estimation_that_was_used(
    trials: pd.DataFrame, formula: str, family: str, said: str, not_said: tuple[str, ...]
) -> None:
    people = trials[trials["subject"] == "people"]
    found, plan = results(people, models={"m": {"formula": formula, "family": family}})
    text = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert said in text
    assert not any(words in text for words in not_said)


@pytest.mark.parametrize("n_pairs", [30, 200])
def test_a_difference_without_an_interval_has_a_sentence_without_an_interval(n_pairs: int) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"unit": np.repeat(np.arange(n_pairs), 2).astype(str), "side": ["a", "b"] * n_pairs,
                         "correct": rng.integers(0, 2, 2 * n_pairs)})  # fmt: skip
    test = {"test": "chi_square", "of": "correct", "per": "unit", "within": "side"}
    found, plan = results(rows, tests={"m": test})
    sentence = sentence_of_test(found.tests.iloc[0].to_dict(), plan)
    difference, effect = sentence.split("; ")[-2:]
    assert difference.startswith("difference ")
    assert "[" not in difference
    assert re.match(r"Cohen's g \S+, 95\xa0% CI \[", effect)


@pytest.mark.parametrize(
    ("correction", "is_shown", "said"),
    [("holm", False, "Holm-corrected p = .064"), ("bh", True, "Benjamini-Hochberg-corrected p = .032"),
     ("none", True, "; p = .032)")],
)  # fmt: skip
def test_equivalence_is_decided_by_the_corrected_p(correction: str, is_shown: bool, said: str) -> None:
    difference = np.linspace(-1, 1, 20)
    rows = pd.DataFrame({"unit": np.tile(np.arange(20), 2).astype(str), "side": np.repeat(["a", "b"], 20)})
    rows["one"] = rows["two"] = np.concatenate([difference, np.zeros(20)])
    margin = 1.969 * difference.std(ddof=1) / np.sqrt(20)
    test = {"test": "t", "per": "unit", "within": "side", "equivalence_margin": margin}
    tests = {name: test | {"of": name} for name in ("one", "two")}
    found, plan = results(rows, tests=tests, correction=correction)
    of_equivalence = found.tests[found.tests["form"] == "equivalence"]
    for row in of_equivalence.to_dict("records"):
        sentence = sentence_of_test(row, plan)
        assert said in sentence
        assert ("p = .032, " in sentence) == (correction != "none")
        assert ("do not show" not in sentence) == is_shown
    summary = " ".join(summary_sentences(found, plan))
    how = {
        "holm": " after Holm correction (p < 0.05)",
        "bh": " after Benjamini-Hochberg correction (p < 0.05)",
        "none": " (p < 0.05, not corrected for the number of tests)",
    }[correction]
    shown_in = "2 of 2\u00a0tests (one, two)" if is_shown else "0 of 2\u00a0tests"
    assert f"Equivalence (difference smaller than the margin){how}: shown in {shown_in}." in summary


def test_a_table_of_means_says_what_the_units_of_its_errors_are(trials: pd.DataFrame) -> None:
    def said(rows: pd.DataFrame, **planned: Any) -> str:
        found, plan = results(rows, tables={"t": {"by": ["subject"], "of": ["correct"]} | planned})
        return str(planned_section(found, plan, {})["tables"][0]["words"])

    of_rows = "Standard errors and confidence intervals treat the rows as independent."
    of_units = (
        "are computed from the units in the column unit ({}), because the rows of one unit are not independent. So "
        "they generalize only to other units of this kind."
    )
    of_yes_no = "The interval of a column with only yes and no (1 and 0) is Wilson's interval."
    alone = "A cell with fewer than two units has no standard error and no interval."
    assert of_rows in said(trials.drop(columns="participant"))
    assert of_rows in said(trials, by=["participant"])
    people = said(trials[trials["subject"] == "people"])
    assert of_units.format("participant") in people
    assert of_yes_no in people
    assert alone not in people
    assert said(trials).endswith(alone)
    with_kind = trials.assign(kind=np.where(trials["subject"] == "people", "human", "model"))
    assert of_units.format("item, participant") in said(with_kind)
    assert alone not in said(with_kind)


def test_a_formula_without_participants_or_items_has_a_warning(trials: pd.DataFrame) -> None:
    def warnings(formula: str) -> tuple[str, ...]:
        said = results(trials, models={"m": {"formula": formula}})[0].models["m"].warnings
        return tuple(sentence for sentence in said if "random effect for" in sentence or "random slope" in sentence)

    of_participants, of_slopes = warnings("rt_ms ~ condition + subject + (1 | item_id)")
    assert of_participants.startswith("The formula has no random effect for `participant`")
    assert of_participants.endswith("Fix: add `(1 | participant)`.")
    assert of_slopes.startswith("Effects without a random slope: `subject` in `item_id`.")
    (of_items,) = warnings("rt_ms ~ subject + (1 | participant)")
    assert of_items.startswith("The formula has no random effect for `item_id`")
    assert warnings("rt_ms ~ subject + (1 | participant) + (1 + subject | item_id)") == ()
    (of_slopes,) = warnings(f"rt_ms ~ condition + {GROUPS}")
    assert of_slopes.startswith("Effects without a random slope: `condition` in `participant`.")
    assert "(1 + condition | participant)" in of_slopes
    # The groups of any random effect are checked, not only participants and items.
    other = trials.rename(columns={"item_id": "story", "participant": "person"})
    found = results(other, models={"m": {"formula": "rt_ms ~ subject + (1 | story) + (1 | person)"}})[0]
    assert "Effects without a random slope: `subject` in `story`." in found.models["m"].warnings[0]
    means = trials.groupby(["participant", "subject"], as_index=False)["rt_ms"].mean()
    assert results(means, models={"m": {"formula": "rt_ms ~ subject"}})[0].models["m"].warnings == ()


def test_many_models_and_tests_are_two_lines_of_the_summary(trials: pd.DataFrame) -> None:
    people = trials[trials["subject"] == "people"]
    clear = {"formula": f"rt_ms ~ condition + {GROUPS}"}
    nothing = {"formula": f"rt_ms ~ half + {GROUPS}"}
    half = people.assign(half=np.where(people["participant"] < "p10", "first", "second"))
    tests = {name: {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition"} for name in ("t1", "t2")}
    found, plan = results(half, models={"a": clear, "b": nothing, "c": clear}, tests=tests)
    of_tests, of_models = summary_sentences(found, plan)
    assert of_tests == "Significant planned tests after Holm correction (p < 0.05): 2 of 2 (t1, t2)."
    assert of_models == (
        "3 statistical models (p < 0.05, not corrected for the number of terms). With a significant term: `a`, `c`. "
        "Without a significant term: `b`."
    )


def test_the_methods_cite_the_source_of_the_words_for_bayes_factors(trials: pd.DataFrame) -> None:
    test = {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition"}
    found, plan = results(trials, tests={"t": {**test, "bayes_factor": True}})
    methods = methods_of_data(plan, found, "1.0")
    assert "evidence for the" in sentence_of_test(found.tests.iloc[0], plan)
    assert (
        "The words for the strength of the evidence against the null hypothesis are those of Jeffreys (1961)."
    ) in methods.paragraphs[0]
    assert any(reference.startswith("Jeffreys, H. (1961).") for reference in methods.references)
    found, plan = results(trials, tests={"t": test})
    assert "Jeffreys" not in methods_of_data(plan, found, "1.0").paragraphs[0]


def test_a_summary_never_denies_tests_and_models_that_are_exploratory(trials: pd.DataFrame) -> None:
    test = {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition", "exploratory": True}
    model = {"formula": f"rt_ms ~ condition + {GROUPS}", "exploratory": True}
    table = {"by": ["condition"], "of": ["correct"]}
    found, plan = results(trials, tests={"t": test}, models={"m": model}, tables={"means": table})
    assert summary_sentences(found, plan) == [
        "No confirmatory results. These analyses are exploratory: tests, statistical models."
    ]
    found, plan = results(trials, tables={"means": table})
    assert summary_sentences(found, plan) == ["1\u00a0table of means; no test or model was computed."]


def test_a_summary_of_many_models_says_that_terms_are_not_estimated(trials: pd.DataFrame) -> None:
    """Two factors with the same levels are redundant, so neither has a test."""
    people = trials[trials["subject"] == "people"].assign(copy=lambda rows: rows["condition"])
    redundant = {"formula": f"rt_ms ~ half + condition + copy + {GROUPS}"}
    half = people.assign(half=np.where(people["participant"] < "p10", "first", "second"))
    found, plan = results(half, models=dict.fromkeys("abc", redundant))
    (of_models,) = summary_sentences(found, plan)
    assert "Without a significant term, but some terms are not estimated: `a`, `b`, `c`" in of_models


def test_runs_of_models_among_the_participants_are_explained(trials: pd.DataFrame) -> None:
    formula = {"formula": f"rt_ms ~ subject + {GROUPS}"}
    with_kinds = trials.assign(kind=np.where(trials["subject"] == "people", "human", "model"))
    said = results(with_kinds, models={"m": formula})[0].models["m"].warnings
    assert any(sentence.startswith("For models, each run is one level of `participant`.") for sentence in said)
    people = with_kinds[with_kinds["kind"] == "human"]
    said = results(people, models={"m": {"formula": f"rt_ms ~ condition + {GROUPS}"}})[0].models["m"].warnings
    assert not any("each run is one level" in sentence for sentence in said)


def test_each_test_has_the_units_of_its_numbers(trials: pd.DataFrame) -> None:
    """A difference of shares is in points, in sentences and in the table. n has its unit."""
    paired = {"test": "t", "per": "participant", "within": "condition", "equivalence_margin": 0.25}
    tests = {
        "share": paired | {"of": "correct"},
        "sum": paired | {"of": "correct", "summary": "sum"},
        "time": paired | {"of": "rt_ms", "equivalence_margin": 50},
        "items": {"test": "t", "of": "correct", "per": "item_id", "between": "condition"},
        "counts": {"test": "chi_square", "of": "correct", "between": "condition"},
    }
    people = trials[trials["subject"] == "people"]
    found, plan = results(people, tests=tests)
    rows = {(row["name"], row["form"]): row for row in found.tests.to_dict("records")}
    said = {key: sentence_of_test(row, plan).replace("\u00a0", " ") for key, row in rows.items()}
    share = rows["share", "main test"]
    low, high = (f"{100 * share[column]:+.1f}".replace("-", "−") for column in ("ci_low", "ci_high"))
    assert f"difference {100 * share['estimate']:+.1f} points, 95 % CI [{low}, {high}]" in said["share", "main test"]
    assert "of ±25 points (90 % CI [+" in said["share", "equivalence"]
    assert "Equivalence between −25.0 and +25.0 points by two one-sided tests" in said["share", "equivalence"]
    assert "of ±50 ms (90 % CI [" in said["time", "equivalence"]
    assert "Equivalence between −50 and 50 ms by two one-sided tests" in said["time", "equivalence"]
    assert f"difference −{-rows['time', 'main test']['estimate']:.1f} ms, 95 % CI [" in said["time", "main test"]
    assert "ms" not in said["sum", "main test"]
    assert "points" not in said["sum", "main test"] + said["time", "main test"]
    units = {name: said[name, "main test"].rpartition("(n = ")[2] for name in tests}
    assert units == {"share": "20 participants).", "sum": "20 participants).", "time": "20 participants).",
                     "items": "24 items).", "counts": "480 rows)."}  # fmt: skip
    shown_tests = planned_section(found, plan, {})["tests"]
    at = {column.heading: place for place, column in enumerate(shown_tests.columns)}
    shown = {(cells[0], cells[1]): cells for cells in shown_tests.rows}
    for name, unit in {"share": "points", "sum": "correct", "time": "rt_ms", "items": "points", "counts": ""}.items():
        assert shown[name, "main test"][at["unit of estimate and CI"]] == unit
    assert "between −25.0 and +25.0 points" in shown["share", "equivalence"][at["test"]]
    cells = shown["share", "main test"]
    assert cells[at["estimate"]] == f"{100 * share['estimate']:+.1f}"
    assert cells[at["CI"]] == f"[{low}, {high}]"
    assert cells[at["unit of n"]] == "participant"
    time = rows["time", "main test"]
    low, high = (f"{time[column]:.1f}".replace("-", "−") for column in ("ci_low", "ci_high"))
    assert shown["time", "main test"][at["estimate"]] == f"{time['estimate']:.1f}".replace("-", "−")
    assert shown["time", "main test"][at["CI"]] == f"[{low}, {high}]"
    renamed = people.rename(columns={"participant": "person_id"})
    found, plan = results(renamed, tests={"share": paired | {"of": "correct", "per": "person_id"}})
    assert sentence_of_test(found.tests.iloc[0], plan).endswith("(n = 20, unit: person_id).")
    # Runs of models are not participants.
    with_kind = trials.assign(kind=np.where(trials["subject"] == "people", "human", "model"))
    for rows_of, unit in ((with_kind, "participants and runs"), (with_kind[with_kind["kind"] == "model"], "runs")):
        found, plan = results(rows_of, tests={"share": paired | {"of": "correct"}})
        assert sentence_of_test(found.tests.iloc[0], plan).endswith(f"\u00a0{unit}).")


def test_contrasts_say_what_is_adjusted_and_over_which_family(trials: pd.DataFrame) -> None:
    contrasts = [
        {"of": ["subject"], "by": ["condition"], "adjust": "tukey"},
        {"of": ["subject"], "adjust": "none"},
        {"of": ["condition"], "by": ["subject"]},
        {"of": ["subject", "condition"], "adjust": "holm"},
    ]
    formula = "rt_ms ~ subject * condition + (1 | participant)"
    found, plan = results(trials, models={"m": {"formula": formula, "contrasts": contrasts}})
    parts = {part["file"]: part["note"] for part in planned_section(found, plan, {})["models"][0]["parts"]}
    tukey, none, single, holm = (parts[f"m.contrasts_{number}"] for number in (1, 2, 3, 4))
    assert "adjusted by Tukey's method (1949) for the family of 3 contrasts at each level of condition." in tukey
    assert "adjusted by Holm's method (1979) for the family of 15 contrasts. Contrasts in other tables" in holm
    for note in (tukey, holm):
        assert "The CIs are not adjusted" in note
    assert none.endswith("Neither p values nor CIs are adjusted for the number of contrasts (3 contrasts).")
    assert single.endswith("There is one contrast at each level of subject, so p values and CIs need no adjustment.")
    methods = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert methods.count("The confidence intervals of contrasts were not adjusted.") == 1
    assert "were adjusted by Tukey's method (1949) or Holm's method (1979), separately for each set" in methods
    alone, plan = results(trials, models={"m": {"formula": formula, "contrasts": [contrasts[2], contrasts[1]]}})
    assert "adjusted by" not in " ".join(methods_of_data(plan, alone, "1.0").paragraphs), "one contrast at each level"
    # The intervals are those of a single contrast.
    table = found.models["m"].contrasts[0].iloc[0]
    half = stats.t.ppf(0.975, table["df"]) * table["std_error"]
    assert table["ci_high"] == pytest.approx(table["estimate"] + half, rel=1e-6)


def test_the_families_of_the_correction_are_stated(trials: pd.DataFrame) -> None:
    """Each kind of equivalence test is a family: the sentence is true for the corrected p values."""
    paired = {"test": "t", "of": "correct", "per": "participant", "within": "condition"}
    people = trials[trials["subject"] == "people"]
    plain, plan = results(people, tests={"a": paired, "b": paired | {"of": "rt_ms"}})
    apart = "Equivalence tests are families of their own"
    methods_apart = "Equivalence tests were corrected apart from the other tests of their family."
    assert apart not in page_of(plain, plan)
    assert methods_apart not in " ".join(methods_of_data(plan, plain, "1.0").paragraphs)
    margins = {"a": paired | {"equivalence_margin": 0.2}, "b": paired | {"of": "rt_ms", "equivalence_margin": 50},
               "c": paired | {"exploratory": True}}  # fmt: skip
    found, plan = results(people, tests=margins)
    assert apart in page_of(found, plan)
    methods = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert methods_apart in methods
    assert "Confirmatory and exploratory tests were corrected separately." in methods
    for form in ("main test", "equivalence"):
        family = found.tests[(found.tests["form"] == form) & ~found.tests["exploratory"].astype(bool)]
        assert family["p_holm"].min() == pytest.approx(2 * family["p_value"].min())


def page_of(found: PlannedResults, plan: PlannedAnalyses) -> str:
    """Return the section of the report on tests and models."""
    section = planned_section(found, plan, {})
    return environment().get_template("planned.html").render(planned=section, registration=NOT_LOCKED)


def test_welchs_test_within_units_is_called_a_paired_test(trials: pd.DataFrame) -> None:
    test = {"of": "correct", "per": "participant", "within": "condition"}
    people = trials[trials["subject"] == "people"]
    found, plan = results(people, tests={"w": test | {"test": "welch_t"}, "t": test | {"test": "t"}})
    welch, student = found.tests.to_dict("records")
    assert {name: value for name, value in welch.items() if name not in {"name", "warnings"}} == pytest.approx(
        {name: value for name, value in student.items() if name not in {"name", "warnings"}}, nan_ok=True
    )
    assert sentence_of_test(welch, plan).startswith("w: Paired t test of correct")
    (warning,) = planned_section(found, plan, {})["test_warnings"]
    assert warning.startswith("w: The plan has `welch_t` within units, so this is the paired t test.")
    methods = methods_of_data(plan, found, "1.0")
    assert "The plan names Welch's t test within units for w; this is the paired t test." in methods.paragraphs[0]
    assert not any(work.startswith("Welch") for work in methods.references)


def test_the_intervals_of_means_and_both_corrections_are_described_and_cited(trials: pd.DataFrame) -> None:
    tests = {"t": {"test": "t", "of": "correct", "per": "participant", "within": "condition"}}
    tables = {
        "means": {"by": ["subject"], "of": ["correct", "rt_ms"]},
        "each": {"by": ["participant"], "of": ["rt_ms"]},
    }
    found, plan = results(trials, tests=tests, tables=tables)
    methods = methods_of_data(plan, found, "1.0")
    text = " ".join(methods.paragraphs).replace("\u00a0", " ")
    assert "Tables of means: means, each." in text
    assert "a ratio of sums over units (Cochran, 1977). Units: participant." in text
    assert "The rows in the tables without a column of units were treated as independent." in text
    assert "Confidence intervals (95 %) of means use the t distribution" in text
    assert "Holm's (1979) and that of Benjamini and Hochberg (1995)." in text
    cited = {work.split(",")[0] for work in methods.references}
    assert cited == {"Cochran", "Wilson", "Korn", "Holm", "Benjamini", "Steiger"}
    shown_tests = planned_section(found, plan, {})["tests"]
    assert "p, Benjamini-Hochberg" in [column.heading for column in shown_tests.columns]
    without = methods_of_data(*reversed(results(trials, tables={"each": tables["each"]})), "1.0")
    assert {work.split(",")[0] for work in without.references} == {"Cochran", "Wilson"}


def test_a_test_against_chance_names_chance_in_its_sentence_its_table_and_the_methods(trials: pd.DataFrame) -> None:
    """Nobody claims that people who do not differ from chance are at chance."""
    people = trials[trials["subject"] == "people"].assign(chance=0.25)
    test = {"test": "t", "of": "correct", "per": "participant", "against": "chance", "where": {"condition": "A"}}
    found, plan = results(people, tests={"it": test, "half": {**test, "against": 0.5}}, correction="none")
    chance, half = (sentence_of_test(row, plan) for row in found.tests.to_dict("records"))
    assert chance.startswith("it: One-sample t test of correct against chance, where condition = A: t(19) = ")
    assert half.startswith("half: One-sample t test of correct against 0.5, where condition = A: t(19) = ")
    assert "difference" in half
    shown = planned_section(found, plan, {})["tests"]
    place = [column.heading for column in shown.columns].index("against")
    assert [row[place] for row in shown.rows] == ["chance", "0.5"]
    (methods, _) = methods_of_data(plan, found, "1.0").paragraphs
    assert methods.startswith(
        "Tests: one-sample t test. Tests against chance compare each unit's accuracy with the mean chance level of the "
        "same trials, which is the probability that a random response is correct."
    )


def test_a_sentence_on_a_test_against_a_time_has_its_unit(trials: pd.DataFrame) -> None:
    test = {"test": "t", "per": "participant", "where": {"subject": "people"}}
    found, plan = results(
        trials,
        tests={"time": test | {"of": "rt_ms", "against": 60000}, "share": test | {"of": "correct", "against": 0.5}},
    )
    time, share = (sentence_of_test(row, plan) for row in found.tests.to_dict("records"))
    assert "One-sample t test of rt_ms against 60,000\u00a0ms, where " in time
    assert "One-sample t test of correct against 0.5, where " in share


def test_the_name_of_a_test_with_a_comma_ends_with_a_comma(trials: pd.DataFrame) -> None:
    items = pd.DataFrame({"item_id": np.repeat(np.arange(60), 2), "side": ["x", "y"] * 60, "correct": 0})
    items.loc[items.index[::2][:40], "correct"] = 1
    items.loc[items.index[1::2][40:], "correct"] = 1
    found, plan = results(
        items, tests={"pairs": {"test": "chi_square", "of": "correct", "per": "item_id", "within": "side"}}
    )
    (row,) = found.tests.to_dict("records")
    assert sentence_of_test(row, plan).startswith(
        "pairs: McNemar's chi-square test, without continuity correction, of correct, side x - y: χ²(1) = "
    )
    page = planned_section(found, plan, {})["tests"]
    assert "χ²" in page.rows[0]
    assert "chisq" not in page.rows[0]


@pytest.mark.parametrize(
    ("size", "words"), [(0.00099, "0.001"), (0.0005, "0.001"), (0.00049, "< 0.001"), (0, "< 0.001")]
)
def test_a_small_effect_size_is_the_same_number_in_the_sentence_and_the_table(size: float, words: str) -> None:
    said = _effect_size_words("generalized eta squared", size).removeprefix("generalized eta squared ")
    assert said == words
    in_table = number(size)
    assert said == in_table or float(in_table) < 0.001


def test_without_tests_against_a_value_the_table_has_no_column_for_it(trials: pd.DataFrame) -> None:
    found, plan = results(
        trials, tests={"it": {"test": "t", "of": "correct", "per": "participant", "within": "condition"}}
    )
    assert "against" not in [column.heading for column in planned_section(found, plan, {})["tests"].columns]


def test_the_sentence_of_a_rank_test_has_its_effect_size_and_the_methods_cite_its_source(trials: pd.DataFrame) -> None:
    people = trials[trials["subject"] == "people"].assign(is_early=lambda rows: rows["participant"] < "p10")
    test = {"of": "rt_ms", "per": "participant"}
    found, plan = results(
        people,
        tests={
            "pairs": {**test, "test": "wilcoxon", "within": "condition", "levels": ["B", "A"]},
            "groups": {**test, "test": "mann_whitney", "between": "is_early"},
        },
        correction="none",
    )
    pairs, groups = (sentence_of_test(row, plan).replace("\u00a0", " ") for row in found.tests.to_dict("records"))
    assert re.fullmatch(
        r"pairs: Wilcoxon's signed-rank test \(exact\) of rt_ms, condition B - A: V = \d+\.\d, p < \.001; "
        r"matched-pairs rank-biserial correlation \d\.\d+, 95 % CI \[\d\.\d+, \d\.\d+\] \(n = 20 participants\)\.",
        pairs,
    )
    assert "groups: Mann-Whitney U test (exact) of rt_ms, is_early false - true: U = " in groups
    methods = methods_of_data(plan, found, "1.0")
    assert methods.paragraphs[0].startswith("Tests: Wilcoxon's signed-rank test (exact), Mann-Whitney U test (exact).")
    assert "The effect size of rank tests is the rank-biserial correlation (Kerby, 2014)." in methods.paragraphs[0]
    assert {work.split(",")[0] for work in methods.references} == {
        "Benjamini", "DeLong", "Holm", "Kerby", "Mann", "Wilcoxon", "Wilson",
    }  # fmt: skip


def test_the_sentence_of_a_permutation_test_says_its_difference_once_and_the_methods_say_how_p_was_computed(
    trials: pd.DataFrame,
) -> None:
    test = {"test": "permutation", "of": "correct", "per": "participant", "within": "condition", "levels": ["B", "A"]}
    people = trials[trials["subject"] == "people"]
    few = people[people["participant"] < "p10"]  # The difference of one of the ten is 0.
    exact, plan = results(few, tests={"few": test, "t": {**test, "test": "t", "exploratory": True}}, correction="none")
    row, _ = exact.tests.to_dict("records")  # Only the t test has an effect size.
    assert sentence_of_test(row, plan).replace("\u00a0", " ") == (
        "few: Sign-flip permutation test (exact, 512 sign flips) of correct, condition B - A: mean difference = "
        f"{points(row['estimate'])} points, p = {p_words(row['p_value'])} (n = 10 participants)."
    )
    assert (
        methods_of_data(plan, exact, "1.0")
        .paragraphs[0]
        .startswith(
            "Tests: sign-flip permutation test (exact, 512 sign flips), paired t test. The statistic of permutation "
            "tests is the difference of means (Ernst, 2004)."
        )
    )
    drawn, plan = results(people, tests={"all": test}, correction="none", seed=7)
    methods = methods_of_data(plan, drawn, "1.0")
    assert (
        "Random permutations were drawn with the seed 7; p = (b + 1) / (m + 1) if b of m random permutations have at "
        "least the observed absolute difference (Phipson & Smyth, 2010)."
    ) in methods.paragraphs[0]
    assert {work.split(",")[0] for work in methods.references} == {"Benjamini", "Ernst", "Holm", "Phipson"}


def test_each_effect_of_an_analysis_of_variance_has_its_sentence(trials: pd.DataFrame) -> None:
    people = trials[trials["subject"] == "people"]
    rows = people.assign(
        team=people["participant"].str[1:].astype(int) % 2,
        half=(people["item_id"].str[1:].astype(int) // 2 % 3).map({0: "u", 1: "v", 2: "w"}),
    )
    rows = rows[(rows["participant"] != "p03") | (rows["half"] != "u")]
    anova = {"test": "anova", "of": "rt_ms", "per": "participant", "between": "team", "within": ["condition", "half"]}
    found, plan = results(
        rows, tests={"it": anova, "t": {**anova, "test": "t", "between": None, "within": "condition"}}
    )
    table = found.tests.set_index("factor")
    said = {row["factor"]: sentence_of_test(row, plan) for row in found.tests.to_dict("records") if row["name"] == "it"}
    name = "it: Mixed analysis of variance with 3 factors (type III) of rt_ms"
    assert said["half"].startswith(f"{name}, main effect of half (u, v, w): F(")
    assert said["team:condition:half"].startswith(f"{name}, interaction team × condition × half: F(")
    row = table.loc["half"]
    assert f"; partial eta squared {row['effect']:.3f}, 95\xa0% CI [" in said["half"]
    assert f"; generalized eta squared {row['generalized_eta_squared']:.3f} (n = 19\xa0participants)." in said["half"]
    significant = found.tests[found.tests["p_holm"] < 0.05]
    assert set(significant["factor"]) == {"condition"}
    assert summary_sentences(found, plan) == [
        "Significant planned tests after Holm correction (p < 0.05): 2 of 8 (it: condition, t). Each effect of an "
        "analysis of variance counts as a test."
    ]
    section = planned_section(found, plan, {})
    shared = "it: 1 unit that lacks a value at a level was excluded."
    assert section["test_warnings"][0] == shared
    others = section["test_warnings"][1:]
    assert others
    assert all("lacks a value" not in warning and "sphericity" in warning.lower() for warning in others)
    assert {warning.partition(": Sphericity")[0] for warning in others} <= {
        "it: half", "it: team × half", "it: condition × half", "it: team × condition × half",
    }  # fmt: skip
    methods = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert "type III tests with sum-to-zero contrasts" in methods
    assert "Each main effect and interaction of an analysis of variance is a test of its family." in methods
    assert "multiplied by Greenhouse and Geisser's epsilon (1959)" in methods
    alone, plan = results(rows, tests={"t": plan.tests["t"].model_dump()})
    methods = " ".join(methods_of_data(plan, alone, "1.0").paragraphs)
    assert "type III" not in methods
    assert "eta squared" not in methods


def test_each_effect_size_has_its_interval_and_the_methods_name_the_method(trials: pd.DataFrame) -> None:
    people = trials[trials["subject"] == "people"]
    rows = people.assign(team=people["participant"].str[1:].astype(int) % 2)
    per = {"of": "rt_ms", "per": "participant"}
    one_item = {"where": {"item_id": "i02"}}
    tests = {
        "welch": {**per, "test": "welch_t", "between": "team"},
        "student": {**per, "test": "t", "between": "team"},
        "paired": {**per, "test": "t", "within": "condition"},
        "anova": {**per, "test": "anova", "within": "condition"},
        "groups": {**per, "test": "mann_whitney", "between": "team"},
        "pairs": {**per, "test": "wilcoxon", "within": "condition"},
        "counts": {"test": "chi_square", "of": "correct", "between": "team", **one_item},
        "paired_counts": {"test": "chi_square", "of": "correct", "per": "participant", "within": "item_id",
                          "levels": ["i00", "i01"]},
        "q": {"test": "chi_square", "of": "correct", "per": "participant", "within": "item_id",
              "levels": ["i00", "i01", "i02"]},
        "permutation": {**per, "test": "permutation", "between": "team"},
    }  # fmt: skip
    found, plan = results(rows, tests=tests, confidence=0.9)
    assert found.not_computed == []
    for row in found.tests.to_dict("records"):
        sentence = sentence_of_test(row, plan)
        if row["name"] in {"q", "permutation"}:
            assert np.isnan(row["effect_ci_low"])
        else:
            assert re.search(rf"{re.escape(row['effect_name'])} \S+, 90\xa0% CI \[\S+, \S+\]", sentence), sentence
    methods = methods_of_data(plan, found, "1.0")
    text = " ".join(methods.paragraphs)
    for words in (
        "Effect sizes have two-sided confidence intervals (90\xa0%)",
        "Cohen's d uses the noncentral t distribution",
        "With Welch's test, d is the difference divided by the square root of the mean of both variances",
        "partial eta squared use the noncentral F distribution",
        "Cramér's V uses the noncentral χ² distribution",
        "Cohen's g is that of a share of the discordant pairs",
        "Eta squared of Cochran's Q has no interval",
        "For two groups, its interval is Wilson's interval (Wilson, 1927)",
        "For pairs, its interval is Wilson's interval (Wilson, 1927)",
    ):
        assert words in text
    cited = " ".join(methods.references)
    assert all(name in cited for name in ("Steiger", "Delacre", "Smithson", "Clopper", "DeLong", "Kerby", "Wilson"))
    only_paired, plan = results(rows, tests={"paired": tests["paired"]})
    text = " ".join(methods_of_data(plan, only_paired, "1.0").paragraphs)
    assert "noncentral t distribution" in text
    assert not any(words in text for words in ("Welch", "eta squared", "rank-biserial", "Cramér", "Cohen's g"))


def test_a_linear_model_of_a_share_has_points_and_percent_everywhere(trials: pd.DataFrame) -> None:
    formula = "correct ~ condition + (1 | participant)"
    contrasts = [{"of": ["condition"]}]
    people = trials[trials["subject"] == "people"]
    asked = {
        "models": {"m": {"formula": formula, "contrasts": contrasts}},
        "tables": {"t": {"by": ["condition"], "of": ["correct", "rt_ms"]}},
    }
    found, plan = results(people, **asked)
    fitted = found.models["m"]
    section = planned_section(found, plan, {})
    parts = {part["title"]: part["table"] for part in section["models"][0]["parts"]}
    means, effects = parts["Estimated marginal means"], parts["Coefficients"]
    at = [column.heading for column in means.columns].index("estimate")
    assert [row[at] for row in means.rows] == [f"{100 * mean:.1f}\u00a0%" for mean in fitted.means[0]["estimate"]]
    assert {"estimate, points", "SE, points", "95\u00a0% CI, points"} <= {column.heading for column in effects.columns}
    (table,) = (part["table"] for part in section["tables"])
    cells = dict(zip([column.heading for column in table.columns], table.rows[0], strict=True))
    assert cells["correct, mean"] == f"{100 * found.tables['t']['correct_mean'].iloc[0]:.1f}\u00a0%"
    assert "rt_ms, mean" in cells
    assert "%" not in cells["rt_ms, mean"]
    forest, lines = model_figures(fitted, plan.confidence)
    assert "percentage points" in forest.title
    assert lines.title.startswith("percent correct, marginal mean")
    first = fitted.means[0]["estimate"].iloc[0]
    assert f": {number_text(100 * first)} (" in lines.description


def test_the_report_of_a_log_model_has_ratios_of_geometric_means_that_are_those_of_the_table(
    trials: pd.DataFrame,
) -> None:
    model = {"formula": f"log(rt_ms) ~ condition + {GROUPS}", "contrasts": [{"of": ["condition"]}]}
    found, plan = results(trials, models={"m": model})
    fitted = found.models["m"]
    assert "The outcome is the natural logarithm of rt_ms, so means in the unit of rt_ms are geometric means" in (
        model_words(fitted)
    )
    row = fitted.contrasts[0].iloc[0]
    (sentence,) = ratio_sentences(fitted, 0.95)
    assert sentence == (
        f"Ratios of geometric means: A / B {row['ratio']:.3f}, 95\u00a0% CI [{row['ratio_ci_low']:.3f}, "
        f"{row['ratio_ci_high']:.3f}], p {'< .001' if row['p_value'] < 0.001 else '= ' + p_words(row['p_value'])}."
    )
    assert row["ratio"] == pytest.approx(np.exp(row["estimate"]))
    assert sentence in planned_section(found, plan, {})["models"][0]["term_sentences"]
    methods = methods_of_data(plan, found, "1.0").paragraphs[0]
    assert "so they are geometric means, and contrasts are ratios of geometric means." in methods
    means = model_figures(fitted, 0.95)[1]
    assert means.title.endswith("; small points: geometric means of participants or runs")
    (part,) = [part for part in planned_section(found, plan, {})["models"][0]["parts"] if part["file"] == "m.means"]
    assert "geometric mean" in [column.heading for column in part["table"].columns]


def test_the_methods_of_a_gamma_model_name_its_link_its_tests_and_its_source(trials: pd.DataFrame) -> None:
    model = {"formula": "rt_ms ~ condition + (1 | participant)", "family": "gamma"}
    found, plan = results(trials, models={"m": model, "plain": {**model, "formula": "rt_ms ~ condition"}})
    methods = methods_of_data(plan, found, "1.0")
    text = methods.paragraphs[0]
    assert "Gamma mixed models (Lo & Andrews, 2015) with a log link were fitted by maximum likelihood" in text
    assert "The terms of m were tested by Wald χ² tests" in text
    assert "The terms of plain were tested by F tests" in text
    assert any("To transform or not to transform" in reference for reference in methods.references)
    assert model_words(found.models["m"]).startswith("A gamma mixed model of 528\u00a0rows")
    assert ratio_sentences(found.models["m"], 0.95) == [], "the plan has no contrasts"
    assert found.models["plain"].effect_sizes is None, "partial eta squared is for linear models"


def test_the_report_of_an_ordinal_model_says_what_its_odds_are_and_not_that_the_engine_fitted_it(
    trials: pd.DataFrame,
) -> None:
    rows = trials.assign(rating=pd.qcut(trials["rt_ms"], 4, labels=False))
    model = {
        "formula": "rating ~ condition + (1 | participant)",
        "family": "ordinal",
        "contrasts": [{"of": ["condition"]}],
    }
    found, plan = results(rows, models={"m": model})
    fitted = found.models["m"]
    assert {"m.thresholds", "m.odds_ratios", "m.means", "m.contrasts"} <= fitted.tables().keys()
    assert model_words(fitted).startswith("An ordinal (cumulative logit) mixed model of 528\u00a0rows")
    assert "log-odds of higher categories" in model_words(fitted)
    methods = methods_of_data(plan, found, "1.0")
    assert "Cumulative logit mixed models (proportional odds; McCullagh, 1980)" in methods.paragraphs[0]
    assert "glmm" not in methods.paragraphs[0]
    assert any(reference.startswith("McCullagh") for reference in methods.references)
    assert not any(reference.startswith("Lenartowicz") for reference in methods.references)
    (section,) = planned_section(found, plan, {})["models"]
    assert [part["title"] for part in section["parts"]][:3] == [
        "Terms",
        "Estimated marginal means",
        "Contrasts of marginal means",
    ]
    assert "Thresholds" in [part["title"] for part in section["parts"]]
    (warning,) = [said for said in fitted.warnings if "without a random slope" in said]
    assert "(1 | participant:condition)" in warning, "an ordinal model cannot have random slopes"
    assert "slopes, such as" not in warning
    further = {**model, "formula": "rating ~ condition + (1 | participant) + (1 | participant:condition)"}
    warnings = results(rows, models={"m": further})[0].models["m"].warnings
    assert not any("without a random slope" in said for said in warnings)
    (drawing, means) = model_figures(fitted, 0.95)
    assert "log-odds" in drawing.title
    assert "log-odds of higher categories" in means.title
