"""Shared pieces of the server benchmark: settings, results, and loading a server for some seconds."""

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.load import Load, Script, Usage, Window
from benchmarks.processes import ServerProcess

N_PARTICIPANTS = 50
WARM_UP_S = 3.0
FIRST_PORT = 21_000

Row = Sequence[str | float | int | None]


@dataclass(frozen=True)
class Settings:
    """Settings from the command line."""

    folder: Path
    """Folder for the studies, projects and databases of this run."""
    seconds: float
    rounds: int
    kills: int
    stored: int
    minutes: float
    """Minutes of steady load."""


@dataclass
class Findings:
    """Results of a part: a table for people and numbers for programs."""

    title: str
    columns: Sequence[str]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Return the table, with the notes below it."""
        cells = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(pairs)).rstrip()
            for pairs in (zip(row, widths, strict=True) for row in cells)
        ]
        return "\n".join([self.title, "", *(lines if self.rows else []), *self.notes, ""])


WINDOW_COLUMNS = (
    "responses/s", "p50 ms", "p99 ms", "server cores", "server MB", "client cores", "sent again",
)  # fmt: skip


def window_row(name: str, window: Window) -> Row:
    """Return a table's row for a window."""
    return (
        name,
        window.responses_per_s,
        window.p50_ms,
        window.p99_ms,
        window.server_cores,
        window.memory_mb,
        window.client_cores,
        window.sent_again,
    )


def progress(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


async def drive(servers: Sequence[ServerProcess], new_script: Callable[[], Script], seconds: float) -> Window:
    """Start new participants at running servers, and measure after a warm-up."""
    async with Load([server.port for server in servers], new_script) as load:
        load.start(N_PARTICIPANTS)
        await load.run(WARM_UP_S)
        return await load.window(seconds, lambda: total_usage(servers))


def total_usage(servers: Sequence[ServerProcess]) -> Usage:
    """Return the usage of several servers together."""
    each = [server.usage() for server in servers]
    return Usage(sum(one.cpu_s for one in each), sum(one.memory_mb for one in each))


def median(windows: Sequence[Window]) -> Window:
    """Return the median of each number."""
    return Window(
        **{one.name: statistics.median(getattr(window, one.name) for window in windows) for one in fields(Window)}
    )


def _cell(value: str | float | None) -> str:
    match value:
        case None:
            return "-"
        case str():
            return value
        case int():
            return f"{value:,}"
        case _:
            return f"{value:,.0f}" if value >= 100 or value.is_integer() else f"{value:.2f}"
