"""Runs of language models on items with pictures, sounds and videos, with a fake provider on loopback."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiment.load_study import load_study
from experiment.models.prompts.media import MediaFile
from experiment.models.prompts.requests import requests_for
from experiment.models.prompts.styles import Prompt
from experiment.models.runs.run_model import ModelRun, run_model
from experiment.models.runs.settings import RunSettings
from tests.experiment.models.runs.fake_provider import ANTHROPIC_MODEL, MODEL, FakeProvider, Sent, fake_provider
from tests.paths import MEDIA
from tests.picture_study import make_picture_study, picture

pytestmark = [
    pytest.mark.usefixtures("inspect_in_a_folder"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
Run = Callable[..., ModelRun]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    folder = make_picture_study(tmp_path / "pictures")
    battery = folder / "battery.jsonl"
    battery.write_text(battery.read_text(encoding="utf-8").replace("circle.svg", "circle.png"), encoding="utf-8")
    (folder / "assets" / "circle.png").write_bytes(picture(colour="green"))
    study = load_study(folder)

    def run_it(provider: FakeProvider, model: str, *item_ids: str, **options: Any) -> ModelRun:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value)
        requests = requests_for(study, style="human-equivalent", **options)
        kept = tuple(item for item in requests.items if item.item_id in item_ids)
        return run_model(RunSettings(model, replace(requests, items=kept), tmp_path / "data", max_retries=0))

    return run_it


def sent_files(provider: FakeProvider) -> str:
    return repr([request["messages"][-1]["content"] for request in provider.requests])


@pytest.mark.parametrize("model", [MODEL, ANTHROPIC_MODEL])
def test_the_bytes_of_the_pictures_reach_the_provider(run: Run, model: str) -> None:
    with fake_provider(lambda *_: Sent("1")) as provider:
        (made,) = run(provider, model, "q1").runs
    files = sent_files(provider)
    for colour in ("red", "green", "blue"):
        assert base64.b64encode(picture(colour=colour)).decode() in files
    assert "A circle" not in files
    assert made.parameters["prompt"] == "human-equivalent, pictures sent"
    assert "pictures sent" in made.run


def test_a_video_that_the_provider_refuses_is_a_failure_with_a_fix(run: Run) -> None:
    with fake_provider() as provider:
        result = run(provider, MODEL, "q2")
    assert result.runs == provider.requests == []
    assert "Fix: use a model that accepts them, or use --pictures described." in result.incomplete[-1]


@pytest.mark.parametrize(("name", "kind", "form"), [("tone.wav", "sound", "wav"), ("clip.mp4", "video", "mp4")])
def test_sounds_and_videos_are_parts_of_the_message(name: str, kind: str, form: str) -> None:
    from experiment.models.runs.inspect_task import messages_of

    file = MediaFile(kind, MEDIA / name, f".{form}")
    (message,) = messages_of(Prompt(None, "Listen.", ("Listen.", file)))
    text, media = message.content
    assert text.text == "Listen."
    data = base64.b64encode((MEDIA / name).read_bytes()).decode()
    assert getattr(media, "audio" if kind == "sound" else "video").partition(",")[2] == data
    assert media.format == form


def test_descriptions_are_sent_as_text_and_several_answers_are_read(run: Run) -> None:
    with fake_provider(lambda *_: Sent("1, 2\nBecause.")) as provider:
        (made,) = run(provider, MODEL, "q2", pictures="described").runs
    assert "[Sound: A tone]" in sent_files(provider)
    assert made.responses[0].response == [1, 2]
    assert made.parameters["prompt"] == "human-equivalent, pictures described"


def test_a_provider_that_refuses_pictures_is_a_failure_with_a_fix(run: Run) -> None:
    with fake_provider(lambda *_: Sent(status=400)) as provider:
        result = run(provider, MODEL, "q1")
    assert result.runs == []
    assert "Fix: use a model that accepts them, or use --pictures described." in " ".join(result.incomplete)


@pytest.mark.parametrize("pictures", ["sent", "described"])
def test_the_mock_model_answers_items_with_pictures(run: Run, pictures: str) -> None:
    with fake_provider() as provider:
        (made,) = run(provider, "mockllm/any", "q1", "q2", "q3", pictures=pictures).runs
    assert all(response.valid for response in made.responses)
