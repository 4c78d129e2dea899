"""Mistakes in a plan that can be found before there are data: in formulas, columns, levels and flags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import pandas as pd

from analysis.data.columns import ALLOWED, factor_columns
from analysis.planned.study_rows import ROW_COLUMNS, columns_of_codes, demand_columns
from analysis.planned.tables import MEASURES
from analysis.sentences import listed
from analysis.statistics.factor_levels import level_order, level_text
from analysis.statistics.mixed_models.formulas import Formula, parse_formula
from analysis.statistics.mixed_models.model_frame import LOG_IS_GAUSSIAN
from analysis.statistics.mixed_models.ordinal import NEEDS_INTERCEPT, NO_SLOPES
from batteries.errors import InputError
from batteries.items import Item
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan
from experiment.study.planned_analyses import (
    Level,
    PlannedAnalyses,
    PlannedConfidence,
    PlannedModel,
    PlannedTable,
    PlannedTest,
    Where,
)

Place = tuple[str | int, ...]
"""The keys of an entry in the plan, such as `("tests", "condition_effect", "of")`."""
RT = "rt_ms"
"""The column of response times."""
COLUMNS_OF_ITEMS = ("item_id", "task")
"""Columns that are not factors, but have one level per item."""


@dataclass(frozen=True)
class Mistake:
    """A mistake in a plan."""

    place: Place
    sentence: str
    """The problem and a fix."""


@dataclass(frozen=True)
class KnownRows:
    """The factors of a study, and the levels of each column whose levels are known before there are data."""

    factors: frozenset[str]
    levels: Mapping[str, list[Any]]
    """The known levels of each column. A level may be in the list several times."""

    def with_trials(self, trials: pd.DataFrame) -> "KnownRows":
        """Return this object with the factors and levels of `trials` (the tidy table) added.

        The trials may be from earlier versions of the study, which had other factors or levels.
        """
        factors = factor_columns(trials)
        levels = {
            column: [*self.levels.get(column, []), *trials[column].dropna().unique()]
            for column in (*factors, *COLUMNS_OF_ITEMS)
        }
        return replace(self, factors=self.factors | set(factors), levels={**self.levels, **levels})


def rows_of_items(items: Iterable[Item]) -> KnownRows:
    """Return the factors and levels of a study, given its test items."""
    levels: dict[str, list[Any]] = {column: list(allowed) for column, allowed in ALLOWED.items()}
    levels |= {"phase": ["test"], "item_id": [], "task": []}
    factors: set[str] = set()
    for item in items:
        factors |= item.factors.keys()
        for column, level in {**item.factors, "item_id": item.item_id, "task": item.task}.items():
            levels.setdefault(column, []).append(level)
    return KnownRows(frozenset(factors), levels)


def plan_mistakes(plan: PlannedAnalyses, rows: KnownRows | None = None) -> list[Mistake]:
    """Return the mistakes of a plan that do not depend on the responses.

    Parameters
    ----------
    plan
        The plan.
    rows
        The factors and levels of the study. If they are unknown (None), only the formulas and the references to other
        entries of the plan are checked.
    """
    check = _Check(plan, rows)
    for flag, where in plan.flags.items():
        check.flag(("flags", flag), flag, where)
    for name, table in plan.tables.items():
        check.table(("tables", name), table)
    for name, model in plan.models.items():
        check.model(("models", name), model)
    for name, test in plan.tests.items():
        check.test(("tests", name), test)
    for name, rated in plan.confidence_ratings.items():
        check.confidence(("confidence_ratings", name), rated)
    if isinstance(plan, AnalysisPlan):
        check.measures(plan)
    return check.mistakes


class _Check:
    """The check of one plan, which collects the mistakes."""

    def __init__(self, plan: PlannedAnalyses, rows: KnownRows | None) -> None:
        self.mistakes: list[Mistake] = []
        self.rows = rows
        made = (*demand_columns(plan.demands), *columns_of_codes(plan.coding)) if isinstance(plan, AnalysisPlan) else ()
        self.flags = frozenset({*plan.flags, *made})

    def add(self, place: Place, sentence: str) -> None:
        self.mistakes.append(Mistake(place, sentence))

    def flag(self, place: Place, name: str, where: Where) -> None:
        if not where:
            self.add(place, f"the flag has no columns. Fix: write a line `COLUMN: LEVEL` under `{name}`.")
        if self.rows is not None and name in {*self.rows.factors, *ROW_COLUMNS}:
            self.add(place, "the flag has the name of a column. Fix: give the flag another name.")
        self.where(place, where, ())  # A flag cannot refer to another flag.

    def table(self, place: Place, table: PlannedTable) -> None:
        for key, columns in (("by", table.by), ("of", table.of)):
            for index, column in enumerate(columns):
                self.column((*place, key, index), column, self.flags)
        measures = {f"{of}_{what}" for of in table.of for what in MEASURES}
        made = {*table.by, *table.of, "n", "n_participants", *measures}
        for index, name in enumerate(table.order_by):
            if name.removeprefix("-") not in made:
                self.add(
                    (*place, "order_by", index),
                    f"the table has no column `{name.removeprefix('-')}`. Fix: choose a column of `by` or `of`.",
                )
        self.where((*place, "where"), table.where, self.flags)

    def model(self, place: Place, model: PlannedModel) -> None:
        self.where((*place, "where"), model.where, self.flags)
        predictors: tuple[str, ...] = ()
        try:
            formula = parse_formula(model.formula)
        except InputError as error:
            self.add((*place, "formula"), str(error))
        else:
            predictors = formula.predictors
            self.family(place, model, formula)
            for column in formula.columns:
                self.column((*place, "formula"), column, self.flags)
            for index, asked in enumerate(model.contrasts):
                for name in (*asked.of, *asked.by):
                    if name not in predictors:
                        self.add(
                            (*place, "contrasts", index),
                            f"`{name}` is not in the formula. Fix: choose one of {listed(predictors)}.",
                        )
        for column, level in model.reference.items():
            self.column((*place, "reference", column), column, self.flags)
            if column in predictors:  # The reference level of another column has no effect.
                self.level((*place, "reference", column), column, level)

    def family(self, place: Place, model: PlannedModel, formula: Formula) -> None:
        """Check that a model's formula fits its family and the columns of the study."""
        if formula.log_outcome and model.family != "gaussian":
            self.add((*place, "family"), LOG_IS_GAUSSIAN.format(outcome=formula.outcome, family=model.family))
        if model.family == "ordinal":
            if not formula.intercept:
                self.add((*place, "formula"), NEEDS_INTERCEPT)
            if any(bracket.slopes for bracket in formula.random):
                self.add((*place, "formula"), NO_SLOPES)
        if self.rows is not None and formula.outcome == RT and "who" not in model.model_fields_set:
            self.add(
                (*place, "formula"),
                f"`{RT}` is a response time in the trials of people, but the time from request to reply in the "
                "runs of models. Fix: write `who: people`.",
            )

    def test(self, place: Place, test: PlannedTest) -> None:
        for key, column in (("of", test.of), ("per", test.per)):
            if column:
                self.column((*place, key), column, self.flags)
        for key, factors in (("between", test.between), ("within", test.within)):
            if isinstance(factors, str):
                self.column((*place, key), factors, self.flags)
            for index, column in enumerate(factors if isinstance(factors, tuple) else ()):
                self.column((*place, key, index), column, self.flags)
        for index, level in enumerate(test.levels):
            self.level((*place, "levels", index), test.factor, level)
        if self.rows is not None and test.factor in self.rows.factors and not (test.levels or test.where):
            known = _in_order(self.rows.levels[test.factor])
            if test.compares_two_levels and len(known) > 2:
                self.add(
                    (*place, "between" if test.between is not None else "within"),
                    f"`{test.factor}` has the levels {listed(known)}, but the test `{test.test}` compares two levels. "
                    "Fix: name two levels in `levels`.",
                )
        if self.rows is not None and test.against == "chance" and test.of != "correct":
            self.add(
                (*place, "against"),
                f"the chance level is that of `correct`, but the test is of `{test.of}`. Fix: test `correct`, or "
                "write a number in `against`.",
            )
        self.where((*place, "where"), test.where, self.flags)

    def confidence(self, place: Place, rated: PlannedConfidence) -> None:
        for key, column in (("of", rated.of), ("rating", rated.rating)):
            self.column((*place, key), column, self.flags)
        for index, column in enumerate(rated.by):
            self.column((*place, "by", index), column, self.flags)
        self.where((*place, "where"), rated.where, self.flags)

    def measures(self, plan: AnalysisPlan) -> None:
        """Check the entries that only the plan of a study has, except `by`, which `load_study` checks."""
        for key, factor in (("item_cluster", plan.item_cluster), ("difficulty", plan.difficulty)):
            if factor is not None:
                self.factor((key,), factor)
        for index, demand in enumerate(plan.demands):
            self.factor(("demands", index), demand)
        for name, compared in plan.comparisons.items():
            for index, factor in enumerate(compared.by):
                if factor in OF_RUNS:
                    continue
                self.factor(("comparisons", name, "by", index), factor)
        for name, signal in plan.signals.items():
            for key, where in (("signal", signal.signal), ("noise", signal.noise)):
                self.where(("signals", name, key), where, {"key"})

    def where(self, place: Place, where: Where, also: Iterable[str]) -> None:
        for column, asked in where.items():
            self.column((*place, column), column, also)
            for level in asked if isinstance(asked, tuple) else (asked,):
                self.level((*place, column), column, level)

    def column(self, place: Place, name: str, also: Iterable[str]) -> None:
        """Check that the study has a column with this name. `also` has further allowed names, such as flags."""
        if self.rows is None:
            return
        known = {*ROW_COLUMNS, *self.rows.factors, *also}
        if name not in known:
            own = sorted({*self.rows.factors, *also})
            self.add(
                place,
                f"the trials have no column `{name}`{_hint(name, known)} Fix: use a column of the tidy table"
                f"{f', or one of {listed(own)}' if own else ''}.",
            )

    def factor(self, place: Place, name: str) -> None:
        if self.rows is not None and name not in self.rows.factors:
            known = sorted(self.rows.factors)
            self.add(place, f"no test item has the factor `{name}`{_hint(name, known)} Fix: choose one of "
                     f"{listed(known)}.")  # fmt: skip

    def level(self, place: Place, column: str, level: Level) -> None:
        """Check that a level exists, if the levels of the column are known."""
        known = None if self.rows is None else self.rows.levels.get(column)
        if known is None:
            return
        texts = {text for one in known for text in (level_text(one), str(one))}
        if not {level_text(level), str(level)} & texts:
            in_order = _in_order(known)
            self.add(place, f"`{column}` has no level {level_text(level)}{_hint(level_text(level), in_order)} Fix: "
                     f"choose one of {listed(in_order)}.")  # fmt: skip


def _in_order(levels: Iterable[Any]) -> list[str]:
    """Return the texts of levels in natural order, each text once."""
    return list(dict.fromkeys(level_text(level) for level in sorted(levels, key=level_order)))


def _hint(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message on an unknown name. It suggests a similar known name if there is one."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else "."
