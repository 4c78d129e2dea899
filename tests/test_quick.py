"""`make quick` runs the tests of the changed files, and no slow tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import quick

EVERY_TEST = list((quick.ROOT / "tests").rglob("test_*.py"))


def test_a_changed_module_runs_the_tests_that_import_it_then_those_of_its_importers() -> None:
    chosen = quick.tests_for(["analysis/statistics/grim.py"], EVERY_TEST)
    assert chosen[0] == "tests/analysis/statistics/test_grim.py"
    assert "tests/analysis/audit/test_audit.py" in chosen[1:], (
        "it imports analysis.audit.means_and_percentages, an importer"
    )
    assert "tests/batteries/test_items.py" not in chosen


def test_a_changed_test_runs_itself_unless_it_is_slow() -> None:
    changed = ["tests/batteries/test_items.py", "tests/end_to_end/test_browser.py"]
    assert quick.tests_for(changed, EVERY_TEST) == ["tests/batteries/test_items.py"]


def test_a_changed_document_runs_no_test() -> None:
    assert quick.tests_for(["README.md"], EVERY_TEST) == []


def test_every_slow_path_exists() -> None:
    assert all((quick.ROOT / name).exists() for name in quick.SLOW)


def test_imports_of_modules_and_of_names_are_found(tmp_path: Path) -> None:
    source = tmp_path / "test_one.py"
    source.write_text("import analysis.study\nfrom batteries import items\n", encoding="utf-8")
    assert quick.imported_modules(source) == {"analysis.study", "batteries", "batteries.items"}


@pytest.mark.parametrize("seconds", [0.0, 600.0])
def test_a_run_ends_between_two_tests_when_its_time_is_over(tmp_path: Path, seconds: float) -> None:
    (tmp_path / "test_many.py").write_text(MANY_TESTS, encoding="utf-8")
    run = [sys.executable, "-c", RUN, str(tmp_path), str(seconds)]
    only_xdist = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(run, cwd=quick.ROOT, env=only_xdist, capture_output=True, text=True, check=True)
    is_over, n_tests = done.stdout.splitlines()[-1].split()
    assert is_over == str(seconds == 0)
    assert (int(n_tests) == 50) == (seconds > 0), done.stdout


MANY_TESTS = """
import time, pytest
@pytest.mark.parametrize("number", range(50))
def test_one(number):
    time.sleep(0.05)
"""
RUN = """
import sys, pytest
from tests.quick import TimeLimit
limit = TimeLimit(float(sys.argv[2]))
options = ["-p", "xdist", "--numprocesses", "2", "--dist", "load", "--maxschedchunk", "1", "-p", "no:cacheprovider"]
pytest.main([*options, sys.argv[1]], plugins=[limit])
print(limit.is_over, limit.n_tests)
"""
