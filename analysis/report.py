"""The report: one HTML page with everything in it, which asks nothing of the network."""

from collections import Counter
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from analysis.columns import KINDS, PEOPLE, level_order
from analysis.exclusions import Exclusions
from analysis.provenance import Provenance
from analysis.svg import inline
from analysis.wording import (
    accuracy_sentence,
    count,
    difference_sentence,
    interval,
    level_words,
    percent,
    points,
    rule_sentences,
)

KIND_NAMES = {"human": "People", "simulated": "Simulated participants", "model": "Models"}


def render_report(
    title: str,
    *,
    exclusions: Exclusions,
    tables: dict[str, pd.DataFrame],
    by_factor: dict[str, pd.DataFrame],
    figures: dict[str, str],
    figure_of: dict[str, str],
    notes: list[str],
    provenance: Provenance,
) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    title : str
        Title of the study.
    exclusions : Exclusions
        As `apply_exclusions` gives them.
    tables : dict of DataFrame
        By the names of their files.
    by_factor : dict of DataFrame
        The accuracy table of each factor of the plan.
    figures : dict of str
        SVG by the names of their files.
    figure_of : dict of str
        The name of each factor's figure; it may not have been drawn.
    notes : list of str
        What a reader should know.
    provenance : Provenance
        Where the numbers come from.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "level": level_words, "points": points}
    environment.globals |= {"count": count, "interval": interval}
    plan, trials = provenance.plan, exclusions.trials
    kept = trials[trials["excluded_by"].isna()]
    overall, gaps = _rows(tables["accuracy_overall"]), _rows(tables["differences_overall"])
    same_answer, same_answer_correct = _best_same_answer(kept)
    return environment.get_template("report_template.html").render(
        title=title,
        provenance=provenance,
        made_at=provenance.made_at[:16].replace("T", " ") + " UTC",
        plan=plan,
        notes=notes,
        only_simulated=not (trials["kind"] == "human").any(),
        has_simulated=bool((trials["kind"] == "simulated").any()),
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
        overall=overall,
        overall_sentences=[accuracy_sentence(row, plan) for row in overall],
        gaps=gaps,
        gap_sentences=[difference_sentence(row, plan) for row in gaps],
        cell_gaps=_rows(tables["differences"]) if plan.by else [],
        cells=[
            {"factor": factor, "rows": _rows(table), "figure": _figure(figures, figure_of[factor])}
            for factor, table in by_factor.items()
        ],
        accuracy_figure=_figure(figures, "accuracy"),
        rt_figure=_figure(figures, "response_times"),
        stored=_rows(tables["stored_scoring"]),
        regraded=_rows(tables["regraded"]),
        rules=rule_sentences(plan),
        exclusion_rules=_exclusion_rules(exclusions.flow),
    )  # fmt: skip


def _best_same_answer(kept: pd.DataFrame) -> tuple[str, float]:
    """Return the answer that is right for most items, and the share of items for which it is."""
    keys = [str(key) for key in kept.drop_duplicates("item_id")["key"]]
    answer, n_items = Counter(sorted(keys)).most_common(1)[0]
    return answer, n_items / len(keys)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return table.to_dict("records")  # type: ignore[return-value]


def _figure(figures: dict[str, str], name: str) -> Markup | None:
    """Return a figure as markup; `svg.as_svg` and matplotlib escape every text in it."""
    return Markup(inline(figures[name])) if name in figures else None  # noqa: S704


def _who(exclusions: Exclusions) -> list[dict[str, Any]]:
    """Return a row a subject: how many began, how many are in the analysis, by which way, and when."""
    rows = []
    people = exclusions.participants
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
            days = _days(members["started_at"])
            rows.append(
                {
                    "kind": kind,
                    "subject": subject,
                    "version": ", ".join(sorted(members["model_version"].dropna().unique())),
                    "source": ", ".join(sorted(members["source"].unique())),
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
