"""Confusion of response categories: for example, how often “absorbed” is given if “reflected” is right."""

from typing import Any

import pandas as pd

from analysis.data.columns import subject_order
from analysis.measures.accuracy import cluster_columns, graded_trials, share_of_rows
from batteries.tasks import task_named
from experiment.study.analysis_plan import AnalysisPlan

INVALID, NO_RESPONSE = WITHOUT = ("invalid response", "no response")
"""The categories of trials without a valid response."""

COLUMNS = ["kind", "subject", "task", "right_category", "given_category", "n_trials", "n_wrong", "share",
           "share_ci_low", "share_ci_high", "share_of_errors"]  # fmt: skip
_NEEDED = ["kind", "subject", "participant", "item_id", "task", "content", "key", "response", "valid", "correct"]


def confusion(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return how often each subject gave each category of response, for each category of the right answer.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`. Items of tasks without categories are left out.
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        The columns `COLUMNS`, and one row for each subject, task, category of the right answer and category of the
        response. The table has no rows if no task has categories (`batteries.tasks.task.Task.categories`). Invalid and
        missing responses have rows only if there are any. `n_trials` is the number of responses in a row, and
        `n_wrong` is the number of them that are not correct. A response can be wrong although its category is right,
        such as a reflected ray with the wrong port. `share` is `n_trials` divided by the number of all trials with the
        same category of the right answer. The interval of `share` is computed like that of an accuracy.
        `share_of_errors` is `n_wrong` divided by the sum of `n_wrong` over all rows of the subject and task.
    """
    kept = graded_trials(trials, [*_NEEDED, *cluster_columns(plan)])
    kept = kept[kept["task"].map(lambda task: bool(task_named(task).categories)).astype(bool)]
    categories = _categories(kept)
    kept = kept.drop(columns=["content", "key", "response", "valid"])  # Each selection of rows would copy them.
    kept = kept.astype({"kind": "str", "subject": "str", "task": "str"}).assign(**categories)
    rows: list[tuple[Any, ...]] = []
    for (kind, subject, task), own in kept.groupby(["kind", "subject", "task"], sort=False):
        n_errors = int(own["is_wrong"].sum())
        for right in task_named(str(task)).categories:
            asked = own[own["right_category"] == right]
            if asked.empty:
                continue
            without = [name for name in WITHOUT if (asked["given_category"] == name).any()]
            for given in (*task_named(str(task)).categories, *without):
                chosen = asked["given_category"] == given
                share, interval = share_of_rows(asked.assign(correct=chosen.astype("int64")), plan)
                n_wrong = int(asked.loc[chosen, "is_wrong"].sum())
                of_errors = n_wrong / n_errors if n_errors else float("nan")
                rows.append(
                    (kind, subject, task, right, given, int(chosen.sum()), n_wrong, share, *interval, of_errors)
                )
    rows.sort(key=lambda row: subject_order(row[0], row[1]))
    return pd.DataFrame(rows, columns=COLUMNS)


def _categories(kept: pd.DataFrame) -> dict[str, Any]:
    """Return `right_category` and `given_category` of each trial, and `is_wrong` (the response is not correct)."""
    is_valid = kept["valid"].fillna(True).astype(bool)
    right, given = [], []
    for task_name, content, key, response, valid in zip(
        kept["task"], kept["content"], kept["key"], kept["response"], is_valid, strict=True
    ):
        task = task_named(task_name)
        right.append(task.category(content, key))
        is_missing = response is None or (isinstance(response, float) and pd.isna(response))
        given.append(NO_RESPONSE if is_missing else task.category(content, response) if valid else INVALID)
    return {
        "right_category": right,
        "given_category": given,
        "is_wrong": ~kept["correct"].fillna(False).astype(bool),
    }


def confusion_matrix(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `confusion` with one row for each right category, and one column for each given category.

    The cells are numbers of trials. `n_correct` is the number of correct responses.
    """
    cells = ["kind", "subject", "task", "right_category"]
    work = table.assign(n_correct=table["n_trials"] - table["n_wrong"])
    totals = work.groupby(cells, sort=False)[["n_trials", "n_correct"]].sum()
    given = table["given_category"].unique().tolist()
    given = [name for name in given if name not in WITHOUT] + [name for name in WITHOUT if name in given]
    counts = work.set_index([*cells, "given_category"])["n_trials"].unstack(fill_value=0)[given]
    matrix = totals[["n_trials"]].join(counts).join(totals[["n_correct"]]).reset_index()
    hidden = ["kind"] if matrix["task"].nunique() > 1 else ["kind", "task"]
    return matrix.drop(columns=hidden)
