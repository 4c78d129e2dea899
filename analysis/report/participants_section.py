"""The report's sections on participants and exclusions."""

from typing import Any

import pandas as pd

from analysis.data.columns import KINDS, PEOPLE, sessions_of
from analysis.exclusions.by_group import notes_on_several_groups
from analysis.exclusions.flow import Exclusions
from analysis.measures.timing import timing_sentences
from analysis.report.formatting import records, shown
from analysis.sentences import source_words
from analysis.statistics.factor_levels import level_order

KIND_NAMES = {"human": "People", "simulated": "Simulated participants", "model": "Models"}
NOT_SHOWN = ["first_started_at", "last_started_at", "battery"]
"""Columns that the report omits from the table of study versions. The CSV file has these columns."""


def participants_section(exclusions: Exclusions, tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the input of the template: participants, exclusions (also by study version and group), and timing.

    Parameters
    ----------
    exclusions : Exclusions
        The excluded trials and participants, and the flow table.
    tables : dict of DataFrame
        The tables of the analysis.
    """
    versions = tables.get("study_versions")
    return {
        "subjects": _subjects(exclusions),
        "flows": _flows(exclusions.flow),
        "versions": None if versions is None else shown(versions.drop(columns=NOT_SHOWN)),
        "by_group": shown(tables["exclusions_by_group"]),
        "notes_on_groups": notes_on_several_groups(exclusions),
        "timing": timing_sentences(tables["timing"]),
    }


def exclusion_rules(flow: pd.DataFrame) -> list[str]:
    """Return the steps of the exclusions in words: the steps for people, or for models if there are only models."""
    kind = next((kind for kind in PEOPLE if (flow["kind"] == kind).any()), "model")
    rows = flow[(flow["kind"] == kind) & (flow["step"] != "included")]
    return [f"{step}: {words}" for step, words in rows[["step", "criterion"]].itertuples(index=False)]


def _subjects(exclusions: Exclusions) -> list[dict[str, Any]]:
    """Return one dictionary per subject: numbers of participants and trials, sources, and dates of the sessions."""
    rows = []
    people, sessions = exclusions.participants, sessions_of(exclusions.trials)
    for kind in KINDS:
        of_kind = people[people["kind"] == kind]
        groups = (
            [(PEOPLE[kind], of_kind)]
            if kind != "model"
            else sorted(of_kind.groupby("subject"), key=lambda group: level_order(group[0]))
        )
        for subject, members in groups:
            if members.empty:
                continue
            own = sessions[(sessions["kind"] == kind) & ((kind != "model") | sessions["unit"].isin(members["run"]))]
            days = _days(own["started_at"])
            rows.append(
                {
                    "kind": kind,
                    "subject": subject,
                    "version": ", ".join(sorted(members["model_version"].dropna().unique())),
                    "source": ", ".join(source_words(kind, source) for source in sorted(own["source"].unique())),
                    "recruited": len(members),
                    "completed": int((members["status"] == "completed").sum()),
                    "included": int((members["disposition"] == "included").sum()),
                    "n_trials": int(members["n_included"].sum()),
                    "days": " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "",
                }
            )
    return rows


def _days(times: pd.Series) -> list[str]:
    """Return the dates of the times, sorted. The dates are in UTC, and a time without an offset is read as UTC."""
    moments = pd.to_datetime(times.dropna(), utc=True, format="ISO8601", errors="coerce").dropna()
    return [moment.strftime("%Y-%m-%d") for moment in moments.sort_values()]


def _flows(flow: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the flow table and its totals for each kind of participants. For models, omit the rules for people."""
    flows = []
    for kind in [kind for kind in KINDS if (flow["kind"] == kind).any()]:
        rows = flow[flow["kind"] == kind]
        applicable = rows[~((kind == "model") & (rows["criterion"] == "does not apply to models"))]
        totals = {"n_participants": int(rows["n_participants"].sum()), "n_trials": int(rows["n_trials"].sum())}
        unit = "run" if kind == "model" else "participant"
        flows.append({"name": KIND_NAMES[kind], "unit": unit, "rows": records(applicable), **totals})
    return flows
