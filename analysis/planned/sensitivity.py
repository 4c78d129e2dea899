"""Sensitivity to each exclusion rule: results with all rules, without each single rule, and without any rule.

If the rules changed since the plan was locked or registered, also the results with the earlier rules.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pandas as pd

from analysis.exclusions.flow import Exclusions, marked_trials
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.planned.results import run_planned
from analysis.planned.study_rows import plan_for, study_rows
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.exclusion_rules import ExclusionRule

ALL_RULES = "with all rules"
EarlierRules = Mapping[str, tuple[ExclusionRule, ...]]


def sensitivity(
    trials: pd.DataFrame, plan: AnalysisPlan, planned: Exclusions, earlier_rules: EarlierRules = MappingProxyType({})
) -> dict[str, pd.DataFrame]:
    """Return accuracies, differences, tests and coefficients for each set of exclusion rules.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    plan : AnalysisPlan
        The plan with all its rules.
    planned : Exclusions
        The result of all exclusion rules of the plan.
    earlier_rules : dict
        The exclusion rules of the locked or registered plan, if they differ from the rules of the plan. The key names
        them in the column `rules`.

    Returns
    -------
    dict of DataFrame
        The tables `sensitivity_accuracy` and `sensitivity_differences`. If the plan has tests or models, also the
        tables `sensitivity_tests` and `sensitivity_models`. The first column is `rules`: `with all rules`, `as locked`
        or `as registered` (with the earlier rules), `without <rule>`, or `without any rule`. A result that cannot
        be computed has no row. The dictionary is empty if neither plan has exclusion rules.
    """
    if not plan.exclusions and not earlier_rules:
        return {}
    parts: dict[str, list[pd.DataFrame]] = {}
    for rules, marked in _variants(trials, plan, planned, earlier_rules):
        for name, table in _results(marked, plan).items():
            parts.setdefault(f"sensitivity_{name}", []).append(_labelled(table, rules))
    return {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}


def _labelled(table: pd.DataFrame, rules: str) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({"rules": rules}, index=table.index), table], axis=1)


def _variants(
    trials: pd.DataFrame, plan: AnalysisPlan, planned: Exclusions, earlier_rules: EarlierRules
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield ALL_RULES, planned.trials
    others = dict(earlier_rules) | {
        f"without {rule.rule}": tuple(one for one in plan.exclusions if one != rule) for rule in plan.exclusions
    }
    if len(plan.exclusions) > 1:
        others["without any rule"] = ()
    for name, rules in others.items():
        try:
            yield name, marked_trials(trials, plan.model_copy(update={"exclusions": rules}))
        except InputError:  # Without `duplicates`, a participant may have two sessions.
            continue


def _results(marked: pd.DataFrame, plan: AnalysisPlan) -> dict[str, pd.DataFrame]:
    of_people = accuracy(marked, [], plan).query("kind != 'model'")  # No rule applies to models.
    results = {"accuracy": of_people, "differences": differences(marked, [], plan)}
    if not (plan.tests or plan.models):
        return results
    plan = plan_for(marked, plan.model_copy(update={"tables": {}}))
    found = run_planned(study_rows(marked), plan)
    models = [
        model.model.coefficients.assign(name=name)[["name", "term", "estimate", "std_error", "statistic", "p_value"]]
        for name, model in found.models.items()
    ]
    if not found.tests.empty:
        results["tests"] = found.tests[_OF_TESTS]
    if models:
        results["models"] = pd.concat(models, ignore_index=True)
    return results


_OF_TESTS = [
    "name",
    "form",
    "n",
    "n_unit",
    "estimate",
    "estimate_unit",
    "statistic_name",
    "statistic",
    "p_value",
    "p_holm",
    "p_bh",
]
