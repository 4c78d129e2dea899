"""A checklist: points with a verdict, a sentence on what was found, and a fix. Its text fits a terminal."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from batteries.errors import InputError


class Verdict(StrEnum):
    """Result of one point of a checklist."""

    PASSED = "passed"
    ATTENTION = "needs attention"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Point:
    """One point of a checklist."""

    subject: str
    """The subject in one to three words, such as `Answer keys`."""
    verdict: Verdict
    found: str
    """Sentences on what was found, or on the reason why the point was not checked."""
    fix: str = ""
    """One action, without `Fix:`; empty if the point passed."""


def passed(subject: str, found: str) -> Point:
    """Return a point without a problem."""
    return Point(subject, Verdict.PASSED, found)


def needs_attention(subject: str, found: str, fix: str) -> Point:
    """Return a point that the researcher must decide."""
    return Point(subject, Verdict.ATTENTION, found, fix)


def failed(subject: str, found: str, fix: str) -> Point:
    """Return a point that must be corrected before launch."""
    return Point(subject, Verdict.FAILED, found, fix)


def not_checked(subject: str, reason: str, fix: str = "") -> Point:
    """Return a point that was not checked. `reason` is a sentence."""
    return Point(subject, Verdict.NOT_CHECKED, reason, fix)


_LABEL_WIDTH = max(map(len, Verdict)) + 2


@dataclass(frozen=True)
class Checklist:
    """The checklist of a study."""

    title: str
    points: tuple[Point, ...]

    @property
    def has_failed(self) -> bool:
        """True if a point failed."""
        return any(point.verdict is Verdict.FAILED for point in self.points)

    def text(self, width: int = 80) -> str:
        """Return the checklist as text, with lines of at most `width` characters."""
        lines = [self.title, ""]
        for point in self.points:
            lines += _wrapped(f"{point.verdict:{_LABEL_WIDTH}}", f"{point.subject}: {point.found}", width)
            if point.fix:
                lines += _wrapped(" " * _LABEL_WIDTH, f"Fix: {point.fix}", width)
        return "\n".join([*lines, "", *textwrap.wrap(self._summary(), width)])

    def _summary(self) -> str:
        numbers = {verdict: sum(point.verdict is verdict for point in self.points) for verdict in Verdict}
        n_attention = numbers[Verdict.ATTENTION]
        counts = (
            f"{numbers[Verdict.PASSED]} passed, {n_attention} need{'s' * (n_attention == 1)} attention, "
            f"{numbers[Verdict.FAILED]} failed, {numbers[Verdict.NOT_CHECKED]} not checked"
        )
        if numbers[Verdict.FAILED]:
            return f"{counts}. Correct the failed points before you launch the study."
        if n_attention or numbers[Verdict.NOT_CHECKED]:
            return f"{counts}. No point failed. Decide the other points before you launch the study."
        return f"{counts}. Take the study once yourself before you launch it."


def _wrapped(label: str, sentence: str, width: int) -> list[str]:
    """Return a sentence as lines. The first line begins with a label, and the other lines are indented."""
    return textwrap.wrap(
        sentence,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )


def problem_and_fix(error: InputError) -> tuple[str, str]:
    """Return the first problem of an error and its fix, as a point has them."""
    problem, _, fix = str(error).splitlines()[0].partition(" Fix: ")
    return problem, fix


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return names as a text, such as `a, b and c`, or `a, b, and 4 more`.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcdefg", most=2)
    ('a, b and c', 'a, b and 5 more')
    """
    words = [str(name) for name in names]
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
