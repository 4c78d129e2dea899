"""Small studies with screens, fast responses, recall and confidence, for tests of several packages."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.paths import MEDIA
from tests.picture_study import picture

STUDY = """\
study: timed
version: "1.0"
title: Timed
battery: battery.jsonl
design: {method: deal, groups: 1, balance: [topic]}
timeline: {instructions: [instructions.md]}
recruitment: {entry: open}
device: {phones: true, sound: false}
"""
CONFIDENCE = "confidence: {prompt: How sure are you?, low: 1, high: 5, labels: [not at all, completely]}\n"

RED = {"image": "assets/red.png", "alt": "A red square"}
MASK = {"image": "assets/mask.png", "alt": "A grey square"}
TONE = {"sound": "assets/tone.wav", "alt": "A tone"}
KEYS = {"f": "word", "j": "nonword"}


def keypress(item_id: str, key: str | None, **content: Any) -> dict[str, Any]:
    """Return a `keypress` item. The stimulus is the item's id, unless `content` says otherwise."""
    whole = {"stimulus": [{"text": f"# {item_id}"}], "keys": KEYS, **content}
    return _item(item_id, "keypress", key, whole)


def choice(item_id: str, **content: Any) -> dict[str, Any]:
    """Return a `multiple_choice` item. Its prompt is the item's id, and its second option is right."""
    return _item(item_id, "multiple_choice", 2, {"prompt": item_id, "options": ["one", "two"], **content})


def recall(item_id: str, key: Sequence[str], **content: Any) -> dict[str, Any]:
    """Return a `recall` item. Its prompt is the item's id."""
    return _item(item_id, "recall", [*key], {"prompt": item_id, **content})


def make_timed_study(folder: Path, items: Sequence[Mapping[str, Any]], more: str = "", practice: int = 0) -> Path:
    """Write a study to a new folder, and return the folder.

    Parameters
    ----------
    folder
        The new folder.
    items
        The items. The test items have a random order.
    more
        Further lines of `study.yaml`.
    practice
        Number of the first items that are practice.
    """
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "red.png").write_bytes(picture(colour="red", size=(120, 80)))
    (folder / "assets" / "mask.png").write_bytes(picture(colour="grey", size=(160, 120)))
    (folder / "assets" / "tone.wav").write_bytes((MEDIA / "tone.wav").read_bytes())
    lines = [{"battery": "timed", "version": "1.0"}, *items]
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "instructions.md").write_text("# Welcome\n", encoding="utf-8")
    ids = json.dumps([item["item_id"] for item in items[:practice]])
    (folder / "study.yaml").write_text(f"{STUDY}practice: {ids}\n{more}", encoding="utf-8")
    return folder


def _item(item_id: str, task: str, key: Any, content: dict[str, Any]) -> dict[str, Any]:
    return {"item_id": item_id, "task": task, "factors": {"topic": "test"}, "content": content, "key": key}
