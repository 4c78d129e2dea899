"""A check that a request really contained the temperature that was asked for.

Some models refuse a temperature: all models of Anthropic's newer interface, and many models with reasoning. For these
models, inspect-ai removes the temperature from the request, with a warning that the user does not see. Without this
check, a run would be stored with a temperature that no request had.
"""

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import Model, ModelOutput

_CHECKED = frozenset({"openai", "openai-api", "anthropic"})
"""Providers for which inspect-ai records the body of the HTTP request. Only these requests can be checked."""
_KEY = "equipoise_request_without_temperature"


def note_sent_temperature(model: Model, provider: str) -> None:
    """Add a mark to each output of the model whose request had no temperature."""
    if provider not in _CHECKED:
        return
    send = model.api.generate

    async def generate(*arguments: Any, **options: Any) -> Any:
        result = await send(*arguments, **options)
        if isinstance(result, tuple):
            output, call = result
            if isinstance(output, ModelOutput) and not _has_temperature(call.request):
                output.metadata = {**(output.metadata or {}), _KEY: True}
        return result

    setattr(model.api, "generate", generate)  # noqa: B010 - mypy refuses the plain assignment to a method


def is_without_temperature(output: ModelOutput) -> bool:
    """Return True if it is certain that the request had no temperature."""
    return bool((output.metadata or {}).get(_KEY))


def _has_temperature(request: Mapping[str, Any]) -> bool:
    body = request.get("extra_body")
    return "temperature" in request or (isinstance(body, Mapping) and "temperature" in body)
