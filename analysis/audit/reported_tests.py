"""Hypothesis tests in the rows of a table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from analysis.audit.headers_and_cells import STATISTICS, Printed, PrintedResult, plain, read_dfs, read_result, role_of
from analysis.audit.table import PublishedTable, Row
from analysis.statistics.grim import rounding_bounds
from analysis.statistics.reported_p import Bounds

_KINDS = {
    "t": r"\bt[ -]?tests?\b|\bstudent|\bwelch",
    "F": r"\banova\b|analysis of variance|\bf[ -]?tests?\b",
    "chi2": r"\bchi",
    "r": r"\bcorrelation|\bpearson",
    "z": r"\bz[ -]?tests?\b",
}
PAIRED = re.compile(r"\bpaired|\bdependent|\bwithin|\brepeated|\bmatched|\bone[ -]sample")
INDEPENDENT = re.compile(r"\bindependent|\bbetween|\bunpaired|\btwo[ -]sample|\bone[ -]way")
MIXED_MODEL = re.compile(r"\bsatterthwaite|\bkenward|\bmixed")
"""Pattern of tests whose degrees of freedom do not follow from the number of participants."""
_ROUNDED_DF = re.compile(
    rf"{MIXED_MODEL.pattern}|\bwelch|\bunequal|\bbrown|\bgreenhouse|\bgeisser|\bhuynh|\bfeldt|\bsphericity"
)
"""Pattern of tests whose exact degrees of freedom are usually not whole numbers. A paper may print rounded numbers."""


@dataclass(frozen=True)
class ReportedTest:
    """A hypothesis test in a row of a table."""

    row: Row
    kind: str | None
    """The kind of statistic (one of `STATISTICS`), such as `t` or `F`; None if the row does not state the kind."""
    statistic: Decimal
    dfs: tuple[Decimal, ...]
    """The printed degrees of freedom; empty if the row does not have degrees of freedom."""
    p: Printed | None
    words: str
    """The name of the test in the row, in the form that `plain` returns."""
    has_rounded_df: bool
    """True if the degrees of freedom may be rounded, as in Welch's test. It is true if the row names such a test. It
    is also true if any test of the same kind in the table has degrees of freedom with decimals, such as `41.0`.
    """

    is_wald: bool = False
    """True if the statistic is Wald's chi-square."""

    @property
    def bounds(self) -> Bounds:
        """The lowest and the highest value that round to the statistic."""
        return rounding_bounds(self.statistic)

    @property
    def df_bounds(self) -> list[Bounds]:
        """For each printed number of degrees of freedom, the lowest and the highest value that round to it.

        If `has_rounded_df` is false, both values are the printed number.
        """
        return [rounding_bounds(df) if self.has_rounded_df else (Fraction(df), Fraction(df)) for df in self.dfs]

    @property
    def is_named(self) -> bool:
        """True if the row names a test whose degrees of freedom follow from its n, such as a paired t test."""
        plain_test = any(re.search(_KINDS[kind], self.words) for kind in ("t", "r", "chi2"))
        return plain_test or bool(PAIRED.search(self.words) or INDEPENDENT.search(self.words))

    def with_dfs(self, dfs: tuple[Decimal, ...] | tuple[int, ...] = ()) -> str:
        """Return the statistic as text, such as `t(27) = 2.1`.

        The default degrees of freedom are the printed degrees of freedom.
        """
        inside = ", ".join(str(df) for df in dfs or self.dfs)
        return f"{self.kind}{f'({inside})' if inside else ''} = {self.statistic}"


def reported_tests(table: PublishedTable) -> Iterator[ReportedTest]:
    """Yield the tests of all rows with a readable statistic."""
    tests = list(_tests_of_rows(table))
    with_decimals = {test.kind for test in tests if any(df.as_tuple().exponent for df in test.dfs)}
    for test in tests:
        yield replace(test, has_rounded_df=test.has_rounded_df or test.kind in with_decimals)


def _tests_of_rows(table: PublishedTable) -> Iterator[ReportedTest]:
    for row in table.rows:
        words = row.text("test")
        if not words and role_of(table.roles.get("label", "")) == "test":
            words = row.label
        for role in ("statistic", *STATISTICS):
            result = read_result(row.text(role))
            if result is not None:
                yield _reported(row, role, result, plain(words))
        wald = read_result(row.text("wald"))
        if wald is not None:
            yield replace(_reported(row, "chi2", wald, plain(words)), dfs=(Decimal(1),), is_wald=True)


def _reported(row: Row, role: str, result: PrintedResult, words: str) -> ReportedTest:
    named = role if role in STATISTICS else None
    in_words = next((kind for kind, pattern in _KINDS.items() if re.search(pattern, words)), None)
    kind = result.kind or named or in_words
    return ReportedTest(
        row=row,
        kind=kind,
        statistic=result.statistic,
        dfs=_dfs(row, kind, result),
        p=row.printed("p") or result.p,
        words=words,
        has_rounded_df=_ROUNDED_DF.search(words) is not None,
    )


def _dfs(row: Row, kind: str | None, result: PrintedResult) -> tuple[Decimal, ...]:
    """Return the degrees of freedom of a test, from the cell of the statistic or from columns such as `df`."""
    n_needed = {"F": 2, "z": 0}.get(kind or "", 1)
    first, second = row.number("df1"), row.number("df2")
    ways = (
        result.dfs,
        read_dfs(row.text("df"), both=kind == "F") or (),
        (first, second) if first is not None and second is not None else (),
        (second,) if second is not None and first is None else (),
    )
    return next((dfs for dfs in ways if n_needed and len(dfs) == n_needed), ())
