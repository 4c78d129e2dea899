"""Responses per second, delays and fsyncs: ours beside the tools that labs use today."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np

from benchmarks import ours
from benchmarks.load import Load, Script, Window
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
    window_row,
)
from benchmarks.peers import PeerUnavailable, otree, psiturk
from benchmarks.processes import ServerProcess

# Functions that make a server in a new folder, and the script of a participant's session on the running server.
Contestant = tuple[Callable[[Path], ServerProcess], Callable[[], Callable[[], Script]]]

CONTESTANTS: dict[str, Contestant] = {
    "equipoise": (lambda folder: ours.server(ours.new_study(folder), FIRST_PORT), lambda: ours.participant),
    "psiturk": (lambda folder: psiturk.server(folder, FIRST_PORT), lambda: psiturk.participant),
    "otree": (lambda folder: otree.server(folder, FIRST_PORT), lambda: otree.new_participants(FIRST_PORT)),
}

N_STEADY = 290
THINK_S = 1.0
SLOW_MS = 250

SYNC = re.compile(r"^\d+ +([\d.]+) (?:fsync|fdatasync)\(", re.MULTILINE)


async def peers(settings: Settings) -> Findings:
    """Measure ours, psiTurk and oTree in turns, each time with a new server and database."""
    found = Findings(
        f"{N_PARTICIPANTS} participants at once, SQLite, median of {settings.rounds}", ("server", *WINDOW_COLUMNS)
    )
    windows: dict[str, list[Window]] = {name: [] for name in CONTESTANTS}
    for number in range(settings.rounds):
        for name, (new_server, scripts) in CONTESTANTS.items():
            try:
                with new_server(settings.folder / f"{name}-{number}") as server:
                    window = await drive([server], scripts(), settings.seconds)
            except PeerUnavailable as error:
                found.notes.append(str(error))
                continue
            windows[name].append(window)
            progress(f"{name}: {window.responses_per_s:,.0f} responses/s, p99 {window.p99_ms:,.0f} ms")

    medians = {name: median(of_rounds) for name, of_rounds in windows.items() if of_rounds}
    found.rows += [window_row(name, window) for name, window in medians.items()]
    mine = medians["equipoise"]
    found.summary = {
        "responses_per_s": round(mine.responses_per_s),
        "p50_ms": round(mine.p50_ms, 2),
        "p99_ms": round(mine.p99_ms, 2),
        "server_cores": round(mine.server_cores, 2),
        "server_memory_mb": round(mine.memory_mb, 1),
    }
    for name in ("psiturk", "otree"):
        peer = medians.get(name)
        found.summary |= {
            f"{name}_ratio": peer and round(mine.responses_per_s / peer.responses_per_s, 1),
            f"{name}_responses_per_s": peer and round(peer.responses_per_s, 1),
            f"{name}_p99_ms": peer and round(peer.p99_ms, 1),
        }
    return found


async def fsync(settings: Settings) -> Findings:
    """Count fsync and fdatasync for each acknowledged response, in a run of its own under strace."""
    found = Findings("Syncs to disk, SQLite", ("server", "syncs", "responses", "syncs/response"))
    found.summary["fsync_per_response"] = None
    if which("strace") is None:
        found.notes.append("not counted: strace is not installed")
        return found
    trace = settings.folder / "strace.txt"
    # With --seccomp-bpf only the traced calls are slowed down, so that as many responses share one as always.
    strace = ("strace", "-f", "--seccomp-bpf", "-qq", "-ttt", "-e", "trace=fsync,fdatasync", "-o", str(trace))
    with ours.server(ours.new_study(settings.folder / "fsync"), FIRST_PORT, under=strace) as server:
        async with Load([server.port], ours.participant) as load:
            load.start(N_PARTICIPANTS)
            # Wait until starts and ends of sessions are spread over time, as in a steady load.
            await load.run_until(lambda: load.n_sessions >= N_PARTICIPANTS)
            begin = time.time()
            window = await load.window(settings.seconds / 2, server.usage)
            end = time.time()
    n_syncs = sum(begin <= float(at) < end for at in SYNC.findall(trace.read_text()))
    progress(f"{n_syncs:,} syncs for {window.n_responses:,} responses")
    per_response = round(n_syncs / window.n_responses, 4)
    found.rows.append(("equipoise", n_syncs, window.n_responses, per_response))
    found.summary["fsync_per_response"] = per_response
    return found


async def steady(settings: Settings) -> Findings:
    """Count slow acknowledgements under a steady load, as from a panel, over minutes."""
    found = Findings(
        f"{N_STEADY} participants who think for {THINK_S:g} s before each request, SQLite, {settings.minutes:g} "
        "minutes",
        ("responses", "responses/s", "p50 ms", "p99 ms", "p99.9 ms", "worst ms", f"over {SLOW_MS} ms"),
    )
    with ours.server(ours.new_study(settings.folder / "steady"), FIRST_PORT) as server:
        async with Load([server.port], ours.participant, THINK_S) as load:
            load.start(N_STEADY)
            await load.run(WARM_UP_S)
            n_before, began_at = len(load.latencies_s), time.perf_counter()
            await load.run(settings.minutes * 60)
            seconds = time.perf_counter() - began_at
            latencies_ms = np.array(load.latencies_s[n_before:]) * 1e3
    p50, p99, p999 = np.percentile(latencies_ms, [50, 99, 99.9])
    worst, n_slow = latencies_ms.max(), int((latencies_ms > SLOW_MS).sum())
    rate = len(latencies_ms) / seconds
    found.rows.append(
        (len(latencies_ms), round(rate), *(round(float(ms), 1) for ms in (p50, p99, p999, worst)), n_slow)
    )
    found.summary = {
        "steady_responses_per_s": round(rate),
        "steady_p999_ms": round(float(p999), 1),
        "steady_worst_ms": round(float(worst), 1),
        "steady_slow": n_slow,
    }
    return found
