"""Every mistake in a template set by itself, named with its file and place."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batteries.vignettes import published_format as published
from tests.batteries.vignettes.checks.checking import (
    MENDS,
    Mistake,
    check,
    complaints,
)
from tests.batteries.vignettes.checks.mistakes import MISTAKES


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_told_with_file_key_and_mend(templates: Path, mistake: Mistake) -> None:
    mistake.plant(templates)
    lines = complaints(check(templates))
    files = mistake.file.split("|")
    told = [
        line for line in lines if any(Mistake("", mistake.plant, file, mistake.key).told_in([line]) for file in files)
    ]
    assert told, f"no line names {mistake.file} and {mistake.key}:\n" + "\n".join(lines)
    assert any(MENDS.search(line.split(": ", 1)[-1]) for line in told), f"no line says what to do: {told}"


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
