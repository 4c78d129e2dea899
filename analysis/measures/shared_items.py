"""People beside each model's run over the items that both have, so that the comparison is fair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.statistics.factor_levels import level_order

T = TypeVar("T")

COMPARED_COLUMNS = ("kind", "people", "model", "n_items", "n_items_only_model", "n_items_only_people")
"""In a table that compares people with runs, the columns of `Compared.names` and `counts`."""


@dataclass(frozen=True)
class Compared:
    """People of one kind and one run, with their trials on the items they share."""

    kind: str
    """`human` or `simulated`."""
    people: str
    """`people` or `simulated participants`."""
    model: str
    """The label of the run."""
    responses: pd.DataFrame
    """People's answered trials; the same object for all runs that share the same items with them."""
    asked: pd.DataFrame
    """The run's trials, unanswered ones too."""
    n_items: int
    n_items_only_model: int
    """Items that the run was asked and none of these people answered; they are left out."""
    n_items_only_people: int
    """Items that these people answered and the run was not asked; they are left out too."""

    @property
    def names(self) -> dict[str, str]:
        """The compared subjects, as columns of a table."""
        return {"kind": self.kind, "people": self.people, "model": self.model}

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of items, as columns of a table."""
        return {
            "n_items": self.n_items,
            "n_items_only_model": self.n_items_only_model,
            "n_items_only_people": self.n_items_only_people,
        }


def compared(kept: pd.DataFrame) -> list[Compared]:
    """Return each kind of people with each run; people and simulated participants are never pooled.

    Parameters
    ----------
    kept : DataFrame
        Trials in the analysis (`kept_trials`), with `kind`, `run`, `item_id` and `response`.
    """
    runs = dict(list(kept[kept["kind"] == "model"].groupby("run", sort=False)))
    pairs = []
    for kind, people in PEOPLE.items():
        responses = kept[(kept["kind"] == kind) & kept["response"].notna()]
        if responses.empty:
            continue
        numbers, items = pd.factorize(responses["item_id"])
        responses_at = {np.ones(len(items), dtype=bool).tobytes(): responses}
        for run, asked in runs.items():
            is_shared = items.isin(asked["item_id"])
            if is_shared.tobytes() not in responses_at:
                responses_at[is_shared.tobytes()] = responses[is_shared[numbers]]
            n_items = int(is_shared.sum())
            pairs.append(
                Compared(
                    kind,
                    people,
                    str(run),
                    responses_at[is_shared.tobytes()],
                    asked[asked["item_id"].isin(items)],
                    n_items,
                    int(asked["item_id"].nunique()) - n_items,
                    len(items) - n_items,
                )
            )
    return pairs


def of_responses(pairs: Sequence[Compared], compute: Callable[[pd.DataFrame], T]) -> list[T]:
    """Return for each pair a result of its people's responses, computed once for all runs that share the same items."""
    computed: dict[int, T] = {}
    for pair in pairs:
        if id(pair.responses) not in computed:
            computed[id(pair.responses)] = compute(pair.responses)
    return [computed[id(pair.responses)] for pair in pairs]


@dataclass(frozen=True)
class Subject:
    """A subject with a row of its own: people, or a run over the items that people answered."""

    people: str | None
    """The people with whom a run is compared: `people` or `simulated participants`; None if there are neither."""
    kind: str
    name: str
    trials: pd.DataFrame
    pair: Compared | None
    """Comparison of a run."""

    @property
    def names(self) -> dict[str, str | None]:
        """The subject, as columns of a table."""
        return {"people": self.people, "kind": self.kind, "subject": self.name}

    @property
    def responses_to_item(self) -> pd.Series:
        """Weight of each item of a run: the number of people's responses, or the run's own if there are no people."""
        return (self.pair.responses if self.pair else self.trials)["item_id"].value_counts()


def subjects_compared(kept: pd.DataFrame) -> list[Subject]:
    """Return people of each kind, each followed by the runs; without people, the runs with all their items.

    Parameters
    ----------
    kept : DataFrame
        As for `compared`.
    """
    pairs = compared(kept)
    found = []
    for kind, people in PEOPLE.items():
        responses = kept[(kept["kind"] == kind) & kept["response"].notna()]
        if not responses.empty:
            found.append(Subject(people, kind, people, responses, None))
        runs = sorted((pair for pair in pairs if pair.kind == kind), key=lambda pair: level_order(pair.model))
        found += [Subject(people, "model", pair.model, pair.asked, pair) for pair in runs]
    if not found:
        runs_alone = kept[kept["kind"] == "model"].groupby("run", sort=False)
        found = [Subject(None, "model", str(run), asked, None) for run, asked in runs_alone]
        found.sort(key=lambda subject: level_order(subject.name))
    return found
