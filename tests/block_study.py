"""A small study with two blocks, and with sequences of a study list and its probe, for tests of several packages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

WORDS = {"l1": "apple", "l2": "river", "l3": "candle", "l4": "window"}
MATERIAL = {"l1": "pictures", "l2": "pictures", "l3": "words", "l4": "words"}
CHECK = "Please choose the second answer."
STUDY: dict[str, Any] = {
    "study": "lists",
    "version": "1.0",
    "title": "Lists",
    "battery": "battery.yaml",
    "practice": ["practice-1"],
    "attention_checks": ["check-1"],
    "design": {
        "method": "latin_square",
        "groups": 2,
        "rows": ["list"],
        "cells": ["delay"],
        "versions": "step",
        "offset_versions": False,
    },
    "order": {"attention_check_spacing": 1, "sequence": {"of": ["list", "delay"], "by": "step"}},
    "blocks": {
        "of": "material",
        "order": "balanced",
        "levels": [
            {"level": "pictures", "instructions": ["pictures.md"]},
            {"level": "words", "instructions": ["words.md", "words-more.md"]},
        ],
    },
    "timing": {"fixation_ms": 50},
    "timeline": {"consent": "consent.md", "instructions": ["instructions.md"], "breaks": {"every": 3}},
    "recruitment": {"entry": "open"},
}
PAGES = {
    "consent.md": "# Consent\n\nYou agree to take part.\n",
    "instructions.md": "# Instructions\n\nRemember each word.\n",
    "pictures.md": "# Now pictures\n\nImagine each thing.\n",
    "words.md": "# Now words\n\nSay each word aloud.\n",
    "words-more.md": "# More about words\n\nSay them twice.\n",
}


def make_block_study(folder: Path, change: Callable[[dict[str, Any]], None] = lambda _study: None) -> Path:
    """Write the study to a new folder, and return the folder. `change` can change the content of study.yaml before."""
    folder.mkdir(parents=True)
    content = yaml.safe_load(yaml.safe_dump(STUDY))  # a copy without parts in common
    change(content)
    items = [_question(name, "Which animal barks?", ["cat", "dog"], 2) for name in content["practice"]]
    items += [_question(name, CHECK, ["a", "b"], 2) for name in content["attention_checks"]]
    for name, word in WORDS.items():
        for delay in ("long", "short"):
            factors = {"list": name, "material": MATERIAL[name], "delay": delay}
            study, probe = (f"{name}.{delay}.{step}" for step in ("study", "probe"))
            lines = f"Remember: {word} ({delay})"
            items.append(_question(study, lines, ["I have read it", "I have not"], 1, step=1, **factors))
            items.append(_question(probe, f"Was it {word} ({delay})?", ["no", "yes"], 2, step=2, **factors))
    files = PAGES | {
        "study.yaml": yaml.safe_dump(content, sort_keys=False),
        "battery.yaml": yaml.safe_dump({"battery": "lists", "version": "1.0", "items": items}, sort_keys=False),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _question(item_id: str, prompt: str, options: list[str], key: int, **factors: Any) -> dict[str, Any]:
    content = {"prompt": prompt, "options": options}
    return {"item_id": item_id, "task": "multiple_choice", "factors": factors, "content": content, "key": key}
