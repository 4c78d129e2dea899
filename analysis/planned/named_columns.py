"""The columns that a table, model or test of the plan uses."""

from analysis.statistics.mixed_models.formulas import parse_formula
from experiment.study.planned_analyses import PlannedConfidence, PlannedModel, PlannedTable, PlannedTest


def named_columns(planned: PlannedTable | PlannedModel | PlannedTest | PlannedConfidence) -> tuple[str, ...]:
    """Return the columns that an entry of the plan uses, including those in `where` and in its formula.

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
        case PlannedConfidence():
            columns = (planned.of, planned.rating, *planned.by)
        case PlannedTest():
            chance = "chance" if planned.against == "chance" else None
            named = (planned.of, *planned.factors, planned.per, chance)
            columns = tuple(column for column in named if column is not None)
    return (*columns, *planned.where)
