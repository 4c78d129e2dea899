"""Logs that a real `inspect eval` with a mock model writes are imported."""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from batteries.errors import InputError
from equipoise.commands.models.imports import models_import
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.models.event_loops import calls_outside_loops
from experiment.study.definition import Study
from tests.experiment.models.imports.fabricated import ids_of, right, wrong
from tests.experiment.models.imports.planted_tokens import planted_tokens, text_of
from tests.experiment.models.runs.inspect_needed import need_inspect

# Inspect leaves streams open, and its libraries use deprecated functions.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def _streams_are_collected() -> Iterator[None]:
    """Let the warnings on open streams come during the test that opened the streams."""
    yield
    gc.collect()


Evaluate = Callable[..., Path]


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """Return a function that makes a log of the study's items, with planted replies. Equal logs are made once."""
    need_inspect()
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, Logprobs, ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    folder = tmp_path_factory.mktemp("inspect")
    copy_sample_study("intuition-single", folder / "study")
    study = load_study(folder / "study")

    @cache
    def run(*, epochs: int = 1, by_metadata: bool = False, n_items: int = 144, with_logprobs: bool = False) -> Path:
        ids = ids_of(study)
        items = study.test_items
        samples = [
            Sample(id=number, input=item.item_id, metadata={"item_id": item.item_id})
            if by_metadata
            else Sample(id=ids[item.item_id], input=item.item_id)
            for number, item in enumerate(items[:n_items], start=1)
        ]

        def reply(input: Any, *_: Any) -> ModelOutput:
            item = study.battery.by_id[input[-1].text]
            is_right = items.index(item) % 4 > 0
            stop = "max_tokens" if items.index(item) % 10 == 1 else "stop"
            text = right(item) if is_right else wrong(item)
            tokens = planted_tokens(items.index(item), item)
            output = ModelOutput.from_content(
                "mockllm/model", text_of(tokens) if with_logprobs else text, stop_reason=stop
            )
            if with_logprobs:
                output.choices[0].logprobs = Logprobs.model_validate({"content": tokens})
            output.usage = ModelUsage(input_tokens=100, output_tokens=10)  # Counting needs a download.
            return output

        task = inspect_ai.Task(
            dataset=samples, solver=generate(), config=GenerateConfig(temperature=0.5, max_tokens=512), epochs=epochs
        )
        with calls_outside_loops() as call:
            (log,) = call(
                inspect_ai.eval,
                task,
                model=get_model("mockllm/model", custom_outputs=reply),
                log_dir=str(folder / "logs"),
                log_format="eval",
                display="none",
                log_realtime=False,
                ctl_server=False,
            )
        assert log.status == "success", log.error
        return Path(log.location.removeprefix("file://"))

    return run


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_a_log_is_imported_with_its_planted_scores(
    vignettes: Study, evaluate: Evaluate, tmp_path: Path, log_format: Literal["eval", "json"]
) -> None:
    from inspect_ai.log import read_eval_log, write_eval_log

    path = tmp_path / f"log.{log_format}"
    with calls_outside_loops() as call:
        call(write_eval_log, call(read_eval_log, str(evaluate())), path)
    (sentence,) = models_import(vignettes, path)
    assert sentence.endswith(", epoch 1: 144 responses, 108 correct (75.0%), 15 truncated.")
    assert sentence.startswith("mockllm/model, template 9f8e7d6c, temperature 0.7")
    (again,) = models_import(vignettes, path.rename(tmp_path / "a log"))
    assert again.endswith("already in the store.")


def test_each_epoch_of_a_log_is_a_run(vignettes: Study, evaluate: Evaluate) -> None:
    sentences = models_import(vignettes, evaluate(epochs=2, by_metadata=True, n_items=5))
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        f"mockllm/model, temperature 0.5, epoch {epoch}" for epoch in (1, 2)
    ]


def test_the_choice_by_log_probability_is_a_second_run_of_the_same_log(vignettes: Study, evaluate: Evaluate) -> None:
    path = evaluate(n_items=12, with_logprobs=True)
    condition = "template 9f8e7d6c, temperature 0.7, epoch 1: 12 responses"
    (by_logprob,) = models_import(vignettes, path, choice="logprob")
    assert by_logprob.startswith(
        f"mockllm/model, choice by log-probability, {condition}, 4 correct (33.3%), 6 invalid (2 equal log "
        "probabilities, 2 no answer position, 2 undecided by listed tokens), "
    )
    (as_text,) = models_import(vignettes, path)
    assert as_text.startswith(f"mockllm/model, {condition}, 8 correct")


def test_a_damaged_log_is_refused(vignettes: Study, evaluate: Evaluate, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(evaluate().read_bytes()[:2000])
    with pytest.raises(InputError, match="this is not a complete Inspect log") as refused:
        models_import(vignettes, path)
    assert "Fix: export the log again." in str(refused.value)


def test_without_the_package_the_error_names_the_extra(
    vignettes: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r'Fix: in a clone of .*`pip install "\.\[models\]"`\.'):
        models_import(vignettes, path)


def test_a_log_is_imported_within_a_running_event_loop(vignettes: Study, evaluate: Evaluate) -> None:
    path = evaluate()

    async def as_in_a_notebook() -> list[str]:
        return models_import(vignettes, path)

    with calls_outside_loops() as call:  # The browser driver of another test may have a loop in this thread.
        (sentence,) = call(asyncio.run, as_in_a_notebook())
    assert "144 responses, 108 correct" in sentence
