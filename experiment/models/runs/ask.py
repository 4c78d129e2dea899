"""Asking a model: one evaluation of Inspect per temperature, which asks for the replies that are not on disk yet."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspect_ai import eval as inspect_eval
from inspect_ai.model import Model, get_model
from inspect_ai.solver import Generate, TaskState

from batteries.errors import InputError
from batteries.files.private_files import private_folder
from experiment.models.event_loops import calls_outside_loops
from experiment.models.prompts.styles import Prompt
from experiment.models.request_ids import RequestId
from experiment.models.runs.budget import Budget
from experiment.models.runs.inspect_task import restored_output, task_of
from experiment.models.runs.kept_replies import KeptReplies, KeptReply
from experiment.models.runs.mock_model import PROVIDER, mock_replies
from experiment.models.runs.sent_temperature import is_without_temperature, note_sent_temperature
from experiment.models.runs.settings import RunSettings

MOST_FAILURES = 20
"""After this number of failed requests without a reply in between, no more requests are sent."""

_PACKAGES_THAT_RETRY = frozenset({"openai", "openai-api", "anthropic"})
"""Providers whose packages send a failed request again. Inspect sends it again too, and only Inspect counts this."""

Advance = Callable[[str], None]
"""Function to call after each request, with the tokens so far."""


@dataclass
class Asked:
    """The result of asking."""

    budget: Budget
    n_new: int = 0
    """Number of replies that arrived."""
    n_failed: int = 0
    first_failure: str = ""
    """Item and error of the first failed request."""
    n_not_sent: int = 0
    """Number of requests that were not sent because of the price limit or repeated failures."""
    failures_in_a_row: int = 0
    n_without_temperature: int = 0
    """Number of replies to requests without the temperature, because the model refuses a temperature."""
    is_interrupted: bool = False
    """True if the user stopped the program."""
    logs: list[str] = field(default_factory=list)


def model_of(settings: RunSettings) -> Model:
    """Return the model of Inspect.

    Raises
    ------
    InputError
        If Inspect does not know the provider, or the provider's package or access key is missing.
    """
    options: dict[str, Any] = {}
    if settings.provider == PROVIDER:
        options = {"custom_outputs": mock_replies(settings.model, settings.requests)}
    if settings.provider in _PACKAGES_THAT_RETRY:
        options = {"max_retries": 0}
    try:
        model = get_model(settings.model, memoize=False, **options)
    except Exception as error:
        raise InputError(
            f"--model {settings.model}: {_reason(error)} Fix: write PROVIDER/NAME as in Inspect, install "
            "the provider's package, and set its access key."
        ) from None
    note_sent_temperature(model, settings.provider)
    return model


def ask_missing(settings: RunSettings, model: Model, replies: KeptReplies, advance: Advance) -> Asked:
    """Ask the model for the replies that are not on disk yet, temperature by temperature.

    Parameters
    ----------
    settings
        The options.
    model
        The model of Inspect.
    replies
        The replies on disk. New replies are added.
    advance
        Function to call after each request.
    """
    asked = Asked(Budget(settings.prices, settings.max_cost))
    requests = settings.requests
    todo: list[float | None] = []
    for temperature in requests.temperatures:
        known = replies.asked(settings.condition(temperature), requests.epochs)
        mine = [(item.item_id, epoch) for item in requests.items for epoch in range(1, requests.epochs + 1)]
        for request in mine:
            if request in known:
                asked.budget.add(*known[request])
        if not known.keys() >= set(mine):
            todo.append(temperature)
        else:
            for _ in mine:
                advance(asked.budget.sentence())
    for temperature in todo:
        _evaluate(settings, model, replies, temperature, asked, advance)
        if asked.is_interrupted or asked.n_without_temperature:
            break
    return asked


def _evaluate(
    settings: RunSettings,
    model: Model,
    replies: KeptReplies,
    temperature: float | None,
    asked: Asked,
    advance: Advance,
) -> None:
    """Run one evaluation of Inspect. Replies that are already on disk are copied into its log, without a request."""
    requests = replace(settings.requests, temperatures=(temperature,))
    condition = settings.condition(temperature)

    async def ask(state: TaskState, generate: Generate) -> TaskState:
        item_id = str(state.sample_id)
        try:
            known = replies.find(condition, item_id, state.epoch)
            if known is not None:
                state.output = restored_output(known)
                state.messages.append(state.output.message)
                return state
            texts = [message.text for message in state.messages]
            price = asked.budget.reserve(Prompt(None, "\n".join(texts)), settings.longest_reply)
            if price is None or asked.failures_in_a_row >= MOST_FAILURES or asked.n_without_temperature:
                asked.budget.release(price or 0.0)
                asked.n_not_sent += 1
                state.metadata["not_sent"] = True
                return state
            try:
                state = await generate(state)
                has_temperature = temperature is None or not is_without_temperature(state.output)
                reply = _kept(state, settings, temperature if has_temperature else None)
            except Exception as error:
                asked.n_failed += 1
                asked.failures_in_a_row += 1
                asked.first_failure = asked.first_failure or f"item `{item_id}`: {_reason(error)}"
                raise
            finally:
                asked.budget.release(price)
            replies.add(reply)
            asked.n_new += 1
            asked.n_without_temperature += not has_temperature
            asked.failures_in_a_row = 0
            asked.budget.add(reply.tokens_in, reply.tokens_out)
            return state
        finally:
            advance(asked.budget.sentence())

    task = task_of(requests, settings.study.name, ask)
    folder = settings.folder / "logs"
    private_folder(folder)
    with calls_outside_loops() as call:
        logs = call(
            inspect_eval,
            task,
            model=model,
            epochs=requests.epochs,
            display="none",
            log_dir=str(folder),
            log_format="eval",
            log_realtime=False,
            log_header_only=True,
            log_model_api=False,
            log_level="error",
            fail_on_error=False,
            ctl_server=False,
            score_display=False,
            max_samples=settings.max_connections,
            temperature=temperature,
            max_tokens=settings.longest_reply,
            max_retries=settings.max_retries,
            max_connections=settings.max_connections,
        )
    asked.logs += [str(Path(log.location)) for log in logs]
    # Failed samples do not fail the evaluation, so any other status means that the evaluation ended too early.
    asked.is_interrupted = not logs or any(log.status != "success" for log in logs)
    errors = [log.error.message for log in logs if log.error is not None]
    if errors and not asked.first_failure:
        asked.n_failed += 1
        asked.first_failure = _reason(RuntimeError(errors[0]))


def _kept(state: TaskState, settings: RunSettings, temperature: float | None) -> KeptReply:
    """Return the reply of a sample, under the condition with the temperature that was sent.

    Raises
    ------
    RuntimeError
        If the provider sent no reply.
    """
    output = state.output
    is_refusal = output.stop_reason == "content_filter"
    if not output.choices or (output.error and not is_refusal):
        raise RuntimeError(output.error or "the provider sent no reply")
    content = output.choices[0].message.content
    parts = content if isinstance(content, list) else []
    usage = output.usage
    tokens_in = 0
    if usage is not None:
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        tokens_in = usage.input_tokens + cached
    request = RequestId.parse(str(state.metadata["request_id"]))
    return KeptReply(
        condition=settings.condition(temperature),
        item_id=str(state.sample_id),
        epoch=state.epoch,
        request_id=str(replace(request, temperature=temperature, epoch=state.epoch)),
        reply=_storable(output.completion),
        thinking=_storable("\n".join(part.reasoning for part in parts if part.type == "reasoning")),
        model_version=output.model,
        stop_reason=output.stop_reason,
        tokens_in=tokens_in,
        tokens_out=usage.output_tokens if usage is not None else 0,
        latency_s=output.time,
        completed_at=datetime.now(UTC).isoformat(),
    )


def _storable(text: str) -> str:
    """Return a text without half characters (lone surrogates) and null characters, which databases refuse."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _reason(error: BaseException) -> str:
    """Return the first lines of an error as one line that ends with a full stop."""
    text = str(getattr(error, "message", "") or error) or type(error).__name__
    for markup in ("[bold]", "[/bold]", "[blue]", "[/blue]", "ERROR: "):
        text = text.replace(markup, "")
    line = " ".join(text.split())[:300]
    return line if line.endswith(".") else f"{line}."
