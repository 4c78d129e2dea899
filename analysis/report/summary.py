"""The summary at the top of a report: at most seven entries, and what failed comes first."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.planned.models import FittedModel
from analysis.planned.results import PlannedResults
from analysis.planned.tests import AS_PLANNED, EQUIVALENCE, PAIRED
from analysis.report.confidence_section import confidence_summary
from analysis.report.planned_sentences import CORRECTIONS, decisive_p, label_of_test, term_words, terms_of
from analysis.sentences import MOST_IN_SENTENCES, accuracy_summary, count, listed
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

MOST_ENTRIES = 7
"""Maximum number of entries of a summary. The failures and the deviations from the plan are one of these entries."""
MOST_NAMES = 8
"""Maximum number of names in a list of an entry. Longer lists are shortened, so that an entry has a few lines."""


def study_summary(
    overall: Sequence[dict[str, Any]], n_models: int, chance: str, results: PlannedResults, plan: AnalysisPlan
) -> list[str]:
    """Return the entries of a study's summary, without the entry on failures: at most `MOST_ENTRIES` - 1.

    Parameters
    ----------
    overall : sequence of dict
        The rows of the table `accuracy_overall`.
    n_models : int
        The number of different models. A model under several conditions counts once.
    chance : str
        The sentence on the chance level.
    results : PlannedResults
        The results of the plan's tests, models and confidence ratings.
    plan : AnalysisPlan
        The plan.
    """
    has_plan = bool(plan.tests or plan.models or plan.confidence_ratings)

    def entries(most: int) -> list[str]:
        planned = summary_sentences(results, plan, most) if has_plan else []
        return [*accuracy_summary(overall, n_models, plan, most), chance, *planned]

    full = entries(MOST_IN_SENTENCES)
    return full if len(full) < MOST_ENTRIES else entries(1)


def summary_sentences(results: PlannedResults, plan: PlannedAnalyses, most: int = MOST_IN_SENTENCES) -> list[str]:
    """Return the results of the plan's confirmatory tests, models and confidence ratings in a few entries.

    The tests are one entry. Up to `most` models have an entry each, and so have up to `most` confidence ratings. More
    of them are one entry.
    """
    tests = _test_summary(results.tests[~results.tests["exploratory"].astype(bool)], plan)
    entries = [" ".join(tests)] if tests else []
    entries += _model_summary(results, plan, most)
    entries += confidence_summary(results, most)
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


def _model_summary(results: PlannedResults, plan: PlannedAnalyses, most: int) -> list[str]:
    models = {name: fitted for name, fitted in results.models.items() if not fitted.planned.exploratory}
    if len(models) <= most:
        return [f"Model `{name}`: {_summary_of_model(fitted, plan.confidence)}" for name, fitted in models.items()]
    names: dict[str, list[str]] = {}
    for name, fitted in models.items():
        names.setdefault(_kind_of_model(fitted, plan.confidence), []).append(f"`{name}`")
    found = "; ".join(f"{kind}: {listed(those, MOST_NAMES)}" for kind, those in names.items())
    return [f"{len(models)} statistical models (p < {1 - plan.confidence:.2g}): {found}."]


def _kind_of_model(fitted: FittedModel, confidence: float) -> str:
    p_values = terms_of(fitted)["p_value"]
    if not fitted.model.fit["converged"].iloc[0] or (len(p_values) and p_values.isna().all()):
        return "not estimated"
    kind = "with a significant term" if (p_values < 1 - confidence).any() else "without a significant term"
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


def _test_summary(tests: pd.DataFrame, plan: PlannedAnalyses) -> list[str]:
    sentences = []
    planned = tests[tests["form"] == AS_PLANNED]
    column = decisive_p(plan)
    correction = f" after {CORRECTIONS[plan.correction][1]} correction" if plan.correction in CORRECTIONS else ""
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
            f"Significant planned tests{correction}: {len(significant)} of {len(planned)}{names}.{effects}"
        )
    paired = tests.loc[tests["form"] == PAIRED, "name"].tolist()
    if paired:
        sentences.append(
            f"Tests whose units have values at several levels: {listed(paired, MOST_NAMES)}. See their paired forms."
        )
    is_equal = (tests["form"] == EQUIVALENCE) & (tests[column] < 1 - plan.confidence)
    if is_equal.any():
        equal = listed(tests.loc[is_equal, "name"].tolist(), MOST_NAMES)
        sentences.append(f"Equivalence shown{correction} (difference smaller than the margin): {equal}.")
    return sentences
