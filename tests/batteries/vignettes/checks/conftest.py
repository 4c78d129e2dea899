"""A template set without mistakes, in which tests plant mistakes."""

from pathlib import Path

import pytest

from tests.batteries.vignettes import published_format as published


@pytest.fixture(scope="session")
def sound_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published.write_template_set(tmp_path_factory.mktemp("sound") / "templates")


@pytest.fixture
def templates(sound_set: Path, tmp_path: Path) -> Path:
    """A copy of the template set, in which a test plants mistakes."""
    return published.copy_of(sound_set, tmp_path / "templates")
