"""Results of Anthropic's message batches.

Each line has a `custom_id` and a `result`. Only a result of the type `succeeded` has a message. Other types are
`errored`, `canceled` and `expired`. The lines are in any order, and do not contain a time. Format:
https://docs.anthropic.com/en/api/retrieving-message-batch-results.
"""

from pathlib import Path

from experiment.models.imports.lines import Fields, inner, json_objects, text_of, whole_of
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, Records

NAME = "anthropic-batch"


def fits(fields: Fields) -> bool:
    """Return True if a line has the fields of a batch result."""
    return "custom_id" in fields and isinstance(inner(fields, "result", "type"), str)


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
    request, result = text_of(fields["custom_id"]), fields["result"]
    if result["type"] != "succeeded":
        error = inner(result, "error", "error") or inner(result, "error")
        reason = inner(error, "message") or inner(error, "type")
        detail = f"{result['type']}: {reason}" if isinstance(reason, str) else result["type"]
        return Problem(line, ProblemKind.FAILED, detail, request)
    message = inner(result, "message")
    content = inner(message, "content")
    if not text_of(inner(message, "model")) or not isinstance(content, list):
        return Problem(line, ProblemKind.UNREADABLE, "the result has no message with a model and a content", request)
    texts = [inner(part, "text") for part in content if inner(part, "type") == "text"]
    thinking = [inner(part, "thinking") for part in content if inner(part, "type") == "thinking"]
    return ImportedReply(
        line=line,
        request=request,
        model=text_of(message["model"]),
        provider="anthropic",
        reply="".join(text for text in texts if isinstance(text, str)),
        thinking="\n".join(text for text in thinking if isinstance(text, str)),
        finish_reason=text_of(inner(message, "stop_reason")) or None,
        tokens_in=whole_of(inner(message, "usage", "input_tokens")),
        tokens_out=whole_of(inner(message, "usage", "output_tokens")),
    )
