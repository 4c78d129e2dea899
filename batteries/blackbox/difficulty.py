"""The difficulty of a board: the rays that the ideal observer needs, and what no ray can tell."""

from dataclasses import dataclass

from batteries.blackbox.observations import observe
from batteries.blackbox.outcome_table import outcome_table
from batteries.blackbox.players import IdealObserver, play
from batteries.blackbox.posterior import posterior_after
from batteries.blackbox.rules import Atoms, all_ports


@dataclass(frozen=True)
class Difficulty:
    """The difficulty of a board."""

    n_rays: int
    """Number of rays that the ideal observer fires."""
    score: int
    """Score of the ideal observer."""
    n_atoms_correct: int
    """Number of atoms that the ideal observer finds."""
    n_same_boards: int
    """Number of boards with the same outcomes at all ports, with this board. If it is 1, the rays can decide."""


def difficulty(atoms: Atoms, size: int = 8) -> Difficulty:
    """Return the difficulty of a board.

    Raises
    ------
    InputError
        If the table of all boards of this size with this number of atoms would be too large.
    """
    table = outcome_table(size, len(atoms))
    game = play(IdealObserver(size, len(atoms)), atoms, size)
    rays = tuple(observe(atoms, port, size) for port in all_ports(size))
    n_same_boards = posterior_after(table, rays).n_boards
    return Difficulty(len(game.observations), game.score, game.n_atoms_correct, n_same_boards)
