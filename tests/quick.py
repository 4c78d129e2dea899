"""Run the tests of the changed files, as `make quick` does after the checks of style and types.

A test file is run if it changed, if it imports a changed module, or if it imports a module that imports a changed
module. The test files run in this order, until the time is over. `make test` runs the slow tests, which are left out:
real browsers, PsychoPy windows, PostgreSQL, the recipes of `deploy/`, and whole commands.
"""

import ast
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("batteries", "experiment", "server", "analysis", "equipoise")
SLOW = (
    "tests/end_to_end/", "tests/deploy/", "tests/docs/", "tests/server/store/postgres/", "tests/experiment/lab/",
    "tests/equipoise/commands/store/", "tests/equipoise/test_command_line.py", "tests/equipoise/test_analyze.py",
    "tests/equipoise/commands/test_csv_exports.py", "tests/server/test_gateway.py",
    "tests/server/test_serve.py", "tests/server/test_api_fuzz.py", "tests/analysis/test_analyze.py",
    "tests/test_postgres_cluster.py",
)  # fmt: skip
"""Paths of the tests in which `make test` spends most of its time."""
TIME_S = 75
"""Time for the tests, in seconds; with the checks before them `make quick` stays under 90."""


def changed_files() -> list[str]:
    """Return the files that differ from the last commit; without such files, the files that the last commit changed."""
    return _git("diff", "--name-only", "HEAD") + _git("ls-files", "--others", "--exclude-standard") or _git(
        "show", "--name-only", "--format=", "HEAD"
    )


def tests_for(changed: Iterable[str], test_files: Iterable[Path]) -> list[str]:
    """Return the test files for the changed files, without slow test files; the nearest test files come first.

    Changed tests are nearest, then tests that import a changed module, then tests that import an importer of a changed
    module.

    Parameters
    ----------
    changed : iterable of str
        Changed files, from the root of the project.
    test_files : iterable of Path
        Every test file.
    """
    changed = set(changed)
    modules = {_module(name) for name in changed if name.endswith(".py") and name.startswith(ROOMS)}
    importers = _importers(modules) if modules else set()
    distances: dict[str, int] = {}
    for path in test_files:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(SLOW):
            continue
        imported = imported_modules(path) if modules else set()
        touches = (name in changed, bool(imported & modules), bool(imported & importers))
        if any(touches):
            distances[name] = touches.index(True)
    return sorted(distances, key=lambda name: (distances[name], name))


def _importers(modules: set[str]) -> set[str]:
    graph = grimp.build_graph(*ROOMS)
    return set().union(*map(graph.find_modules_that_directly_import, modules & graph.modules))


def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports, and the names it imports from them, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


class TimeLimit:
    """A plugin that ends a run of pytest-xdist between two tests when its time is over."""

    def __init__(self, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.n_tests = 0
        self.n_failed = 0
        self.is_over = False
        self.config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.n_tests += report.when == "call"
        self.n_failed += report.failed
        if self.config is not None and time.monotonic() > self.ends_at:
            self.is_over = True
            # pytest's own `session.shouldstop` does not end a run in several processes.
            self.config.pluginmanager.getplugin("dsession").shouldstop = f"{TIME_S} s are over"


def main() -> int:
    """Run the chosen tests and print what was left out."""
    chosen = tests_for(changed_files(), (ROOT / "tests").rglob("test_*.py"))
    if not chosen:
        print("No quick test touches what changed. `make test` runs all.")  # noqa: T201
        return 0
    print(f"{len(chosen)} test files touch what changed; browsers, windows and PostgreSQL: `make test`.", flush=True)  # noqa: T201
    limit = TimeLimit(TIME_S)
    options = [
        "--quiet",
        "--numprocesses",
        "2",
        "--dist",
        "load",
        "--maxschedchunk",
        "1",
        "-m",
        "not lab",
        "-k",
        "not postgres",
    ]
    status = pytest.main([*options, *(str(ROOT / name) for name in chosen)], plugins=[limit])
    if limit.is_over and not limit.n_failed:
        print(f"{TIME_S} s are over: {limit.n_tests} tests, the nearest ones, found no fault. `make test` runs all.")  # noqa: T201
        return 0
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
