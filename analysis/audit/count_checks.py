"""Checks of counts: totals, numbers of trials and of participants, and rows that were counted twice."""

from collections.abc import Iterator
from fractions import Fraction
from math import floor, gcd

from analysis.audit.headers_and_cells import is_empty, plain, read_number
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
    total_stem,
)

COUNTS = (
    "participants",
    "excluded_participants",
    "recruited_participants",
    "trials",
    "excluded_trials",
    "n",
    "correct",
)

OTHER_COUNTS = ("n1", "n2", "groups", "items")
TRIALS = ("trials", "excluded_trials")

UNLIKELY = Fraction(1, 1000)
"""If all counts have a common divisor, and this happens by chance with less than this probability, the counts are
suspicious.
"""

FEWEST_COUNTS = 5
"""The audit searches for a common divisor only if the table has at least this number of different counts. A few counts
often have a common divisor by chance.
"""


def totals(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Compare each total with the sum of its rows.

    A table may also have subtotals of these rows. If each row belongs to exactly one subtotal, compare the total with
    the sum of the subtotals too.
    """
    for place, row in enumerate(table.rows):
        if not row.is_total:
            continue
        parts = _parts(table, place)
        subtotals = _subtotals(table, place, parts)
        for header in table.headers:
            if _is_count(table, header) and not is_empty(row.cells[header]):
                yield _sum(row, parts, header, table, "rows")
                if subtotals:
                    yield _sum(row, subtotals, header, table, "totals")


def _parts(table: PublishedTable, place: int) -> list[Row]:
    """Return the rows whose sum should be the total in row number `place`.

    The total `Single-total` adds up the rows whose labels begin with `single`. A plain `Total` adds up all rows. If
    there are several plain totals, each of them adds up the rows after the previous total.
    """
    stem = total_stem(table.rows[place].label)
    begin = [row for row in table.parts if stem and plain(row.label).startswith(stem)]
    if begin:
        return begin
    plain_totals = [row for row in table.rows if row.is_total and not total_stem(row.label)]
    before = [number for number, row in enumerate(table.rows[:place]) if row.is_total]
    block = list(table.rows[before[-1] + 1 if before else 0 : place])
    return block if len(plain_totals) > 1 and block else table.parts


def _subtotals(table: PublishedTable, place: int, parts: list[Row]) -> list[Row]:
    """Return the subtotals of the total in row number `place`. Each row of the total must be in one subtotal."""
    others = {n: _parts(table, n) for n, row in enumerate(table.rows) if row.is_total and n != place}
    smaller = {n: rows for n, rows in others.items() if len(rows) < len(parts)}
    of = [row.name for rows in smaller.values() for row in rows]
    return [table.rows[n] for n in smaller] if sorted(of) == sorted(row.name for row in parts) else []


def _is_count(table: PublishedTable, header: str) -> bool:
    """Return True if the column has counts, such as numbers of participants.

    A column that the audit does not recognize has counts if all its cells are whole numbers.
    """
    roles = [role for role, named in table.roles.items() if named == header]
    if roles:
        return roles[0] in COUNTS
    cells = [row.cells[header] for row in table.rows if not is_empty(row.cells[header])]
    numbers = [read_number(cell) for cell in cells]
    return len(cells) > 1 and all(
        number is not None and number.decimals == 0 and not number.percent and number.relation == "="
        for number in numbers
    )


def _sum(row: Row, parts: list[Row], header: str, table: PublishedTable, of: str) -> Finding:
    printed = read_number(row.cells[header])
    addends = [read_number(part.cells[header]) for part in parts]
    check = f"sum of {header}"
    if printed is None or any(addend is None for addend in addends) or not addends:
        return Finding(
            row.name,
            check,
            row.cells[header],
            "",
            NOT_CHECKABLE,
            f"a row that belongs to this total has no number in `{header}`.",
        )
    numbers = [addend.number for addend in addends if addend is not None]
    expected, total = sum(numbers), printed.number
    what = counted(len(numbers), of.removesuffix("s"))
    if total == expected:
        return Finding(row.name, check, str(total), str(expected), CONSISTENT, f"the {what} add up to {expected:,}.")
    if len(numbers) > 1 and {*numbers, total} == {total}:
        words = f"every row has the same number as the total ({total:,}), so the total is probably not a sum."
        return Finding(row.name, check, str(total), str(total), CONSISTENT, words)
    if header not in table.roles.values() and min(numbers) <= total <= max(numbers):
        words = f"{total:,} is between the numbers of the {what}, so it may be an average and not a sum."
        return Finding(row.name, check, str(total), "", NOT_CHECKABLE, words)
    off = abs(total - expected)
    too = f"{off:,} too {'many' if total > expected else 'few'}"
    words = f"the {what} add up to {expected:,}, but {total:,} is printed, which is {too}."
    return Finding(row.name, check, str(total), str(expected), INCONSISTENT, words)


def whole_counts(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Check that all printed numbers of people and of responses are whole numbers."""
    for row in table.rows:
        for role in (*COUNTS, *OTHER_COUNTS):
            printed = row.printed(role)
            if printed is not None and printed.relation != "=":
                words = (
                    f"`{table.roles[role]}` is {printed}, which is not a single number, so this cell is not compared "
                    "with other numbers."
                )
                yield Finding(row.name, "cell", str(printed), "a whole number", NOT_CHECKABLE, words)
            elif printed is not None and row.whole(role) is None:
                words = f"{printed} in `{table.roles[role]}` is not a count: counts are whole numbers, 0 or more."
                yield Finding(row.name, "cell", str(printed), "a whole number", IMPOSSIBLE, words)


def participants(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Check that the number of recruited participants is the sum of the final and the excluded participants.

    Also check that no row has more participants than the study.
    """
    for row in table.rows:
        final, excluded, recruited = (row.whole(role) for role in COUNTS[:3])
        if final is not None and excluded is not None and recruited is not None:
            verdict = CONSISTENT if final + excluded == recruited else INCONSISTENT
            words = (
                f"{final:,} + {excluded:,} = {final + excluded:,}; the number of recruited participants is "
                f"{recruited:,}."
            )
            yield Finding(row.name, "participants", str(final + excluded), str(recruited), verdict, words)
        if design.participants is not None and final is not None and final > design.participants:
            words = f"{counted(final, 'participant')}, but the study recruited only {design.participants:,}."
            yield Finding(row.name, "participants", str(final), f"at most {design.participants}", IMPOSSIBLE, words)
    if design.participants is not None and {"participants", "excluded_participants"} <= set(table.roles):
        yield from _all_recruited(table, design.participants)


def _all_recruited(table: PublishedTable, recruited: int) -> Iterator[Finding]:
    counts = [(row.whole("participants"), row.whole("excluded_participants")) for row in table.parts]
    final = sum(kept for kept, _ in counts if kept is not None)
    excluded = sum(left_out for _, left_out in counts if left_out is not None)
    same_in_every_row = all(kept is not None and kept + (left_out or 0) == recruited for kept, left_out in counts)
    if not same_in_every_row and all(kept is not None and left_out is not None for kept, left_out in counts):
        verdict = CONSISTENT if final + excluded == recruited else INCONSISTENT
        added = f"{final:,} final and {excluded:,} excluded participants are {final + excluded:,}"
        words = f"{added}; the number of recruited participants is {recruited:,}."
        yield Finding(THE_TABLE, "participants", str(final + excluded), str(recruited), verdict, words)


def trials(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Compare the number of trials in each row with the number of trials that the participants of the row can have."""
    each = design.trials
    if each is None:
        if {"participants", "trials"} <= set(table.roles):
            words = (
                "numbers of trials cannot be compared with numbers of participants, because the number of trials per "
                "participant is unknown. Fix: give the number of trials of one participant with --trials."
            )
            yield Finding(THE_TABLE, "trials", "", "", NOT_CHECKABLE, words)
        return
    for row in table.rows:
        n_participants, n_trials = row.whole("participants"), row.whole("trials")
        if n_participants is None or n_trials is None:
            continue
        yield _most(row, n_participants, n_trials, each)
        if row.whole("excluded_trials") is not None:
            yield _books(row, n_participants, n_trials, each)
    yield from _two_ways(table, each)


def _most(row: Row, n_participants: int, n_trials: int, each: int) -> Finding:
    """Check that the row does not have more trials than its final participants can have."""
    most = n_participants * each
    give = f"{counted(n_participants, 'participant')} with {counted(each, 'trial')} each have at most {most:,} trials"
    if n_trials <= most:
        words = f"{give}; {n_trials:,} are printed."
        return Finding(row.name, "trials", str(n_trials), f"at most {most}", CONSISTENT, words)
    words = f"{give}, but {n_trials:,} are printed."
    if most and n_trials % most == 0:
        words = (
            f"{give}. {n_trials:,} is exactly {n_trials // most} times this number, as if every trial were counted "
            f"{n_trials // most} times."
        )
    excluded = row.whole("excluded_trials")
    whole, n_left_out = n_trials + (excluded or 0), row.whole("excluded_participants")
    if excluded is not None and n_left_out and whole == (n_participants + n_left_out) * each:
        words += (
            f" {n_trials:,} + {excluded:,} = {whole:,} = {n_participants + n_left_out:,} x {each:,}, so "
            f"trials of {counted(n_left_out, 'excluded participant')} may be among the final trials."
        )
    return Finding(row.name, "trials", str(n_trials), f"at most {most}", IMPOSSIBLE, words)


def _books(row: Row, n_participants: int, n_trials: int, each: int) -> Finding:
    """Check the sum of the final and the excluded trials.

    The sum must be the number of all trials of the final participants, or of all trials of the recruited participants.
    """
    excluded, n_left_out = row.whole("excluded_trials") or 0, row.whole("excluded_participants") or 0
    whole, final, recruited = n_trials + excluded, n_participants * each, (n_participants + n_left_out) * each
    added = f"{n_trials:,} final and {excluded:,} excluded trials are {whole:,}"
    expected = str(final) if final == recruited else f"{final} or {recruited}"
    if whole in (final, recruited):
        who, n_who = ("final", n_participants) if whole == final else ("recruited", n_participants + n_left_out)
        words, verdict = f"{added} = {n_who:,} x {each:,}, the trials of all {who} participants.", CONSISTENT
    else:
        times = f" (it is {whole // each:,} x {each:,})" if whole % each == 0 else ""
        wanted = f"the {counted(n_participants, 'final participant')} have {final:,} trials"
        if n_left_out:
            wanted += f", and all {n_participants + n_left_out:,} recruited participants have {recruited:,}"
        words = f"{added}{times}, but {wanted}."
        verdict = IMPOSSIBLE if whole > recruited else INCONSISTENT
    return Finding(row.name, "final + excluded trials", str(whole), expected, verdict, words)


def _two_ways(table: PublishedTable, each: int) -> Iterator[Finding]:
    """Find tables in which some rows count the trials of excluded participants and other rows do not."""
    among, apart = [], []
    for row in table.rows:
        kept, left_out, *of_trials = (row.whole(role) for role in ("participants", "excluded_participants", *TRIALS))
        if kept is not None and left_out and None not in of_trials:
            whole = sum(number or 0 for number in of_trials)
            among += [row.name] if whole == (kept + left_out) * each else []
            apart += [row.name] if whole == kept * each else []
    if among and apart:
        words = (
            f"trials of excluded participants are counted in {counted(len(among), 'row')} ({', '.join(among)}) "
            f"and left out in {counted(len(apart), 'row')} ({', '.join(apart)})."
        )
        yield Finding(THE_TABLE, "final + excluded trials", "", "one way of counting", SUSPICIOUS, words)


def counted_twice(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Find tables in which every row of the data was counted more than once."""
    yield from _multiples(table, design)
    yield from _common_divisor(table)


def _multiples(table: PublishedTable, design: Design) -> Iterator[Finding]:
    """Compare counts with the study's numbers of participants and trials, if no column has the role `participants`."""
    if "participants" in table.roles or (design.trials is None and design.participants is None):
        return
    role = "trials" if "trials" in table.roles else "n"
    counts = [(row, number) for row in table.rows if (number := row.whole(role)) is not None]
    if role == "n" and "correct" not in table.roles and design.participants is not None:
        yield from _either(table, counts, design.participants, design.trials)
    elif design.trials is not None and counts:
        yield from _of_trials(table, counts, design, role)


def _either(
    table: PublishedTable, counts: list[tuple[Row, int]], n_participants: int, each: int | None
) -> Iterator[Finding]:
    """Check a column of counts if its header does not state whether participants or trials were counted."""
    for row, number in counts:
        most = f"at most {n_participants}"
        if number <= n_participants:
            words = f"{number:,} is not more than the {counted(n_participants, 'participant')} of the study."
            yield Finding(row.name, "participants", str(number), most, CONSISTENT, words)
        elif each is not None and number > n_participants * each:
            words = f"{number:,} is more than {counted(n_participants, 'participant')} x {counted(each, 'trial')}."
            yield Finding(row.name, "trials", str(number), f"at most {n_participants * each}", IMPOSSIBLE, words)
        else:
            words = (
                f"{number:,} is more than the {counted(n_participants, 'participant')} of the study. If the column "
                f"has numbers of trials, add --column trials={table.roles['n']!r}."
            )
            yield Finding(row.name, "participants", str(number), most, SUSPICIOUS, words)


def _of_trials(table: PublishedTable, counts: list[tuple[Row, int]], design: Design, role: str) -> Iterator[Finding]:
    """Find numbers of trials that may be multiples of the right numbers.

    If the number of participants is unknown, divide each number by the number of trials of one participant. If every
    division gives the same whole number above 1, the numbers of trials are suspicious.
    """
    each, n_participants = design.trials or 0, design.participants or 1
    most, header = n_participants * each, table.roles[role]
    by = f"{counted(n_participants, 'participant')} with {counted(each, 'trial')} each can give at most {most:,} trials"
    for row, number in counts if design.participants is not None else ():
        verdict = CONSISTENT if number <= most else IMPOSSIBLE
        yield Finding(row.name, "trials", str(number), f"at most {most}", verdict, f"{by}; {number:,} are printed.")
    parts = [number for row, number in counts if not row.is_total]
    times = {Fraction(number, most) for number in parts}
    if len(times) == 1 and (often := times.pop()) > 1 and often.denominator == 1:
        who = counted(n_participants, "participant") if design.participants is not None else "one participant or run"
        words = (
            f"all {counted(len(parts), 'number')} in `{header}` are exactly {often} x {most:,}, but {who} can give at "
            f"most {most:,} trials. It looks as if every row of the data were counted {often} times."
        )
        if design.participants is None:
            words += (
                " If a row has more than one participant or run, give the number of participants with "
                f"--participants{_or_column(role, header)}."
            )
        verdict = SUSPICIOUS if design.participants is None else IMPOSSIBLE
        yield Finding(THE_TABLE, "counted twice", f"{often} x {most}", f"at most {most}", verdict, words)
    elif design.participants is None:
        words = (
            f"`{header}` may count the trials of several participants. Their number is unknown, so `{header}` cannot "
            f"be checked against {counted(each, 'trial')} per participant. Fix: give the number of participants with "
            f"--participants{_or_column(role, header)}."
        )
        yield Finding(THE_TABLE, "trials", "", "", NOT_CHECKABLE, words)


def _or_column(role: str, header: str) -> str:
    return (
        f", or, if the column has numbers of participants, add --column participants={header!r}" if role == "n" else ""
    )


def _common_divisor(table: PublishedTable) -> Iterator[Finding]:
    """Find a number that divides every count of right answers.

    Such a number suggests that each response was counted several times.
    """
    counts = {number for row in table.parts if (number := row.whole("correct"))}
    if len(counts) < FEWEST_COUNTS:
        return
    divisor, header = gcd(*counts), table.roles["correct"]
    chance = _chance_of_divisor(max(divisor, 2), len(counts))
    if chance >= UNLIKELY:
        return
    if divisor == 1:
        words = f"no number divides all {len(counts)} different numbers in `{header}`."
        yield Finding(THE_TABLE, "counted twice", "1", "no common divisor", CONSISTENT, words)
    else:
        words = (
            f"all {len(counts)} different numbers in `{header}` are divisible by {divisor}. By chance this happens "
            f"in fewer than one of {floor(1 / chance):,} tables. It looks as if every response were counted "
            f"{divisor} times."
        )
        yield Finding(THE_TABLE, "counted twice", f"all divisible by {divisor}", "no common divisor", SUSPICIOUS, words)


def _chance_of_divisor(divisor: int, n: int) -> Fraction:
    """Return an upper bound of the probability that `divisor` or a larger number divides all of `n` numbers.

    A number d divides n random whole numbers with probability 1/d^n. The sum of the probabilities for d and all larger
    numbers is at most 1/d^n plus the integral of 1/x^n from d to infinity.
    """
    return Fraction(1, divisor**n) * (1 + Fraction(divisor, n - 1))


def correct_answers(table: PublishedTable, _design: Design) -> Iterator[Finding]:
    """Check that no row has more right answers than responses."""
    for row in table.rows:
        correct = row.whole("correct")
        answers = row.whole("trials") if "trials" in table.roles else row.whole("n")
        if correct is not None and answers is not None and correct > answers:
            words = f"{correct:,} right of {answers:,} is impossible."
            yield Finding(row.name, "correct", str(correct), f"at most {answers}", IMPOSSIBLE, words)
