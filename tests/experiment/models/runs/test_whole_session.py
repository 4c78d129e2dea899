"""A model goes through a whole session: one conversation, with a fake provider on loopback."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.subjects import DescribedRun, subjects_of_runs
from experiment.models.event_loops import calls_outside_loops
from experiment.models.prompts.practice import instruction_pages, practice_trials
from experiment.models.prompts.requests import requests_for
from experiment.models.runs.budget import Prices
from experiment.models.runs.run_model import ModelRun, run_model
from experiment.models.runs.settings import RunSettings
from experiment.plan import Phase, plan_session
from experiment.study.definition import Study
from tests.experiment.models.prompts.small_studies import PLUM, item, study_with
from tests.experiment.models.runs.fake_provider import MODEL, MODELS, FakeProvider, Sent, fake_provider

# Inspect does not close the connections of a model, and its libraries use deprecated functions.
pytestmark = [
    pytest.mark.usefixtures("inspect_in_a_folder"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
SESSION = {"group": 1, "seed": 5}
N_TRIALS = 11  # 10 test items and an attention check


@pytest.fixture
def study(tmp_path: Path) -> Study:
    items = [item({**PLUM, "text": f"Story {n}."}, key=2, item_id=f"item-{n}") for n in range(N_TRIALS - 1)]
    return study_with(items, "multiple_choice", tmp_path)


Ask = Callable[..., ModelRun]


@pytest.fixture
def ask(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    def run_it(provider: FakeProvider, *, whole_session: bool = True, epochs: int = 1, **options: Any) -> ModelRun:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        requests = requests_for(
            study, style="human-equivalent", epochs=epochs, whole_session=whole_session, **SESSION
        )  # fmt: skip
        options = {"model": MODEL, "max_retries": 0} | options
        return run_model(RunSettings(requests=requests, folder=tmp_path / "data", **SESSION, **options))

    return run_it


def messages_of(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Return role and text of each message of a request."""
    messages = [(message["role"], message["content"]) for message in request["messages"]]
    return [(role, content if isinstance(content, str) else content[0]["text"]) for role, content in messages]


def texts_of(request: dict[str, Any], role: str) -> list[str]:
    """Return the texts of the messages of a request, for one role."""
    return [text for each, text in messages_of(request) if each == role]


def longest(provider: FakeProvider) -> list[dict[str, Any]]:
    """Return the last request of each session."""
    return [request for request in provider.requests if len(request["messages"]) == 2 * N_TRIALS - 1]


@pytest.mark.parametrize("model", MODELS)
def test_each_request_has_the_earlier_trials_and_replies_in_the_order_of_the_plan(
    study: Study, ask: Ask, tmp_path: Path, model: str
) -> None:
    both_epochs = threading.Barrier(2)

    def send(prompt: str, attempt: int) -> Sent:
        both_epochs.wait(timeout=30)
        return Sent(f"2. Reply {attempt} to {prompt.partition('?')[0][-40:]}")

    with fake_provider(send) as provider:
        result = ask(provider, epochs=2, model=model)
    assert not result.incomplete
    assert provider.n_billed == 2 * N_TRIALS
    trials = [trial for trial in plan_session(study, **SESSION).trials if trial.phase is not Phase.PRACTICE]
    assert [trial.phase for trial in trials].count(Phase.ATTENTION_CHECK) == 1
    for last in longest(provider):
        shown = texts_of(last, "user")
        for trial, text in zip(trials, shown, strict=True):
            assert study.battery.by_id[trial.item_id].content["text"] in text
            assert text.endswith("Your answer:")
        (practice,) = practice_trials(study)
        for part in (*instruction_pages(study), practice["feedback"]):
            assert [part in text for text in shown] == [True, *[False] * (N_TRIALS - 1)]
    # A run has the replies to the test items, without the attention check. No request contains the last reply.
    tests = [index for index, trial in enumerate(trials) if trial.phase is Phase.TEST]
    replies = [texts_of(last, "assistant") for last in longest(provider)]
    in_requests = sorted([each[index] for index in tests[:-1]] for each in replies)
    assert in_requests == sorted([response.text for response in made.responses[:-1]] for made in result.runs)
    for made in result.runs:
        assert made.item_ids == tuple(trials[index].item_id for index in tests)
    whole = [messages_of(request) for request in longest(provider)]
    for request in provider.requests:
        messages = messages_of(request)
        assert any(messages == each[: len(messages)] for each in whole)
    _check_logs(tmp_path / "data" / "logs")


def _check_logs(folder: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    with calls_outside_loops() as call:
        logs = [call(read_eval_log, info) for info in call(list_eval_logs, str(folder))]
    assert len(logs) == 2
    for log in logs:
        assert log.status == "success"
        assert len(log.samples) == N_TRIALS - 1
        assert len(log.samples[-1].messages) == 2 * N_TRIALS
        assert log.results.scores[0].metrics["accuracy"].value == 1


def test_an_interrupted_session_continues_with_the_same_conversation_and_bills_nothing_twice(ask: Ask) -> None:
    """A reply contains its number, so a reply that is asked again would change the conversation."""
    numbers = iter(range(1000))
    fails = threading.Event()

    def send(prompt: str, attempt: int) -> Sent:
        failed = fails.is_set() and attempt == 2 and "Story 3" in prompt
        return Sent(status=400) if failed else Sent(f"2 ({next(numbers)})")

    with fake_provider(send) as provider:
        fails.set()
        first = ask(provider, epochs=2)
        assert len(first.runs) == 1
        assert first.incomplete[0].startswith("1 request failed; the first is item `item-3`: ")
        n_first = provider.n_billed
        assert N_TRIALS < n_first < 2 * N_TRIALS
        fails.clear()
        second = ask(provider, epochs=2)
        assert second.usage.startswith(f"{2 * N_TRIALS - n_first} new replies.")
        assert provider.n_billed == 2 * N_TRIALS
        assert len(second.runs) == 2
        ask(provider, epochs=2)
        assert provider.n_billed == 2 * N_TRIALS
    in_requests = {tuple(texts_of(request, "assistant")) for request in longest(provider)}
    for made in second.runs:
        texts = [response.text for response in made.responses]
        assert any(set(texts[:-1]) < set(replies) for replies in in_requests)
    assert len(in_requests) == 2


def test_a_whole_session_and_the_same_items_asked_afresh_are_different_subjects(ask: Ask) -> None:
    with fake_provider() as provider:
        (afresh,) = ask(provider, whole_session=False).runs
        (whole,) = ask(provider).runs
        assert provider.n_billed == N_TRIALS - 1 + N_TRIALS
    assert afresh.item_ids == whole.item_ids
    assert afresh.run == f"{MODEL}, human-equivalent, group 1, seed 5, epoch 1"
    assert whole.run == f"{MODEL}, human-equivalent, whole session, group 1, seed 5, epoch 1"
    assert "session_order" in whole.parameters
    assert "session_order" not in afresh.parameters
    assert not {one.response_id for one in afresh.responses} & {one.response_id for one in whole.responses}
    described = [
        DescribedRun(made.run, "api", MODEL, made.model_version, None, made.prompt_digest, made.parameters)
        for made in (afresh, whole)
    ]
    assert len(set(subjects_of_runs(described))) == 2
    assert len({replace(run, run="one label").condition for run in described}) == 2


def test_the_price_limit_includes_the_earlier_messages(ask: Ask) -> None:
    limit = 2.4
    with fake_provider() as provider:
        result = ask(provider, prices=Prices(1000.0, 1000.0), max_cost=limit, max_tokens=10)
        n_sent = len(provider.requests)
        sizes = [len("".join(texts_of(request, "user")).encode()) for request in provider.requests]
    assert 1 < n_sent < N_TRIALS
    assert f"so {N_TRIALS - n_sent} requests were not sent" in result.incomplete[-1]
    assert all(0.11 * index + size / 1000 <= limit for index, size in enumerate(sizes))
    assert sizes == sorted(set(sizes))
    assert "other replies would cost at least" in result.price_to_come
