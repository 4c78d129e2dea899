"""Studies as tasks of Inspect, found by the installed entry point."""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import equipoise as eq
from equipoise.studies import sample_studies
from experiment.models.event_loops import calls_outside_loops
from experiment.models.prompts.requests import requests_for
from tests.experiment.models.runs.fake_provider import MODEL, Sent, fake_provider
from tests.experiment.models.runs.inspect_needed import need_inspect

# Inspect does not close the connections of a model, and its libraries use deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
N_ITEMS = 12


@pytest.fixture(autouse=True)
def _inspect_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    need_inspect()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "inspect"))
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    yield
    gc.collect()


def inspect_eval(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `inspect eval` as a user types it."""
    return subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", *map(str, arguments), "--display", "plain"],
        env=os.environ | {"PYTHONPATH": str(Path.cwd())} | environment,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def counts(sentences: list[str]) -> list[tuple[str, ...]]:
    """Return epoch, and numbers of responses, of correct and of invalid responses, of each run."""
    pattern = r"temperature 0\.7, epoch (\d): (\d+) responses, (\d+) correct .*?, (\d+) (?:of them )?invalid"
    return [match.groups() for sentence in sentences if (match := re.search(pattern, sentence))]


def test_inspect_eval_asks_and_scores_as_models_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai.log import read_eval_log

    folder = tmp_path / "study"
    eq.new(folder, "intuition-single")
    study = eq.load_study(folder)
    replies = ["1", "2", "I cannot say."]
    with fake_provider(lambda prompt, _: Sent(replies[len(prompt) % 3])) as provider:
        done = inspect_eval(
            "equipoise/battery", "-T", f"study={folder}", "-T", "style=answer-only", "-T", "shots=1", "--model", MODEL,
            "--temperature", 0.7, "--epochs", 2, "--limit", N_ITEMS, **provider.environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        asked = list(provider.requests)
        provider.requests.clear()
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        by_run = eq.models_run(folder, MODEL, temperature=0.7, epochs=2, style="answer-only", shots=1, limit=N_ITEMS)

    def sent(requests: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
        return sorted((str(each["messages"]), each["temperature"], each["max_tokens"]) for each in requests)

    assert sent(asked) == sent(provider.requests)
    assert len(counts(by_run)) == 2
    assert len(asked) == 2 * N_ITEMS

    (path,) = (tmp_path / "logs").glob("*.eval")
    imported = eq.models_import(study, path)
    assert counts(imported) == counts(by_run)
    digest = requests_for(study, style="answer-only", shots=1).by_task["multiple_choice"].digest
    assert all(f", template {digest[:8]}, temperature 0.7, epoch " in sentence for sentence in imported)

    log = read_eval_log(str(path))
    (score,) = log.results.scores
    assert set(score.metrics) == {"accuracy", "stderr"}
    n_correct = sum(int(correct) for _, _, correct, _ in counts(imported))
    assert score.metrics["accuracy"].value == pytest.approx(n_correct / (2 * N_ITEMS))
    for sample in log.samples:
        (mark,) = sample.scores.values()
        is_invalid = sample.output.completion == "I cannot say."
        assert (mark.value == "N") is is_invalid
        assert mark.metadata["valid"] is not is_invalid
        assert sample.target in ("", [])  # A log with keys could reach the training data of a model.
    assert {sample.output.completion for sample in log.samples} == set(replies)


def test_each_sample_study_is_a_task(tmp_path: Path) -> None:
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(*_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", "1")
        output.usage = ModelUsage(input_tokens=100, output_tokens=10)  # Counting needs a download.
        return output

    # The showcase has an item with several answers, for which the default style is not made.
    names = sorted(sample_studies(), key="showcase".__eq__)
    *others, last = [f"equipoise/{name}" for name in names]
    with calls_outside_loops() as call:
        logs = [
            log
            for tasks, arguments in ((others, {}), ([last], {"style": "human-equivalent"}))
            for log in call(
                inspect_ai.eval,
                tasks,
                model=get_model("mockllm/model", custom_outputs=reply),
                task_args=arguments,
                limit=1,
                display="none",
            )
        ]
    assert [log.status for log in logs] == ["success"] * len(names)
    assert [log.eval.metadata["study"] for log in logs] == names


def test_a_mistake_is_one_sentence_and_registration_imports_little() -> None:
    refused = inspect_eval("equipoise/battery", "--model", "mockllm/model", PYTHONPROFILEIMPORTTIME="1")
    assert refused.returncode == 1
    imported = {line.rpartition("|")[2].strip() for line in refused.stderr.splitlines()}
    (sentence,) = (line for line in refused.stderr.splitlines() if "Error" in line and "|" not in line)
    assert sentence == "Error: no study is named. Fix: add -T study=FOLDER, with the folder of a study."
    assert "equipoise.studies" in imported
    assert not {name for name in imported if name.startswith(("experiment", "server", "analysis"))}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"study": "nowhere"}, "nowhere: there is no such folder in "),
        ({"study": "study", "shots": "two"}, "-T shots=two: this is not a whole number. Fix: "),
        ({"study": "study", "style": "sonnet"}, "`sonnet` is neither a style of prompts"),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], said: str
) -> None:
    import inspect_ai

    monkeypatch.chdir(tmp_path)
    eq.new("study")
    with pytest.raises(click.ClickException) as refused, calls_outside_loops() as call:
        call(inspect_ai.eval, "equipoise/battery", task_args=arguments, model="mockllm/model", display="none")
    assert said in refused.value.message
    assert "Fix: " in refused.value.message
