"""Each mistake in a template set alone, reported with its file and key."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.checks.checking import (
    FIX_WORDS,
    Mistake,
    check,
    complaints,
)
from tests.batteries.vignettes.checks.mistakes import MISTAKES


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_reported_with_file_key_and_fix(templates: Path, mistake: Mistake) -> None:
    mistake.plant(templates)
    lines = complaints(check(templates))
    files = mistake.file.split("|")
    reported = [
        line
        for line in lines
        if any(Mistake("", mistake.plant, file, mistake.key).reported_in([line]) for file in files)
    ]
    assert reported, f"no line names {mistake.file} and {mistake.key}:\n" + "\n".join(lines)
    assert any(FIX_WORDS.search(line.split(": ", 1)[-1]) for line in reported), f"no line says what to do: {reported}"


def test_names_of_mistakes_are_distinct() -> None:
    names = [mistake.name for mistake in MISTAKES]
    assert len(set(names)) == len(names)


# Read the messages: `python -m tests.batteries.vignettes.checks.test_single_mistakes`.


def _aloud() -> Iterator[str]:
    for mistake in MISTAKES:
        with tempfile.TemporaryDirectory() as folder:
            templates = published.write_template_set(Path(folder) / "templates")
            mistake.plant(templates)
            result = check(templates)
            yield f"## {mistake.name}\n{result.stderr.replace(folder + '/', '')}{result.stdout}{result.exception!r}"


if __name__ == "__main__":
    print("\n".join(_aloud()))  # noqa: T201
