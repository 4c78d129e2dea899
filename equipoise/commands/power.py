"""The number of participants for a study: power by simulation of people's responses to the study's own test items."""

import math
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

TARGETS = (0.8, 0.9)
"""The powers for which studies are usually planned."""


@dataclass(frozen=True)
class Request:
    """The question of a simulation."""

    effects: tuple[Effect, ...]
    accuracy: float
    """Of the population, without the effects."""
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
        The text has another form.

    Examples
    --------
    >>> parse_effect("condition=B,inference_level=3:-0.15")
    Effect(levels={'condition': 'B', 'inference_level': '3'}, difference=-0.15)
    """
    places, _, number = text.rpartition(":")
    levels = {}
    for place in places.split(","):
        factor, equals, level = (part.strip() for part in place.partition("="))
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
    """Return one row for each test item: `group`, `item_id`, `task`, `chance` and factors, as in the tidy table."""
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


def power(study: StudyFolder, request: Request, output: Path | None = None) -> str:
    """Simulate studies and report the power of each number of participants; write table and figure to `output`.

    Raises
    ------
    InputError
        If the design, the plan or the request do not allow it; the message says what to change.
    """
    study = loaded(study)
    if output is not None:
        _refuse_results_of_analysis(output)
    trials = planned_trials(design_of(study), max(request.ns))
    accuracy = accuracies(trials.table, request.accuracy, request.effects)
    analysis = _analysis(study, trials, request)
    there_is_an_effect = any(effect.difference for effect in request.effects)
    n_steps = request.simulations * (1 + there_is_an_effect)
    with progress_bar("Simulating studies", n_steps) as on_done:
        table = simulated_power(
            trials, accuracy, analysis, request.population,
            ns=request.ns, simulations=request.simulations, alpha=request.alpha, seed=request.seed,
            null_accuracy=accuracies(trials.table, request.accuracy, []) if there_is_an_effect else None,
            on_done=on_done,
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


def _figure(table: pd.DataFrame, effect: bool) -> Drawing | None:
    names = {"as given": "with the effect" if effect else "without any effect", "none": "without any effect"}
    drawn = table.assign(participants=table["n_participants"], studies=table["effect"].map(names))
    label = "Share of studies with a significant result, 95 % CI"
    return interaction_plot(drawn, "participants", "studies", "power", "power", "ci_low", "ci_high", label)


def _analysis(study: Study, trials: PlannedTrials, request: Request) -> PowerAnalysis:
    plan = study.definition.analysis
    if request.test is not None and request.model is not None:
        raise InputError("a test and a model are named. Fix: name only one of them.")
    if request.term is not None and request.model is None:
        raise InputError("only a model has terms. Fix: name the model with --model.")
    if request.test is not None:
        return planned_test_analysis(trials, plan, request.test)
    if request.model is not None:
        return planned_model_analysis(trials, plan, request.model, request.term)
    return contrast_t(trials, request.effects)


def _refuse_results_of_analysis(output: Path) -> None:
    """Refuse a folder with other results, because they would be removed as outdated files."""
    manifest = output / MANIFEST
    if manifest.is_file() and '"power"' not in manifest.read_text(encoding="utf-8", errors="replace")[:200]:
        raise InputError(f"{output}: this folder holds the results of an analysis. Fix: name another one.")


def _in_words(
    trials: PlannedTrials, request: Request, analysis: PowerAnalysis, table: pd.DataFrame, effect: bool
) -> str:
    population = request.population
    cells = [f"{one.difference:+g} at {one.place}" for one in request.effects if one.difference]
    n_groups = trials.table["group"].nunique()
    uneven = [str(n) for n in request.ns if n % n_groups]
    lines = [
        f"Analysis: {analysis.title}; alpha {request.alpha:g}, two-sided.",
        f"Responses: accuracy {request.accuracy:g}{''.join(f', {cell}' for cell in cells)}; standard deviations in "
        f"log-odds {population.participant_sd:g} of participants and {population.item_sd:g} of items "
        f"({', '.join(population.item)}); each simulated study has new participants and items.",
        f"Studies: {request.simulations:,} for each number of participants, seed {request.seed}"
        + (f"; each participant is excluded with probability {population.excluded:g}." if population.excluded else "."),
    ]
    if uneven:
        lines.append(f"N = {', '.join(uneven)}: not a multiple of the {n_groups} groups, so some groups have one more.")
    lines += [*analysis.notes, "", *_table_lines(table, analysis, effect, request.model is not None), ""]
    lines += _findings(table) if effect else ["The effect is 0, so these are false-positive rates."]
    return "\n".join([*lines, *_warnings(table, request)])


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


def _findings(table: pd.DataFrame) -> list[str]:
    """Return the sufficient numbers, and the rate of false positives."""
    tried = table[table["effect"] == "as given"].sort_values("n_participants")
    smallest = []
    for target in TARGETS:
        enough = tried.loc[tried["power"] >= target, "n_participants"]
        smallest.append(
            f"{100 * target:.0f} % of studies is {f'{enough.iloc[0]:,}' if len(enough) else 'none of them'}"
        )
    null = table[table["effect"] == "none"].iloc[0]
    return [
        f"Of the N tried, the smallest that finds the effect in {', and in '.join(smallest)}.",
        f"Without any effect the analysis is significant in {_percent(null['power'])} of studies with N = "
        f"{null['n_participants']:,} (95 % CI {_percent(null['ci_low'])} to {_percent(null['ci_high'])}).",
    ]


def _warnings(table: pd.DataFrame, request: Request) -> list[str]:
    said = []
    flawed = float(table[[NOT_CONVERGED, SINGULAR, NOT_COMPUTABLE]].sum(axis=1).max())
    if flawed:
        said.append(
            "Studies whose model did not converge or was singular, or whose responses could not be analysed, count "
            f"as not significant; they are up to {_percent(flawed)}. `with singular` is the power if singular "
            "models are accepted."
        )
    null = table if not any(effect.difference for effect in request.effects) else table[table["effect"] == "none"]
    if (null["ci_low"] > request.alpha).any():
        said.append(
            f"Warning: this rate is higher than alpha = {request.alpha:g}, so a significant result of this analysis "
            "means less than it seems, and so does its power. The analysis ignores some of the variance between "
            "studies, for instance of the items. Fix: plan a model with random effects of participants and items."
        )
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
