"""`equipoise models import`: import replies of language models from files."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.models.other_batteries import difference, nothing_found
from equipoise.commands.models.storing import added_runs, checked_cutoff
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, store_of
from equipoise.progress_bar import progress_bar
from experiment.models.imports.collect import collected
from experiment.models.imports.column_map import read_map
from experiment.models.imports.spool import LOGPROB
from server.store import Conflict


def models_import(
    study: StudyFolder,
    files: Sequence[Path | str] | Path | str,
    store: StoreAddress | None = None,
    map: Path | str | None = None,
    training_cutoff: str | None = None,
    choice: str | None = None,
) -> list[str]:
    """Import replies of language models from files. If one run cannot be stored, no run is stored.

    The format of each file is recognised by its content: results of the batch APIs of OpenAI and Anthropic, Inspect
    logs, samples of lm-evaluation-harness, the CSV file of the published vignette generator, and stored Black Box runs.

    Parameters
    ----------
    study
        The study or its folder.
    files
        The files with the replies. All files of a run must be imported together.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    map
        The meaning of the columns, for a CSV or JSON Lines file of any other format: a YAML file, or a text such as
        `item=scene_id,reply=answer,model==gpt-4`.
    training_cutoff
        Month or day at which the training data of the model end, such as `2024-06`. It is stored with each new run.
    choice
        `logprob` to use token probabilities: the response is the option that is most probable at the place of the
        answer. By default, the response is read in the reply.

    Returns
    -------
    list of str
        One or two sentences for each run, and one sentence for each kind of problem in a file.

    Raises
    ------
    InputError
        If a file cannot be read or its format is unknown, if no line belongs to the study, or if the training cutoff is
        not a date. Also if some responses of a run are already stored as part of another run. With `choice`, also if a
        file has no log-probabilities.
    """
    study = loaded(study)
    if choice not in {None, LOGPROB}:
        raise InputError(f"unknown choice `{choice}`. Fix: use {LOGPROB}, or omit the choice.")
    paths = [Path(path) for path in ([files] if isinstance(files, Path | str) else files)]
    column_map, cutoff = None if map is None else read_map(map), checked_cutoff(training_cutoff)
    with ExitStack() as stack:
        with progress_bar("Reading files", len(paths)) as advance:
            found = stack.enter_context(collected(study, paths, column_map, advance, choice))
        problems = [sentence for report in found.reports for sentence in report.sentences()]
        others = [difference(study, digits, n, store) for digits, n in sorted(found.other_batteries.items())]
        if not found.runs:
            raise InputError("\n".join(others) or nothing_found(found.reports, paths))
        with progress_bar("Reading replies", found.runs.n_to_read) as advance:
            found.runs.read_replies(advance)
        with progress_bar("Storing runs", len(found.runs)) as advance, store_of(study, store) as opened:
            try:
                sentences = added_runs(study, opened, found.runs, cutoff, advance)
            except Conflict as conflict:
                raise InputError(str(conflict)) from None
    return [*sentences, *problems, *others]
