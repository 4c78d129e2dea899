"""A sample study with vignettes."""

from pathlib import Path

import pytest

from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study


@pytest.fixture
def vignettes_folder(tmp_path: Path) -> Path:
    """A copy of the sample study with 144 test items."""
    folder = tmp_path / "vignettes"
    copy_sample_study("intuition-single", folder)
    return folder


@pytest.fixture
def vignettes(vignettes_folder: Path) -> Study:
    return load_study(vignettes_folder)
