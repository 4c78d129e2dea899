"""Requirements of a study for browsers: sizes in degrees need a calibration, and sounds a sound check."""

import json
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from experiment.web.requirements import check_degrees, needs_sound
from tests.picture_study import make_picture_study


def in_degrees(folder: Path, **degrees: float) -> Path:
    """Give the first picture of the study a size and a position."""
    lines = [json.loads(line) for line in (folder / "battery.jsonl").read_text(encoding="utf-8").splitlines()]
    lines[1]["content"]["stimulus"][0] |= degrees
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def test_a_browser_shows_degrees_only_if_participants_measure_their_screens(tmp_path: Path) -> None:
    folder = in_degrees(make_picture_study(tmp_path / "study"), width_deg=5)
    with pytest.raises(InputError, match=r"`p1` has a size in degrees.*Fix: add `device: \{calibration: true\}`"):
        check_degrees(load_study(folder))
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("device: {calibration: true}\n")
    check_degrees(load_study(folder))


def test_a_study_with_sounds_has_a_sound_check_unless_it_says_otherwise(tmp_path: Path) -> None:
    folder = make_picture_study(tmp_path / "study")
    definition = (folder / "study.yaml").read_text(encoding="utf-8")
    assert needs_sound(load_study(folder))
    (folder / "study.yaml").write_text(f"{definition}device: {{sound: false}}\n", encoding="utf-8")
    assert not needs_sound(load_study(folder))
    battery = (folder / "battery.jsonl").read_text(encoding="utf-8")
    tone = '{"sound": "assets/tone.wav", "alt": "A tone"}, '
    assert tone in battery
    (folder / "battery.jsonl").write_text(battery.replace(tone, ""), encoding="utf-8")
    (folder / "study.yaml").write_text(definition, encoding="utf-8")
    assert not needs_sound(load_study(folder))
    (folder / "study.yaml").write_text(f"{definition}device: {{sound: true}}\n", encoding="utf-8")
    assert needs_sound(load_study(folder))
