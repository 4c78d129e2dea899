"""A small study with pictures, a sound, a video and several answers, for tests of several packages."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

from PIL import Image

from tests.paths import MEDIA

DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"><circle r="9" style="fill: red"/></svg>'
STUDY = """\
study: pictures
version: "1.0"
title: Pictures
battery: battery.jsonl
practice: [p1]
design: {method: deal, groups: 1, balance: [topic]}
timeline: {instructions: [instructions.md]}
recruitment: {entry: open}
"""


def picture(form: str = "PNG", size: tuple[int, int] = (6, 4), colour: str = "red", **options: Any) -> bytes:
    """Return a file with a picture in one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, form, **options)
    return file.getvalue()


def make_picture_study(folder: Path) -> Path:
    """Write the study to a new folder, and return the folder."""
    assets = folder / "assets"
    assets.mkdir(parents=True)
    for colour in ("red", "blue"):
        (assets / f"{colour}-is-right.png").write_bytes(picture(colour=colour))
    (assets / "circle.svg").write_text(DRAWING, encoding="utf-8")
    for name in ("tone.wav", "clip.mp4"):
        shutil.copy(MEDIA / name, assets)
    red, blue = ({"image": f"assets/{each}-is-right.png", "alt": f"A {each} square"} for each in ("red", "blue"))
    story = {"text": "Look at the *picture*.\n\nThen answer."}
    circle = {"image": "assets/circle.svg", "alt": "A circle"}
    tone, clip = {"sound": "assets/tone.wav", "alt": "A tone"}, {"video": "assets/clip.mp4", "alt": "A clip"}
    several = {"at_least": 1, "at_most": 2}
    items = [
        _item("p1", [red], "Which colour?", ["red", "blue"], 1),
        _item("q1", [story, circle], "Which picture is red?", [red, blue], 1),
        _item("q2", [tone, clip], "What did you notice?", ["a tone", "a clip", "a smell"], [1, 2], several=several),
        _item("q3", [], "Which number is even?", ["one", "two"], 2),
    ]
    lines = [{"battery": "pictures", "version": "1.0"}, *items]
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "instructions.md").write_text("# Welcome\n", encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return folder


def _item(item_id: str, stimulus: list[Any], prompt: str, options: list[Any], key: Any, **more: Any) -> dict[str, Any]:
    content = {"stimulus": stimulus, "prompt": prompt, "options": options, **more}
    return {"item_id": item_id, "task": "multiple_choice", "factors": {"topic": "test"}, "content": content, "key": key}
