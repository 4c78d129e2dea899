"""Power by simulation: the share of simulated studies of a given size in which an analysis finds an effect.

If the analysis of a study fails, the study counts as a study in which no effect was found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.row_filters import levels_of
from analysis.power.simulated_responses import Bools, Effect, Floats, PlannedTrials, Population, simulated_responses
from analysis.statistics.factor_levels import level_text
from analysis.statistics.intervals import wilson
from analysis.statistics.t_tests import one_sample_t
from batteries.errors import InputError
from experiment.study.planned_analyses import Level

NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE = "not_converged", "singular", "not_computable"
"""Reasons why an analysis of a simulated study counts as not significant, whatever its p value."""

COLUMNS = ["effect", "n_participants", "n_analysed_mean", "simulations", "n_significant", "power", "ci_low", "ci_high",
           "mean_estimate", "power_with_singular", NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Result of an analysis of one simulated study."""

    p_value: float
    estimate: float | None = None
    """The estimated effect; missing if the analysis does not test a single number."""
    flaw: str | None = None
    """`NOT_CONVERGED` or `SINGULAR`; None if the fit has neither problem."""


Run = Callable[[Floats, Bools], Outcome]


@dataclass(frozen=True)
class PowerAnalysis:
    """An analysis that can be run on the responses of simulated studies."""

    title: str
    """The tested effect, in words."""
    run: Run
    """Function of two arrays. The first array has the correctness of each trial; the second array is true for each
    trial in the analysis. The function raises InputError if these responses cannot be analysed.
    """
    unit: str = "accuracy"
    """Unit of the estimate."""
    notes: tuple[str, ...] = ()
    """Notes on the analysis, one sentence each."""
    null: str = "Without any effect"
    """The null hypothesis of the analysis, as the beginning of a sentence."""
    null_accuracy: Floats | None = None
    """For a test against a number: the accuracy at each trial if the tested difference is 0. None for an analysis whose
    null hypothesis is true without the effects."""


def contrast_t(trials: PlannedTrials, effects: Sequence[Effect]) -> PowerAnalysis:
    r"""Return the power analysis of a t test of the first effect, with one contrast per participant.

    For an effect at a level of one factor, this is the paired t test of the participants' accuracies at this level and
    at the reference level. For an effect at levels of several factors, this is the t test of their interaction, such as
    the difference between differences. The reference level of a factor is its first level without an effect.

    Parameters
    ----------
    trials : PlannedTrials
        The trials.
    effects : sequence of Effect
        The effects. The first effect is tested.

    Raises
    ------
    InputError
        Every level of a factor has an effect, so that there is no reference level. Or no participant sees all compared
        items.

    Notes
    -----
    In a cell :math:`c`, each factor has either the effect's level or the reference level. Let :math:`k_c` be the number
    of reference levels in cell :math:`c`, and :math:`m_{pc}` the accuracy of participant :math:`p` in cell :math:`c`. A
    one-sample t test compares the contrast :math:`\sum_c (-1)^{k_c} m_{pc}` with 0. Participants who lack trials in a
    cell are left out.

    Examples
    --------
    >>> from analysis.power.simulated_responses import planned_trials
    >>> design = pd.DataFrame({"group": 1, "item_id": ["a", "b", "c"], "condition": ["A", "A", "B"]})
    >>> test = contrast_t(planned_trials(design, 3), [Effect({"condition": "B"}, -0.1)])
    >>> test.title
    'paired t test of accuracy at condition = B against condition = A'

    The participants' differences are 1/2, 1/2 and -1, so t is 0.

    >>> outcome = test.run(np.array([1, 0, 1, 0, 1, 1, 1, 1, 0]), np.full(9, True))
    >>> outcome.estimate, outcome.p_value
    (0.0, 1.0)
    """
    effect = effects[0]
    signs, cells = np.ones(len(trials.table)), np.zeros(len(trials.table), dtype=np.intp)
    reference = {factor: _reference_level(trials, factor, effects) for factor in effect.levels}
    for factor, level in effect.levels.items():
        texts = trials.table[factor].map(level_text, na_action="ignore")
        there, at_reference = (
            texts.eq(level_text(one)).fillna(False).to_numpy(bool) for one in (level, reference[factor])
        )
        signs *= there.astype(float) - at_reference
        cells = 2 * cells + at_reference
    run, complete = paired_contrast(trials, signs, cells, 2 ** len(effect.levels))
    against = Effect(reference, 0.0).place
    title = (
        f"paired t test of accuracy at {effect.place} against {against}"
        if len(effect.levels) == 1
        else f"t test of the participants' interaction contrast at {effect.place} against {against}"
    )
    missing = 1 - complete
    note = (
        f"{100 * missing:.0f} % of the participants have no trials in at least one cell of the comparison. These "
        "participants are left out."
    )
    return PowerAnalysis(title, run, notes=(note,) if missing else ())


def paired_contrast(
    trials: PlannedTrials, signs: Floats, cells: npt.NDArray[np.intp], n_cells: int, *, sums: bool = False
) -> tuple[Run, float]:
    """Return the function that runs the t test of a contrast, and the share of participants with trials in all cells.

    The contrast of a participant is the sum of the cell means, each multiplied by the sign of the cell.

    Parameters
    ----------
    trials : PlannedTrials
        The trials.
    signs : array of float, shape (trials,)
        1 or -1, the sign of the trial's cell; 0 for a trial outside the contrast.
    cells : array of int, shape (trials,)
        The number of the trial's cell, from 0.
    n_cells : int
        Number of cells.
    sums : bool
        True to use the sum of each cell instead of the mean.

    Raises
    ------
    InputError
        No participant has trials in all cells.

    Examples
    --------
    There are two participants. Their differences between the cell means are 1 and 1/2.

    >>> from analysis.power.simulated_responses import planned_trials
    >>> trials = planned_trials(pd.DataFrame({"group": 1, "item_id": ["a", "b", "c"]}), 2)
    >>> signs, cells = np.array([1.0, -1, -1] * 2), np.array([0, 1, 1] * 2)
    >>> run, share = paired_contrast(trials, signs, cells, 2)
    >>> run(np.array([1.0, 0, 0, 1, 1, 0]), np.full(6, True)).estimate, share
    (0.75, 1.0)
    """
    compared: Bools = signs.astype(np.bool_)
    places = trials.participants * n_cells + np.where(compared, cells, 0)
    n_trials = np.bincount(places[compared], minlength=trials.n * n_cells)
    complete: Bools = np.all(n_trials.reshape(trials.n, n_cells) > 0, axis=1)
    if not complete.any():
        raise InputError(
            "a paired t test compares the same participants at several levels, but no participant has items at all "
            "these levels. Fix: compute the power of a test that compares different participants, or of a statistical "
            "model."
        )
    used: Bools = compared & complete[trials.participants]
    weights = np.divide(signs, 1 if sums else n_trials[places], out=np.zeros(len(signs)), where=used)

    def run(correct: Floats, kept: Bools) -> Outcome:
        contrasts = np.bincount(trials.participants, weights * correct * kept, minlength=trials.n)
        there = np.bincount(trials.participants, used & kept, minlength=trials.n) > 0
        result = one_sample_t(contrasts[there].astype(float), 0.0)
        return Outcome(result.p_value, result.estimate)

    return run, float(complete.mean())


def _reference_level(trials: PlannedTrials, factor: str, effects: Sequence[Effect]) -> Level:
    named = {level_text(effect.levels[factor]) for effect in effects if factor in effect.levels}
    for text, level in levels_of(trials.table, factor, "the effect").items():
        if text not in named:
            known: Level = level
            return known
    raise InputError(
        f"every level of `{factor}` has an effect, so there is no reference level for the comparison. Fix: remove the "
        "effect of one level."
    )


def simulated_power(
    trials: PlannedTrials,
    accuracy: Floats,
    analysis: PowerAnalysis,
    population: Population,
    *,
    ns: Sequence[int],
    simulations: int,
    alpha: float = 0.05,
    seed: int = 1,
    null_accuracy: Floats | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> pd.DataFrame:
    r"""Return the share of simulated studies in which an analysis is significant.

    Parameters
    ----------
    trials : PlannedTrials
        The trials of at least as many participants as the largest number in `ns`.
    accuracy : array of float, shape (trials,)
        The population's accuracy at each trial; see `accuracies`.
    analysis : PowerAnalysis
        The analysis of the responses.
    population : Population
        The variation of participants and items, and the share of excluded participants.
    ns : sequence of int
        Numbers of participants. For a smaller number, only the first participants are used.
    simulations : int
        Number of simulated studies for each number of participants.
    alpha : float
        The level of significance, two-sided.
    seed : int
        Seed of the responses; the same for each number of participants.
    null_accuracy : array of float, optional
        Accuracies without any effect. These accuracies are simulated with the largest number in `ns`, to estimate the
        false-positive rate.
    on_done : callable
        A function that is called after each simulated study. Studies that are simulated without an effect are included.

    Returns
    -------
    DataFrame
        One row per number of participants, and one more row for `null_accuracy`.

        - `effect`: `as given` or `none`
        - `n_participants`: number of participants before exclusion
        - `n_analysed_mean`: mean number of participants after exclusion
        - `simulations`, `n_significant`: number of studies, and of studies with a significant result
        - `power`, `ci_low`, `ci_high`: share of significant studies with Wilson's 95 % score interval. Without
          an effect, this share is the false-positive rate
        - `mean_estimate`: mean of the estimates
        - `power_with_singular`: the power if the p values of singular models are also counted
        - `not_converged`, `singular`, `not_computable`: shares of studies whose model did not converge or was singular,
          or whose responses could not be analysed; all of these count as not significant

    Raises
    ------
    InputError
        There are too few trials, or no simulated study of the largest number of participants could be analysed.

    Notes
    -----
    The standard error of a power :math:`\pi` that was simulated :math:`S` times is :math:`\sqrt{\pi (1 - \pi) / S}`, at
    most 0.016 for 1,000 simulations.

    References
    ----------
    Kumle, L., Võ, M. L.-H., & Draschkow, D. (2021). Estimating power in (generalized) linear mixed models: An open
    introduction and tutorial in R. Behavior Research Methods, 53, 2528-2543.

    Examples
    --------
    The accuracy is 90 % in A and 50 % in B. Every simulated study finds this difference.

    >>> from analysis.power.simulated_responses import accuracies, planned_trials
    >>> design = pd.DataFrame({"group": 1, "item_id": range(40), "condition": ["A", "B"] * 20, "chance": 0.25})
    >>> trials, effects = planned_trials(design, 20), [Effect({"condition": "B"}, -0.4)]
    >>> accuracy = accuracies(trials.table, 0.9, effects)
    >>> everyone = Population(participant_sd=0.0, item_sd=0.0)
    >>> test = contrast_t(trials, effects)
    >>> found = simulated_power(trials, accuracy, test, everyone, ns=[20], simulations=100)
    >>> found[["n_participants", "n_significant"]].to_numpy().tolist(), float(found["mean_estimate"][0].round(1))
    ([[20, 100]], -0.4)
    """
    if max(ns) > trials.n:
        raise InputError(
            f"there are trials of {trials.n} participants, but {max(ns)} participants are requested. Fix: plan the "
            "trials of more participants."
        )
    scenarios = [("as given", accuracy, tuple(ns))]
    if null_accuracy is not None:
        scenarios.append(("none", null_accuracy, (max(ns),)))
    rows = []
    for name, right, sizes in scenarios:
        found: dict[int, list[Outcome | InputError]] = {n: [] for n in sizes}
        n_analysed = dict.fromkeys(sizes, 0)
        for correct, stays in simulated_responses(trials, right, population, simulations=simulations, seed=seed):
            for n in sizes:
                kept = stays & (trials.participants < n)
                n_analysed[n] += len(np.unique(trials.participants[kept]))
                found[n].append(_outcome(analysis, correct, kept))
            on_done()
        failures = [outcome for outcome in found[max(sizes)] if isinstance(outcome, InputError)]
        if len(failures) == simulations:
            raise InputError(f"no simulated study could be analysed: {failures[0]}")
        rows += [{"effect": name, "n_participants": n, "n_analysed_mean": n_analysed[n] / simulations,
                  **_summary(found[n], alpha)} for n in sizes]  # fmt: skip
    return pd.DataFrame(rows)[COLUMNS]


def _outcome(analysis: PowerAnalysis, correct: Floats, kept: Bools) -> Outcome | InputError:
    try:
        return analysis.run(correct, kept)
    except InputError as error:
        return error


def _summary(found: Sequence[Outcome | InputError], alpha: float) -> dict[str, object]:
    outcomes = [outcome for outcome in found if isinstance(outcome, Outcome)]
    n = len(found)
    # A missing p value is not below alpha.
    significant = [outcome.flaw for outcome in outcomes if outcome.p_value < alpha]
    n_significant = significant.count(None)
    low, high = wilson(n_significant, n)
    estimates = [one.estimate for one in outcomes if one.estimate is not None and one.flaw != NOT_CONVERGED]
    flaws = [outcome.flaw for outcome in outcomes]
    return {
        "simulations": n,
        "n_significant": n_significant,
        "power": n_significant / n,
        "ci_low": low,
        "ci_high": high,
        "mean_estimate": float(np.mean(estimates)) if estimates else np.nan,
        "power_with_singular": (n_significant + significant.count(SINGULAR)) / n,
        NOT_CONVERGED: flaws.count(NOT_CONVERGED) / n,
        SINGULAR: flaws.count(SINGULAR) / n,
        NOT_COMPUTABLE: (n - len(outcomes)) / n,
    }
