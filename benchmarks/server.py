"""The server under load, beside the tools that labs use today: speed, durability, memory, growth.

    .venv/bin/python benchmarks/server.py
    .venv/bin/python benchmarks/server.py --only peers,fsync --seconds 5

Every server is a real process and gets the same load: 50 participants at once, each with one open connection. Without
thinking time they start, consent, answer the trials (26 at the peers, as many as the sample study plans at ours),
finish and start again. Acknowledged responses are counted and timed. oTree and psiTurk are installed from PyPI at the
first run, into separate environments in the user's cache folder; PostgreSQL and strace are used if they are installed.
Load generator and server share the machine's cores; the tables show how much of them the generator (client) took.

The whole run takes about half an hour. Most of it is for oTree, which is slow, and for filling a store with ten million
responses. It needs Linux. Tables come at the end, and one JSON line last.
"""

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import durability, growth, rates
from benchmarks.parts import Findings, Settings, progress
from benchmarks.peers import cache_folder

PARTS: dict[str, Callable[[Settings], Coroutine[Any, Any, Findings]]] = {
    "peers": rates.peers,
    "fsync": rates.fsync,
    "durability": durability.durability,
    "steady": rates.steady,
    "open": growth.open_sessions,
    "stored": growth.stored_responses,
    "processes": growth.processes,
}


def main() -> None:
    """Run the parts, print a table for each, and one JSON line last."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, separated by commas")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to measure each time")
    parser.add_argument("--rounds", type=int, default=3, help="how often to measure; medians are reported")
    parser.add_argument("--kills", type=int, default=20, help="kills of the server, on each database")
    parser.add_argument("--minutes", type=float, default=5.0, help="minutes of the steady load")
    parser.add_argument("--stored", type=int, default=10_000_000, help="responses in the full store; 0 skips this part")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}. Fix: choose from {', '.join(PARTS)}")
    if sys.platform != "linux":
        sys.exit("This benchmark reads CPU and memory from /proc. Fix: run it on Linux.")

    # A thousand connections exceed the default limit of open files; servers inherit the limit.
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    # Not in the system's temporary folder: it may be in memory, where a sync to disk costs nothing.
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache_folder()) as folder:
        settings = Settings(
            Path(folder), options.seconds, options.rounds, options.kills, options.stored, options.minutes
        )
        found = [_run(name, settings) for name in names if name != "stored" or settings.stored]
    for findings in found:
        print(findings.text())  # noqa: T201
    summary: dict[str, Any] = {"cores": os.cpu_count()}
    for findings in found:
        summary |= findings.summary
    print(json.dumps(summary))  # noqa: T201


def _run(name: str, settings: Settings) -> Findings:
    progress(f"\n== {name}")
    new_loop = import_module("uvloop").new_event_loop if find_spec("uvloop") else None
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(PARTS[name](settings))


if __name__ == "__main__":
    main()
