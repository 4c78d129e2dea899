"""The report of a study: one self-contained HTML page, which needs no network."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.data.subjects import models_of_subjects, names_of_models, programs_among, without_temperature
from analysis.measures.accuracy import FactorAccuracy, graded_trials, kept_trials
from analysis.measures.confusion import confusion_matrix
from analysis.measures.demands import DEMAND, has_demand
from analysis.measures.study_measures import TITLES
from analysis.planned.sensitivity import overlap_sentences
from analysis.planned.study_rows import plan_for
from analysis.preregistration.deviations import Registration
from analysis.provenance.record import Provenance
from analysis.report.coding_section import coding_section
from analysis.report.computation import rule_sentences
from analysis.report.formatting import minute, records, shown
from analysis.report.html import environment, with_markup
from analysis.report.measure_notes import measure_note
from analysis.report.methods_section import methods_of_study
from analysis.report.participants_section import exclusion_rules, participants_section
from analysis.report.planned_section import planned_section
from analysis.report.planned_sentences import with_symbols
from analysis.report.responses_section import NO_ACCURACY, responses_section, ungraded_words
from analysis.report.summary import study_summary
from analysis.result import Analysis
from analysis.sentences import (
    chance_sentence,
    comparison_sentence,
    demands_sentence,
    difference_sentence,
    groups_sentence,
    level_words,
    percent,
    programs_words,
    run_sentence,
    simulated_words,
)
from analysis.statistics.factor_levels import level_order
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.answer_coding import CODED_AS
from experiment.study.planned_analyses import PlannedComparison

NOT_SHOWN_OF_MODELS = ["model", "model_version", "n_items", "n_trials", "ci_low", "ci_high", "n_items_repeated",
                       "lowest_accuracy_of_a_run", "highest_accuracy_of_a_run"]  # fmt: skip
"""Columns that the report omits from the table of models, so that the table fits the page. The CSV file has all."""

OF_ACCURACY = ["accuracy", "sd_between_runs", "sd_between_runs_by_chance", "p_between_runs"]
IF_INVALID = ["accuracy_if_wrong", "accuracy_if_left_out", "accuracy_if_chance"]
"""Columns of the tables of models and of invalid responses that are empty if no item has a right answer."""

ONLY_IF_ANY = ["n_items_only_model", "n_items_only_people", "n_items_left_out", "n_pairs_few_items", "exploratory"]
"""Columns that the report shows only if a row has a value other than 0: counts of what a comparison leaves out, and
the mark of exploratory tests.
"""

NOT_OF_RULES = ["chance", "chance_corrected", "chance_corrected_ci_low", "chance_corrected_ci_high", "accuracy_ratio",
                "accuracy_ratio_ci_low", "accuracy_ratio_ci_high", "normalized_accuracy", "normalized_accuracy_ci_low",
                "normalized_accuracy_ci_high"]  # fmt: skip
"""Columns that the report omits from the tables of the sensitivity to each rule, because other columns show it."""

PLANNED_MEASURES = ("difficulty", "difficulty_trends")
"""Tables that the plan requests, in addition to those of signals. The report marks other measures as not in the plan.
"""

SIGNAL = "signal_"
"""Beginning of the name of a table of a signal of the plan."""

MOST_GAP_SENTENCES = 4
"""Largest number of differences that are written as sentences. If there are more, they are only in the figure and the
table.
"""


def render_report(title: str, analysis: Analysis, by_factor: list[FactorAccuracy]) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    title : str
        Title of the study.
    analysis : Analysis
        The results.
    by_factor : list of FactorAccuracy
        The accuracy by each factor of the plan. A factor with too many levels has no figure.
    """
    exclusions, provenance, plan = analysis.exclusions, analysis.provenance, analysis.provenance.plan
    figures = {name: with_markup(drawing) for name, drawing in analysis.figures.items()}
    measures = _measures(analysis.tables, plan, analysis.registration)
    of_factors = [
        {"factor": one.factor, "rows": records(one.table), "figure": figures.get(one.name)} for one in by_factor
    ]
    return (
        environment()
        .get_template("study_report.html")
        .render(
            title=title,
            provenance=provenance,
            made_at=minute(provenance.made_at),
            plan=plan,
            notes=analysis.notes,
            registration=analysis.registration,
            has_unplanned=bool((exclusions.trials["kind"] == "model").any())
            or not all(measure["is_planned"] for measure in measures["measures"]),
            differences_mark=_differences_mark(plan),
            figures=figures,
            models_of_subjects=models_of_subjects(analysis.tables["models"]),
            factors=_levels(exclusions.trials, by_factor),
            cells=of_factors,
            responses=responses_section(exclusions.trials, plan, analysis.tables, figures),
            coding=coding_section(analysis.coding, plan.confidence),
            planned=planned_section(
                analysis.planned, plan_for(exclusions.trials, plan), analysis.figures_of_plan, analysis.registration
            ),
            summary=study_summary(
                analysis.tables,
                int(analysis.tables["models"]["model"].nunique()),
                _chance_sentence(exclusions.trials) or NO_ACCURACY,
                analysis.planned,
                plan,
                analysis.registration,
            ),
            methods=methods_of_study(
                exclusions,
                plan,
                analysis.planned,
                analysis.tables,
                provenance.software_version,
                analysis.registration,
                analysis.coding,
            ),
            rules=rule_sentences(plan, [PEOPLE[kind] for kind in PEOPLE if (exclusions.trials["kind"] == kind).any()])
            if len(analysis.tables["accuracy_overall"])
            else [],
            provenance_rows=_provenance_rows(provenance, exclusions.flow),
            **_kinds(exclusions.trials),
            **_items(exclusions.trials),
            **participants_section(exclusions, analysis.tables),
            **_accuracy(analysis.tables, plan),
            groups=_groups(analysis.tables, plan),
            demands=_demands(exclusions.trials, analysis.tables, plan),
            **_models(analysis.tables, plan),
            **measures,
        )
    )


def _levels(trials: pd.DataFrame, by_factor: list[FactorAccuracy]) -> list[tuple[str, list[str]]]:
    """Return the levels of each factor: those of graded items, then those that only ungraded items have."""
    levels = []
    for one in by_factor:
        others = sorted(kept_trials(trials, [one.factor])[one.factor].drop_duplicates().tolist(), key=level_order)
        words = map(level_words, [*one.table[one.factor].drop_duplicates(), *others])
        levels.append((one.factor, list(dict.fromkeys(words))))
    return levels


def _kinds(trials: pd.DataFrame) -> dict[str, Any]:
    """Return the kinds of participants in the data: people, simulated participants, models."""
    has_people = bool((trials["kind"] == "human").any())
    simulated = trials["kind"] == "simulated"
    return {
        "only_simulated": not has_people,
        "has_simulated": bool(simulated.any()),
        "simulated_words": simulated_words(set(trials.loc[simulated, "source"]), has_people=has_people),
        "has_models": bool((trials["kind"] == "model").any()),
        **_programs(trials),
    }


def _programs(trials: pd.DataFrame) -> dict[str, Any]:
    """Return a note on the models that are programs, not language models."""
    models = names_of_models(trials)
    programs = programs_among(models)
    return {
        "programs_words": programs_words(programs),
        "has_baselines": "baseline" in programs,
        "all_programs": sum(map(len, programs.values())) == len(models),
    }


def _items(trials: pd.DataFrame) -> dict[str, Any]:
    """Return the tasks and the numbers of items."""
    test = trials[trials["phase"] == "test"]
    return {
        "tasks": sorted(test["task"].unique()),
        "n_items": int(trials.loc[trials["excluded_by"].isna(), "item_id"].nunique()),
        "n_planned_items": int(test["item_id"].nunique()),
    }


def _accuracy(tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> dict[str, Any]:
    """Return the accuracies, and the differences between people and models, with a sentence for each overall number."""
    overall, gaps = records(tables["accuracy_overall"]), records(tables["differences_overall"])
    return {
        "overall": overall,
        "gaps": gaps,
        "gap_sentences": [difference_sentence(row, plan) for row in gaps] if len(gaps) <= MOST_GAP_SENTENCES else [],
        "cell_gaps": records(tables["differences"]) if plan.by else [],
        "stored": records(tables["stored_scoring"]),
        "regraded": records(tables["regraded"]),
    }


def _groups(tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> dict[str, Any] | None:
    """Return the accuracy of people and of models as two groups, with a sentence for each kind of people."""
    if "people_and_models" not in tables:
        return None
    return {
        "sentences": [groups_sentence(row, plan) for row in records(tables["people_and_models_overall"])],
        "table": shown(
            _for_page(tables["people_and_models"], ["n_models", "n_items_left_out"]), plan.confidence, of_study=True
        ),
        "n_items_left_out": int(tables["people_and_models_overall"]["n_items_left_out"].max()),
    }


def _demands(trials: pd.DataFrame, tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> dict[str, Any] | None:
    """Return the tables of accuracy by demand, with a sentence on the numbers of items."""
    if "demands" not in tables:
        return None
    items = graded_trials(trials, ["item_id", *plan.demands]).drop_duplicates("item_id")
    n_items = {demand: int(has_demand(items[demand]).sum()) for demand in tables["demands"][DEMAND].drop_duplicates()}
    return {
        "sentence": demands_sentence(n_items),
        "tables": [
            (name, shown(_with_runs(table, plan.by), plan.confidence, of_study=True))
            for name, table in tables.items()
            if name == "demands" or name.startswith("demands_by_")
        ],
    }


def _with_runs(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return a table of accuracies with headings and levels for the report."""
    levels = {factor: table[factor].map(level_words) for factor in by if factor in table}
    names = {"n_participants": "participants_or_runs"} if (table["kind"] == "model").any() else {}
    return table.assign(**levels).drop(columns="kind").rename(columns=names)


def _models(tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> dict[str, Any]:
    """Return the table of models under each condition, and the table of invalid responses."""
    models, invalid = tables["models"], tables["invalid"]
    no_accuracy = [name for name in OF_ACCURACY if models[name].isna().all() and models["accuracy"].isna().all()]
    with_temperature = models.loc[models["temperature"].notna(), "subject"]
    are_named = all(without_temperature(subject) != subject for subject in with_temperature)
    repeated = records(models[models["sd_between_runs"].notna()])
    has_invalid = bool((invalid["n_unanswered"] + invalid["n_invalid"]).sum())
    return {
        "models": shown(
            models.drop(columns=[*NOT_SHOWN_OF_MODELS, *no_accuracy, *(["temperature"] if are_named else [])]),
            plan.confidence,
            of_study=True,
            units={"sd_between_runs": "size", "sd_between_runs_by_chance": "size"},
        ),
        "is_repeated": bool(models["consistency"].notna().any()),
        "run_sentences": [run_sentence(row, plan) for row in repeated] if len(repeated) <= MOST_GAP_SENTENCES else [],
        "invalid": shown(
            invalid.drop(columns=["model", *(IF_INVALID if invalid["accuracy_if_wrong"].isna().all() else [])]),
            of_study=True,
        )
        if has_invalid
        else None,
    }


def _differences_mark(plan: AnalysisPlan) -> str:
    """Return the status of the overall differences: a comparison of the plan without factors requests them too."""
    same = [compared.exploratory for compared in plan.comparisons.values() if not compared.by]
    if not same:
        return "not in the plan"
    return "exploratory" if all(same) else "planned"


def _is_exploratory(name: str, plan: AnalysisPlan, registration: Registration) -> bool:
    """Return True for a measure that the plan requests, but only as exploratory or since a change of the plan."""
    if name in PLANNED_MEASURES:
        return "difficulty" in registration.changed_settings
    signal = plan.signals.get(name.removeprefix(SIGNAL))
    return name.startswith(SIGNAL) and signal is not None and signal.exploratory


def _measures(tables: dict[str, pd.DataFrame], plan: AnalysisPlan, registration: Registration) -> dict[str, Any]:
    """Return the sensitivity to exclusions, the measures beyond accuracy, and the comparisons of the plan."""
    return {
        "sensitivities": [
            (
                SENSITIVITIES[name],
                name,
                shown(with_symbols(_for_page(table, NOT_OF_RULES)), plan.confidence, of_study=True),
            )
            for name, table in tables.items()
            if name in SENSITIVITIES and len(table)
        ],
        "overlaps": overlap_sentences(tables["sensitivity_rules"]) if "sensitivity_rules" in tables else [],
        "measures": [
            {
                "title": TITLES.get(name, name.replace("_", " ", 1)),
                "name": name,
                "is_planned": name in PLANNED_MEASURES or name.startswith(SIGNAL),
                "is_exploratory": _is_exploratory(name, plan, registration),
                "table": shown(
                    confusion_matrix(table) if name == "confusion" else _for_page(table),
                    plan.confidence,
                    of_study=True,
                ),
                "explanation": measure_note(name, table, plan),
            }
            for name, table in tables.items()
            if name in TITLES or name.startswith(SIGNAL)
        ],
        "comparisons": [
            _comparison(name, compared, tables[f"comparison_{name}"], plan)
            for name, compared in plan.comparisons.items()
            if f"comparison_{name}" in tables
        ],
    }


def _for_page(table: pd.DataFrame, without: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table without the columns that would say nothing in the report. The CSV file has all columns.

    The names of subjects show their kind. If the data have one kind of participants, their column is the same in every
    row. The columns `ONLY_IF_ANY` are shown only if they have such a value.
    """
    dropped = [*without]
    if not {"subject", "people"}.isdisjoint(table.columns):
        dropped.append("kind")
    if "people" in table and len(table.columns) > 2 and table["people"].nunique() == 1:
        dropped.append("people")
    dropped += [name for name in ONLY_IF_ANY if name in table and not table[name].fillna(0).any()]
    return table.drop(columns=dropped, errors="ignore")


def _comparison(name: str, planned: PlannedComparison, table: pd.DataFrame, plan: AnalysisPlan) -> dict[str, Any]:
    """Return the results of a comparison in the plan. If the comparison has no factors, add one sentence per model."""
    rows = records(table)
    return {
        "name": name,
        "exploratory": planned.exploratory,
        "sentences": [comparison_sentence(row, planned, plan) for row in rows] if not planned.by else [],
        "table": shown(
            table.drop(columns=["kind"]), plan.confidence, of_study=True, units={"equivalence_margin": "size"}
        ),
    }


SENSITIVITIES = {
    "sensitivity_accuracy": "Accuracy",
    "sensitivity_rules": "Trials that each rule excludes",
    "sensitivity_differences": "Differences from models",
    "sensitivity_tests": "Tests",
    "sensitivity_models": "Coefficients of statistical models",
}


def _provenance_rows(provenance: Provenance, flow: pd.DataFrame) -> list[tuple[str, list[str]]]:
    plan = provenance.plan
    return [
        ("Study", provenance.studies),
        ("Battery (SHA-256 of its canonical form)", provenance.batteries),
        ("Data (SHA-256)", [provenance.data_digest]),
        *(
            [("Codes of answers (SHA-256)", [f"{name}: {one}" for name, one in provenance.codes.items()])]
            if provenance.codes
            else []
        ),
        ("Exclusion steps, in order", exclusion_rules(flow)),
        ("Factors", list(plan.by) or ["none"]),
        ("Confidence intervals", [percent(plan.confidence, 0)]),
        (
            "Random numbers",
            [
                f"seed {plan.seed} (random halves of participants for the reliability; random permutations "
                "of tests, if the plan has such tests)"
            ],
        ),
        ("Software", [f"Equipoise {provenance.software_version}"]),
        ("Made", [minute(provenance.made_at)]),
    ]


def _chance_sentence(trials: pd.DataFrame) -> str:
    """Return the sentence on random responses, and on the responses that are correct for the most items.

    If some items are ungraded, a second sentence says so. Without a graded item, the text is empty.
    """
    is_coded = trials[CODED_AS].notna() if CODED_AS in trials else pd.Series(data=False, index=trials.index)
    kept = graded_trials(trials[~is_coded], ["item_id", "key", "chance"])
    if kept.empty:
        return "The chance level of open answers is 0." if len(graded_trials(trials, ["item_id"])) else ""
    n_items_of = Counter(str(key) for key in kept.drop_duplicates("item_id")["key"])
    most, n_items = max(n_items_of.values()), n_items_of.total()
    best = sorted((key for key, n in n_items_of.items() if n == most), key=level_order)
    sentence = chance_sentence(float(kept["chance"].mean()), best, most / n_items, n_items)
    return f"{sentence} {ungraded_words(trials)}".strip()
