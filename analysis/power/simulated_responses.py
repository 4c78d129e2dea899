"""Simulated responses of people to the trials of a study, to estimate the power of an analysis."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from analysis.data.row_filters import matching
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import Level

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NOT_FACTORS = ("group", "item_id", "task", "chance")
"""The columns of a design that are not factors of items."""

_Z = np.linspace(-8.5, 8.5, 851)
_DENSITY = norm.pdf(_Z) / norm.pdf(_Z).sum()
_FURTHEST_LOGIT = 500.0
"""Bound of the search for a mean logit, which covers the values from -500 to 500."""


@dataclass(frozen=True)
class Effect:
    """A difference in accuracy that is added to the baseline accuracy at items with certain levels."""

    levels: Mapping[str, Level]
    difference: float

    @property
    def place(self) -> str:
        """The levels of the effect, in words."""
        return " and ".join(f"{factor} = {level_text(level)}" for factor, level in self.levels.items())


@dataclass(frozen=True)
class Population:
    """The simulated population: the variation of participants and of items, and the share of excluded participants."""

    participant_sd: float
    """Standard deviation of the participants' intercepts (the differences between participants), in log-odds."""
    item_sd: float
    """Standard deviation of the items' intercepts (the differences between items), in log-odds."""
    item: tuple[str, ...] = ("item_id",)
    """The columns that identify an item. All trials of an item have the same item intercept."""
    excluded: float = 0.0
    """Probability that a participant is excluded. All responses of an excluded participant are lost."""

    @property
    def sd(self) -> float:
        """Standard deviation of the sum of the participant's intercept and the item's intercept."""
        return math.hypot(self.participant_sd, self.item_sd)


@dataclass(frozen=True, eq=False)
class PlannedTrials:
    """The test trials of simulated participants, with the factors of their items."""

    table: pd.DataFrame
    """One row per trial, with the column `participant` and the columns of the design."""
    participants: npt.NDArray[np.intp]
    """The index of the participant of each trial, from 0."""

    @cached_property
    def n(self) -> int:
        """Number of participants."""
        return int(self.participants[-1]) + 1


def planned_trials(design: pd.DataFrame, n_participants: int) -> PlannedTrials:
    """Return the test trials of participants who are spread equally over the counterbalance groups.

    Parameters
    ----------
    design : DataFrame
        One row for each test trial of each group: `group`, `item_id`, `task`, `chance`, and one column per factor.
    n_participants : int
        Number of participants. Participants are assigned to the groups in turn, so a participant has the same group
        for every number of participants.

    Examples
    --------
    >>> design = pd.DataFrame({"group": [1, 1, 2], "item_id": ["a", "b", "c"]})
    >>> planned_trials(design, 3).table[["participant", "item_id"]].to_numpy().tolist()
    [['1', 'a'], ['1', 'b'], ['2', 'c'], ['3', 'a'], ['3', 'b']]
    """
    places = [np.flatnonzero(design["group"] == group) for group in sorted(design["group"].unique())]
    taken = [places[number % len(places)] for number in range(n_participants)]
    participants = np.repeat(np.arange(n_participants), [len(rows) for rows in taken])
    table = design.take(np.concatenate(taken)).reset_index(drop=True)
    table.insert(0, "participant", pd.Series(participants + 1).astype(str))
    return PlannedTrials(table, participants)


def accuracies(design: pd.DataFrame, baseline: float | Floats, effects: Sequence[Effect]) -> Floats:
    """Return the average accuracy of the population at each row: the baseline plus all effects at this row.

    Parameters
    ----------
    design : DataFrame
        Rows with `chance` and factors; see `planned_trials`.
    baseline : float or array of float, shape (rows,)
        The accuracy without any effect: one number for all rows, or one number for each row.
    effects : sequence of Effect
        The effects, which are added to the baseline.

    Raises
    ------
    InputError
        If a factor, level or combination of levels does not exist, or if an accuracy is not above chance or not below
        1.

    Examples
    --------
    >>> design = pd.DataFrame({"condition": ["A", "B", "B"], "level": [0, 0, 3], "chance": 0.25})
    >>> effects = [Effect({"condition": "B"}, -0.1), Effect({"condition": "B", "level": 3}, -0.15)]
    >>> accuracies(design, 0.8, effects).tolist()
    [0.8, 0.7, 0.55]
    """
    found: Floats = np.full(len(design), baseline)
    for effect in effects:
        found[_rows_with(design, effect)] += effect.difference
    found = np.round(found, 12)  # So that 0.8 - 0.55 is 0.25.
    chance = design["chance"].to_numpy(dtype=float)
    wrong = (found <= chance) | (found >= 1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        there = [effect.place for effect in effects if _rows_with(design, effect)[row]]
        raise InputError(
            f"the accuracy would be {found[row]:g} where {'; '.join(there) or 'there is no effect'}, but an accuracy "
            f"must be above chance ({chance[row]:.3g}) and under 1. Fix: choose another baseline or smaller effects."
        )
    return found


def _rows_with(design: pd.DataFrame, effect: Effect) -> Bools:
    what = f"the effect at {effect.place}"
    factors = [column for column in design.columns if column not in NOT_FACTORS and column != "participant"]
    for factor in effect.levels:
        if factor not in factors:
            raise InputError(
                f"{what}: the test items have no factor `{factor}`. Fix: choose one of {', '.join(factors) or 'none'}."
            )
    rows: Bools = matching(design, dict(effect.levels), what).to_numpy(dtype=bool)
    if not rows.any():
        raise InputError(f"{what}: no test item has these levels together. Fix: choose other levels.")
    return rows


def conditional_logits(accuracy: Floats, sd: float) -> Floats:
    r"""Return the mean logit of a population (of participants and items) that has a given average accuracy.

    Parameters
    ----------
    accuracy : array of float
        Average accuracies of the population, from 0 to 1. The logits of 0 and 1 are infinite.
    sd : float
        Standard deviation of the logits, at most 10.

    Raises
    ------
    InputError
        If the standard deviation is negative or above 10.

    Notes
    -----
    Brent's method finds the solution :math:`\eta` of

    .. math:: \pi = \int \frac{\phi(z)}{1 + e^{-(\eta + \sigma z)}} \, dz.

    The integral is computed by the trapezoid rule, which is precise for such integrals. Because the logistic function
    is curved, :math:`\eta` is further from 0 than the logit of :math:`\pi`. For accuracies above one half, the accuracy
    of the average participant is higher than the average accuracy of the participants.

    References
    ----------
    Zeger, S. L., Liang, K.-Y., & Albert, P. S. (1988). Models for longitudinal data: A generalized estimating equation
    approach. Biometrics, 44, 1049-1060.
    Crouch, E. A. C., & Spiegelman, D. (1990). The evaluation of integrals of the form f(t) exp(-t^2): Application to
    logistic-normal models. Journal of the American Statistical Association, 85, 464-469.

    Examples
    --------
    Without variance, the result for 0.8 is the logit of 0.8, ln 4. With a standard deviation of 1, R's ``uniroot`` with
    ``integrate`` finds 1.6497.

    >>> conditional_logits(np.array([0.5, 0.8]), 0.0).round(4).tolist()
    [0.0, 1.3863]
    >>> conditional_logits(np.array([0.5, 0.8]), 1.0).round(4).tolist()
    [0.0, 1.6497]
    """
    if not 0 <= sd <= 10:
        raise InputError(f"the standard deviation of the log-odds is {sd:g}. Fix: give a number from 0 to 10.")
    wanted, place = np.unique(accuracy, return_inverse=True)
    limits = {0.0: -np.inf, 1.0: np.inf}

    def average(logit: float, target: float) -> float:
        return float(_DENSITY @ expit(logit + sd * _Z)) - target

    solved = [
        limits[target]
        if target in limits
        else brentq(average, -_FURTHEST_LOGIT, _FURTHEST_LOGIT, args=(target,), xtol=1e-12)
        for target in wanted.tolist()
    ]
    return np.array(solved)[place]


def simulated_responses(
    trials: PlannedTrials,
    accuracy: Floats,
    population: Population,
    *,
    simulations: int,
    seed: int,
    model_accuracy: Floats | None = None,
) -> Iterator[tuple[Floats, Bools] | tuple[Floats, Bools, Floats]]:
    r"""Yield the correctness of each trial of each simulated study, and whether the trial is in the analysis.

    Parameters
    ----------
    trials : PlannedTrials
        The trials of each study.
    accuracy : array of float, shape (trials,)
        The average accuracy of the population at each trial; see `accuracies`.
    population : Population
        The simulated population.
    simulations, seed : int
        Number of studies, and the seed. With the same seed, more participants or studies do not change the responses
        of the first participants and studies.
    model_accuracy : array of float, shape (trials,), optional
        The average accuracy of a language model at each trial, for studies with a model. The model responds once to
        each item.

    Yields
    ------
    tuple of arrays, shape (trials,)
        The first array has 1 for a correct response and 0 for a wrong response. The second array is true if the trial
        is in the analysis, and false if the participant is excluded. If there is a model, a third array has 1 if the
        model responds correctly to the item of the trial, and 0 otherwise.

    Notes
    -----
    Each study has new participants and new items. With the intercept :math:`u_p` of participant :math:`p` and the
    intercept :math:`w_i` of item :math:`i`,

    .. math::
        \mathrm{logit} \Pr(y_{pi} = 1) = \eta_{pi} + u_p + w_i, \quad
        u_p \sim N(0, \sigma_u^2), \; w_i \sim N(0, \sigma_w^2),

    where `conditional_logits` returns :math:`\eta` for the standard deviation :math:`\sqrt{\sigma_u^2 + \sigma_w^2}`.
    A model has the same item intercepts as people. So items that are easy for people are easy for the model too.

    References
    ----------
    DeBruine, L. M., & Barr, D. J. (2021). Understanding mixed-effects models through data simulation. Advances in
    Methods and Practices in Psychological Science, 4(1).

    Examples
    --------
    >>> trials = planned_trials(pd.DataFrame({"group": 1, "item_id": range(100)}), 100)
    >>> responses = simulated_responses(trials, np.full(10_000, 0.8), Population(0.0, 0.0), simulations=1, seed=1)
    >>> correct, stays = next(responses)
    >>> round(float(correct.mean()), 2), bool(stays.all())
    (0.8, True)
    """
    for column in population.item:
        if column not in trials.table.columns:
            raise InputError(
                f"there is no column `{column}` to identify the items. Fix: choose one of "
                f"{', '.join(trials.table.columns)}."
            )
    items = trials.table.groupby(list(population.item), sort=False, dropna=False).ngroup().to_numpy()
    logits = conditional_logits(accuracy, population.sd)
    if model_accuracy is not None:
        model_logits = conditional_logits(model_accuracy, population.item_sd)
        item_codes = trials.table.groupby("item_id", sort=False).ngroup().to_numpy()
    for simulation in range(simulations):
        # A separate random stream for each kind of number, so that more participants do not change the other kinds.
        of_people, of_items, of_responses, of_losses = (
            np.random.default_rng([seed, simulation, stream]) for stream in range(4)
        )
        abilities = population.participant_sd * of_people.standard_normal(trials.n)
        easiness = population.item_sd * of_items.standard_normal(int(items.max()) + 1)
        p_correct = expit(logits + abilities[trials.participants] + easiness[items])
        correct = (of_responses.random(len(p_correct)) < p_correct).astype(float)
        stays = of_losses.random(trials.n) >= population.excluded
        if model_accuracy is None:
            yield correct, stays[trials.participants]
        else:
            of_model = np.random.default_rng([seed, simulation, 4])
            is_right = of_model.random(int(item_codes.max()) + 1)[item_codes] < expit(model_logits + easiness[items])
            yield correct, stays[trials.participants], is_right.astype(float)
