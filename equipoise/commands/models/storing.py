"""Store runs of models and baselines, with a summary of each run in plain sentences."""

from collections.abc import Callable, Sequence
from typing import overload

from batteries.errors import InputError
from batteries.tasks import task_named
from equipoise.commands.store_access import StoreAddress, store_of
from experiment.models.imports.runs import ImportedRuns, missing_items
from experiment.records import Run
from experiment.study.definition import Study
from server.store import Conflict, Store


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


def added_runs(
    study: Study, store: Store, runs: Sequence[Run], advance: Callable[[], None] = lambda: None
) -> list[str]:
    """Store runs, and return the summary of each run. Call `advance` for each run."""
    summaries: dict[int, str] = {}
    added = store.add_runs(study, _Summarised(study, runs, summaries, advance))
    return [
        f"{outcome.run}: {summaries[index]}" if outcome.is_new else f"{outcome.run}: already in the store."
        for index, outcome in enumerate(added)
    ]


class _Summarised(Sequence[Run]):
    """A sequence of runs, which makes the summary of a run when the store reads the run.

    An import has only one run in memory, so the summaries are not made later.
    """

    def __init__(
        self, study: Study, runs: Sequence[Run], summaries: dict[int, str], advance: Callable[[], None]
    ) -> None:
        self._study = study
        self._runs = runs
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
        return run


def run_summary(study: Study, run: Run) -> str:
    """Return a summary of a run in plain sentences.

    The summary has the number of responses, of correct responses and of invalid responses, and the missing items.
    """
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
    asked = set(run.item_ids)
    return sentence + "." + missing_items([item.item_id for item in study.test_items if item.item_id not in asked], n)
