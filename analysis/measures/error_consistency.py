"""Consistency of errors: of models with people, and of people with each other (Geirhos et al., 2020)."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.measures.accuracy import COUNTED_COLUMNS, kept_trials
from analysis.measures.item_agreement import in_order
from analysis.measures.shared_items import compared, of_responses
from analysis.statistics.agreement_measures import Floats, beyond_expected
from analysis.statistics.bootstrap import resampled_sums
from analysis.statistics.intervals import percentile_interval
from experiment.study.analysis_plan import AnalysisPlan

FEWEST_ITEMS = 10
"""For a comparison, two subjects need at least this number of shared items. With fewer items, kappa has little
meaning."""
MOST_PAIRED = 300
"""At most this number of participants are compared with each other. If there are more participants, this number of
participants is chosen at random."""
CONSISTENCY_COLUMNS = [
    "kind", "people", "compared_with", "n_items", "n_items_only_model", "n_items_only_people", "n_participants",
    "n_pairs", "n_pairs_left_out", "observed", "expected", "kappa", "ci_low", "ci_high", "reason",
]  # fmt: skip
_NEEDED = [*COUNTED_COLUMNS, "item_id", "response"]


def error_agreement(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    r"""Return the consistency of right and wrong responses of people and of each model on the same items.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    plan : AnalysisPlan
        The plan states the confidence level and the settings of the bootstrap.

    Returns
    -------
    DataFrame
        `CONSISTENCY_COLUMNS`. For each kind of people, one row compares people with each other (`compared_with` is
        `each other`). The kappa of this row is the reference for the kappas of models. For each model, one row compares
        the model with people. A pair is two participants, or a participant and the model. Each pair is compared only on
        its shared items: the items that both participants responded to, or that the participant responded to and the
        model was asked. `observed`, `expected` and `kappa` are means over pairs. A pair has no kappa if both subjects
        share fewer than `FEWEST_ITEMS` items, or if both are always right, or if both are always wrong. Such pairs are
        left out; `n_pairs_left_out` is their number. `reason` says why a value is missing.

    Notes
    -----
    See `agreement_measures.error_consistency`. The bootstrap for the interval resamples participants. Let :math:`w_i`
    be the number of times that participant :math:`i` is in a resample. No participant is compared with themselves, so
    the mean over the pairs of participants is

    .. math:: \bar\kappa = \frac{\sum_{i<j} w_i w_j \kappa_{ij}}{\sum_{i<j} w_i w_j}.

    If there are more than `MOST_PAIRED` participants, `MOST_PAIRED` of them are chosen at random with the plan's seed.
    A model's unanswered and invalid trials count as not correct.

    References
    ----------
    Geirhos, R., Meding, K., & Wichmann, F. A. (2020). Beyond accuracy: Quantifying trial-by-trial behaviour of CNNs
    and humans by measuring error consistency. Advances in Neural Information Processing Systems, 33.
    """
    kept = kept_trials(trials, _NEEDED)
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
    """Return the error consistency of participants with a model. `shares` has an accuracy per participant and item."""
    x = shares["counted_as"].to_numpy()
    y = shares["item_id"].map(_shares(asked, ["item_id"])).to_numpy()
    of_participant = (
        pd.DataFrame({"n": 1.0, "agreed": x * y + (1 - x) * (1 - y), "x": x, "y": y})
        .groupby(shares["participant"].to_numpy())
        .sum()
    )
    n, agreed, sum_x, sum_y = of_participant.to_numpy().T
    expected, kappa = beyond_expected(agreed / n, sum_x / n, sum_y / n)
    known = (n >= FEWEST_ITEMS) & ~np.isnan(kappa)
    found = _means(agreed / n, expected, kappa, known, n_participants=len(n))
    sums = resampled_sums(
        np.column_stack([np.where(known, kappa, 0), known]), plan.bootstrap_resamples, plan.bootstrap_seed
    )
    return found | _interval(sums, kappa[known], len(n), plan)


def _with_each_other(responses: pd.DataFrame, plan: AnalysisPlan) -> dict[str, float | int | str]:
    rng = np.random.default_rng(plan.bootstrap_seed)
    participants = sorted(responses["participant"].unique())
    chosen = participants if len(participants) <= MOST_PAIRED else rng.choice(participants, MOST_PAIRED, replace=False)
    shares = _shares(responses[responses["participant"].isin(chosen)], ["participant", "item_id"]).unstack("item_id")
    answered = shares.notna().to_numpy(dtype="float64")
    right = shares.fillna(0).to_numpy(dtype="float64")
    n = answered @ answered.T
    of_both = np.maximum(n, 1)
    observed = (right @ right.T + (answered - right) @ (answered - right).T) / of_both
    # The accuracy of the row's participant at the items shared with the column's participant.
    accuracy = (right @ answered.T) / of_both
    expected, kappa = beyond_expected(observed, accuracy, accuracy.T)
    each_once = np.triu(np.ones(n.shape, dtype=bool), k=1)
    known = each_once & (n >= FEWEST_ITEMS) & ~np.isnan(kappa)
    found = _means(observed, expected, kappa, known, n_participants=len(n), n_pairs_in_all=int(each_once.sum()))
    drawn = rng.multinomial(len(n), np.full(len(n), 1 / len(n)), size=plan.bootstrap_resamples).astype("float64")
    sums = [((drawn @ matrix) * drawn).sum(axis=1) for matrix in (np.where(known, kappa, 0), known.astype("float64"))]
    return found | _interval(np.column_stack(sums), kappa[known], len(n), plan)


def _shares(trials: pd.DataFrame, by: list[str]) -> pd.Series:
    """Return the share of correct responses in each group of trials. The columns in `by` define the groups."""
    return trials["counted_as"].groupby([trials[name] for name in by]).mean()


def _means(
    observed: Floats,
    expected: Floats,
    kappa: Floats,
    known: npt.NDArray[np.bool_],
    *,
    n_participants: int,
    n_pairs_in_all: int | None = None,
) -> dict[str, float | int | str]:
    n_pairs = int(known.sum())
    found: dict[str, float | int | str] = {"n_participants": n_participants, "n_pairs": n_pairs}
    found["n_pairs_left_out"] = (n_participants if n_pairs_in_all is None else n_pairs_in_all) - n_pairs
    if not n_pairs:
        return {**found, "reason": f"no pair shares {FEWEST_ITEMS} items with both right and wrong responses"}
    means = {"observed": observed, "expected": expected, "kappa": kappa}
    return found | {name: float(values[known].mean()) for name, values in means.items()}


def _interval(sums: Floats, kappa: Floats, n_participants: int, plan: AnalysisPlan) -> dict[str, float | int | str]:
    """Return the interval of the mean kappa. A row of `sums` has the sum and the number of kappas of a resample."""
    if not len(kappa):
        return {}
    if np.ptp(kappa) == 0 or n_participants < 3:
        return {"reason": "too few participants differ for an interval"}
    has_pairs = sums[:, 1] > 0
    low, high = percentile_interval(sums[has_pairs, 0] / sums[has_pairs, 1], plan.confidence)
    return {"ci_low": low, "ci_high": high}
