"""Speed of the ideal observer of Black Box, beside a program that follows one ray after the other.

    .venv/bin/python -m benchmarks.blackbox

Without a ready table, most people list all 635,376 boards and keep the boards on which the rules give the observed
outcome, ray by ray. The script does this with our `trace`, and does the same with the table of outcomes, alternating,
and checks that the same boards remain. Then it measures the table, games of the players, and the measures of each ray.
All times are CPU times, because other programs may use the machine. The last line is JSON.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import TypeVar

from batteries.blackbox import Atoms, table_cache, trace
from batteries.blackbox.observations import Observation
from batteries.blackbox.outcome_table import OutcomeTable, outcome_table
from batteries.blackbox.players import GreedyConsistent, IdealObserver, Player, RandomPlayer, play
from batteries.blackbox.posterior import posterior_after
from batteries.blackbox.ray_information import information_of_rays
from batteries.blackbox.rules import all_cells

N_GAMES_BY_TRACE = 3
N_GAMES = 480

Result = TypeVar("Result")


def main() -> None:
    """Print a line for each measurement, and one JSON line last."""
    print(f"load: {os.getloadavg()[0]:.1f}")  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        table_cache.cache_folder = lambda: Path(folder)
        compute_s, _ = timed(lambda: outcome_table.__wrapped__(8, 4))
        read_s, table = timed(lambda: outcome_table(8, 4))
    print(f"table of outcomes: {compute_s:.2f} s, from the cache {read_s:.2f} s")  # noqa: T201
    choose = Random(1)
    boards = [table.atoms(choose.randrange(table.n_boards)) for _ in range(N_GAMES)]
    ratios = [ratio_to_trace(table, play(IdealObserver(), atoms).observations) for atoms in boards[:N_GAMES_BY_TRACE]]
    per_s = {name: games_per_s(table, name, make, boards) for name, make in PLAYERS.items()}
    summary = {
        "table_s": round(compute_s, 2),
        "cached_table_s": round(read_s, 3),
        "times_faster_than_trace": [round(ratio) for ratio in ratios],
        "games_per_s": per_s,
    }
    print(json.dumps(summary))  # noqa: T201


PLAYERS: dict[str, Callable[[int], Player]] = {
    "ideal-observer": lambda _: IdealObserver(),
    "greedy-consistent": GreedyConsistent,
    "random": RandomPlayer,
}


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU seconds of some work, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def ratio_to_trace(table: OutcomeTable, observations: tuple[Observation, ...]) -> float:
    """Find the boards that remain after each ray of a game in both ways, and return the ratio of their times."""
    by_trace_s, traced = timed(lambda: boards_by_trace(observations))
    posterior_after.cache_clear()
    by_table_s, posterior = timed(lambda: posterior_after(table, observations))
    if [table.atoms(board) for board in posterior.boards] != traced:
        raise SystemExit("the two ways do not find the same boards")
    print(f"boards after {len(observations)} rays: by trace {by_trace_s:.1f} s, "  # noqa: T201
          f"by the table {by_table_s * 1000:.1f} ms", flush=True)  # fmt: skip
    return by_trace_s / by_table_s


def boards_by_trace(observations: Sequence[Observation]) -> list[Atoms]:
    """List all boards, and keep those that agree with each ray."""
    boards = [frozenset(atoms) for atoms in combinations(all_cells(), 4)]
    for ray in observations:
        boards = [atoms for atoms in boards if trace(atoms, ray.entry).outcome == ray.outcome]
    return boards


def games_per_s(table: OutcomeTable, name: str, make: Callable[[int], Player], boards: list[Atoms]) -> dict[str, float]:
    """Return the games that a player plays per second, and the games whose rays are measured per second."""
    posterior_after.cache_clear()
    play_s, games = timed(lambda: [play(make(seed), atoms) for seed, atoms in enumerate(boards)])
    posterior_after.cache_clear()
    measure_s, rays = timed(lambda: [information_of_rays(table, game.observations) for game in games])
    found = {
        "played": round(len(games) / play_s),
        "measured": round(len(games) / measure_s),
        "rays_per_game": round(sum(len(game) for game in rays) / len(games), 2),
        "score": round(sum(game.score for game in games) / len(games), 2),
    }
    print(f"{name}: {found}", flush=True)  # noqa: T201
    return found


if __name__ == "__main__":
    main()
