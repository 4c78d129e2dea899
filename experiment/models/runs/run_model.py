"""The run of a language model: ask for the replies that are missing, and make records of the complete runs."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from batteries.errors import InputError, how_to_install
from experiment.models.runs.finished_runs import finished_run
from experiment.models.runs.kept_replies import KeptCondition, kept_replies
from experiment.models.runs.settings import RunSettings
from experiment.records import Run


@dataclass(frozen=True)
class ModelRun:
    """The result of running a model."""

    runs: list[Run]
    """The complete runs: one for each temperature and epoch."""
    incomplete: list[str]
    """A sentence for each reason why runs are incomplete."""
    usage: str
    """The number of new replies, and the tokens of all replies of the runs, with the price if the prices are known."""
    price_to_come: str
    """The expected price of the missing replies, as a sentence; empty if it is unknown or no reply is missing."""


def run_model(
    settings: RunSettings, advance: Callable[[str], None] = lambda _: None, n_total: int | None = None
) -> ModelRun:
    """Ask a model for the replies that are not on disk yet, and return the runs that are complete.

    Parameters
    ----------
    settings
        The options.
    advance
        Function to call after each request, with the tokens and the price so far, and the expected price to come.
    n_total
        Number of replies of the complete runs, if only the first items are asked.

    Raises
    ------
    InputError
        If inspect-ai or the model is not available, or another process runs the model for this study.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"--model {settings.model}: language models need the package inspect-ai, which is not installed. "
            f"Fix: {how_to_install('models')}"
        )
    from experiment.models.runs.ask import MOST_FAILURES, ask_missing, model_of  # noqa: PLC0415 - an extra
    from experiment.models.runs.run_log import write_run_log  # noqa: PLC0415 - an extra

    model = model_of(settings)
    with kept_replies(settings.folder) as replies:
        # If the model refuses a temperature, its replies are kept under the condition without a temperature.
        replies.describe(_condition(settings, temperature) for temperature in (*settings.requests.temperatures, None))
        asked = ask_missing(settings, model, replies, advance)
        found = {
            (temperature, epoch): finished_run(settings, replies, temperature, epoch)
            for temperature in settings.requests.temperatures
            for epoch in range(1, settings.requests.epochs + 1)
        }
        for temperature, epoch in asked.runs:
            write_run_log(settings, replies, temperature, epoch, asked.failures, found[temperature, epoch])
    incomplete = []
    again = "Fix: run the same command again. The command asks only for the missing replies."
    if asked.is_interrupted:
        incomplete.append(f"The command was stopped. {again}")
    if asked.n_without_temperature:
        incomplete.append(
            "--temperature: this model refuses a temperature. Inspect sent the requests without a temperature, so "
            "Equipoise stopped. Fix: run the same command without --temperature. The command uses the "
            f"{asked.n_without_temperature:,} replies that arrived."
        )
    if asked.n_failed:
        failed = f"{asked.n_failed:,} requests" if asked.n_failed > 1 else "1 request"
        incomplete.append(f"{failed} failed; the first is {asked.first_failure} {again}")
        if settings.requests.pictures == "sent":
            incomplete.append(
                "The requests contain pictures, sounds or videos, which some models do not accept. Fix: use a model "
                "that accepts them, or use --pictures described."
            )
    if asked.failures_in_a_row >= MOST_FAILURES:
        incomplete.append(f"After {MOST_FAILURES} failures in a row, no more requests were sent.")
    if asked.budget.is_exhausted:
        incomplete.append(
            f"--max-cost {settings.max_cost:g}: the next requests could exceed this price, so {asked.n_not_sent:,} "
            "requests were not sent. Fix: run the same command again with a higher --max-cost."
        )
    usage = f"{asked.n_new:,} new replies. All replies of these runs: {asked.budget.sentence()}."
    to_come = asked.budget.price_to_come(n_total or len(settings.requests))
    to_come = f"{to_come[0].upper()}{to_come[1:]}." if to_come and not asked.n_without_temperature else ""
    return ModelRun([run for run in found.values() if run is not None], incomplete, usage, to_come)


def _condition(settings: RunSettings, temperature: float | None) -> KeptCondition:
    return KeptCondition(
        condition=settings.condition(temperature),
        run=settings.label(temperature),
        model=settings.model,
        temperature=temperature,
        battery_digest=settings.study.battery.digest,
        n_items=settings.n_all_items or len(settings.requests.items),
    )
