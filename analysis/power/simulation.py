"""Power by simulation: the share of simulated studies of a given size in which an analysis finds an effect.

If the analysis of a study fails, the study counts as a study in which no effect was found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.power.simulated_responses import Bools, Floats, PlannedTrials, Population, simulated_responses
from analysis.statistics.intervals import wilson
from batteries.errors import InputError

NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE = "not_converged", "singular", "not_computable"
"""Reasons why an analysis of a simulated study counts as not significant, whatever its p value."""

COLUMNS = ["effect", "n_participants", "n_analysed_mean", "simulations", "n_significant", "power", "ci_low", "ci_high",
           "mean_estimate", "power_with_singular", NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Result of an analysis of one simulated study."""

    p_value: float
    """The p value; missing if the analysis decides by an interval."""
    estimate: float | None = None
    """The estimated effect; missing if the analysis does not test a single number."""
    flaw: str | None = None
    """`NOT_CONVERGED` or `SINGULAR`; None if the fit has neither problem."""
    interval_decides: bool | None = None
    """For an analysis that decides by an interval: True if the interval shows the difference, or the equivalence."""

    def is_positive(self, alpha: float) -> bool:
        """Return True if the analysis finds what it tests. A missing p value is not below alpha."""
        return self.p_value < alpha if self.interval_decides is None else self.interval_decides


Run = Callable[..., Outcome]


@dataclass(frozen=True, eq=False)
class Equivalence:
    """The margin of an equivalence test, and the trials that it compares."""

    margin: float
    """Largest difference in accuracy that counts as no difference."""
    first: Bools
    """Trials whose accuracy is the first part of the tested difference, shape (trials,)."""
    second: Bools | None = None
    """Trials whose accuracy is subtracted. None if a given accuracy is subtracted (`PowerAnalysis.equal_accuracy`)."""


@dataclass(frozen=True, eq=False)
class PowerAnalysis:
    """An analysis that can be run on the responses of simulated studies."""

    title: str
    """The tested effect, in words."""
    run: Run
    """Function of two arrays. The first array has the correctness of each trial; the second array is true for each
    trial in the analysis. If `model_accuracy` is given, a third array has the model's correctness at the item of each
    trial. The function raises InputError if these responses cannot be analysed.
    """
    unit: str = "accuracy"
    """Unit of the estimate."""
    notes: tuple[str, ...] = ()
    """Notes on the analysis, one sentence each."""
    equal: str = "Without any effect"
    """The condition that the tested difference is 0, as the beginning of a sentence."""
    equal_accuracy: Floats | None = None
    """For a comparison with a number or a model: the accuracy of people at each trial if the tested difference is 0.
    None if the tested difference is 0 without the effects."""
    model_accuracy: Floats | None = None
    """For a comparison with a simulated model: the accuracy of the model at each trial."""
    equivalence: Equivalence | None = None
    """For an equivalence test: its margin. None for a test of a difference."""
    remedy: str = "plan a mixed model with random effects of participants and items"
    """Instruction for the case that the rate of false positives is too high."""

    def null_accuracy(self, without_effects: Floats) -> Floats:
        """Return the accuracy at each trial if the null hypothesis is true.

        For a test of a difference, the tested difference is then 0. For an equivalence test, the difference is as large
        as the margin: the accuracy at the first part of the difference is lower by the margin. If an accuracy cannot be
        that low, the accuracy is higher by the margin instead.

        Parameters
        ----------
        without_effects : array of float, shape (trials,)
            The accuracy at each trial without the effects.
        """
        equal = without_effects if self.equal_accuracy is None else self.equal_accuracy
        if self.equivalence is None:
            return equal
        shift: Floats = np.where(self.equivalence.first, self.equivalence.margin, 0.0)
        for shifted in (equal - shift, equal + shift):
            if shifted.min() > 0 and shifted.max() < 1:
                return np.round(shifted, 12)
        raise InputError(
            f"an accuracy cannot differ from {equal.mean():.3g} by the margin {self.equivalence.margin:g}. Fix: plan a "
            "smaller margin."
        )

    def true_difference(self, accuracy: Floats) -> float:
        """Return the difference that an equivalence test is about, in the population with these accuracies."""
        assert self.equivalence is not None
        first, second = self.equivalence.first, self.equivalence.second
        subtracted = self.equal_accuracy if self.equal_accuracy is not None else accuracy
        return float(accuracy[first].mean() - subtracted[first if second is None else second].mean())


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
        Accuracies if the null hypothesis is true (`PowerAnalysis.null_accuracy`). With these accuracies, studies with
        the largest number in `ns` are simulated, to estimate the false-positive rate.
    on_done : callable
        A function that is called after each simulated study, also after the studies for `null_accuracy`.

    Returns
    -------
    DataFrame
        One row per number of participants, and one more row for `null_accuracy`.

        - `effect`: `as given` or `none`
        - `n_participants`: number of participants before exclusion
        - `n_analysed_mean`: mean number of participants after exclusion
        - `simulations`, `n_significant`: number of studies, and of studies with a significant result (for an
          equivalence test, of studies that show equivalence)
        - `power`, `ci_low`, `ci_high`: share of significant studies with Wilson's 95 % score interval. If the null
          hypothesis is true, this share is the false-positive rate
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

    >>> from analysis.power.contrasts import contrast_t
    >>> from analysis.power.simulated_responses import Effect, accuracies, planned_trials
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
            f"`trials` has the trials of {trials.n} participants, but the largest number in `ns` is {max(ns)}. Fix: "
            f"call `planned_trials` with n_participants={max(ns)}."
        )
    scenarios = [("as given", accuracy, tuple(ns))]
    if null_accuracy is not None:
        scenarios.append(("none", null_accuracy, (max(ns),)))
    rows = []
    for name, right, sizes in scenarios:
        found: dict[int, list[Outcome | InputError]] = {n: [] for n in sizes}
        n_analysed = dict.fromkeys(sizes, 0)
        studies = simulated_responses(
            trials, right, population, simulations=simulations, seed=seed, model_accuracy=analysis.model_accuracy
        )
        for correct, stays, *of_model in studies:
            for n in sizes:
                kept = stays & (trials.participants < n)
                n_analysed[n] += len(np.unique(trials.participants[kept]))
                found[n].append(_outcome(analysis, correct, kept, *of_model))
            on_done()
        failures = [outcome for outcome in found[max(sizes)] if isinstance(outcome, InputError)]
        if len(failures) == simulations:
            raise InputError(f"no simulated study could be analysed: {failures[0]}")
        rows += [{"effect": name, "n_participants": n, "n_analysed_mean": n_analysed[n] / simulations,
                  **_summary(found[n], alpha)} for n in sizes]  # fmt: skip
    return pd.DataFrame(rows)[COLUMNS]


def _outcome(analysis: PowerAnalysis, correct: Floats, kept: Bools, *of_model: Floats) -> Outcome | InputError:
    try:
        return analysis.run(correct, kept, *of_model)
    except InputError as error:
        return error


def _summary(found: Sequence[Outcome | InputError], alpha: float) -> dict[str, object]:
    outcomes = [outcome for outcome in found if isinstance(outcome, Outcome)]
    n = len(found)
    significant = [outcome.flaw for outcome in outcomes if outcome.is_positive(alpha)]
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
