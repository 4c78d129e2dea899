"""Robustness to perturbations: accuracy at perturbed items and at the same items unperturbed (Prunty et al., 2025)."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.columns import factor_columns, subject_order
from analysis.measures.accuracy import COUNTED_COLUMNS, graded_trials
from analysis.statistics.participant_intervals import pooled_proportions
from batteries.errors import InputError
from batteries.variants import ORIGINAL_ITEM
from batteries.vignettes.perturbation import PERTURBATION_COLUMNS
from experiment.study.analysis_plan import AnalysisPlan

PERTURBATION_TABLE_COLUMNS = [
    "kind", "subject", "perturbation", "level", "n_items", "n_items_only_perturbed", "n_items_only_unperturbed",
    "n_trials_perturbed", "n_trials_unperturbed", "accuracy_perturbed", "accuracy_unperturbed", "difference", "ci_low",
    "ci_high",
]  # fmt: skip
DEGREES = {
    "spacing": ("spacing_noise_proportion",),
    "character": ("character_noise_number", "character_noise_proportion"),
    "capitalisation": ("capitalisation_number", "capitalisation_proportion"),
}
"""The published name of each kind of perturbation, and the item factors that state its degree."""


def perturbation_effects(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    r"""Return the accuracies of each subject at perturbed items and at the same items without perturbation.

    There is one row for each kind and degree of perturbation.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`. The battery has perturbed and unperturbed items
        (`batteries.vignettes.perturbation`).
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        The columns `PERTURBATION_TABLE_COLUMNS`. `perturbation` is `spacing`, `character` or `capitalisation`, or
        several of these kinds joined by `+`. `level` is the degree of the perturbation. For `spacing` it is the share
        of spaces. For the other kinds it is the number of letters and the share of the occurrences of these letters,
        such as `5 x 0.1`. `n_items` is the number of items with a response to the unperturbed version and to the
        version with this perturbation. Items with only one of these two versions are left out of both accuracies.
        `n_items_only_perturbed` and `n_items_only_unperturbed` are the numbers of such items. `difference` is the
        accuracy at perturbed items minus the accuracy at unperturbed items. The difference is negative if the
        perturbation lowers the accuracy.

    Raises
    ------
    InputError
        If the items have no factors of perturbations, or no item is unperturbed.

    Notes
    -----
    Two items are versions of the same item if all factors except the perturbation are equal. The accuracies of a model
    are means over items. The accuracies of people are shares of correct trials among the trials of all participants.
    The interval of the difference takes into account that the two accuracies of a participant, or of an item, are
    correlated (`participant_intervals.pooled_proportions`). The units of the interval are participants. For a model,
    the units are items or clusters of items (`item_cluster` of the plan).

    References
    ----------
    Prunty, J. E., O'Flynn, A., Quinn, P., & Cheke, L. (2025). INTUIT: Investigating intuitive reasoning in humans and
    language models. Proceedings of the Annual Meeting of the Cognitive Science Society, 47. Appendix, Tables 7 and 11.
    """
    factors = factor_columns(trials)
    missing = [factor for factor in PERTURBATION_COLUMNS if factor not in factors]
    if missing:
        raise InputError(
            f"the items have no factor `{missing[0]}`, so it is unknown how the items were perturbed. Fix: build the "
            "battery from a specification with `perturbations`."
        )
    kept = graded_trials(trials, [*COUNTED_COLUMNS, "item_id", *factors])
    kept = kept[kept[list(PERTURBATION_COLUMNS)].notna().all(axis=1)]
    # A variant of a perturbed item names this item, although it is compared with the same variant unperturbed.
    others = [factor for factor in factors if factor not in (*PERTURBATION_COLUMNS, ORIGINAL_ITEM)]
    work = _with_perturbation(kept, others, plan)
    if not (work["perturbation"] == "").any():
        raise InputError(
            "the analysis has no unperturbed items to compare the perturbed items with. Fix: include the unperturbed "
            "items in the battery."
        )
    rows = []
    for (kind, subject), own in work.groupby(["kind", "subject"], sort=False):
        unperturbed = own[own["perturbation"] == ""]
        for (perturbation, level), perturbed in own[own["perturbation"] != ""].groupby(["perturbation", "level"]):
            effect = _effect(perturbed, unperturbed, is_model=kind == "model", plan=plan)
            rows.append({"kind": kind, "subject": subject, "perturbation": perturbation, "level": level, **effect})
    rows.sort(
        key=lambda row: (*subject_order(row["kind"], row["subject"]), row["perturbation"], _degrees(row["level"]))
    )
    counts = dict.fromkeys([name for name in PERTURBATION_TABLE_COLUMNS if name.startswith("n_")], "int64")
    return pd.DataFrame(rows, columns=PERTURBATION_TABLE_COLUMNS).astype(counts)


def _with_perturbation(kept: pd.DataFrame, others: list[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the trials with the columns `participant`, `correct`, `perturbation`, `level`, `base` and `cluster`.

    `base` is a number that all versions of an item share.
    """
    perturbations = kept[list(PERTURBATION_COLUMNS)].drop_duplicates()
    perturbations[["perturbation", "level"]] = [_perturbation(dict(zip(PERTURBATION_COLUMNS, row, strict=True)))
                                         for row in perturbations.itertuples(index=False)]  # fmt: skip
    base = kept.groupby(others, dropna=False, sort=False).ngroup() if others else 0
    cluster = base
    if plan.item_cluster is not None:  # A base without a level of the factor is a cluster of its own.
        cluster = kept.groupby(plan.item_cluster).ngroup()
        cluster = cluster.where(cluster >= 0, -1 - base)
    work = kept[[*PERTURBATION_COLUMNS, "kind"]].assign(
        subject=kept["subject"].astype("str"),
        participant=kept["participant"],
        base=base,
        cluster=cluster,
        correct=kept["counted_as"],
    )
    return work.merge(perturbations, on=list(PERTURBATION_COLUMNS))


def _perturbation(degrees: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kinds of perturbation and their levels, as two texts. Both texts are empty for an unperturbed item.

    Examples
    --------
    >>> clean = dict.fromkeys(PERTURBATION_COLUMNS, 0)
    >>> _perturbation(clean | {"character_noise_number": 5, "character_noise_proportion": 0.1})
    ('character', '5 x 0.1')
    """
    found = {
        kind: " x ".join(f"{float(degrees[factor]):g}" for factor in factors)
        for kind, factors in DEGREES.items()
        if all(float(degrees[factor]) > 0 for factor in factors)
    }
    return " + ".join(found), " + ".join(found.values())


def _degrees(level: str) -> list[float]:
    return [float(degree) for degree in re.split(r" [x+] ", level)]


def _effect(
    perturbed: pd.DataFrame, unperturbed: pd.DataFrame, *, is_model: bool, plan: AnalysisPlan
) -> dict[str, Any]:
    bases = np.intersect1d(perturbed["base"], unperturbed["base"])
    row: dict[str, Any] = {
        "n_items": len(bases),
        "n_items_only_perturbed": perturbed["base"].nunique() - len(bases),
        "n_items_only_unperturbed": unperturbed["base"].nunique() - len(bases),
    }
    sides = {"perturbed": perturbed[perturbed["base"].isin(bases)],
             "unperturbed": unperturbed[unperturbed["base"].isin(bases)]}  # fmt: skip
    row |= {f"n_trials_{name}": len(side) for name, side in sides.items()}
    if not len(bases):
        return row | dict.fromkeys(PERTURBATION_TABLE_COLUMNS[-5:], math.nan)
    counts = [
        side.groupby("base" if is_model else "participant")["correct"].agg(["sum", "size"]) for side in sides.values()
    ]
    values = pd.concat(counts, axis=1, keys=list(sides)).fillna(0).to_numpy(dtype="float64")
    if is_model:  # Every item has the same weight.
        ones = np.ones(len(values))
        of_items = np.column_stack([values[:, 0] / values[:, 1], ones, values[:, 2] / values[:, 3], ones])
        cluster_of_base = sides["perturbed"].drop_duplicates("base").set_index("base")["cluster"]
        values = pd.DataFrame(of_items, index=counts[0].index).groupby(cluster_of_base).sum().to_numpy()
    first, second = values[:, 0].sum() / values[:, 1].sum(), values[:, 2].sum() / values[:, 3].sum()
    low, high = pooled_proportions(values[:, [0, 2]], values[:, [1, 3]]).contrast([1, -1], plan.confidence)
    measures = (first, second, first - second, low, high)
    return row | dict(zip(PERTURBATION_TABLE_COLUMNS[-5:], map(float, measures), strict=True))
