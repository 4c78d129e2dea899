"""From the tidy table and a preregistered plan to a folder of tables, figures and a report."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.accuracy import accuracy, check_factors, kept_trials
from analysis.columns import PEOPLE, factor_columns
from analysis.csv_text import csv_bytes
from analysis.differences import differences
from analysis.exclusions import Exclusions, apply_exclusions
from analysis.figures import MOST_LEVELS, accuracy_figure, response_times_figure
from analysis.model_answers import invalid_answers, regraded, stored_scoring
from analysis.output_folder import write_together
from analysis.provenance import Provenance, provenance_of, refuse_changed_items
from analysis.report import render_report
from batteries.errors import InputError
from experiment.preregistration import AnalysisPlan


@dataclass(frozen=True)
class Analysis:
    """The numbers of one analysis, and where they were written."""

    out: Path
    """The folder."""
    exclusions: Exclusions
    """Marked trials, participants, and the flow."""
    tables: dict[str, pd.DataFrame]
    """Every table by its file's name without `.csv`."""
    figures: dict[str, str]
    """Every figure, as SVG, by its file's name without `.svg`."""
    notes: list[str]
    """What a reader should know, in sentences; they stand in the report too."""
    provenance: Provenance
    """Where the numbers come from."""


def analyze(
    trials: pd.DataFrame,
    plan: AnalysisPlan,
    out: Path,
    *,
    title: str,
    software_version: str,
    made_at: datetime | None = None,
    notes: Sequence[str] = (),
) -> Analysis:
    """Analyse a tidy table by a plan, and write `tables/*.csv`, `figures/*.svg`, `report.html` and `provenance.json`.

    Parameters
    ----------
    trials : DataFrame
        The tidy table (`analysis.data.read_trials`).
    plan : AnalysisPlan
        Exclusion rules, factors, confidence, bootstrap.
    out : Path
        The folder; made if need be. A failure leaves it as it was. An earlier analysis in it is replaced file by
        file, and a file that is not of an analysis is never overwritten or removed.
    title : str
        Title of the study, for the report.
    software_version : str
        Version of Equipoise.
    made_at : datetime, optional
        The time of making, now by default.
    notes : sequence of str
        Remarks of the caller, in sentences; they stand first among the notes of the report, and in `provenance.json`.

    Raises
    ------
    InputError
        If nothing is left to analyse, a factor of the plan is not in the data, an item changed between sessions, or
        `out` cannot be used.
    """
    check_factors(trials, plan.by)
    refuse_changed_items(trials)
    exclusions = apply_exclusions(trials, plan)
    kept = kept_trials(exclusions.trials)
    if kept.empty:
        raise InputError(f"no trial is left to analyse: {_where_they_went(exclusions.flow)}.")
    by = list(plan.by)
    tables = _tables(exclusions, plan)
    by_factor = {factor: accuracy(exclusions.trials, [factor], plan) for factor in by}
    if len(by) > 1:
        tables |= {f"accuracy_by_{_file_name(factor, by)}": table for factor, table in by_factor.items()}
    chance = float(kept["chance"].mean())
    figures = {"accuracy": accuracy_figure(tables["accuracy_overall"], None, chance, plan.confidence, "accuracy")}
    for factor, table in by_factor.items():
        if table[factor].nunique(dropna=False) <= MOST_LEVELS:
            name = f"accuracy_by_{_file_name(factor, by)}"
            figures[name] = accuracy_figure(table, factor, chance, plan.confidence, name)
    response_times = response_times_figure(trials, plan, "response_times")
    if response_times is not None:
        figures["response_times"] = response_times
    provenance = provenance_of(trials, plan, software_version, made_at or datetime.now(UTC), notes)
    all_notes = [*notes, *exclusions.notes, *_notes(kept, exclusions, tables, plan)]
    analysis = Analysis(out, exclusions, tables, figures, all_notes, provenance)
    report = render_report(
        title,
        exclusions=exclusions,
        tables=tables,
        by_factor=by_factor,
        figures=figures,
        figure_of={factor: f"accuracy_by_{_file_name(factor, by)}" for factor in by},
        notes=all_notes,
        provenance=provenance,
    )
    files = {f"tables/{name}.csv": csv_bytes(table) for name, table in tables.items()}
    files |= {"tables/trials.csv": csv_bytes(_written_trials(exclusions.trials))}
    files |= {f"figures/{name}.svg": svg.encode() for name, svg in figures.items()}
    write_together(out, {**files, "report.html": report.encode()}, provenance.as_json())
    return analysis


def _tables(exclusions: Exclusions, plan: AnalysisPlan) -> dict[str, pd.DataFrame]:
    trials = exclusions.trials
    return {
        "exclusions": exclusions.flow,
        "participants": exclusions.participants,
        "accuracy": accuracy(trials, plan.by, plan),
        "accuracy_overall": accuracy(trials, [], plan),
        "differences": differences(trials, plan.by, plan),
        "differences_overall": differences(trials, [], plan),
        "invalid": invalid_answers(trials),
        "stored_scoring": stored_scoring(trials),
        "regraded": regraded(trials),
    }


def _written_trials(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy table as it is written: in order, without `content` (the battery has it), lists as JSON."""
    order = ["kind", "participant", "session", "trial_index"]
    table = trials.drop(columns="content").sort_values(order, ignore_index=True)
    for column in ("key", "response"):
        cells = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in table[column].tolist()]
        table[column] = pd.Series(cells, index=table.index, dtype=object)
    return table


def _file_name(factor: str, factors: list[str]) -> str:
    """Return a factor as part of a file's name, on any system; a number keeps two factors apart where it must."""
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "factor" for name in factors]
    place = factors.index(factor)
    return plain[place] if plain.count(plain[place]) == 1 else f"{plain[place]}_{place + 1}"


def _where_they_went(flow: pd.DataFrame) -> str:
    rows: list[dict[str, Any]] = flow[flow["n_participants"] > 0].to_dict("records")  # type: ignore[assignment]
    parts = [
        f"{row['n_participants']} of kind {row['kind']} left at `{row['step']}` ({row['criterion']})" for row in rows
    ]
    return "; ".join(parts) or "there are no test trials"


def _notes(
    kept: pd.DataFrame, exclusions: Exclusions, tables: dict[str, pd.DataFrame], plan: AnalysisPlan
) -> list[str]:
    trials, notes = exclusions.trials, []
    if trials["battery"].nunique() > 1:
        notes.append("The sessions used more than one version of the battery; the test items they share are the same.")
    if trials["study_version"].nunique() > 1:
        notes.append("The sessions used more than one version of the study.")
    for kind, name in PEOPLE.items():
        if (trials["kind"] == kind).any() and not (kept["kind"] == kind).any():
            notes.append(f"None of the {name} are in the analysis; see what was excluded.")
    left_out = exclusions.participants.query("kind == 'model' and disposition != 'included'")
    notes += [f"The run {run} is not in the tables: {why.replace('_', ' ')}."
              for run, why in left_out[["run", "disposition"]].itertuples(index=False)]  # fmt: skip
    for row in tables["invalid"].to_dict("records"):
        if row["n_invalid"] or row["n_unanswered"]:
            notes.append(
                f"{row['run']}: {row['n_invalid']} invalid answers and {row['n_unanswered']} unanswered trials of "
                f"{row['n_trials']} count as not correct."
            )
    for factor in (name for name in plan.by if kept[name].isna().any()):
        without = kept[kept[factor].isna()]
        notes.append(
            f"The factor {factor} is not set on {without['item_id'].nunique()} test items; they are in a cell of their "
            "own, whose level is empty in the tables."
        )
    notes += [f"The factor {factor} has more than {MOST_LEVELS} levels: see the table, there is no figure."
              for factor in plan.by if kept[factor].nunique(dropna=False) > MOST_LEVELS]  # fmt: skip
    notes += _notes_on_people(kept, tables)
    extra = [name for name in factor_columns(trials) if name not in plan.by]
    if extra:
        notes.append(f"Factors of the items that the plan does not analyse: {', '.join(extra)}.")
    return notes


def _notes_on_people(kept: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> list[str]:
    notes = []
    for row in tables["accuracy_overall"].query("kind != 'model'").to_dict("records"):
        own = kept[kept["kind"] == row["kind"]]
        per_item = own.groupby("item_id")["correct"].agg(["size", "mean"])
        cells = tables["accuracy"].query("kind == @row['kind']")["n_participants"]
        if cells.min() < 10:
            notes.append(
                f"Some intervals of {row['subject']} rest on fewer than 10 participants (the fewest: {cells.min()}); "
                "an interval from so few is too narrow to speak of other participants."
            )
        balanced, pooled = f"{100 * per_item['mean'].mean():.1f} %", f"{100 * row['accuracy']:.1f} %"
        if balanced != pooled:
            note = (
                f"Items were answered by {per_item['size'].min()} to {per_item['size'].max()} {row['subject']}, whose "
                f"accuracy of {pooled} would be {balanced} if every item weighed the same"
            )
            if (kept["kind"] == "model").any():
                note += (
                    ", as it does in a model's; compare them by the differences, where an item weighs alike on both "
                    "sides"
                )
            notes.append(f"{note}.")
    return notes
