"""The report of a study: one HTML page with everything in it, which asks nothing of the network."""

from collections import Counter
from typing import Any

import pandas as pd

from analysis.data.columns import KINDS, PEOPLE, sessions_of
from analysis.exclusions.by_group import told_several_groups
from analysis.exclusions.flow import Exclusions
from analysis.measures.study_measures import TITLES
from analysis.provenance.record import Provenance
from analysis.report.formatting import shown
from analysis.report.html import environment, with_markup
from analysis.report.methods_section import methods_of_study
from analysis.report.planned_section import planned_section
from analysis.report.planned_sentences import in_short
from analysis.result import Analysis
from analysis.sentences import (
    accuracy_sentence,
    comparison_sentence,
    difference_sentence,
    level_words,
    percent,
    rule_sentences,
    simulated_words,
    source_words,
)
from analysis.statistics.level_order import level_order
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison

KIND_NAMES = {"human": "People", "simulated": "Simulated participants", "model": "Models"}


def render_report(title: str, analysis: Analysis, by_factor: dict[str, pd.DataFrame], figure_of: dict[str, str]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    title : str
        Title of the study.
    analysis : Analysis
        All that was computed.
    by_factor : dict of DataFrame
        The accuracy table of each factor of the plan.
    figure_of : dict of str
        The name of each factor's figure; it may not have been drawn.
    """
    exclusions, tables, provenance, figures = (
        analysis.exclusions,
        analysis.tables,
        analysis.provenance,
        analysis.figures,
    )
    plan, trials = provenance.plan, exclusions.trials
    kept = trials[["item_id", "key", "chance"]][trials["excluded_by"].isna()]
    overall, gaps = _rows(tables["accuracy_overall"]), _rows(tables["differences_overall"])
    same_answer, same_answer_correct = _best_same_answer(kept)
    shown_figures = {name: with_markup(drawing) for name, drawing in figures.items()}
    return environment().get_template("study_report.html").render(
        title=title,
        provenance=provenance,
        made_at=_made_at(provenance),
        plan=plan,
        notes=analysis.notes,
        registration=analysis.registration,
        only_simulated=not (trials["kind"] == "human").any(),
        has_simulated=bool((trials["kind"] == "simulated").any()),
        simulated_words=simulated_words(
            set(trials.loc[trials["kind"] == "simulated", "source"]), has_people=bool((trials["kind"] == "human").any())
        ),
        has_models=bool((trials["kind"] == "model").any()),
        tasks=sorted(trials.loc[trials["phase"] == "test", "task"].unique()),
        n_items=int(kept["item_id"].nunique()),
        n_planned_items=int(trials.loc[trials["phase"] == "test", "item_id"].nunique()),
        chance=float(kept["chance"].mean()),
        same_answer=same_answer,
        same_answer_correct=same_answer_correct,
        factors=[(name, [level_words(level) for level in table[name].drop_duplicates()])
                 for name, table in by_factor.items()],
        who=_who(exclusions),
        flows=_flows(exclusions.flow),
        versions=shown(tables["study_versions"].drop(columns=["first_started_at", "last_started_at", "battery"]))
        if "study_versions" in tables
        else None,
        by_group=shown(tables["exclusions_by_group"]),
        several_groups=told_several_groups(exclusions),
        sensitivities=[(SENSITIVITIES[name], name, shown(table)) for name, table in tables.items()
                       if name in SENSITIVITIES],
        overall=overall,
        overall_sentences=[accuracy_sentence(row, plan) for row in overall],
        planned_sentences=in_short(analysis.planned, plan) if plan.tests or plan.models else [],
        gaps=gaps,
        gap_sentences=[difference_sentence(row, plan) for row in gaps],
        cell_gaps=_rows(tables["differences"]) if plan.by else [],
        measures=[{"title": TITLES.get(name, name.replace("_", " ", 1)), "name": name, "table": shown(table)}
                  for name, table in tables.items() if name in TITLES or name.startswith("signal_")],
        scatters=[drawing for name, drawing in shown_figures.items() if name.startswith("items_")],
        comparisons=[_comparison(name, compared, tables[f"comparison_{name}"], plan)
                     for name, compared in plan.comparisons.items()],
        cells=[{"factor": factor, "rows": _rows(table), "figure": shown_figures.get(figure_of[factor])}
               for factor, table in by_factor.items()],
        figures=shown_figures,
        stored=_rows(tables["stored_scoring"]),
        regraded=_rows(tables["regraded"]),
        planned=planned_section(analysis.planned, plan, analysis.figures_of_models),
        methods=methods_of_study(exclusions, plan, analysis.planned, provenance.software_version),
        rules=rule_sentences(plan),
        provenance_rows=_provenance_rows(provenance, exclusions.flow),
    )  # fmt: skip


def _comparison(name: str, planned: PlannedComparison, table: pd.DataFrame, plan: AnalysisPlan) -> dict[str, Any]:
    """Return a comparison of the plan with a sentence a model, or none where there are too many to read."""
    rows = _rows(table)
    return {
        "name": name,
        "exploratory": planned.exploratory,
        "sentences": [comparison_sentence(row, planned, plan) for row in rows] if not planned.by else [],
        "table": shown(table.drop(columns=["kind"])),
    }


SENSITIVITIES = {
    "sensitivity_accuracy": "Accuracy",
    "sensitivity_differences": "Differences from models",
    "sensitivity_tests": "Tests",
    "sensitivity_models": "Coefficients of models",
}


def _made_at(provenance: Provenance) -> str:
    return provenance.made_at[:16].replace("T", " ") + " UTC"


def _provenance_rows(provenance: Provenance, flow: pd.DataFrame) -> list[tuple[str, list[str]]]:
    plan: AnalysisPlan = provenance.plan
    intervals = (
        f"{percent(plan.confidence, 0)}; {plan.bootstrap_resamples:,} bootstrap resamples, seed {plan.bootstrap_seed}"
    )
    return [
        ("Study", provenance.studies),
        ("Battery (SHA-256)", provenance.batteries),
        ("Data (SHA-256)", [provenance.data_digest]),
        ("Exclusions, in order", _exclusion_rules(flow)),
        ("Factors", list(plan.by) or ["none"]),
        ("Intervals", [intervals]),
        ("Software", [f"Equipoise {provenance.software_version}"]),
        ("Made", [_made_at(provenance)]),
    ]


def _best_same_answer(kept: pd.DataFrame) -> tuple[str, float]:
    """Return the answer that is right for most items, and the share of items for which it is."""
    keys = [str(key) for key in kept.drop_duplicates("item_id")["key"]]
    answer, n_items = Counter(sorted(keys)).most_common(1)[0]
    return answer, n_items / len(keys)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return table.to_dict("records")  # type: ignore[return-value]


def _who(exclusions: Exclusions) -> list[dict[str, Any]]:
    """Return a row a subject: how many began, how many are in the analysis, by which way, and when."""
    rows = []
    people, sessions = exclusions.participants, sessions_of(exclusions.trials)
    for kind in KINDS:
        of_kind = people[people["kind"] == kind]
        groups = (
            [(PEOPLE[kind], of_kind)]
            if kind != "model"
            else sorted(of_kind.groupby("run"), key=lambda run: level_order(run[0]))
        )
        for subject, members in groups:
            if members.empty:
                continue
            own = sessions[(sessions["kind"] == kind) & ((kind != "model") | (sessions["unit"] == subject))]
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
    """Return the days of the times in UTC, in order, whatever the offset they are written with (none: UTC)."""
    moments = pd.to_datetime(times.dropna(), utc=True, format="ISO8601", errors="coerce").dropna()
    return [moment.strftime("%Y-%m-%d") for moment in moments.sort_values()]


def _flows(flow: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the flow of each kind with its totals; the rules that do not apply to models are left to the table."""
    flows = []
    for kind in [kind for kind in KINDS if (flow["kind"] == kind).any()]:
        rows = flow[flow["kind"] == kind]
        shown = rows[~((kind == "model") & (rows["criterion"] == "does not apply to models"))]
        totals = {"n_participants": int(rows["n_participants"].sum()), "n_trials": int(rows["n_trials"].sum())}
        unit = "run" if kind == "model" else "participant"
        flows.append({"name": KIND_NAMES[kind], "unit": unit, "rows": _rows(shown), **totals})
    return flows


def _exclusion_rules(flow: pd.DataFrame) -> list[str]:
    """Return the steps of the flow in words, those of people where there are any."""
    kind = next((kind for kind in PEOPLE if (flow["kind"] == kind).any()), "model")
    rows = flow[(flow["kind"] == kind) & (flow["step"] != "included")]
    return [f"{step}: {words}" for step, words in rows[["step", "criterion"]].itertuples(index=False)]
