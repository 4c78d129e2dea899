"""Hits and false alarms of one response, such as "there is not enough information to know".

For example, a question that cannot be answered is a signal. To such a question, the response "not enough information"
is a hit. To a question that can be answered, the same response is a false alarm. INTUIT's measure of metacognition is
hits minus false alarms (Prunty et al., 2025).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from analysis.data.row_filters import matching, require_columns
from analysis.measures.accuracy import cluster_columns, counts_of_items, graded_trials, item_counts
from analysis.measures.shared_items import Subject, subjects_compared
from analysis.statistics.intervals import (
    Interval,
    effective_trials,
    mover_difference,
    wilson,
)
from analysis.statistics.participant_intervals import pooled_proportions
from analysis.statistics.signal_detection_measures import SignalDetection, signal_detection
from batteries.errors import InputError
from batteries.stimulus.parts import option_words
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import Where

MEASURES = ("hit_rate", "false_alarm_rate", "difference", "d_prime", "criterion")
SIGNAL_COLUMNS = [
    "people", "kind", "subject", "n_items", "n_items_only_model", "n_items_only_people", "n_items_without_response",
    "n_participants", "n_signal", "n_noise", "n_invalid",
    *(f"{name}{end}" for name in MEASURES for end in ("", "_ci_low", "_ci_high")), "reason",
]  # fmt: skip

_NEEDED = ["kind", "subject", "participant", "item_id", "response", "valid", "content"]


def signal_measures(
    trials: pd.DataFrame,
    plan: AnalysisPlan,
    *,
    signal: Where,
    noise: Where | None = None,
    response: str | Sequence[str],
) -> pd.DataFrame:
    """Return hits, false alarms, sensitivity and criterion of people and of each model.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`; its items are `multiple_choice`.
    plan : AnalysisPlan
        The plan states the confidence level.
    signal : mapping
        The factor levels that identify the signal items, such as `{"capability_type": "metacognition_check"}`.
    noise : mapping, optional
        The factor levels that identify the items without a signal, such as `{"capability_type": ("comprehension_check",
        "knowledge_check")}`. By default, all other items are items without a signal.
    response : str or sequence of str
        The text of the answer option that reports a signal, such as `There is not enough information to know.`. Give
        several texts if this option has different texts. Capitals, spaces around the text and a final full stop make no
        difference.

    Returns
    -------
    DataFrame
        The columns `SIGNAL_COLUMNS`, one row for people and one row for each model. The row of a model uses only the
        items that people responded to. `difference` is the hit rate minus the false alarm rate. Items that do not
        offer the response are left out of all rows. `n_items_without_response` is the number of these items. Invalid
        or missing responses of a model count as a response other than `response`. `n_invalid` is the number of such
        responses. `reason` says why a value is missing.

    Raises
    ------
    InputError
        If a factor or level is not in the data, or an item would be both signal and noise. Also if no signal item
        offers the response, or if no noise item offers the response.

    Notes
    -----
    See `signal_detection_measures.signal_detection`. People's trials are pooled. The weight of an item is the number
    of people's responses to this item, for people and for models. For a model, the number of trials in the formulas is
    the effective number of trials (`intervals.effective_trials`). For several participants,
    `participant_intervals.pooled_proportions` computes all intervals. For one participant or a model, the rates have
    Wilson's score intervals, and the difference has a MOVER interval. The intervals of d' and of the criterion are
    then the estimate ± z standard errors.

    References
    ----------
    Prunty, J. E., O'Flynn, A., Quinn, P., & Cheke, L. (2025). INTUIT: Investigating intuitive reasoning in humans and
    language models. Proceedings of the Annual Meeting of the Cognitive Science Society, 47.
    """
    work = _said(trials, signal, noise, response, cluster_columns(plan))
    offered = work[work["said"].notna()]
    for what, is_kind in (("signal", offered["is_signal"]), ("noise", ~offered["is_signal"])):
        if not is_kind.any():
            raise InputError(
                f"no {what} item offers the response {_quoted(response)}. Fix: correct `response` in the plan."
            )
    without = work[work["said"].isna()]
    rows = []
    for subject in subjects_compared(offered):
        of_subject = without["subject"] == subject.name if subject.kind == "model" else without["kind"] == subject.kind
        row: dict[str, Any] = {**subject.names, "n_items": int(subject.trials["item_id"].nunique())}
        row |= subject.pair.counts if subject.pair else {}
        row |= {"n_items_without_response": int(without.loc[of_subject, "item_id"].nunique())}
        rows.append(row | _measures(subject, plan))
    counts = dict.fromkeys([name for name in SIGNAL_COLUMNS if name.startswith("n_")], "Int64")
    return pd.DataFrame(rows, columns=SIGNAL_COLUMNS).astype({**dict.fromkeys(SIGNAL_COLUMNS[:3], "str"), **counts})


def _said(
    trials: pd.DataFrame, signal: Where, noise: Where | None, response: str | Sequence[str], clusters: list[str]
) -> pd.DataFrame:
    """Return the signal and noise trials with a column `said` (true if the participant or model gave the response).

    `said` is missing if the item does not offer the response.
    """
    require_columns(trials, signal, "the signal")
    require_columns(trials, noise or {}, "the noise")
    kept = graded_trials(trials, [*_NEEDED, *clusters, *signal, *(noise or {})])
    is_signal = matching(kept, signal, "the signal")
    is_noise = matching(kept, noise, "the noise") if noise else ~is_signal
    if (is_signal & is_noise).any():
        item = kept.loc[is_signal & is_noise, "item_id"].iloc[0]
        raise InputError(
            f"the levels under `signal` and the levels under `noise` both select the item `{item}`. Fix: correct the "
            "levels under one of them."
        )
    work = kept.loc[is_signal | is_noise, [*_NEEDED[:-1], *clusters]]
    texts = {_plain(text) for text in ([response] if isinstance(response, str) else response)}
    numbers: dict[int, int | None] = {}
    offered = []
    for content in kept.loc[work.index, "content"].tolist():
        if id(content) not in numbers:
            numbers[id(content)] = _number_of(texts, content)
        offered.append(numbers[id(content)])
    said = [
        None if number is None else not isinstance(given, bool) and given == number
        for number, given in zip(offered, work["response"].tolist(), strict=True)
    ]
    return work.assign(said=pd.array(said, dtype="boolean"), is_signal=is_signal)


def _number_of(texts: set[str], content: dict[str, Any]) -> int | None:
    options = option_words(content) if isinstance(content, dict) and "options" in content else []
    return next((number for number, option in enumerate(options, start=1) if _plain(option) in texts), None)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


def _quoted(response: str | Sequence[str]) -> str:
    return f"“{response}”" if isinstance(response, str) else " or ".join(f"“{text}”" for text in response)


@dataclass(frozen=True)
class _Counts:
    """Numbers of hits and false alarms, and of signal and noise trials.

    The numbers of a model are weighted by people's responses.
    """

    hits: float
    n_signal: float
    false_alarms: float
    n_noise: float


def _measures(subject: Subject, plan: AnalysisPlan) -> dict[str, Any]:
    trials = subject.trials
    valid = trials["response"].notna() & trials["valid"].fillna(True)
    found: dict[str, Any] = {
        "n_signal": int(trials["is_signal"].sum()),
        "n_noise": int((~trials["is_signal"]).sum()),
        "n_invalid": int((~valid).sum()) if subject.kind == "model" else None,
    }
    if not (found["n_signal"] and found["n_noise"]):
        return found | {"reason": "no signal trials" if found["n_noise"] else "no trials without signal"}
    if subject.kind == "model":
        return found | _of_one(_counts_of_model(trials, subject.responses_to_item, plan), plan)
    said = trials["said"].astype("int64").groupby([trials["participant"], trials["is_signal"]])
    counts = np.column_stack([
        of_participant.reindex(columns=[True, False], fill_value=0).to_numpy(dtype="int64")
        for of_participant in (said.sum().unstack(fill_value=0), said.size().unstack(fill_value=0))
    ])  # fmt: skip
    return found | {"n_participants": len(counts)} | _of_people(counts[:, [0, 2, 1, 3]], plan)


def _counts_of_model(trials: pd.DataFrame, n_responses: pd.Series, plan: AnalysisPlan) -> _Counts:
    """Return a model's counts with effective numbers of trials. Items are weighted by people's responses."""
    counts = []
    for is_kind in (trials["is_signal"], ~trials["is_signal"]):
        of_items = item_counts(trials[is_kind].assign(counted_as=trials["said"].astype("float64")), plan)
        n_said, n_trials, weights, clusters = counts_of_items(of_items, n_responses.reindex(of_items.index))
        n_effective = effective_trials(n_said, n_trials, weights, clusters, plan.confidence)
        counts += [float((weights * n_said / n_trials).sum() / weights.sum() * n_effective), n_effective]
    return _Counts(*counts)


def _of_one(counts: _Counts, plan: AnalysisPlan) -> dict[str, float]:
    """Return the measures of one participant or model."""
    found = signal_detection(counts.hits, counts.n_signal, counts.false_alarms, counts.n_noise)
    hits = wilson(counts.hits, counts.n_signal, plan.confidence)
    false_alarms = wilson(counts.false_alarms, counts.n_noise, plan.confidence)
    z = float(ndtri(0.5 + plan.confidence / 2))
    return _row(
        found,
        hits,
        false_alarms,
        mover_difference(float(found.hit_rate), hits, float(found.false_alarm_rate), false_alarms),
        Interval(float(found.d_prime - z * found.d_prime_se), float(found.d_prime + z * found.d_prime_se)),
        Interval(float(found.criterion - z * found.criterion_se), float(found.criterion + z * found.criterion_se)),
    )


def _of_people(counts: npt.NDArray[np.int64], plan: AnalysisPlan) -> dict[str, float]:
    """Return the measures of people's pooled trials.

    `counts` has one row per participant: hits, signal trials, false alarms and noise trials.
    """
    if len(counts) == 1:
        return _of_one(_Counts(*counts[0].astype("float64")), plan)
    pooled = pooled_proportions(counts[:, [0, 2]], counts[:, [1, 3]])
    hits, false_alarms = pooled.intervals(plan.confidence)
    return _row(
        signal_detection(*counts.sum(axis=0)),
        hits,
        false_alarms,
        pooled.contrast([1, -1], plan.confidence),
        pooled.z_contrast([1, -1], plan.confidence),
        pooled.z_contrast([-0.5, -0.5], plan.confidence),
    )


def _row(found: SignalDetection, *intervals: Interval) -> dict[str, float]:
    row: dict[str, float] = {}
    for name, (low, high) in zip(MEASURES, intervals, strict=True):
        row |= {name: float(getattr(found, name)), f"{name}_ci_low": low, f"{name}_ci_high": high}
    return row
