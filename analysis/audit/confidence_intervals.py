"""Confidence intervals compared with their means or estimates, and with standard errors.

A confidence interval is the estimate, plus and minus a quantile of t or z times the standard error. Printed numbers
are rounded. So each check considers every value that rounds to the printed number.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, log

from scipy.stats import norm, t

from analysis.audit.degrees_of_freedom import row_n
from analysis.audit.headers_and_cells import Printed, read_dfs, read_interval
from analysis.audit.means_and_percentages import mean_and_sd
from analysis.audit.reported_tests import ReportedTest, reported_tests
from analysis.audit.standard_errors import bounds_of, error_of_mean, overlap, size_of
from analysis.audit.table import (
    CONSISTENT,
    IMPOSSIBLE,
    INCONSISTENT,
    NOT_CHECKABLE,
    SUSPICIOUS,
    THE_TABLE,
    Design,
    Finding,
    PublishedTable,
    Row,
)
from analysis.statistics.intervals import Interval

USUAL = 0.95
"""Assumed confidence level of an interval if the table does not print the level."""

FEWEST_DF = 10
"""Smallest number of degrees of freedom that the audit considers if the table does not print degrees of freedom."""


@dataclass(frozen=True)
class _Printed:
    """A printed confidence interval.

    For each printed number, it has the lowest and the highest value that round to this number.
    """

    center: Interval
    """The lowest and the highest value of the mean or estimate."""
    error: Interval
    """The lowest and the highest value of the standard error."""
    low: Interval
    high: Interval

    @property
    def is_symmetric(self) -> bool:
        middle = Interval((self.low.low + self.high.low) / 2, (self.low.high + self.high.high) / 2)
        return overlap(self.center, middle)

    @property
    def contains_center(self) -> bool:
        return overlap(self.center, Interval(self.low.low, self.high.high))

    def fits(self, quantile: Interval) -> bool:
        """Return True if the interval can be the mean or estimate ± `quantile` × standard error."""
        half = Interval(quantile.low * self.error.low, quantile.high * self.error.high)
        return (
            self.is_symmetric
            and overlap(half, Interval((self.high.low - self.low.high) / 2, (self.high.high - self.low.low) / 2))
            and overlap(Interval(self.center.low - half.high, self.center.high - half.low), self.low)
            and overlap(Interval(self.center.low + half.low, self.center.high + half.high), self.high)
        )

    def logarithms(self) -> "_Printed":
        """Return the logarithms of the interval's bounds, for example if log odds have an interval of odds ratios."""

        def logs(bounds: Interval) -> Interval:
            return Interval(*(log(bound) if bound > 0 else -inf for bound in bounds))

        return replace(self, low=logs(self.low), high=logs(self.high))


def confidence_intervals(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Compare each confidence interval with its mean or estimate and the standard error."""
    if not ("ci" in table.roles or {"ci_low", "ci_high"} <= set(table.roles)):
        return
    is_mean = "estimate" not in table.roles
    if not is_mean and {"mean", "mean_sd"} & set(table.roles):
        words = "the table has means and estimates. It is unknown whether the CIs are those of means or of estimates."
        yield Finding(THE_TABLE, "CI", "", "", NOT_CHECKABLE, words)
        return
    tests = {test.row.name: test for test in reported_tests(table)}
    for row in table.rows:
        center = mean_and_sd(row)[0] if is_mean else row.printed("estimate")
        bounds, error = _bounds(row), _error(row, is_mean=is_mean)
        if bounds is not None and bounds[0].number > bounds[1].number:
            words = "the lower bound of a confidence interval cannot be above its upper bound."
            yield Finding(row.name, "CI", _listed(*bounds), "", IMPOSSIBLE, words)
        elif bounds is not None and error is not None and center is not None and center.relation == "=":
            dfs = _dfs(row, tests.get(row.name), is_mean=is_mean)
            yield _compared(row, center, bounds, error, dfs, is_mean=is_mean)


def _bounds(row: Row) -> tuple[Printed, Printed] | None:
    low, high = row.printed("ci_low"), row.printed("ci_high")
    of_columns = (low, high) if low and high and low.relation == high.relation == "=" else None
    return read_interval(row.text("ci")) or of_columns


def _listed(low: object, high: object) -> str:
    return f"[{low}, {high}]"


def _error(row: Row, *, is_mean: bool) -> Interval | None:
    """Return the lowest and the highest value of the standard error.

    They come from the printed standard error, from SD / √n, or from both.
    """
    se, n, sd = row.printed("se"), row_n(row), mean_and_sd(row)[1]
    printed = size_of(se.number) if se and se.relation == "=" else None
    computed = error_of_mean(sd, n) if is_mean and sd and sd.relation == "=" and n and n > 1 else None
    if printed is None or computed is None:
        return printed or computed
    both = Interval(max(printed.low, computed.low), min(printed.high, computed.high))
    return both if both.low <= both.high else printed


def _dfs(row: Row, test: ReportedTest | None, *, is_mean: bool) -> dict[str, Interval]:
    """Return the degrees of freedom that the interval of a row can have, each with its lowest and highest value.

    The keys are the degrees of freedom as text.
    """
    dfs: dict[str, Interval] = {}
    n = row_n(row)
    if is_mean and n and n > 1:
        dfs[str(n - 1)] = Interval(n - 1, n - 1)
    # The degrees of freedom of z, F and chi-square are not those of the interval.
    printed = (read_dfs(row.text("df"), both=False) or ()) if test is None else test.dfs if test.kind == "t" else ()
    for df in printed:
        if df >= 1:
            dfs.setdefault(str(df), bounds_of(df))
    return dfs


def _level(row: Row) -> float | None:
    """Return the confidence level in the cell or in the header of the interval, such as .95."""
    for text in (row.text("ci"), row.roles.get("ci", ""), row.roles.get("ci_low", "")):
        found = re.search(r"(\d+(?:\.\d+)?)\s*%", text)
        if found:
            percent = Decimal(found[1])
            return float(percent if percent > 50 else 100 - 2 * percent) / 100  # `2.5 %` is a bound of a 95 % CI.
    return None


def _quantile(confidence: float, df: Interval) -> Interval:
    low, high = (float(t.ppf(0.5 + confidence / 2, bound)) for bound in (df.high, df.low))
    return Interval(low, high)


def _z(confidence: float) -> Interval:
    z = float(norm.ppf(0.5 + confidence / 2))
    return Interval(z, z)


def _compared(
    row: Row,
    center: Printed,
    bounds: tuple[Printed, Printed],
    error: Interval,
    dfs: dict[str, Interval],
    *,
    is_mean: bool,
) -> Finding:
    level = _level(row)
    confidence = level or USUAL
    z, quantiles = _z(confidence), {df: _quantile(confidence, bound) for df, bound in dfs.items()}
    as_printed = _Printed(bounds_of(center.number), error, *(bounds_of(bound.number) for bound in bounds))
    scales = [as_printed, as_printed.logarithms()] if "ratio" in row.roles else [as_printed]
    half = next(iter(quantiles.values()), z).low * sum(error) / 2
    decimals = max(bound.decimals for bound in bounds)
    expected = _listed(*(f"{float(center.number) + sign * half:.{decimals}f}" for sign in (-1, 1)))
    named, name = f"{100 * confidence:g} % CI", "mean" if is_mean else "estimate"
    printed = _listed(*bounds)

    def finding(verdict: str, words: str) -> Finding:
        return Finding(row.name, "CI", printed, expected, verdict, words)

    for df, quantile in quantiles.items():
        if any(scale.fits(quantile) for scale in scales):
            return finding(CONSISTENT, f"{printed} is the {named} of {center} (t distribution, df = {df}).")
    if any(scale.fits(z) for scale in scales):
        if not (is_mean and dfs):
            return finding(CONSISTENT, f"{printed} is the {named} of {center} (normal distribution).")
        words = (
            f"{printed} is the {named} of {center} with the normal distribution. With the t distribution "
            f"(df = {next(iter(dfs))}), the CI is {expected}."
        )
        return finding(SUSPICIOUS, words)
    if not any(scale.contains_center for scale in scales):
        return finding(INCONSISTENT, f"the {named} {printed} does not contain the {name} {center}.")
    if not any(scale.is_symmetric for scale in scales):
        words = (
            f"the {name} {center} is not in the middle of the {named} {printed}. Some methods, such as a bootstrap or "
            "a profile likelihood, give such intervals. A paper that uses such a method must name it."
        )
        return finding(SUSPICIOUS, words)
    if not dfs and any(scale.fits(Interval(z.low, _quantile(confidence, _FEWEST).high)) for scale in scales):
        return finding(
            CONSISTENT, f"{printed} can be the {named} of {center} (t distribution); no degrees of freedom are printed."
        )
    words = f"the {named} of {center} is {expected}, but {printed} is printed"
    for other in (0.9, 0.95, 0.99):
        of_other = [_z(other), *(_quantile(other, df) for df in dfs.values())]
        if other != confidence and any(as_printed.fits(quantile) for quantile in of_other):
            words += f", which is right for a {100 * other:g} % CI"
    if level is None:
        return finding(SUSPICIOUS, f"{words}. The level of the CI is not printed; the audit used {100 * USUAL:g} %.")
    return finding(INCONSISTENT, f"{words}.")


_FEWEST = Interval(FEWEST_DF, FEWEST_DF)
