"""Comparisons of people with one model, over the items that the model was asked and people responded to.

A model under one condition is one subject, with one run for each epoch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.statistics.factor_levels import level_order

T = TypeVar("T")

COMPARED_COLUMNS = ("kind", "people", "model", "n_items", "n_items_only_model", "n_items_only_people")
"""The first columns of a table that compares people with models: `Compared.names` and `Compared.counts`."""


@dataclass(frozen=True)
class Compared:
    """One model, and either people or simulated participants, with their trials on the shared items."""

    kind: str
    """`human` or `simulated`."""
    people: str
    """`people` or `simulated participants`."""
    model: str
    """The name of the model as a subject (`analysis.data.subjects`)."""
    responses: pd.DataFrame
    """The answered trials of people. Models with the same shared items refer to the same DataFrame."""
    asked: pd.DataFrame
    """The trials of all runs of the model, with or without a response."""
    n_items: int
    n_items_only_model: int
    """Number of items that the model was asked, but that no person responded to. These items are left out."""
    n_items_only_people: int
    """Number of items that people responded to, but that the model was not asked. These items are also left out."""

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
    """Return a pair of people and model for each model, and a pair of simulated participants and model for each model.

    Parameters
    ----------
    kept : DataFrame
        Trials in the analysis (`kept_trials`), with `kind`, `subject`, `item_id` and `response`.
    """
    models = dict(list(kept[kept["kind"] == "model"].groupby("subject", sort=False)))
    pairs = []
    for kind, people in PEOPLE.items():
        responses = kept[(kept["kind"] == kind) & kept["response"].notna()]
        if responses.empty:
            continue
        numbers, items = pd.factorize(responses["item_id"])
        responses_at = {np.ones(len(items), dtype=bool).tobytes(): responses}
        for model, asked in models.items():
            is_shared = items.isin(asked["item_id"])
            if is_shared.tobytes() not in responses_at:
                responses_at[is_shared.tobytes()] = responses[is_shared[numbers]]
            n_items = int(is_shared.sum())
            pairs.append(
                Compared(
                    kind,
                    people,
                    str(model),
                    responses_at[is_shared.tobytes()],
                    asked[asked["item_id"].isin(items)],
                    n_items,
                    int(asked["item_id"].nunique()) - n_items,
                    len(items) - n_items,
                )
            )
    return pairs


def of_responses(pairs: Sequence[Compared], compute: Callable[[pd.DataFrame], T]) -> list[T]:
    """Return the result of `compute(pair.responses)` for each pair of people and model.

    If several models share the same items with people, the result is computed only once.
    """
    computed: dict[int, T] = {}
    for pair in pairs:
        if id(pair.responses) not in computed:
            computed[id(pair.responses)] = compute(pair.responses)
    return [computed[id(pair.responses)] for pair in pairs]


@dataclass(frozen=True)
class Subject:
    """The subject of a table row: people, or a model on the items that people responded to."""

    people: str | None
    """The people with whom a model is compared: `people` or `simulated participants`.

    None if the data have only models.
    """
    kind: str
    name: str
    trials: pd.DataFrame
    pair: Compared | None
    """The model and the people with whom it is compared. None for people, and if the data have only models."""

    @property
    def names(self) -> dict[str, str | None]:
        """The subject, as columns of a table."""
        return {"people": self.people, "kind": self.kind, "subject": self.name}

    @property
    def responses_to_item(self) -> pd.Series:
        """Weight of each item of a model: the number of people's responses to this item.

        If the data have only models, the weight is the number of the model's trials on this item.
        """
        return (self.pair.responses if self.pair else self.trials)["item_id"].value_counts()


def subjects_compared(kept: pd.DataFrame) -> list[Subject]:
    """Return people and the models compared with people, then simulated participants and the models compared with them.

    If the data have only models, return the models with all their items.

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
        models = sorted((pair for pair in pairs if pair.kind == kind), key=lambda pair: level_order(pair.model))
        found += [Subject(people, "model", pair.model, pair.asked, pair) for pair in models]
    if not found:
        models_alone = kept[kept["kind"] == "model"].groupby("subject", sort=False)
        found = [Subject(None, "model", str(model), asked, None) for model, asked in models_alone]
        found.sort(key=lambda subject: level_order(subject.name))
    return found
