"""`equipoise new` and `equipoise schema`: make a new study folder, and return the JSON Schemas of files."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from batteries.errors import InputError
from batteries.items import Item
from batteries.vignettes.spec import BuildSpec
from equipoise.studies import copy_sample_study
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import StudyDefinition

SCHEMAS: dict[str, type[BaseModel]] = {
    "study": StudyDefinition,
    "plan": AnalysisPlan,
    "item": Item,
    "spec": BuildSpec,
}


def new(folder: Path | str, sample: str = "blackbox-predict") -> None:
    """Make a new study folder as a copy of a sample study.

    Parameters
    ----------
    folder
        The new folder. If the folder exists, it must be empty.
    sample
        Name of the sample study.

    Raises
    ------
    InputError
        If the sample study does not exist, or the folder is not empty.
    """
    copy_sample_study(sample, Path(folder))


def schema(what: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of file. With this schema, a text editor can check files.

    Parameters
    ----------
    what
        `study` (study.yaml), `plan` (an analysis plan), `item` (an item of a battery) or `spec` (SPEC.yaml of a
        vignette battery).

    Returns
    -------
    dict
        The JSON Schema.

    Raises
    ------
    InputError
        If the kind of file is unknown.
    """
    if what not in SCHEMAS:
        raise InputError(f"there is no schema of `{what}`. Fix: write one of {', '.join(SCHEMAS)}.")
    return SCHEMAS[what].model_json_schema()
