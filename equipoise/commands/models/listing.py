"""`equipoise models list`: list the stored runs of models, and the runs that are not finished."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import click

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from equipoise.commands.models.canary import canary_sentence
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded, setting_of, store_to_read
from equipoise.commands.study_trials import may_have_responses
from equipoise.progress_bar import spinner
from experiment.models.runs.kept_replies import FILE, KeptRun, kept_replies
from experiment.models.runs.settings import condition_digest
from experiment.records import TRAINING_CUTOFF, Source
from experiment.study.definition import Study
from server.locations import store_location
from server.settings import read_settings
from server.store.models import StoredRun


@dataclass(frozen=True)
class ListedRun:
    """A run in a list of runs. A field is None if its value is unknown."""

    run: str
    """The run's label."""
    is_stored: bool
    """False if the run is not finished, so that its replies are not in the store."""
    model: str | None
    model_version: str
    """The provider's exact name of the model."""
    provider: str | None
    source: str
    """`import` for an imported run, `api` for a run made with Equipoise."""
    format: str | None
    """Format of the imported files."""
    started_at: str
    """Time of the first reply; UTC, ISO 8601."""
    completed_at: str
    """Time of the last reply; UTC, ISO 8601."""
    temperature: float | None
    epoch: int | None
    prompt_digest: str | None
    parameters: str
    """All other settings, as JSON."""
    study_version: str | None
    battery_digest: str | None
    n_items: int | None
    """Number of items that a complete run has; None if unknown, for example for a run on another battery."""
    n_responses: int
    n_missing: int | None
    """Number of items without a response."""
    n_invalid: int | None
    n_truncated: int | None
    """Number of replies that reached the limit of tokens."""
    input_tokens: int | None
    output_tokens: int | None
    training_cutoff: str | None
    """Month or day at which the training data of the model end, as the researcher stated it."""
    n_with_canary: int | None
    """Number of replies that contain the battery's canary (a text that marks the battery in training data).

    None if the battery has no canary.
    """

    def sentence(self) -> str:
        """Return the run in plain sentences."""
        of = "" if self.n_items is None else f" of {self.n_items:,}"
        counts = [f"{self.n_responses:,}{of} {'responses' if self.is_stored else 'replies'}"]
        further = ((self.n_missing, "missing"), (self.n_invalid, "invalid"), (self.n_truncated, "truncated"))
        counts += [f"{n:,} {words}" for n, words in further if n]
        if self.input_tokens is not None and self.output_tokens is not None:
            counts.append(f"{self.input_tokens:,} tokens in, {self.output_tokens:,} tokens out")
        version = self.model_version if self.provider is None else f"{self.model_version} ({self.provider})"
        said = f"{self.run}: {', '.join(counts)}. {version}, {self._origin()} on {self.completed_at[:10]}"
        if not self.is_stored:
            return f"{said}; not in the store."
        is_baseline = self.model is not None and self.model.startswith("baseline/")
        return f"{said}." if is_baseline else f"{said}, training cutoff {self.training_cutoff or 'unknown'}."

    def _origin(self) -> str:
        if self.source == Source.API:
            return "run with Equipoise"
        return "imported" if self.format is None else f"imported ({self.format})"


def models_list(
    study: StudyFolder, store: StoreAddress | None = None, output: Path | str | None = None
) -> list[ListedRun]:
    """List the runs of models in a study's store, and the runs of `models run` that are not finished.

    Parameters
    ----------
    study
        The study or its folder.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    output
        CSV file to write, with one row for each run.

    Returns
    -------
    list of ListedRun
        The stored runs, sorted by label, and then the runs that are not in the store.

    Raises
    ------
    InputError
        If the study has neither a store nor replies of a run on disk, or a file cannot be used.
    """
    study = loaded(study)
    kept = _kept_runs(study)
    stored: list[StoredRun] = []
    # An interrupted first run has replies on disk, but no store yet.
    if not kept or may_have_responses(store_location(study, read_settings(store=setting_of(store)))):
        with store_to_read(study, store) as opened, spinner("Counting responses"):
            stored = opened.runs(study, study.battery.canary)
    finished = {_condition_and_epoch(run) for run in stored}
    listed = [_listed(study, run) for run in stored]
    listed += [_listed_kept(run) for run in kept if (run.condition, run.epoch) not in finished]
    if output is not None:
        with atomic_write(Path(output)) as file:
            write_rows(file, [[field.name for field in fields(ListedRun)], *map(astuple, listed)])
    return listed


def list_sentences(study: StudyFolder, runs: Sequence[ListedRun]) -> list[str]:
    """Return a sentence for each run, and sentences on the battery's canary and on runs that are not in the store."""
    said = [run.sentence() for run in runs]
    if any(run.is_stored for run in runs):
        has_canary = loaded(study).battery.canary is not None
        nothing = "The battery's canary is in no reply." if has_canary else "The battery has no canary."
        said.append(canary_sentence((run.run, run.n_with_canary) for run in runs) or nothing)
    else:
        said.append("The store has no runs of models for this study.")
    if not all(run.is_stored for run in runs):
        said.append("To continue a run that is not in the store, repeat its command `equipoise models run`.")
    return said


def _kept_runs(study: Study) -> list[KeptRun]:
    """Return the replies of all models on disk, as one entry for each condition and epoch."""
    folders = sorted(path.parent for path in (study.folder / "data" / "model-runs").glob(f"*/{FILE}"))
    found = []
    for folder in folders:
        try:
            with kept_replies(folder) as replies:
                found += replies.runs()
        except InputError as error:  # For instance a run in progress. The other runs can be listed.
            click.echo(f"Note: {error}", err=True)
    return found


def _condition_and_epoch(run: StoredRun) -> tuple[str, int] | None:
    """Return the condition and the epoch of a run that `models run` made; None for any other run."""
    settings = run.parameters
    if run.source is not Source.API or "max_tokens" not in settings:
        return None
    condition = condition_digest(
        run.battery_digest,
        run.model,
        run.prompt_digest,
        run.temperature,
        settings["max_tokens"],
        settings.get("group"),
        settings.get("seed"),
        settings.get("session_order"),
    )
    return condition, settings["epoch"]


def _listed(study: Study, run: StoredRun) -> ListedRun:
    if run.parameters.get("group") is not None:
        n_items: int | None = run.n_items
    else:
        n_items = len(study.test_items) if run.battery_digest == study.battery.digest else None
    return ListedRun(
        run=run.run,
        is_stored=True,
        model=run.model,
        model_version=run.model_version,
        provider=run.parameters.get("provider"),
        source=run.source.value,
        format=run.parameters.get("format"),
        started_at=run.started_at,
        completed_at=run.completed_at,
        temperature=run.temperature,
        epoch=run.parameters.get("epoch"),
        prompt_digest=run.prompt_digest,
        parameters=json.dumps(run.parameters, ensure_ascii=False),
        study_version=run.study_version,
        battery_digest=run.battery_digest,
        n_items=n_items,
        n_responses=run.n_responses,
        n_missing=None if n_items is None else max(n_items - run.n_responses, 0),
        n_invalid=run.n_invalid,
        n_truncated=run.n_truncated,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        training_cutoff=run.parameters.get(TRAINING_CUTOFF),
        n_with_canary=run.n_with_canary,
    )


def _listed_kept(kept: KeptRun) -> ListedRun:
    # A file from before the conditions were described has no label of the run.
    return ListedRun(
        run=f"{kept.run or kept.model_version}, epoch {kept.epoch}",
        is_stored=False,
        model=kept.model,
        model_version=kept.model_version,
        provider=None if kept.model is None else kept.model.partition("/")[0],
        source=Source.API.value,
        format=None,
        started_at=kept.started_at,
        completed_at=kept.completed_at,
        temperature=kept.temperature,
        epoch=kept.epoch,
        prompt_digest=None,
        parameters="{}",
        study_version=None,
        battery_digest=kept.battery_digest,
        n_items=kept.n_items,
        n_responses=kept.n_replies,
        n_missing=None if kept.n_items is None else max(kept.n_items - kept.n_replies, 0),
        n_invalid=None,
        n_truncated=None,
        input_tokens=kept.tokens_in,
        output_tokens=kept.tokens_out,
        training_cutoff=None,
        n_with_canary=None,
    )
