"""The Black Box game: a board with atoms.

A ray is absorbed, is reflected, or leaves the board by a port that is not its entry port.
"""

from batteries.blackbox.rules import Atoms, Cell, Effect, Encounter, Port, Ray, Side, all_ports, trace

__all__ = ["Atoms", "Cell", "Effect", "Encounter", "Port", "Ray", "Side", "all_ports", "trace"]
