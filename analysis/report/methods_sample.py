"""Sentences of the methods section on participants, model runs, items and exclusions."""

import pandas as pd

from analysis.data.columns import PEOPLE, is_graded, sessions_of
from analysis.data.subjects import names_of_models, programs_among
from analysis.exclusions.flow import INCLUDED, Exclusions
from analysis.sentences import count, programs_words, source_words
from analysis.statistics.factor_levels import level_order
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan


def participants_sentences(exclusions: Exclusions) -> list[str]:
    """Return sentences on the participants and the model runs: their numbers, sources, groups and test items."""
    people, sessions, sentences = exclusions.participants, sessions_of(exclusions.trials), []
    for kind, name in PEOPLE.items():
        own, sessions_of_kind = people[people["kind"] == kind], sessions[sessions["kind"] == kind]
        if own.empty:
            continue
        n_included = int((own["disposition"] == "included").sum())
        sources = " and ".join(source_words(kind, source) for source in sorted(sessions_of_kind["source"].unique()))
        n_sessions = len(sessions_of_kind)
        started = f"started {count(n_sessions, 'session')}" if n_sessions > len(own) else "started"
        sentences.append(
            f"{count(len(own), 'participant')} ({name}, source: {sources}) {started} in "
            f"{count(sessions_of_kind['group'].nunique(), 'counterbalance group')}. The analysis includes "
            f"{count(n_included, 'participant')} with {count(int(own['n_included'].sum()), 'test trial')}."
        )
    runs = people[people["kind"] == "model"]
    if len(runs):
        n_runs_of = runs.groupby("subject").size()
        names = [f"{subject} ({count(n, 'run')})" if n > 1 else str(subject) for subject, n in n_runs_of.items()]
        test = exclusions.trials.loc[exclusions.trials["phase"] == "test", ["kind", "participant", "item_id"]]
        n_items = test[test["kind"] == "model"].groupby("participant")["item_id"].nunique()
        was = "was asked" if len(runs) == 1 else "were asked"
        each = "" if len(runs) == 1 else " each"
        sentences.append(
            f"{count(len(runs), 'model run')} {was} {_range(n_items)} test items{each}: "
            f"{'; '.join(sorted(names, key=level_order))}."
        )
        sentences += [words] if (words := programs_words(programs_among(names_of_models(exclusions.trials)))) else []
    return sentences


def items_sentences(trials: pd.DataFrame, plan: AnalysisPlan) -> list[str]:
    """Return sentences on the test items, their factors, and the number of trials in a session."""
    test = trials[trials["phase"] == "test"]
    tasks = ", ".join(sorted(test["task"].unique()))
    sentences = [f"The study has {count(test['item_id'].nunique(), 'test item')} (task: {tasks})."]
    graded = is_graded(test)
    n_ungraded = test["item_id"].nunique() - test.loc[graded, "item_id"].nunique()
    if n_ungraded:
        which = f"{n_ungraded:,} of them" if graded.any() else "All of them"
        sentences.append(f"{which} are ungraded: no response to them is right or wrong.")
    of_people = test[test["kind"].isin(list(PEOPLE))]
    if len(of_people):
        n_trials = of_people.groupby("session").size()
        sentences.append(f"A session of a participant has {_range(n_trials)} test trials.")
    if plan.by:
        for what, are_of_runs in (("factors of the items", False), ("settings of models' runs", True)):
            factors = [factor for factor in plan.by if factor in test and (factor in OF_RUNS) == are_of_runs]
            levels = [f"{factor} ({count(test[factor].nunique(), 'level')})" for factor in factors]
            measured = "Accuracy was" if graded.any() else "Results were"
            sentences += [f"{measured} computed by these {what}: {', '.join(levels)}."] if levels else []
    return sentences


def _range(numbers: pd.Series) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"


def exclusions_sentences(exclusions: Exclusions, plan: AnalysisPlan) -> list[str]:
    """Return sentences with each step of the exclusions, separately for people and for simulated participants."""
    sentences = [] if plan.exclusions else ["The plan has no exclusion rules."]
    for kind, name in PEOPLE.items():
        flow = exclusions.flow[(exclusions.flow["kind"] == kind) & (exclusions.flow["step"] != INCLUDED)]
        if flow.empty:
            continue
        steps = [
            f"{row['criterion']} ({count(int(row['n_participants']), 'participant')}, "
            f"{count(int(row['n_trials']), 'trial')})"
            for row in flow.to_dict("records")
        ]
        sentences.append(f"Trials of {name} were excluded in this order: {'; '.join(steps)}.")
    if (exclusions.trials["kind"] == "model").any():
        flow = exclusions.flow[(exclusions.flow["kind"] == "model") & (exclusions.flow["step"] != INCLUDED)]
        left_out = [
            f"{row['criterion']} ({count(int(row['n_participants']), 'run')}, {count(int(row['n_trials']), 'trial')})"
            for row in flow.to_dict("records")
            if row["n_trials"]
        ]
        sentences.append("No exclusion rule was applied to models.")
        if left_out:
            sentences.append(f"Trials of models were left out for these reasons: {'; '.join(left_out)}.")
    return sentences
