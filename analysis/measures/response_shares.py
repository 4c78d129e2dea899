"""The shares of the responses to ungraded items, such as the options of a question, or of the codes of open answers."""

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from analysis.data.columns import dtype_of_levels, is_graded, subject_order
from analysis.measures.accuracy import check_factors, cluster_columns, kept_trials, share_of_rows
from analysis.statistics.factor_levels import level_order
from batteries.errors import InputError
from batteries.tasks import task_named
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.answer_coding import BETWEEN_CODES, CODED_AS, CODING_NAME

OPTION_SET, CHOICE = "option_set", "choice"
"""The columns with the possible responses of an item, and with one of these responses."""
OTHER = "(another response)"
"""The name of responses that are not in an item's list of possible responses."""
_OF_CODING = ""
"""The first entry of the choices of a coding, before its name and its codes. An option is never an empty text."""
MEASURES = ("n_participants", "n_trials", "n_invalid", "n_chosen", "share", "ci_low", "ci_high")
_NEEDED = ("kind", "subject", "participant", "item_id", "task", "content", "key", "response", "valid")


def response_shares(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return how often each subject chose each response to the ungraded items, or gave an answer with each code.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    by : sequence of str
        Factors of the items, or settings of models' runs. Without factors, all items are pooled.
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        `option_set, kind, subject, <by...>, choice` and `MEASURES`. Coded answers have the name of the coding as
        `option_set`, and the codes as choices; answers without a code are left out. An answer can have several codes,
        so the shares of codes can have a sum above 1. Items with the same possible responses, in the same
        order, have the same `option_set`. The rows have one `choice` after another, in this order. `share` is the share
        of the choice among the `n_trials` trials with a valid response. `n_invalid` is the number of trials of a model
        without a valid response, which are left out. The table is empty if no ungraded item has such responses.

    Raises
    ------
    InputError
        If a factor has the name of a column of the table.

    Notes
    -----
    The intervals are computed as in `analysis.measures.accuracy.accuracy`: participants are the units for people, and
    items or clusters of items are the units for a model.
    """
    _check_names(trials, by)
    kept = _choices(trials, by, plan)
    rows: list[tuple[Any, ...]] = []
    for cell, own in kept.groupby([OPTION_SET, "kind", "subject", *by], dropna=False, sort=False):
        valid = own[own["is_valid"]]
        if valid.empty:
            continue
        counts = valid["participant"].nunique(), len(valid), len(own) - len(valid)
        for choice in _names(valid):
            chosen = valid.assign(correct=_chose(valid, choice).astype("int64"))
            share, interval = share_of_rows(chosen, plan)
            rows.append((*cell, choice, *counts, int(chosen["correct"].sum()), share, *interval))
    rows.sort(key=lambda row: (row[0], subject_order(row[1], row[2]), *(level_order(level) for level in row[3:-8])))
    columns = [OPTION_SET, "kind", "subject", *by, CHOICE, *MEASURES]
    types = {name: dtype_of_levels(kept[name]) for name in by}
    types |= {name: "int64" if name.startswith("n_") else "float64" for name in MEASURES}
    types |= dict.fromkeys((OPTION_SET, "kind", "subject", CHOICE), "str")
    return pd.DataFrame(rows, columns=columns).astype(types)


def participant_shares(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the share of each choice for each participant and each run.

    Returns
    -------
    DataFrame
        `option_set, kind, subject, participant, <by...>, choice, share`.
    """
    _check_names(trials, by)
    kept = _choices(trials, by, plan)
    cells = [OPTION_SET, "kind", "subject", "participant", *by]
    rows: list[tuple[Any, ...]] = []
    for _, of_set in kept[kept["is_valid"]].groupby(OPTION_SET, sort=False):
        names = _names(of_set)
        for cell, own in of_set.groupby(cells, dropna=False, sort=False):
            rows += [(*cell, name, float(_chose(own, name).mean())) for name in names]
    return pd.DataFrame(rows, columns=[*cells, CHOICE, "share"])


def _check_names(trials: pd.DataFrame, by: Sequence[str]) -> None:
    check_factors(trials, by)
    for name in by:
        if name in {OPTION_SET, CHOICE, *MEASURES}:
            raise InputError(
                f"the shares of responses: the factor `{name}` has the name of a column of this table. Fix: rename the "
                "factor."
            )


def _choices(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the trials of ungraded items with possible responses, with `option_set`, `choice` and `is_valid`."""
    of_codes = [CODING_NAME, CODED_AS] if CODED_AS in trials else []
    kept = kept_trials(trials, [*_NEEDED, *of_codes, *cluster_columns(plan), *by])
    if not of_codes:
        kept = kept.assign(**dict.fromkeys((CODING_NAME, CODED_AS)))
    kept = kept[~is_graded(kept) | kept[CODED_AS].notna()]
    sets: dict[int, tuple[str, ...]] = {}
    chosen: dict[tuple[int, str], str] = {}
    options: list[tuple[str, ...]] = []
    choices: list[str] = []
    is_valid = (kept["response"].notna() & kept["valid"].fillna(True)).astype(bool)
    for task_name, content, response, valid, coding, codes in zip(
        kept["task"], kept["content"], kept["response"], is_valid, kept[CODING_NAME], kept[CODED_AS], strict=True
    ):
        if isinstance(codes, str):
            options.append((_OF_CODING, coding, *plan.coding[coding].code_names))
            choices.append(codes)
            continue
        task = task_named(task_name)
        if id(content) not in sets:
            sets[id(content)] = tuple(name for one in task.responses(content) if (name := task.choice(content, one)))
        options.append(sets[id(content)])
        if not valid or not sets[id(content)]:
            choices.append("")
            continue
        key = id(content), repr(response)
        if key not in chosen:
            chosen[key] = task.choice(content, response) or OTHER
        choices.append(chosen[key])
    names = {one: f"coding {one[1]}" if _is_of_coding(one) else " / ".join(one) for one in dict.fromkeys(options)}
    doubled = {name for name, n in Counter(names.values()).items() if n > 1}  # An option may contain " / " itself.
    names = {one: json.dumps(one, ensure_ascii=False) if name in doubled else name for one, name in names.items()}
    columns: dict[str, list[Any]] = {
        OPTION_SET: [names[one] for one in options], CHOICE: choices, "options": options
    }  # fmt: skip
    kept = kept.assign(is_valid=is_valid).join(pd.DataFrame(columns, index=kept.index))
    return kept[kept["options"].map(bool).astype(bool)].astype({"kind": "str", "subject": "str"})


def _is_of_coding(options: tuple[str, ...]) -> bool:
    return options[:1] == (_OF_CODING,)


def _chose(rows: pd.DataFrame, choice: Hashable) -> "pd.Series[bool]":
    """Return True for each row with this choice. All rows have the same option set."""
    if _is_of_coding(rows["options"].iloc[0]):
        return rows[CHOICE].map(lambda codes: choice in codes.split(BETWEEN_CODES)).astype(bool)
    return rows[CHOICE] == choice


def _names(rows: pd.DataFrame) -> list[Hashable]:
    """Return the possible choices of items with the same option set, and `OTHER` if a response is none of them."""
    options = list(rows["options"].iloc[0])
    if _is_of_coding(rows["options"].iloc[0]):
        return list[Hashable](options[2:])
    return [*options, OTHER] if (rows[CHOICE] == OTHER).any() else options
