"""The plan's comparisons of people with models. A comparison with a margin is also a test of equivalence."""

import pandas as pd

from analysis.measures.differences import differences
from analysis.statistics.equivalence import equivalence_of_interval
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison


def comparison(trials: pd.DataFrame, planned: PlannedComparison, plan: AnalysisPlan) -> pd.DataFrame:
    """Return the differences between people and each model, and whether each difference is within the plan's margin.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    planned : PlannedComparison
        The entry of the plan, with the factors and the margin.
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        The columns of `differences`. If `planned` has a margin, the table also has `equivalence_margin`,
        `equivalence_ci_low`, `equivalence_ci_high` and `is_equivalent`. `is_equivalent` is true if the whole interval
        of equivalence is between minus the margin and plus the margin. With a confidence of 95 %, the interval of
        equivalence is the 90 % interval, as in two one-sided tests at 5 %.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics, 15, 657-680.
    """
    table = differences(trials, planned.by, plan)
    margin = planned.equivalence_margin
    if margin is None:
        return table
    narrow = differences(trials, planned.by, plan.model_copy(update={"confidence": 2 * plan.confidence - 1}))
    bounds = zip(narrow["ci_low"], narrow["ci_high"], strict=True)
    return table.assign(
        equivalence_margin=margin,
        equivalence_ci_low=narrow["ci_low"],
        equivalence_ci_high=narrow["ci_high"],
        is_equivalent=[equivalence_of_interval(low, high, -margin, margin) for low, high in bounds],
    )
