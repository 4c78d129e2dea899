"""Invalid responses of models, and the stored scoring of imported runs compared with the scoring by Equipoise."""

from collections.abc import Hashable

import pandas as pd

from analysis.data.columns import is_graded
from analysis.statistics.factor_levels import level_order

INVALID_COLUMNS = ["subject", "model", "n_trials", "n_unanswered", "n_invalid", "accuracy_if_wrong",
                   "accuracy_if_left_out", "accuracy_if_chance"]  # fmt: skip
STORED_COLUMNS = ["run", "model", "n", "accuracy_stored", "accuracy", "n_different"]
REGRADED_COLUMNS = ["run", "item_id", "response", "key", "imported_correct", "correct"]


def invalid_responses(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the number of unanswered and invalid trials of each model, and the accuracy with and without them.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`. The setting `invalid` of the plan has no effect on
        the results.

    Returns
    -------
    DataFrame
        The columns `INVALID_COLUMNS`. The accuracies are over all runs of the model. In `accuracy_if_wrong`,
        unanswered and invalid trials count as not correct. `accuracy_if_left_out` is computed without these trials. It
        is missing if a model has no valid response. In `accuracy_if_chance`, each unanswered or invalid trial counts
        as the item's chance level, as if the model had guessed. The numbers of trials include ungraded items, which
        the accuracies leave out.
    """
    in_question = (trials["kind"] == "model") & (trials["phase"] == "test")
    in_question &= trials["excluded_by"].isna() | (trials["excluded_by"] == "unanswered")
    rows = []
    for (subject, model), responses in _by(trials[in_question], "subject"):
        unanswered = responses["response"].isna()
        invalid = ~unanswered & ~responses["valid"].fillna(True)
        correct = responses["correct"].fillna(False).astype("float64").where(is_graded(responses))
        if_left_out = correct[~(unanswered | invalid)].mean()
        if_chance = correct.mask(unanswered | invalid, responses["chance"]).mean()
        counts = (len(responses), int(unanswered.sum()), int(invalid.sum()))
        rows.append((subject, model, *counts, float(correct.mean()), float(if_left_out), float(if_chance)))
    return pd.DataFrame(rows, columns=INVALID_COLUMNS)


def stored_scoring(trials: pd.DataFrame) -> pd.DataFrame:
    """Compare the stored scoring of each imported run with the scoring by Equipoise.

    `n` is the number of graded test trials for which the imported run states whether the response is correct.
    Incomplete runs are included. Both accuracies are computed from these `n` trials.
    """
    rows = []
    for (run, model), responses in _by(_with_stored_scoring(trials), "run"):
        stored, ours = responses["imported_correct"].astype(bool), responses["correct"].fillna(False).astype(bool)
        rows.append((run, model, len(responses), float(stored.mean()), float(ours.mean()), int((stored != ours).sum())))
    return pd.DataFrame(rows, columns=STORED_COLUMNS)


def regraded(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the responses for which Equipoise's score differs from the imported score, by run and item."""
    responses = _with_stored_scoring(trials)
    different = responses[responses["imported_correct"] != responses["correct"].fillna(False)]
    order = sorted(
        different.index,
        key=lambda row: (level_order(different.at[row, "run"]), level_order(different.at[row, "item_id"])),
    )
    table = different.loc[order, REGRADED_COLUMNS].reset_index(drop=True)
    return table.assign(correct=table["correct"].fillna(False))


def _with_stored_scoring(trials: pd.DataFrame) -> pd.DataFrame:
    is_stored = (trials["kind"] == "model") & (trials["phase"] == "test") & trials["imported_correct"].notna()
    return trials[is_stored & is_graded(trials)]


def _by(trials: pd.DataFrame, column: str) -> list[tuple[tuple[Hashable, Hashable], pd.DataFrame]]:
    groups = trials.groupby([column, "model"], dropna=False, sort=False)
    pairs = [((cell[0], cell[1]), rows) for cell, rows in groups]
    return sorted(pairs, key=lambda pair: level_order(pair[0][0]))
