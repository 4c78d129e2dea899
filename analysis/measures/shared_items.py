"""Comparisons of people with one run, over the items that the run was asked and people responded to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.statistics.factor_levels import level_order

T = TypeVar("T")

COMPARED_COLUMNS = ("kind", "people", "model", "n_items", "n_items_only_model", "n_items_only_people")
"""Columns of `Compared.names` and `Compared.counts` in a table that compares people with runs."""


@dataclass(frozen=True)
class Compared:
    """One run, and the people of one kind, with their trials on the shared items."""

    kind: str
    """`human` or `simulated`."""
    people: str
    """`people` or `simulated participants`."""
    model: str
    """The label of the run."""
    responses: pd.DataFrame
    """The trials of people with a response. Runs with the same shared items use the same DataFrame."""
    asked: pd.DataFrame
    """The trials of the run, with or without a response."""
    n_items: int
    n_items_only_model: int
    """Number of items that the run was asked, but that no person responded to. These items are left out."""
    n_items_only_people: int
    """Number of items that people responded to, but that the run was not asked. These items are also left out."""

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
    """Return one pair for each kind of people and each run. People and simulated participants are never pooled.

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
    """For each pair, return the result of `compute` for the people's responses.

    The result is computed only once for all runs with the same shared items.
    """
    computed: dict[int, T] = {}
    for pair in pairs:
        if id(pair.responses) not in computed:
            computed[id(pair.responses)] = compute(pair.responses)
    return [computed[id(pair.responses)] for pair in pairs]


@dataclass(frozen=True)
class Subject:
    """The subject of a table row: people, or a run with the items that people responded to."""

    people: str | None
    """The people with whom a run is compared: `people` or `simulated participants`. None if the data have only runs."""
    kind: str
    name: str
    trials: pd.DataFrame
    pair: Compared | None
    """The run and the people with whom the run is compared. None for people, and if the data have only runs."""

    @property
    def names(self) -> dict[str, str | None]:
        """The subject, as columns of a table."""
        return {"people": self.people, "kind": self.kind, "subject": self.name}

    @property
    def responses_to_item(self) -> pd.Series:
        """Weight of each item of a run: the number of people's responses.

        If the data have only runs, the weight is the number of the run's trials on this item.
        """
        return (self.pair.responses if self.pair else self.trials)["item_id"].value_counts()


def subjects_compared(kept: pd.DataFrame) -> list[Subject]:
    """Return people of each kind, followed by the runs that are compared with these people.

    If the data have only runs, return the runs with all their items.

    Parameters
    ----------
    kept : DataFrame
        See `compared`.
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
