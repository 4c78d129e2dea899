"""Sensitivity to each exclusion rule: results with all rules, without each single rule, and without any rule.

If the rules changed since the plan was locked or registered, also the results with the earlier rules.
"""

from collections.abc import Iterator, Mapping

import pandas as pd

from analysis.exclusions.flow import Exclusions, marked_trials
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.planned.results import run_planned
from analysis.planned.study_rows import plan_for, rows_with_outcome, study_rows
from analysis.preregistration.deviations import Registration
from analysis.sentences import count
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.exclusion_rules import ExclusionRule

ALL_RULES, WITHOUT, WITHOUT_ANY = "with all rules", "without ", "without any rule"
EarlierRules = Mapping[str, tuple[ExclusionRule, ...]]
OVERLAP_COLUMNS = ["rule", "n_participants_excluded", "n_trials_excluded", "n_participants_excluded_without",
                   "n_trials_excluded_without", "other_steps", "n_trials_changed"]  # fmt: skip


def sensitivity(
    trials: pd.DataFrame, plan: AnalysisPlan, planned: Exclusions, registration: Registration
) -> dict[str, pd.DataFrame]:
    """Return accuracies, differences, tests and coefficients for each set of exclusion rules.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    plan : AnalysisPlan
        The plan with all its rules.
    planned : Exclusions
        The exclusions by all rules of the plan.
    registration : Registration
        The statement on the preregistration: the tests and exclusion rules of the locked or registered plan that
        changed.

    Returns
    -------
    dict of DataFrame
        The tables `sensitivity_accuracy` and `sensitivity_differences`. If the plan has tests or models, also the
        tables `sensitivity_tests` and `sensitivity_models`. The first column is `rules`: `with all rules`, `as locked`
        or `as registered` (with the earlier rules), `without <rule>`, or `without any rule`. A result that cannot be
        computed has no row. The table `sensitivity_rules` has one row for each rule of the plan: the numbers of
        participants and test trials that the rule excludes. Without the rule, other steps (`other_steps`) would
        exclude some of these participants and trials; the table has their numbers too. `n_trials_changed` is the
        number of test trials that enter or leave the analysis without the rule. The dictionary is empty if neither
        plan has exclusion rules.
    """
    earlier_rules = registration.earlier_rules
    if not plan.exclusions and not earlier_rules:
        return {}
    parts: dict[str, list[pd.DataFrame]] = {}
    overlaps = []
    computed: dict[bytes, dict[str, pd.DataFrame]] = {}  # Without a rule that changes no trial, the results are equal.
    for rules, marked in _variants(trials, plan, planned, earlier_rules):
        if (rule := rules.removeprefix(WITHOUT)) != rules and rules != WITHOUT_ANY:
            overlaps.append({"rule": rule, **_overlap(rule, marked, planned)})
        kept = marked["excluded_by"].isna().to_numpy().tobytes()
        if kept not in computed:
            computed[kept] = _results(marked, plan, registration)
        for name, table in computed[kept].items():
            parts.setdefault(f"sensitivity_{name}", []).append(_labelled(table, rules))
    tables = {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}
    return {"sensitivity_rules": pd.DataFrame(overlaps, columns=OVERLAP_COLUMNS)} | tables


def _overlap(rule: str, marked: pd.DataFrame, planned: Exclusions) -> dict[str, int | str]:
    """Return how many participants and trials a rule excludes, and how many of these the other steps exclude too.

    `planned` has the exclusions by all rules, and `marked` has the trials after all steps except this rule.
    """
    before, after = planned.trials["excluded_by"], marked["excluded_by"]
    of_rule = before == rule
    still = of_rule & after.notna()
    people = planned.participants.loc[planned.participants["disposition"] == rule, "participant"]
    remaining = set(marked.loc[after.isna(), "participant"])
    return {
        "n_participants_excluded": len(people),
        "n_trials_excluded": int(of_rule.sum()),
        "n_participants_excluded_without": sum(participant not in remaining for participant in people),
        "n_trials_excluded_without": int(still.sum()),
        "other_steps": ", ".join(sorted(after[still].astype("str").unique())),
        "n_trials_changed": int((before.isna() != after.isna()).sum()),
    }


def overlap_sentences(overlaps: pd.DataFrame) -> list[str]:
    """Return a sentence for each rule that has no effect: it excluded no trial, or other steps exclude the same trials.

    Parameters
    ----------
    overlaps : DataFrame
        The table `sensitivity_rules` of `sensitivity`.
    """
    sentences = []
    for row in overlaps.to_dict("records"):
        without, others = f"Without `{row['rule']}`,", f"other steps ({row['other_steps']})"
        trials = count(row["n_trials_excluded"], "trial")
        if row["n_trials_changed"] == 0 and row["n_trials_excluded"] == 0:
            sentences.append(f"{without} the results are the same: this rule excluded no trial.")
        elif row["n_trials_changed"] == 0:
            n_people = row["n_participants_excluded"]
            of_people = f" of {count(n_people, 'participant')}" if n_people else ""
            sentences.append(
                f"{without} the results are the same, because {others} exclude the same {trials}{of_people}."
            )
        elif n_still := row["n_trials_excluded_without"]:
            sentences.append(f"{without} {others} still exclude {n_still:,} of its {trials}.")
    return sentences


def _labelled(table: pd.DataFrame, rules: str) -> pd.DataFrame:
    return pd.concat([pd.DataFrame({"rules": rules}, index=table.index), table], axis=1)


def _variants(
    trials: pd.DataFrame, plan: AnalysisPlan, planned: Exclusions, earlier_rules: EarlierRules
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield ALL_RULES, planned.trials
    others = dict(earlier_rules) | {
        f"{WITHOUT}{rule.rule}": tuple(one for one in plan.exclusions if one != rule) for rule in plan.exclusions
    }
    if len(plan.exclusions) > 1:
        others[WITHOUT_ANY] = ()
    for name, rules in others.items():
        try:
            yield name, marked_trials(trials, plan.model_copy(update={"exclusions": rules}))
        except InputError:  # Without `duplicates`, a participant may have two sessions.
            continue


def _results(marked: pd.DataFrame, plan: AnalysisPlan, registration: Registration) -> dict[str, pd.DataFrame]:
    of_people = accuracy(marked, [], plan).query("kind != 'model'")  # No rule applies to models.
    results = {"accuracy": of_people, "differences": differences(marked, [], plan)}
    if not (plan.tests or plan.models):
        return results
    plan = plan_for(marked, plan.model_copy(update={"tables": {}, "confidence_ratings": {}}))
    found = run_planned(
        study_rows(marked, plan.demands, plan.coding), plan, registration.changed_tests, rows_with_outcome
    )
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
    "factor",
    "n",
    "n_unit",
    "estimate",
    "estimate_unit",
    "statistic_name",
    "statistic",
    "p_value",
    "p_holm",
    "p_bh",
    "exploratory",
]
