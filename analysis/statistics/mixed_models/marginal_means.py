"""Estimated marginal means: a model's predictions for levels of factors, averaged over the other factors."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from analysis.statistics.mixed_models.design_matrix import Floats, averaged_row
from analysis.statistics.mixed_models.fit import MixedModel
from analysis.statistics.mixed_models.wald_tests import is_estimable, wald_table
from batteries.errors import InputError


def marginal_means(
    model: MixedModel, of: Sequence[str], *, by: Sequence[str] = (), confidence: float = 0.95
) -> pd.DataFrame:
    r"""Return the estimated marginal means of the levels of factors.

    Parameters
    ----------
    model : MixedModel
        The fitted model.
    of, by : sequence of str
        Factors of the fixed effects. The table has one row for each combination of the levels of all factors in `of`
        and `by`. In the order of the rows, the first factor of `of` changes fastest and the last factor of `by`
        changes slowest.
    confidence : float
        Confidence level of the intervals.

    Returns
    -------
    DataFrame
        A column for each factor of `by` and `of`, then `estimate`, `std_error`, `df`, `ci_low`, `ci_high`. For a
        logistic model, the estimates are log-odds, and the columns `probability`, `probability_ci_low`,
        `probability_ci_high` follow. For a model of `log()` of the outcome, the columns `geometric_mean`,
        `geometric_mean_ci_low`, `geometric_mean_ci_high` follow, in the unit of the outcome. For a gamma model, the
        columns `mean`, `mean_ci_low`, `mean_ci_high` follow. For an ordinal model, the estimates are log-odds on the
        latent scale, relative to the mean of the thresholds. If the data lack a combination of levels that a mean
        needs, the numbers of this mean are missing.

    Raises
    ------
    InputError
        A name is not the name of a factor of the model, or is a duplicate.

    Notes
    -----
    A mean is :math:`l^\top b`, where :math:`l` is an average of rows of the design matrix. In this average, all
    combinations of the levels of the other factors have equal weights. Each covariate is set to its mean. A covariate
    that has only two values is set to the middle between these values. R's ``emmeans(model, lmer.df =
    "satterthwaite")`` gives the same table. Random effects are set to 0, so the probabilities of a logistic model are
    those of a typical group, not averages over groups.

    References
    ----------
    Searle, S. R., Speed, F. M., & Milliken, G. A. (1980). Population marginal means in the linear model: An alternative
    to least squares means. The American Statistician, 34, 216-221.

    Examples
    --------
    The cells of `a` have the means 2 and 4, and the cells of `b` have the means 6 and 9. The two cells of `b` have
    different numbers of rows, but the marginal mean of `b` is 7.5.

    >>> import pandas as pd
    >>> from analysis.statistics.mixed_models.fit import fit_mixed_model
    >>> cells = pd.DataFrame({
    ...     "y": [1, 3, 4, 4, 5, 7, 8, 10, 9],
    ...     "model": ["a", "a", "a", "a", "b", "b", "b", "b", "b"],
    ...     "prompt": ["p", "p", "q", "q", "p", "p", "q", "q", "q"]})
    >>> marginal_means(fit_mixed_model(cells, "y ~ model * prompt"), ["model"]).round(3)[["model", "estimate", "df"]]
      model  estimate   df
    0     a       3.0  5.0
    1     b       7.5  5.0
    """
    of, by = factor_names(model, of, by)
    cells = cells_of(model, [*of, *by])
    table = combination_table(model, np.array([mean_row(model, cell) for cell in cells]), confidence)
    means = pd.DataFrame({name: [model.levels[name][cell[name]] for cell in cells] for name in (*by, *of)}).join(
        table[["estimate", "std_error", "df", "ci_low", "ci_high"]]
    )
    if model.family == "binomial":
        for name, logit in (("probability", "estimate"), ("probability_ci_low", "ci_low"),
                            ("probability_ci_high", "ci_high")):  # fmt: skip
            means[name] = expit(means[logit])
    if model.has_log_scale:
        mean = "geometric_mean" if model.log_outcome else "mean"
        means[[mean, f"{mean}_ci_low", f"{mean}_ci_high"]] = np.exp(means[["estimate", "ci_low", "ci_high"]])
    return means


def factor_names(model: MixedModel, of: Sequence[str], by: Sequence[str]) -> tuple[list[str], list[str]]:
    """Check the factors in `of` and `by`, and return each as a list. A single name becomes a list with one factor."""
    of, by = ([names] if isinstance(names, str) else list(names) for names in (of, by))
    asked = [*of, *by]
    known = ", ".join(f"`{name}`" for name in model.levels) or "none"
    if not of:
        raise InputError(f"marginal means need a factor. Fix: choose one of {known}.")
    for name in asked:
        if name in model.covariates:
            raise InputError(
                f"`{name}` is a covariate and has no levels. Fix: choose one of the model's factors, {known}."
            )
        if name not in model.levels:
            raise InputError(f"`{name}` is not a factor of `{model.formula}`. Fix: choose one of {known}.")
        if asked.count(name) > 1:
            raise InputError(f"duplicate factor `{name}`. Fix: give each factor once, in `of` or in `by`.")
    return of, by


def cells_of(model: MixedModel, names: Sequence[str]) -> list[dict[str, int]]:
    """Return all combinations of the levels of factors, as indices of levels.

    The first factor in `names` changes fastest.
    """
    slowest_first = names[::-1]
    places = itertools.product(*(range(len(model.levels[name])) for name in slowest_first))
    return [dict(zip(slowest_first, chosen, strict=True)) for chosen in places]


def mean_row(model: MixedModel, cell: Mapping[str, int]) -> Floats:
    """Return the weights of the coefficients in the marginal mean of a cell.

    Levels of other factors have equal weights.
    """
    return averaged_row(model.columns, model.levels, model.covariates, cell)


def combination_table(model: MixedModel, rows: Floats, confidence: float) -> pd.DataFrame:
    """Return the table of `wald_table` for linear combinations of the columns of the design matrix.

    If a combination cannot be estimated, the numbers in its row are missing.
    """
    coefficients = model.coefficients["estimate"].to_numpy()
    table = wald_table(coefficients, model.covariance, model.degrees, rows[:, model.retained], confidence)
    table[~is_estimable(rows, model.redundancies)] = np.nan
    return table
