"""`equipoise power`: find the power of a study for several numbers of participants, from simulated responses."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.data.columns import VIEW_COLUMNS, factor_columns
from analysis.data.tidy_table import tidy_trials
from analysis.figures import Drawing, interaction_plot
from analysis.output_files import csv_bytes
from analysis.power.planned_analyses import planned_model_analysis, planned_test_analysis
from analysis.power.simulated_responses import (
    NOT_FACTORS,
    Effect,
    PlannedTrials,
    Population,
    accuracies,
    planned_trials,
)
from analysis.power.simulation import (
    NOT_COMPUTABLE,
    NOT_CONVERGED,
    SINGULAR,
    PowerAnalysis,
    contrast_t,
    simulated_power,
)
from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from batteries.files.atomic_folder import MANIFEST, write_together
from equipoise.commands.store_access import StudyFolder, loaded
from equipoise.progress_bar import progress_bar
from experiment.plan import Phase
from experiment.study.definition import Study

LIMITS_OF_N = (2, 10_000)
"""Smallest and largest number of participants."""
TARGETS = (0.8, 0.9)
"""Values of the power that studies usually aim for."""


@dataclass(frozen=True)
class Request:
    """Design, population and analysis of the simulated studies."""

    effects: tuple[Effect, ...]
    accuracy: float
    """Accuracy in the population before the effects are added."""
    population: Population
    ns: tuple[int, ...]
    simulations: int
    alpha: float
    seed: int
    test: str | None = None
    model: str | None = None
    term: str | None = None


def parse_effect(text: str) -> Effect:
    """Return the effect that `text` describes, such as `condition=B,inference_level=3:-0.15`.

    Raises
    ------
    InputError
        If the text does not have this form.

    Examples
    --------
    >>> parse_effect("condition=B,inference_level=3:-0.15")
    Effect(levels={'condition': 'B', 'inference_level': '3'}, difference=-0.15)
    """
    written_levels, _, number = text.rpartition(":")
    levels = {}
    for written in written_levels.split(","):
        factor, equals, level = (part.strip() for part in written.partition("="))
        if not (factor and equals and level) or factor in levels:
            raise _unreadable(text)
        levels[factor] = level
    try:
        difference = float(number)
    except ValueError:
        raise _unreadable(text) from None
    if not math.isfinite(difference):
        raise _unreadable(text)
    return Effect(levels, difference)


def _unreadable(text: str) -> InputError:
    return InputError(
        f"the effect `{text}` cannot be read. Fix: write the levels and the difference in accuracy, such as "
        "`condition=B:-0.10` or `condition=B,inference_level=3:-0.15`."
    )


def design_of(study: Study) -> pd.DataFrame:
    """Return one row for each test item of each group: `group`, `item_id`, `task`, `chance` and the factors."""
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
    ]  # fmt: skip
    tidy = tidy_trials(pd.DataFrame(rows))
    return tidy[[*NOT_FACTORS, *factor_columns(tidy)]]


def _json(value: Any) -> str:
    return canonical_json(value).decode()


def power(
    study: StudyFolder,
    effects: Sequence[str | Effect] | str | Effect,
    *,
    test: str | None = None,
    model: str | None = None,
    term: str | None = None,
    accuracy: float = 0.8,
    participant_sd: float = 1.0,
    item_sd: float = 0.5,
    item_columns: Sequence[str] = (),
    ns: Sequence[int] = (30, 60, 90),
    simulations: int = 1_000,
    alpha: float = 0.05,
    excluded: float = 0.0,
    seed: int = 1,
    output: Path | str | None = None,
) -> str:
    """Simulate and analyze responses to a study's test items, and report the power for each number of participants.

    Parameters
    ----------
    study
        The study or its folder.
    effects
        One effect or several effects. An effect is a difference that is added to `accuracy` in trials with
        certain levels, such as `condition=B,inference_level=3:-0.15`. If several effects apply to a trial, their
        differences are added.
    test
        Name of a test in the analysis plan; by default a paired t test of the first effect.
    model
        Name of a mixed model in the analysis plan, instead of a test.
    term
        Term or coefficient of the mixed model; by default the only term of the model.
    accuracy
        Accuracy in the population before the effects are added, between 0 and 1.
    participant_sd, item_sd
        Standard deviations of participants and of items in log-odds, from 0 to 5.
    item_columns
        Factors that identify an item, such as `["scenario", "version"]`; by default `item_id`.
    ns
        Numbers of participants to try.
    simulations
        Number of simulated studies for each number of participants, at least 20.
    alpha
        Level of significance, two-sided, between 0 and 1.
    excluded
        Share of participants who are excluded from the analysis: 0 or more, and less than 1.
    seed
        Seed of the simulated responses.
    output
        Folder for power.csv and power.svg; by default no file is written.

    Returns
    -------
    str
        The report as lines of text.

    Raises
    ------
    InputError
        If an argument is invalid, or does not fit the design or the plan of the study.
    """
    study = loaded(study)
    _refuse_invalid(accuracy, participant_sd, item_sd, simulations, alpha, excluded, seed)
    request = Request(
        _parsed(effects), accuracy, Population(participant_sd, item_sd, tuple(item_columns) or ("item_id",), excluded),
        _checked_ns(ns), simulations, alpha, seed, test, model, term,
    )  # fmt: skip
    if output is not None:
        output = Path(output)
        _refuse_results_of_analysis(output)
    trials = planned_trials(design_of(study), max(request.ns))
    with_effects = accuracies(trials.table, accuracy, request.effects)
    analysis = _analysis(study, trials, request)
    null_accuracy = analysis.null_accuracy
    there_is_an_effect = any(effect.difference for effect in request.effects) or null_accuracy is not None
    if there_is_an_effect and null_accuracy is None:
        null_accuracy = accuracies(trials.table, accuracy, [])
    n_steps = simulations * (1 + there_is_an_effect)
    with progress_bar("Simulating studies", n_steps) as on_done:
        table = simulated_power(
            trials, with_effects, analysis, request.population,
            ns=request.ns, simulations=simulations, alpha=alpha, seed=seed,
            null_accuracy=null_accuracy, on_done=on_done,
        )  # fmt: skip
    said = _in_words(trials, request, analysis, table, there_is_an_effect)
    if output is not None:
        about = {
            "power": {
                "study": study.name, "version": study.definition.version, "study_digest": study.digest,
                "software": f"equipoise {version('equipoise')}", "request": asdict(request), "said": said.splitlines(),
            }
        }  # fmt: skip
        files = {"power.csv": csv_bytes(table)}
        figure = _figure(table, there_is_an_effect)
        if figure is not None:
            files["power.svg"] = figure.svg.encode()
        write_together(output, files, about)
        said += f"\nWritten to {output}: {' and '.join(files)}."
    return said


def _parsed(effects: Sequence[str | Effect] | str | Effect) -> tuple[Effect, ...]:
    given = [effects] if isinstance(effects, (str, Effect)) else effects
    if not given:
        raise InputError("there is no effect. Fix: write at least one effect, such as `condition=B:-0.10`.")
    return tuple(parse_effect(effect) if isinstance(effect, str) else effect for effect in given)


def _checked_ns(ns: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of participants in ascending order, each number once."""
    if not ns:
        raise InputError("there is no number of participants. Fix: give at least one number, such as 30.")
    smallest, largest = LIMITS_OF_N
    for n in ns:
        if not smallest <= n <= largest:
            raise InputError(
                f"{n:,} {'participant' if n == 1 else 'participants'}: a study cannot be simulated with this number. "
                f"Fix: give numbers from {smallest} to {largest:,}."
            )
    return tuple(sorted(set(ns)))


def _refuse_invalid(
    accuracy: float, participant_sd: float, item_sd: float, simulations: int, alpha: float, excluded: float, seed: int
) -> None:
    for name, value, is_valid, limits in (
        ("accuracy", accuracy, 0 < accuracy < 1, "more than 0 and less than 1"),
        ("participant_sd", participant_sd, 0 <= participant_sd <= 5, "from 0 to 5"),
        ("item_sd", item_sd, 0 <= item_sd <= 5, "from 0 to 5"),
        ("simulations", simulations, 20 <= simulations <= 1_000_000, "from 20 to 1,000,000"),
        ("alpha", alpha, 0 < alpha < 1, "more than 0 and less than 1"),
        ("excluded", excluded, 0 <= excluded < 1, "of 0 or more and less than 1"),
        ("seed", seed, seed >= 0, "of 0 or more"),
    ):
        if not is_valid:
            raise InputError(f"{name} {value}: this value is outside the limits. Fix: write a number {limits}.")


def _figure(table: pd.DataFrame, effect: bool) -> Drawing | None:
    names = {"as given": "with the effect" if effect else "without any effect", "none": "without any effect"}
    drawn = table.assign(participants=table["n_participants"], studies=table["effect"].map(names))
    label = "Share of studies with a significant result, 95 % CI"
    return interaction_plot(drawn, "participants", "studies", "power", "power", "ci_low", "ci_high", label)


def _analysis(study: Study, trials: PlannedTrials, request: Request) -> PowerAnalysis:
    plan = study.definition.analysis
    if request.test is not None and request.model is not None:
        raise InputError("both a test and a mixed model are named. Fix: omit the test or the mixed model.")
    if request.term is not None and request.model is None:
        raise InputError("a term is named, but no mixed model is named. Fix: name the mixed model with --model.")
    if request.test is not None:
        return planned_test_analysis(trials, plan, request.test)
    if request.model is not None:
        return planned_model_analysis(trials, plan, request.model, request.term)
    return contrast_t(trials, request.effects)


def _refuse_results_of_analysis(output: Path) -> None:
    """Refuse a folder with results of `equipoise analyze`. Otherwise these results would be removed as outdated."""
    manifest = output / MANIFEST
    if manifest.is_file() and '"power"' not in manifest.read_text(encoding="utf-8", errors="replace")[:200]:
        raise InputError(f"{output}: this folder contains the results of an analysis. Fix: choose another folder.")


def _in_words(
    trials: PlannedTrials, request: Request, analysis: PowerAnalysis, table: pd.DataFrame, effect: bool
) -> str:
    population = request.population
    cells = [f"{one.difference:+g} at {one.place}" for one in request.effects if one.difference]
    n_groups = trials.table["group"].nunique()
    uneven = [str(n) for n in request.ns if n % n_groups]
    lines = [
        f"Analysis: {analysis.title}; alpha {request.alpha:g}, two-sided.",
        f"Responses: accuracy {request.accuracy:g}{''.join(f', {cell}' for cell in cells)}. Standard deviations in "
        f"log-odds: {population.participant_sd:g} for participants, {population.item_sd:g} for items "
        f"({', '.join(population.item)}). Each simulated study has new participants and items.",
        f"Studies: {request.simulations:,} for each number of participants, seed {request.seed}"
        + (f"; each participant is excluded with probability {population.excluded:g}." if population.excluded else "."),
    ]
    if uneven:
        lines.append(
            f"With N = {', '.join(uneven)}, some groups have one participant more than other groups, because the study "
            f"has {n_groups} groups."
        )
    lines += [*analysis.notes, "", *_table_lines(table, analysis, effect, request.model is not None), ""]
    lines += _findings(table, analysis.null) if effect else ["The effect is 0, so these are false-positive rates."]
    return "\n".join([*lines, *_warnings(table, request.alpha, effect)])


def _table_lines(table: pd.DataFrame, analysis: PowerAnalysis, effect: bool, is_model: bool) -> list[str]:
    shown = table[table["effect"] == "as given"]
    cells = {
        "N": [f"{n:,}" for n in shown["n_participants"]],
        "analysed": [f"{n:,.1f}" for n in shown["n_analysed_mean"]],
        "power" if effect else "false positives": [f"{share:.3f}" for share in shown["power"]],
        "95 % CI": [f"{low:.3f} to {high:.3f}" for low, high in zip(shown["ci_low"], shown["ci_high"], strict=True)],
        f"mean estimate ({analysis.unit})": [
            "-" if math.isnan(estimate) else f"{estimate:+.3f}" for estimate in shown["mean_estimate"]
        ],
    }
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


def _findings(table: pd.DataFrame, null_words: str) -> list[str]:
    """Return the smallest number of participants that reaches each power in `TARGETS`, and the false-positive rate."""
    tried = table[table["effect"] == "as given"].sort_values("n_participants")
    smallest = []
    for target in TARGETS:
        enough = tried.loc[tried["power"] >= target, "n_participants"]
        smallest.append(
            f"{100 * target:.0f} % of studies: {f'{enough.iloc[0]:,}' if len(enough) else 'none of these N'}"
        )
    null = table[table["effect"] == "none"].iloc[0]
    return [
        f"The smallest of these N that finds the effect in at least {'; in at least '.join(smallest)}.",
        f"{null_words}, the analysis is significant in {_percent(null['power'])} of studies with N = "
        f"{null['n_participants']:,} (95 % CI {_percent(null['ci_low'])} to {_percent(null['ci_high'])}).",
    ]


def _warnings(table: pd.DataFrame, alpha: float, effect: bool) -> list[str]:
    said = []
    flawed = float(table[[NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]].sum(axis=1).max())
    if flawed:
        said.append(
            "A study counts as not significant if its mixed model did not converge or was singular, or if its "
            f"responses could not be analysed. This was the case in up to {_percent(flawed)} of studies. The column "
            "`with singular` has the power if singular models are accepted."
        )
    null = table[table["effect"] == "none"] if effect else table
    if (null["ci_low"] > alpha).any():
        said.append(
            f"Warning: the rate of false positives is higher than alpha = {alpha:g}, so neither a significant "
            "result nor the power of this analysis can be trusted. The analysis ignores some of the variance between "
            "studies, for instance the variance of the items. Fix: plan a mixed model with random effects of "
            "participants and items."
        )
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
