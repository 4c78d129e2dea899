"""The Black Box game: a board with atoms.

A ray is absorbed, is reflected, or leaves the board by a port that is not its entry port (`rules`). `observations` are
the rays of a game. `outcome_table` has the outcomes of all rays on all boards. With this table, `posterior` finds the
boards that are still possible, `ray_information` measures the rays of a game, `players` play games, and `difficulty`
rates boards. The modules that use the table import NumPy, so this package does not import them.
"""

from batteries.blackbox.rules import Atoms, Cell, Effect, Encounter, Port, Ray, Side, all_ports, trace

__all__ = ["Atoms", "Cell", "Effect", "Encounter", "Port", "Ray", "Side", "all_ports", "trace"]
