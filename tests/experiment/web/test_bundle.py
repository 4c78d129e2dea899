"""The browser's bundle: it is built from the current sources, has correct types, and is small."""

import gzip
import os
import subprocess
from pathlib import Path

import pytest

from hatch_build import _is_stale, _npm_from_wheel, _system_npm
from tests.paths import ROOT

WEB = ROOT / "experiment" / "web"


def test_the_bundle_is_up_to_date_with_its_sources() -> None:
    assert not _is_stale(WEB), "the client has changed since its last build. Fix: run `make demo` or `pip install -e .`"


def test_the_client_passes_the_type_checker() -> None:
    npm = _system_npm() or _npm_from_wheel()
    environment = os.environ | {"PATH": f"{Path(npm[0]).parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*npm, *arguments], cwd=WEB, env=environment, capture_output=True, text=True, check=False)

    if not (WEB / "node_modules").is_dir():
        installed = run("ci", "--ignore-scripts", "--no-audit", "--no-fund")
        assert installed.returncode == 0, installed.stderr
    checked = run("run", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(("name", "most_kb"), [("equipoise.js", 80), ("equipoise.css", 12)])
def test_the_bundle_is_small(name: str, most_kb: int) -> None:
    assert len(gzip.compress((WEB / "static" / name).read_bytes())) < most_kb * 1024


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (WEB / "package-lock.json").read_text(encoding="utf-8")
