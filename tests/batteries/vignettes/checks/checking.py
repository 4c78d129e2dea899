"""Helpers that plant mistakes in a template set and read the messages."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from equipoise.cli.main import main
from tests.batteries.vignettes import published_format as published

Plant = Callable[[Path], None]


def check(templates: Path, *options: str | Path) -> Result:
    return CliRunner().invoke(main, ["battery", "check", str(templates), *map(str, options)])


def complaints(result: Result) -> list[str]:
    """Return the lines of a refusal; a traceback is not a refusal."""
    if result.exit_code == 0:
        pytest.fail(f"nothing was found:\n{result.output}")
    if not isinstance(result.exception, SystemExit):
        raise AssertionError("check ended in a traceback") from result.exception
    return result.stderr.removeprefix("Error: ").strip().splitlines()


FIX_WORDS = re.compile(
    r"\b(add|ask|change|check|choose|define|delete|did you mean|drop|empty|export|fill|give|keep|leave|list|loosen"
    r"|make|mark|mean|correct|move|name|need|put|remove|rename|replace|save|set|spell|split|take|use|write)\b"
    r"|there are|the columns are|should|has the texts",
    re.IGNORECASE,
)
"""Words of a fix, or of a list of allowed values."""


@dataclass(frozen=True)
class Mistake:
    """A planted mistake, its file, and the words that the message must contain to name the key."""

    name: str
    plant: Plant
    file: str
    key: tuple[str, ...]

    def reported_in(self, lines: list[str]) -> list[str]:
        """Return the lines that name file and key."""
        return [line for line in lines if self.file in line and all(says(word, line) for word in self.key)]


def says(word: str, line: str) -> bool:
    """Return True if a line has a word, or one of several words (`a|b`), not only inside a longer word."""
    return any(
        re.search(rf"(?<![A-Za-z0-9]){re.escape(one)}(?![A-Za-z0-9])", line, re.IGNORECASE) for one in word.split("|")
    )


MISTAKES: list[Mistake] = []


def cell(line: int, column: str, value: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Set a cell. Lines are counted from 1, as in messages."""

    def change(rows: list[list[str]]) -> list[list[str]]:
        rows[line - 1][rows[0].index(column)] = value
        return rows

    return change


def in_qa(qa_id: str) -> Callable[[Path], Path]:
    return lambda folder: published.qa_path(folder, qa_id)


def in_context(scenario: str) -> Callable[[Path], Path]:
    return lambda folder: published.context_path(folder, scenario)


CUP, STALL, BUS = "cracked_cup", "market_stall", "night_bus"


def _circle_of_switches(folder: Path) -> None:
    path = published.context_path(folder, STALL)
    published.edit_json(path, ("A", "switches", "switch_2", 0), "{vs[switch_3]}")
    published.edit_json(path, ("A", "switches", "switch_4", 0), "{vs[switch_1]}")


def _circle_through_a_filler(folder: Path) -> None:
    path = published.context_path(folder, BUS)
    published.edit_json(path, ("B", "filler", "3"), "{vs[switch_2]}")
    published.edit_json(path, ("B", "switches", "switch_2", 1), "saw that {vs[filler]}")


def _only_you(folder: Path) -> None:
    path = published.context_path(folder, BUS)
    published.edit_json(path, ("A", "context"), lambda old: old.replace("{vs[pov_5]}", "you"))
    for qa in ("3.1.0.0.a", "3.2.0.0.a"):
        published.edit_json(published.qa_path(folder, qa), ("question", "prompt"), "Why did {vs[name_1]} do that?")
    published.edit_json(published.qa_path(folder, "3.1.0.0.a"), ("question", "options", 2), "To sing.")
