"""Sizes and positions in degrees of visual angle."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from batteries.items import load_battery
from batteries.stimulus.parts import ImagePart, Part
from batteries.stimulus.shown import shown_content
from batteries.tasks.multiple_choice import MultipleChoiceContent
from tests.picture_study import make_picture_study


def test_a_part_without_degrees_has_the_same_digest_as_before(tmp_path: Path) -> None:
    part = ImagePart(image="assets/a.png", alt="A")
    assert part.model_dump() == {"image": "assets/a.png", "alt": "A"}
    assert "width_deg" not in json.dumps(
        [item.content for item in load_battery(make_picture_study(tmp_path / "study") / "battery.jsonl").items]
    )


@pytest.mark.parametrize("kind", ["image", "video"])
def test_the_browser_gets_size_and_position_of_pictures_and_videos(kind: str) -> None:
    given = {kind: "assets/a", "alt": "A", "width_deg": 5, "x_deg": -2.5, "y_deg": 0}
    part: Any = TypeAdapter(Part).validate_python(given)
    (shown,) = shown_content({"stimulus": [part.model_dump() | {"sha256": "0" * 64}]})["stimulus"]
    assert {name: shown.get(name) for name in ("width_deg", "x_deg", "y_deg")} == {
        "width_deg": 5, "x_deg": -2.5, "y_deg": 0,
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [{"x_deg": 1}, {"width_deg": 0}, {"width_deg": float("nan")}, {"width_deg": 200}])
def test_a_position_without_a_size_and_impossible_sizes_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ImagePart(image="assets/a.png", alt="A", **wrong)


def test_an_option_has_no_position() -> None:
    options = ["one", {"image": "assets/a.png", "alt": "A", "width_deg": 2, "x_deg": 1}]
    with pytest.raises(ValidationError, match=r"an option has a position\. Fix: delete"):
        MultipleChoiceContent(prompt="Which?", options=options)  # type: ignore[arg-type]
