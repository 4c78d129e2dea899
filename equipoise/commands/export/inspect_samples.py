"""Trials of people as a log (`.eval`) that the viewer and the data frames of inspect-ai (Inspect) read.

The log is a ZIP archive with one JSON file for each sample. Inspect's function `write_eval_log` is not used, because it
needs all samples in memory.
"""

import json
import math
import shutil
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
)
from inspect_ai.model import ChatMessageUser, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score

from analysis.data.columns import factor_columns, is_graded
from batteries.files.atomic_write import atomic_write
from experiment.models.prompts.item_text import shown_item
from experiment.models.prompts.styles import DEFAULT_STYLES
from experiment.models.runs.inspect_task import GRADER
from experiment.records import Kind
from experiment.study.definition import Study

_IN_METADATA = (
    "participant", "session", "session_number", "source", "study_version", "group", "trial_index", "rt_ms",
    "excluded_by",
)  # fmt: skip
"""The columns of the tidy table that the metadata of a sample contain, besides the factors."""
_OTHER_COLUMNS = ("item_id", "task", "content", "key", "response", "correct", "shown_at", "received_at")


def write_log(
    study: Study, trials: pd.DataFrame, kind: Kind, path: Path, advance: Callable[[], None] = lambda: None
) -> None:
    """Write a log with one sample for each trial.

    Parameters
    ----------
    study
        The study.
    trials
        Rows of the tidy table with `excluded_by`, sorted by session. Each row is a test trial with a response.
    kind
        The kind of the participants. It is part of the model's name in the log, such as `equipoise/human`.
    path
        The file to write.
    advance
        Function to call after each sample.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    model = f"equipoise/{kind.value}"
    epochs = pd.factorize(trials["session"])[0] + 1
    log = EvalLog(
        status="success",
        eval=_description(study, trials, model, int(epochs.max())),
        results=_results(trials),
        stats=EvalStats(started_at=trials["started_at"].astype("str").min(), completed_at=_last_completion(trials)),
    )
    with (
        atomic_write(path, is_private=True) as file,
        ZipFile(file.buffer, "w", ZIP_DEFLATED) as archive,
        TemporaryFile() as summaries,
    ):
        for epoch, row in zip(epochs, _rows(trials), strict=True):
            sample = _sample(study, row, model, int(epoch))
            archive.writestr(f"samples/{sample.id}_epoch_{epoch}.json", sample.model_dump_json(exclude_none=True))
            summaries.write(b"," if summaries.tell() else b"[")
            summaries.write(sample.summary().model_dump_json(exclude_none=True).encode())
            advance()
        summaries.write(b"]")
        summaries.seek(0)
        with archive.open("summaries.json", "w", force_zip64=True) as entry:
            shutil.copyfileobj(summaries, entry)
        archive.writestr("header.json", log.model_dump_json(exclude_none=True))


def _description(study: Study, trials: pd.DataFrame, model: str, n_sessions: int) -> EvalSpec:
    item_ids = sorted(trials["item_id"].astype("str").unique())
    return EvalSpec(
        run_id=uuid.uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=study.name,
        task_id=uuid.uuid4().hex,
        dataset=EvalDataset(name=study.name, samples=len(item_ids), sample_ids=item_ids),
        model=model,
        config=EvalConfig(epochs=n_sessions),
        packages={"equipoise": version("equipoise")},
        metadata={"study": study.name, "battery": ", ".join(sorted(trials["battery"].astype("str").unique()))},
    )


def _last_completion(trials: pd.DataFrame) -> str:
    """Return the time at which the last session was completed; the empty text if no session was completed."""
    times = trials["completed_at"].dropna().astype("str")
    return "" if times.empty else str(times.max())


def _results(trials: pd.DataFrame) -> EvalResults:
    """Return the accuracy of the graded trials in the analysis, with its standard error.

    The standard error is clustered by participant, as in Inspect's metric `stderr` with `cluster`. With one
    participant, there is no standard error.
    """
    kept = trials[trials["excluded_by"].isna() & is_graded(trials)]
    correct = kept["correct"].astype("float64")
    metrics: dict[str, float] = {}
    if len(kept):
        metrics["accuracy"] = float(correct.mean())
        sums = (correct - correct.mean()).groupby(kept["participant"].astype("str")).sum()
        n_clusters = len(sums)
        if n_clusters > 1:  # The responses of one participant do not show how participants differ.
            variance = (sums**2).sum() * n_clusters / (n_clusters - 1)
            metrics["stderr"] = math.sqrt(variance) / len(kept)
    score = EvalScore(
        name=GRADER,
        scorer=GRADER,
        scored_samples=len(kept),
        unscored_samples=len(trials) - len(kept),
        metrics={name: EvalMetric(name=name, value=value) for name, value in metrics.items()},
    )
    return EvalResults(total_samples=len(trials), completed_samples=len(trials), scores=[score])


def _rows(trials: pd.DataFrame) -> Iterator[dict[str, Any]]:
    columns = list(dict.fromkeys([*_IN_METADATA, *factor_columns(trials), *_OTHER_COLUMNS]))
    for values in zip(*(trials[column] for column in columns), strict=True):
        yield dict(zip(columns, values, strict=True))


def _sample(study: Study, row: dict[str, Any], model: str, epoch: int) -> EvalSample:
    shown = row["content"]
    text = shown_item(row["task"], shown, study.words) if row["task"] in DEFAULT_STYLES else _text(shown)
    response, seconds = _text(row["response"]), _plain(row["rt_ms"])
    output = ModelOutput.from_content(model, response)
    output.time = seconds = None if seconds is None else seconds / 1000
    is_scored = _plain(row["excluded_by"]) is None and row["key"] is not None
    return EvalSample(
        id=row["item_id"],
        epoch=epoch,
        input=text,
        target="" if row["key"] is None else _text(row["key"]),
        messages=[ChatMessageUser(content=text, source="input"), output.message],
        output=output,
        scores={GRADER: Score(value=CORRECT if row["correct"] else INCORRECT, answer=response)} if is_scored else None,
        metadata={name: _plain(value) for name, value in row.items() if name not in _OTHER_COLUMNS},
        started_at=_time(row["shown_at"]),
        completed_at=_time(row["received_at"]),
        total_time=seconds,
        working_time=seconds,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a cell as a value of Python; None if it is missing."""
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _time(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, pd.Timestamp) and not pd.isna(value) else None
