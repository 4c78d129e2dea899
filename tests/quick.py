"""Run the tests that touch what changed: `make quick` does, after the checks of style and types.

A test file is run if it changed, if it imports a changed module, or if it imports a module that imports a changed one.
Left out, for `make test`: real browsers, PsychoPy windows, PostgreSQL, the recipes of `deploy/`, and whole commands.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
ROOMS = ("batteries", "experiment", "server", "analysis", "equipoise")
SLOW = (
    "tests/end_to_end/", "tests/deploy/", "tests/docs/", "tests/server/store/postgres/", "tests/experiment/lab/",
    "tests/equipoise/stores/", "tests/equipoise/test_command_line.py", "tests/equipoise/test_analyze.py",
    "tests/equipoise/test_study_changes.py", "tests/equipoise/test_csv_exports.py", "tests/server/test_gateway.py",
    "tests/server/test_serve.py", "tests/server/test_api_fuzz.py", "tests/analysis/test_analyze.py",
    "tests/test_postgres_cluster.py",
)  # fmt: skip
"""Where `make test` spends most of its time."""


def changed_files() -> list[str]:
    """Return the files that differ from the last commit; without any, those that the last commit changed."""
    return _git("diff", "--name-only", "HEAD") + _git("ls-files", "--others", "--exclude-standard") or _git(
        "diff", "--name-only", "HEAD~1"
    )


def tests_for(changed: Iterable[str], test_files: Iterable[Path]) -> list[str]:
    """Return the test files that touch the changed files, sorted, without the slow ones.

    Parameters
    ----------
    changed : iterable of str
        Changed files, from the root of the project.
    test_files : iterable of Path
        Every test file.
    """
    changed = set(changed)
    modules = {_module(name) for name in changed if name.endswith(".py") and name.startswith(ROOMS)}
    graph = grimp.build_graph(*ROOMS)
    for module in modules & graph.modules:
        modules = modules | graph.find_modules_that_directly_import(module)
    chosen = []
    for path in test_files:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(SLOW) and (name in changed or imported_modules(path) & modules):
            chosen.append(name)
    return sorted(chosen)


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


def main() -> int:
    """Run the chosen tests and say what was left out."""
    chosen = tests_for(changed_files(), (ROOT / "tests").rglob("test_*.py"))
    if not chosen:
        print("No quick test touches what changed. `make test` runs all.")  # noqa: T201
        return 0
    print(f"{len(chosen)} test files touch what changed; browsers, windows and PostgreSQL: `make test`.")  # noqa: T201
    options = ["--quiet", "--numprocesses", "2", "--dist", "worksteal", "-m", "not lab", "-k", "not postgres"]
    return subprocess.run([sys.executable, "-m", "pytest", *options, *chosen], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
