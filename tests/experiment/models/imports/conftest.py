"""A sample study with vignettes, and a minimal reader of replies while the tasks have none."""

import re
from pathlib import Path
from typing import Any

import pytest

from batteries.tasks import Task, task_named
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study


class StandIn:
    """The interface of `Reading`, for replies that begin with the number of an option."""

    def __init__(self, n_options: int, reply: str) -> None:
        found = re.match(r"\s*(\d+)\b", reply)
        self.response = int(found[1]) if found and 1 <= int(found[1]) <= n_options else None
        self.is_valid = self.response is not None
        self.rule = "number" if self.is_valid else "no_answer" if reply.strip() else "empty"


@pytest.fixture(autouse=True)
def _replies_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(Task, "read_reply"):

        def read_reply(_: Any, content: dict[str, Any], reply: str) -> StandIn:
            return StandIn(len(content["options"]), reply)

        monkeypatch.setattr(type(task_named("multiple_choice")), "read_reply", read_reply, raising=False)


@pytest.fixture
def vignettes_folder(tmp_path: Path) -> Path:
    """A copy of the sample study with 144 test items."""
    folder = tmp_path / "vignettes"
    copy_sample_study("intuition-single", folder)
    return folder


@pytest.fixture
def vignettes(vignettes_folder: Path) -> Study:
    return load_study(vignettes_folder)
