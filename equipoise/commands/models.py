"""`equipoise models`: write prompts for language models, import their runs, and run baselines."""

from collections.abc import Sequence
from pathlib import Path

from batteries.errors import InputError
from batteries.tasks import task_named
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, store_of
from equipoise.progress_bar import progress_bar
from experiment.models.baselines import run_baseline
from experiment.models.prompts.batch_files import WrittenPrompts, write_prompts
from experiment.models.prompts.requests import requests_for
from experiment.models.stored_blackbox import read_stored_runs
from experiment.records import Run
from experiment.study.definition import Study
from server.store import Conflict


def models_prompts(
    study: StudyFolder,
    format: str,
    output: Path | str,
    model: str | None = None,
    temperature: Sequence[float] | float = (),
    epochs: int = 1,
    style: Path | str | None = None,
    shots: int = 0,
    max_tokens: int | None = None,
    group: int | None = None,
    seed: int | None = None,
) -> WrittenPrompts:
    """Write files with one request to a language model for each test item, temperature and epoch.

    The files contain no answer keys of test items. If the requests exceed a limit of the provider, they are divided
    over several files.

    Parameters
    ----------
    study
        The study or its folder.
    format
        `openai-batch`, `anthropic-batch` or `csv`.
    output
        The first file. Further files have the numbers 2, 3, ... in their names.
    model
        The provider's name of the model; the CSV needs no model.
    temperature
        The sampling temperatures; by default, the requests have no temperature.
    epochs
        Number of requests with the same item and temperature.
    style
        Name of a style or a template file; by default, the style is `three-lines` for multiple choice and `baseline`
        for Black Box.
    shots
        Number of solved practice items in each prompt.
    max_tokens
        Limit of a reply; by default 512, or 2048 for styles and OpenAI models with reasoning.
    group, seed
        Group and seed of one session. The requests are then for the test items of this session, in the order of its
        plan. By default, they are for all test items of the battery.

    Returns
    -------
    WrittenPrompts
        The files, the requests, and the number of characters.

    Raises
    ------
    InputError
        If an argument is not possible, an item cannot be sent to a model, or a file exists already.
    """
    study = loaded(study)
    temperatures = [temperature] if isinstance(temperature, (int, float)) else temperature
    requests = requests_for(
        study,
        style=None if style is None else str(style),
        shots=shots,
        temperatures=temperatures,
        epochs=epochs,
        group=group,
        seed=seed,
    )
    with progress_bar("Writing requests", len(requests)) as advance:
        return write_prompts(requests, format, Path(output), model, max_tokens, advance)


def models_import(
    study: StudyFolder, files: Sequence[Path | str] | Path | str, store: StoreAddress | None = None
) -> list[str]:
    """Import Black Box runs from JSON files. If one run is refused, no run is stored.

    Parameters
    ----------
    study
        The study or its folder.
    files
        The JSON files with the runs.
    store
        The store; by default the store in the settings.

    Returns
    -------
    list of str
        One sentence for each run.

    Raises
    ------
    InputError
        If a file cannot be read, or responses of a run are already stored as part of another run.
    """
    study = loaded(study)
    paths = [files] if isinstance(files, (Path, str)) else files
    return add_runs(study, read_stored_runs(study, [Path(path) for path in paths]), store)


def models_run(study: StudyFolder, model: str, store: StoreAddress | None = None) -> list[str]:
    """Run a computational baseline on all test items of a study, and store its responses.

    Parameters
    ----------
    study
        The study or its folder.
    model
        `baseline/straight-line`, `baseline/nearest-atom` or `baseline/tracer`.
    store
        The store; by default the store in the settings.

    Returns
    -------
    list of str
        One sentence on the run.

    Raises
    ------
    InputError
        If the baseline is unknown, or cannot respond to the study's task.
    """
    study = loaded(study)
    return add_runs(study, [run_baseline(study, model)], store)


def add_runs(study: Study, runs: Sequence[Run], location: StoreAddress | None = None) -> list[str]:
    """Store runs, and return one sentence for each run. If one run is refused, no run is stored.

    Raises
    ------
    InputError
        If responses of a run are already stored as part of another run.
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
        n_different = sum(computed != imported for computed, imported in zip(correct, stored, strict=True))
        sentence += f"; the stored scoring has {sum(map(bool, stored))} correct and differs on {n_different} responses"
    return sentence + "."
