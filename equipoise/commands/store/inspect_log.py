"""`equipoise store inspect-log`: export the sessions of people as a log of the package inspect-ai (Inspect)."""

import importlib.util
from pathlib import Path

from analysis.exclusions.flow import NOT_A_TEST_TRIAL, marked_trials
from batteries.errors import InputError
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
from server.locations import store_location
from server.settings import read_settings
from server.store import Access


def store_inspect_log(
    study: StudyFolder, output: Path | str, store: StoreAddress | None = None, simulated: bool = False
) -> int:
    """Write the responses of people to a log of Inspect, with one sample for each test trial that has a response.

    The id of a sample is the id of the item, and its epoch is the number of the session in the log. Input, right
    answer, response and score are in the fields that Inspect uses for models. If the study's analysis plan excludes a
    trial, the sample has no score, and its field `excluded_by` has the reason.

    Parameters
    ----------
    study
        The study or its folder.
    output
        File to write, .eval.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    simulated
        True to export simulated participants instead of people.

    Returns
    -------
    int
        Number of samples.

    Raises
    ------
    InputError
        If inspect-ai is not installed, there are no responses, or the store or the file cannot be used.
    """
    study, path = loaded(study), Path(output)
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"{path}: a log of Inspect needs the package inspect-ai, which is not installed. Fix: pip install "
            "'equipoise[models]'"
        )
    if path.suffix != ".eval":
        raise InputError(
            f"{path}: the name of this file does not end in .eval, so Inspect would not find the log. Fix: write a "
            "name such as people.eval."
        )
    from equipoise.commands.store.inspect_samples import write_log  # noqa: PLC0415 - an extra

    with store_to_read(study, store) as opened:
        trials = study_trials(study, store_location(study, read_settings(store=setting_of(store))))
        trials = marked_trials(trials, study.definition.analysis)
        kind = Kind.SIMULATED if simulated else Kind.HUMAN
        is_shown = (trials["kind"] == kind) & (trials["excluded_by"] != NOT_A_TEST_TRIAL) & trials["correct"].notna()
        if not is_shown.any():
            others = "simulated participants" if simulated else "people"
            raise InputError(
                f"{path}: there are no responses of {others}. Fix: collect responses first, or "
                f"{'leave out --simulated' if simulated else 'add --simulated to export simulated participants'}."
            )
        shown = trials[is_shown].sort_values(["started_at", "session", "trial_index"], ignore_index=True)
        with progress_bar("Writing samples", len(shown)) as advance:
            write_log(study, shown, kind, path, advance)
        note_access(opened, study, Access.EXPORTED, what="inspect log", number=len(shown))
    return len(shown)
