"""Checks whether degrees of freedom fit the number of participants of a test."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf

from analysis.audit.headers_and_cells import read_shape
from analysis.audit.reported_tests import INDEPENDENT, MIXED_MODEL, PAIRED, ReportedTest, reported_tests
from analysis.audit.table import (
    CONSISTENT,
    INCONSISTENT,
    SUSPICIOUS,
    Design,
    Finding,
    PublishedTable,
    Row,
    counted,
)


@dataclass(frozen=True)
class ExpectedDf:
    """Degrees of freedom that a test can have, and a text with the sample sizes that lead to them."""

    dfs: tuple[int, ...]
    why: str

    def __str__(self) -> str:
        return ", ".join(str(df) for df in self.dfs)


def expected_dfs(test: ReportedTest) -> list[ExpectedDf]:
    """Return the degrees of freedom that a test can have, given the sample sizes in its row."""
    row, n = test.row, row_n(test.row)
    paired, independent = PAIRED.search(test.words), INDEPENDENT.search(test.words)
    match test.kind:
        case "t":
            return _of_t(row, n, bool(paired), bool(independent))
        case "r" if n is not None and n > 2:
            return [ExpectedDf((n - 2,), counted(n, "participant"))]
        case "F" if n is not None and (groups := row.whole("groups")) and n > groups > 1:
            between = ExpectedDf((groups - 1, n - groups), f"{groups} groups of {n} participants in all")
            within = ExpectedDf((groups - 1, (groups - 1) * (n - 1)), f"{groups} conditions within {n} participants")
            return [within] if paired else [between] if independent else [between, within]
        case "chi2" if shape := read_shape(row.text("shape")):
            df = (shape[0] - 1) * (shape[1] - 1) if min(shape) > 1 else max(shape) - 1
            return [ExpectedDf((df,), f"the {shape[0]} x {shape[1]} cells of the table")]
        case _:
            return []


def row_n(row: Row) -> int | None:
    """Return the number of participants that a row of the table states, or None if there is no such number."""
    return row.whole("n") or row.whole("participants")


def _of_t(row: Row, n: int | None, paired: bool, independent: bool) -> list[ExpectedDf]:
    first, second = row.whole("n1"), row.whole("n2")
    if first and second:
        groups = ExpectedDf((first + second - 2,), f"groups of {first} and {second}")
        pairs = [ExpectedDf((first - 1,), counted(first, "pair"))] if first == second else []
        return pairs if paired and pairs else [groups, *([] if independent else pairs)]
    if n is None or n < 3:
        return []
    one = ExpectedDf((n - 1,), f"{counted(n, 'participant')} in one group or in pairs of values")
    two = ExpectedDf((n - 2,), f"{counted(n, 'participant')} in two groups")
    return [one] if paired else [two] if independent else [one, two]


def degrees_of_freedom(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Compare the printed degrees of freedom of each test with the degrees of freedom that its sample sizes allow."""
    for test in reported_tests(table):
        if test.dfs and not MIXED_MODEL.search(test.words):
            found = _compared(test, design)
            if found is not None:
                verdict, expected, words = found
                printed = ", ".join(str(df) for df in test.dfs)
                yield Finding(test.row.name, f"df of {test.kind}", printed, expected, verdict, words)


def _compared(test: ReportedTest, design: Design) -> tuple[str, str, str] | None:
    """Compare the printed degrees of freedom of a test with the expected degrees of freedom.

    Return a verdict, the expected degrees of freedom as text, and a sentence that explains the verdict.

    Return None if the expected degrees of freedom are unknown.
    """
    expected = expected_dfs(test)
    given = "; ".join(f"{one.why} give df = {one}" for one in expected)
    wanted = " or ".join(str(one) for one in expected)
    fitting = next((one for one in expected if one.dfs == test.dfs), None)
    if fitting is not None:
        return CONSISTENT, wanted, f"{fitting.why} give df = {fitting}."
    printed = ", ".join(str(df) for df in test.dfs)
    corrected = _corrected_f(test) if test.kind == "F" and test.has_rounded_df else None
    if corrected is not None:
        return CONSISTENT, wanted, f"{corrected}; df = {printed} is printed."
    if test.kind == "F" and not expected:
        return _f_without_groups(test)
    if test.kind == "t":
        welch = _welch(test, wanted)
        if welch is not None:
            return welch
    if test.has_rounded_df and not test.is_named and test.kind in {"t", "F"} and not test.row.whole("n1"):
        return None  # The degrees of freedom may be those of a mixed model.
    if expected:
        words = f"{given}; df = {printed} is printed{as_if_twice(test, test.dfs[0], test.dfs[0])}."
        exact = test.is_named or test.kind in {"r", "chi2"} or bool(test.row.whole("n1"))
        return INCONSISTENT if exact else SUSPICIOUS, wanted, words
    if test.kind == "t" and design.participants is not None and test.is_named and test.dfs[0] > design.participants - 1:
        most = f"{counted(design.participants, 'participant')} can give at most df = {design.participants - 1}"
        words = f"{most}; df = {test.dfs[0]} is printed."
        return INCONSISTENT, f"at most {design.participants - 1}", words
    return None


def _welch(test: ReportedTest, wanted: str) -> tuple[str, str, str] | None:
    """Return a verdict, the expected range and a sentence if Welch's test fits the degrees of freedom, else None."""
    df, first, second, n = test.dfs[0], test.row.whole("n1"), test.row.whole("n2"), row_n(test.row)
    if PAIRED.search(test.words):
        return None
    if first and second:
        least, most = min(first, second) - 1, first + second - 2
    elif n is not None and n > 2:
        least, most = 1, n - 2
    else:
        return None
    low, high = test.df_bounds[0]
    if high < least or low > most:
        return None
    range_words = f"with Welch's test, df is between {least} and {most}"
    if test.has_rounded_df:
        return CONSISTENT, f"{least} to {most}", f"{range_words}; df = {df} is printed."
    if first and second:
        words = (
            f"groups of {first} and {second} give df = {most}, but df = {df} is printed. This may be Welch's test "
            f"with rounded degrees of freedom ({least} to {most}), or data of participants may be missing."
        )
        return SUSPICIOUS, wanted, words
    return None


def _corrected_f(test: ReportedTest) -> str | None:
    """Return a sentence if a correction of an F test explains its degrees of freedom; otherwise None.

    The two corrections are for sphericity (within participants) and for unequal variances (Welch's, between groups).
    """
    n, groups = row_n(test.row), test.row.whole("groups")
    if n is None:
        return None
    (low_effect, high_effect), (low_error, high_error) = test.df_bounds
    most = Fraction(groups - 1) if groups else high_effect
    # Both degrees of freedom of a test within participants are multiplied by the same number of at most 1.
    is_multiple = low_effect * (n - 1) <= high_error and min(high_effect, most) * (n - 1) >= low_error
    if not INDEPENDENT.search(test.words) and low_effect <= most and is_multiple:
        return f"after a correction for sphericity, the df of the error is {n} - 1 times the df of the effect"
    if not PAIRED.search(test.words) and low_effect <= round(test.dfs[0]) <= high_effect:
        effect = groups - 1 if groups else round(test.dfs[0])
        if low_effect <= effect <= high_effect and low_error <= n - 1 - effect:
            return f"in Welch's analysis of {effect + 1} groups, df is {effect} and at most {n - 1 - effect}"
    return None


def _f_without_groups(test: ReportedTest) -> tuple[str, str, str] | None:
    n, (effect, error) = row_n(test.row), test.dfs
    if n is None:
        return None
    if effect + error == n - 1:
        return (
            CONSISTENT,
            str(n - 1),
            f"{effect} + {error} + 1 = {n}, as expected for {effect + 1} groups with {n} participants together.",
        )
    if error == effect * (n - 1):
        return (
            CONSISTENT,
            str(error),
            f"{effect} x ({n} - 1) = {error}, as expected for {effect + 1} conditions within {n} participants.",
        )
    if "one way" in test.words.replace("-", " "):
        words = (
            f"in a one-way analysis of {n} participants, the degrees of freedom of effect and error add up to {n - 1}. "
            f"If the conditions are within participants, the error has {effect} x {n - 1} degrees of freedom."
        )
        return INCONSISTENT, str(n - 1), words
    return None


def as_if_twice(test: ReportedTest, low: Decimal | float, high: Decimal | float) -> str:
    """Return a remark if the degrees of freedom are right only for twice the number of participants."""
    n = row_n(test.row)
    if test.kind != "t" or n is None or not low <= 2 * n - 2 <= high or high == inf:
        return ""
    return f" (2 x {n} - 2 = {2 * n - 2}, which is right only for two groups of {n} participants each)"
