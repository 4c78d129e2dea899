"""Check an analysis plan before data are analyzed or the plan is locked. Each mistake is reported with its line."""

from pathlib import Path

import pandas as pd

from analysis.planned.plan_mistakes import Mistake, plan_mistakes, rows_of_items
from batteries.errors import InputError
from batteries.files.file_reading import line_of
from experiment.study.definition import Study
from experiment.study.planned_analyses import PlannedAnalyses


def check_study_plan(study: Study, trials: pd.DataFrame | None = None) -> None:
    """Check the plan of a study: its formulas, columns, levels and flags.

    Parameters
    ----------
    study
        The study. The factors and levels of its test items are those that the plan may use.
    trials
        The tidy table, if there are trials. The plan may also use its factors and levels, from earlier versions of the
        study.

    Raises
    ------
    InputError
        If the plan has mistakes. The message has a line for each mistake.
    """
    definition = study.definition
    apart = {*definition.practice, *definition.attention_checks}
    rows = rows_of_items(item for item in study.battery.items if item.item_id not in apart)
    mistakes = plan_mistakes(definition.analysis, rows)
    if mistakes and trials is not None:
        mistakes = plan_mistakes(definition.analysis, rows.with_trials(trials))
    _refuse(mistakes, study.folder / "study.yaml", ("analysis",))


def check_plan_file(path: Path, plan: PlannedAnalyses) -> None:
    """Check the plan in a YAML file. The columns of the data are unknown, so this function checks mainly the formulas.

    Raises
    ------
    InputError
        If the plan has mistakes. The message has a line for each mistake.
    """
    _refuse(plan_mistakes(plan), path, ())


def _refuse(mistakes: list[Mistake], path: Path, within: tuple[str, ...]) -> None:
    sentences = []
    for mistake in mistakes:
        place = (*within, *mistake.place)
        sentences.append(f"{path}, line {line_of(path, place)}: `{'.'.join(map(str, place))}`: {mistake.sentence}")
    if sentences:
        raise InputError("\n".join(sentences))
