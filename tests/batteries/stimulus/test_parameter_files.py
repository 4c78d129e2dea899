"""Files that the parameters of jsPsych plugins name: how they are found, checked, bound to the battery and hidden."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.items import Item, copy_assets, load_battery, save_battery
from batteries.stimulus.parameter_files import paths_in
from batteries.stimulus.shown import shown_content, with_paths
from tests.paths import MEDIA
from tests.picture_study import DRAWING, picture

FACE, HOUSE, TONE = "assets/anna-is-right.png", "assets/house.svg", "assets/tone.wav"
PARAMETERS: dict[str, Any] = {
    "stimulus": f"<p class='big'>Who?</p><img src=\"{FACE}\"><video poster='{HOUSE}'></video>",
    "choices": [FACE, HOUSE, "neither"],
    "nested": {"list": [{"sound": TONE}, 3, None, True]},
    "text": "The word assets is not a path.",
}
SHA256 = {
    FACE: hashlib.sha256(picture()).hexdigest(),
    HOUSE: hashlib.sha256(DRAWING.encode()).hexdigest(),
    TONE: hashlib.sha256((MEDIA / "tone.wav").read_bytes()).hexdigest(),
}


def write_battery(folder: Path, parameters: dict[str, Any] = PARAMETERS, **item: Any) -> Path:
    assets = folder / "assets"
    assets.mkdir(exist_ok=True)
    (folder / FACE).write_bytes(picture())
    (folder / HOUSE).write_text(DRAWING, encoding="utf-8")
    shutil.copy(MEDIA / "tone.wav", assets)
    content = {"plugin": "p", "parameters": parameters, **item.pop("content", {})}
    rows = [
        {"battery": "b", "version": "1"},
        {"item_id": "q1", "task": "jspsych", "key": None, "content": content, **item},
    ]
    path = folder / "battery.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def loaded(path: Path) -> Item:
    return load_battery(path).items[0]


def test_files_are_found_at_any_depth_and_in_html(tmp_path: Path) -> None:
    item = loaded(write_battery(tmp_path))
    assert item.content["files"] == SHA256
    assert item.content["parameters"] == PARAMETERS


def test_files_of_answers_and_keys_are_files_too(tmp_path: Path) -> None:
    answers = [{"response": FACE}, {"response": HOUSE}]
    item = loaded(write_battery(tmp_path, {}, content={"answers": answers}, key={"response": FACE}))
    assert item.content["files"] == {FACE: SHA256[FACE], HOUSE: SHA256[HOUSE]}


def test_an_item_without_files_has_no_new_field(tmp_path: Path) -> None:
    item = loaded(write_battery(tmp_path, {"stimulus": "<p>assets</p>", "choices": ["data:image/png;base64,AA"]}))
    assert "files" not in item.content


def test_the_digest_of_a_battery_changes_with_one_byte_of_a_file(tmp_path: Path) -> None:
    path = write_battery(tmp_path)
    before = load_battery(path).digest
    (tmp_path / FACE).write_bytes(picture(compress_level=0))
    assert load_battery(path).digest != before


def test_a_written_battery_is_read_again_and_refuses_another_file(tmp_path: Path) -> None:
    battery = load_battery(write_battery(tmp_path))
    saved = tmp_path / "saved.jsonl"
    save_battery(battery, saved)
    assert load_battery(saved).digest == battery.digest
    (tmp_path / FACE).write_bytes(picture(colour="blue"))
    with pytest.raises(InputError, match=r"item `q1`: assets/anna-is-right.png: the file has changed since"):
        load_battery(saved)


def test_copies_of_a_battery_have_its_files(tmp_path: Path) -> None:
    battery = load_battery(write_battery(tmp_path))
    target = tmp_path / "copy"
    copy_assets(battery.items, tmp_path, target)
    assert {path.name for path in (target / "assets").iterdir()} == {Path(path).name for path in SHA256}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("assets/missing.png", "assets/missing.png: this file does not exist"),
        ("assets/../secret.png", "is not a path inside the folder `assets`"),
        ('<img src="assets/../secret.png">', "is not a path inside the folder `assets`"),
        ("assets/face.gif", "the suffix `.gif` is not known"),
        ("assets/liabilities", "the suffix `` is not known"),
        (f"<img src={FACE}>", "is part of a longer text"),
        (f"<div style='background: url({FACE})'></div>", "is part of a longer text"),
        (f"Look at {FACE}.", "is part of a longer text"),
        ({FACE: 1}, "is part of a longer text"),
        ([FACE, "assets/copy.png"], "are copies of the same file"),
    ],
)
def test_a_path_that_no_browser_could_load_is_an_error_with_a_fix(tmp_path: Path, value: Any, problem: str) -> None:
    path = write_battery(tmp_path, {"stimulus": value})
    (tmp_path / "assets" / "copy.png").write_bytes(picture())
    (tmp_path / "secret.png").write_bytes(picture())
    with pytest.raises(InputError) as error:
        load_battery(path)
    assert problem in str(error.value)
    assert "item `q1`" in str(error.value)
    assert "Fix: " in str(error.value)


def test_an_unsafe_drawing_is_refused(tmp_path: Path) -> None:
    path = write_battery(tmp_path)
    (tmp_path / HOUSE).write_text(DRAWING.replace("<circle", "<script/><circle"), encoding="utf-8")
    with pytest.raises(InputError, match="an element `script`"):
        load_battery(path)


def test_an_entry_of_files_that_no_parameter_names_is_refused(tmp_path: Path) -> None:
    path = write_battery(tmp_path, {"stimulus": FACE}, content={"files": {HOUSE: SHA256[HOUSE]}})
    with pytest.raises(InputError, match=r"`files` has the entry `assets/house.svg`, which no parameter names. Fix: "):
        load_battery(path)


def test_a_browser_gets_addresses_and_no_names_of_files(tmp_path: Path) -> None:
    answers = [{"response": FACE}, {"response": HOUSE}]
    content = loaded(write_battery(tmp_path, content={"answers": answers}, key=answers[0])).content
    shown = shown_content(content)
    assert not [name for path in SHA256 if (name := Path(path).stem) in json.dumps(shown)]
    face, house = f"/asset/{SHA256[FACE]}.png", f"/asset/{SHA256[HOUSE]}.svg"
    assert f'<img src="{face}">' in shown["parameters"]["stimulus"]
    assert shown["parameters"]["choices"] == [face, house, "neither"]
    assert shown["answers"] == [{"response": face}, {"response": house}]
    assert shown["files"] == sorted([face, house, f"/asset/{SHA256[TONE]}.wav"])


def test_the_stored_response_has_the_paths_of_the_battery(tmp_path: Path) -> None:
    content = loaded(write_battery(tmp_path)).content
    shown = shown_content(content)["parameters"]
    assert with_paths(content, {"response": shown, "rt": 300}) == {"response": PARAMETERS, "rt": 300}


def test_a_text_of_another_task_stays_as_it_is(tmp_path: Path) -> None:
    part = {"image": FACE, "alt": "Anna", "sha256": SHA256[FACE]}
    text = f"/asset/{SHA256[FACE]}.png"
    assert with_paths({"stimulus": [part]}, text) == text


def test_paths_are_listed_once() -> None:
    assert paths_in([FACE, f'<img src="{FACE}">', {"a": TONE}]) == [FACE, TONE]
