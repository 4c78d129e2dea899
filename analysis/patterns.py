"""What the answers themselves tell of how they came about: answers too fast to be read for, and the same one in a row.

They are recorded for whoever reads the data. Nothing is left out for them unless the study's own plan says so.
"""

import json
from itertools import groupby

import pandas as pd

from analysis.columns import PATTERNS
from batteries.errors import InputError
from batteries.tasks import task_named

FASTEST_CHOICE_MS = 200
"""Anticipations and fast guesses lie below (Ratcliff, 1993, Psychological Bulletin 114, 510-532)."""
FASTEST_MS_PER_WORD = 60
"""A thousand words a minute: nobody who reads the words is as fast (Brysbaert, 2019, finds 175 to 300)."""


def patterns(trials: pd.DataFrame) -> pd.DataFrame:
    """Return `implausibly_fast` and `same_response_run` for each trial of people; missing for models.

    Parameters
    ----------
    trials : DataFrame
        Trials with `kind`, `session`, `trial_index`, `phase`, `task`, `content`, `response` and `rt_ms`.

    Returns
    -------
    DataFrame
        `implausibly_fast`: whether the answer came within 200 ms and 60 ms for each word to read; missing without a
        response time. `same_response_run`: how many answers in a row, practice left out, were this one, itself
        included; missing where nothing was answered.
    """
    found = pd.DataFrame(index=trials.index, columns=list(PATTERNS))
    found["implausibly_fast"] = _implausibly_fast(trials)
    found["same_response_run"] = _same_response_run(trials)
    return found


def _implausibly_fast(trials: pd.DataFrame) -> pd.Series:
    fastest_ms: dict[int, float] = {}
    fast: list[bool | None] = []
    rows = zip(trials["kind"], trials["task"], trials["content"], trials["rt_ms"], strict=True)
    for kind, task, content, rt_ms in rows:
        if kind == "model" or pd.isna(rt_ms):
            fast.append(None)
            continue
        if id(content) not in fastest_ms:
            fastest_ms[id(content)] = FASTEST_CHOICE_MS + FASTEST_MS_PER_WORD * _n_words(task, content)
        fast.append(rt_ms < fastest_ms[id(content)])
    return pd.Series(fast, dtype="boolean", index=trials.index)


def _n_words(task: str, content: dict[str, object]) -> int:
    try:
        return task_named(task).n_words(content)
    except (InputError, KeyError, TypeError):  # what cannot be scored is told elsewhere
        return 0


def _same_response_run(trials: pd.DataFrame) -> pd.Series:
    answered = trials[(trials["kind"] != "model") & (trials["phase"] != "practice") & trials["response"].notna()]
    in_order = answered.sort_values(["session", "trial_index"])
    given = zip(in_order["session"], map(json.dumps, in_order["response"]), strict=True)
    runs = [length for _, same in groupby(given) for length, _ in enumerate(same, start=1)]
    return pd.Series(runs, dtype="Int64", index=in_order.index).reindex(trials.index)
