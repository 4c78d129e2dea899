"""The packages of a release, and the script that checks a release."""

import importlib.util
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.paths import ROOT


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script for a copy of the checkout, because other tests write in the checkout at the same time."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "deploy" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    (tmp_path / "checkout").mkdir()
    monkeypatch.setattr(script, "ROOT", tmp_path / "checkout")
    monkeypatch.setattr(script, "DIST", tmp_path / "dist")
    return script


def copy_checkout(folder: Path) -> None:
    """Copy the files of the repository, and the bundle of the web client, which is not committed."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(ROOT / "experiment/web/static", folder / "experiment/web/static")


def test_the_wheel_runs_the_demo_without_node_and_without_a_compiler(release: ModuleType, tmp_path: Path) -> None:
    copy_checkout(release.ROOT)
    release.packages_build()
    release.wheel_is_complete()
    environment = tmp_path / "venv"
    venv.create(environment)
    (libraries,) = environment.glob("lib/python3.*/site-packages")
    with zipfile.ZipFile(release.wheel()) as wheel:
        wheel.extractall(libraries)
    (libraries / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    empty = tmp_path / "empty"
    empty.mkdir()
    python = str(environment / "bin" / "python")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": ""}
    origin = subprocess.run(
        [python, "-c", "import equipoise; print(equipoise.__file__)"],
        cwd=empty, env=variables, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert origin.startswith(str(libraries))
    done = subprocess.run(
        [python, "-m", "equipoise", "demo", "--no-serve", "-n", "4"],
        cwd=empty, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reports = empty.glob("equipoise-demo/*/results/report.html")
    assert {path.parents[1].name for path in reports} == {"intuition-single", "blackbox-predict"}


def a_wheel(folder: Path, names: set[str]) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "equipoise-0.1.0-py3-none-any.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, "")


@pytest.mark.parametrize(
    ("added", "removed", "problem"),
    [
        ({"server/data/researcher-token"}, set(), "has server/data/researcher-token"),
        ({"equipoise/studies/intuition-single/data/equipoise.db"}, set(), "has equipoise/studies"),
        ({"tests/conftest.py"}, set(), "has tests/conftest.py"),
        (set(), {"server/templates/study.html"}, "does not have server/templates/study.html"),
    ],
)
def test_a_wheel_without_data_files_or_with_private_files_is_refused(
    added: set[str], removed: set[str], problem: str, release: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {*release.NEEDED, *added} - removed
    a_wheel(release.DIST, names)
    monkeypatch.setattr(release, "rebuilt_names", lambda: names)
    with pytest.raises(release.CheckFailed, match=problem):
        release.wheel_is_complete()


@pytest.mark.parametrize(
    ("cited", "heading", "problem"),
    [
        ("0.9.0", "1.0.0 (2026-11-26)", "CITATION.cff has another version"),
        ("1.0.0", "1.0.0 (not released)", "no date"),
        ("1.0.0", "1.0.1 (2026-11-26)", "no date"),
    ],
)
def test_a_release_needs_one_version_and_a_date(
    cited: str, heading: str, problem: str, release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.0.0"\n')
    (tmp_path / "CITATION.cff").write_text(f"version: {cited}\n")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n## {heading}\n")
    with pytest.raises(release.CheckFailed, match=problem):
        release.versions_agree()


def test_a_failed_check_is_printed_and_the_script_exits_with_an_error(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def passes() -> str:
        """The first check."""
        return "a note"

    def fails() -> str:
        """The second check."""
        return str(release.run(sys.executable, "-c", "print('the reason'); exit(3)"))

    monkeypatch.setattr(release, "CHECKS", (passes, fails))
    with pytest.raises(SystemExit, match="1 of 2 checks failed"):
        release.main()
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first == "ok      The first check (a note)"
    assert second.startswith("FAILED  The second check: ")
    assert rest == ["the reason"]
