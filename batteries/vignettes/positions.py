"""Where the right answer stands: balanced over the battery, in every kind of question and condition."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

from batteries.vignettes.templates import N_OPTIONS

_CIRCLES = [(0, a, b, 6 - a - b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
"""The six arrangements of four options in a circle."""


class AnswerPositions:
    """Deals out orders of the four options.

    Questions of one kind whose conditions have their right options in the same pattern form a stratum. Within it orders
    come in blocks of four, the four rotations of one arrangement, so that after every block the right answer has stood
    in each position equally often in every condition. Within a block, the rotation is taken that evens out the whole.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._arrangements: defaultdict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
        self._rotations: defaultdict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
        self._total: Counter[int] = Counter()

    def order(self, kind: str, right: Sequence[int]) -> tuple[int, ...]:
        """Return the options (indices from 0) in the order shown.

        Parameters
        ----------
        kind
            Kind of question.
        right
            Index of the right option in each condition.
        """
        ranked = [*dict.fromkeys(right)]  # the right options, then the others
        pattern = tuple(ranked.index(index) for index in right)
        ranked += [index for index in range(N_OPTIONS) if index not in ranked]
        places = self._next(kind, pattern)
        self._total.update(places[rank] for rank in pattern)
        return tuple(ranked[places.index(place)] for place in range(N_OPTIONS))

    def _next(self, kind: str, pattern: tuple[int, ...]) -> tuple[int, ...]:
        """Return the place of each rank."""
        stratum = (kind, pattern)
        if not self._rotations[stratum]:
            if not self._arrangements[stratum]:
                self._arrangements[stratum] = list(_CIRCLES)
            arrangement = self._pop(self._arrangements[stratum])
            self._rotations[stratum] = [
                tuple((place + turn) % N_OPTIONS for place in arrangement) for turn in range(N_OPTIONS)
            ]
        rotations = self._rotations[stratum]
        burden = [sum(self._total[places[rank]] for rank in pattern) for places in rotations]
        lightest = [places for places, weight in zip(rotations, burden, strict=True) if weight == min(burden)]
        chosen = self._pop(lightest)
        rotations.remove(chosen)
        return chosen

    def _pop(self, choices: list[tuple[int, ...]]) -> tuple[int, ...]:
        return choices.pop(int(self._rng.random() * len(choices)))
