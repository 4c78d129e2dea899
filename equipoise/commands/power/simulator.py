"""Simulated studies with any number of participants, their analysis, and the search for the smallest number."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.columns import VIEW_COLUMNS, factor_columns
from analysis.data.tidy_table import tidy_trials
from analysis.power.comparisons import StoredModel, comparison_analysis
from analysis.power.contrasts import contrast_t
from analysis.power.planned_analyses import planned_model_analysis, planned_test_analysis
from analysis.power.search import smallest_n
from analysis.power.simulated_responses import NOT_FACTORS, Floats, PlannedTrials, accuracies, planned_trials
from analysis.power.simulation import PowerAnalysis, simulated_power
from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from equipoise.commands.power.report import SimulatedStudies
from equipoise.commands.power.request import Request, parse_levels
from equipoise.progress_bar import progress_bar
from experiment.plan import Phase
from experiment.study.definition import Study

FIRST_N = 30
"""The first number of participants in the search. It is rounded up to a multiple of the number of groups."""
ROUGH_SHARE = 5
"""The first steps of the search simulate fewer studies: the requested number divided by this number."""


def design_of(study: Study) -> pd.DataFrame:
    """Return one row for each graded test item of each group: `group`, `item_id`, `task`, `chance` and the factors.

    Raises
    ------
    InputError
        If no test item has a right answer.
    """
    rows = [
        dict.fromkeys(VIEW_COLUMNS)
        | {
            "study": study.name, "study_version": study.definition.version, "battery": study.battery.digest,
            "session": f"group {group}", "participant": f"group {group}", "kind": "human", "source": "web",
            "status": "completed", "group": group, "trial_index": index, "phase": Phase.TEST.value,
            "item_id": item.item_id, "task": item.task, "factors": _json(item.factors),
            "content": _json(item.content), "key": _json(item.key),
        }
        for group, items in sorted(study.test_items_by_group.items())
        for index, item in enumerate(items)
        if item.is_graded
    ]  # fmt: skip
    if not rows:
        raise InputError(
            "no test item has a right answer (`key: null`), and only right and wrong responses can be simulated. Fix: "
            "estimate the power of this study with another program."
        )
    tidy = tidy_trials(pd.DataFrame(rows))
    return tidy[[*NOT_FACTORS, *factor_columns(tidy)]]


def _json(value: Any) -> str:
    return canonical_json(value).decode()


@dataclass(frozen=True, eq=False)
class _Sized:
    """The simulated studies with one number of participants."""

    trials: PlannedTrials
    analysis: PowerAnalysis
    baseline: Floats
    """The probability of a right response at each trial before the effects are added."""
    accuracy: Floats
    null_accuracy: Floats

    @property
    def has_effect(self) -> bool:
        """False if the null hypothesis is true in the simulated studies."""
        return not np.array_equal(self.accuracy, self.null_accuracy)

    @property
    def true_difference(self) -> float | None:
        return None if self.analysis.equivalence is None else self.analysis.true_difference(self.accuracy)


class Simulator:
    """Simulates studies with any number of participants, and analyzes them as requested."""

    def __init__(self, study: Study, request: Request, model: float | StoredModel | None) -> None:
        self.plan, self.request, self.model = study.definition.analysis, request, model
        self.design = design_of(study)
        self.n_groups = int(self.design["group"].nunique())

    def requested_sizes(self) -> SimulatedStudies:
        """Return the power for each of the requested numbers of participants."""
        ns = self.request.ns
        sized = self._sized(max(ns))
        with_null = sized.has_effect
        with progress_bar("Simulating studies", self.request.simulations * (1 + with_null)) as on_done:
            table = simulated_power(
                sized.trials, sized.accuracy, sized.analysis, self.request.population, ns=ns,
                simulations=self.request.simulations, alpha=self.request.alpha, seed=self.request.seed,
                null_accuracy=sized.null_accuracy if with_null else None, on_done=on_done,
            )  # fmt: skip
        return self._studies(table, sized)

    def searched_sizes(self) -> SimulatedStudies:
        """Search for the smallest number of participants for each power.

        The first steps simulate fewer studies, to be fast. The last steps simulate the requested number of studies, and
        begin at the result of the first steps.
        """
        request, step = self.request, self.n_groups
        if request.largest_n < step:
            raise InputError(
                f"the search ends at {request.largest_n:,} participants, but the study has {step:,} groups. Fix: give "
                f"--largest-n {step} or more."
            )
        largest = request.largest_n // step * step
        first_n = min(-(-FIRST_N // step) * step, largest)
        first = self._sized(first_n)
        if not first.has_effect:
            raise InputError(
                "the effect is 0, so no number of participants reaches the power. Fix: state an effect, or give "
                "numbers of participants (-n) for the rates of false positives."
            )
        tables: dict[tuple[int, int], pd.DataFrame] = {}

        def power_of(simulations: int, n: int) -> float:
            if (n, simulations) not in tables:
                try:
                    tables[n, simulations] = self._one_size(n, simulations)
                except InputError:
                    if n >= first_n:
                        raise
                    return 0.0  # There are too few participants for this analysis.
            return float(tables[n, simulations]["power"].iloc[0])

        rough = max(20, request.simulations // ROUGH_SHARE)
        found: dict[float, int | None] = {}
        for target in request.powers:
            start = first_n
            for simulations in (rough, request.simulations):
                n = smallest_n(
                    partial(power_of, simulations),
                    target, alpha=request.alpha, start=start, step=step, largest=largest,
                )  # fmt: skip
                start = largest if n is None else n
            found[target] = n
            if n is None:
                break
        most = max([n for n in found.values() if n is not None], default=largest)
        null = self._one_size(most, request.simulations, is_null=True).assign(effect="none")
        finest = {n: tables[n, simulations] for n, simulations in sorted(tables)}
        return self._studies(pd.concat([*finest.values(), null], ignore_index=True), first, found)

    def _one_size(self, n: int, simulations: int, *, is_null: bool = False) -> pd.DataFrame:
        sized = self._sized(n)
        with progress_bar(f"Simulating studies with {n:,} participants", simulations) as on_done:
            return simulated_power(
                sized.trials, sized.null_accuracy if is_null else sized.accuracy, sized.analysis,
                self.request.population, ns=[n], simulations=simulations, alpha=self.request.alpha,
                seed=self.request.seed, on_done=on_done,
            )  # fmt: skip

    def _studies(
        self, table: pd.DataFrame, sized: _Sized, found: dict[float, int | None] | None = None
    ) -> SimulatedStudies:
        return SimulatedStudies(
            table, sized.analysis, self.n_groups, float(sized.baseline.mean()), sized.true_difference,
            sized.has_effect, found,
        )  # fmt: skip

    def _sized(self, n: int) -> _Sized:
        request, trials = self.request, planned_trials(self.design, n)
        baseline: Floats = np.full(len(trials.table), 0.8 if request.accuracy is None else request.accuracy)
        is_equal = request.equivalence and request.accuracy is None
        with_effects = baseline if is_equal else accuracies(trials.table, baseline, request.effects)
        analysis = self._analysis(trials)
        if is_equal:
            baseline = baseline if analysis.equal_accuracy is None else analysis.equal_accuracy
            # The accuracy of a test may be at chance, where there cannot be effects.
            with_effects = accuracies(trials.table, baseline, request.effects) if request.effects else baseline
        sized = _Sized(trials, analysis, baseline, with_effects, analysis.null_accuracy(baseline))
        if not request.effects and not sized.has_effect:
            raise _no_effect()
        if analysis.equivalence is not None and abs(sized.true_difference or 0.0) >= analysis.equivalence.margin:
            raise InputError(
                f"the true difference is {sized.true_difference:+.3g}, which is not within the margin of "
                f"{analysis.equivalence.margin:.3g}. Fix: state a smaller difference."
            )
        return sized

    def _analysis(self, trials: PlannedTrials) -> PowerAnalysis:
        request = self.request
        if self.model is not None:
            levels = parse_levels(request.term) if request.term is not None else {}
            if levels is None:
                raise InputError(f"the term `{request.term}` cannot be read. Fix: write levels, such as `condition=B`.")
            return comparison_analysis(
                trials, self.plan, self.model, request.comparison, levels,
                alpha=request.alpha, is_equivalence=request.equivalence,
            )  # fmt: skip
        if request.test is not None:
            return planned_test_analysis(trials, self.plan, request.test, is_equivalence=request.equivalence)
        if request.model is not None:
            return planned_model_analysis(trials, self.plan, request.model, request.term)
        if not request.effects:
            raise _no_effect()
        return contrast_t(trials, request.effects)


def _no_effect() -> InputError:
    return InputError("there is no effect. Fix: write at least one effect, such as `condition=B:-0.10`.")
