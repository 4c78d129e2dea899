"""Template sets, and batteries that were built from them."""

from pathlib import Path

import pytest

from batteries.items import Battery
from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.building import battery_of


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published.write_template_set(tmp_path_factory.mktemp("published") / "templates")


@pytest.fixture(scope="session")
def plain(templates: Path) -> Battery:
    """A battery that is built without a spec: every template, all four levels, first person, five variants."""
    return battery_of(templates)


@pytest.fixture(scope="session")
def third(templates: Path) -> Battery:
    """A battery with both points of view."""
    return battery_of(templates, {"pov": ["first", "third"], "variants": 2}, seed=2)


@pytest.fixture(scope="session")
def perturbed(templates: Path) -> Battery:
    """Clean and perturbed texts of the same instances."""
    noise = [{}, {"spacing_proportion": 0.5}, {"spelling_letters": 5}, {"capitalisation_letters": 10}]
    return battery_of(templates, {"variants": 1, "inference_levels": [2], "perturbations": noise}, seed=3)
