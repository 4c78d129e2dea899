"""`equipoise models run` as a user types it, with a fake provider on loopback."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import equipoise as eq
from tests.equipoise.commands_in_processes import StartedCommand
from tests.experiment.models.runs.fake_provider import ANTHROPIC_MODEL, MODEL, FakeProvider, Sent, fake_provider
from tests.experiment.models.runs.inspect_needed import need_inspect

N_ITEMS = 144
N_BEFORE = 40


@pytest.fixture
def study(tmp_path: Path) -> Path:
    eq.new(tmp_path / "study", "intuition-single")
    return tmp_path / "study"


@pytest.fixture
def interrupted() -> Iterator[FakeProvider]:
    """Return a provider that sends 40 replies, and then nothing until `send` is changed."""
    sent: list[str] = []

    def send(prompt: str, attempt: int) -> Sent:
        sent.append(prompt)
        while len(sent) > N_BEFORE and provider.send is send:
            time.sleep(0.05)
        return Sent("1") if provider.send is send else Sent(body=b"")

    with fake_provider(send) as provider:
        yield provider
        provider.send = lambda *_: Sent()


def start(provider: FakeProvider | None, study: Path, *arguments: object) -> StartedCommand:
    """Start the command."""
    environment = {"XDG_DATA_HOME": str(study.parent / "inspect")} | (provider.environment if provider else {})
    return StartedCommand("models", "run", study, *map(str, arguments), environment=environment)


def run(provider: FakeProvider | None, study: Path, *arguments: object) -> list[str]:
    """Run the command to its end, and return the lines that it prints."""
    ended = start(provider, study, *arguments).finished()
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def refused(provider: FakeProvider | None, study: Path, *arguments: object) -> str:
    ended = start(provider, study, *arguments).finished()
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("model", "temperature"), [(MODEL, ("--temperature", 0.7)), (ANTHROPIC_MODEL, ())], ids=["openai", "anthropic"]
)
def test_a_killed_run_continues_and_each_item_is_billed_once(
    study: Path, interrupted: FakeProvider, model: str, temperature: tuple[object, ...]
) -> None:
    need_inspect()
    options = ("--model", model, *temperature, "--max-connections", 4)
    process = start(interrupted, study, *options)
    deadline = time.monotonic() + 120
    while interrupted.n_billed < N_BEFORE and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)  # The last replies arrive.
    process.kill()
    assert interrupted.n_billed == N_BEFORE
    # After the restart, the first attempt at some items fails.
    failures = iter([429, 529, 500])
    interrupted.send = lambda *_: Sent("1", status=next(failures, 200), wait_s=0.05)
    lines = run(interrupted, study, *options)
    with_temperature = ", temperature 0.7" if temperature else ""
    assert lines[0].startswith(f"{model}, three-lines{with_temperature}, epoch 1: {N_ITEMS} responses, ")
    assert (
        lines[1] == f"{N_ITEMS - N_BEFORE} new replies. All replies of these runs: 14,400 tokens in, 1,440 tokens out."
    )
    assert len(interrupted.billed) == N_ITEMS
    assert set(interrupted.billed.values()) == {1}
    again = run(interrupted, study, *options)
    assert again[0].endswith("epoch 1: already in the store.")
    assert interrupted.n_billed == N_ITEMS


def test_a_mock_model_and_people_are_in_one_store(study: Path) -> None:
    need_inspect()
    lines = run(None, study, "--model", "mockllm/model", "--epochs", 2, "--group", 1, "--seed", 3)
    assert [re.sub(r"\d+ correct.*", "", line) for line in lines[:2]] == [
        f"mockllm/model, three-lines, group 1, seed 3, epoch {epoch}: 24 responses, " for epoch in (1, 2)
    ]
    assert eq.store_verify(study).n_responses == 48


def test_a_whole_session_is_another_run_than_its_items_asked_afresh(study: Path) -> None:
    need_inspect()
    options = ("--model", "mockllm/model", "--group", 1, "--seed", 3)
    afresh, *_ = run(None, study, *options, "--style", "human-equivalent")
    whole, usage = run(None, study, *options, "--whole-session")
    assert afresh.startswith("mockllm/model, human-equivalent, group 1, seed 3, epoch 1: 24 responses, ")
    assert whole.startswith("mockllm/model, human-equivalent, whole session, group 1, seed 3, epoch 1: 24 responses, ")
    assert usage.startswith("26 new replies.")  # 24 test items, a practice item and an attention check
    assert [(listed.is_stored, listed.n_missing) for listed in eq.models_list(study)] == [(True, 0), (True, 0)]


def test_a_trial_asks_the_first_items_and_stores_no_run(study: Path) -> None:
    need_inspect()
    with fake_provider(lambda *_: Sent("1")) as provider:
        lines = run(provider, study, "--model", MODEL, "--limit", 3, "--price-in", 1000, "--price-out", 1000)
        assert "3 responses" in lines[0]
        assert lines[1].startswith("With --limit 3, no run is stored.")
        # A reply has 100 tokens in and 10 tokens out.
        assert lines[2].endswith("0.3300 USD. The 141 other replies would cost about 15.5100 USD.")
        assert not (study / "data" / "equipoise.db").exists()
        run(provider, study, "--model", MODEL)
        assert provider.n_billed == N_ITEMS


def test_an_incomplete_run_is_an_error_and_the_same_command_completes_it(study: Path) -> None:
    need_inspect()
    malformed = Sent(body=b'{"choices": [')
    with fake_provider(lambda _, attempt: malformed if attempt == 1 else Sent("1")) as provider:
        options = ("--model", MODEL, "--group", 1, "--seed", 3, "--max-retries", 0)
        errors = refused(provider, study, *options)
        assert f"{MODEL}: complete runs: 0 of 1. 0 new replies." in errors
        assert "failed; the first is item `" in errors
        assert "Fix: run the same command again. The command asks only for the missing replies." in errors
        while "Error" in errors:  # After 20 failures, the other requests are not sent.
            errors = start(provider, study, *options).finished().stderr
        assert set(provider.billed.values()) == {1}
    assert eq.store_verify(study).n_responses == 24


def test_wrong_names_of_models_are_refused(study: Path) -> None:
    need_inspect()
    assert "Fix: write PROVIDER/NAME" in refused(None, study, "--model", "nobody/model")
    assert "Fix: write PROVIDER/NAME" in refused(None, study, "--model", "gpt-4.1")
    assert not (study / "data").exists()


def test_a_price_limit_needs_prices(study: Path) -> None:
    errors = refused(None, study, "--model", "mockllm/model", "--max-cost", 1)
    assert "Fix: add --price-in and --price-out, in USD per million tokens." in errors


def test_without_inspect_the_error_names_the_extra(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(eq.InputError, match=r'Fix: in a clone of .*`pip install "\.\[models\]"`\.'):
        eq.models_run(study, "openai/gpt-4.1")


def test_a_baseline_refuses_options_of_language_models(study: Path) -> None:
    errors = refused(None, study, "--model", "baseline/tracer", "--epochs", 2, "--whole-session", "--max-cost", 3)
    assert "a baseline does not use --epochs, --whole-session, --max-cost. Fix: leave these options out." in errors
