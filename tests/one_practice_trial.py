"""The sample study with one practice trial, so that tests of other things than practice reach the questions quickly."""

import re
from pathlib import Path

from equipoise.studies import copy_sample_study

KEPT = "practice-1"


def copy_with_one_practice_trial(folder: Path) -> Path:
    """Copy the sample study, keep one of its practice items, and remove its practice criterion. Return the folder."""
    copy_sample_study("blackbox-predict", folder)
    definition, battery = folder / "study.yaml", folder / "battery.jsonl"
    text = definition.read_text(encoding="utf-8")
    found = re.search(r"^practice: \[(.*)\]\n(.*)\n(practice_criterion: .*)\n", text, flags=re.MULTILINE)
    assert found is not None, "study.yaml has no practice with a criterion"
    definition.write_text(text.replace(found[0], f"practice: [{KEPT}]\n{found[2]}\n#{found[3]}\n"), encoding="utf-8")
    others = set(found[1].split(", ")) - {KEPT}
    lines = battery.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not any(f'"item_id":"{item_id}"' in line for item_id in others)]
    assert len(kept) == len(lines) - len(others)
    battery.write_text("".join(kept), encoding="utf-8")
    return folder
