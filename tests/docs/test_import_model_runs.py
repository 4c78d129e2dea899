"""The example of a map on the page about imports runs, and prints the output of the page."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import equipoise
from equipoise.cli.main import main
from experiment.models.imports.column_map import ColumnMap
from tests.docs.test_docs import DOCS, documented_in, fences

PAGE = DOCS / "how-to" / "import-model-runs.md"


def test_the_example_of_a_wide_table_prints_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    equipoise.new("my-study")
    blocks = list(fences(PAGE))
    by_words = {words: text for words, text in blocks if " " in words}
    Path("choices.csv").write_text(by_words["csv choices"], encoding="utf-8")
    Path("map.yaml").write_text(by_words["yaml map"], encoding="utf-8")
    (command,) = [text for words, text in blocks if words == "console" and "map.yaml" in text]
    done = CliRunner().invoke(main, shlex.split(command.removeprefix("$ "))[1:])
    assert done.exit_code == 0, done.output
    assert done.stdout == by_words["text choices"]


def test_every_name_of_a_map_is_documented() -> None:
    known = set(ColumnMap.model_fields) - {"runs", "values"}
    assert documented_in(PAGE, "Map the columns of a table") >= known
