"""Checks whether p values fit the test statistics, and whether conclusions fit the p values."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf

from analysis.audit.degrees_of_freedom import ExpectedDf, as_if_twice, expected_dfs
from analysis.audit.headers_and_cells import Printed, plain
from analysis.audit.reported_tests import ReportedTest, reported_tests
from analysis.audit.table import (
    CONSISTENT,
    IMPOSSIBLE,
    INCONSISTENT,
    NOT_CHECKABLE,
    SUSPICIOUS,
    Design,
    Finding,
    PublishedTable,
    counted,
)
from analysis.statistics.intervals import Interval
from analysis.statistics.reported_p import Bounds, possible_df, possible_p

LEVEL = Decimal("0.05")
"""Significance level at which conclusions are checked."""

CHECK = "p value"
TWO_SIDED = ("t", "z", "r")

_RETAINED = re.compile(r"\bfail|\bnot\b|\bno\b|\bnon|\bretain|\baccept\w* (?:the null|h0)|^n\.?s\.?$")
_REJECTED = re.compile(r"\breject|\bsignif|^yes$|\baccept\w* h1|^\*+$")


def p_values(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Compare each p value with its test statistic.

    Also find test statistics that are in the column of p values by mistake.
    """
    for test in reported_tests(table):
        impossible = _impossible(test)
        if impossible is not None:
            yield impossible
        elif test.p is not None:
            found = _recomputed(test, test.p, design)
            yield found
            is_known = bool(test.dfs) or test.kind == "z"
            if not (found.verdict == CONSISTENT and is_known) and _same(test.statistic, test.p):
                words = (
                    f"the p value {test.p} has the same digits as the test statistic, as if the statistic were "
                    "printed instead of the p value."
                )
                yield Finding(test.row.name, "p like its statistic", str(test.p), "another number", SUSPICIOUS, words)


def conclusions(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Compare each conclusion, such as “significant”, with the p value in its row, at the level .05."""
    for row in table.rows:
        said, p = plain(row.text("conclusion")), row.printed("p")
        rejected = False if _RETAINED.search(said) else True if _REJECTED.search(said) else None
        significant = None if p is None else _is_significant(p)
        if p is not None and rejected is not None and significant is not None:
            below = "below" if significant else "not below"
            words = f"p {_with_sign(p)} is {below} {LEVEL}; `{row.text('conclusion')}` is printed."
            verdict = CONSISTENT if rejected == significant else INCONSISTENT
            expected = "rejected" if significant else "not rejected"
            yield Finding(row.name, "conclusion", row.text("conclusion"), expected, verdict, words)


def _impossible(test: ReportedTest) -> Finding | None:
    """Return a finding if the statistic or the p value is impossible for any data."""
    low, high = test.bounds
    if (test.kind in {"F", "chi2"} and high < 0) or (test.kind == "r" and (high < -1 or low > 1)):
        expected = "-1 to 1" if test.kind == "r" else "0 or more"
        words = f"{test.with_dfs()} is impossible: the statistic must be {expected}."
        return Finding(test.row.name, "statistic", str(test.statistic), expected, IMPOSSIBLE, words)
    if any(high < 1 for _, high in test.df_bounds):
        words = (
            f"no test has {', '.join(str(df) for df in test.dfs)} degrees of freedom: each number must be 1 or more."
        )
        return Finding(test.row.name, "statistic", str(test.statistic), "df of 1 or more", IMPOSSIBLE, words)
    if test.p is not None and not 0 <= test.p.number <= 1:
        words = f"{test.p} is not a probability: a p value must be between 0 and 1."
        return Finding(test.row.name, CHECK, str(test.p), "0 to 1", IMPOSSIBLE, words)
    return None


def _recomputed(test: ReportedTest, p: Printed, design: Design) -> Finding:
    if test.kind is None:
        words = (
            f"it is unknown to which test (t, F, ...) the statistic {test.statistic} belongs. Fix: write t, F, chi2, z "
            "or r before the statistic, or state the column of the tests with --column test=NAME."
        )
        return Finding(test.row.name, CHECK, str(p), "", NOT_CHECKABLE, words)
    if test.dfs or test.kind == "z":
        return _with_df(test, p, test.df_bounds, test.with_dfs())
    expected = expected_dfs(test)
    for one in expected:
        bounds = [(Fraction(df), Fraction(df)) for df in one.dfs]
        if _fits(p, possible_p(test.kind, test.bounds, bounds)):
            return _with_df(test, p, bounds, f"{test.with_dfs(one.dfs)} ({one.why})")
    if test.kind == "F":
        words = (
            f"two degrees of freedom are needed to compute the p value of {test.with_dfs()}, but the table does not "
            "have both. Fix: add a column `df`, or `df1` and `df2`."
        )
        return Finding(test.row.name, CHECK, str(p), "", NOT_CHECKABLE, words)
    return _without_df(test, p, expected, design)


def _with_df(test: ReportedTest, p: Printed, dfs: Sequence[Bounds], shown: str) -> Finding:
    possible = possible_p(test.kind or "", test.bounds, dfs)
    expected = _shown(possible, p)
    if _fits(p, possible):
        return Finding(test.row.name, CHECK, str(p), expected, CONSISTENT, f"{shown} has p {expected}.")
    words = f"{shown} has p {expected}, but p {_with_sign(p)} is printed"
    if test.kind in TWO_SIDED and _fits(p, Interval(possible.low / 2, possible.high / 2)):
        words += ", which is half of the computed p value. Was the test one-sided? A paper must say so."
        return Finding(test.row.name, CHECK, str(p), expected, SUSPICIOUS, words)
    printed_as, really = _is_significant(p), True if possible.high < LEVEL else False if possible.low > LEVEL else None
    if None not in (printed_as, really) and printed_as != really:
        words += f", which changes the decision at the level {LEVEL}"
    return Finding(test.row.name, CHECK, str(p), expected, INCONSISTENT, f"{words}.")


def _without_df(test: ReportedTest, p: Printed, expected: list[ExpectedDf], design: Design) -> Finding:
    """Check a p value if the table does not print degrees of freedom.

    Search for degrees of freedom that fit the p value.
    """
    assert test.kind is not None
    low, high = _bounds(p)
    fitting = possible_df(test.kind, test.bounds, Interval(low, high))
    given = "; ".join(f"{one.why} give df = {one}" for one in expected)
    if fitting is None:
        if test.kind in TWO_SIDED and possible_df(test.kind, test.bounds, Interval(2 * low, min(1.0, 2 * high))):
            words = (
                f"p {_with_sign(p)} of {test.with_dfs()} fits only a one-sided test. Was the test one-sided? "
                "A paper must say so."
            )
            return Finding(test.row.name, CHECK, str(p), "", SUSPICIOUS, words)
        words = f"{test.with_dfs()} cannot have p {_with_sign(p)} with any degrees of freedom{_neighbours(test, p)}."
        return Finding(test.row.name, CHECK, str(p), "", INCONSISTENT, words)
    needs = f"p {_with_sign(p)} of {test.with_dfs()} needs {_range_words(fitting)}"
    twice = as_if_twice(test, fitting.low, fitting.high)
    if expected:
        more = test.kind != "t" or fitting.low > max(one.dfs[0] for one in expected)
        verdict = INCONSISTENT if more and (test.is_named or test.kind != "t") else SUSPICIOUS
        wanted = " or ".join(f"df = {one}" for one in expected)
        return Finding(test.row.name, CHECK, str(p), wanted, verdict, f"{needs}{twice}, but {given}.")
    if test.kind == "t" and test.is_named and design.participants and fitting.low > design.participants - 1:
        words = (
            f"{needs}, but {counted(design.participants, 'participant')} can give at most "
            f"df = {design.participants - 1}."
        )
        return Finding(test.row.name, CHECK, str(p), f"df = {design.participants - 1}", INCONSISTENT, words)
    return Finding(test.row.name, CHECK, str(p), "", CONSISTENT, f"{needs}; no degrees of freedom are printed.")


def _neighbours(test: ReportedTest, p: Printed) -> str:
    """Return a text with the two possible p values of a chi-square that are nearest to an impossible p value."""
    low, _ = _bounds(p)
    above = possible_df("chi2", test.bounds, Interval(low, 1.0)) if test.kind == "chi2" else None
    if above is None:
        return ""
    dfs = [df for df in (int(above.low) - 1, int(above.low)) if df > 0]
    ps = [possible_p("chi2", test.bounds, [(Fraction(df), Fraction(df))]) for df in dfs]
    return ": " + ", ".join(f"df = {df} gives p {_shown(one, p)}" for df, one in zip(dfs, ps, strict=True))


def _bounds(p: Printed) -> tuple[float, float]:
    """Return the lowest and the highest probability that round to the printed p value."""
    low, high = (float(bound) for bound in p.bounds)
    if p.relation == "<":
        return 0.0, float(p.number)
    if p.relation == ">":
        return float(p.number), 1.0
    return max(0.0, low), min(1.0, high)


def _fits(p: Printed, possible: Interval) -> bool:
    low, high = _bounds(p)
    return possible.low <= high and possible.high >= low


def _is_significant(p: Printed) -> bool | None:
    """Return True if p is below the significance level, and False if not.

    Return None if the printed p has too few decimals for a decision.
    """
    if p.relation == "<":
        return True if p.number <= LEVEL else None
    if p.relation == ">":
        return False if p.number >= LEVEL else None
    low, high = p.bounds
    return True if high <= LEVEL else False if low >= LEVEL else None


def _same(statistic: Decimal, p: Printed) -> bool:
    return p.relation == "=" and p.decimals > 1 and str(abs(statistic)) == str(p.number)


def _shown(possible: Interval, p: Printed) -> str:
    """Return the range of the computed p value as text.

    The numbers have as many decimals as the printed p value, but at least three.
    """
    decimals = max(3, p.decimals)
    low, high = (f"{bound:.{decimals}f}" for bound in possible)
    if float(high) == 0:
        return f"< {10**-decimals:.{decimals}f}"
    return f"= {low}" if low == high else f"= {low} to {high}"


def _with_sign(p: Printed) -> str:
    return f"= {p}" if p.relation == "=" else str(p)


def _range_words(dfs: Interval) -> str:
    if dfs.high == inf:
        return f"{dfs.low:,} or more degrees of freedom"
    if dfs.low == dfs.high:
        return f"{dfs.low:,} degrees of freedom"
    return f"{dfs.low:,} to {dfs.high:,} degrees of freedom"
