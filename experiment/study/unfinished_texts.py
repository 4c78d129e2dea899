"""Marks such as TODO in the texts that participants read. New study folders mark with TODO what only you know."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from batteries.files.file_reading import line_of
from experiment.study.definition import Study

GAP = re.compile(r"\b(?:TODO|FIXME|TBD)\b|lorem ipsum", re.IGNORECASE)
"""Signs of a text that is not finished."""


@dataclass(frozen=True)
class Gap:
    """A mark in a text that participants would read."""

    file: str
    line: int
    """Number of the line, from 1."""
    mark: str
    """The mark as written, such as `TODO`."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line} ({self.mark})"


def find_gaps(study: Study) -> list[Gap]:
    """Return the marks in the study's pages, and in the title and the texts of study.yaml, in this order."""
    pages = dict.fromkeys(study.definition.pages)
    return [gap for name in pages for gap in _in_page(name, study.texts[name])] + list(_in_definition(study))


def _in_page(name: str, text: str) -> Iterator[Gap]:
    for number, line in enumerate(text.splitlines(), start=1):
        if found := GAP.search(line):
            yield Gap(name, number, found[0])


def _in_definition(study: Study) -> Iterator[Gap]:
    definition, path = study.definition, study.folder / "study.yaml"
    own = [(("texts", name), text) for name, text in definition.texts.items()]
    for place, text in [(("title",), definition.title), *own]:
        if found := GAP.search(text):
            yield Gap(path.name, line_of(path, place), found[0])
