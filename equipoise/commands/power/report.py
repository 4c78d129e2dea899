"""The report and the figure of `equipoise power`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.figures import Drawing, power_curve
from analysis.power.simulation import NOT_COMPUTABLE, NOT_CONVERGED, SINGULAR, PowerAnalysis
from equipoise.commands.power.request import LIMITS_OF_N, Request


@dataclass(frozen=True)
class SimulatedStudies:
    """The results of the simulated studies, with the properties of these studies."""

    table: pd.DataFrame
    """The result of `simulated_power`, for all simulated numbers of participants."""
    analysis: PowerAnalysis
    n_groups: int
    """Number of counterbalance groups."""
    accuracy: float
    """People's mean accuracy before the effects are added."""
    true_difference: float | None
    """The difference in the population, if equivalence is tested; otherwise None."""
    has_effect: bool
    """False if the null hypothesis is true in the simulated studies."""
    found: Mapping[float, int | None] | None = None
    """For each power, the smallest number of participants with this power.

    None if the largest number has less power. `found` is None without a search.
    """

    @property
    def tried(self) -> pd.DataFrame:
        """The rows of `table` with the requested effects, sorted by the number of participants."""
        return self.table[self.table["effect"] == "as given"].sort_values("n_participants")


def report(request: Request, studies: SimulatedStudies) -> str:
    """Return the report as lines of text."""
    analysis, population = studies.analysis, request.population
    cells = [f"{one.difference:+g} at {one.place}" for one in request.effects if one.difference]
    lines = [
        f"Analysis: {analysis.title}; {_decision(request, analysis)}.",
        f"Responses: accuracy {studies.accuracy:.3g}{''.join(f', {cell}' for cell in cells)}. Standard deviations in "
        f"log-odds: {population.participant_sd:g} for participants, {population.item_sd:g} for items "
        f"({', '.join(population.item)}). Each simulated study has new participants and items.",
        f"Studies: {request.simulations:,} for each number of participants, seed {request.seed}"
        + (f"; each participant is excluded with probability {population.excluded:g}." if population.excluded else "."),
    ]
    if studies.true_difference is not None:
        lines.insert(2, f"True difference: {_signed(studies.true_difference)}.")
    if studies.found is not None:
        lines.append(_search_words(request, studies))
    uneven = [str(n) for n in request.ns if n % studies.n_groups]
    if uneven:
        lines.append(
            f"With N = {', '.join(uneven)}, some groups have one participant more than other groups, because the study "
            f"has {studies.n_groups} groups."
        )
    lines += [*analysis.notes, "", *_table_lines(studies, is_model=request.model is not None), ""]
    if not studies.has_effect:
        lines.append("The effect is 0, so these are false-positive rates.")
    elif studies.found is None:
        lines += [_smallest_tried(request, studies), _false_positives(studies)]
    else:
        lines += [*_found_words(request, studies), _false_positives(studies)]
    return "\n".join([*lines, *_warnings(studies, request.alpha)])


def power_figure(request: Request, studies: SimulatedStudies) -> Drawing:
    """Draw the power for each number of participants."""
    is_equivalence = studies.analysis.equivalence is not None
    given, none = "with the effect", "without any effect"
    if is_equivalence:
        given, none = "with the true difference", "with a difference as large as the margin"
    elif studies.analysis.equal_accuracy is not None:
        given, none = "with the difference", "without a difference"
    names = {"as given": given if studies.has_effect else none, "none": none}
    simulated = set(studies.table["effect"])
    result = "that show equivalence" if is_equivalence else "with a significant result"
    return power_curve(
        studies.table,
        {effect: name for effect, name in names.items() if effect in simulated},
        "power",
        f"percent of studies {result}, 95 % CI",
        request.powers if studies.has_effect else [],
    )


def _decision(request: Request, analysis: PowerAnalysis) -> str:
    """Return the rule by which a simulated study counts as positive: the level of significance or the interval."""
    alpha = request.alpha
    if analysis.equivalence is not None:
        coverage = f"{100 * (1 - 2 * alpha):g} % interval"
        return f"margin {analysis.equivalence.margin:.3g}, alpha {alpha:g} in each of two one-sided tests ({coverage})"
    if analysis.equal_accuracy is not None and request.against_model is not None:
        return f"significant if the {100 * (1 - alpha):g} % interval excludes 0"
    return f"alpha {alpha:g}, two-sided"


def _search_words(request: Request, studies: SimulatedStudies) -> str:
    powers = " or ".join(f"{100 * target:g} %" for target in request.powers)
    among = f"among multiples of {studies.n_groups} (the number of groups) " if studies.n_groups > 1 else ""
    words = f"Search: the smallest N with a power of at least {powers}, {among}up to {request.largest_n:,}."
    n_simulations = studies.tried["simulations"]
    if (n_simulations < request.simulations).any():
        words += f" The first steps of the search simulate {n_simulations.min():,} studies."
    return words


def _table_lines(studies: SimulatedStudies, *, is_model: bool) -> list[str]:
    shown = studies.tried
    cells = {
        "N": [f"{n:,}" for n in shown["n_participants"]],
        "analysed": [f"{n:,.1f}" for n in shown["n_analysed_mean"]],
        "power" if studies.has_effect else "false positives": [f"{share:.3f}" for share in shown["power"]],
        "95 % CI": [f"{low:.3f} to {high:.3f}" for low, high in zip(shown["ci_low"], shown["ci_high"], strict=True)],
        f"mean estimate ({studies.analysis.unit})": [
            "-" if math.isnan(estimate) else _signed(estimate) for estimate in shown["mean_estimate"]
        ],
    }
    if shown["simulations"].nunique() > 1:
        cells["studies"] = [f"{n:,}" for n in shown["simulations"]]
    if shown[SINGULAR].any():
        cells["with singular"] = [f"{share:.3f}" for share in shown["power_with_singular"]]
    for flaw in (NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE):
        if shown[flaw].any() or (is_model and flaw != NOT_COMPUTABLE):
            cells[flaw.replace("_", " ")] = [_percent(share) for share in shown[flaw]]
    columns = [[name, *values] for name, values in cells.items()]
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]


def _smallest_tried(request: Request, studies: SimulatedStudies) -> str:
    """Return a sentence that names, for each power, the smallest requested number of participants that reaches it."""
    tried, smallest = studies.tried, []
    for target in request.powers:
        enough = tried.loc[tried["power"] >= target, "n_participants"]
        smallest.append(f"{100 * target:g} % of studies: {f'{enough.iloc[0]:,}' if len(enough) else 'none of these N'}")
    finds = "shows equivalence" if studies.analysis.equivalence is not None else "finds the effect"
    return f"The smallest of these N that {finds} in at least {'; in at least '.join(smallest)}."


def _found_words(request: Request, studies: SimulatedStudies) -> list[str]:
    """Return a sentence for each power: the number of participants that reaches it, or that no number reaches it."""
    rows = studies.tried.set_index("n_participants")
    lines = []
    for target, n in (studies.found or {}).items():
        row = rows.loc[rows.index.max() if n is None else n]
        if n is not None:
            low, high = (f"{100 * row[bound]:.0f}" for bound in ("ci_low", "ci_high"))
            lines.append(f"{n:,} participants give a power of {100 * row['power']:.0f} % (95 % CI {low} to {high} %).")
            continue
        low, high = (f"{100 * row[bound]:.1f}" for bound in ("ci_low", "ci_high"))
        larger = "For a larger N, use --largest-n. " if request.largest_n < LIMITS_OF_N[1] else ""
        lines.append(
            f"A power of {100 * target:g} % is not reached: with {row.name:,} participants the power is "
            f"{100 * row['power']:.1f} % (95 % CI {low} to {high} %). {larger}If the power hardly increases with N, "
            "the study needs more items instead."
        )
    return lines


def _false_positives(studies: SimulatedStudies) -> str:
    null = studies.table[studies.table["effect"] == "none"].iloc[0]
    is_equivalence = studies.analysis.equivalence is not None
    condition = "With a true difference as large as the margin" if is_equivalence else studies.analysis.equal
    return (
        f"{condition}, the analysis {'shows equivalence' if is_equivalence else 'is significant'} in "
        f"{_percent(null['power'])} of studies with N = {null['n_participants']:,} (95 % CI {_percent(null['ci_low'])} "
        f"to {_percent(null['ci_high'])})."
    )


def _warnings(studies: SimulatedStudies, alpha: float) -> list[str]:
    table, said = studies.table, []
    flawed = float(table[[NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]].sum(axis=1).max())
    if flawed:
        said.append(
            "A study counts as not significant if its mixed model did not converge or was singular, or if its "
            f"responses could not be analysed. This was the case in up to {_percent(flawed)} of studies. The column "
            "`with singular` has the power if singular models are accepted."
        )
    null = table[table["effect"] == "none"] if studies.has_effect else table
    if (null["ci_low"] > alpha).any():
        result = "an equivalence" if studies.analysis.equivalence is not None else "a significant result"
        said.append(
            f"Warning: the rate of false positives is higher than alpha = {alpha:g}, so neither {result} nor the power "
            "of this analysis can be trusted. The analysis ignores some of the variance between studies, for instance "
            f"the variance of the items. Fix: {studies.analysis.remedy}."
        )
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(number: float) -> str:
    """Return a number with its sign. A number that rounds to 0 does not get a minus."""
    return f"{round(number, 3) + 0.0:+.3f}"
