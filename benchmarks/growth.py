"""Speed and memory as a study grows: open sessions, stored responses, server processes."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import ours
from benchmarks.load import Load, Script, Window
from benchmarks.ours import Acknowledged, Books
from benchmarks.parts import (
    FIRST_PORT,
    N_PARTICIPANTS,
    WARM_UP_S,
    WINDOW_COLUMNS,
    Findings,
    Settings,
    drive,
    median,
    progress,
    total_usage,
    window_row,
)
from benchmarks.processes import ServerProcess
from tests.postgres import PostgresCluster, find_binaries

N_OPEN = 1_000
N_ANSWERED = 3
"""Number of trials answered in each open session."""


async def open_sessions(settings: Settings) -> Findings:
    """Compare a server with 1,000 open sessions, each with an open connection, and one with few."""
    found = Findings(f"{N_OPEN:,} open sessions, SQLite, median of {settings.rounds}", ("open", *WINDOW_COLUMNS))
    few = ours.new_study(settings.folder / "few-open")
    many = ours.new_study(settings.folder / "many-open")
    with ours.server(few, FIRST_PORT) as server_few, ours.server(many, FIRST_PORT + 1) as server_many:
        # Memory that a server allocates at its first requests is not due to the open sessions.
        for server in (server_few, server_many):
            await drive([server], ours.participant, settings.seconds)
        before_mb = server_many.usage().memory_mb
        async with Load([server_many.port], partial(ours.participant, n_trials=N_ANSWERED)) as held:
            await held.hold(N_OPEN)
            kb_each = (server_many.usage().memory_mb - before_mb) * 1024 / N_OPEN
            medians = await _in_turns({"few": server_few, f"{N_OPEN:,}": server_many}, settings, found)
    found.notes.append(f"memory for each open session, with its connection: {kb_each:.1f} KB")
    without, with_ = medians.values()
    found.summary = {
        "memory_kb_per_session": round(kb_each, 1),
        "open_sessions_ratio": round(with_.responses_per_s / without.responses_per_s, 3),
        "open_sessions_ratio_p50": round(with_.p50_ms / without.p50_ms, 3),
        "open_sessions_ratio_p99": round(with_.p99_ms / without.p99_ms, 3),
        "open_sessions_memory_mb": round(with_.memory_mb, 1),
    }
    return found


async def stored_responses(settings: Settings) -> Findings:
    """Compare a server on a store with many responses with one on an empty store."""
    found = Findings(
        f"{settings.stored:,} stored responses, SQLite, median of {settings.rounds}", ("stored", *WINDOW_COLUMNS)
    )
    empty = ours.new_study(settings.folder / "empty")
    full = ours.new_study(settings.folder / "full")
    with ours.server(full, FIRST_PORT + 1) as server_full:
        await drive([server_full], ours.participant, seconds=0)
    progress(f"storing {settings.stored:,} responses")
    ours.fill(full, settings.stored)
    found.notes.append(f"the full store takes {ours.database(full).stat().st_size / 1e9:.2f} GB")
    with ours.server(empty, FIRST_PORT) as server_empty, ours.server(full, FIRST_PORT + 1) as server_full:
        found.notes.append(
            f"a server started in {server_empty.start_s:.1f} s on the empty store, and in {server_full.start_s:.1f} s "
            "on the full one"
        )
        medians = await _in_turns({"none": server_empty, f"{settings.stored:,}": server_full}, settings, found)
    without, with_ = medians.values()
    found.summary = {
        "stored": settings.stored,
        "stored_10m_ratio": round(with_.responses_per_s / without.responses_per_s, 3),
        "stored_ratio_p50": round(with_.p50_ms / without.p50_ms, 3),
        "stored_ratio_p99": round(with_.p99_ms / without.p99_ms, 3),
        "stored_start_s": round(server_full.start_s, 1),
    }
    return found


async def processes(settings: Settings) -> Findings:
    """Measure one and three server processes on one PostgreSQL, and three while one of them is killed."""
    found = Findings(
        f"Server processes on PostgreSQL, median of {settings.rounds}, without PostgreSQL's own memory",
        ("processes", *WINDOW_COLUMNS),
    )
    if find_binaries() is None:
        found.notes.append("not measured: PostgreSQL's programs were not found")
        return found
    study = ours.new_study(settings.folder / "processes")
    windows: dict[str, list[Window]] = {"1": [], "3": [], "2 of 3 left": []}
    lost = duplicates = 0
    with PostgresCluster() as cluster:
        for _ in range(settings.rounds):
            for n_processes in (1, 3):
                measured, books = await _on_postgres(study, cluster.new_database(), n_processes, settings.seconds)
                for name, window in measured.items():
                    windows[name].append(window)
                    progress(f"{name}: {window.responses_per_s:,.0f} responses/s, p99 {window.p99_ms:,.0f} ms")
                lost += books.lost
                duplicates += books.duplicates
    medians = _enter_medians(windows, found)
    found.notes.append(f"lost: {lost}, duplicates: {duplicates}")
    found.summary = {
        "postgres_responses_per_s": round(medians["1"].responses_per_s),
        "postgres_p99_ms": round(medians["1"].p99_ms, 2),
        "postgres_3_processes_responses_per_s": round(medians["3"].responses_per_s),
        "postgres_2_of_3_left_responses_per_s": round(medians["2 of 3 left"].responses_per_s),
        "processes_lost": lost,
        "processes_duplicates": duplicates,
    }
    return found


async def _on_postgres(study: Path, store: str, n_processes: int, seconds: float) -> tuple[dict[str, Window], Books]:
    """Measure a number of processes on a new database; measure three again while one is killed."""
    acknowledged: Acknowledged = []
    script = partial(ours.participant, acknowledged)
    with ExitStack() as stack:
        servers = [stack.enter_context(ours.server(study, FIRST_PORT + number, store)) for number in range(n_processes)]
        windows = {str(n_processes): await drive(servers, script, seconds)}
        if n_processes == 3:
            windows["2 of 3 left"] = await _drive_with_a_kill(servers, script, seconds)
    return windows, Books.of(acknowledged, ours.stored_in_postgres(store))


async def _drive_with_a_kill(servers: list[ServerProcess], script: Callable[[], Script], seconds: float) -> Window:
    """Measure from the moment when a server is killed; its participants continue on the other servers."""
    *left, killed = servers
    async with Load([server.port for server in servers], script) as load:
        load.start(N_PARTICIPANTS)
        await load.run(WARM_UP_S)
        killed.kill()
        return await load.window(seconds, lambda: total_usage(left))


async def _in_turns(servers: Mapping[str, ServerProcess], settings: Settings, found: Findings) -> dict[str, Window]:
    """Load running servers in turns, several times; return the medians."""
    windows: dict[str, list[Window]] = {name: [] for name in servers}
    for _ in range(settings.rounds):
        for name, server in servers.items():
            window = await drive([server], ours.participant, settings.seconds)
            windows[name].append(window)
            progress(f"{name}: {window.responses_per_s:,.0f} responses/s, p99 {window.p99_ms:,.0f} ms")
    return _enter_medians(windows, found)


def _enter_medians(windows: Mapping[str, list[Window]], found: Findings) -> dict[str, Window]:
    medians = {name: median(each) for name, each in windows.items()}
    found.rows += [window_row(name, window) for name, window in medians.items()]
    return medians
