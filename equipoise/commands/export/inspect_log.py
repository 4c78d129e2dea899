"""Logs of Inspect with the responses of people, for `equipoise export --format inspect`."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from analysis.exclusions.flow import NOT_A_TEST_TRIAL, marked_trials
from batteries.errors import InputError, how_to_install
from equipoise.commands.store_access import (
    StoreAddress,
    StudyFolder,
    loaded,
    note_access,
    setting_of,
    store_to_read,
)
from equipoise.commands.study_trials import study_trials
from equipoise.progress_bar import progress_bar
from experiment.records import Kind
from experiment.study.definition import Study
from server.locations import store_location
from server.settings import read_settings
from server.store import Access

OF_KIND: Mapping[Kind, str] = {Kind.HUMAN: "people", Kind.SIMULATED: "simulated participants"}


def write_people_log(study: Study, trials: pd.DataFrame, kind: Kind, path: Path) -> int:
    """Write the responses of one kind of participants to a log, one sample for each test trial that has a response.

    The id of a sample is the id of the item, and its epoch is the number of the session in the log. Input, right
    answer, response and score are in the fields that Inspect uses for models. If the study's analysis plan excludes a
    trial, the sample has no score, and its field `excluded_by` has the reason.

    Parameters
    ----------
    study
        The study.
    trials
        The tidy table with all trials of the study.
    kind
        People or simulated participants.
    path
        The file to write, .eval.

    Returns
    -------
    int
        Number of samples. If it is 0, no file is written.
    """
    from equipoise.commands.export.inspect_samples import write_log  # noqa: PLC0415 - an extra

    marked = marked_trials(trials, study.definition.analysis)
    is_shown = (marked["kind"] == kind) & (marked["excluded_by"] != NOT_A_TEST_TRIAL) & marked["response"].notna()
    shown = marked[is_shown].sort_values(["started_at", "session", "trial_index"], ignore_index=True)
    if len(shown):
        with progress_bar("Writing samples", len(shown)) as advance:
            write_log(study, shown, kind, path, advance)
    return len(shown)


def refuse_without_people(n_samples: int, path: Path, kinds: str) -> None:
    """Raise an InputError if there are no samples."""
    if n_samples == 0:
        raise InputError(f"{path}: there are no responses of {kinds}. Fix: collect responses first.")


def single_inspect_log(
    study: StudyFolder, output: Path | str, store: StoreAddress | None = None, simulated: bool = False
) -> int:
    """Write one log, as the former command `equipoise store inspect-log` did. Return the number of samples.

    Raises
    ------
    InputError
        If inspect-ai is not installed, there are no responses, or the store or the file cannot be used.
    """
    study, path = loaded(study), Path(output)
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"{path}: a log of Inspect needs the package inspect-ai, which is not installed. Fix: "
            f"{how_to_install('models')}"
        )
    if path.suffix != ".eval":
        raise InputError(
            f"{path}: the name of this file does not end in .eval, so Inspect would not find the log. Fix: write a "
            "name such as people.eval."
        )
    kind = Kind.SIMULATED if simulated else Kind.HUMAN
    with store_to_read(study, store) as opened:
        trials = study_trials(study, store_location(study, read_settings(store=setting_of(store))))
        n_samples = write_people_log(study, trials, kind, path)
        refuse_without_people(n_samples, path, OF_KIND[kind])
        note_access(opened, study, Access.EXPORTED, what="inspect log", number=n_samples)
    return n_samples
