"""Runs of models as random effects, such as `(1 | run)`, and as units of tests, in rows that may contain people."""

from collections.abc import Sequence

import pandas as pd

from analysis.data.columns import KINDS
from analysis.sentences import listed
from analysis.statistics.mixed_models.formulas import Formula, parse_formula
from experiment.study.analysis_plan import OF_RUNS
from experiment.study.planned_analyses import PlannedTest

RUN_GROUPS = ("run", *OF_RUNS)
"""The columns with the run of a model and its settings. In the rows of people, these columns have no values."""
_NAMES = {"participant": "runs", "run": "runs", "model": "models"}
"""The words for a group's levels in warnings, for rows of models."""


def with_people_as_groups(rows: pd.DataFrame, formula: str) -> pd.DataFrame:
    """Return the rows with a value for people in each column of `RUN_GROUPS` that has a random effect in the formula.

    The value is the name of the participant, so each participant is one level of the group. Without these values, a
    formula with `(1 | run)` would leave out all rows of people, because people have no run.

    Parameters
    ----------
    rows : DataFrame
        The rows. If they have no columns `kind` and `participant`, they are returned unchanged.
    formula : str
        The formula of the statistical model, such as `correct ~ subject * condition + (1 | run)`.

    Examples
    --------
    >>> rows = pd.DataFrame({"kind": ["human", "model"], "participant": ["P1", "x"], "run": [None, "gpt"], "y": [0, 1]})
    >>> with_people_as_groups(rows, "y ~ 1 + (1 | run)")["run"].tolist()
    ['participant P1', 'gpt']
    """
    if not {"kind", "participant"}.issubset(rows.columns):
        return rows
    columns = [column for column in run_groups_of(parse_formula(formula)) if column in rows]
    names = "participant " + rows["participant"].astype("str")
    return rows.assign(**{column: rows[column].astype(object).where(rows["kind"] == "model", names)
                          for column in columns})  # fmt: skip


def who_of(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return whose trials have values in all `columns`: `people`, `models` or `everyone`.

    The text is empty if the rows are not trials of a study.

    Examples
    --------
    >>> rows = pd.DataFrame({"kind": ["human", "model"], "correct": [1, 0], "temperature": [None, 0.7]})
    >>> who_of(rows, ["correct"]), who_of(rows, ["correct", "temperature"]), who_of(rows[["correct"]], ["correct"])
    ('everyone', 'models', '')
    """
    if "kind" not in rows or not set(rows["kind"].unique()) <= set(KINDS):
        return ""
    is_model = rows.loc[rows[[*columns]].notna().all(axis="columns"), "kind"] == "model"
    return "models" if is_model.all() else "everyone" if is_model.any() else "people"


UNITS_OF_RUNS = ("participant", "run", "session")
"""The columns that are different in each run of a model, so that a test `per` such a column has runs as units."""


def run_unit_warnings(rows: pd.DataFrame, planned: PlannedTest) -> tuple[str, ...]:
    """Return a warning if several runs of the same model are units of a test.

    Parameters
    ----------
    rows : DataFrame
        The rows that the test uses.
    planned : PlannedTest
        The test. If its units are not runs, there is no warning. A chi-square test between units counts rows.

    Notes
    -----
    Runs of one model are a sample of this model's responses. They are not a sample of models.
    """
    counts_rows = planned.test == "chi_square" and planned.within is None
    if counts_rows or planned.per not in UNITS_OF_RUNS or not {"kind", "model", planned.per} <= set(rows.columns):
        return ()
    runs = rows.loc[(rows["kind"] == "model") & rows[planned.of].notna(), ["model", planned.per]].drop_duplicates()
    several = runs["model"].value_counts()
    names = sorted(several[several > 1].index)
    if not names:
        return ()
    models, other = ("one model", "this model") if len(several) == 1 else ("the same model", "these models")
    has_people = who_of(rows, [planned.of, planned.per]) == "everyone"
    people, for_models = ("other participants and to ", "for models, ") if has_people else ("", "")
    return (
        f"Several units of this test are runs of {models} ({listed(names)}). So the test generalizes to {people}other "
        f"runs of {other} under the same conditions, with these items, but not to other models. Fix: {for_models}state "
        f"conclusions only about {other}.",
    )


def run_groups_of(formula: Formula) -> list[str]:
    """Return the columns of `RUN_GROUPS` that have a random effect in the formula and are not predictors."""
    groups = {column for random in formula.random for column in random.group}
    return [column for column in RUN_GROUPS if column in groups and column not in formula.predictors]


def run_warnings(used: pd.DataFrame, formula: Formula) -> list[str]:
    """Return warnings about runs, if a formula ignores them or cannot distinguish them from another effect.

    Parameters
    ----------
    used : DataFrame
        The rows that the model uses (`with_people_as_groups`), with `kind` and `participant`.
    formula : Formula
        The model.
    """
    is_model = used["kind"] == "model"
    runs = used[is_model]
    run = "run" if "run" in used else "participant"
    groups = [name for name in ("participant", *run_groups_of(formula)) if _is_group(name, formula)]
    said = []
    if is_model.any() and not is_model.all():
        said = [_shared_variance(name) for name in groups]
    n_runs = runs[run].nunique()
    if {"participant", run}.intersection(groups):
        fixed = _constant_in_runs(runs, run, formula.predictors)
        if is_model.all() and fixed and len(runs[fixed].drop_duplicates()) == n_runs:
            said.append(
                f"Each combination of levels of {', '.join(f'`{name}`' for name in fixed)} has only one run. So the "
                "statistical model cannot distinguish the variance between runs from these effects: do not rely on its "
                "p values of these effects. Fix: collect several runs (`--epochs`)."
            )
    elif n_runs > 1 and runs[run].value_counts().median() > 1:
        columns = [*formula.predictors, *(column for random in formula.random for column in random.group)]
        known = _constant_in_runs(runs, run, columns)
        if not known or len(runs[known].drop_duplicates()) < n_runs:
            said.append(
                "The formula has no random effect for `run`, but treats the responses of the same run as independent, "
                "so p values can be far too small. Fix: add `(1 | run)`."
            )
    return said


def _is_group(name: str, formula: Formula) -> bool:
    return any(name in random.group for random in formula.random)


def _shared_variance(name: str) -> str:
    """Return a warning about a random effect that has one variance for people and runs together."""
    who, each = ("models", "run") if name == "participant" else ("people", "participant")
    return (
        f"For {who}, each {each} is one level of `{name}`. So the statistical model assumes that "
        f"{_NAMES.get(name, f'levels of `{name}`')} differ as much as participants do, and its results on models can "
        "differ from the table of differences."
    )


def _constant_in_runs(runs: pd.DataFrame, run: str, columns: list[str] | tuple[str, ...]) -> list[str]:
    """Return the columns that have only one value in each run."""
    names = list(dict.fromkeys(columns))
    counts = runs.groupby(run, observed=True)[names].nunique()
    return [name for name in names if (counts[name] <= 1).all()]
