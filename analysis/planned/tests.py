"""The hypothesis tests of a plan.

If a planned test ignores that the same participants have values at several levels, the paired test is added.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.row_filters import chosen_rows, require_columns, where_words
from analysis.planned.factorial_tests import factorial_test
from analysis.planned.grouping_warnings import dependence_warnings
from analysis.planned.named_columns import named_columns
from analysis.planned.run_groups import run_unit_warnings, who_of
from analysis.planned.unit_values import (
    AGAINST,
    ALL_MISSING,
    ONE_ANSWER,
    VALUE,
    incomplete_units_note,
    rows_with_levels,
    unit_values,
)
from analysis.planned.units_of_tests import unit_of_estimate, unit_of_n
from analysis.statistics.anova import one_way_anova, repeated_measures_anova
from analysis.statistics.bayes_factors import bayes_factor_t
from analysis.statistics.corrections import benjamini_hochberg, holm
from analysis.statistics.count_tests import chi_square, cochran_q, mcnemar
from analysis.statistics.equivalence import equivalence_of_difference, equivalence_t
from analysis.statistics.factor_levels import level_text
from analysis.statistics.factorial_anova import Effect
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.permutation_tests import permutation_of_groups, permutation_of_signs
from analysis.statistics.rank_tests import mann_whitney, wilcoxon_signed_rank
from analysis.statistics.t_tests import difference_from, independent_t, one_sample_t, paired_t
from batteries.errors import InputError, collect_input_error, input_error_about
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTest

MAIN, PAIRED, EQUIVALENCE = "main test", "paired form", "equivalence"

COLUMNS = ["name", "form", "test", "of", "factor", "levels", "against", "where", "n", "n_unit", "statistic_name",
           "statistic", "df", "df_error", "p_value", "p_holm", "p_bh", "estimate", "ci_low", "ci_high", "estimate_unit",
           "effect_name", "effect", "effect_ci_low", "effect_ci_high", "generalized_eta_squared",
           "partial_omega_squared", "cohens_f", "bayes_factor_10", "family", "n_family", "exploratory", "who",
           "warnings"]  # fmt: skip

NUMBERS = ["statistic", "df", "df_error", "p_value", "estimate", "ci_low", "ci_high", "effect", "effect_ci_low",
           "effect_ci_high", "generalized_eta_squared", "partial_omega_squared", "cohens_f",
           "bayes_factor_10"]  # fmt: skip


@dataclass(frozen=True)
class _Values:
    """The values that a test compares, and warnings about them."""

    of_units: pd.DataFrame
    """One row per unit and one column per level. A cell is missing if the unit has no value at the level."""
    warnings: tuple[str, ...]
    n_without: int = 0
    """Number of further units that have no value at any of the levels."""

    @property
    def n_in_several(self) -> int:
        """Number of units (such as participants) that have values at several levels of the factor."""
        return int((self.of_units.notna().sum(axis=1) > 1).sum())

    @property
    def complete(self) -> pd.DataFrame:
        """The units with a value at every level."""
        return self.of_units.dropna()

    @property
    def notes_on_complete(self) -> tuple[str, ...]:
        """The warnings if only the complete units are used."""
        return (*self.warnings, *incomplete_units_note(self.n_without + len(self.of_units) - len(self.complete)))

    def at(self, level: Any) -> Any:
        return self.of_units[level].dropna().to_numpy(dtype="float64")


def family_sizes(tests: Iterable[PlannedTest]) -> Counter[tuple[str, bool, bool]]:
    """Return the number of tests that are corrected together. Each effect of an analysis of variance is one test.

    The key is the family, true for exploratory tests, and true for equivalence tests.
    """
    sizes: Counter[tuple[str, bool, bool]] = Counter()
    for planned in tests:
        sizes[planned.family, planned.exploratory, False] += planned.n_effects
        sizes[planned.family, planned.exploratory, True] += planned.equivalence_margin is not None
    return sizes


def planned_tests(
    rows_of: Callable[[PlannedTest], pd.DataFrame],
    plan: PlannedAnalyses,
    not_computed: list[str] | None = None,
    changed_tests: Mapping[str, PlannedTest] = MappingProxyType({}),
) -> pd.DataFrame:
    """Run the tests of a plan.

    Parameters
    ----------
    rows_of
        Function that returns the rows for a test. The test then selects the rows that match its `where`.
    plan
        The plan, with its tests and the confidence level of intervals.
    not_computed
        The function adds a sentence to this list for each test that cannot be computed.
    changed_tests
        The confirmatory tests of the locked or registered plan that this plan changed or left out. They are not run,
        but they count in their families.

    Returns
    -------
    DataFrame
        The columns `COLUMNS`, one row for each form of each test. An analysis of variance with several factors has one
        row for each main effect and interaction, and `factor` is then the effect, such as `group:condition`. The form
        `main test` is the test itself. If a unit (such as a participant) has values at several levels, but the test
        treats these values as independent, the form `paired form` is added. The form `equivalence` is added if the test
        has a margin. `p_holm` and `p_bh` are the p values after correction for the number of tests in a family. Each
        effect of an analysis of variance counts as one test. Confirmatory tests, exploratory tests and equivalence
        tests are corrected separately. For the correction, the p value of a paired form replaces the p value of the
        main test in the family. `n_family` is the number of tests in the correction: all planned tests of the family,
        even if they cannot be computed or are in `changed_tests`. `n_unit` is the unit of `n`. `estimate_unit` is the
        unit of `estimate` and its interval: `share of yes` for a yes-no column, otherwise the name of the column.
        `levels` has the levels; the estimate is the first minus the second. `who` states whose trials the test used:
        `people`, `models` or `everyone`; it is empty for data that are not a study's trials. `effect_ci_low` and
        `effect_ci_high` are the bounds of the interval of `effect`. `warnings` states why a result may be misleading.

    Raises
    ------
    InputError
        If a test cannot be computed and `not_computed` is None. The message names the test.

    Notes
    -----
    A test without a p value counts in the correction as a test with p = 1. So the correction has the number of tests
    that was planned, and a test that fails does not make the other tests significant. R's ``p.adjust(p, method, n)``
    does the same if `n` is the number of planned tests.
    """
    rows: list[dict[str, Any]] = []
    for name, planned in plan.tests.items():
        with collect_input_error(not_computed):
            with input_error_about(f"the test `{name}`"):
                data = rows_of(planned)
            rows += rows_of_test(data, name, planned, plan)
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    # A column without any number would otherwise contain None.
    table = pd.DataFrame(rows).astype(dict.fromkeys(NUMBERS, "float64"))
    sizes = family_sizes([*plan.tests.values(), *changed_tests.values()])
    for (named, exploratory), family in table.groupby(["family", "exploratory"], sort=False):
        for form in family["form"].unique():
            of_form = family[family["form"] == form]
            instead = family[(family["form"] == MAIN) & ~family["name"].isin(of_form["name"])]
            together = of_form if form == EQUIVALENCE else pd.concat([of_form, instead])
            size = sizes[str(named), bool(exploratory), form == EQUIVALENCE]
            p_values = np.concatenate([together["p_value"], np.ones(size - len(together))])
            table.loc[of_form.index, "n_family"] = size
            corrected = {"p_holm": holm(p_values), "p_bh": benjamini_hochberg(p_values)}
            for column, values in corrected.items():
                table.loc[of_form.index, column] = values[: len(of_form)]
    return table[COLUMNS].astype({"n_family": "int64"})


def rows_of_test(
    data: pd.DataFrame, name: str, planned: PlannedTest, plan: PlannedAnalyses
) -> Iterator[dict[str, Any]]:
    """Yield one row for each form of one test, without the corrected p values.

    `plan` has the confidence level and seed.
    """
    what = f"the test `{name}`"
    require_columns(data, named_columns(planned), what)
    selected = chosen_rows(data, planned.where, what)
    chosen, levels, warnings = rows_with_levels(selected, planned, what)
    cluster = plan.item_cluster if isinstance(plan, AnalysisPlan) else None
    of_runs = run_unit_warnings(chosen, planned)
    common = {
        "name": name,
        "of": planned.of,
        "against": "" if planned.against is None else level_text(planned.against),
        "where": where_words(planned.where),
        "n_unit": unit_of_n(chosen, planned),
        "family": planned.family,
        "exploratory": planned.exploratory,
        "who": who_of(chosen, [name for name in (planned.of, planned.per) if name is not None and name in chosen]),
    }
    try:
        found = list(_effects(chosen, levels, planned, plan, selected))
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    for effect, form, result, bayes_factor in found:
        dependent = dependence_warnings(chosen, planned, result.n, cluster)
        measured = asdict(result) | {"warnings": " ".join((*warnings, *dependent, *of_runs, *result.warnings))}
        measured["estimate_unit"] = None if result.estimate is None else unit_of_estimate(chosen, planned)
        compared = {"factor": ":".join(effect), "levels": _levels_words([levels[factor] for factor in effect], planned)}
        yield {**common, **compared, **measured, "form": form, "bayes_factor_10": bayes_factor}


def _levels_words(levels: Sequence[Sequence[Any]], planned: PlannedTest) -> str:
    """Return the levels of an effect as text, such as `a - b` for two levels of one factor."""
    joined = " - " if len(planned.factors) == 1 and len(levels[0]) == 2 else ", "
    return " × ".join(joined.join(map(level_text, of_factor)) for of_factor in levels)


def _effects(
    rows: pd.DataFrame, levels: Mapping[str, list[Any]], planned: PlannedTest, plan: PlannedAnalyses,
    of_all_levels: pd.DataFrame,
) -> Iterator[tuple[Effect, str, HypothesisTest, float | None]]:  # fmt: skip
    """Yield the factors of each effect, the form of the test, its result and its Bayes factor."""
    if len(planned.factors) > 1:
        tests, notes = factorial_test(rows, levels, planned, plan.confidence)
        for effect, result in tests.items():
            yield effect, MAIN, _with(result, notes), None
        return
    of_factor = levels[planned.factor] if planned.factor else [VALUE, AGAINST]
    for form, result, bayes_factor in _forms(rows, of_factor, planned, plan, of_all_levels):
        yield planned.factors, form, result, bayes_factor


def _forms(
    rows: pd.DataFrame, levels: list[Any], planned: PlannedTest, plan: PlannedAnalyses, of_all_levels: pd.DataFrame
) -> Iterator[tuple[str, HypothesisTest, float | None]]:
    """Yield each form of a test with one factor or none, with the result and the Bayes factor."""
    if planned.test == "chi_square" and planned.within is None:
        yield MAIN, _chi_square(rows, levels, planned, plan.confidence), None
        return
    values = _values_of_units(rows, levels, planned, of_all_levels)
    if planned.between is None:
        result = _paired(values, levels, planned, plan)
        if planned.test == "welch_t":
            result = _with(result, (WELCH_WITHIN,))
        yield MAIN, result, _bayes_factor(values, levels, planned, result, are_paired=True)
    else:
        warnings, paired = list(values.warnings), None
        if n_in_several := values.n_in_several:
            units = "unit has" if n_in_several == 1 else "units have"
            warnings.append(
                f"{n_in_several:,} {units} values at more than one level of `{planned.factor}`. These values are not "
                "independent within units, but the planned test treats them as independent."
            )
            try:
                paired = _paired(values, levels, planned, plan)
                warnings.append("The paired form is reported too.")
            except InputError as error:
                warnings.append(f"The paired form cannot be computed: {error}")
        result = _with(_independent(values, levels, planned, plan), tuple(warnings))
        yield MAIN, result, _bayes_factor(values, levels, planned, result)
        if paired is not None:
            yield PAIRED, paired, _bayes_factor(values, levels, planned, paired, are_paired=True)
    if planned.equivalence_margin is not None:
        yield EQUIVALENCE, _equivalence(values, levels, planned, plan.confidence), None


WELCH_WITHIN = (
    "The plan has `welch_t` within units, so this is the paired t test. It uses only the differences within units, so "
    "it needs no assumption about equal variances of the levels."
)


def _with(result: HypothesisTest, warnings: tuple[str, ...]) -> HypothesisTest:
    return replace(result, warnings=(*warnings, *result.warnings))


def _values_of_units(
    rows: pd.DataFrame, levels: list[Any], planned: PlannedTest, of_all_levels: pd.DataFrame
) -> _Values:
    """Return one value for each unit and level, and warnings. `of_all_levels` also has rows of levels not compared."""
    table, notes = unit_values(rows, {planned.factor: levels} if planned.factor else {}, planned)
    if planned.against is not None:
        return _Values(table, notes)
    of_units = table[VALUE].unstack().reindex(columns=levels)
    if planned.within is None:
        return _Values(of_units, notes)
    units = of_all_levels.loc[of_all_levels[planned.factor].notna(), planned.per]
    return _Values(of_units, notes, units.nunique() - len(of_units))


def _independent(values: _Values, levels: list[Any], planned: PlannedTest, plan: PlannedAnalyses) -> HypothesisTest:
    if planned.test == "anova":
        return one_way_anova({level_text(level): values.at(level) for level in levels}, confidence=plan.confidence)
    first, second = (values.at(level) for level in levels)
    if planned.test == "mann_whitney":
        return mann_whitney(first, second, confidence=plan.confidence)
    if planned.test == "permutation":
        return permutation_of_groups(first, second, resamples=plan.resamples, seed=plan.seed)
    return independent_t(first, second, equal_variances=planned.test == "t", confidence=plan.confidence)


def _paired(values: _Values, levels: list[Any], planned: PlannedTest, plan: PlannedAnalyses) -> HypothesisTest:
    complete, notes = values.complete, values.notes_on_complete
    if planned.test == "anova":
        return _with(repeated_measures_anova(complete, confidence=plan.confidence), notes)
    if planned.test == "chi_square":
        return _with(_paired_counts(complete, levels, planned.of, plan.confidence), notes)
    first, second = (complete[level].to_numpy(dtype="float64") for level in levels)
    if planned.test in {"wilcoxon", "mann_whitney"}:
        return _with(wilcoxon_signed_rank(first, second, confidence=plan.confidence), notes)
    if planned.test == "permutation":
        resamples, seed = plan.resamples, plan.seed
        return _with(permutation_of_signs(first, second, resamples=resamples, seed=seed), notes)
    test = paired_t if planned.against is None else one_sample_t
    return _with(test(first, second, confidence=plan.confidence), notes)


def _paired_counts(complete: pd.DataFrame, levels: list[Any], of: str, confidence: float) -> HypothesisTest:
    if not complete.isin([0, 1]).all(axis=None):
        raise InputError(ONE_ANSWER.format(of=of))
    if len(levels) > 2:
        return cochran_q(complete)
    first, second = (pd.Categorical(complete[level], categories=[0, 1]) for level in levels)
    # The difference is columns minus rows.
    return mcnemar(pd.crosstab(second, first, dropna=False), confidence=confidence)


def _chi_square(rows: pd.DataFrame, levels: list[Any], planned: PlannedTest, confidence: float) -> HypothesisTest:
    counted = rows[rows[planned.of].notna()]
    notes = []
    if len(counted) < len(rows):
        notes.append(f"{len(rows) - len(counted)} of {len(rows)} rows have no value and were excluded.")
    gone = [level_text(level) for level in levels if level not in set(counted[planned.factor])]
    if gone:
        raise InputError(ALL_MISSING.format(factor=planned.factor, levels=", ".join(gone)))
    if counted[planned.of].nunique() < 2:
        only = level_text(counted[planned.of].iloc[0])
        raise InputError(
            f"`{planned.of}` is {only} in every row, so nothing can be compared. Fix: remove this test from the plan."
        )
    table = pd.crosstab(counted[planned.of], counted[planned.factor]).reindex(columns=levels)
    return _with(chi_square(table, confidence=confidence), tuple(notes))


def _bayes_factor(
    values: _Values, levels: list[Any], planned: PlannedTest, result: HypothesisTest, *, are_paired: bool = False
) -> float | None:
    if not planned.bayes_factor:
        return None
    if are_paired:
        return bayes_factor_t(result.statistic, result.n)
    first, second = (values.at(level) for level in levels)
    student = independent_t(first, second, equal_variances=True)  # The Bayes factor is defined for this t.
    return bayes_factor_t(student.statistic, len(first), len(second))


def _equivalence(values: _Values, levels: list[Any], planned: PlannedTest, confidence: float) -> HypothesisTest:
    margin = planned.equivalence_margin or 0.0
    complete = values.complete
    paired = planned.between is None or 2 * len(complete) >= len(values.of_units)
    notes = values.notes_on_complete if paired else values.warnings
    if not paired and len(complete):
        are = "unit with values at both levels is" if len(complete) == 1 else "units with values at both levels are"
        notes = (*notes, f"{len(complete):,} {are} treated as independent.")
    table = complete if paired else values.of_units
    first, second = (table[level].dropna().to_numpy(dtype="float64") for level in levels)
    if planned.against is None:
        result = equivalence_t(
            first, second, -margin, margin, paired=paired, equal_variances=planned.test == "t", confidence=confidence
        )
    else:
        result = equivalence_of_difference(difference_from(first, second), -margin, margin, confidence=confidence)
    return _with(result, notes)
