"""Standard errors compared with standard deviations, and test statistics compared with estimates and standard errors.

A standard error of a mean is SD / √n. A test statistic t or z is the estimate divided by its standard error, and
Wald's chi-square is the square of this ratio. Printed numbers are rounded. So each check considers every value that
rounds to the printed number.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import ceil, floor, inf, sqrt

from analysis.audit.degrees_of_freedom import row_n
from analysis.audit.headers_and_cells import Printed
from analysis.audit.means_and_percentages import mean_and_sd
from analysis.audit.reported_tests import ReportedTest, reported_tests
from analysis.audit.table import CONSISTENT, INCONSISTENT, SUSPICIOUS, Design, Finding, PublishedTable, Row
from analysis.statistics.grim import rounding_bounds
from analysis.statistics.intervals import Interval

TOLERANCE = 1e-9
"""Relative difference between two numbers that is attributed to floating-point rounding."""


def standard_errors(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Compare each standard error of a mean with the standard deviation and the number of values."""
    if "estimate" in table.roles:
        return  # The standard error is that of the estimate.
    for row in table.rows:
        sd, se, n = mean_and_sd(row)[1], row.printed("se"), row_n(row)
        if sd and se and n and n > 1 and sd.relation == se.relation == "=":
            yield _standard_error(row, sd, se, n)


def statistics(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Compare each t, z or Wald's chi-square with the estimate divided by its standard error."""
    for test in reported_tests(table):
        estimate, se = test.row.printed("estimate"), test.row.printed("se")
        is_ratio = test.kind in {"t", "z"} or test.is_wald
        if is_ratio and estimate and se and estimate.relation == se.relation == "=":
            yield _statistic(test, estimate, se)


def bounds_of(number: Decimal) -> Interval:
    """Return the lowest and the highest value that round to a number."""
    low, high = rounding_bounds(number)
    return Interval(float(low), float(high))


def size_of(number: Decimal) -> Interval:
    """Return the lowest and the highest absolute value that round to a number."""
    low, high = bounds_of(number)
    return Interval(0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))


def overlap(one: Interval, other: Interval) -> bool:
    """Return True if two intervals have a common value. A gap below `TOLERANCE` is ignored."""
    slack = TOLERANCE * max((abs(bound) for bound in (*one, *other) if abs(bound) < inf), default=0)
    return one.low <= other.high + slack and other.low <= one.high + slack


def error_of_mean(sd: Printed, n: int) -> Interval:
    """Return the lowest and the highest value of SD / √n."""
    size = size_of(sd.number)
    return Interval(size.low / sqrt(n), size.high / sqrt(n))


def _standard_error(row: Row, sd: Printed, se: Printed, n: int) -> Finding:
    error = size_of(se.number)
    expected = f"{float(sd.number) / sqrt(n):.{se.decimals}f}"
    words = f"{sd} / √{n} = {expected}"
    if overlap(error, error_of_mean(sd, n)):
        return Finding(row.name, "SE", str(se), expected, CONSISTENT, f"SE = SD / √n = {words}.")
    words = f"SD / √n = {words}, but SE = {se} is printed"
    if overlap(error, error_of_mean(sd, n - 1)):
        words += f", which is SD / √{n - 1}. Was the sum of squares of the SD divided by {n} instead of {n - 1}?"
        return Finding(row.name, "SE", str(se), expected, SUSPICIOUS, words)
    words += (
        f"{_needed_n(size_of(sd.number), error)}. The standard error of a model, or within participants, is not "
        "SD / √n. A paper that prints such a standard error must say so."
    )
    return Finding(row.name, "SE", str(se), expected, INCONSISTENT, words)


def _needed_n(deviation: Interval, error: Interval) -> str:
    """Return a remark with the n for which the printed SD and standard error agree; empty if there is no such n."""
    if not error.low:
        return ""
    least, most = ceil((deviation.low / error.high) ** 2), floor((deviation.high / error.low) ** 2)
    if not 2 <= least <= most:
        return ""
    return f", which needs n = {least:,}" + (f" to {most:,}" if most > least else "")


def _statistic(test: ReportedTest, estimate: Printed, se: Printed) -> Finding:
    size, error = size_of(estimate.number), size_of(se.number)
    ratio = Interval(size.low / error.high, size.high / error.low if error.low else inf)
    value, words = float(estimate.number / se.number) if se.number else inf, f"{estimate} / {se}"
    if test.is_wald:
        ratio, value, words = Interval(ratio.low**2, ratio.high**2), value**2, f"({words})²"
    shown = f"{value:.{max(2, Printed(test.statistic).decimals)}f}" if se.number else f"{ratio.low:.2f} or more"
    (low, high), (low_estimate, high_estimate) = bounds_of(test.statistic), bounds_of(estimate.number)
    if not overlap(ratio, size_of(test.statistic)):
        verdict, words = INCONSISTENT, f"{words} = {shown}, but {test.with_dfs()} is printed."
    elif not test.is_wald and (high < 0 < low_estimate or high_estimate < 0 < low):
        verdict, words = SUSPICIOUS, f"the estimate {estimate} and {test.with_dfs()} have opposite signs."
    else:
        verdict, words = CONSISTENT, f"{words} = {shown}."
    return Finding(test.row.name, "estimate / SE", str(test.statistic), shown, verdict, words)
