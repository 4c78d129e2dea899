"""The cost of open dashboards: responses per second with and without 20 of them, in the same run.

    .venv/bin/python -m benchmarks.dashboards

Fifty participants respond to the sample study without thinking time. Windows with and without open dashboards
alternate, on the same server and store. Each dashboard is a signed-in researcher who reads the stream of events. The
script prints the ratio of the responses per second, and the ratio of the server's processor time per response, which
depends less on other programs. The last line is JSON.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx

from benchmarks import ours
from benchmarks.load import HOST, Load, Window
from benchmarks.parts import FIRST_PORT, N_PARTICIPANTS, WARM_UP_S, progress
from benchmarks.peers import cache_folder


def main() -> None:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--dashboards", type=int, default=20, help="number of open dashboards")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a window")
    parser.add_argument("--rounds", type=int, default=5, help="number of pairs of windows")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("This benchmark reads CPU and memory from /proc. Fix: run it on Linux.")
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache_folder()) as folder:
        found = asyncio.run(_measure(Path(folder), options.dashboards, options.seconds, options.rounds))
    print(json.dumps(found))  # noqa: T201


async def _measure(folder: Path, n_dashboards: int, seconds: float, rounds: int) -> dict[str, float]:
    study = ours.new_study(folder / "study")
    windows: dict[bool, list[Window]] = {False: [], True: []}
    n_events = [0]
    with ours.server(study, FIRST_PORT) as server:
        cookie = _sign_in(study)
        async with Load([FIRST_PORT], ours.participant) as load:
            load.start(N_PARTICIPANTS)
            await load.run_until(lambda: load.n_sessions >= N_PARTICIPANTS)
            for number in range(rounds):
                # Each second pair begins with the dashboards, so that a drift of the machine's speed cancels out.
                for is_watched in (False, True) if number % 2 == 0 else (True, False):
                    async with AsyncExitStack() as streams:
                        for _ in range(n_dashboards if is_watched else 0):
                            await streams.enter_async_context(_dashboard(cookie, n_events))
                        await load.run(WARM_UP_S)
                        windows[is_watched].append(await load.window(seconds, server.usage))
                    window = windows[is_watched][-1]
                    progress(
                        f"{n_dashboards if is_watched else 0} dashboards: {window.responses_per_s:,.0f} responses/s"
                    )
    if n_events[0] < n_dashboards * rounds:
        raise RuntimeError("the dashboards received too few events")
    per_s = {watched: statistics.median(w.responses_per_s for w in of) for watched, of in windows.items()}
    cpu_ms = {
        watched: statistics.median(1e3 * w.server_cores / w.responses_per_s for w in of)
        for watched, of in windows.items()
    }
    return {
        "dashboards": n_dashboards,
        "events": n_events[0],
        "responses_per_s": round(per_s[False]),
        "responses_per_s_with_dashboards": round(per_s[True]),
        "ratio": round(per_s[True] / per_s[False], 3),
        "cpu_ratio": round(cpu_ms[True] / cpu_ms[False], 3),
        "p99_ms": round(statistics.median(w.p99_ms for w in windows[False]), 1),
        "p99_ms_with_dashboards": round(statistics.median(w.p99_ms for w in windows[True]), 1),
    }


def _sign_in(study: Path) -> str:
    token = (study / "data" / "researcher-token").read_text(encoding="ascii")
    reply = httpx.post(f"http://{HOST}:{FIRST_PORT}/researcher/sign-in", data={"token": token})
    return reply.headers["set-cookie"].partition(";")[0]


@asynccontextmanager
async def _dashboard(cookie: str, n_events: list[int]) -> AsyncIterator[None]:
    """Keep the stream of a dashboard open for a block, and count its events."""
    reader, writer = await asyncio.open_connection(HOST, FIRST_PORT)
    head = f"GET /researcher/live HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n\r\n"
    writer.write(head.encode())
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(f"the stream was refused: {status.decode()}")

    async def read() -> None:
        while part := await reader.read(64 * 1024):
            n_events[0] += part.count(b"\ndata: ")

    reading = asyncio.create_task(read())
    try:
        yield
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        writer.close()


if __name__ == "__main__":
    main()
