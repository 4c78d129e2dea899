"""The information that each fired ray of a game gave, beside the best ray that could have been fired instead."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from batteries.blackbox.observations import Observation, open_ports
from batteries.blackbox.outcome_table import OutcomeTable
from batteries.blackbox.posterior import Posterior, posterior_after


@dataclass(frozen=True)
class RayInformation:
    """The information of one fired ray."""

    observation: Observation
    n_boards_before: int
    """Number of possible boards before the ray."""
    n_boards_after: int
    """Number of possible boards after the ray."""
    expected_bits: float
    """Entropy of the ray's outcome before it was fired. This depends on the choice of the port, but not on luck."""
    best_expected_bits: float
    """The largest entropy of all rays that could be fired at this moment."""
    expected_atoms: float
    """Expected number of right atoms of the best guess after the ray."""

    @property
    def gained_bits(self) -> float:
        """Information that the outcome gave: log2 of the boards before and after. An unlikely outcome gives more."""
        return log2(self.n_boards_before / self.n_boards_after)

    @property
    def share_of_best(self) -> float | None:
        """Expected information as a share of the best available, from 0 to 1. None if no ray could tell more."""
        return self.expected_bits / self.best_expected_bits if self.best_expected_bits else None

    @property
    def is_redundant(self) -> bool:
        """True if the outcome was certain before the ray was fired."""
        return self.expected_bits == 0


def information_of_rays(table: OutcomeTable, observations: Sequence[Observation]) -> list[RayInformation]:
    """Return the information of each ray of a game.

    Raises
    ------
    ValueError
        If no board agrees with all observations.
    """
    steps = [posterior_after(table, tuple(observations[:n_rays])) for n_rays in range(len(observations) + 1)]
    return [_of_ray(before, after) for before, after in pairwise(steps)]


def _of_ray(before: Posterior, after: Posterior) -> RayInformation:
    observation = after.observations[-1]
    bits = before.entropy_bits
    could_be_fired = {observation.entry, *open_ports(before.observations, before.table.size)}
    return RayInformation(
        observation,
        before.n_boards,
        after.n_boards,
        bits[observation.entry],
        max(bits[port] for port in could_be_fired),
        after.best_guess.expected_atoms,
    )
