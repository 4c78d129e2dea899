"""Pinned versions: a server has those of the constraints, with hashes; the laboratory's versions are separate."""

import re
import tomllib

import pytest

from tests.paths import ROOT

HASHED = ("deploy/requirements.txt", "deploy/build-requirements.txt")
CONSTRAINTS = ("constraints.txt", "constraints-lab.txt")


def pins(name: str) -> dict[str, str]:
    """Return the exact versions in a file by package name, including versions for other systems."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(re.findall(r"^([\w.-]+)==([\w.!+]+)", "\n".join(lines), re.MULTILINE))


def normalized(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=;!~ ]", requirement)[0]).lower()


@pytest.mark.parametrize("name", HASHED)
def test_packages_of_a_server_are_pinned_as_in_the_constraints_and_hashed(name: str) -> None:
    constraints = pins("constraints.txt")
    assert pins(name)
    assert pins(name).items() <= constraints.items()
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(name))
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block


@pytest.mark.parametrize("name", [*HASHED, *CONSTRAINTS])
def test_no_file_of_versions_names_a_package_index(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|--index|--extra-index|--find-links|--trusted", text)


def test_all_dependencies_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    server = {normalized(one) for one in (*project["project"]["dependencies"], *extras["postgres"])}
    assert server <= {normalized(name) for name in pins("deploy/requirements.txt")}
    all_but_lab = {*server, *(normalized(one) for name in ("models", "docs", "export", "dev") for one in extras[name])}
    assert all_but_lab | {"hatchling"} <= {normalized(name) for name in pins("constraints.txt")}
    lab = {normalized(one) for name in ("lab", "dev") for one in extras[name]}
    assert lab | {"hatchling"} <= {normalized(name) for name in pins("constraints-lab.txt")}


def test_the_laboratorys_old_libraries_do_not_reach_the_server() -> None:
    def major(name: str) -> int:
        return int(pins(name)["pillow"].partition(".")[0])

    assert major("constraints-lab.txt") < major("constraints.txt") == major("deploy/requirements.txt")
    assert not any("psychopy" in name or "pyqt" in name for name in pins("constraints.txt"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "PIP_CONSTRAINT := $(CURDIR)/constraints-lab.txt" in makefile


def test_every_pip_applies_the_constraints_to_builds() -> None:
    """Until 25.2 pip applies PIP_CONSTRAINT to a build; from 25.3 pip applies only PIP_BUILD_CONSTRAINT."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for variable in ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"):
        assert re.search(rf"^export {variable} := \$\(CURDIR\)/constraints\.txt$", makefile, re.MULTILINE)
