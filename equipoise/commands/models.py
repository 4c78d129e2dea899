"""Storing model runs, and reporting the result in words."""

from collections.abc import Sequence
from pathlib import Path

from batteries.errors import InputError
from batteries.tasks import task_named
from equipoise.commands.store_access import StudyFolder, loaded, store_of
from experiment.models.baselines import run_baseline
from experiment.models.stored_blackbox import read_stored_runs
from experiment.records import Run
from experiment.study.definition import Study
from server.store import Conflict


def models_import(study: StudyFolder, files: Sequence[Path], store: str | None = None) -> list[str]:
    """Import stored Black Box runs (JSON), all or none, and return one sentence for each.

    Raises
    ------
    InputError
        If a file cannot be read, or responses of a run are stored already as part of another.
    """
    study = loaded(study)
    return add_runs(study, read_stored_runs(study, files), store)


def models_run(study: StudyFolder, model: str, store: str | None = None) -> list[str]:
    """Run a computational baseline on all test items, store it, and return a sentence on it.

    Raises
    ------
    InputError
        If the baseline is unknown, or cannot answer the study's task.
    """
    study = loaded(study)
    return add_runs(study, [run_baseline(study, model)], store)


def add_runs(study: Study, runs: Sequence[Run], location: str | None = None) -> list[str]:
    """Store runs, all or none, and return one sentence for each.

    Raises
    ------
    InputError
        If responses of a run are stored already as part of another.
    """
    with store_of(study, location) as store:
        try:
            added = store.add_runs(study, runs)
        except Conflict as conflict:
            raise InputError(str(conflict)) from None
    return [
        f"{outcome.run}: {_summary(study, run)}" if outcome.is_new else f"{outcome.run}: already in the store."
        for outcome, run in zip(added, runs, strict=True)
    ]


def _summary(study: Study, run: Run) -> str:
    n = len(run.responses)
    correct = [
        response.valid
        and task_named((item := study.battery.by_id[run.item_ids[response.trial_index]]).task)
        .score(item.content, item.key, response.response)
        .correct
        for response in run.responses
    ]
    sentence = f"{n} responses, {sum(correct)} correct ({sum(correct) / n:.1%})"
    n_invalid = sum(not response.valid for response in run.responses)
    if n_invalid:
        sentence += f", {n_invalid} of them invalid"
    stored = [response.imported_correct for response in run.responses]
    if None not in stored:
        n_different = sum(ours != theirs for ours, theirs in zip(correct, stored, strict=True))
        sentence += f"; the stored scoring has {sum(map(bool, stored))} correct and differs on {n_different}"
    return sentence + "."
