"""The battery's canary (a text that marks the battery in training data) in the replies of models."""

from collections.abc import Collection, Iterable

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import StoreUnavailable
from server.store.open import opened_store


def canary_sentence(runs: Iterable[tuple[str, int | None]]) -> str | None:
    """Return a sentence that names the runs whose replies contain the battery's canary.

    None if no reply contains it. Each run is given by its label and by the number of its replies with the canary.
    """
    found = [(run, n_with_canary) for run, n_with_canary in runs if n_with_canary]
    if not found:
        return None
    named = "; ".join(f"{run} ({n:,} {'reply' if n == 1 else 'replies'})" for run, n in found)
    runs_and_models = "1 run, so the model" if len(found) == 1 else f"{len(found):,} runs, so these models"
    return f"The battery's canary is in replies of {runs_and_models} may have seen the battery: {named}."


def canary_notes(study: Study, store: str, runs: Collection[str]) -> list[str]:
    """Return a sentence for the report if replies of some analyzed runs contain the battery's canary.

    Parameters
    ----------
    study
        The study.
    store
        The study's store: a file, or the address of a database.
    runs
        The labels of the analyzed runs.
    """
    if not runs or study.battery.canary is None:
        return []
    try:
        with opened_store(store, must_exist=True) as opened:
            stored = opened.runs(study, study.battery.canary)
    except (InputError, StoreUnavailable):  # For instance a read-only copy; such a store can still be analyzed.
        return ["The replies of the models could not be read, so the battery's canary was not looked for."]
    sentence = canary_sentence((run.run, run.n_with_canary) for run in stored if run.run in runs)
    return [] if sentence is None else [sentence]
