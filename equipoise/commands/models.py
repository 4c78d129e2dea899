"""Storing model runs, and saying in words what became of them."""

from collections.abc import Sequence

from batteries.errors import InputError
from batteries.tasks import task_named
from equipoise.commands.stores import store_of
from experiment.records import Run
from experiment.study.definition import Study
from server.store import Conflict


def add_runs(study: Study, runs: Sequence[Run], location: str | None = None) -> list[str]:
    """Store runs, all or none, and return a sentence on each.

    Raises
    ------
    InputError
        If answers of a run are stored already as part of another.
    """
    with store_of(study, location) as store:
        try:
            added = store.add_runs(study, runs)
        except Conflict as conflict:
            raise InputError(str(conflict)) from None
    return [
        f"{outcome.run}: {_summary(study, run)}" if outcome.is_new else f"{outcome.run}: was in the store already."
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
    sentence = f"{n} answers, {sum(correct)} correct ({sum(correct) / n:.1%})"
    n_invalid = sum(not response.valid for response in run.responses)
    if n_invalid:
        sentence += f", {n_invalid} of them no possible answer"
    stored = [response.imported_correct for response in run.responses]
    if None not in stored:
        n_different = sum(ours != theirs for ours, theirs in zip(correct, stored, strict=True))
        sentence += f"; the stored scoring says {sum(map(bool, stored))} correct and differs on {n_different}"
    return sentence + "."
