"""Agreement of models and people on the difficulty of items, computed from the accuracies at each item."""

import numpy as np
import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE
from analysis.data.columns import factor_columns, subject_order
from analysis.measures.accuracy import COUNTED_COLUMNS, graded_trials
from analysis.measures.shared_items import COMPARED_COLUMNS, Compared, compared, of_responses
from analysis.sentences import count
from analysis.statistics.agreement_measures import Floats, pearson, spearman, split_half_reliability
from analysis.statistics.factor_levels import level_order
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

AGREEMENT_COLUMNS = [
    *COMPARED_COLUMNS, "pearson", "pearson_ci_low", "pearson_ci_high", "spearman", "spearman_ci_low",
    "spearman_ci_high", "reliability", "ceiling", "reason",
]  # fmt: skip
_NEEDED = [*COUNTED_COLUMNS, "item_id", "response"]
_CONSTANT = {0.0: "never right", 1.0: "always right"}
"""Words for a subject with the same accuracy at all items, by this accuracy."""


def item_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of people and of each model at every shared item.

    Shared items are items that the model was asked and people responded to.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.

    Returns
    -------
    DataFrame
        `kind, people, model, item_id, <factors>, n_people, accuracy_people, n_model, accuracy_model`, one row for each
        kind of people, model and item. `n_people` and `n_model` are numbers of trials. A model's unanswered and invalid
        trials count as not correct.
    """
    factors = factor_columns(trials)
    kept = graded_trials(trials, _NEEDED)
    portions = (trials.iloc[first : first + ROWS_AT_ONCE] for first in range(0, len(trials), ROWS_AT_ONCE))
    of_portions = [graded_trials(portion, ["item_id", *factors]).drop_duplicates() for portion in portions]
    named = pd.concat(of_portions).drop_duplicates()
    in_order_of_text = named.sort_values(named.columns.tolist(), key=lambda column: column.astype("str"))
    # Sorted, so that the levels do not depend on the order of the rows.
    levels = in_order_of_text.drop_duplicates("item_id").set_index("item_id")
    measures = ["n_people", "accuracy_people", "n_model", "accuracy_model"]
    tables = [pd.DataFrame(columns=["kind", "people", "model", "item_id", *factors, *measures])]
    for pair in compared(kept):
        items = _items(pair)
        items = items.loc[sorted(items.index, key=level_order)]
        tables.append(levels.loc[items.index].join(items).reset_index().assign(**pair.names)[tables[0].columns])
    return in_order(pd.concat(tables[1:], ignore_index=True) if len(tables) > 1 else tables[0], "model")


def _items(pair: Compared) -> pd.DataFrame:
    sides = []
    for trials, name in ((pair.responses, "people"), (pair.asked, "model")):
        correct = trials["counted_as"].groupby(trials["item_id"])
        sides.append(pd.DataFrame({f"n_{name}": correct.size(), f"accuracy_{name}": correct.mean()}))
    return sides[0].join(sides[1])


def in_order(table: pd.DataFrame, subject: str) -> pd.DataFrame:
    """Return the rows in the order of all tables: by kind, then by the column `subject`."""
    places = [subject_order(kind, name) for kind, name in table[["kind", subject]].itertuples(index=False)]
    order = sorted(range(len(table)), key=lambda row: places[row])
    return table.iloc[order].reset_index(drop=True)


def item_agreement(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return the correlations between people's accuracies and each model's accuracies at the same items.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    plan : AnalysisPlan
        The plan states the confidence level and the seed of the split halves (`seed`).

    Returns
    -------
    DataFrame
        The columns `AGREEMENT_COLUMNS`, and one row for each kind of people and model. `pearson` and `spearman` are
        correlations of the accuracies at the `n_items` shared items. Their intervals generalize to other items.
        `reliability` is the expected correlation between people's accuracies at these items and the accuracies of the
        same number of other people. `ceiling` is the square root of the reliability: the highest expected correlation
        with a subject whose accuracies have no random error. `reason` says why a value is missing.

    Notes
    -----
    See `agreement_measures.pearson`, `spearman` and `split_half_reliability`. Every item has the same weight. A model
    that was asked each item once has item accuracies of 0 or 1. Its correlation stays below the ceiling even if the
    model is like people.
    """
    kept = graded_trials(trials, _NEEDED)
    pairs = compared(kept)
    reliabilities = of_responses(pairs, lambda responses: _reliability(responses, plan))
    rows = [
        {**pair.names, **pair.counts, **_joined(_correlations(pair, plan), reliability)}
        for pair, reliability in zip(pairs, reliabilities, strict=True)
    ]
    return in_order(pd.DataFrame(rows, columns=AGREEMENT_COLUMNS), "model")


def _joined(*parts: dict[str, float | str]) -> dict[str, float | str]:
    reasons = [str(part["reason"]) for part in parts if "reason" in part]
    values = {name: value for part in parts for name, value in part.items()}
    return values | ({"reason": "; ".join(reasons)} if reasons else {})


def _correlations(pair: Compared, plan: AnalysisPlan) -> dict[str, float | str]:
    items = _items(pair)
    x, y = items["accuracy_people"].to_numpy(), items["accuracy_model"].to_numpy()
    if reason := _why_no_correlation(x, y, pair.people):
        return {"reason": reason}
    found: dict[str, float | str] = {}
    reasons: dict[str, list[str]] = {}
    for name, correlate in (("pearson", pearson), ("spearman", spearman)):
        correlation = correlate(x, y, plan.confidence)
        found[name] = correlation.value
        if correlation.interval:
            found |= {f"{name}_ci_low": correlation.interval.low, f"{name}_ci_high": correlation.interval.high}
        else:
            reasons.setdefault(correlation.why_no_interval, []).append(name.capitalize())
    if reasons:
        found["reason"] = "; ".join(f"no interval ({', '.join(names)}): {why}" for why, names in reasons.items())
    return found


def _reliability(responses: pd.DataFrame, plan: AnalysisPlan) -> dict[str, float | str]:
    correct = responses["correct"].to_numpy(dtype="float64")
    try:
        reliability = split_half_reliability(responses["participant"], responses["item_id"], correct, seed=plan.seed)
    except InputError as error:
        return {"reason": f"no reliability: {error}"}
    return {"reliability": reliability, "ceiling": float(np.sqrt(reliability))}


def _why_no_correlation(x: Floats, y: Floats, people: str) -> str | None:
    if len(x) < 3:
        return f"{people} and the model have only {count(len(x), 'common item')}"
    constant = [
        f"{who} {of_be} {_CONSTANT.get(float(values[0]), 'equally often right at every item')}"
        for who, of_be, values in ((people, "are", x), ("the model", "is", y))
        if np.ptp(values) == 0
    ]
    return f"no correlation: {' and '.join(constant)}" if constant else None
