"""`equipoise models`: write prompts for language models, import their runs, and run baselines."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.other_batteries import difference, nothing_found
from equipoise.commands.run_summaries import added_runs
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, store_of
from equipoise.progress_bar import progress_bar
from experiment.models.baselines import run_baseline
from experiment.models.imports.collect import collected
from experiment.models.imports.column_map import read_map
from experiment.models.prompts.batch_files import WrittenPrompts, write_prompts
from experiment.models.prompts.requests import requests_for
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
    study: StudyFolder,
    files: Sequence[Path | str] | Path | str,
    store: StoreAddress | None = None,
    map: Path | str | None = None,
) -> list[str]:
    """Import replies of language models from files. If one run is refused, no run is stored.

    The format of each file is recognised by its content: results of the batch APIs of OpenAI and Anthropic, Inspect
    logs, samples of lm-evaluation-harness, the CSV file of the published vignette generator, and stored Black Box runs.

    Parameters
    ----------
    study
        The study or its folder.
    files
        The files with the replies. All files of a run must be imported together.
    store
        The store; by default the store in the settings.
    map
        The columns of any other CSV or JSON Lines file: a YAML file, or a text such as
        `item=scene_id,reply=answer,model==gpt-4`.

    Returns
    -------
    list of str
        One or two sentences for each run, and one sentence for each kind of problem in a file.

    Raises
    ------
    InputError
        If a file cannot be read, its format is unknown, or no line belongs to the study; or if the store has responses
        of a run already, as part of another run.
    """
    study = loaded(study)
    paths = [Path(path) for path in ([files] if isinstance(files, Path | str) else files)]
    column_map = None if map is None else read_map(map)
    with ExitStack() as stack:
        with progress_bar("Reading files", len(paths)) as advance:
            found = stack.enter_context(collected(study, paths, column_map, advance))
        problems = [sentence for report in found.reports for sentence in report.sentences()]
        others = [difference(study, digits, n, store) for digits, n in sorted(found.other_batteries.items())]
        if not found.runs:
            raise InputError("\n".join(others) or nothing_found(found.reports, paths))
        with progress_bar("Reading replies", found.runs.n_to_read) as advance:
            found.runs.read_replies(advance)
        with progress_bar("Storing runs", len(found.runs)) as advance, store_of(study, store) as opened:
            try:
                sentences = added_runs(study, opened, found.runs, advance)
            except Conflict as conflict:
                raise InputError(str(conflict)) from None
    return [*sentences, *problems, *others]


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
            return added_runs(study, store, runs)
        except Conflict as conflict:
            raise InputError(str(conflict)) from None
