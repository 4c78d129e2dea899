"""Invalid responses of models, and the stored scoring of imported runs compared with the scoring by Equipoise."""

from collections.abc import Hashable

import pandas as pd

from analysis.measures.accuracy import kept_trials
from analysis.statistics.factor_levels import level_order

INVALID_COLUMNS = ["subject", "model", "n_trials", "n_unanswered", "n_invalid", "accuracy",
                   "accuracy_of_valid_responses", "accuracy_with_chance"]  # fmt: skip
STORED_COLUMNS = ["run", "model", "n", "accuracy_stored", "accuracy", "n_different"]
REGRADED_COLUMNS = ["run", "item_id", "response", "key", "imported_correct", "correct"]


def invalid_responses(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the number of unanswered and invalid trials of each model in the analysis, over all its runs.

    Unanswered and invalid trials count as not correct in `accuracy`. `accuracy_of_valid_responses` is computed without
    these trials. It is missing if a model has no valid response. In `accuracy_with_chance`, each of these trials counts
    as the item's chance, as if the model had guessed.
    """
    kept = kept_trials(trials, ["kind", "subject", "model", "response", "valid", "correct", "chance"])
    rows = []
    for (subject, model), responses in _by(kept[kept["kind"] == "model"], "subject"):
        unanswered = responses["response"].isna()
        invalid = ~unanswered & ~responses["valid"].fillna(True)
        correct = responses["correct"].fillna(False).astype(bool)
        n_valid = int((~unanswered & ~invalid).sum())
        of_valid = float(correct.sum() / n_valid) if n_valid else float("nan")
        counts = (len(responses), int(unanswered.sum()), int(invalid.sum()))
        with_chance = correct.astype("float64").where(~(unanswered | invalid), responses["chance"])
        rows.append((subject, model, *counts, float(correct.mean()), of_valid, float(with_chance.mean())))
    return pd.DataFrame(rows, columns=INVALID_COLUMNS)


def stored_scoring(trials: pd.DataFrame) -> pd.DataFrame:
    """Compare the stored scoring of each imported run with the scoring by Equipoise.

    `n` is the number of test trials with a stored correctness. The trials of incomplete runs are included. The accuracy
    by the stored scoring and the accuracy by Equipoise's scoring are computed from these `n` trials.
    """
    rows = []
    for (run, model), responses in _by(_with_stored_scoring(trials), "run"):
        stored, ours = responses["imported_correct"].astype(bool), responses["correct"].fillna(False).astype(bool)
        rows.append((run, model, len(responses), float(stored.mean()), float(ours.mean()), int((stored != ours).sum())))
    return pd.DataFrame(rows, columns=STORED_COLUMNS)


def regraded(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the responses that Equipoise scores differently from the stored scoring, by run and item."""
    responses = _with_stored_scoring(trials)
    different = responses[responses["imported_correct"] != responses["correct"].fillna(False)]
    order = sorted(
        different.index,
        key=lambda row: (level_order(different.at[row, "run"]), level_order(different.at[row, "item_id"])),
    )
    table = different.loc[order, REGRADED_COLUMNS].reset_index(drop=True)
    return table.assign(correct=table["correct"].fillna(False))


def _with_stored_scoring(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[(trials["kind"] == "model") & (trials["phase"] == "test") & trials["imported_correct"].notna()]


def _by(trials: pd.DataFrame, column: str) -> list[tuple[tuple[Hashable, Hashable], pd.DataFrame]]:
    groups = trials.groupby([column, "model"], dropna=False, sort=False)
    pairs = [((cell[0], cell[1]), rows) for cell, rows in groups]
    return sorted(pairs, key=lambda pair: level_order(pair[0][0]))
