"""`make quick` runs the tests that touch what changed, and none of the slow ones."""

from pathlib import Path

from tests import quick

EVERY_TEST = list((quick.ROOT / "tests").rglob("test_*.py"))


def test_a_changed_module_runs_the_tests_that_import_it_and_those_of_its_importers() -> None:
    chosen = quick.tests_for(["analysis/statistics/grim.py"], EVERY_TEST)
    assert "tests/analysis/statistics/test_grim.py" in chosen
    assert "tests/analysis/audit/test_table.py" in chosen or any("audit" in name for name in chosen)
    assert "tests/batteries/test_items.py" not in chosen


def test_a_changed_test_runs_itself_unless_it_is_slow() -> None:
    changed = ["tests/batteries/test_items.py", "tests/end_to_end/test_browser.py"]
    assert quick.tests_for(changed, EVERY_TEST) == ["tests/batteries/test_items.py"]


def test_a_changed_document_runs_no_test() -> None:
    assert quick.tests_for(["README.md"], EVERY_TEST) == []


def test_every_slow_place_exists() -> None:
    assert all((quick.ROOT / name).exists() for name in quick.SLOW)


def test_imports_of_modules_and_of_names_are_found(tmp_path: Path) -> None:
    source = tmp_path / "test_one.py"
    source.write_text("import analysis.study\nfrom batteries import items\n", encoding="utf-8")
    assert quick.imported_modules(source) == {"analysis.study", "batteries", "batteries.items"}
