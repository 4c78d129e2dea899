"""A small study with PsychoPy trials, whose classes are those of the how-to page."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "write-your-own-psychopy-trial.md"
CLASSES = {"gabor": ("gabor.py", "Gabor"), "brightness": ("brightness.py", "Brightness")}
STUDY = """\
study: psychopy-trials
version: "1.0"
title: PsychoPy trials
battery: battery.jsonl
design: {method: deal, groups: 1, balance: [topic]}
timing: {fixation_ms: 200}
recruitment: {entry: open}
"""


def codes_of_page() -> dict[str, str]:
    """Return the Python files of the how-to page, by name."""
    page = PAGE.read_text(encoding="utf-8")
    return dict(re.findall(r"This file is `([a-z]+\.py)`:\n\n```python\n(.*?)^```$", page, re.M | re.S))


def psychopy_item(item_id: str, trial: str, key: Any, parameters: Mapping[str, Any], **content: Any) -> dict[str, Any]:
    """Return an item with the task `psychopy`."""
    whole = {"trial": trial, "parameters": parameters, **content}
    return {"item_id": item_id, "task": "psychopy", "factors": {"topic": "test"}, "content": whole, "key": key}


def tilt(item_id: str, orientation: float) -> dict[str, Any]:
    """Return an item of the class `Gabor`."""
    parameters = {"orientation": orientation, "contrast": 0.5, "speed_hz": 2}
    key = "left" if orientation < 0 else "right"
    return psychopy_item(item_id, "gabor", key, parameters, answers=["left", "right"])


def make_psychopy_study(
    folder: Path, items: Sequence[Mapping[str, Any]], more: str = "", codes: Mapping[str, tuple[str, str, str]] = {}
) -> Path:
    """Write a study to a new folder, and return the folder.

    Parameters
    ----------
    folder
        The new folder.
    items
        The items. Those with an id that begins with `practice` are practice.
    more
        Further lines of `study.yaml`.
    codes
        Further classes, by name: the name of their file, the name of the class, and the code.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = codes_of_page() | {file: code for file, _, code in codes.values()}
    for name, code in files.items():
        (folder / name).write_text(code, encoding="utf-8")
    named = CLASSES | {name: (file, class_name) for name, (file, class_name, _) in codes.items()}
    classes = {name: {"file": file, "class_name": class_name} for name, (file, class_name) in named.items()}
    lines = [{"battery": "psychopy-trials", "version": "1.0"}, *items]
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    practice = [item["item_id"] for item in items if item["item_id"].startswith("practice")]
    text = f"{STUDY}practice: {json.dumps(practice)}\npsychopy_trials: {json.dumps(classes)}\n{more}"
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return folder
