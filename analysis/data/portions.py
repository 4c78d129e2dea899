"""The tidy table in portions of whole sessions, so that the memory does not depend on the number of responses.

`benchmarks/export_memory.py` measures the memory with a million responses.
"""

from typing import Any

import pandas as pd

from analysis.data.columns import factor_columns
from analysis.data.tidy_table import tidy_trials

OF_RUN = ("subject", "prompt", "thinking", "thinking_budget", "epoch")
"""Columns that depend on all runs together: the name of a subject shows how the runs differ."""


class TidyPortions:
    """Makes tidy portions that have the same columns, types and values as the tidy table of all rows.

    Parameters
    ----------
    sample : DataFrame
        Rows of the view `trials`, with at least one trial of each item of each battery, and of each run.
    where : str
        The name of the data in error messages.
    """

    def __init__(self, sample: pd.DataFrame, where: str) -> None:
        self._where = where
        tidy = tidy_trials(sample, where)
        self.sample = tidy
        self.factors = factor_columns(tidy)
        self.columns = tuple(tidy.columns)
        runs = tidy[tidy["run"].notna()].drop_duplicates("run")
        self._of_run = runs.set_index(runs["run"].astype("str"))[list(OF_RUN)]

    def tidy(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the tidy table of a portion. `rows` are rows of the view, with all trials of each session."""
        table = tidy_trials(rows, self._where)
        columns = {column: table[column] for column in table.columns}
        for factor in self.factors:
            columns[factor] = _as_in(self.sample[factor], columns.get(factor), len(table))
        if table["run"].notna().any():
            run = table["run"].astype("str")
            for column in OF_RUN:
                of_run = run.map(self._of_run[column].astype(object))
                given = of_run.where(run.notna(), table[column].astype(object))
                columns[column] = given.astype("str" if column in {"subject", "prompt"} else table[column].dtype)
        return pd.DataFrame({column: columns[column] for column in self.columns}, copy=False)


def _as_in(sample: pd.Series, factor: pd.Series | None, n_rows: int) -> pd.Series:
    """Return a factor of a portion with the type that the factor has in the sample of all items."""
    dtype = "str" if isinstance(sample.dtype, pd.CategoricalDtype) else sample.dtype
    if factor is None:
        return pd.Series([None] * n_rows, dtype=dtype)
    if dtype == "str" and not isinstance(factor.dtype, pd.CategoricalDtype):
        return factor.astype(object).map(_level_text, na_action="ignore").astype("str")
    return pd.Series(factor.array, dtype=dtype, index=factor.index)


def _level_text(level: Any) -> str:
    """Return a level as the tidy table writes it in a factor with levels of several types: numbers as in JSON."""
    return str(level).lower() if isinstance(level, bool) else str(level)
