"""Submissions at a panel, and reading them from the panel's export.

The columns and statuses of Prolific's export and API come from its API reference (mid-2026). SONA documents its
survey codes and its statuses (Participated, Excused No-Show, Unexcused No-Show), and CloudResearch documents its URL
parameters, but neither publishes the names of all columns. So a researcher can name the columns.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from batteries.errors import InputError
from batteries.files.csv_files import parse_csv, refuse_duplicate_columns, unguarded
from batteries.files.file_reading import read_text


class PanelStatus(StrEnum):
    """State of a submission at the panel."""

    UNDER_WAY = "under way"
    AWAITING_REVIEW = "awaiting review"
    APPROVED = "approved"
    RETURNED = "returned"
    TIMED_OUT = "timed out"
    REJECTED = "rejected"
    SCREENED_OUT = "screened out"


@dataclass(frozen=True)
class Submission:
    """One submission of a participant at the panel."""

    submission: str
    """The panel's id of the submission; empty if the panel has no such ids."""
    external_id: str
    """The participant's panel id."""
    status: PanelStatus
    code: str | None
    """The completion code that the participant entered; None if the panel has no completion codes."""
    panel_study: str | None = None
    """The panel's id of the study, if known."""


@dataclass(frozen=True)
class Panel:
    """A panel's export: the names of the columns, and the panel's words for each status."""

    title: str
    columns: Mapping[str, tuple[str, ...]]
    """Known names of each column, by `id`, `submission`, `status` and `code`."""
    statuses: Mapping[PanelStatus, tuple[str, ...]]
    required: tuple[str, ...] = ("id", "status")
    by_word: dict[str, PanelStatus] = field(init=False)

    def __post_init__(self) -> None:
        words = {_plain(word): status for status, known in self.statuses.items() for word in known}
        object.__setattr__(self, "by_word", words)


def _plain(text: str) -> str:
    """Return a name in small letters without spaces and signs, so that `TIMED-OUT` and `Timed out` are equal."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


PANELS = {
    "prolific": Panel(
        "Prolific",
        {
            "id": ("Participant id",),
            "submission": ("Submission id",),
            "status": ("Status",),
            "code": ("Completion code",),
        },
        {
            PanelStatus.UNDER_WAY: ("RESERVED", "ACTIVE"),
            PanelStatus.AWAITING_REVIEW: ("AWAITING REVIEW",),
            PanelStatus.APPROVED: ("APPROVED", "PARTIALLY APPROVED"),
            PanelStatus.RETURNED: ("RETURNED",),
            PanelStatus.TIMED_OUT: ("TIMED-OUT",),
            PanelStatus.REJECTED: ("REJECTED",),
            PanelStatus.SCREENED_OUT: ("SCREENED OUT",),
        },
        ("id", "submission", "status", "code"),
    ),
    "sona": Panel(
        "SONA",
        {"id": ("Survey Code", "Survey ID"), "status": ("Status", "Credit Status", "Participation Status")},
        {
            PanelStatus.AWAITING_REVIEW: ("Awaiting Action", "Uncredited", "Pending"),
            PanelStatus.APPROVED: ("Participated", "Credit Granted"),
            PanelStatus.RETURNED: (
                "Excused No-Show", "Unexcused No-Show", "No Show Excused", "No Show Unexcused", "Cancelled", "Canceled",
            ),
        },
    ),
    "cloudresearch": Panel(
        "CloudResearch",
        {
            "id": ("Participant ID",),
            "submission": ("Assignment ID",),
            "status": ("Status", "Assignment Status", "Approval Status"),
            "code": ("Completion Code",),
        },
        {
            PanelStatus.UNDER_WAY: ("In Progress", "Started", "Active"),
            PanelStatus.AWAITING_REVIEW: ("Pending", "Pending Approval", "Submitted", "Completed"),
            PanelStatus.APPROVED: ("Approved", "Paid"),
            PanelStatus.RETURNED: ("Returned", "Abandoned", "Cancelled", "Canceled"),
            PanelStatus.TIMED_OUT: ("Timed Out", "Expired"),
            PanelStatus.REJECTED: ("Rejected",),
            PanelStatus.SCREENED_OUT: ("Screened Out", "Terminated"),
        },
    ),
}  # fmt: skip
"""The panels whose exports can be read, by the name of the option."""


def panel_named(name: str) -> Panel:
    """Return the panel with this name.

    Raises
    ------
    InputError
        If there is no such panel.
    """
    if name not in PANELS:
        raise InputError(f"`{name}` is not a known panel. Fix: name one of {', '.join(PANELS)}.")
    return PANELS[name]


def read_submissions(path: Path, panel: Panel, columns: Mapping[str, str] | None = None) -> list[Submission]:
    """Return the submissions in a panel's export, one for each row.

    Parameters
    ----------
    path
        The CSV file that the panel exported.
    panel
        The panel.
    columns
        Names of columns in this file, by `id`, `submission`, `status` and `code`; they replace the known names.

    Raises
    ------
    InputError
        If the file is not such an export. The message names the line or the column.
    """
    named = dict(columns or {})
    unknown = sorted(set(named) - {"id", "submission", "status", "code"})
    if unknown:
        raise InputError(f"--column {unknown[0]}=...: unknown field. Fix: write id, submission, status or code.")
    table = parse_csv(read_text(path, newline=""), path)
    refuse_duplicate_columns(table.header, path)
    where = {name: _position(table.header, name, panel, named, path) for name in ("id", "submission", "status", "code")}
    found = []
    for cells, line in zip(table.rows, table.lines, strict=True):
        if cells:
            texts = {name: unguarded(cells[at]).strip() for name, at in where.items() if at is not None}
            status = panel.by_word.get(_plain(texts["status"]))
            if status is None:
                raise InputError(
                    f"{path}, line {line}: `{texts['status']}` is not a status of {panel.title}. Fix: export the "
                    "submissions again, or name the column with `--column status=NAME`."
                )
            found.append(Submission(texts.get("submission", ""), texts["id"], status, texts.get("code")))
    return found


def _position(header: list[str], name: str, panel: Panel, named: Mapping[str, str], path: Path) -> int | None:
    """Return the position of a column; None if the panel's export need not have the column."""
    if name in named:
        if named[name] not in header:
            raise InputError(f"{path}: there is no column `{named[name]}`. Fix: correct `--column {name}=...`.")
        return header.index(named[name])
    known = {_plain(one) for one in panel.columns.get(name, ())}
    for position, column in enumerate(header):
        if _plain(column) in known:
            return position
    if name not in panel.required:
        return None
    raise InputError(
        f"{path}: this export of {panel.title} has no column `{panel.columns[name][0]}`. Fix: export the submissions "
        f"again, or name the column with `--column {name}=NAME`."
    )
