"""Observations of a Black Box game: the fired rays, the ports that they used, and the points that they cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from batteries.blackbox.rules import Atoms, Port, all_ports, trace

MAX_RAYS = 20
"""Most rays of a game."""
LARGEST_SIZE = 99
"""Largest board whose ports `Port.parse` reads."""
POINTS_PER_MISSED_ATOM = 5


@dataclass(frozen=True)
class Observation:
    """A fired ray and its outcome."""

    entry: Port
    outcome: str
    """`absorbed`, `reflected`, or the port by which the ray left, such as `west-5`."""

    @property
    def exit(self) -> Port | None:
        """Port by which the ray left. None if the ray was absorbed or reflected."""
        return None if self.outcome in {"absorbed", "reflected"} else Port.parse(self.outcome, LARGEST_SIZE)


def observe(atoms: Atoms, entry: Port, size: int = 8) -> Observation:
    """Fire a ray at a board."""
    return Observation(entry, trace(atoms, entry, size).outcome)


def open_ports(observations: Iterable[Observation], size: int = 8) -> list[Port]:
    """Return the ports from which a ray may still be fired: no ray has entered or left by them."""
    used = {port for observation in observations for port in (observation.entry, observation.exit)}
    return [port for port in _ports(size) if port not in used]


@lru_cache(maxsize=16)
def _ports(size: int) -> tuple[Port, ...]:
    return tuple(all_ports(size))


def game_score(observations: Sequence[Observation], n_missed_atoms: int) -> int:
    """Return the score of a game. A low score is good.

    Each ray costs 1 point. A ray that leaves by another port costs 1 point more. Each missed atom costs 5 points.

    Examples
    --------
    >>> north_2, north_4 = Port.parse("north-2"), Port.parse("north-4")
    >>> game_score([Observation(north_2, "absorbed"), Observation(north_4, "west-4")], n_missed_atoms=1)
    8
    """
    n_exits = sum(observation.exit is not None for observation in observations)
    return len(observations) + n_exits + POINTS_PER_MISSED_ATOM * n_missed_atoms
