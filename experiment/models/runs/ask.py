"""Asking a model for the replies that are not on disk yet. The package inspect-ai (Inspect) sends the requests.

The requests do not run within an evaluation of Inspect (`inspect_ai.eval`). An evaluation starts all its requests at
once, and records each step. For 57,600 requests, an evaluation needs several times as long, and more than 1 GB of
memory (`benchmarks/models_run.py`).
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.util import AdaptiveConcurrency
from tenacity import RetryError

from batteries.errors import InputError
from experiment.models.event_loops import calls_outside_loops, run_in_new_loop
from experiment.models.prompts.requests import Exchange, PromptRequest
from experiment.models.request_ids import RequestId
from experiment.models.runs.budget import Budget
from experiment.models.runs.inspect_task import messages_of
from experiment.models.runs.kept_replies import KeptReplies, KeptReply
from experiment.models.runs.mock_model import PROVIDER, mock_replies
from experiment.models.runs.sent_temperature import is_without_temperature, note_sent_temperature
from experiment.models.runs.settings import RunSettings

MOST_FAILURES = 20
"""After this number of failed requests in a row, no more requests are sent."""

_PACKAGES_THAT_RETRY = frozenset({"openai", "openai-api", "anthropic"})
"""Providers whose Python packages send a failed request again.

Inspect also sends failed requests again, and counts only its own attempts.
"""

Advance = Callable[[str], None]
"""Function to call after each request, with the tokens and the price so far, and the expected price to come."""


class Conversation(NamedTuple):
    """Requests that are sent one after the other. Each request contains all earlier messages.

    Outside a whole session, each conversation is only one request.
    """

    earlier: list[Exchange]
    """The earlier prompts of the conversation, with their replies from disk."""
    requests: list[PromptRequest]
    """The requests of the conversation that have no reply yet."""


@dataclass
class Asked:
    """The result of `ask_missing`."""

    budget: Budget
    n_new: int = 0
    """Number of replies that arrived."""
    first_failure: str = ""
    """Item and error of the first failed request."""
    n_missing: int = 0
    """Number of requests that had no reply on disk at the start."""
    failures_in_a_row: int = 0
    n_without_temperature: int = 0
    """Number of replies to requests from which Inspect removed the temperature, because the model refuses one."""
    is_interrupted: bool = False
    """True if the user stopped the program."""
    failures: dict[RequestId, str] = field(default_factory=dict)
    """The error of each failed request."""
    runs: dict[tuple[float | None, int], None] = field(default_factory=dict)
    """Temperature and epoch of each run with a new reply or a failed request."""

    @property
    def n_failed(self) -> int:
        """Number of failed requests."""
        return len(self.failures)

    @property
    def n_not_sent(self) -> int:
        """Number of requests that were not sent."""
        return self.n_missing - self.n_new - self.n_failed


def model_of(settings: RunSettings) -> Model:
    """Return the model as an object of the package inspect-ai (Inspect).

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
    """Ask the model for the replies that are not on disk yet, run by run, and close the model.

    In a whole session, the requests of a run are one conversation, which begins with the replies on disk. Conversations
    of several runs are open at the same time. If a request of a conversation gets no reply, its later requests are not
    sent.

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
    is_growing = settings.requests.session_order is not None
    budget = Budget(settings.prices, settings.max_cost, is_growing)
    asking = _Asking(settings, model, replies, Asked(budget), advance)
    missing = asking.count_known()
    if missing:
        logging.getLogger("inspect_ai").setLevel(logging.ERROR)
        try:
            with calls_outside_loops() as call:
                call(run_in_new_loop, asking.ask(missing))
        except KeyboardInterrupt:
            asking.asked.is_interrupted = True
        finally:
            replies.add(*asking.arrived)
    return asking.asked


@dataclass(frozen=True)
class _Asking:
    """The requests of one call of `ask_missing`."""

    settings: RunSettings
    model: Model
    replies: KeptReplies
    asked: Asked
    advance: Advance
    arrived: list[KeptReply] = field(default_factory=list)
    """Replies that arrived and are not on disk yet."""
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def count_known(self) -> list[Conversation]:
        """Count the replies on disk. Return the requests without a reply, sorted by run and then by item."""
        conversations = []
        for temperature in self.settings.requests.temperatures:
            requests = list(replace(self.settings.requests, temperatures=(temperature,), epochs=1))
            epochs, condition = self.settings.requests.epochs, self.settings.condition(temperature)
            known = self.replies.asked(condition, epochs)
            for epoch in range(1, epochs + 1):
                missing = []
                for request in requests:
                    tokens = known.get((request.item_id, epoch))
                    if tokens is None:
                        missing.append(replace(request, request_id=replace(request.request_id, epoch=epoch)))
                    else:
                        self.asked.budget.add(*tokens)
                        self._advance()
                self.asked.n_missing += len(missing)
                if self.settings.requests.session_order is None:
                    conversations += [Conversation([], [request]) for request in missing]
                elif missing:
                    earlier = self._exchanges(requests[: -len(missing)], condition, epoch)
                    conversations.append(Conversation(earlier, missing))
        return conversations

    def _exchanges(self, requests: list[PromptRequest], condition: str, epoch: int) -> list[Exchange]:
        """Return the prompts of requests together with their replies from disk."""
        found = [(request, self.replies.find(condition, request.item_id, epoch)) for request in requests]
        return [self.settings.requests.exchange(request, kept.reply) for request, kept in found if kept is not None]

    async def ask(self, missing: list[Conversation]) -> None:
        """Send the requests, several at the same time.

        The setting `max_connections` is the number of requests at the same time. Without this setting, Inspect adapts
        the number. This method then begins with few requests, and allows one more after each reply, up to Inspect's
        limit.
        """
        rest = iter(missing)
        limits, fixed = AdaptiveConcurrency(), self.settings.max_connections
        more = iter(range(0 if fixed else limits.max - limits.start))

        async def ask_each() -> None:
            for conversation in rest:
                earlier = list(conversation.earlier)
                for request in conversation.requests:
                    reply = await self._ask_one(request, earlier)
                    self._advance()
                    if reply is None:
                        break
                    earlier.append(self.settings.requests.exchange(request, reply))
                    if next(more, None) is not None:
                        group.create_task(ask_each())

        async with self.model, asyncio.TaskGroup() as group:
            for _ in range(fixed or limits.start):
                group.create_task(ask_each())

    async def _keep(self, reply: KeptReply) -> None:
        """Wait until a reply is on disk. Replies that arrive during a write are written together by the next write."""
        self.arrived.append(reply)
        async with self.writing:
            if reply in self.arrived:
                together = list(self.arrived)
                await asyncio.to_thread(self.replies.add, *together)
                del self.arrived[: len(together)]

    def _advance(self) -> None:
        budget = self.asked.budget
        self.advance("; ".join(filter(None, (budget.sentence(), budget.price_to_come(len(self.settings.requests))))))

    async def _ask_one(self, request: PromptRequest, earlier: list[Exchange]) -> str | None:
        """Send a request after the earlier messages, and keep its reply. Return the reply, or None if none arrived."""
        settings, asked, request_id = self.settings, self.asked, request.request_id
        messages = messages_of(request.prompt, earlier)
        price = asked.budget.reserve([message.text for message in messages], settings.longest_reply)
        if price is None or asked.failures_in_a_row >= MOST_FAILURES or asked.n_without_temperature:
            asked.budget.release(price or 0.0)
            return None
        asked.runs[request_id.temperature, request_id.epoch] = None
        config = GenerateConfig(
            temperature=request_id.temperature,
            max_tokens=settings.longest_reply,
            max_retries=settings.max_retries,
            max_connections=settings.max_connections,
        )
        try:
            # In a task, because Inspect records all requests of a task in memory.
            output = await asyncio.create_task(self.model.generate(messages, config=config))
            has_temperature = request_id.temperature is None or not is_without_temperature(output)
            if not has_temperature:
                request_id = replace(request_id, temperature=None)
            reply = _kept(output, settings.condition(request_id.temperature), request.item_id, request_id)
            await self._keep(reply)
        except Exception as error:
            asked.failures[request.request_id] = reason = _reason(error)
            asked.failures_in_a_row += 1
            asked.first_failure = asked.first_failure or f"item `{request.item_id}`: {reason}"
            return None
        finally:
            asked.budget.release(price)
        asked.n_new += 1
        asked.n_without_temperature += not has_temperature
        asked.failures_in_a_row = 0
        asked.budget.add(reply.tokens_in, reply.tokens_out)
        return reply.reply


def _kept(output: ModelOutput, condition: str, item_id: str, request_id: RequestId) -> KeptReply:
    """Return the reply to a request. `condition` and `request_id` contain the temperature that was really sent.

    Raises
    ------
    RuntimeError
        If the provider sent no reply, or the prompt is too long for the model.
    """
    is_refusal = output.stop_reason == "content_filter"
    # Some providers of Inspect return the error for a prompt that is too long as the text of a reply without tokens.
    if output.stop_reason == "model_length" and output.usage is None:
        raise RuntimeError(output.completion)
    if not output.choices or (output.error and not is_refusal):
        raise RuntimeError(output.error or "the provider sent no reply")
    content = output.choices[0].message.content
    parts = content if isinstance(content, list) else []
    usage = output.usage
    tokens_in = 0
    if usage is not None:
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        tokens_in = usage.input_tokens + cached
    return KeptReply(
        condition=condition,
        item_id=item_id,
        epoch=request_id.epoch,
        request_id=str(request_id),
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
    # The text of a `RetryError` does not have the reason.
    if isinstance(error, RetryError):
        error = error.last_attempt.exception() or error
    text = str(getattr(error, "provider_message", "") or getattr(error, "message", "") or error) or type(error).__name__
    for markup in ("[bold]", "[/bold]", "[blue]", "[/blue]", "ERROR: "):
        text = text.replace(markup, "")
    line = " ".join(text.split())[:300]
    return line if line.endswith(".") else f"{line}."
