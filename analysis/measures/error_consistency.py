"""Consistency of errors: of models with people, and of people with each other (Geirhos et al., 2020)."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from analysis.data.columns import PEOPLE
from analysis.measures.accuracy import COUNTED_COLUMNS, graded_trials
from analysis.measures.item_agreement import in_order
from analysis.measures.shared_items import compared, of_responses
from analysis.statistics.agreement_measures import Floats, beyond_expected
from experiment.study.analysis_plan import AnalysisPlan

FEWEST_ITEMS = 10
"""Smallest number of shared items for a kappa. With fewer items, kappa is too imprecise."""
MOST_PAIRED = 300
"""At most this number of participants are compared with each other. If there are more participants, this number of
participants is chosen at random."""
FEWEST_EXPECTED = 5
"""Smallest expected number of items, for each combination of right and wrong responses, for which an interval is
computed.
"""
CONSISTENCY_COLUMNS = [
    "kind", "people", "compared_with", "n_items", "n_items_only_model", "n_items_only_people", "n_participants",
    "n_pairs", "n_pairs_few_items", "n_pairs_always_right_or_wrong", "observed", "expected", "kappa", "ci_low",
    "ci_high", "reason",
]  # fmt: skip
_ROUNDING = 1e-12
"""A smaller standard error counts as 0, because it comes from floating-point rounding."""
_NEEDED = [*COUNTED_COLUMNS, "item_id", "response"]


def error_agreement(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    r"""Return the consistency of right and wrong responses of people and of each model on the same items.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    plan : AnalysisPlan
        The plan states the confidence level and the seed (`seed`).

    Returns
    -------
    DataFrame
        The columns `CONSISTENCY_COLUMNS`. For each kind of people, one row compares people with each other
        (`compared_with` is `each other`). The kappa of this row is the reference for the kappas of models. For each
        model, one row compares the model with people. A pair is two participants, or a participant and the model. Each
        pair is compared only on its shared items. For two participants, these are the items that both responded to.
        For a participant and a model, these are the items that the participant responded to and the model was asked.
        `observed`, `expected` and `kappa` are means over pairs. Pairs without a kappa are left out, for two reasons.
        `n_pairs_few_items` pairs share fewer than `FEWEST_ITEMS` items. In `n_pairs_always_right_or_wrong` pairs, a
        subject is always right or always wrong on the shared items, so kappa is not defined. `n_pairs` is the number
        of pairs with a kappa. `n_participants` is the number of participants in these pairs. `reason` says why a value
        is missing.

    Notes
    -----
    See `agreement_measures.error_consistency`. The interval of the mean kappa is the mean ± t standard errors. With a
    model, each participant has one kappa, and the standard error is that of the mean of all participants' kappas.
    Among people, the standard error comes from the jackknife, which leaves out one participant at a time with all
    pairs of this participant. The degrees of freedom are `n_participants` minus 1. The responses of two subjects to an
    item have four combinations of right and wrong. If fewer than `FEWEST_EXPECTED` items are expected for a
    combination, over all pairs, the distribution of kappa is too skewed. Then the interval is missing.

    If there are more than `MOST_PAIRED` participants, `MOST_PAIRED` of them are chosen at random with the plan's seed.
    A model's unanswered and invalid trials count as not correct.

    References
    ----------
    Geirhos, R., Meding, K., & Wichmann, F. A. (2020). Beyond accuracy: Quantifying trial-by-trial behaviour of CNNs
    and humans by measuring error consistency. Advances in Neural Information Processing Systems, 33.
    """
    kept = graded_trials(trials, _NEEDED)
    rows = []
    for kind, people in PEOPLE.items():
        responses = kept[(kept["kind"] == kind) & kept["response"].notna()]
        if not responses.empty:
            names = {"kind": kind, "people": people, "compared_with": "each other"}
            rows.append({**names, "n_items": responses["item_id"].nunique(), **_with_each_other(responses, plan)})
    among_people = pd.DataFrame(rows, columns=CONSISTENCY_COLUMNS)
    rows = []
    pairs = compared(kept)
    shares = of_responses(pairs, lambda responses: _shares(responses, ["participant", "item_id"]).reset_index())
    for pair, of_people in zip(pairs, shares, strict=True):
        names = {"kind": pair.kind, "people": pair.people, "compared_with": pair.model}
        rows.append({**names, **pair.counts, **_with_model(of_people, pair.asked, plan)})
    with_models = in_order(pd.DataFrame(rows, columns=CONSISTENCY_COLUMNS), "compared_with")
    parts = [part[part["kind"] == kind] for kind in PEOPLE for part in (among_people, with_models)]
    table = pd.concat([part for part in parts if not part.empty] or [among_people], ignore_index=True)
    counts = [name for name in CONSISTENCY_COLUMNS if name.startswith("n_")]
    return table.astype(dict.fromkeys(counts, "Int64"))


def _with_model(shares: pd.DataFrame, asked: pd.DataFrame, plan: AnalysisPlan) -> dict[str, float | int | str]:
    """Return the error consistency of participants with a model. `shares` has participants' accuracies at items."""
    x = shares["counted_as"].to_numpy()
    y = shares["item_id"].map(_shares(asked, ["item_id"])).to_numpy()
    of_participant = (
        pd.DataFrame({"n": 1.0, "agreed": x * y + (1 - x) * (1 - y), "x": x, "y": y})
        .groupby(shares["participant"].to_numpy())
        .sum()
    )
    n, agreed, right, right_of_model = of_participant.to_numpy().T
    found = consistency_with_model(n, agreed, right, right_of_model, plan)
    if np.ptp(y) == 0 and y[0] in (0, 1):
        always = "right" if y[0] else "wrong"
        return found | {"reason": f"kappa is not defined, because the model is always {always}"}
    return found


def consistency_with_model(
    n: Floats, agreed: Floats, right: Floats, right_of_model: Floats, plan: AnalysisPlan
) -> dict[str, float | int | str]:
    """Return the mean error consistency of participants with a model, and its interval.

    Parameters
    ----------
    n, agreed, right, right_of_model : array of float, shape (participants,)
        One number for each participant. `n` is the number of items that the participant shares with the model. `agreed`
        is the number of these items on which both are right or both are wrong. `right` and `right_of_model` are the
        numbers of these items on which the participant or the model is right.
    plan : AnalysisPlan
        The plan states the confidence level.
    """
    p, q = right / n, right_of_model / n
    expected, kappa = beyond_expected(agreed / n, p, q)
    known = (n >= FEWEST_ITEMS) & ~np.isnan(kappa)
    found = _means(agreed / n, expected, kappa, known)
    found |= _counts(known, n < FEWEST_ITEMS, n_participants=int(known.sum()))
    fewest = _fewest_expected(n[known], p[known], q[known])
    error = float(kappa[known].std(ddof=1) / np.sqrt(known.sum())) if known.sum() > 1 else 0.0
    return found | _interval(found, error, int(known.sum()), fewest, plan)


def _with_each_other(responses: pd.DataFrame, plan: AnalysisPlan) -> dict[str, float | int | str]:
    rng = np.random.default_rng(plan.seed)
    participants = sorted(responses["participant"].unique())
    chosen = participants if len(participants) <= MOST_PAIRED else rng.choice(participants, MOST_PAIRED, replace=False)
    shares = _shares(responses[responses["participant"].isin(chosen)], ["participant", "item_id"]).unstack("item_id")
    return consistency_among_people(
        shares.notna().to_numpy(dtype="float64"), shares.fillna(0).to_numpy(dtype="float64"), plan
    )


def consistency_among_people(answered: Floats, right: Floats, plan: AnalysisPlan) -> dict[str, float | int | str]:
    """Return the mean error consistency over pairs of participants, and its interval.

    Parameters
    ----------
    answered, right : array of float, shape (participants, items)
        `answered` is 1 if the participant responded to the item. `right` is the share of correct responses, and 0
        without a response.
    plan : AnalysisPlan
        The plan states the confidence level.
    """
    n = answered @ answered.T
    of_both = np.maximum(n, 1)
    observed = (right @ right.T + (answered - right) @ (answered - right).T) / of_both
    # The accuracy of the row's participant at the items shared with the column's participant.
    accuracy = (right @ answered.T) / of_both
    expected, kappa = beyond_expected(observed, accuracy, accuracy.T)
    each_once = np.triu(np.ones(n.shape, dtype=bool), k=1)
    known = each_once & (n >= FEWEST_ITEMS) & ~np.isnan(kappa)
    found = _means(observed, expected, kappa, known)
    fewest = _fewest_expected(n[known], accuracy[known], accuracy.T[known])
    error, n_in_pairs = _jackknife_error(np.where(known | known.T, kappa, 0), known | known.T)
    found |= _counts(known[each_once], n[each_once] < FEWEST_ITEMS, n_participants=n_in_pairs)
    return found | _interval(found, error, n_in_pairs, fewest, plan)


def _jackknife_error(kappa: Floats, known: npt.NDArray[np.bool_]) -> tuple[float, int]:
    """Return the standard error of the mean kappa of pairs of participants, and the number of participants in pairs.

    Both matrices are symmetric. `known` is true for pairs with a kappa. The kappa of other pairs is 0.
    """
    in_pairs = known.any(axis=1)
    n = int(in_pairs.sum())
    sums, n_pairs = kappa.sum(axis=1)[in_pairs], known.sum(axis=1)[in_pairs]
    others = n_pairs.sum() / 2 - n_pairs
    if n < 3 or not others.all():
        return 0.0, n
    without = (sums.sum() / 2 - sums) / others
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())), n


def _fewest_expected(n: Floats, p: Floats, q: Floats) -> float:
    """Return the expected number of items for the rarest combination of right and wrong, over all pairs."""
    return float(min((n * first * second).sum() for first in (p, 1 - p) for second in (q, 1 - q)))


def _shares(trials: pd.DataFrame, by: list[str]) -> pd.Series:
    """Return the share of correct responses in each group of trials. The columns in `by` define the groups."""
    return trials["counted_as"].groupby([trials[name] for name in by]).mean()


def _counts(
    known: npt.NDArray[np.bool_], is_small: npt.NDArray[np.bool_], *, n_participants: int
) -> dict[str, float | int | str]:
    """Return the number of participants with a kappa, and the numbers of pairs with and without a kappa."""
    return {
        "n_participants": n_participants,
        "n_pairs": int(known.sum()),
        "n_pairs_few_items": int(is_small.sum()),
        "n_pairs_always_right_or_wrong": int((~known & ~is_small).sum()),
    }


def _means(
    observed: Floats, expected: Floats, kappa: Floats, known: npt.NDArray[np.bool_]
) -> dict[str, float | int | str]:
    if not known.any():
        return {"reason": f"no pair shares {FEWEST_ITEMS} items with both right and wrong responses"}
    means = {"observed": observed, "expected": expected, "kappa": kappa}
    return {name: float(values[known].mean()) for name, values in means.items()}


def _interval(
    found: dict[str, float | int | str], error: float, n_participants: int, fewest: float, plan: AnalysisPlan
) -> dict[str, float | int | str]:
    """Return the interval of the mean kappa, or the reason why it is missing. `error` is the standard error."""
    if not found["n_pairs"]:
        return {}
    if error < _ROUNDING or n_participants < 3:
        return {"reason": "no interval, because there are too few participants, or their kappas do not differ"}
    if fewest < FEWEST_EXPECTED:
        return {"reason": "no interval, because there are too few right or too few wrong responses"}
    kappa, half = float(found["kappa"]), error * float(stdtrit(n_participants - 1, 0.5 + plan.confidence / 2))
    return {"ci_low": max(kappa - half, -1.0), "ci_high": min(kappa + half, 1.0)}
