"""The analysis of a study's own store."""

from importlib.metadata import version
from pathlib import Path

from analysis.analyze import analyze
from analysis.data import read_trials
from batteries.errors import InputError
from equipoise.progress import spinner
from experiment.study import Study


def analyze_study(study: Study, output: Path) -> None:
    """Analyze what a study's store holds, by the plan in its `study.yaml`.

    Raises
    ------
    InputError
        If nothing has been answered yet, or the store cannot be read.
    """
    if not study.store_path.exists():
        raise InputError(
            f"{study.store_path}: nothing has been answered yet; collect answers with "
            f"`equipoise serve {study.folder}`, or try `equipoise simulate {study.folder} -n 40`."
        )
    with spinner("Analyzing"):
        analyze(
            read_trials(study.store_path),
            study.definition.analysis,
            output,
            title=study.definition.title,
            software_version=version("equipoise"),
        )
