"""Checks whether any responses could have the printed means, standard deviations and percentages.

The checks are GRIM (means and percentages) and GRIMMER (standard deviations), from `analysis.statistics.grim`.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from analysis.audit.headers_and_cells import Printed, read_mean_sd
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
    counted,
)
from analysis.statistics.grim import grim, grimmer, nearest_means

MOST_NUMBERS = 10**6
"""Standard deviations of more than this number of responses are not checked."""


def means(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Check means of whole numbers by GRIM, and standard deviations by GRIMMER."""
    if not {"mean", "mean_sd"} & set(table.roles):
        return
    if not (design.whole_numbers or design.scale or design.items or "items" in table.roles):
        words = (
            "means and standard deviations can be checked (GRIM, GRIMMER) only if the responses are whole numbers. In "
            "this case, add --scale, --items or --whole-numbers."
        )
        yield Finding(THE_TABLE, "mean", "", "", NOT_CHECKABLE, words)
        return
    for row in table.rows:
        mean, sd = mean_and_sd(row)
        n, items = _n(row), row.whole("items") or design.items or 1
        if mean is None:
            continue
        if not n:
            words = (
                "the number of participants of this mean is missing. Fix: state the column with the numbers of "
                "participants with --column n=HEADER."
            )
            yield Finding(row.name, "mean (GRIM)", str(mean), "", NOT_CHECKABLE, words)
            continue
        found = _mean(row, mean, n, items, design)
        yield found
        if sd is not None and found.verdict != IMPOSSIBLE:
            yield _sd(row, mean, sd, n, items, design)


def mean_and_sd(row: Row) -> tuple[Printed | None, Printed | None]:
    """Return the mean and the standard deviation in a row."""
    both = read_mean_sd(row.text("mean_sd"))
    return both or (row.printed("mean"), row.printed("sd"))


def _n(row: Row) -> int | None:
    return row.whole("n") or row.whole("participants")


def _mean(row: Row, mean: Printed, n: int, items: int, design: Design) -> Finding:
    check, numbers = "mean (GRIM)", _whole_numbers(n, items)
    low, high = mean.bounds
    if design.scale and (high < design.scale[0] or low > design.scale[1]):
        words = f"responses from {design.scale[0]} to {design.scale[1]} cannot have the mean {mean}."
        return Finding(row.name, check, str(mean), f"{design.scale[0]} to {design.scale[1]}", IMPOSSIBLE, words)
    if not grim(mean.number, n, items=items, scale=design.scale):
        below, above = nearest_means(mean.number, n, items=items)
        words = f"no mean of {numbers} rounds to {mean}; the nearest possible means are {below} and {above}."
        return Finding(row.name, check, str(mean), f"{below} or {above}", IMPOSSIBLE, words)
    if n * items >= 10**mean.decimals:
        words = (
            f"{numbers} can have every mean with {counted(mean.decimals, 'decimal')}, so this mean cannot be checked."
        )
        return Finding(row.name, check, str(mean), "", NOT_CHECKABLE, words)
    return Finding(row.name, check, str(mean), str(mean), CONSISTENT, f"{numbers} can have the mean {mean}.")


def _sd(row: Row, mean: Printed, sd: Printed, n: int, items: int, design: Design) -> Finding:
    check = "SD (GRIMMER)"
    if n < 2 or n * items > MOST_NUMBERS:
        words = (
            "one value has no standard deviation."
            if n < 2
            else "the standard deviation of so many numbers is not checked, because nearly every value is possible."
        )
        return Finding(row.name, check, str(sd), "", NOT_CHECKABLE, words)
    scale = f" from {design.scale[0]} to {design.scale[1]}" if design.scale else ""
    what = f"{_whole_numbers(n, items)}{scale} with the mean {mean}"
    if grimmer(mean.number, sd.number, n, items=items, scale=design.scale):
        return Finding(row.name, check, str(sd), str(sd), CONSISTENT, f"{what} can have the SD {sd}.")
    words = f"no {what} have an SD that rounds to {sd}"
    if grimmer(mean.number, sd.number, n, items=items, scale=design.scale, ddof=0):
        words += f", unless the sum of squares was divided by {n} instead of {n - 1}."
        return Finding(row.name, check, str(sd), "", INCONSISTENT, words)
    return Finding(row.name, check, str(sd), "", IMPOSSIBLE, f"{words}.")


def _whole_numbers(n: int, items: int) -> str:
    return f"{n:,} x {items:,} whole numbers" if items > 1 else counted(n, "whole number")


def percentages(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Check whether a whole number of right answers can give the percentage or proportion in each row."""
    if "percentage" not in table.roles:
        return
    hundred = _in_percent(table)
    for row in table.rows:
        printed = row.printed("percentage")
        if printed is None or printed.relation != "=":
            continue
        share = printed.number.scaleb(-2) if hundred else printed.number
        correct, answers = row.whole("correct"), row.whole("trials") or row.whole("n")
        if correct is not None and answers:
            yield _ratio(row, printed, share, correct, answers)
        else:
            yield _share(row, printed, share, hundred, design)


def _in_percent(table: PublishedTable) -> bool:
    """Return True if the accuracies of the table are percentages, and False if they are proportions.

    They are percentages if a number has a percent sign, or if most numbers are above 1.
    """
    numbers = [number for row in table.rows if (number := row.printed("percentage"))]
    return any(number.percent for number in numbers) or 2 * sum(n.number > 1 for n in numbers) > len(numbers)


def _ratio(row: Row, printed: Printed, share: Decimal, correct: int, answers: int) -> Finding:
    """Compare a percentage with the counts in its row."""
    low, high = Printed(share).bounds
    real = Fraction(correct, answers)
    fits = low <= real <= high
    shown = _shown(float(real), printed, share)
    words = f"{correct:,} of {answers:,} is {shown}" + ("." if fits else f", but {printed} is printed.")
    return Finding(row.name, "percentage", str(printed), shown, CONSISTENT if fits else INCONSISTENT, words)


def _shown(real: float, printed: Printed, share: Decimal) -> str:
    hundred = share != printed.number
    return f"{real * (100 if hundred else 1):.{printed.decimals}f}{'%' * printed.percent}"


def _share(row: Row, printed: Printed, share: Decimal, hundred: bool, design: Design) -> Finding:
    """Check by GRIM whether a percentage is possible with a whole number of right answers."""
    check = "percentage (GRIM)"
    if not 0 <= share <= 1:
        words = f"{printed} is impossible: the number must be between 0 and {100 if hundred else 1}."
        return Finding(row.name, check, str(printed), f"0 to {100 if hundred else 1}", IMPOSSIBLE, words)
    n_trials, n, items = row.whole("trials"), _n(row), row.whole("items") or design.items
    if not n_trials and not n:
        words = (
            "the number of responses of this percentage is missing. Fix: state the column with the numbers of "
            "responses with --column n=HEADER."
        )
        return Finding(row.name, check, str(printed), "", NOT_CHECKABLE, words)
    if not n_trials and items is None and design.trials is not None:
        words = (
            f"each of the {n:,} participants gave several responses. If all participants gave the same number of "
            "responses, give this number with --items. If not, state the column with the numbers of all responses "
            "with --column trials=HEADER."
        )
        return Finding(row.name, check, str(printed), "", NOT_CHECKABLE, words)
    answers = n_trials or (n or 0) * (items or 1)
    decimals = -int(share.as_tuple().exponent)
    what = f"{counted(answers, 'response')}"
    if grim(share, answers, scale=(0, 1)):
        if answers >= 10**decimals:
            words = f"{what} can give every percentage with this many decimals, so this percentage cannot be checked."
            return Finding(row.name, check, str(printed), "", NOT_CHECKABLE, words)
        right = round(share * answers)
        return Finding(row.name, check, str(printed), str(printed), CONSISTENT, f"{right:,} of {what} is {printed}.")
    below = int(share * answers)
    near = [_shown(right / answers, printed, share) for right in (below, below + 1)]
    words = f"no number of right answers in {what} gives {printed}: {below:,} is {near[0]}, {below + 1:,} is {near[1]}"
    if n_trials and (row.whole("participants") or design.participants or 2) > 1:
        # If numbers of trials differ, the mean of the participants' shares is not a share of all trials.
        words += ". If this percentage is the mean of the percentages of participants, it cannot be checked."
        return Finding(row.name, check, str(printed), f"{near[0]} or {near[1]}", SUSPICIOUS, words)
    words += (
        "."
        if items or n_trials
        else ". If each participant gave several responses, give the number of these responses with --items."
    )
    return Finding(row.name, check, str(printed), f"{near[0]} or {near[1]}", IMPOSSIBLE, words)
