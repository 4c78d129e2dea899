"""Pictures, sounds and videos in prompts: sent as files or described, and refused where a service cannot get them."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.models.prompts.batch_files import write_prompts
from experiment.models.prompts.requests import Requests, requests_for
from experiment.study.definition import Study
from tests.paths import MEDIA
from tests.picture_study import make_picture_study, picture

STYLE = "human-equivalent"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """The sample with a PNG file in place of the drawing, which services do not accept."""
    folder = make_picture_study(tmp_path / "pictures")
    battery = folder / "battery.jsonl"
    battery.write_text(battery.read_text(encoding="utf-8").replace("circle.svg", "circle.png"), encoding="utf-8")
    (folder / "assets" / "circle.png").write_bytes(picture(colour="green"))
    return load_study(folder)


def only(requests: Requests, *item_ids: str) -> Requests:
    return replace(requests, items=tuple(item for item in requests.items if item.item_id in item_ids))


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_files_are_parts_of_the_message_at_their_places(study: Study) -> None:
    (request,) = only(requests_for(study, style=STYLE), "q1")
    kinds = [part if isinstance(part, str) else part.path.name for part in request.prompt.parts]
    names = ["practice", "red-is-right.png", "story", "circle.png", "question", "red-is-right.png", "2.", "blue"]
    assert [kind for kind in kinds if kind.endswith(".png")] == [
        "red-is-right.png", "circle.png", "red-is-right.png", "blue-is-right.png"
    ], names  # fmt: skip
    assert kinds[kinds.index("circle.png") - 1].endswith("Look at the *picture*.\n\nThen answer.")
    assert kinds[kinds.index("circle.png") + 1] == "Which picture is red?\n\n1."
    assert "\ue0f0" not in request.prompt.user
    assert "A circle" not in request.prompt.user


def test_descriptions_replace_the_files(study: Study) -> None:
    (request,) = only(requests_for(study, style=STYLE, pictures="described"), "q1")
    assert request.prompt.parts == ()
    assert "1. [Picture: A red square]\n2. [Picture: A blue square]" in request.prompt.user
    assert "Then answer.\n\n[Picture: A circle]\n\nWhich picture is red?" in request.prompt.user
    assert not {"\ue0f0", "\ue0f1", "\ue0f2"} & set(request.prompt.user)


def test_sent_and_described_pictures_are_different_conditions(study: Study) -> None:
    digests = {
        requests_for(study, style=STYLE, pictures=pictures).by_task["multiple_choice"].digest
        for pictures in ("sent", "described")
    }
    assert len(digests) == 2


def test_a_study_without_files_has_the_same_prompts_in_both_forms(sample_study: Study) -> None:
    sent, described = (requests_for(sample_study, pictures=form) for form in ("sent", "described"))
    assert sent.pictures is described.pictures is None
    assert list(sent) == list(described)


def test_a_drawing_cannot_be_sent_but_described(tmp_path: Path) -> None:
    study = load_study(make_picture_study(tmp_path / "drawings"))
    with pytest.raises(InputError, match=r"item `q1`: `assets/circle.svg` cannot be sent.* Fix: convert the file to"):
        requests_for(study, style=STYLE)
    assert len(requests_for(study, style=STYLE, pictures="described")) == 3


def test_a_style_for_one_option_is_refused_for_items_with_several_answers(study: Study) -> None:
    with pytest.raises(InputError, match=r"item `q2` has several answers.* Fix: use --style human-equivalent"):
        requests_for(study)
    (request,) = only(requests_for(study, style=STYLE), "q2")
    assert "Choose from 1 to 2 options. Write only their numbers on the first line" in request.prompt.user


def written(requests: Requests, form: str, path: Path) -> Any:
    write_prompts(requests, form, path, "some-model")
    text = path.read_text(encoding="utf-8")
    return json.loads(text if form.startswith("anthropic") else text.splitlines()[0])


def test_a_batch_for_openai_contains_pictures_and_sounds_as_data(study: Study, tmp_path: Path) -> None:
    requests = requests_for(study, style=STYLE)
    content = written(only(requests, "q1"), "openai-batch", tmp_path / "a")["body"]["messages"][0]["content"]
    images = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert images[1] == f"data:image/png;base64,{encoded(picture(colour='green'))}"
    assert len(images) == 4
    q2 = next(item for item in requests.items if item.item_id == "q2")
    stimulus: Any = q2.content["stimulus"]
    no_video = q2.model_copy(update={"content": {**q2.content, "stimulus": stimulus[:1]}})
    body = written(replace(requests, items=(no_video,)), "openai-batch", tmp_path / "b")["body"]
    content = body["messages"][0]["content"]
    (audio,) = (part["input_audio"] for part in content if part["type"] == "input_audio")
    assert audio == {"data": encoded((MEDIA / "tone.wav").read_bytes()), "format": "wav"}


def test_a_batch_for_anthropic_contains_pictures_as_data(study: Study, tmp_path: Path) -> None:
    requests = only(requests_for(study, style=STYLE), "q1")
    content = written(requests, "anthropic-batch", tmp_path / "a")["requests"][0]["params"]["messages"][0]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": encoded(picture(colour="green"))}
    assert [part for part in content if part["type"] == "image"][1] == {"type": "image", "source": source}


@pytest.mark.parametrize(
    ("form", "item_id", "noun"),
    [("openai-batch", "q2", "video"), ("anthropic-batch", "q2", "sound"), ("csv", "q1", "picture")],
)
def test_a_format_without_a_form_for_a_file_refuses_it(
    study: Study, tmp_path: Path, form: str, item_id: str, noun: str
) -> None:
    requests = only(requests_for(study, style=STYLE), item_id)
    with pytest.raises(InputError, match=rf"the format {form} cannot contain this {noun}. Fix: use --pictures d"):
        write_prompts(requests, form, tmp_path / "a", "some-model")
    assert not (tmp_path / "a").exists()
    described = only(requests_for(study, style=STYLE, pictures="described"), item_id)
    assert "Pictures, sounds and videos: described." in write_prompts(described, form, tmp_path / "b", "m").sentences()


def test_a_picture_in_the_system_prompt_is_refused(study: Study, tmp_path: Path) -> None:
    style = tmp_path / "style.txt"
    style.write_text("{{ item }}\n===\n{{ prompt }}\n", encoding="utf-8")
    with pytest.raises(InputError, match="into the system prompt"):
        list(requests_for(study, style=str(style)))


def test_examples_show_the_pictures_of_practice_items(tmp_path: Path) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    battery = folder / "battery.jsonl"
    lines = battery.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if '"q1"' not in line and '"q2"' not in line]
    battery.write_text("\n".join(kept) + "\n", encoding="utf-8")
    (request,) = requests_for(load_study(folder), shots=1)
    assert [part.path.name for part in request.prompt.parts if not isinstance(part, str)] == ["red-is-right.png"]
