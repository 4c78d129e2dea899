"""Columns of times, stored as numbers.

Nearly all times differ. As a text, a time needs ten times as much memory as a number.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

ROWS_AT_ONCE = 20_000
_UTC = "+00:00"
_STORED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\+00:00")


def times_of(texts: Sequence[Any]) -> npt.NDArray[np.datetime64] | None:
    """Convert texts to UTC times. A missing text (None) becomes a missing time.

    Return None if a text is not written as in the store, such as `2026-03-02T10:00:00.000+00:00`.
    """
    times = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[ms]")
    present = [text for text in texts if text is not None]
    if not all(isinstance(text, str) and _STORED.fullmatch(text) for text in present):
        return None
    try:
        read = np.array([text.removesuffix(_UTC) for text in present], dtype="datetime64[ms]")
    except ValueError:
        return None
    times[[text is not None for text in texts]] = read
    return times


def time_column(times: npt.NDArray[np.datetime64]) -> pd.Series:
    """Return a column of UTC times."""
    return pd.Series(pd.DatetimeIndex(times, tz="UTC"))


def compact_times(column: pd.Series) -> pd.Series:
    """Convert a column of texts to times if `times_of` can read all texts. Otherwise return the texts.

    `time_texts` converts the times back to the same texts.
    """
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column
    texts = column.astype("str")
    parts = []
    for first in range(0, len(texts), ROWS_AT_ONCE):
        some = texts.iloc[first : first + ROWS_AT_ONCE]
        times = times_of(some.astype(object).where(some.notna(), None).tolist())
        if times is None:
            return texts
        parts.append(times)
    return time_column(np.concatenate(parts)).set_axis(texts.index) if parts else texts


def time_texts(times: pd.Series) -> pd.Series:
    """Return a column of times as texts, written as in the store."""
    is_present = times.notna().to_numpy()
    texts = np.full(len(times), None, dtype=object)
    texts[is_present] = _written(times.dt.tz_localize(None).to_numpy()[is_present])
    return pd.Series(texts, index=times.index, dtype="str")


def _written(times: npt.NDArray[np.datetime64]) -> list[str]:
    return [f"{text}{_UTC}" for text in np.datetime_as_string(times, unit="ms").tolist()]
