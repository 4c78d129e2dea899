"""Programs that play Black Box: the ideal observer, and two simpler players to compare with people and models.

A player is a pure function of the observations: with the same observations, it always does the same. The players with
chance get a seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from batteries.blackbox.observations import MAX_RAYS, Observation, game_score, observe, open_ports
from batteries.blackbox.outcome_table import OutcomeTable, outcome_table
from batteries.blackbox.posterior import Posterior, posterior_after
from batteries.blackbox.rules import Atoms, Port, all_cells


@dataclass(frozen=True)
class Fire:
    """Fire a ray from a port."""

    port: Port


@dataclass(frozen=True)
class Guess:
    """End the game with a guess of all atoms."""

    atoms: Atoms


class Player(Protocol):
    """A program that plays Black Box."""

    def next_action(self, observations: Sequence[Observation]) -> Fire | Guess:
        """Return the next action after these rays. The ray may not enter by a used port or be ray 21."""
        ...


@dataclass(frozen=True)
class PlayedGame:
    """A finished game."""

    observations: tuple[Observation, ...]
    guess: Atoms
    n_atoms_correct: int
    score: int
    """Points for rays and missed atoms. A low score is good."""


def play(player: Player, atoms: Atoms, size: int = 8) -> PlayedGame:
    """Let a player play a game on a board with these atoms."""
    observations: tuple[Observation, ...] = ()
    while isinstance(action := player.next_action(observations), Fire):
        observations = (*observations, observe(atoms, action.port, size))
    n_correct = len(action.atoms & atoms)
    return PlayedGame(observations, action.atoms, n_correct, game_score(observations, len(atoms) - n_correct))


def _informative_ports(posterior: Posterior) -> list[Port]:
    """Return the ports that the player may use and whose outcome is not certain."""
    if len(posterior.observations) >= MAX_RAYS:
        return []
    ports = open_ports(posterior.observations, posterior.table.size)
    return [port for port in ports if posterior.entropy_bits[port] > 0]


@dataclass(frozen=True)
class IdealObserver:
    """Knows all possible boards, and fires the ray with the most information per point that it is expected to cost.

    Of equally good rays, it fires the first in the order of `all_ports`. It guesses when no ray can tell it more. Its
    guess is the cells with the highest probabilities.
    """

    size: int = 8
    n_atoms: int = 4

    def next_action(self, observations: Sequence[Observation]) -> Fire | Guess:
        """Return the best ray, or the best guess if all outcomes are certain."""
        posterior = posterior_after(outcome_table(self.size, self.n_atoms), tuple(observations))
        ports = _informative_ports(posterior)
        if not ports:
            return Guess(posterior.best_guess.atoms)
        bits, points = posterior.entropy_bits, posterior.expected_points
        # Ports that are equally good by symmetry can differ by rounding errors, which depend on the machine.
        return Fire(max(ports, key=lambda port: round(bits[port] / points[port], 9)))


@dataclass(frozen=True)
class GreedyConsistent:
    """Believes one possible board until a ray refutes it, and guesses when a few rays in a row did not refute it.

    This is the strategy "win-stay, lose-sample" of Bonawitz, Denison, Gopnik and Griffiths (2014, Cognitive Psychology
    74, 35-65). The player never forgets an observation, but does not choose its rays well: it fires a random ray whose
    outcome is not certain.
    """

    seed: int
    n_rays_in_a_row: int = 3
    """Number of rays in a row, as the believed board predicts them, after which the player guesses this board."""
    size: int = 8
    n_atoms: int = 4

    def next_action(self, observations: Sequence[Observation]) -> Fire | Guess:
        """Return a random ray, or the believed board as the guess."""
        table = outcome_table(self.size, self.n_atoms)
        observations = tuple(observations)
        posterior = posterior_after(table, observations)
        ports = _informative_ports(posterior)
        board, n_rays = self._believed_board(table, observations)
        if ports and n_rays < self.n_rays_in_a_row:
            return Fire(_random(self.seed, "port", len(observations)).choice(ports))
        return Guess(table.atoms(board))

    def _believed_board(self, table: OutcomeTable, observations: tuple[Observation, ...]) -> tuple[int, int]:
        """Return the believed board, and the number of rays that it predicted since the player believes it."""
        board, n_rays = _random(self.seed, "board", 0).randrange(table.n_boards), 0
        for number, observation in enumerate(observations, start=1):
            outcome = table.outcomes[table.port_index[observation.entry], board]
            if outcome == table.outcome_code(observation.outcome):
                n_rays += 1
            else:
                boards = posterior_after(table, observations[:number]).boards
                board, n_rays = int(_random(self.seed, "board", number).choice(boards)), 0
        return board, n_rays


@dataclass(frozen=True)
class RandomPlayer:
    """Fires a random number of rays from random ports, and guesses random cells."""

    seed: int
    size: int = 8
    n_atoms: int = 4

    def next_action(self, observations: Sequence[Observation]) -> Fire | Guess:
        """Return a random ray or a random guess."""
        n_rays = _random(self.seed, "number of rays").randint(0, MAX_RAYS)
        ports = open_ports(observations, self.size)
        if ports and len(observations) < n_rays:
            return Fire(_random(self.seed, "port", len(observations)).choice(ports))
        return Guess(frozenset(_random(self.seed, "guess").sample(all_cells(self.size), self.n_atoms)))


def _random(seed: int, *purpose: str | int) -> Random:
    """Return a generator for one decision. Different decisions of a player are independent."""
    return Random(repr((seed, *purpose)))
