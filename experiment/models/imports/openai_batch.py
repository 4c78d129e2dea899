"""Results of OpenAI's batch API, from chat completions and from the Responses API.

Each line has a `custom_id`, and either a `response` with a status code and a body, or an `error`. The lines are in any
order. Many other providers use the same format. Format: https://platform.openai.com/docs/api-reference/batch.
"""

from pathlib import Path
from typing import Any

from experiment.models.imports.lines import Fields, inner, json_objects, number_of, text_of, time_of, whole_of
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, Records

NAME = "openai-batch"


def fits(fields: Fields) -> bool:
    """Return True if a line has the fields of a batch result."""
    return "custom_id" in fields and ("response" in fields or "error" in fields) and "result" not in fields


def read(path: Path) -> Records:
    """Yield the replies of a file of batch results."""
    for line, fields in json_objects(path):
        if isinstance(fields, Problem):
            yield fields
        elif not fits(fields):
            yield Problem(line, ProblemKind.FOREIGN, "not a batch result")
        else:
            yield _record(line, fields)


def _record(line: int, fields: Fields) -> ImportedReply | Problem:
    request = text_of(fields["custom_id"])
    status, body = inner(fields, "response", "status_code"), inner(fields, "response", "body")
    error = fields.get("error") or inner(body, "error")
    if error or status != 200 or inner(body, "status") in {"failed", "cancelled"}:
        detail = inner(error, "message") or inner(error, "code") or (error if isinstance(error, str) else None)
        reason = text_of(detail) or f"status code {text_of(status) or 'missing'}"
        return Problem(line, ProblemKind.FAILED, reason, request)
    if not isinstance(body, dict) or not text_of(inner(body, "model")):
        return Problem(line, ProblemKind.UNREADABLE, "the response has no body with a model", request)
    if isinstance(body.get("choices"), list):
        return _from_chat(line, request, body)
    if isinstance(body.get("output"), list):
        return _from_responses(line, request, body)
    return Problem(line, ProblemKind.UNREADABLE, "the body has neither `choices` nor `output`", request)


def _from_chat(line: int, request: str, body: Fields) -> ImportedReply | Problem:
    choice = inner(body, "choices", 0)
    message = inner(choice, "message")
    if not isinstance(message, dict):
        return Problem(line, ProblemKind.UNREADABLE, "the body has no message", request)
    if len(body["choices"]) > 1:
        return Problem(line, ProblemKind.UNREADABLE, "the body has several choices; use one request per epoch", request)
    return ImportedReply(
        line=line,
        request=request,
        model=text_of(body["model"]),
        provider="openai",
        reply=_joined(message.get("content")) or text_of(message.get("refusal")),
        thinking=text_of(message.get("reasoning_content") or message.get("reasoning")),
        logprobs=_list(inner(choice, "logprobs", "content")),
        finish_reason=text_of(inner(choice, "finish_reason")) or None,
        tokens_in=whole_of(inner(body, "usage", "prompt_tokens")),
        tokens_out=whole_of(inner(body, "usage", "completion_tokens")),
        time=time_of(body.get("created")),
    )


def _from_responses(line: int, request: str, body: Fields) -> ImportedReply:
    outputs = [output for output in body["output"] if isinstance(output, dict)]
    messages = [_joined(output.get("content")) for output in outputs if output.get("type") == "message"]
    parts = [part for output in outputs if output.get("type") == "message" for part in _list(output.get("content"))]
    thinking = [_joined(output.get("summary")) for output in outputs if output.get("type") == "reasoning"]
    return ImportedReply(
        line=line,
        request=request,
        model=text_of(body["model"]),
        provider="openai",
        reply="\n".join(messages),
        thinking="\n".join(thinking),
        temperature=number_of(body.get("temperature")),
        max_tokens=whole_of(body.get("max_output_tokens")),
        logprobs=[entry for part in parts for entry in _list(inner(part, "logprobs"))],
        finish_reason=text_of(inner(body, "incomplete_details", "reason") or body.get("status")) or None,
        tokens_in=whole_of(inner(body, "usage", "input_tokens")),
        tokens_out=whole_of(inner(body, "usage", "output_tokens")),
        time=time_of(body.get("created_at")),
    )


def _joined(content: Any) -> str:
    """Return the content of a message as text.

    The content is a text, or a list of parts with a text or a refusal each.
    """
    if isinstance(content, str):
        return content
    texts = [inner(part, "text") or inner(part, "refusal") for part in _list(content)]
    return "".join(text for text in texts if isinstance(text, str))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
