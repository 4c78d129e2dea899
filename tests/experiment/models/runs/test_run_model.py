"""Runs of language models, with a fake provider on loopback."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiment.models.event_loops import calls_outside_loops
from experiment.models.imports.collect import collected
from experiment.models.prompts.requests import requests_for
from experiment.models.runs.budget import Prices
from experiment.models.runs.run_model import ModelRun, run_model
from experiment.models.runs.settings import RunSettings
from tests.experiment.models.prompts.small_studies import PLUM, item, study_with
from tests.experiment.models.runs.fake_provider import (
    ANTHROPIC_MODEL,
    MALFORMED,
    MODEL,
    MODELS,
    FakeProvider,
    Sent,
    fake_provider,
)

# Inspect does not close the connections of a model, and its libraries use deprecated functions.
pytestmark = [
    pytest.mark.usefixtures("inspect_in_a_folder"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
N_ITEMS = 6


def numbered_items(n: int = N_ITEMS) -> list[Any]:
    """Return items whose right response is 2. The text of each item ends with its number."""
    return [item({**PLUM, "text": f"Story {number:02d}."}, key=2, item_id=f"item-{number:02d}") for number in range(n)]


def number_of(prompt: str) -> int:
    """Return the number of the item of a prompt."""
    return int(prompt.partition("Story ")[2][:2])


Run = Callable[..., ModelRun]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    study = study_with(numbered_items(), "multiple_choice", tmp_path)

    def run_it(
        provider: FakeProvider, temperatures: tuple[float, ...] = (0.7,), epochs: int = 1, **changes: Any
    ) -> ModelRun:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        requests = requests_for(study, temperatures=temperatures, epochs=epochs)
        settings = replace(RunSettings(MODEL, requests, tmp_path / "data", max_retries=0), **changes)
        return run_model(settings)

    return run_it


def test_each_reply_is_read_and_scored_and_invalid_replies_are_kept(run: Run) -> None:
    texts = ["2", "1\nIt stays.\nbecause", "Answer: 2", "I cannot say.", "", "2. It rolls to the window."]
    with fake_provider(lambda prompt, _: Sent(texts[number_of(prompt)])) as provider:
        result = run(provider)
    (made,) = result.runs
    assert not result.incomplete
    assert [response.text for response in made.responses] == texts
    assert [response.valid for response in made.responses] == [True, True, True, False, False, True]
    assert [response.response for response in made.responses] == [2, 1, 2, "I cannot say.", "", 2]
    assert made.item_ids == tuple(f"item-{number:02d}" for number in range(N_ITEMS))
    assert made.model == MODEL
    assert made.model_version == "model-1-2026-01-01"
    assert made.temperature == 0.7
    assert made.parameters["max_tokens"] == 512
    assert made.parameters["totals"] == {"tokens_in": 600, "tokens_out": 60}
    assert all(response.rt_ms is not None for response in made.responses)
    assert {request["temperature"] for request in provider.requests} == {0.7}
    assert {request["max_tokens"] for request in provider.requests} == {512}


def test_each_temperature_and_epoch_is_a_run(run: Run) -> None:
    with fake_provider() as provider:
        result = run(provider, temperatures=(0.1, 0.9), epochs=2)
        assert result.incomplete == []
        assert [(made.temperature, made.parameters["epoch"]) for made in result.runs] == [
            (0.1, 1), (0.1, 2), (0.9, 1), (0.9, 2),
        ]  # fmt: skip
        assert provider.n_billed == 4 * N_ITEMS
        ids = [response.response_id for made in result.runs for response in made.responses]
        assert len(set(ids)) == len(ids)
        again = run(provider, temperatures=(0.1, 0.9), epochs=3)
        assert provider.n_billed == 6 * N_ITEMS
    assert [made for made in again.runs if made.parameters["epoch"] != 3] == result.runs


@pytest.mark.parametrize("model", MODELS)
def test_failed_requests_are_reported_and_asked_again(run: Run, model: str) -> None:
    statuses = (500, 429, 529, 400)
    failures = {number: Sent(status=status) for number, status in enumerate(statuses)} | {4: MALFORMED}

    with fake_provider(lambda prompt, _: failures.get(number_of(prompt), Sent("2"))) as provider:
        first = run(provider, (), model=model)
        assert first.runs == []
        assert first.incomplete[0].startswith("5 requests failed; the first is item `item-0")
        assert "Fix: run the same command again" in first.incomplete[0]
        assert provider.attempts.total() == N_ITEMS  # The provider's own package sends no request again.
        failures.clear()
        second = run(provider, (), model=model)
        assert len(second.runs) == 1
        assert not second.incomplete
        assert set(provider.billed.values()) == {1}
    assert second.usage.startswith("5 new replies.")


@pytest.mark.parametrize("model", MODELS)
def test_inspect_sends_a_request_again_after_a_passing_failure(run: Run, model: str) -> None:
    statuses = {0: 429, 1: 529, 2: 500}

    def send(prompt: str, attempt: int) -> Sent:
        return Sent(status=statuses.get(number_of(prompt), 200) if attempt == 1 else 200, text="2")

    with fake_provider(send) as provider:
        result = run(provider, (), model=model, max_retries=2)
    assert len(result.runs) == 1
    assert not result.incomplete
    assert provider.attempts.total() == N_ITEMS + 3
    assert set(provider.billed.values()) == {1}


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (MODEL, {"code": "context_length_exceeded", "message": "The maximum context length is 8 tokens."}),
        (ANTHROPIC_MODEL, {"type": "invalid_request_error", "message": "Prompt is too long: 9 tokens > 8."}),
    ],
    ids=["openai", "anthropic"],
)
def test_a_prompt_that_is_too_long_is_a_failure_with_the_words_of_the_provider(
    run: Run, model: str, error: dict[str, str]
) -> None:
    too_long = Sent(status=400, body=json.dumps({"type": "error", "error": error}).encode())
    with fake_provider(lambda prompt, _: too_long if number_of(prompt) == 3 else Sent("2")) as provider:
        result = run(provider, (), model=model)
        assert result.runs == []
        assert f"1 request failed; the first is item `item-03`: {error['message']} Fix: " in result.incomplete[0]
        provider.send = lambda *_: Sent("2")
        assert len(run(provider, (), model=model).runs) == 1


def test_a_provider_that_is_not_reachable_is_a_failure_in_plain_words(run: Run) -> None:
    with fake_provider() as provider:
        pass
    incomplete = run(provider).incomplete
    assert incomplete[0].startswith("6 requests failed; the first is item `item-00`: Connection error. Fix: ")


@pytest.mark.parametrize("model", MODELS)
def test_a_slow_reply_is_awaited_and_asked_once(run: Run, model: str) -> None:
    with fake_provider(lambda prompt, _: Sent(wait_s=2 if number_of(prompt) == 0 else 0)) as provider:
        result = run(provider, (), model=model)
    assert provider.attempts.total() == N_ITEMS
    latencies_ms = [response.rt_ms or 0 for response in result.runs[0].responses]
    assert latencies_ms[0] >= 2000 > max(latencies_ms[1:])


def test_the_replies_of_anthropic_have_their_version_tokens_and_stop_reason(run: Run) -> None:
    with fake_provider(lambda prompt, _: Sent("2", is_truncated=number_of(prompt) == 0)) as provider:
        (made,) = run(provider, (), model=ANTHROPIC_MODEL).runs
    assert made.model == ANTHROPIC_MODEL
    assert made.model_version == "claude-fake-1-20260101"
    assert made.parameters["totals"] == {"tokens_in": 600, "tokens_out": 60}
    assert [response.stop_reason for response in made.responses] == ["max_tokens", *["stop"] * (N_ITEMS - 1)]
    assert {request["max_tokens"] for request in provider.requests} == {512}


def test_no_run_has_a_temperature_that_was_not_sent(run: Run) -> None:
    """Inspect sends no temperature to the models of Anthropic, because their interface refuses a temperature."""
    with fake_provider() as provider:
        refused = run(provider, (0.1, 0.7), model=ANTHROPIC_MODEL, max_connections=2)
        assert refused.runs == []
        assert "Fix: run the same command without --temperature." in refused.incomplete[0]
        assert not any("temperature" in request for request in provider.requests)
        assert provider.n_billed <= 3
        (made,) = run(provider, (), model=ANTHROPIC_MODEL).runs
        assert made.temperature is None
        assert provider.n_billed == N_ITEMS


def test_the_price_limit_is_kept_and_the_next_run_continues(run: Run) -> None:
    prices = Prices(1000.0, 1000.0)  # a reply costs 0.11 USD, and at most about 1 USD before it arrives
    with fake_provider() as provider:
        first = run(provider, prices=prices, max_cost=1.0, max_tokens=10, max_connections=1)
        assert 0 < provider.n_billed < N_ITEMS
        assert provider.n_billed * 0.11 <= 1.0
        assert "with a higher --max-cost" in first.incomplete[-1]
        second = run(provider, prices=prices, max_cost=100, max_tokens=10)
        assert set(provider.billed.values()) == {1}
    assert len(second.runs) == 1
    assert "0.6600 USD" in second.usage


def test_after_many_failures_no_more_requests_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    study = study_with(numbered_items(60), "multiple_choice", tmp_path)
    with fake_provider(lambda *_: Sent(status=401)) as provider:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        settings = RunSettings(MODEL, requests_for(study), tmp_path / "data", max_retries=0, max_connections=2)
        result = run_model(settings)
        assert provider.attempts.total() <= 22
    assert "After 20 failures in a row, no more requests were sent." in result.incomplete


def test_each_run_has_a_log_of_inspect_without_answer_keys(run: Run, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    folder = tmp_path / "data" / "logs"
    replies = [Sent("Perhaps."), *[Sent("2")] * 4, Sent(status=400)]
    with fake_provider(lambda prompt, _: replies[number_of(prompt)]) as provider:
        run(provider, epochs=2)
        replies[-1] = Sent("2", is_truncated=True)
        with calls_outside_loops() as call:
            before = [call(read_eval_log, info) for info in call(list_eval_logs, str(folder))]
        made = run(provider, epochs=2).runs
    with collected(study_with(numbered_items(), "multiple_choice", tmp_path), list(folder.iterdir())) as found:
        found.runs.read_replies(lambda: None)
        assert sorted(found.runs, key=lambda each: each.run) == made
    with calls_outside_loops() as call:
        logs = [call(read_eval_log, info) for info in call(list_eval_logs, str(folder))]
    failed = [sample for log in before for sample in log.samples if sample.error is not None]
    assert [(sample.id, "400" in sample.error.message) for sample in failed] == [("item-05", True)] * 2
    assert sorted(log.samples[0].epoch for log in logs) == [1, 2]
    for log in logs:
        assert log.status == "success"
        assert log.eval.model == MODEL
        assert log.eval.model_generate_config.temperature == 0.7
        assert [sample.id for sample in log.samples] == [f"item-{number:02d}" for number in range(N_ITEMS)]
        assert [sample.scores["equipoise_grader"].value for sample in log.samples] == ["N", *"CCCCC"]
        assert [sample.output.stop_reason for sample in log.samples] == [*["stop"] * 5, "max_tokens"]
        assert log.results.scores[0].metrics["accuracy"].value == 5 / 6
        for sample in log.samples:
            assert sample.target == ""
            assert [message.role for message in sample.messages] == ["user", "assistant"]
            assert sample.output.usage.total_tokens == 110
            assert sample.working_time > 0
        assert "key" not in json.dumps([sample.metadata for sample in log.samples])
