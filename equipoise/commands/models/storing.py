"""Store runs of models and baselines, with a summary of each run in plain sentences."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import overload

from batteries.errors import InputError
from equipoise.commands.store_access import StoreAddress, store_of
from experiment.models.imports.runs import ImportedRuns, correct_words, missing_items
from experiment.records import TRAINING_CUTOFF, Run
from experiment.study.definition import Study
from server.store import Conflict, Store


def checked_cutoff(training_cutoff: str | None) -> str | None:
    """Return the month or day at which a model's training data end, after a check.

    Raises
    ------
    InputError
        If the text is not a date.
    """
    if training_cutoff is None:
        return None
    try:
        if re.fullmatch("[0-9]{4}-[0-9]{2}(-[0-9]{2})?", training_cutoff) is None:
            raise ValueError
        date.fromisoformat(f"{training_cutoff}-01"[:10])
    except ValueError:
        raise InputError(
            f"--training-cutoff {training_cutoff}: this is not a date. Fix: write YYYY-MM or YYYY-MM-DD, such as "
            "2024-06."
        ) from None
    return training_cutoff


def add_runs(
    study: Study, runs: Sequence[Run], location: StoreAddress | None = None, training_cutoff: str | None = None
) -> list[str]:
    """Store runs, and return one sentence for each run. If one run cannot be stored, no run is stored.

    Raises
    ------
    InputError
        If responses of a run are already stored as part of another run.
    """
    with store_of(study, location) as store:
        try:
            return added_runs(study, store, runs, training_cutoff)
        except Conflict as conflict:
            raise InputError(str(conflict)) from None


def added_runs(
    study: Study,
    store: Store,
    runs: Sequence[Run],
    training_cutoff: str | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[str]:
    """Store runs with the training cutoff of their model, and return the summary of each run.

    `advance` is called once for each run, for instance by a progress bar.
    """
    summaries: dict[int, str] = {}
    added = store.add_runs(study, _Summarised(study, runs, training_cutoff, summaries, advance))
    known = "already in the store."
    if training_cutoff is not None:
        known += " A stored run never changes, so --training-cutoff has no effect on it."
    return [
        f"{outcome.run}: {summaries[index]}" if outcome.is_new else f"{outcome.run}: {known}"
        for index, outcome in enumerate(added)
    ]


class _Summarised(Sequence[Run]):
    """A sequence of runs. When the store reads a run, the training cutoff is added, and the summary is made.

    An import has only one run in memory at a time, so the summaries cannot be made later.
    """

    def __init__(
        self,
        study: Study,
        runs: Sequence[Run],
        training_cutoff: str | None,
        summaries: dict[int, str],
        advance: Callable[[], None],
    ) -> None:
        self._study = study
        self._runs = runs
        self._training_cutoff = training_cutoff
        self._summaries = summaries
        self._advance = advance

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        run = self._runs[index]
        made = self._runs.summaries.get(index) if isinstance(self._runs, ImportedRuns) else None
        self._summaries[index] = made.sentence() if made else run_summary(self._study, run)
        self._advance()
        if self._training_cutoff is None:
            return run
        return run.model_copy(update={"parameters": run.parameters | {TRAINING_CUTOFF: self._training_cutoff}})


def run_summary(study: Study, run: Run) -> str:
    """Return a summary of a run in plain sentences.

    The summary has the number of responses, of correct responses and of invalid responses, and the missing items.
    """
    n = len(run.responses)
    items = [study.battery.by_id[run.item_ids[response.trial_index]] for response in run.responses]
    graded = [response for response, item in zip(run.responses, items, strict=True) if item.is_graded]
    correct = [
        response.valid and (score := item.score(response.response)) is not None and score.correct
        for response, item in zip(run.responses, items, strict=True)
        if item.is_graded
    ]
    sentence = f"{n} responses, {correct_words(sum(correct), len(graded), n)}"
    n_invalid = sum(not response.valid for response in run.responses)
    if n_invalid:
        sentence += f", {n_invalid} of them invalid"
    stored = [response.imported_correct for response in graded]
    if stored and None not in stored:
        n_different = sum(computed != imported for computed, imported in zip(correct, stored, strict=True))
        sentence += f"; the stored scoring has {sum(map(bool, stored))} correct and differs on {n_different} responses"
    asked = set(run.item_ids)
    return sentence + "." + missing_items([item.item_id for item in study.test_items if item.item_id not in asked], n)
