"""A published table with the roles of its rows and columns, and the findings of an audit."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import partial

import pandas as pd

from analysis.audit.headers_and_cells import (
    ROLES,
    STATISTICS,
    Printed,
    is_empty,
    plain,
    read_dfs,
    read_interval,
    read_mean_sd,
    read_number,
    read_result,
    read_shape,
    role_of,
)
from analysis.sentences import count
from batteries.errors import InputError

IMPOSSIBLE, INCONSISTENT, SUSPICIOUS = "impossible", "inconsistent", "suspicious"
NOT_CHECKABLE, CONSISTENT = "not checkable", "consistent"
VERDICTS = (IMPOSSIBLE, INCONSISTENT, SUSPICIOUS, NOT_CHECKABLE, CONSISTENT)
"""The verdicts, with the most serious first. An impossible number cannot come from any data. An inconsistent number
contradicts another number. A suspicious number is possible but unusual.
"""

THE_TABLE = "the whole table"
"""The `row` of a finding that concerns the whole table."""

WORDS = ("label", "test", "conclusion")
"""Roles of the columns that contain words instead of numbers."""
_TOTAL = re.compile(r"\b(?:sub|grand)?[ -]?totals?\b|\bsums?\b|\boverall\b")
_OF_EVERYTHING = {"", "all", "n", "sample", "participants", "all participants", "trials"}
"""A total with one of these words in its label, such as `Total sample`, is the total of all rows."""


@dataclass(frozen=True)
class Finding:
    """Result of one check of one row."""

    row: str
    check: str
    printed: str
    expected: str
    verdict: str
    explanation: str
    """A sentence that explains the verdict."""


@dataclass(frozen=True)
class Design:
    """Facts about the study that the researcher gives, because the table does not state them."""

    participants: int | None = None
    """Number of participants recruited in the whole study."""
    trials: int | None = None
    """Number of trials of one participant in one row of the table."""
    items: int | None = None
    """Number of responses that were averaged for one participant."""
    scale: tuple[int, int] | None = None
    """Lowest and highest response."""
    whole_numbers: bool = False
    """True if responses are whole numbers."""


@dataclass(frozen=True)
class Row:
    """One row of a published table."""

    name: str
    """The label of the row, with the number of the row if the label is a duplicate."""
    label: str
    cells: Mapping[str, str]
    """The printed cell of each column. The keys are headers."""
    roles: Mapping[str, str]
    """The header of the column for each role. The keys are roles."""
    is_total: bool

    def text(self, role: str) -> str:
        """Return the printed cell in the column with this role, or an empty text if no column has the role."""
        return self.cells[self.roles[role]].strip() if role in self.roles else ""

    def printed(self, role: str) -> Printed | None:
        """Return the number in the column with this role, as it was printed. Return None if the cell has no number."""
        return read_number(self.text(role))

    def number(self, role: str) -> Decimal | None:
        """Return the number in the column with this role. Return None if the cell has no number, or has `<` or `>`."""
        printed = self.printed(role)
        return printed.number if printed and printed.relation == "=" else None

    def whole(self, role: str) -> int | None:
        """Return the number in the column with this role. Return None if it is not a whole number, or is negative."""
        number = self.number(role)
        return int(number) if number is not None and number >= 0 and number == int(number) else None


@dataclass(frozen=True)
class PublishedTable:
    """A published table."""

    rows: tuple[Row, ...]
    roles: Mapping[str, str]
    """The header of the column for each role. The keys are roles."""
    headers: tuple[str, ...]

    @property
    def parts(self) -> list[Row]:
        """The rows that are not totals."""
        return [row for row in self.rows if not row.is_total]


def read_table(table: pd.DataFrame, columns: Mapping[str, str], totals: Sequence[str]) -> PublishedTable:
    """Return the table with the role of each column. The keys of `columns` are roles, and its values are headers.

    The header determines the role of any other column.

    Raises
    ------
    InputError
        If the table is empty, or a header is a duplicate. Also if an argument contains the name of a role, column or
        row that does not exist. Also if two columns could have the same role.
    """
    headers = [str(header) for header in table.columns]
    if table.empty:
        raise InputError("the table has no rows under its header. Fix: write a row for each group, condition or test.")
    twice = next((header for header in headers if headers.count(header) > 1), None)
    if twice is not None:
        raise InputError(f"duplicate column `{twice}`. Fix: give each column a unique header.")
    cells = [
        dict(zip(headers, ("" if pd.isna(cell) else str(cell) for cell in row), strict=True))
        for row in table.itertuples(index=False, name=None)
    ]
    roles = _roles(headers, columns, cells)
    labels = [row[roles["label"]].strip() if "label" in roles else "" for row in cells]
    totals_plain = {plain(label) for label in totals}
    for label in totals:
        if plain(label) not in map(plain, labels):
            raise InputError(f"the table has no row `{label}`. Fix: choose one of {_listed(labels)}.")
    rows = [
        Row(
            name=_name(labels, place),
            label=label,
            cells=row,
            roles=roles,
            is_total=_is_total(label, labels) or plain(label) in totals_plain,
        )
        for place, (label, row) in enumerate(zip(labels, cells, strict=True))
    ]
    return PublishedTable(tuple(rows), roles, tuple(headers))


def unreadable_cells(table: PublishedTable) -> Iterator[Finding]:
    """Yield a finding for each cell that should be a number but is not a number."""
    readers: dict[str, Callable[[str], object]] = {
        "df": partial(read_dfs, both=True), "shape": read_shape, "mean_sd": read_mean_sd,
        "ci": read_interval, **dict.fromkeys(("statistic", "wald", *STATISTICS), read_result),
    }  # fmt: skip
    for row in table.rows:
        for role in table.roles:
            cell = row.text(role)
            if role not in WORDS and not is_empty(cell) and readers.get(role, read_number)(cell) is None:
                header = table.roles[role]
                yield Finding(
                    row.name, "cell", cell, "a number", NOT_CHECKABLE,
                    f"`{cell}` in `{header}` cannot be read as {ROLES[role].meaning}. Fix: write a number, with a "
                    "point before the decimals.",
                )  # fmt: skip


def total_stem(label: str) -> str | None:
    """Return the label of a total without the word total, such as `single` for `Single-total`.

    For other labels, return None.

    Examples
    --------
    >>> total_stem("Single-total"), total_stem("<b>Total</b>"), total_stem("Totality")
    ('single', '', None)
    """
    words, n_found = _TOTAL.subn("", plain(label))
    stem = words.strip(" -:()")
    return ("" if stem in _OF_EVERYTHING else stem) if n_found else None


def _is_total(label: str, labels: Sequence[str]) -> bool:
    """Return True if a row is a total.

    `Total sleep time` is a total only if the label of another row begins with `sleep time`.
    """
    stem = total_stem(label)
    return stem is not None and any(other != label and plain(other).startswith(stem) for other in labels)


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as `3 trials`."""
    return count(number, noun).replace("\u00a0", " ")


def _roles(headers: list[str], columns: Mapping[str, str], cells: list[dict[str, str]]) -> dict[str, str]:
    for role, header in columns.items():
        if role not in ROLES:
            near = get_close_matches(role, ROLES, n=1)
            hint = f"write `{near[0]}`." if near else f"write one of {', '.join(ROLES)}."
            raise InputError(f"`{role}` is not a known meaning of a column. Fix: {hint}")
        if header not in headers:
            raise InputError(f"the table has no column `{header}`. Fix: choose one of {_listed(headers)}.")
    roles = dict(columns)
    found: dict[str, list[str]] = {}
    for header in headers:
        known = role_of(header)
        if known is not None and known not in columns and header not in columns.values():
            found.setdefault(known, []).append(header)
    first = headers[0]
    if "label" not in columns and first not in columns.values() and not _holds_numbers(first, cells):
        roles["label"] = first
        found = {known: [header for header in named if header != first] for known, named in found.items()}
    for known, named in found.items():
        if len(named) > 1:
            raise InputError(
                f"the columns {_listed(named)} could all have the meaning `{known}`. Fix: choose one column with "
                f"--column {known}={named[0]!r}."
            )
        if named:
            roles[known] = named[0]
    return roles


def _holds_numbers(header: str, cells: list[dict[str, str]]) -> bool:
    return role_of(header) is not None and all(
        is_empty(row[header]) or read_number(row[header]) is not None for row in cells
    )


def _name(labels: list[str], place: int) -> str:
    label = labels[place]
    if not label:
        return f"row {place + 1}"
    return f"{label} (row {place + 1})" if labels.count(label) > 1 else label


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in dict.fromkeys(names)]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:12], "..."])
