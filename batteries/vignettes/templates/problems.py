"""The mistakes in a set of templates, collected and reported together."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from batteries.errors import InputError


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a file."""

    file: Path
    key: str
    """Position in the file, such as `A.context` or `answers.01`. It is empty if the mistake concerns the whole file."""
    sentence: str
    """Description of the mistake and its correction."""

    def __str__(self) -> str:
        return f"{self.file}: {self.key + ': ' if self.key else ''}{self.sentence}"


class Problems(list[Problem]):
    """A growing list of mistakes."""

    def add(self, file: Path, key: str, sentence: str) -> None:
        """Append a mistake, unless the list has it already."""
        problem = Problem(file, key, sentence)
        if problem not in self:
            self.append(problem)

    def add_all(self, file: Path, found: Iterable[tuple[str, str]], inside: str = "") -> None:
        """Append a mistake for each pair of key and sentence. The text `inside` is put before each key."""
        for key, sentence in found:
            self.add(file, f"{inside}{key}", sentence)

    def raise_any(self) -> None:
        """Raise an InputError if there are mistakes. It has one line for each mistake, sorted by file and key."""
        if self:
            raise InputError("\n".join(str(problem) for problem in sorted(self)))
