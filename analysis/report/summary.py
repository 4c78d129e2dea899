"""The summary at the top of a report: at most seven entries, and what failed comes first."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.data.subjects import models_of_subjects, programs_among
from analysis.planned.models import FittedModel
from analysis.planned.results import PlannedResults
from analysis.planned.tests import EQUIVALENCE, MAIN, PAIRED, family_sizes
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.report.confidence_section import confidence_summary
from analysis.report.deviation_sentences import (
    MOST_NAMES,
    concerned_tests,
    deviation_of_accuracy,
    deviation_of_results,
    deviation_of_tests,
    deviation_sentence,
    family_sentence,
)
from analysis.report.planned_sentences import (
    CORRECTIONS,
    decisive_p,
    label_of_test,
    level_of_significance,
    term_words,
    terms_of,
)
from analysis.sentences import MOST_IN_SENTENCES, accuracy_sentence, accuracy_summary, count, listed, percent
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

MOST_ENTRIES = 7
"""Maximum number of entries of a summary. The failures and the deviations from the plan are one of these entries."""

Tables = Mapping[str, pd.DataFrame]


def study_summary(
    tables: Tables, n_models: int, chance: str, results: PlannedResults, plan: AnalysisPlan, registration: Registration
) -> list[str]:
    """Return the entries of a study's summary, without the entry on failures: at most `MOST_ENTRIES` - 1.

    Parameters
    ----------
    tables : mapping of DataFrame
        The tables of the study, by name: `accuracy_overall`, `models`, the planned comparisons, and the sensitivity of
        tests.
    n_models : int
        The number of different models and baselines. A model under several conditions counts once.
    chance : str
        The sentence on the chance level, or the sentence that there is no accuracy because no item has a right answer.
    results : PlannedResults
        The results of the plan's tests, models and confidence ratings.
    plan : AnalysisPlan
        The plan.
    registration : Registration
        The statement on the deviations from the locked or registered plan.
    """
    overall: list[dict[str, Any]] = tables["accuracy_overall"].to_dict("records")  # type: ignore[assignment]
    people = [row for row in overall if row["kind"] != "model"]
    models = [row for row in overall if row["kind"] == "model"]
    has_plan = bool(plan.tests or plan.models or plan.confidence_ratings or _with_margin(plan))

    def entries(most: int) -> list[str]:
        planned = summary_sentences(results, plan, most, registration, tables) if has_plan else []
        accuracies = [
            f"{entry} {deviation_of_accuracy(registration, plan, who)}".strip()
            for who, summary in (
                ("people", accuracy_summary(people, n_models, plan, most)),
                ("models", _summary_of_models(models, models_of_subjects(tables["models"]), n_models, plan, most)),
            )
            for entry in summary
        ]
        return [*accuracies, chance, *planned]

    full = entries(MOST_IN_SENTENCES)
    return full if len(full) < MOST_ENTRIES else entries(1)


def _summary_of_models(
    rows: Sequence[dict[str, Any]], model_of: Mapping[str, str], n_models: int, plan: AnalysisPlan, most: int
) -> list[str]:
    """Return the entries on models. If there are more than `most`, computational baselines are counted separately."""
    programs = {*programs_among(model_of.values()).get("baseline", [])}
    baselines = [row for row in rows if model_of[row["subject"]] in programs]
    if not baselines or len(rows) <= most:
        return accuracy_summary(rows, n_models, plan, most)
    models = [row for row in rows if row not in baselines]
    words = accuracy_summary(models, n_models - len(programs), plan, most) if models else []
    if len(baselines) == 1:
        return [" ".join([*words, accuracy_sentence(baselines[0], plan)])]
    lowest, highest = (choose(baselines, key=lambda row: row["accuracy"]) for choose in (min, max))
    of_baselines = (
        f"{count(len(baselines), 'baseline')}: from {percent(lowest['accuracy'])} correct ({lowest['subject']}) to "
        f"{percent(highest['accuracy'])} correct ({highest['subject']})."
    )
    return [" ".join([*words, of_baselines])]


def summary_sentences(
    results: PlannedResults,
    plan: PlannedAnalyses,
    most: int = MOST_IN_SENTENCES,
    registration: Registration = NOT_LOCKED,
    tables: Tables = MappingProxyType({}),
) -> list[str]:
    """Return the results of the plan's confirmatory tests, comparisons, models and confidence ratings in a few entries.

    The tests and the comparisons with equivalence margins are one entry. Up to `most` models have an entry each, and so
    have up to `most` confidence ratings. More of them are one entry. If a setting differs from the earlier plan
    (`registration`), each entry to which this setting applies says so. `tables` are the tables of a study, by name.
    """
    confirmatory = _confirmatory(results.tests)
    tests = _test_summary(confirmatory, plan)
    if tests:
        tests += [family_sentence(confirmatory, plan)] if plan.correction in CORRECTIONS else []
        tests.append(deviation_of_tests(registration, confirmatory, plan))
        if concerned_tests("exclusions", confirmatory, plan):
            tests.append(_with_earlier_rules(registration, tables, plan))
    compared = _comparison_summary(tables, plan) if isinstance(plan, AnalysisPlan) else ""
    if compared:
        tests += [compared, deviation_sentence(registration, {"everyone"}, "items", "item_cluster")]
    entries = [" ".join(filter(None, tests))] if tests else []
    models = {name: fitted.who for name, fitted in results.models.items() if not fitted.planned.exploratory}
    ratings = {name: found.who for name, found in results.confidence_ratings.items() if not found.planned.exploratory}
    entries += _with_deviations(_model_summary(results, plan, most), models, registration)
    entries += _with_deviations(confidence_summary(results, most), ratings, registration)
    if entries:
        return entries
    exploratory = [
        *(["tests"] if len(results.tests) else []),
        *(["statistical models"] if results.models else []),
        *(["confidence ratings"] if results.confidence_ratings else []),
    ]
    if exploratory:
        return [f"No confirmatory results. These analyses are exploratory: {', '.join(exploratory)}."]
    return [f"{count(len(results.tables), 'table')} of means; no test or model was computed."]


def _confirmatory(tests: pd.DataFrame) -> pd.DataFrame:
    return tests[~tests["exploratory"].astype(bool)]


def _with_deviations(entries: Sequence[str], whos: Mapping[str, str], registration: Registration) -> list[str]:
    """Return the entries with the changed settings that concern them.

    `whos` states whose trials each result uses. There is one entry for each result, or one entry for all results.
    """
    of_entries = [{name: who} for name, who in whos.items()] if len(entries) == len(whos) else [whos]
    return [
        f"{entry} {deviation_of_results(registration, of_entry)}".strip()
        for entry, of_entry in zip(entries, of_entries, strict=True)
    ]


def _with_earlier_rules(registration: Registration, tables: Tables, plan: PlannedAnalyses) -> str:
    """Return how many confirmatory tests are significant with the earlier exclusion rules, or an empty text."""
    if "sensitivity_tests" not in tables:
        return ""
    every = _confirmatory(tables["sensitivity_tests"])
    tests = every[every["rules"].isin([*registration.earlier_rules])]
    counts = [
        f"{found}: {(of_form[decisive_p(plan)] < 1 - plan.confidence).sum()} of {len(of_form)}"
        f"{_computed(of_form, plan)}"
        for form, found in ((MAIN, "significant"), (EQUIVALENCE, "equivalent"))
        if len(of_form := tests[tests["form"] == form])
    ]
    return f"With the {registration.recorded} exclusion rules, {', '.join(counts)}." if counts else ""


def _with_margin(plan: AnalysisPlan) -> list[str]:
    """Return the names of the confirmatory comparisons with an equivalence margin."""
    return [
        name
        for name, planned in plan.comparisons.items()
        if planned.equivalence_margin is not None and not planned.exploratory
    ]


def _comparison_summary(tables: Tables, plan: AnalysisPlan) -> str:
    """Return how many differences from models are within the equivalence margin, for each comparison with a margin."""
    compared = {name: tables[f"comparison_{name}"] for name in _with_margin(plan) if f"comparison_{name}" in tables}
    counts = [
        f"`{name}` {table['is_equivalent'].sum()} of {len(table)}" for name, table in compared.items() if len(table)
    ]
    if not counts:
        return ""
    return f"Comparisons with models, differences within the margin (not corrected for their number): {listed(counts)}."


def _model_summary(results: PlannedResults, plan: PlannedAnalyses, most: int) -> list[str]:
    models = {name: fitted for name, fitted in results.models.items() if not fitted.planned.exploratory}
    if len(models) <= most:
        return [f"Model `{name}`: {_summary_of_model(fitted, plan.confidence)}" for name, fitted in models.items()]
    names: dict[str, list[str]] = {}
    for name, fitted in models.items():
        names.setdefault(_kind_of_model(fitted, plan.confidence), []).append(f"`{name}`")
    found = " ".join(f"{kind}: {listed(those, MOST_NAMES)}." for kind, those in names.items())
    level = level_of_significance(plan)
    return [f"{len(models)} statistical models ({level}, not corrected for the number of terms). {found}"]


def _kind_of_model(fitted: FittedModel, confidence: float) -> str:
    p_values = terms_of(fitted)["p_value"]
    if not fitted.model.fit["converged"].iloc[0] or (len(p_values) and p_values.isna().all()):
        return "Not estimated"
    kind = "With a significant term" if (p_values < 1 - confidence).any() else "Without a significant term"
    return f"{kind}, but some terms are not estimated" if p_values.isna().any() else kind


def _summary_of_model(fitted: FittedModel, confidence: float) -> str:
    if not fitted.model.fit["converged"].iloc[0]:
        return "the fit did not converge, so no term was tested."
    terms = terms_of(fitted)
    names = terms["term"].map(term_words)
    significant = names[terms["p_value"] < 1 - confidence].tolist()
    not_estimated = listed(names[terms["p_value"].isna()].tolist(), MOST_NAMES)
    found = f"significant: {listed(significant, MOST_NAMES)}" if significant else "no significant term"
    if len(terms) and terms["p_value"].isna().all():
        return f"not estimated: {not_estimated}."
    rest = f" Not estimated: {not_estimated}." if terms["p_value"].isna().any() else ""
    how = ", with bias reduction because of separation" if fitted.model.bias_reduced else ""
    return f"{found} (p < {1 - confidence:.2g}, not corrected for the number of terms{how}).{rest}"


def _computed(of_form: pd.DataFrame, plan: PlannedAnalyses) -> str:
    """Return ` computed` if some confirmatory tests of the plan have no row in `of_form`, the tests of one form."""
    sizes = family_sizes(planned for planned in plan.tests.values() if not planned.exploratory)
    is_equivalence = of_form["form"].eq(EQUIVALENCE).all()
    n_planned = sum(size for (_, _, of_equivalence), size in sizes.items() if of_equivalence == is_equivalence)
    return " computed" if len(of_form) < n_planned else ""


def _test_summary(tests: pd.DataFrame, plan: PlannedAnalyses) -> list[str]:
    sentences = []
    planned = tests[tests["form"] == MAIN]
    column = decisive_p(plan)
    level = level_of_significance(plan)
    correction = (
        f" after {CORRECTIONS[plan.correction][1]} correction ({level})"
        if plan.correction in CORRECTIONS
        else f" ({level}, not corrected for the number of tests)"
    )
    if len(planned):
        significant = planned[planned[column] < 1 - plan.confidence].to_dict("records")
        labels = listed([label_of_test(row, plan) for row in significant], MOST_NAMES)
        names = f" ({labels})" if significant else ""
        effects = (
            " Each effect of an analysis of variance counts as a test."
            if any(len(plan.tests[name].factors) > 1 for name in planned["name"])
            else ""
        )
        sentences.append(
            f"Significant planned tests{correction}: {len(significant)} of {len(planned)}{_computed(planned, plan)}"
            f"{names}.{effects}"
        )
    paired = tests.loc[tests["form"] == PAIRED, "name"].tolist()
    if paired:
        sentences.append(
            f"Tests whose units have values at several levels: {listed(paired, MOST_NAMES)}. See their paired forms."
        )
    equivalence = tests[tests["form"] == EQUIVALENCE]
    if len(equivalence):
        equal = equivalence.loc[equivalence[column] < 1 - plan.confidence, "name"].tolist()
        names = f" ({listed(equal, MOST_NAMES)})" if equal else ""
        sentences.append(
            f"Equivalence (difference smaller than the margin){correction}: shown in {len(equal)} of "
            f"{count(len(equivalence), f'{_computed(equivalence, plan)} test'.strip())}{names}."
        )
    return sentences
