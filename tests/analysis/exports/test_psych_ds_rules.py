"""The check by the rules of Psych-DS finds a mistake of each kind."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.analysis.exports.psych_ds_rules import psych_ds_problems

DATA = Path("data", "study-demo_data.csv")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Return a small dataset without mistakes."""
    (tmp_path / "data").mkdir()
    description = {"@context": "http://schema.org/", "@type": "Dataset", "name": "Demo", "description": "A demo.",
                   "variableMeasured": ["row_id", {"@type": "PropertyValue", "name": "rt_ms"}]}  # fmt: skip
    (tmp_path / "dataset_description.json").write_text(json.dumps(description))
    (tmp_path / DATA).write_text("row_id,rt_ms\n1,200\n2,300\n")
    for name in ("README.md", "CHANGES.md", ".psychdsignore"):
        (tmp_path / name).write_text("LICENSE\n")
    (tmp_path / "LICENSE").touch()
    return tmp_path


def test_a_dataset_without_mistakes_has_no_problem(dataset: Path) -> None:
    assert psych_ds_problems(dataset) == []


def _described(folder: Path, **changes: object) -> None:
    path = folder / "dataset_description.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


MISTAKES: dict[str, Callable[[Path], object]] = {
    "missing, or not JSON": lambda folder: (folder / "dataset_description.json").write_text("{"),
    "there is no CSV file": lambda folder: (folder / DATA).unlink(),
    "README.md: recommended": lambda folder: (folder / "README.md").unlink(),
    "notes.txt: not part of Psych-DS": lambda folder: (folder / "notes.txt").touch(),
    "the name is not made of keywords": lambda folder: (folder / DATA).rename(folder / "data" / "Study-1_data.csv"),
    "has a keyword that is not official": lambda folder: (folder / DATA).rename(folder / "data" / "lab-1_data.csv"),
    "are not a Dataset of schema.org": lambda folder: _described(folder, **{"@type": "Thing"}),
    "the metadata have no `name`": lambda folder: _described(folder, name=""),
    "the column `rt_ms` is not in `variableMeasured`": lambda folder: _described(folder, variableMeasured=["row_id"]),
    "the header is missing": lambda folder: (folder / DATA).write_text("rt_ms,rt_ms\n1,2\n"),
    "line 2 has 1 cells": lambda folder: (folder / DATA).write_text("row_id,rt_ms\n1\n"),
    "`row_id` is not unique": lambda folder: (folder / DATA).write_text("row_id,rt_ms\n1,2\n1,3\n"),
}


@pytest.mark.parametrize("problem", sorted(MISTAKES))
def test_a_mistake_is_found(dataset: Path, problem: str) -> None:
    MISTAKES[problem](dataset)
    assert any(problem in sentence for sentence in psych_ds_problems(dataset))
