"""Fixtures of the runs of models."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.experiment.models.runs.inspect_needed import need_inspect


@pytest.fixture
def inspect_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Inspect write in a folder of the test. Skip the test if Inspect is not installed."""
    need_inspect()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "inspect"))
    yield
    gc.collect()
