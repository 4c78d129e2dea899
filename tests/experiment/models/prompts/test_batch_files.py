"""The files of requests have the form of each provider, and are divided at the limits of the provider."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.files.csv_files import unguarded
from experiment.models.prompts.batch_files import FORMATS, AnthropicBatch, OpenAIBatch, write_prompts
from experiment.models.prompts.requests import Requests, requests_for
from tests.experiment.models.prompts.small_studies import PLUM, item, study_with

TEMPLATE = "Sé breve.\n===\n{{ prompt }}\n"
ODD = '=1+1 \u2028\x85\u2029 "quoted", ملك\nsecond line'


@pytest.fixture
def requests(tmp_path: Path) -> Callable[..., Requests]:
    """Return a function that makes the requests for two items with a short template."""
    (tmp_path / "brief.txt").write_text(TEMPLATE, encoding="utf-8")
    items = [item(PLUM | {"prompt": "First?"}, 1, "a"), item(PLUM | {"prompt": ODD}, 1, "b")]
    study = study_with(items, "multiple_choice", tmp_path)
    return lambda **options: requests_for(study, **{"style": "brief.txt", **options})


def read(path: Path, form: str) -> list[dict[str, Any]]:
    """Return the requests of one file."""
    text = path.read_text(encoding="utf-8")
    if form == "openai-batch":
        return [json.loads(line) for line in text.splitlines()]
    if form == "anthropic-batch":
        whole = json.loads(text)
        assert list(whole) == ["requests"]
        return whole["requests"]  # type: ignore[no-any-return]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_a_line_for_openai_is_a_request_for_a_chat_completion(
    requests: Callable[..., Requests], tmp_path: Path
) -> None:
    path = tmp_path / "batch.jsonl"
    written = write_prompts(requests(temperatures=[0.7], epochs=2), "openai-batch", path, "gpt-4.1")
    lines = read(path, "openai-batch")
    assert written.files == [path]
    assert [line["body"]["messages"][1]["content"] for line in lines] == ["First?"] * 2 + [ODD] * 2
    assert lines[1] == {
        "custom_id": str(list(requests(temperatures=[0.7], epochs=2))[1].request_id),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "gpt-4.1",
            "messages": [{"role": "system", "content": "Sé breve."}, {"role": "user", "content": "First?"}],
            "max_tokens": 512,
            "temperature": 0.7,
        },
    }
    assert len({line["custom_id"] for line in lines}) == 4


def test_a_file_for_anthropic_is_the_body_of_one_request(requests: Callable[..., Requests], tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    write_prompts(requests(), "anthropic-batch", path, "claude-x", max_tokens=9)
    assert read(path, "anthropic-batch")[1] == {
        "custom_id": str(list(requests())[1].request_id),
        "params": {
            "model": "claude-x",
            "max_tokens": 9,
            "system": "Sé breve.",
            "messages": [{"role": "user", "content": ODD}],
        },
    }


def test_a_csv_has_one_row_per_request_and_is_guarded(requests: Callable[..., Requests], tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    write_prompts(requests(temperatures=[1]), "csv", path)
    rows = read(path, "csv")
    ids = [str(request.request_id) for request in requests(temperatures=[1])]
    assert [list(row.values())[:5] for row in rows] == [
        [ids[0], "a", "1.0", "1", "Sé breve."],
        [ids[1], "b", "1.0", "1", "Sé breve."],
    ]
    assert rows[1]["user"] == f"'{ODD}"
    assert unguarded(rows[1]["user"]) == ODD


def test_a_prompt_without_system_prompt_sends_none(requests: Callable[..., Requests], tmp_path: Path) -> None:
    for form, count in (("openai-batch", 1), ("anthropic-batch", 1), ("csv", 1)):
        write_prompts(requests(style="three-lines"), form, tmp_path / form, "some-model")
        first = read(tmp_path / form, form)[0]
        assert len(first.get("body", first.get("params", {"messages": [0]}))["messages"]) == count
        assert "system" not in first.get("params", {})
        assert first.get("system", "") == ""


@pytest.mark.parametrize(
    ("model", "field"),
    [("gpt-4o", "max_tokens"), ("gpt-4.1-mini", "max_tokens"), ("ft:gpt-4o:lab:o3", "max_tokens"),
     ("openai/gpt-5", "max_completion_tokens"),
     ("meta-llama/Llama-3.3-70B", "max_tokens"), ("olmo-2", "max_tokens"), ("o3", "max_completion_tokens"),
     ("o4-mini-2025-04-16", "max_completion_tokens"), ("gpt-5-mini", "max_completion_tokens"),
     ("gpt-5.1", "max_completion_tokens"), ("ft:o4-mini:lab", "max_completion_tokens")],
)  # fmt: skip
def test_models_of_openai_with_reasoning_get_the_newer_limit(
    requests: Callable[..., Requests], tmp_path: Path, model: str, field: str
) -> None:
    write_prompts(requests(), "openai-batch", tmp_path / "batch.jsonl", model)
    body = read(tmp_path / "batch.jsonl", "openai-batch")[0]["body"]
    assert {name: value for name, value in body.items() if "tokens" in name} == {
        field: 512 if field == "max_tokens" else 2048
    }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 6), (2, [2, 2, 2]), (4, [4, 2]), (6, [6]), (7, [6])])
def test_a_file_has_at_most_the_number_of_requests_of_the_provider(
    requests: Callable[..., Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, most: int,
    sizes: list[int],
) -> None:  # fmt: skip
    monkeypatch.setattr(type(FORMATS[form]), "most_requests", most)
    written = write_prompts(requests(epochs=3), form, tmp_path / "batch.part.json", "model")
    names = ["batch.part.json", *(f"batch.part-{number}.json" for number in range(2, len(sizes) + 1))]
    assert [path.name for path in written.files] == names
    parts = [read(path, form) for path in written.files]
    assert [len(part) for part in parts] == sizes
    ids = [entry.get("custom_id", entry.get("request_id")) for part in parts for entry in part]
    assert ids == [str(request.request_id) for request in requests(epochs=3)]
    assert {path.name for path in tmp_path.iterdir()} == {"brief.txt", *names}


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_at_most_the_bytes_of_the_provider(
    requests: Callable[..., Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    whole = write_prompts(requests(epochs=20), form, tmp_path / "whole", "model")
    n_bytes = whole.files[0].stat().st_size
    monkeypatch.setattr(type(FORMATS[form]), "most_bytes", n_bytes)
    same = write_prompts(requests(epochs=20), form, tmp_path / "same", "model")
    assert form == "anthropic-batch" or [path.read_bytes() for path in same.files] == [whole.files[0].read_bytes()]
    for most in (n_bytes // 2, n_bytes // 3, n_bytes // 5):
        monkeypatch.setattr(type(FORMATS[form]), "most_bytes", most)
        files = write_prompts(requests(epochs=20), form, tmp_path / str(most), "model").files
        assert len(files) > 1
        assert all(path.stat().st_size <= most for path in files)
        assert sum(len(read(path, form)) for path in files) == 40


def test_a_request_that_is_larger_than_a_file_is_refused(
    requests: Callable[..., Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatch, "most_bytes", 100)
    with pytest.raises(InputError, match=r"item `a`: the request has more than 100 bytes.*Fix: "):
        write_prompts(requests(), "openai-batch", tmp_path / "batch.jsonl", "gpt-4o")
    assert [path.name for path in tmp_path.iterdir()] == ["brief.txt"]


def test_an_existing_file_is_not_overwritten_and_no_file_is_made(
    requests: Callable[..., Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatch, "most_requests", 1)
    (tmp_path / "batch-2.jsonl").write_text("kept")
    with pytest.raises(InputError, match=r"batch-2\.jsonl: this file exists already.*Fix: "):
        write_prompts(requests(), "openai-batch", tmp_path / "batch.jsonl", "gpt-4o")
    assert {path.name for path in tmp_path.iterdir()} == {"brief.txt", "batch-2.jsonl"}
    assert (tmp_path / "batch-2.jsonl").read_text() == "kept"


def test_an_error_in_a_later_item_leaves_no_file(requests: Callable[..., Requests], tmp_path: Path) -> None:
    (tmp_path / "brief.txt").write_text("{% if prompt == 'First?' %}{{ prompt }}{% else %}{{ key }}{% endif %}")
    with pytest.raises(InputError, match="item `b`"):
        write_prompts(requests(), "openai-batch", tmp_path / "batch.jsonl", "gpt-4o")
    assert [path.name for path in tmp_path.iterdir()] == ["brief.txt"]


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        ("xml", {}, "unknown format `xml`"),
        ("openai-batch", {}, "needs the name of a model.*add --model"),
        ("anthropic-batch", {"model": " "}, "needs the name of a model"),
        ("anthropic-batch", {"model": "claude-x", "max_tokens": 0}, "--max-tokens 0"),
    ],
)
def test_an_impossible_option_is_refused(
    requests: Callable[..., Requests], tmp_path: Path, form: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"{message}.*Fix: |{message}"):
        write_prompts(requests(), form, tmp_path / "batch", **options)
    assert not (tmp_path / "batch").exists()


def test_only_requests_to_openai_ask_for_log_probabilities(requests: Callable[..., Requests], tmp_path: Path) -> None:
    written = write_prompts(requests(), "openai-batch", tmp_path / "batch.jsonl", "gpt-5.1", logprobs=True)
    assert all(
        (line["body"]["logprobs"], line["body"]["top_logprobs"]) == (True, 20)
        for line in read(tmp_path / "batch.jsonl", "openai-batch")
    )
    assert "Note: gpt-5.1 may refuse log-probabilities. Test one request before" in "\n".join(written.sentences())
    for form, reason in (("anthropic-batch", "Anthropic's API has no log-probabilities"), ("csv", "cannot ask")):
        with pytest.raises(InputError, match=f"--logprobs.*{reason}.*Fix: "):
            write_prompts(requests(), form, tmp_path / form, "model", logprobs=True)
        assert not (tmp_path / form).exists()


@pytest.mark.parametrize(("form", "highest"), [("openai-batch", 2), ("anthropic-batch", 1), ("csv", 2)])
def test_a_temperature_above_the_highest_temperature_is_refused(
    requests: Callable[..., Requests], tmp_path: Path, form: str, highest: float
) -> None:
    write_prompts(requests(temperatures=[0, highest]), form, tmp_path / "good", "model")
    with pytest.raises(InputError, match=f"--temperature {highest + 0.01}: the highest temperature of {form} is "):
        write_prompts(requests(temperatures=[0, highest + 0.01]), form, tmp_path / "bad", "model")


def test_the_limits_are_those_of_the_providers() -> None:
    assert (OpenAIBatch.most_requests, OpenAIBatch.most_bytes) == (50_000, 200_000_000)
    assert (AnthropicBatch.most_requests, AnthropicBatch.most_bytes) == (100_000, 256_000_000)


def test_the_summary_has_files_templates_temperatures_and_the_next_step(
    requests: Callable[..., Requests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatch, "most_requests", 3)
    made = requests(temperatures=[0.1, 1.0], epochs=2)
    written = write_prompts(made, "openai-batch", tmp_path / "batch.jsonl", "o3")
    (prompts,) = made.by_task.values()
    n_characters = sum(len(request.prompt.system or "") + len(request.prompt.user) for request in made)
    assert written.sentences() == [
        f"Wrote 8 requests for 2 items to 3 files, {tmp_path / 'batch.jsonl'} to {tmp_path / 'batch-3.jsonl'}.",
        f"Template for multiple_choice: brief, digest {prompts.digest}",
        "Temperatures: 0.1, 1. Epochs: 2. Limit of a reply: 2,048 tokens.",
        f"The prompts have {n_characters:,} characters. English text has about four characters per token.",
        "Note: o3 may refuse a temperature other than 1. Test one request before you upload the batch.",
        "Next: upload each file to OpenAI, start a batch for /v1/chat/completions, and download the results. Then run: "
        f"equipoise models import {tmp_path} RESULTS",
    ]
