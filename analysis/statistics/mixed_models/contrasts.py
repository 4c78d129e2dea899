"""Pairwise contrasts of marginal means, with tests corrected for the number of contrasts."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from analysis.statistics.corrections import benjamini_hochberg, holm
from analysis.statistics.mixed_models.fit import MixedModel
from analysis.statistics.mixed_models.marginal_means import cells_of, combination_table, factor_names, mean_row
from batteries.errors import InputError

Floats = npt.NDArray[np.float64]

ADJUSTMENTS = ("holm", "tukey", "bh", "none")


def pairwise_contrasts(
    model: MixedModel,
    of: Sequence[str],
    *,
    by: Sequence[str] = (),
    adjust: str = "holm",
    confidence: float = 0.95,
) -> pd.DataFrame:
    r"""Return the differences of all pairs of estimated marginal means, with their tests.

    Parameters
    ----------
    model : MixedModel
        The fitted model.
    of : sequence of str
        Factors. The combinations of the levels of these factors are compared with each other.
    by : sequence of str
        Factors whose levels are not compared. The pairs are compared separately at each combination of the levels of
        these factors. The pairs at one combination are one family of tests.
    adjust : {"holm", "tukey", "bh", "none"}
        Correction of p values in each family: Holm's, Tukey's honest significant difference, Benjamini and Hochberg's
        false discovery rate, or none.
    confidence : float
        Confidence level of each interval. The intervals are not corrected for the number of contrasts.

    Returns
    -------
    DataFrame
        A column for each factor of `by`, then `contrast` (such as `a - b`), `estimate`, `std_error`, `df`,
        `statistic`, `p_value`, `p_adjusted`, `ci_low`, `ci_high`. For a logistic or ordinal model, estimates are
        differences of log-odds, and the columns `odds_ratio`, `or_ci_low`, `or_ci_high` follow. For a gamma model, the
        columns `ratio`, `ratio_ci_low`, `ratio_ci_high` follow, with ratios of means. For a model of `log()` of the
        outcome, these columns have ratios of geometric means. If a contrast cannot be estimated, its numbers are
        missing.

    Raises
    ------
    InputError
        A name is not the name of a factor of the model, or the correction is unknown.

    Notes
    -----
    If :math:`k` means are compared, Tukey's corrected p value of a pair is

    .. math:: \tilde p = \Pr\left(Q_{k, \nu} \ge \sqrt{2}\,|t|\right)

    where :math:`Q` is the studentized range. R's ``pairs(emmeans(model, of, by))`` gives the same table.

    References
    ----------
    Tukey, J. W. (1949). Comparing individual means in the analysis of variance. Biometrics, 5, 99-114.

    Examples
    --------
    >>> import pandas as pd
    >>> from analysis.statistics.mixed_models.fit import fit_mixed_model
    >>> groups = pd.DataFrame({"y": [1, 3, 5, 7, 6, 8], "model": ["a", "a", "b", "b", "c", "c"]})
    >>> table = pairwise_contrasts(fit_mixed_model(groups, "y ~ model"), ["model"], adjust="tukey")
    >>> table.round(3)[["contrast", "estimate", "std_error", "df", "p_value", "p_adjusted"]]
      contrast  estimate  std_error   df  p_value  p_adjusted
    0    a - b      -4.0      1.414  3.0    0.066       0.129
    1    a - c      -5.0      1.414  3.0    0.038       0.076
    2    b - c      -1.0      1.414  3.0    0.530       0.777
    """
    if adjust not in ADJUSTMENTS:
        raise InputError(
            f"the correction `{adjust}` is unknown. Fix: choose one of "
            f"{', '.join(f'`{name}`' for name in ADJUSTMENTS)}."
        )
    of, by = factor_names(model, of, by)
    compared = cells_of(model, of)
    families = []
    for held in cells_of(model, by):
        means = [mean_row(model, held | cell) for cell in compared]
        pairs = list(itertools.combinations(range(len(means)), 2))
        table = combination_table(model, np.array([means[one] - means[other] for one, other in pairs]), confidence)
        labels = [" ".join(str(model.levels[name][cell[name]]) for name in of) for cell in compared]
        table.insert(0, "contrast", [f"{labels[one]} - {labels[other]}" for one, other in pairs])
        for place, name in enumerate(by):
            table.insert(place, name, [model.levels[name][held[name]]] * len(pairs))
        table["p_adjusted"] = _adjusted(table, adjust, len(means))
        families.append(table)
    contrasts = pd.concat(families, ignore_index=True)
    contrasts = contrasts[[*by, "contrast", "estimate", "std_error", "df", "statistic", "p_value", "p_adjusted",
                           "ci_low", "ci_high"]]  # fmt: skip
    if model.family in ("binomial", "ordinal"):
        # With separated outcomes, odds ratios may be infinite.
        with np.errstate(over="ignore"):
            ratios = np.exp(contrasts[["estimate", "ci_low", "ci_high"]].to_numpy())
        contrasts[["odds_ratio", "or_ci_low", "or_ci_high"]] = ratios
    if model.has_log_scale:
        ratios = np.exp(contrasts[["estimate", "ci_low", "ci_high"]].to_numpy())
        contrasts[["ratio", "ratio_ci_low", "ratio_ci_high"]] = ratios
    return contrasts


def _adjusted(table: pd.DataFrame, adjust: str, n_means: int) -> Floats:
    """Return the corrected p values of one family. A test without a p value still counts as a test, as in emmeans."""
    p_values = table["p_value"].to_numpy(dtype=float)
    missing = np.isnan(p_values)
    # With two means there is only one test, and Tukey's test is then the same as the t test.
    if adjust == "none" or missing.all() or (adjust == "tukey" and n_means == 2):
        return p_values
    if adjust == "tukey":
        df = table["df"].fillna(np.inf)
        adjusted = scipy.stats.studentized_range.sf(math.sqrt(2) * table["statistic"].abs().fillna(0.0), n_means, df)
    else:
        adjusted = (holm if adjust == "holm" else benjamini_hochberg)(np.where(missing, 1.0, p_values))
    return np.where(missing, np.nan, adjusted)
