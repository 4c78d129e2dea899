"""Files of requests: batches for the services of OpenAI and Anthropic, and CSV.

The limits of a batch are those in the documentation of the services in 2026: 50,000 requests and 200 MB for OpenAI,
and 100,000 requests and 256 MB for Anthropic. If a file would be larger, the requests are divided over several files.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TextIO

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import cell_text
from experiment.models.prompts.media import MediaFile
from experiment.models.prompts.requests import PromptRequest, Requests, TaskPrompts
from experiment.models.prompts.styles import Prompt

OPENAI_REASONING_MODEL = re.compile(r"(?:ft:|openai/)?(o[1-9]|gpt-([5-9]|[1-9][0-9]))")
"""Names of OpenAI's models that accept `max_completion_tokens` and refuse `max_tokens`."""
MOST_TOP_LOGPROBS = 20
"""Largest number of alternative tokens at one position for which OpenAI's API gives log-probabilities."""
SHORT_TOKENS, LONG_TOKENS = 512, 2048
"""Default limit of a reply in tokens: usual, and for a reply with reasoning."""
_NOUNS = {"image": "picture", "sound": "sound", "video": "video"}
_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters at which some programs end a line, and the escape sequences that replace them in JSON."""


def default_max_tokens(requests: Requests, model: str) -> int:
    """Return the default limit of a reply, in tokens. `model` is the provider's name of the model."""
    is_long = requests.is_long or OPENAI_REASONING_MODEL.match(model) is not None
    return LONG_TOKENS if is_long else SHORT_TOKENS


def _json_line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    for sign, escaped in _LINE_ENDS.items():
        text = text.replace(sign, escaped)
    return text


class BatchFormat(ABC):
    """A format of files with requests, and the limits of these files."""

    name: ClassVar[str]
    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    highest_temperature: ClassVar[float]
    next_step: ClassVar[str]
    needs_model: ClassVar[bool] = True
    before: ClassVar[str] = ""
    between: ClassVar[str] = ""
    after: ClassVar[str] = ""

    def user_content(self, prompt: Prompt) -> str | list[dict[str, Any]]:
        """Return the user message: a text, or a list of texts and files in the form of the provider.

        Raises
        ------
        InputError
            If the format cannot contain a file of the message.
        """
        if not prompt.parts:
            return prompt.user
        return [
            {"type": "text", "text": part} if isinstance(part, str) else self._checked_media(part)
            for part in prompt.parts
        ]

    def _checked_media(self, file: MediaFile) -> dict[str, Any]:
        form = self.media(file)
        if form is None:
            raise InputError(
                f"{file.path.name}: the format {self.name} cannot contain this {_NOUNS[file.kind]}. Fix: use "
                "--pictures described, or `equipoise models run`."
            )
        return form

    def media(self, file: MediaFile) -> dict[str, Any] | None:
        """Return a file in the form of the provider. None if the format has no form for this kind of file."""
        return None

    @abstractmethod
    def entry(self, request: PromptRequest, model: str, max_tokens: int) -> str:
        """Return the text of one request in the file."""


class OpenAIBatch(BatchFormat):
    """JSON Lines for OpenAI's batch service, with the endpoint for chat completions."""

    name = "openai-batch"
    most_requests = 50_000
    most_bytes = 200_000_000
    highest_temperature = 2
    next_step = "upload each file to OpenAI, start a batch for /v1/chat/completions, and download the results."

    def __init__(self, logprobs: bool = False) -> None:
        self.logprobs = logprobs

    def entry(self, request: PromptRequest, model: str, max_tokens: int) -> str:
        system, user = request.prompt.system, self.user_content(request.prompt)
        messages = [{"role": "system", "content": system}] if system else []
        is_reasoning = OPENAI_REASONING_MODEL.match(model)
        body: dict[str, Any] = {"model": model, "messages": [*messages, {"role": "user", "content": user}]}
        body["max_completion_tokens" if is_reasoning else "max_tokens"] = max_tokens
        if request.request_id.temperature is not None:
            body["temperature"] = request.request_id.temperature
        if self.logprobs:
            body |= {"logprobs": True, "top_logprobs": MOST_TOP_LOGPROBS}
        line = {"custom_id": str(request.request_id), "method": "POST", "url": "/v1/chat/completions", "body": body}
        return _json_line(line) + "\n"

    def media(self, file: MediaFile) -> dict[str, Any] | None:
        if file.kind == "image":
            return {"type": "image_url", "image_url": {"url": f"data:{file.media_type};base64,{file.base64}"}}
        if file.kind == "sound":
            return {"type": "input_audio", "input_audio": {"data": file.base64, "format": file.suffix[1:]}}
        return None


class AnthropicBatch(BatchFormat):
    """The body of a request to Anthropic's message batches: one JSON object with a list `requests`."""

    name = "anthropic-batch"
    most_requests = 100_000
    most_bytes = 256_000_000
    highest_temperature = 1
    next_step = "send each file as the body of POST /v1/messages/batches to Anthropic, and download the results."
    before, between, after = '{"requests": [\n', ",\n", "\n]}\n"

    def entry(self, request: PromptRequest, model: str, max_tokens: int) -> str:
        system, user = request.prompt.system, self.user_content(request.prompt)
        params: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
        if system:
            params["system"] = system
        params["messages"] = [{"role": "user", "content": user}]
        if request.request_id.temperature is not None:
            params["temperature"] = request.request_id.temperature
        return _json_line({"custom_id": str(request.request_id), "params": params})

    def media(self, file: MediaFile) -> dict[str, Any] | None:
        if file.kind != "image":
            return None
        source = {"type": "base64", "media_type": file.media_type, "data": file.base64}
        return {"type": "image", "source": source}


class CsvRequests(BatchFormat):
    """CSV with one row per request, for other programs."""

    name = "csv"
    most_requests = 2**63
    most_bytes = 2**63
    highest_temperature = 2
    next_step = "send each row to the model, and save the reply with its request_id."
    needs_model = False
    before = "request_id,item_id,temperature,epoch,system,user\n"

    def entry(self, request: PromptRequest, model: str, max_tokens: int) -> str:
        of, system, user = request.request_id, request.prompt.system, self.user_content(request.prompt)
        cells = (str(of), request.item_id, of.temperature, of.epoch, system, user)
        return ",".join(map(cell_text, cells)) + "\n"


FORMATS: dict[str, BatchFormat] = {each.name: each for each in (OpenAIBatch(), AnthropicBatch(), CsvRequests())}


@dataclass
class WrittenPrompts:
    """The written files of requests, and what they contain."""

    requests: Requests
    batch: BatchFormat
    model: str
    max_tokens: int
    files: list[Path] = field(default_factory=list)
    n_characters: int = 0
    """Number of characters of all prompts together."""

    def sentences(self) -> list[str]:
        """Return sentences that describe the files and say what the researcher does next."""
        of, files = self.requests, self.files
        names = str(files[0]) if len(files) == 1 else f"{len(files)} files, {files[0]} to {files[-1]}"
        temperatures = ", ".join("not sent" if each is None else f"{each:g}" for each in of.temperatures)
        limit = f" Limit of a reply: {self.max_tokens:,} tokens." if self.batch.needs_model else ""
        return [
            f"Wrote {_counted(len(of), 'request')} for {_counted(len(of.items), 'item')} to {names}.",
            *(line for task, prompts in of.by_task.items() for line in _digests(task, prompts)),
            *([f"Pictures, sounds and videos: {of.pictures}."] if of.pictures else []),
            f"Temperatures: {temperatures}. Epochs: {of.epochs}.{limit}",
            f"The prompts have {self.n_characters:,} characters. English text has about four characters per token.",
            *self._note(),
            f"Next: {self.batch.next_step} Then run: equipoise models import {of.study.folder} RESULTS",
        ]

    def _note(self) -> list[str]:
        if not OPENAI_REASONING_MODEL.match(self.model):
            return []
        has_temperature = not {None, 1.0}.issuperset(self.requests.temperatures)
        asks_logprobs = isinstance(self.batch, OpenAIBatch) and self.batch.logprobs
        refused = ["a temperature other than 1"] * has_temperature + ["log-probabilities"] * asks_logprobs
        test = "Test one request before you upload the batch."
        return [f"Note: {self.model} may refuse {' and '.join(refused)}. {test}"] if refused else []


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _digests(task: str, prompts: TaskPrompts) -> list[str]:
    lines = [f"Template for {task}: {prompts.style.name}, digest {prompts.style.digest}"]
    if prompts.digest != prompts.style.digest:
        lines.append(f"The template with its examples and the study's texts: digest {prompts.digest}")
    return lines


def write_prompts(
    requests: Requests,
    form: str,
    path: Path,
    model: str | None = None,
    max_tokens: int | None = None,
    after_each: Callable[[], None] = lambda: None,
    logprobs: bool = False,
) -> WrittenPrompts:
    """Write requests to `path`, and to `path` with the numbers 2, 3, ... if one file would be too large.

    Parameters
    ----------
    requests
        The requests.
    form
        `openai-batch`, `anthropic-batch` or `csv`.
    path
        The first file. The files appear only when all files are complete.
    model
        The provider's name of the model. It may be None for CSV.
    max_tokens
        Limit of a reply, in tokens. The default is 512. For styles and OpenAI models with reasoning, the default is
        2048.
    after_each
        Function to call after each request, for a progress bar.
    logprobs
        True to ask for the log-probabilities of the 20 most likely tokens. Only `openai-batch` allows this.

    Raises
    ------
    InputError
        If an argument is invalid, a file exists already, or a file cannot be written.
    """
    batch = _checked_format(requests, form, model, max_tokens)
    if logprobs:
        batch = _with_logprobs(batch)
    model = model or ""
    written = WrittenPrompts(requests, batch, model, max_tokens or default_max_tokens(requests, model))
    fixed_bytes = len((batch.before + batch.after).encode())
    with ExitStack() as stack:
        file: TextIO | None = None
        n_requests = n_bytes = 0
        for request in requests:
            entry = batch.entry(request, model, written.max_tokens)
            size = len(entry.encode()) + len(batch.between)
            if fixed_bytes + size > batch.most_bytes:
                raise InputError(
                    f"item `{request.item_id}`: the request has more than {batch.most_bytes:,} bytes. Fix: shorten the "
                    "item."
                )
            if file is None or n_requests == batch.most_requests or n_bytes + size > batch.most_bytes:
                if file is not None:
                    file.write(batch.after)
                file = stack.enter_context(_new_file(path, written.files))
                file.write(batch.before)
                n_requests, n_bytes = 0, fixed_bytes
            file.write(batch.between * (n_requests > 0) + entry)
            n_requests, n_bytes = n_requests + 1, n_bytes + size
            written.n_characters += len(request.prompt.system or "") + len(request.prompt.user)
            after_each()
        if file is not None:
            file.write(batch.after)
    return written


def _checked_format(requests: Requests, form: str, model: str | None, max_tokens: int | None) -> BatchFormat:
    if form not in FORMATS:
        raise InputError(f"unknown format `{form}`. Fix: use one of {', '.join(FORMATS)}.")
    batch = FORMATS[form]
    if batch.needs_model and not (model and model.strip()):
        raise InputError(f"the format {form} needs the name of a model. Fix: add --model with the provider's name.")
    if max_tokens is not None and max_tokens < 1:
        raise InputError(f"--max-tokens {max_tokens}: a reply needs at least 1 token. Fix: write a larger number.")
    for temperature in requests.temperatures:
        if temperature is not None and temperature > batch.highest_temperature:
            raise InputError(
                f"--temperature {temperature:g}: the highest temperature of {form} is {batch.highest_temperature:g}. "
                "Fix: use a lower temperature."
            )
    return batch


def _with_logprobs(batch: BatchFormat) -> BatchFormat:
    if not isinstance(batch, OpenAIBatch):
        none = " Anthropic's API has no log-probabilities." if isinstance(batch, AnthropicBatch) else ""
        raise InputError(
            f"--logprobs: a file of the format {batch.name} cannot ask for log-probabilities.{none} Fix: use --format "
            "openai-batch, or omit --logprobs."
        )
    return OpenAIBatch(logprobs=True)


def _new_file(path: Path, files: list[Path]) -> Any:
    """Open the next file of requests, and append its name to `files`."""
    number = len(files) + 1
    name = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
    if name.exists():
        raise InputError(f"{name}: this file exists already. Fix: choose another file name, or delete the file.")
    files.append(name)
    return atomic_write(name)
