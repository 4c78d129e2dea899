"""Where the right answer stands: balanced over the battery, and over what one participant of a Latin square sees."""

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

from batteries.vignettes.templates import N_OPTIONS


class AnswerPositions:
    """Gives the four options of every question their order.

    Questions of one kind form a stratum. Its scenarios are counted through, variant after variant, and unit u takes the
    u-th of four arrangements in turn, so that every condition's right option stands in each position equally often.

    The arrangements are two pairs of positions, which change sides with u // 2, and the order in the pairs, which
    changes with u. A condition and the one that lies half the conditions further (A and B of two, A and C of four) have
    their right options in one pair, and both versions of a scenario have the same arrangement. In the human designs,
    whose groups see the two versions half a square apart, every participant's right answers are then balanced as well.
    Where the units are no multiple of four, the second version takes the arrangements that the first has left over.

    Parameters
    ----------
    n_variants
        Variants of every question.
    rng
        Says which positions make a pair in each stratum, and where options stand that are never right.
    """

    def __init__(self, n_variants: int, rng: random.Random) -> None:
        self._n_variants = n_variants
        self._rng = rng
        self._scenarios: defaultdict[Hashable, dict[str, int]] = defaultdict(dict)
        self._positions: dict[Hashable, list[int]] = {}

    def register(self, stratum: Hashable, scenario: str) -> None:
        """Count a scenario with a question in this stratum; all are counted before the first order is asked for."""
        self._scenarios[stratum].setdefault(scenario, len(self._scenarios[stratum]))
        if stratum not in self._positions:
            self._positions[stratum] = self._shuffled(range(N_OPTIONS))

    def order(
        self, stratum: Hashable, scenario: str, version: int, variant: int, right: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the options (indices from 0) in the order shown.

        Parameters
        ----------
        stratum
            Kind of question, as registered.
        scenario
            The scenario, as registered.
        version, variant
            Number of the story's version and of the label variant, from 0.
        right
            Index of the right option in each condition.
        """
        scenarios = self._scenarios[stratum]
        unit = variant * len(scenarios) + scenarios[scenario]
        n_units = self._n_variants * len(scenarios)
        rest = n_units % N_OPTIONS
        if unit >= n_units - rest:
            unit += version * rest
        first, second = self._positions[stratum][:2], self._positions[stratum][2:]
        if unit // 2 % 2:
            first, second = second, first
        if unit % 2:
            first, second = first[::-1], second[::-1]
        half = max(len(right) // 2, 1)
        paired = [right[place] for pair in range(half) for place in range(pair, len(right), half)]
        options = list(dict.fromkeys(paired))
        options += self._shuffled([option for option in range(N_OPTIONS) if option not in options])
        shown = dict(zip([*first, *second], options, strict=True))
        return tuple(shown[position] for position in range(N_OPTIONS))

    def _shuffled(self, values: Sequence[int]) -> list[int]:
        left = list(values)
        return [left.pop(int(self._rng.random() * len(left))) for _ in range(len(left))]
