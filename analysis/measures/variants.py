"""Accuracy over the variants of an item: other orders of its options, and other wordings (`batteries.variants`)."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import factor_columns, subject_order
from analysis.measures.accuracy import cluster_columns, graded_trials, share_of_rows
from analysis.statistics.agreement_measures import repeated_agreement
from batteries.errors import InputError
from batteries.stimulus.parts import option_words
from batteries.variants import ITEM_VARIANT, ORDER, ORIGINAL, ORIGINAL_ITEM
from experiment.study.analysis_plan import AnalysisPlan

VARIANT_COLUMNS = [
    "kind", "subject", "n_items", "accuracy_original", "accuracy_variants", "n_items_with_all_variants",
    "surviving_accuracy", "surviving_accuracy_ci_low", "surviving_accuracy_ci_high", "consistency", "reason",
]  # fmt: skip
POSITION_COLUMNS = ["kind", "subject", "n_options", "position", "n_trials", "chosen", "chosen_ci_low", "chosen_ci_high",
                    "right"]  # fmt: skip
_NEEDED = ["kind", "subject", "participant", "item_id", "content", "key", "response", "valid", "correct",
           "counted_as"]  # fmt: skip


def has_variants(trials: pd.DataFrame) -> bool:
    """Return True if the items have the factors of `batteries.variants`."""
    return {ORIGINAL_ITEM, ITEM_VARIANT} <= set(factor_columns(trials))


def variant_accuracy(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return each subject's accuracy at original items, at variants, and in all variants of an item together.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`. The battery has variants of items
        (`batteries.variants`).
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        The columns `VARIANT_COLUMNS`, and one row for each subject. `n_items` is the number of original items that have
        variants, and of which the subject was asked at least one form. `accuracy_original` and `accuracy_variants` are
        means over these items. `n_items_with_all_variants` is the number of items of which at least one participant, or
        one run of a model, was asked all forms (the original item and all its variants). `surviving_accuracy` is the
        share of these items with correct responses to all forms. `consistency` is the probability that the responses to
        two orders of an item are the same option. It is a mean over participants or runs, and over items. The text of
        the option counts, not its position. An invalid or missing response counts as different from every other
        response. `reason` says why a value is missing.

    Raises
    ------
    InputError
        If no item has a variant.

    Notes
    -----
    In `surviving_accuracy`, an item has one result for each participant or run. The intervals are computed as in
    `analysis.measures.accuracy.accuracy`: items are the units for a model, and participants are the units for people.
    """
    work, n_forms = _trials_with_variants(trials, plan)
    rows = []
    for (kind, subject), own in work.groupby(["kind", "subject"], sort=False):
        is_original = own[ITEM_VARIANT] == ORIGINAL
        row: dict[str, Any] = {"kind": kind, "subject": subject, "n_items": own[ORIGINAL_ITEM].nunique()}
        for name, part in (("original", own[is_original]), ("variants", own[~is_original])):
            row[f"accuracy_{name}"] = part.groupby(ORIGINAL_ITEM)["counted_as"].mean().mean()
        rows.append(row | _surviving(own, n_forms, plan) | {"consistency": _consistency(own)})
    rows.sort(key=lambda row: subject_order(row["kind"], row["subject"]))
    counts = dict.fromkeys([name for name in VARIANT_COLUMNS if name.startswith("n_")], "int64")
    return pd.DataFrame(rows, columns=VARIANT_COLUMNS).astype(counts)


def option_positions(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return how often each subject chose the option at the first position, at the second position, and so on.

    Parameters
    ----------
    trials, plan
        See `variant_accuracy`.

    Returns
    -------
    DataFrame
        The columns `POSITION_COLUMNS`, and one row for each subject, number of options and position (from 1). `chosen`
        is the share of the `n_trials` trials in which the subject chose the option at this position. Invalid and
        missing responses are trials in which no position was chosen. `right` is the share of these trials in which the
        right option was at this position. Only items with one answer and several orders are counted,
        and no paraphrases. If a subject
        was asked all orders of these items, `right` is 1 divided by the number of options. If the subject prefers no
        position, `chosen` has about the same value.

    Raises
    ------
    InputError
        If no item has a variant.
    """
    work, _ = _trials_with_variants(trials, plan)
    # An item with several right options has no position of the right option.
    work = work[_is_order(work) & ~work["key"].map(lambda key: isinstance(key, list))]
    work = work[work[ORIGINAL_ITEM].isin(work.loc[work[ITEM_VARIANT] != ORIGINAL, ORIGINAL_ITEM])]
    rows = []
    for (kind, subject, _), own in work.groupby(["kind", "subject", "n_options"], sort=False):
        n_options = int(own["n_options"].iloc[0])
        for position in range(1, n_options + 1):
            chosen = own.assign(item_id=own[ORIGINAL_ITEM], correct=(own["chosen_position"] == position).astype(int))
            share, interval = share_of_rows(chosen, plan)
            right = float((own["key"] == position).mean())
            rows.append((kind, subject, n_options, position, len(own), share, *interval, right))
    rows.sort(key=lambda row: (*subject_order(row[0], row[1]), *row[2:4]))
    counts = dict.fromkeys(["n_options", "position", "n_trials"], "int64")
    return pd.DataFrame(rows, columns=POSITION_COLUMNS).astype(counts)


def _trials_with_variants(trials: pd.DataFrame, plan: AnalysisPlan) -> tuple[pd.DataFrame, pd.Series]:
    """Return the trials in the analysis of items with variants, and the number of forms of each original item.

    The forms of an item are the original item and its variants. A form counts even if all its trials are excluded,
    because a subject without this form was not asked all forms.
    """
    tested = trials.loc[trials["phase"] == "test", [ORIGINAL_ITEM, "item_id"]].dropna().astype("str")
    n_forms = tested.groupby(ORIGINAL_ITEM)["item_id"].nunique()
    n_forms = n_forms[n_forms > 1]
    if n_forms.empty:
        raise InputError(
            "every item was asked in one form only, so the variants of items cannot be compared. Fix: ask all "
            "variants of the items in the battery."
        )
    kept = graded_trials(trials, [*_NEEDED, ORIGINAL_ITEM, ITEM_VARIANT, *cluster_columns(plan)])
    kept = kept[kept[ORIGINAL_ITEM].astype("str").isin(n_forms.index)]
    work = kept.assign(
        subject=kept["subject"].astype("str"),
        item_id=kept["item_id"].astype("str"),
        correct=kept["correct"].fillna(False).astype("int64"),
        **{name: kept[name].astype("str") for name in (ORIGINAL_ITEM, ITEM_VARIANT)},
        **_choices(kept),
    )
    return work, n_forms


def _choices(kept: pd.DataFrame) -> dict[str, npt.NDArray[Any]]:
    """Return `n_options`, `chosen_position` and `chosen_option` (a number for the text of the option) of each trial.

    Without a valid response, the position is 0, and `chosen_option` is a number that no other trial has.
    """
    is_valid = (kept["response"].notna() & kept["valid"].fillna(True).astype(bool)).tolist()
    n_options, positions = [], []
    texts: list[object] = []
    given = zip(kept["content"].tolist(), kept["response"].tolist(), is_valid, strict=True)
    for row, (content, response, valid) in enumerate(given):
        options = option_words(content)
        n_options.append(len(options))
        if valid and isinstance(response, list):  # Several options have no single position.
            positions.append(0)
            texts.append(tuple(sorted(options[number - 1] for number in response)))
            continue
        position = response if valid and response in range(1, len(options) + 1) else 0
        positions.append(position)
        texts.append(options[position - 1] if position else row)
    numbers = pd.factorize(pd.Series(texts, dtype=object))[0]
    return {"n_options": np.array(n_options), "chosen_position": np.array(positions), "chosen_option": numbers}


def _is_order(work: pd.DataFrame) -> pd.Series:
    return (work[ITEM_VARIANT] == ORIGINAL) | work[ITEM_VARIANT].str.startswith(f"{ORDER} ")


def _surviving(own: pd.DataFrame, n_forms: pd.Series, plan: AnalysisPlan) -> dict[str, Any]:
    """Return the surviving accuracy of one subject, and its interval."""
    units = own.groupby(["participant", ORIGINAL_ITEM], sort=False, observed=True)
    columns = {"correct": ("correct", "min"), "n_forms": ("item_id", "nunique")}
    same = {name: (name, "first") for name in ("kind", "subject", *cluster_columns(plan)) if name != ORIGINAL_ITEM}
    of_units = units.agg(**columns, **same).reset_index()
    of_units = of_units.assign(item_id=of_units[ORIGINAL_ITEM])
    survived = of_units[of_units["n_forms"] == of_units["item_id"].map(n_forms)]
    if survived.empty:
        who = "run" if own["kind"].iloc[0] == "model" else "participant"
        return {"n_items_with_all_variants": 0, "reason": f"no {who} was asked an item in all its variants"}
    share, interval = share_of_rows(survived, plan)
    return {
        "n_items_with_all_variants": survived["item_id"].nunique(),
        "surviving_accuracy": share,
        "surviving_accuracy_ci_low": interval.low,
        "surviving_accuracy_ci_high": interval.high,
    }


def _consistency(own: pd.DataFrame) -> float:
    ordered = own[_is_order(own)]
    unit = ordered.groupby(["participant", ORIGINAL_ITEM], sort=True, observed=True).ngroup()
    agreement = repeated_agreement(unit.to_numpy(), ordered["chosen_option"].to_numpy())
    return float(agreement.mean()) if len(agreement) else math.nan
