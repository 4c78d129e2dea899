"""The audit of published tables: checks whether the printed numbers can all be true.

The audit does not need the data. It needs the table as printed, and the design that the paper states.

    headers_and_cells.py      the meaning of each column, and each number as it was printed
    table.py                  the table with the meanings of its rows and columns, and the form of a finding
    count_checks.py           totals, numbers of trials, and counts in which every row was counted twice
    means_and_percentages.py  means, standard deviations and percentages: GRIM and GRIMMER
    standard_errors.py        standard errors compared with SD and n, and with t, z or Wald's chi-square of an estimate
    confidence_intervals.py   confidence intervals compared with means or estimates and standard errors
    reported_tests.py         hypothesis tests in the rows of the table
    degrees_of_freedom.py     degrees of freedom compared with the number of participants
    p_values.py               p values compared with test statistics, and conclusions compared with p values
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields

import pandas as pd

from analysis.audit import (
    confidence_intervals,
    count_checks,
    degrees_of_freedom,
    means_and_percentages,
    p_values,
    standard_errors,
)
from analysis.audit.headers_and_cells import ROLES
from analysis.audit.table import (
    NOT_CHECKABLE,
    VERDICTS,
    Design,
    Finding,
    PublishedTable,
    read_table,
    unreadable_cells,
)
from batteries.errors import InputError

CHECKS: tuple[Callable[[PublishedTable, Design], Iterator[Finding]], ...] = (
    count_checks.whole_counts,
    count_checks.counted_twice,
    count_checks.participants,
    count_checks.totals,
    count_checks.trials,
    count_checks.correct_answers,
    means_and_percentages.percentages,
    means_and_percentages.means,
    standard_errors.standard_errors,
    confidence_intervals.confidence_intervals,
    standard_errors.statistics,
    degrees_of_freedom.degrees_of_freedom,
    p_values.p_values,
    p_values.conclusions,
)


def audit_table(
    table: pd.DataFrame,
    *,
    participants: int | None = None,
    trials: int | None = None,
    items: int | None = None,
    scale: tuple[int, int] | None = None,
    whole_numbers: bool = False,
    totals: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Check whether the numbers of a published table can all be true.

    Parameters
    ----------
    table : DataFrame of str
        The table as printed, one row per group, condition or test. Cells are text, because the number of printed
        decimals matters: `0.50` is more precise than `0.5`.
    participants : int, optional
        Number of participants who were recruited for the whole study.
    trials : int, optional
        Number of trials of one participant in one row of the table.
    items : int, optional
        Number of responses that were averaged for one participant; 1 by default.
    scale : tuple of int, optional
        Lowest and highest response. If a scale is given, responses are whole numbers.
    whole_numbers : bool
        True if responses are whole numbers. Means and standard deviations of other responses are not checked.
    totals : sequence of str
        Labels of rows that are totals, in addition to rows whose label contains the word total.
    columns : mapping of str to str, optional
        The header of each column that the audit does not recognize. The keys are the roles of these columns (see
        `analysis.audit.headers_and_cells.ROLES`).

    Returns
    -------
    DataFrame
        One row per finding: `row`, `check`, `printed`, `expected`, `verdict`, `explanation`. The most serious finding
        is first.

    Raises
    ------
    InputError
        If the table is empty, or if no number can be checked. Also if an argument contains the name of a row or column
        that does not exist.

    Examples
    --------
    No mean of 28 whole numbers rounds to 5.19 (Brown & Heathers, 2017).

    >>> found = audit_table(pd.DataFrame({"group": ["a", "b"], "n": ["28", "28"], "M": ["5.19", "5.21"]}), scale=(1, 7))
    >>> [tuple(finding) for finding in found[["row", "verdict"]].to_numpy()]
    [('a', 'impossible'), ('b', 'consistent')]
    """
    for name, number in (("participants", participants), ("trials", trials), ("items", items)):
        if number is not None and number < 1:
            raise InputError(f"{name} is {number}, but it must be at least 1. Fix: correct this number.")
    if scale is not None and scale[0] >= scale[1]:
        raise InputError(
            f"the first bound of the scale ({scale[0]}) is not less than the second bound ({scale[1]}). Fix: give the "
            "lowest response first."
        )
    published = read_table(table, columns or {}, totals)
    design = Design(participants, trials, items, scale, whole_numbers)
    found = [*unreadable_cells(published), *(finding for check in CHECKS for finding in check(published, design))]
    if all(finding.verdict == NOT_CHECKABLE for finding in found):
        raise InputError(_nothing(found))
    found.sort(key=lambda finding: VERDICTS.index(finding.verdict))
    return pd.DataFrame([astuple(finding) for finding in found], columns=[field.name for field in fields(Finding)])


def _nothing(found: list[Finding]) -> str:
    """Return the error message for a table in which nothing can be checked."""
    reasons = " ".join(dict.fromkeys(finding.explanation for finding in found[:3]))
    why = f"nothing in this table can be checked: {reasons}" if reasons else "nothing in this table can be checked."
    return (
        f"{why} The audit recognizes columns with the meanings {', '.join(ROLES)}. Fix: state the meaning of each "
        "column with --column MEANING=HEADER."
    )
