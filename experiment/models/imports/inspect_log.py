"""Logs of Inspect (https://inspect.aisi.org.uk), as `.eval` or `.json` files. The package inspect-ai reads the log.

The samples of Equipoise's own tasks have the id of the request in the field `request_id` of their metadata. In any
other log, the field `item_id` or the id of the sample must be the id of the request or of the item.

The log of a complete run of `models run` describes the run, so that the import makes the same run again.
"""

import zipfile
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from batteries.errors import InputError, how_to_install
from experiment.models.event_loops import calls_outside_loops
from experiment.models.imports.lines import LONGEST_MS, number_of, text_of, time_of
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, Records
from experiment.models.request_ids import RequestId
from experiment.models.runs.finished_runs import RUN, checked_description

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

NAME = "inspect"


def read(path: Path) -> Records:
    """Yield the replies of a log, sample by sample.

    Raises
    ------
    InputError
        If inspect-ai is not installed, or the file is not a log of a language model.
    """
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError(
            f"{path}: the package inspect-ai, which reads this log, is not installed. Fix: {how_to_install('models')}"
        ) from None
    try:
        form: Literal["eval", "json"] = "eval" if zipfile.is_zipfile(path) else "json"
        with calls_outside_loops() as call:
            log = call(read_eval_log, str(path), header_only=True, format=form)
            if log.eval.model.startswith("equipoise/"):
                raise InputError(
                    f"{path}: this log contains responses of people (`equipoise store inspect-log` wrote it), so it "
                    "cannot be imported as a run of a language model. Fix: give the log of a language model."
                )
            metadata = log.eval.metadata or {}
            if RUN in metadata and metadata[RUN] is None:
                raise InputError(
                    f"{path}: this is the log of a run that is not complete. Fix: repeat the command `equipoise models "
                    "run` of this run without --limit. The command completes and stores the run."
                )
            made_run = checked_description(metadata[RUN]) if RUN in metadata else None
            # The logs of `models run` have no list of ids, by which Inspect could read sample by sample.
            samples = (
                call(read_eval_log_samples, str(path), all_samples_required=False, format=form)
                if made_run is None
                else iter(call(read_eval_log, str(path), format=form).samples or ())
            )
            for number in count(1):
                sample = call(next, samples, None)
                if sample is None:
                    return
                yield _record(number, sample, log, made_run)
    except InputError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InputError(f"{path}: this is not a complete Inspect log ({reason}). Fix: export the log again.") from None


def _record(number: int, sample: "EvalSample", log: "EvalLog", made_run: str | None) -> ImportedReply | Problem:
    request = _request(sample)
    if sample.error is not None:
        return Problem(number, ProblemKind.FAILED, sample.error.message.splitlines()[0], request)
    output = sample.output
    if not output.choices or output.error:
        return Problem(number, ProblemKind.FAILED, output.error or "the sample has no output", request)
    choice = output.choices[0]
    thinking = [part.reasoning for part in _parts(choice.message.content) if part.type == "reasoning"]
    usage, config = output.usage, log.plan.config
    limits = config.model_copy(update=log.eval.model_generate_config.model_dump(exclude_none=True))
    return ImportedReply(
        line=number,
        request=request,
        model=log.eval.model,
        model_version=output.model or None,
        provider=log.eval.model.partition("/")[0],
        reply=choice.message.text,
        thinking="\n".join(thinking),
        temperature=limits.temperature,
        epoch=sample.epoch if (log.eval.config.epochs or 1) > 1 else None,
        max_tokens=limits.max_tokens,
        logprobs=choice.logprobs.model_dump()["content"] if choice.logprobs else (),
        finish_reason=choice.stop_reason,
        tokens_in=usage.input_tokens if usage else None,
        tokens_out=usage.output_tokens if usage else None,
        latency_ms=number_of(1000 * sample.working_time, LONGEST_MS) if sample.working_time is not None else None,
        time=_time(sample, log),
        made_run=made_run,
    )


def _request(sample: "EvalSample") -> str:
    """Return the id of the request or of the item.

    The epoch comes from the sample, because Inspect repeats requests.
    """
    metadata = sample.metadata or {}
    try:
        return str(replace(RequestId.parse(str(metadata.get("request_id"))), epoch=sample.epoch))
    except InputError:
        return text_of(metadata.get("item_id")) or str(sample.id)


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _time(sample: "EvalSample", log: "EvalLog") -> datetime | None:
    at = getattr(sample, "completed_at", None) or log.eval.created
    return time_of(str(at))
