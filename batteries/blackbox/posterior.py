"""The boards that are still possible after some rays, and what a further ray or a guess is worth.

All boards with the right number of atoms are equally probable at the start. This is the ideal observer's knowledge.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from batteries.blackbox.compute_outcomes import FIRST_PORT, symmetries
from batteries.blackbox.observations import Observation
from batteries.blackbox.outcome_table import OutcomeTable
from batteries.blackbox.rules import Atoms, Cell, Port, all_cells, trace

MANY_BOARDS = 3000
"""From this number of boards, outcomes are counted for two ports at a time. Below, one count of all ports is faster."""


@dataclass(frozen=True)
class ScoredGuess:
    """A guess and the expected number of its atoms that are right."""

    atoms: Atoms
    expected_atoms: float


@dataclass(frozen=True, eq=False)
class Posterior:
    """The boards that agree with all observations. `posterior_after` makes it."""

    table: OutcomeTable
    observations: tuple[Observation, ...]
    boards: NDArray[np.intp]
    """Positions of the possible boards in the table, ascending."""

    @property
    def n_boards(self) -> int:
        """Number of boards that are still possible."""
        return len(self.boards)

    @property
    def uncertainty_bits(self) -> float:
        """Entropy of the board, in bits. 0 if only one board is possible."""
        return log2(self.n_boards)

    @cached_property
    def outcome_counts(self) -> NDArray[np.int64]:
        """Number of possible boards for each port and code of an outcome, ports x codes."""
        if len(self.observations) == 1:
            return _counts_after_first_ray(self.table, self.observations[0])[0]
        return _count_outcomes(self.table, self.boards)

    @cached_property
    def entropy_bits(self) -> dict[Port, float]:
        """Entropy of the outcome of a ray from each port, in bits: the information that the ray is expected to give.

        It is exactly 0 if the outcome is certain.
        """
        shares = self.outcome_counts / self.n_boards
        log_shares = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy = 0.0 - (shares * log_shares).sum(axis=1)
        return dict(zip(self.table.ports, entropy.tolist(), strict=True))

    @cached_property
    def expected_points(self) -> dict[Port, float]:
        """Expected points of a ray from each port: 1, plus the probability that the ray leaves by another port."""
        n_exits = self.outcome_counts[:, FIRST_PORT:].sum(axis=1)
        return dict(zip(self.table.ports, (1 + n_exits / self.n_boards).tolist(), strict=True))

    @cached_property
    def atom_probabilities(self) -> dict[Cell, float]:
        """Probability that there is an atom in each cell."""
        if len(self.observations) == 1:
            counts = _counts_after_first_ray(self.table, self.observations[0])[1]
        else:
            counts = _count_atoms(self.table, self.boards)
        return dict(zip(all_cells(self.table.size), (counts / self.n_boards).tolist(), strict=True))

    @cached_property
    def best_guess(self) -> ScoredGuess:
        """The guess with the largest expected number of right atoms: the cells with the highest probabilities.

        Of cells with equal probabilities, the first in reading order is used. The guess need not be a possible board.
        """
        probabilities = self.atom_probabilities
        best = sorted(probabilities, key=lambda cell: (-probabilities[cell], cell))[: self.table.n_atoms]
        return ScoredGuess(frozenset(best), sum(probabilities[cell] for cell in best))

    def is_consistent(self, atoms: Atoms) -> bool:
        """Return True if a board with these atoms agrees with all observations."""
        size = self.table.size
        return (
            len(atoms) == self.table.n_atoms
            and all(1 <= row <= size and 1 <= column <= size for row, column in atoms)
            and all(trace(atoms, ray.entry, size).outcome == ray.outcome for ray in self.observations)
        )


@lru_cache(maxsize=512)
def posterior_after(table: OutcomeTable, observations: tuple[Observation, ...]) -> Posterior:
    """Return the posterior after some rays. Without rays, all boards are possible.

    Recent results are kept, so that the rays of a game are not evaluated again after each further ray.

    Raises
    ------
    ValueError
        If no board agrees with all observations.
    """
    if not observations:
        return Posterior(table, (), np.arange(table.n_boards))
    before, last = posterior_after(table, observations[:-1]).boards, observations[-1]
    outcomes = table.outcomes[table.port_index[last.entry]]
    code = table.outcome_code(last.outcome)
    boards = np.flatnonzero(outcomes == code) if len(observations) == 1 else before[outcomes.take(before) == code]
    if not len(boards):
        raise ValueError(
            f"ray {len(observations)}, {last.entry} to {last.outcome}: no board with {table.n_atoms} atoms agrees with "
            "this ray and the rays before. Fix: check the observations of this game."
        )
    return Posterior(table, observations, boards)


def _count_outcomes(table: OutcomeTable, boards: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the number of boards for each port and code of an outcome, ports x codes."""
    codes, n_codes = table.outcomes_by_board.take(boards, axis=0), table.n_outcomes
    n_ports = codes.shape[1]
    if len(boards) < MANY_BOARDS:
        first_codes = np.arange(n_ports) * n_codes
        return np.bincount((codes + first_codes).ravel(), minlength=n_ports * n_codes).reshape(-1, n_codes)
    counts = []
    # Counting the pairs of outcomes at two ports takes little longer than counting the outcomes at one port.
    for pairs in (codes[:, 0::2] * np.uint16(n_codes) + codes[:, 1::2]).T:
        joint = np.bincount(pairs, minlength=n_codes**2).reshape(n_codes, n_codes)
        counts += [joint.sum(axis=1), joint.sum(axis=0)]
    return np.array(counts)


def _count_atoms(table: OutcomeTable, boards: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the number of boards with an atom in each cell."""
    return np.bincount(table.atom_cells.take(boards, axis=1).ravel(), minlength=table.size**2)


def _counts_after_first_ray(
    table: OutcomeTable, observation: Observation
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count outcomes and atoms after one ray. These are the slowest counts, and all games need them.

    The board is mirrored and turned so that the ray enters by the first half of the north side. So there are few
    different counts, which are kept.
    """
    port, code = table.port_index[observation.entry], table.outcome_code(observation.outcome)
    symmetry = next(one for one in symmetries(table.size) if one.ports[port] < (table.size + 1) // 2)
    outcomes, atoms = _moved_counts(table, int(symmetry.ports[port]), int(symmetry.codes[code]))
    return outcomes[np.ix_(symmetry.ports, symmetry.codes)], atoms[symmetry.cells]


@lru_cache(maxsize=512)
def _moved_counts(table: OutcomeTable, port: int, code: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    boards = np.flatnonzero(table.outcomes[port] == code)
    return _count_outcomes(table, boards), _count_atoms(table, boards)
