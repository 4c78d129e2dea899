"""Power of the tests and statistical models of an analysis plan, from simulated responses."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.data.row_filters import add_flags, matching, ordered_levels
from analysis.planned.grouping_warnings import grouping_warnings
from analysis.planned.named_columns import named_columns
from analysis.planned.tests import EQUIVALENCE, MAIN, rows_of_test
from analysis.power.contrasts import paired_contrast
from analysis.power.simulated_responses import Bools, Floats, PlannedTrials
from analysis.power.simulation import NOT_CONVERGED, SINGULAR, Equivalence, Outcome, PowerAnalysis, Run
from analysis.statistics.corrections import benjamini_hochberg, holm
from analysis.statistics.mixed_models.design_matrix import design_columns
from analysis.statistics.mixed_models.fit import MixedModel, fit_mixed_model
from analysis.statistics.mixed_models.formulas import parse_formula
from analysis.statistics.mixed_models.model_frame import model_frame
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedAnalyses, PlannedModel, PlannedTest

OUTCOMES = ("correct", "score")
"""The simulated outcomes. In a simulation, both are 1 for a correct response and 0 for a wrong response."""
SIMULATED_FAMILIES = ("gaussian", "binomial")
"""Families of statistical models that can have an outcome of 0 and 1."""
ABOUT_MODELS = ("subject", "kind", "run", "model", "model_version", "temperature", "prompt_digest")
"""Columns that distinguish people from models, or one model from another."""
Planned = TypeVar("Planned", PlannedTest, PlannedModel)

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


def planned_test_analysis(
    trials: PlannedTrials, plan: PlannedAnalyses, name: str, *, is_equivalence: bool = False
) -> PowerAnalysis:
    """Return the power analysis of the test `name` of a plan, with the plan's correction for several tests.

    Parameters
    ----------
    trials : PlannedTrials
        The trials of the simulated studies.
    plan : PlannedAnalyses
        The plan.
    name : str
        Name of the test.
    is_equivalence : bool
        True for the power of the equivalence test with the test's `equivalence_margin`. False for the test of a
        difference.

    Raises
    ------
    InputError
        If the plan does not have the test, or the test needs data that are not simulated. Also if `is_equivalence` is
        true and the test has no margin.

    Notes
    -----
    The p value is corrected for all tests of the same family, which are run on the same simulated responses. Some
    tests need data that are not simulated; they count as not significant, so the power is then a lower bound. The
    family of an equivalence test has only equivalence tests.

    Examples
    --------
    Two participants are right in all trials of B. In A, one participant is right in half of the trials, and the other
    participant is right in no trial.

    >>> from analysis.power.simulated_responses import planned_trials
    >>> design = pd.DataFrame({"group": 1, "item_id": ["a", "b", "c"], "condition": ["A", "A", "B"]})
    >>> b_against_a = {"test": "t", "of": "correct", "per": "participant", "within": "condition", "levels": ["B", "A"]}
    >>> plan = PlannedAnalyses.model_validate({"tests": {"b_against_a": b_against_a}})
    >>> analysis = planned_test_analysis(planned_trials(design, 2), plan, "b_against_a")
    >>> analysis.run(np.array([1.0, 0, 1, 0, 0, 1]), np.full(6, True)).estimate
    0.75
    """
    planned = _named(plan.tests, name, "test")
    why_not = _why_not(trials, plan, planned)
    if why_not:
        raise InputError(f"the test `{name}` {why_not}")
    if is_equivalence and planned.equivalence_margin is None:
        raise InputError(f"the test `{name}` has no margin. Fix: add `equivalence_margin` to this test in the plan.")
    family = {
        other: test
        for other, test in plan.tests.items()
        if (test.family, test.exploratory) == (planned.family, planned.exploratory)
        and plan.correction != "none"
        and (test.equivalence_margin is not None or not is_equivalence)
    } or {name: planned}
    simulated = {other: test for other, test in family.items() if not _why_not(trials, plan, test)}
    needed = {column for test in simulated.values() for column in named_columns(test)}
    table = _with_flags(trials, plan, needed)
    table = table[[column for column in table.columns if column in needed]]

    n_in_family = sum(test.n_effects for test in family.values())
    form = EQUIVALENCE if is_equivalence else MAIN
    run_it = _test_run(trials, table, plan, name, form)
    others = [_test_run(trials, table, plan, other, form) for other in simulated if other != name]

    def run(correct: Floats, kept: Bools) -> Outcome:
        outcome = run_it(correct, kept)
        p_values = [outcome.p_value, *([1.0] * (n_in_family - len(simulated)))]
        for other_run in others:
            try:
                p_values.append(other_run(correct, kept).p_value)
            except InputError:
                p_values.append(1.0)
        if len(family) == 1:
            return outcome
        return replace(outcome, p_value=float(CORRECTIONS[plan.correction](p_values)[0]))

    notes = []
    if len(family) > 1:
        rest = [f"`{other}`" for other in family if other not in simulated]
        counts = "counts" if len(rest) == 1 else "count"
        unknown = f" {', '.join(rest)} cannot be simulated and {counts} as not significant." if rest else ""
        notes.append(
            f"The p value is corrected for the {n_in_family} tests of its family, as in the plan "
            f"({plan.correction}).{unknown}"
        )
    unit = "correct responses" if planned.summary == "sum" else "accuracy"
    notes += _notes_on_test(table, planned, is_equivalence=is_equivalence)
    equivalence = _equivalence(table, planned, f"the test `{name}`") if is_equivalence else None
    title = f"{'equivalence in ' if is_equivalence else ''}the plan's test `{name}`"
    remedy = "use more items, or show each item at both levels" if is_equivalence else PowerAnalysis.remedy
    if planned.against is None:
        return PowerAnalysis(title, run, unit, tuple(notes), equivalence=equivalence, remedy=remedy)
    value, equal = "chance", "With an accuracy at chance"
    equal_accuracy = trials.table["chance"].to_numpy(dtype="float64")
    if planned.against != "chance":
        value, equal = f"{planned.against:g}", f"With an accuracy of {planned.against:g}"
        equal_accuracy = np.full(len(trials.table), planned.against)
    return PowerAnalysis(
        f"{title} against {value}", run, f"{unit}, minus {value}", tuple(notes), equal, equal_accuracy,
        equivalence=equivalence, remedy=remedy,
    )  # fmt: skip


def _equivalence(table: pd.DataFrame, planned: PlannedTest, what: str) -> Equivalence:
    """Return the equivalence margin of a test as a difference in accuracy, and the trials that the test compares."""
    chosen = matching(table, planned.where, what).to_numpy(dtype=bool)
    first, second, margin = chosen, None, planned.equivalence_margin or 0.0
    if planned.factor:
        levels = ordered_levels(table[chosen], planned.factor, planned.levels, what)
        if len(levels) != 2:
            raise InputError(
                f"{what} has {len(levels)} levels of `{planned.factor}`. Fix: name two levels in `levels`."
            )
        first, second = (
            chosen & table[planned.factor].eq(level).fillna(False).to_numpy(dtype=bool) for level in levels
        )
    if planned.summary == "sum":
        parts = [first] if second is None else [first, second]
        n_rows = {n for part in parts for n in table[part].groupby(planned.per).size()}
        if len(n_rows) != 1:
            raise InputError(
                f"{what} compares sums, but the units have {min(n_rows)} to {max(n_rows)} trials at a level. Fix: set "
                "`summary: mean` in this test."
            )
        margin /= n_rows.pop()
    return Equivalence(margin, first, second)


def _test_run(trials: PlannedTrials, table: pd.DataFrame, plan: PlannedAnalyses, name: str, form: str) -> Run:
    """Return the function that runs one test, without correction for several tests.

    Paired t tests of participants use a faster computation.
    """
    planned = plan.tests[name]
    what = f"the test `{name}`"
    chosen = matching(table, planned.where, what)
    levels = ordered_levels(table[chosen], planned.factor, planned.levels, what) if planned.factor else []
    if planned.test in {"t", "welch_t"} and planned.within and planned.per == "participant" and len(levels) == 2:
        first, second = (
            (chosen & table[planned.factor].eq(level).fillna(False)).to_numpy(dtype=bool) for level in levels
        )
        margin = planned.equivalence_margin if form == EQUIVALENCE else None
        return paired_contrast(
            trials,
            first - second.astype(float),
            second.astype(np.intp),
            2,
            sums=planned.summary == "sum",
            margin=margin,
        )[0]

    def run(correct: Floats, kept: Bools) -> Outcome:
        rows = rows_of_test(_answered(table, correct, kept), name, planned, plan)
        found = next(row for row in rows if row["form"] == form)
        return Outcome(found["p_value"], found["estimate"])

    return run


def _notes_on_test(table: pd.DataFrame, planned: PlannedTest, *, is_equivalence: bool) -> list[str]:
    notes = []
    if planned.equivalence_margin is not None and not is_equivalence:
        notes.append(
            "This is the power of the test of a difference. For the power of the equivalence test, use --equivalence."
        )
    for factor in planned.between_factors if planned.per is not None else ():
        levels = table.groupby(planned.per, observed=True)[factor].nunique()
        if (levels > 1).any():
            notes.append(
                f"The test compares levels of `{factor}` between units, but the same units have several of these "
                "levels. Fix: write `within` instead of `between` in the plan of this test."
            )
    return notes


def planned_model_analysis(
    trials: PlannedTrials, plan: PlannedAnalyses, name: str, term: str | None = None
) -> PowerAnalysis:
    """Return the power analysis of a term in the model `name` of a plan.

    Parameters
    ----------
    trials : PlannedTrials
        The trials of the simulated studies.
    plan : PlannedAnalyses
        The plan.
    name : str
        Name of the model.
    term : str, optional
        A term of the formula, such as `condition:level`, or a coefficient, such as `conditionB`. The p value of a term
        is that of the model's table `anova`. The p value of a coefficient is that of the table `coefficients`. `term`
        may be omitted if the formula has only one term.

    Raises
    ------
    InputError
        If the plan does not have the model, the model does not have the term, or the model needs data that are not
        simulated.

    Examples
    --------
    One of four responses to A and two of four responses to B are right.

    >>> from analysis.power.simulated_responses import planned_trials
    >>> design = pd.DataFrame({"group": 1, "item_id": ["a", "b"], "condition": ["A", "B"]})
    >>> plan = PlannedAnalyses.model_validate({"models": {"line": {"formula": "correct ~ condition"}}})
    >>> analysis = planned_model_analysis(planned_trials(design, 4), plan, "line")
    >>> round(analysis.run(np.array([1.0, 0, 0, 0, 0, 1, 0, 1]), np.full(8, True)).estimate, 6)
    0.25
    """
    planned = _named(plan.models, name, "model")
    what = f"the model `{name}`"
    formula = parse_formula(planned.formula)
    why_not = _why_not(trials, plan, planned)
    if why_not:
        raise InputError(f"{what} {why_not}")
    table = _with_flags(trials, plan, {*named_columns(planned)})
    chosen = matching(table, planned.where, what).to_numpy(dtype=bool)
    ungrouped = grouping_warnings(table[chosen], planned.formula)
    needed = [column for column in dict.fromkeys((*formula.columns, *planned.reference)) if column not in OUTCOMES]
    table = table[needed]
    try:
        # The structure of the model does not depend on the responses.
        any_responses: Floats = np.arange(len(table), dtype=np.float64) % 2
        frame = model_frame(_answered(table, any_responses, chosen), formula, planned.family, planned.reference)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    columns = design_columns(formula.intercept, formula.terms, frame.n_levels)
    wanted = _term(term, [":".join(one) for one in formula.terms], [one.name(frame.levels) for one in columns], what)

    is_in_interaction = any(set(wanted.split(":")) < set(one) for one in formula.terms)

    def run(correct: Floats, kept: Bools) -> Outcome:
        model = fit_mixed_model(
            _answered(table, correct, kept & chosen),
            planned.formula,
            family=planned.family,
            reference=planned.reference,
            term_tests=planned.term_tests,
        )
        converged, singular = bool(model.fit["converged"][0]), bool(model.fit["singular"][0])
        flaw = NOT_CONVERGED if not converged else SINGULAR if singular else None
        p_value, estimate = _test_of(model, wanted)
        if is_in_interaction and planned.term_tests == "joint":
            # The coefficient is the effect at reference levels, which is not the tested effect.
            estimate = None
        return Outcome(p_value, estimate, flaw)

    notes = [*ungrouped]
    if planned.who == "everyone":
        notes.append(
            "The plan fits this statistical model to people and language models together, but this power is for "
            "people's trials alone."
        )
    if is_in_interaction and planned.term_tests == "treatment":
        notes.append(
            f"`{wanted}` is part of an interaction, so it is tested at the reference levels of the other factors, and "
            "where covariates are 0."
        )
    return PowerAnalysis(
        f"`{wanted}` in the plan's model `{name}`", run,
        "log-odds" if planned.family == "binomial" else "accuracy", tuple(notes),
    )  # fmt: skip


def _test_of(model: MixedModel, wanted: str) -> tuple[float, float | None]:
    """Return the p value of a term or coefficient, and the estimate if the term has only one coefficient."""
    coefficients, terms = model.coefficients, model.anova.set_index("term")
    if wanted in terms.index:
        kept = [column for column, retained in zip(model.columns, model.retained, strict=True) if retained]
        places = [place for place, column in enumerate(kept) if ":".join(column.term) == wanted]
        single = len(places) == 1
        return float(terms["p_value"][wanted]), float(coefficients["estimate"].iloc[places[0]]) if single else None
    row = coefficients[coefficients["term"] == wanted]
    if row.empty:
        raise InputError(f"`{wanted}` cannot be estimated from these responses. Fix: plan a simpler model.")
    return float(row["p_value"].iloc[0]), float(row["estimate"].iloc[0])


def _term(asked: str | None, terms: list[str], coefficients: list[str], what: str) -> str:
    if asked is None:
        if len(terms) != 1:
            raise InputError(
                f"it is not stated which term of {what} is tested. Fix: choose one of its terms "
                f"({', '.join(terms) or 'none'})."
            )
        return terms[0]
    same = [term for term in terms if sorted(term.split(":")) == sorted(asked.split(":"))]
    if not same and asked not in coefficients:
        raise InputError(
            f"{what} has no term `{asked}`. Fix: choose one of its terms ({', '.join(terms) or 'none'}) or "
            f"coefficients ({', '.join(coefficients)})."
        )
    return same[0] if same else asked


def _named(there: Mapping[str, Planned], name: str, kind: str) -> Planned:
    if name not in there:
        known = f"choose one of its {kind}s ({', '.join(there)})" if there else f"add a {kind} to the plan"
        raise InputError(f"the plan has no {kind} `{name}`. Fix: {known}.")
    return there[name]


def _why_not(trials: PlannedTrials, plan: PlannedAnalyses, planned: PlannedTest | PlannedModel) -> str | None:
    """Return the reason why a test or model cannot be run on simulated responses, as the end of an error message.

    Return None if it can be run.
    """
    if isinstance(planned, PlannedModel):
        formula = parse_formula(planned.formula)
        outcome, compared = formula.outcome, set(formula.columns)
        if formula.log_outcome or planned.family not in SIMULATED_FAMILIES:
            return (
                "is a model of response times or of ratings, but only `correct` is simulated, which is 0 or 1. Fix: "
                "choose a linear or logistic model of `correct`."
            )
    else:
        outcome, compared = planned.of, {*planned.factors}
        if len(planned.factors) > 1:
            return (
                "is an analysis of variance with several factors, which has one p value for each effect. Fix: choose a "
                "test with one factor, or a model and its term."
            )
        if isinstance(planned.against, float) and (planned.summary == "sum" or not 0 < planned.against < 1):
            return (
                f"compares the {planned.summary} of `{outcome}` with {planned.against:g}, but only a comparison of "
                "a mean with a number between 0 and 1 can be simulated. Fix: choose another test."
            )
    columns = named_columns(planned)
    if planned.who == "models" or compared & set(ABOUT_MODELS):
        return (
            "uses runs of models, but only people's responses are simulated. Fix: choose an analysis of people alone."
        )
    if outcome not in OUTCOMES:
        return f"uses `{outcome}`, but only `correct` is simulated. Fix: choose an analysis of `correct`."
    flags = {column for column in columns if column in plan.flags}
    named = {*columns, *(column for flag in flags for column in plan.flags[flag])} - flags
    unknown = sorted(named - {*trials.table.columns, *OUTCOMES, "kind", "subject"})
    if unknown:
        return (
            f"needs `{'`, `'.join(unknown)}`, but only participants, items, factors of items and `correct` are "
            "simulated. Fix: choose an analysis that needs no other data."
        )
    return None


def _with_flags(trials: PlannedTrials, plan: PlannedAnalyses, columns: Iterable[str]) -> pd.DataFrame:
    """Return the trials as rows of people without responses. Add the flags of the plan that are in `columns`."""
    table = trials.table.assign(kind="human", subject="people")
    return add_flags(table, {flag: plan.flags[flag] for flag in plan.flags if flag in set(columns)})


def _answered(table: pd.DataFrame, correct: Floats, kept: Bools) -> pd.DataFrame:
    return table[kept].assign(correct=correct[kept], score=correct[kept])
