"""Suspicious patterns of responses: responses faster than reading, and the same response several times in a row.

The patterns are columns of the tidy table. A trial with such a pattern is excluded only if the analysis plan has a
rule for the pattern.
"""

import json

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import PATTERNS
from batteries.errors import InputError
from batteries.tasks import task_named

FASTEST_CHOICE_MS = 200
"""A response time below this limit is an anticipation or a fast guess (Ratcliff, 1993, Psychological Bulletin 114,
510-532).
"""
FASTEST_MS_PER_WORD = 60
"""Shortest plausible reading time per word, in ms: a thousand words per minute. People read 175 to 300 words per
minute (Brysbaert, 2019).
"""


def patterns(trials: pd.DataFrame) -> pd.DataFrame:
    """Return `implausibly_fast` and `same_response_run` for each trial. Both values are missing for trials of models.

    Parameters
    ----------
    trials : DataFrame
        Trials with `kind`, `session`, `trial_index`, `phase`, `task`, `content`, `response` and `rt_ms`.

    Returns
    -------
    DataFrame
        `implausibly_fast` is true if the response time is shorter than 200 ms plus 60 ms for each word. It is missing
        if there is no response time. `same_response_run` is the number of equal responses in a row, up to and
        including the response of this trial. It is missing in practice trials and in trials without a response.
    """
    found = pd.DataFrame(index=trials.index, columns=list(PATTERNS))
    found["implausibly_fast"] = _implausibly_fast(trials)
    found["same_response_run"] = _same_response_run(trials)
    return found


def _implausibly_fast(trials: pd.DataFrame) -> pd.Series:
    judged = (trials["kind"] != "model") & trials["rt_ms"].notna()
    tasks, contents = trials["task"][judged].tolist(), trials["content"][judged].tolist()
    number, first = _objects(contents)  # Trials of one item share its content.
    limits = [FASTEST_CHOICE_MS + FASTEST_MS_PER_WORD * _n_words(tasks[row], contents[row]) for row in first]
    fast = trials["rt_ms"][judged].to_numpy() < np.array(limits, dtype="float64")[number]
    return pd.Series(fast, index=trials.index[judged], dtype="boolean").reindex(trials.index)


def _n_words(task: str, content: dict[str, object]) -> int:
    try:
        return task_named(task).n_words(content)
    except (InputError, KeyError, TypeError):  # `tidy_table` reports responses that cannot be scored.
        return 0


def _same_response_run(trials: pd.DataFrame) -> pd.Series:
    answered = (trials["kind"] != "model") & (trials["phase"] != "practice") & trials["response"].notna()
    session = pd.factorize(trials["session"][answered])[0]
    response = _numbered(trials["response"][answered].tolist())
    order = np.lexsort((trials["trial_index"][answered].to_numpy(dtype="int64"), session))
    changed = np.ones(len(order), dtype=bool)
    changed[1:] = (np.diff(session[order]) != 0) | (np.diff(response[order]) != 0)
    place = np.arange(len(order))
    began = np.maximum.accumulate(np.where(changed, place, 0))
    runs = np.empty(len(order), dtype="int64")
    runs[order] = place - began + 1
    return pd.Series(runs, index=trials.index[answered], dtype="Int32").reindex(trials.index)


def _numbered(responses: list[object]) -> npt.NDArray[np.int64]:
    """Return a number for each response. Only equal responses have the same number.

    The responses `1`, `1.0` and `true` are different.
    """
    number, first = _objects(responses)
    known: dict[object, int] = {}
    texts = [json.dumps(responses[row]) for row in first]
    return np.array([known.setdefault(text, len(known)) for text in texts], dtype="int64")[number]


def _objects(values: list[object]) -> tuple[npt.NDArray[np.intp], list[int]]:
    """Return a number for each object, and the first row with each number.

    Two rows have the same number only if both values are the same Python object. Equal objects that are not the same
    object have different numbers.
    """
    number, distinct = pd.factorize(np.fromiter(map(id, values), dtype="int64", count=len(values)))
    first = np.zeros(len(distinct), dtype="int64")
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first.tolist()
