"""Fabricated results of the providers' batch APIs, with planted scores, failures, duplicates and damage."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from batteries.items import Item
from experiment.models.request_ids import RequestId
from experiment.study.definition import Study

TEMPLATE = "9f8e7d6c" + "0" * 56
Line = Callable[..., dict[str, Any]]


def openai_line(request: str, reply: str, *, finish: str = "stop", created: int = 1_760_000_000) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply, "refusal": None}
    body = {
        "id": f"chatcmpl-{request}",
        "object": "chat.completion",
        "created": created,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    response = {"status_code": 200, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": request, "response": response, "error": None}


def responses_line(request: str, reply: str, *, finish: str = "stop", created: int = 1_760_000_000) -> dict[str, Any]:
    is_cut = finish == "length"
    body = {
        "id": f"resp_{request}",
        "object": "response",
        "created_at": created,
        "status": "incomplete" if is_cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "model": "gpt-4o-2024-08-06",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Let me see."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply}]},
        ],
        "temperature": 0.7,
        "max_output_tokens": 512,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    return {"custom_id": request, "response": {"status_code": 200, "body": body}, "error": None}


def openai_failure(request: str, number: int = 0) -> dict[str, Any]:
    if number % 2:
        return {"custom_id": request, "response": None, "error": {"code": "batch_expired", "message": "too late"}}
    body = {"error": {"message": "Rate limit reached", "type": "requests"}}
    return {"custom_id": request, "response": {"status_code": 429, "body": body}, "error": None}


def anthropic_line(request: str, reply: str, *, finish: str = "stop", **_: Any) -> dict[str, Any]:
    message = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "thinking", "thinking": "Let me see."}, {"type": "text", "text": reply}],
        "stop_reason": {"stop": "end_turn", "length": "max_tokens"}[finish],
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    return {"custom_id": request, "result": {"type": "succeeded", "message": message}}


def anthropic_failure(request: str, number: int = 0) -> dict[str, Any]:
    kind = ("errored", "canceled", "expired")[number % 3]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    return {"custom_id": request, "result": {"type": kind} | ({"error": error} if kind == "errored" else {})}


def ids_of(study: Study, temperature: float | None = 0.7, epoch: int = 1) -> dict[str, str]:
    """Return the request's id of each test item."""
    return {item.item_id: str(RequestId.of(study, item, TEMPLATE, temperature, epoch)) for item in study.test_items}


def right(item: Item) -> str:
    assert isinstance(item.content["options"], list)
    assert isinstance(item.key, int)
    return f"{item.key}\n{item.content['options'][item.key - 1]}\nThe story says so."


def wrong(item: Item) -> str:
    assert isinstance(item.content["options"], list)
    assert isinstance(item.key, int)
    other = item.key % len(item.content["options"]) + 1
    return f"{other}\n{item.content['options'][other - 1]}\nThe story says so."


@dataclass
class Planted:
    """Lines of a batch, and what an import must count."""

    lines: list[str]
    n: int
    n_correct: int
    n_invalid: int
    n_truncated: int
    missing: list[str]
    n_failed: int
    n_repeated: int
    n_different: int
    n_foreign: int
    n_unreadable: int
    expected: dict[str, str] = field(default_factory=dict)
    """The raw reply of each item."""


def planted(study: Study, line: Line, failure: Line, seed: int, ids: dict[str, str] | None = None) -> Planted:
    """Return a batch in random order, with every kind of bad line."""
    rng = random.Random(seed)
    ids = ids or ids_of(study)
    items = rng.sample(study.test_items, len(study.test_items))
    n_failed, n_absent = rng.randint(1, 5), rng.randint(1, 5)
    failed, absent, asked = items[:n_failed], items[n_failed : n_failed + n_absent], items[n_failed + n_absent :]
    # A retry answers two requests that failed first.
    retried = asked[:2]
    lines = [json.dumps(failure(ids[item.item_id], number)) for number, item in enumerate([*failed, *retried])]
    result = Planted([], len(asked), 0, 0, 0, [], n_failed, 0, 0, 2, 3)
    for number, item in enumerate(asked):
        kind = rng.choice(["right", "right", "wrong", "invalid", "truncated"])
        reply = {"right": right, "truncated": right, "wrong": wrong}.get(kind, lambda _: "I do not know, sorry.")(item)
        finish = "length" if kind == "truncated" else "stop"
        result.n_correct += kind in {"right", "truncated"}
        result.n_invalid += kind == "invalid"
        result.n_truncated += kind == "truncated"
        result.expected[item.item_id] = reply
        first = line(ids[item.item_id], reply, finish=finish)
        lines.append(json.dumps(first))
        if number % 20 == 3:
            lines.append(json.dumps(first))
            result.n_repeated += 1
    lines += [json.dumps(line("another-study-17", "1")), json.dumps(line("request-4", "2"))]
    lines += ['{"custom_id": "cut', "[1, 2]", '"text"']
    rng.shuffle(lines)
    # These replies are later than the first replies of their requests.
    for item in asked[5:7]:
        lines.append(json.dumps(line(ids[item.item_id], wrong(item) + " (again)", created=1_770_000_000)))
        result.n_different += 1
    result.lines = lines
    result.missing = sorted(item.item_id for item in (*failed, *absent))
    return result


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
