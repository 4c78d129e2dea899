"""The columns that a table, model or test of the plan names."""

from analysis.statistics.mixed_models.formulas import parse_formula
from experiment.study.planned_analyses import PlannedModel, PlannedTable, PlannedTest


def named_columns(planned: PlannedTable | PlannedModel | PlannedTest) -> tuple[str, ...]:
    """Return the columns that an entry of the plan names, also in `where` and in its formula.

    Raises
    ------
    InputError
        If the formula of a model is invalid.
    """
    match planned:
        case PlannedTable():
            columns = (*planned.by, *planned.of)
        case PlannedModel():
            columns = (*parse_formula(planned.formula).columns, *planned.reference)
        case PlannedTest():
            columns = (planned.of, planned.factor, *([planned.per] if planned.per else []))
    return (*columns, *planned.where)
