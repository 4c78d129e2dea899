"""Coefficients of a model as ratios: odds ratios, or ratios of means for an outcome on a log scale."""

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.design_matrix import INTERCEPT
from analysis.statistics.mixed_models.fit import MixedModel
from analysis.statistics.mixed_models.wald_tests import wald_table
from batteries.errors import InputError


def odds_ratios(model: MixedModel, confidence: float = 0.95) -> pd.DataFrame:
    r"""Return the coefficients of a logistic or ordinal model as odds ratios.

    Parameters
    ----------
    model : MixedModel
        A model of the family `binomial` or `ordinal`.
    confidence : float
        Confidence level of the intervals.

    Returns
    -------
    DataFrame
        `term`, `odds_ratio`, `ci_low`, `ci_high`. In a logistic model, the row of the intercept has the odds at the
        reference levels. In an ordinal model, there is no row of the intercept. Each ratio is then the odds ratio of a
        category above a threshold, which is the same for all thresholds.

    Raises
    ------
    InputError
        If the model has another family.

    Notes
    -----
    For a coefficient :math:`b` with the standard error :math:`s`, the odds ratio and its interval with the confidence
    level :math:`c` are

    .. math:: e^{b}, \quad e^{b \pm z_{(1 + c)/2} s}.

    Examples
    --------
    Each prompt has ten responses. Eight responses to one prompt and four responses to the other prompt are right. The
    odds are 8/2 and 4/6, so the odds ratio is 6.

    >>> import pandas as pd
    >>> from analysis.statistics.mixed_models.fit import fit_mixed_model
    >>> answers = pd.DataFrame({"right": [1] * 8 + [0] * 2 + [1] * 4 + [0] * 6, "prompt": ["b"] * 10 + ["a"] * 10})
    >>> odds_ratios(fit_mixed_model(answers, "right ~ prompt", family="binomial")).round(3)
              term  odds_ratio  ci_low  ci_high
    0  (Intercept)       0.667   0.188    2.362
    1      promptb       6.000   0.812   44.351
    """
    if model.family not in ("binomial", "ordinal"):
        raise InputError(
            "only logistic and ordinal models have odds ratios. Fix: use the family `binomial` or `ordinal`."
        )
    table = _exponentiated(model, "odds_ratio", confidence)
    return table[table["term"] != INTERCEPT].reset_index(drop=True) if model.family == "ordinal" else table


def ratios(model: MixedModel, confidence: float = 0.95) -> pd.DataFrame:
    r"""Return the coefficients of a model on a log scale as ratios.

    Parameters
    ----------
    model : MixedModel
        A gamma model, or a linear model of `log()` of the outcome.
    confidence : float
        Confidence level of the intervals.

    Returns
    -------
    DataFrame
        `term`, `ratio`, `ci_low`, `ci_high`. The ratios of a gamma model are ratios of means. The ratios of a model of
        logarithms are ratios of geometric means. The row of the intercept has the mean or the geometric mean at the
        reference levels.

    Raises
    ------
    InputError
        If the model is not on a log scale.

    Notes
    -----
    The formula is the same as in `odds_ratios`, but a linear model has the quantile of t instead of z.

    Examples
    --------
    The times double from one prompt to the other:

    >>> import pandas as pd
    >>> from analysis.statistics.mixed_models.fit import fit_mixed_model
    >>> times = pd.DataFrame({"rt_ms": [400, 500, 625, 800, 1000, 1250], "prompt": ["a"] * 3 + ["b"] * 3})
    >>> ratios(fit_mixed_model(times, "log(rt_ms) ~ prompt"))["ratio"].round(3).tolist()
    [500.0, 2.0]
    """
    if not model.has_log_scale:
        raise InputError(
            "only gamma models and models of `log()` of the outcome have ratios of means. Fix: fit such a model."
        )
    return _exponentiated(model, "ratio", confidence)


def _exponentiated(model: MixedModel, name: str, confidence: float) -> pd.DataFrame:
    estimates = model.coefficients["estimate"].to_numpy()
    table = wald_table(estimates, model.covariance, model.degrees, np.eye(len(estimates)), confidence)
    with np.errstate(over="ignore"):
        exponentiated = np.exp(table[["estimate", "ci_low", "ci_high"]].to_numpy())
    ratio_table = pd.DataFrame(exponentiated, columns=[name, "ci_low", "ci_high"])
    ratio_table.insert(0, "term", model.coefficients["term"])
    return ratio_table
