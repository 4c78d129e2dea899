"""Servers killed with SIGKILL under load: each acknowledged response must be stored exactly once."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

from benchmarks import ours
from benchmarks.load import Load
from benchmarks.ours import Acknowledged, Books
from benchmarks.parts import FIRST_PORT, N_PARTICIPANTS, Findings, Settings, progress
from benchmarks.processes import ServerProcess
from tests.postgres import PostgresCluster, find_binaries

LOAD_S = (0.2, 1.2)
"""Seconds of load between two kills, after participants have reconnected; drawn anew each time."""

POSTGRES_KILLS = 5


async def durability(settings: Settings) -> Findings:
    """Kill the server on SQLite and on PostgreSQL, and PostgreSQL itself; count lost responses."""
    found = Findings(
        "kill -9 under load; participants repeat requests that were not acknowledged",
        ("killed", "kills", "acknowledged", "lost", "duplicates", "sent again"),
    )
    lost = duplicates = 0

    def enter(killed: str, kills: int, books: Books, load: Load) -> None:
        nonlocal lost, duplicates
        lost += books.lost
        duplicates += books.duplicates
        found.rows.append((killed, kills, books.acknowledged, books.lost, books.duplicates, load.n_sent_again))
        found.summary |= {"lost": lost, "duplicates": duplicates}

    study = ours.new_study(settings.folder / "kills")
    acknowledged: Acknowledged = []
    with ours.server(study, FIRST_PORT) as server:
        load = await _kill(server, _restart(server), settings.kills, acknowledged)
    enter("server on SQLite", settings.kills, Books.of(acknowledged, ours.stored_in_sqlite(study)), load)
    found.summary["kills_sqlite"] = settings.kills

    if find_binaries() is None:
        found.notes.append("PostgreSQL was left out: its programs were not found")
        return found
    with PostgresCluster() as cluster:
        for killed, kills in (("server on PostgreSQL", settings.kills), ("PostgreSQL", POSTGRES_KILLS)):
            store, acknowledged = cluster.new_database(), []
            with ours.server(study, FIRST_PORT, store) as server:
                again = _restart(server) if killed != "PostgreSQL" else _restart(cluster)
                load = await _kill(server, again, kills, acknowledged)
            enter(killed, kills, Books.of(acknowledged, ours.stored_in_postgres(store)), load)
    found.summary |= {"kills_postgres": settings.kills, "kills_of_postgres": POSTGRES_KILLS}
    return found


def _restart(victim: ServerProcess | PostgresCluster) -> Callable[[], None]:
    def kill_and_start() -> None:
        victim.kill()
        victim.start()

    return kill_and_start


async def _kill(server: ServerProcess, kill_and_start: Callable[[], None], kills: int, noted: Acknowledged) -> Load:
    """Load a server, kill it repeatedly, and return when all open requests are answered."""
    rng = random.Random(kills)
    async with Load([server.port], partial(ours.participant, noted)) as load:
        load.start(N_PARTICIPANTS)
        for number in range(1, kills + 1):
            n_before = len(noted)
            await load.run_until(lambda n_enough=n_before + N_PARTICIPANTS: len(noted) >= n_enough)
            await load.run(rng.uniform(*LOAD_S))
            progress(f"kill {number} of {kills}, after {len(noted) - n_before:,} more acknowledged responses")
            # In another thread, so that participants receive every acknowledgement up to the end.
            await asyncio.to_thread(kill_and_start)
    return load
