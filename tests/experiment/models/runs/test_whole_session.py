"""A model goes through a whole session: one conversation, with a fake provider on loopback."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.subjects import DescribedRun, subjects_of_runs
from batteries.errors import InputError
from equipoise.commands.models.imports import models_import
from equipoise.commands.models.storing import add_runs
from experiment.models.event_loops import calls_outside_loops
from experiment.models.imports.collect import collected
from experiment.models.prompts.practice import instruction_pages
from experiment.models.prompts.requests import requests_for
from experiment.models.runs.budget import Prices
from experiment.models.runs.run_model import ModelRun, run_model
from experiment.models.runs.settings import RunSettings
from experiment.plan import Phase, plan_session
from experiment.study.definition import Study
from tests.experiment.models.prompts.small_studies import PLUM, item, study_with
from tests.experiment.models.runs.fake_provider import (
    ANTHROPIC_MODEL,
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
SESSION = {"group": 1, "seed": 5}
N_TRIALS = 12  # a practice item, 10 test items and an attention check
RIGHT = "That is right: “It rolled towards the window”."
WRONG = "The right answer is “It rolled towards the window”."
PRACTICE_ENDS = "The practice ends here. From now on you will not see whether your answers were right."


@pytest.fixture
def study(tmp_path: Path) -> Study:
    items = [item({**PLUM, "text": f"Story {n}."}, key=2, item_id=f"item-{n}") for n in range(10)]
    return study_with(items, "multiple_choice", tmp_path)


Ask = Callable[..., ModelRun]


@pytest.fixture
def ask(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    def run_it(
        provider: FakeProvider,
        *,
        whole_session: bool = True,
        epochs: int = 1,
        n_items: int | None = None,
        **options: Any,
    ) -> ModelRun:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        requests = requests_for(
            study, style="human-equivalent", epochs=epochs, whole_session=whole_session, **SESSION
        )  # fmt: skip
        options = {"model": MODEL, "max_retries": 0, "n_all_items": len(requests.items)} | options
        requests = replace(requests, items=requests.items[:n_items])
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
        # At the practice item, the first reply is right, and the second reply is wrong.
        response = 1 if "Practice" in prompt and attempt == 1 else 2
        return Sent(f"{response}. Reply {attempt} to {prompt.partition('?')[0][-40:]}")

    with fake_provider(send) as provider:
        result = ask(provider, epochs=2, model=model)
    assert not result.incomplete
    assert provider.n_billed == 2 * N_TRIALS
    trials = plan_session(study, **SESSION).trials
    assert trials[0].phase is Phase.PRACTICE
    assert [trial.phase for trial in trials].count(Phase.ATTENTION_CHECK) == 1
    for last in longest(provider):
        shown = texts_of(last, "user")
        for trial, text in zip(trials, shown, strict=True):
            assert study.battery.by_id[trial.item_id].content["text"] in text
            assert text.endswith("Your answer:")
        for part in (*instruction_pages(study), "\n\nPractice\n\n"):
            assert [part in text for text in shown] == [True, *[False] * (N_TRIALS - 1)]
    feedback = {texts_of(last, "assistant")[0][0]: texts_of(last, "user")[1] for last in longest(provider)}
    assert feedback["1"].startswith(f"{RIGHT}\n{PRACTICE_ENDS}\n\nStory ")
    assert feedback["2"].startswith(f"{WRONG}\n{PRACTICE_ENDS}\n\nStory ")
    for last in longest(provider):
        shown = texts_of(last, "user")
        assert [PRACTICE_ENDS in text for text in shown] == [False, True, *[False] * (N_TRIALS - 2)]
    # A run has the replies to the test items, without practice and attention check. No request has the last reply.
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
        assert len(log.samples) == 10
        assert len(log.samples[-1].messages) == 2 * N_TRIALS
        assert log.results.scores[0].metrics["accuracy"].value == 1


def test_an_interrupted_session_continues_with_the_same_conversation_and_bills_nothing_twice(
    study: Study, ask: Ask
) -> None:
    """A reply contains its number, so a reply that is asked again would change the conversation.

    One session is interrupted after its wrong response to the practice item.
    """
    first_test = study.battery.by_id[plan_session(study, **SESSION).trials[1].item_id]
    first_item = first_test.content["text"]
    numbers = iter(range(1000))
    fails = threading.Event()

    def send(prompt: str, attempt: int) -> Sent:
        if "Practice" in prompt:
            return Sent(f"{attempt}. Reply {next(numbers)}")
        failed = fails.is_set() and first_item in prompt and WRONG in prompt
        return Sent(status=400) if failed else Sent(f"2 ({next(numbers)})")

    with fake_provider(send) as provider:
        fails.set()
        first = ask(provider, epochs=2)
        assert len(first.runs) == 1
        assert first.incomplete[0].startswith(f"1 request failed; the first is item `{first_test.item_id}`: ")
        n_first = provider.n_billed
        assert n_first == N_TRIALS + 1
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
    feedback = {texts_of(last, "assistant")[0][0]: texts_of(last, "user")[1] for last in longest(provider)}
    assert feedback["1"].startswith(RIGHT)
    assert feedback["2"].startswith(WRONG)


def test_the_log_of_a_session_is_the_same_run_as_the_stored_run(study: Study, ask: Ask, tmp_path: Path) -> None:
    def send(prompt: str, _attempt: int) -> Sent:
        return Sent(status=400) if fails.is_set() and "Story 3" in prompt else Sent("Two, perhaps.")

    fails = threading.Event()
    fails.set()
    with fake_provider(send) as provider:
        assert not ask(provider).runs
        (log,) = (tmp_path / "data" / "logs").iterdir()
        with pytest.raises(InputError, match=r"a run that is not complete. Fix: repeat the command"):
            models_import(study, log, tmp_path / "first.db")
        fails.clear()
        (made,) = ask(provider).runs
    assert list(log.parent.iterdir()) == [log]
    with collected(study, [log]) as found:
        found.runs.read_replies(lambda: None)
        assert list(found.runs) == [made]
    stored, imported = tmp_path / "stored.db", tmp_path / "imported.db"
    add_runs(study, [made], stored)
    assert models_import(study, log, stored) == [f"{made.run}: already in the store."]
    models_import(study, [log], imported, training_cutoff="2024-06")
    assert add_runs(study, [made], imported) == [f"{made.run}: already in the store."]
    # A log without one of its samples is not the run.
    fields = json.loads(log.read_text())
    del fields["samples"][4]  # Inspect sorts samples by id, so this is the sample of `item-4`.
    log.write_text(json.dumps(fields))
    with pytest.raises(InputError, match=r"no reply to the item `item-4`. Fix: import the log"):
        models_import(study, log, tmp_path / "third.db")


def test_a_trial_of_a_session_can_end_with_the_practice(study: Study, ask: Ask, tmp_path: Path) -> None:
    with fake_provider() as provider:
        result = ask(provider, n_items=1)
        assert (result.runs, result.incomplete) == ([], [])
        (log,) = (tmp_path / "data" / "logs").iterdir()
        ask(provider, n_items=3)
        assert list(log.parent.iterdir()) == [log]
        with pytest.raises(InputError, match="a run that is not complete"):
            models_import(study, log, tmp_path / "first.db")
        assert provider.n_billed == 3


def test_empty_replies_are_sent_back_in_words_and_practice_gets_the_feedback_on_a_wrong_response(
    study: Study, ask: Ask
) -> None:
    """Anthropic refuses empty messages, and so does the fake provider."""
    second_test = study.battery.by_id[plan_session(study, **SESSION).trials[2].item_id].content["text"]

    def send(prompt: str, _attempt: int) -> Sent:
        return Sent("" if "Practice" in prompt else " \n" if second_test in prompt else "2")

    with fake_provider(send) as provider:
        result = ask(provider, model=ANTHROPIC_MODEL)
    assert not result.incomplete
    (last,) = longest(provider)
    assert texts_of(last, "assistant") == ["No answer", "2", "No answer", *["2"] * (N_TRIALS - 4)]
    shown = texts_of(last, "user")
    assert shown[1].startswith(f"Press the number of your answer, or click it.\n{WRONG}\n{PRACTICE_ENDS}\n\nStory ")
    # The run has the reply itself, which is invalid.
    (made,) = result.runs
    assert [response.valid for response in made.responses] == [True, False, *[True] * 8]
    assert made.responses[1].text.strip() == ""


def test_a_whole_session_and_the_same_items_asked_afresh_are_different_subjects(ask: Ask) -> None:
    with fake_provider() as provider:
        (afresh,) = ask(provider, whole_session=False).runs
        (whole,) = ask(provider).runs
        assert provider.n_billed == 10 + N_TRIALS
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
