"""Power by simulation: the share of simulated studies of a given size in which an analysis finds an effect.

If the analysis of a study fails, the study counts as a study without a found effect.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.power.simulated_responses import Bools, Floats, PlannedTrials, Population, simulated_responses
from analysis.statistics.intervals import wilson
from batteries.errors import InputError

NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE = "not_converged", "singular", "not_computable"
"""Reasons why the result of a simulated study counts as not significant, even if its p value is below alpha."""

COLUMNS = ["effect", "n_participants", "n_analysed_mean", "simulations", "n_significant", "power", "ci_low", "ci_high",
           "mean_estimate", "power_with_singular", NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Result of an analysis of one simulated study."""

    p_value: float
    """The p value; NaN if the analysis decides by a confidence interval."""
    estimate: float | None = None
    """The estimated effect; None if the tested effect is not a single number."""
    flaw: str | None = None
    """`NOT_CONVERGED` or `SINGULAR` for a fit with this problem; otherwise None."""
    interval_decides: bool | None = None
    """True if the confidence interval shows the difference or the equivalence, and False if not. None if the p value
    decides.
    """

    def is_positive(self, alpha: float) -> bool:
        """Return True if the analysis shows the tested difference or equivalence, and False if the p value is NaN."""
        return self.p_value < alpha if self.interval_decides is None else self.interval_decides


Run = Callable[..., Outcome]


@dataclass(frozen=True, eq=False)
class Equivalence:
    """The margin of an equivalence test, and the trials that it compares."""

    margin: float
    """Largest difference in accuracy that counts as no difference."""
    first: Bools
    """True for each trial in the first part of the tested difference (first accuracy minus second accuracy); shape
    (trials,).
    """
    second: Bools | None = None
    """True for each trial in the second part. None if the second accuracy is a given number
    (`PowerAnalysis.equal_accuracy`).
    """


@dataclass(frozen=True, eq=False)
class PowerAnalysis:
    """An analysis whose power can be estimated with simulated responses."""

    title: str
    """The tested effect, in words."""
    run: Run
    """Function that analyzes the responses of one simulated study. Its first argument is an array with the correctness
    of each trial. Its second argument is an array that is true for each trial in the analysis. If `model_accuracy` is
    given, a third array has the correctness of the model at the item of each trial. The function raises InputError if
    the analysis is not possible.
    """
    unit: str = "accuracy"
    """Unit of the estimate."""
    notes: tuple[str, ...] = ()
    """Notes on the analysis, one sentence each."""
    equal: str = "Without any effect"
    """The condition under which the tested difference is 0, as the beginning of a sentence."""
    equal_accuracy: Floats | None = None
    """The accuracy of people at each trial under the null hypothesis, for a comparison with a number or a model. None
    if the null hypothesis is true without the simulated effects.
    """
    model_accuracy: Floats | None = None
    """The accuracy of the simulated model at each trial; None if no model is simulated."""
    equivalence: Equivalence | None = None
    """The margin and the trials of an equivalence test; None for a test of a difference."""
    remedy: str = "plan a mixed model with random effects of participants and items"
    """Advice for the researcher if the rate of false positives is too high."""

    def null_accuracy(self, without_effects: Floats) -> Floats:
        """Return the accuracy at each trial if the null hypothesis is true.

        For a test of a difference, the tested difference is then 0. For an equivalence test, the first accuracy is
        lower than the second accuracy by the margin. If an accuracy would be 0 or less, the first accuracy is higher
        by the margin instead.

        Parameters
        ----------
        without_effects : array of float, shape (trials,)
            The accuracy at each trial without the simulated effects.
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
        """Return the true difference between the two accuracies that an equivalence test compares.

        `accuracy` is the average accuracy of the population at each trial.
        """
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
        The trials of each study, for at least as many participants as the largest number in `ns`.
    accuracy : array of float, shape (trials,)
        The average accuracy of the population at each trial; see `accuracies`.
    analysis : PowerAnalysis
        The analysis whose power is estimated.
    population : Population
        The variation of participants and items, and the share of excluded participants.
    ns : sequence of int
        The numbers of participants for which the power is estimated. A smaller number uses only the first
        participants.
    simulations : int
        Number of simulated studies for each number of participants.
    alpha : float
        The level of significance, two-sided.
    seed : int
        Seed of the responses; the same for each number of participants.
    null_accuracy : array of float, optional
        Accuracies under the null hypothesis (`PowerAnalysis.null_accuracy`). If they are given, the false-positive
        rate is estimated too, with the largest number of participants in `ns`.
    on_done : callable
        A function that is called after each simulated study, for instance to show progress.

    Returns
    -------
    DataFrame
        One row per number of participants, and one more row if `null_accuracy` is given.

        - `effect`: `as given`, or `none` in the row for `null_accuracy`
        - `n_participants`: number of participants before exclusion
        - `n_analysed_mean`: mean number of participants after exclusion
        - `simulations`, `n_significant`: number of studies, and of studies with a significant result (for an
          equivalence test, of studies that show equivalence)
        - `power`, `ci_low`, `ci_high`: share of significant studies with Wilson's 95 % score interval. In the row for
          `null_accuracy`, this share is the false-positive rate
        - `mean_estimate`: mean of the estimates
        - `power_with_singular`: the power if the p values of singular models are also counted
        - `not_converged`, `singular`, `not_computable`: shares of studies whose model did not converge or was singular,
          or whose responses could not be analysed; all of these count as not significant

    Raises
    ------
    InputError
        If there are too few trials, or if no simulated study of the largest number of participants could be analysed.

    Notes
    -----
    The standard error of a power :math:`\pi` from :math:`S` simulated studies is :math:`\sqrt{\pi (1 - \pi) / S}`, at
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
