"""Explained variance of a mixed model: the intraclass correlation and Nakagawa's R squared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import polygamma

Floats = npt.NDArray[np.float64]

LOGISTIC_VARIANCE = math.pi**2 / 3
"""Variance of the standard logistic distribution. It is the residual variance of a logistic or ordinal model in
log-odds."""


@dataclass(frozen=True)
class VarianceShares:
    """Shares of a model's variance, each from 0 to 1. NaN is a missing share."""

    icc_adjusted: float
    """Variance of random effects divided by the sum of this variance and the residual variance: the similarity of rows
    in one group.
    """
    r2_marginal: float
    """Share of all variance that the fixed effects explain."""
    r2_conditional: float
    """Share of all variance that fixed and random effects explain together."""


def variance_shares(fixed: float, random: float | None, residual: float) -> VarianceShares:
    r"""Return the adjusted intraclass correlation and Nakagawa's marginal and conditional R squared.

    Parameters
    ----------
    fixed : float
        Variance of the predictions of the fixed effects over the rows, with the divisor `n - 1`, on the scale of the
        linear predictor.
    random : float or None
        Variance of all random effects together (see `random_effect_variance`). None for a model without random effects.
    residual : float
        Residual variance. Use `LOGISTIC_VARIANCE` for a logistic or ordinal model, and `gamma_variance` for a gamma
        model.

    Returns
    -------
    VarianceShares
        Without random effects, `icc_adjusted` and `r2_conditional` are missing.

    Notes
    -----
    .. math::
        \mathrm{ICC} = \frac{\sigma_r^2}{\sigma_r^2 + \sigma_e^2}, \quad
        R^2_m = \frac{\sigma_f^2}{\sigma_f^2 + \sigma_r^2 + \sigma_e^2}, \quad
        R^2_c = \frac{\sigma_f^2 + \sigma_r^2}{\sigma_f^2 + \sigma_r^2 + \sigma_e^2}.

    R's ``performance::icc`` and ``performance::r2_nakagawa`` give the same values. For a linear model without random
    effects, :math:`R^2_m` is close to the usual R squared. They differ a little, because :math:`R^2_m` divides the sum
    of squared residuals by the residual degrees of freedom. For a logistic model without random effects, :math:`R^2_m`
    is McKelvey and Zavoina's pseudo R squared.

    References
    ----------
    Nakagawa, S., Johnson, P. C. D., & Schielzeth, H. (2017). The coefficient of determination R2 and intra-class
    correlation coefficient from generalized linear mixed-effects models revisited and expanded. Journal of the Royal
    Society Interface, 14, 20170213.
    McKelvey, R. D., & Zavoina, W. (1975). A statistical model for the analysis of ordinal level dependent variables.
    Journal of Mathematical Sociology, 4, 103-120.

    Examples
    --------
    >>> variance_shares(1.0, 2.0, 2.0)
    VarianceShares(icc_adjusted=0.5, r2_marginal=0.2, r2_conditional=0.6)
    """
    if random is None:
        return VarianceShares(math.nan, fixed / (fixed + residual), math.nan)
    total = fixed + random + residual
    return VarianceShares(random / (random + residual), fixed / total, (fixed + random) / total)


def gamma_variance(dispersion: float) -> float:
    r"""Return the residual variance of a gamma model with a log link, on the log scale.

    Parameters
    ----------
    dispersion : float
        Variance of an outcome, divided by its squared mean.

    Notes
    -----
    The variance of the logarithm of a gamma variable with the dispersion :math:`\phi` is the trigamma function of
    :math:`1 / \phi` (Nakagawa et al., 2017).

    Examples
    --------
    >>> round(gamma_variance(1.0), 6), round(gamma_variance(0.01), 6)
    (1.644934, 0.01005)
    """
    return float(polygamma(1, 1 / dispersion))


def random_effect_variance(covariance: Floats, slopes: Sequence[Floats]) -> float:
    r"""Return the variance that a random intercept and its slopes contribute, as a mean over the rows.

    Parameters
    ----------
    covariance : array of float, shape (q, q)
        Covariance of intercept and slopes.
    slopes : sequence of q - 1 arrays of float, shape (n,)
        The values of the predictors that have slopes.

    Notes
    -----
    Let :math:`z_i` be the vector with a 1 for the intercept, followed by the predictors in row :math:`i`. Then

    .. math:: \bar\sigma^2 = \frac{1}{n} \sum_i z_i^\top \Sigma z_i.

    References
    ----------
    Johnson, P. C. D. (2014). Extension of Nakagawa & Schielzeth's R2 GLMM to random slopes models. Methods in Ecology
    and Evolution, 5, 944-946.

    Examples
    --------
    >>> import numpy as np
    >>> random_effect_variance(np.diag([2.0, 1.0]), [np.array([-1.0, 1.0])])
    3.0
    """
    z: tuple[Floats | float, ...] = (1.0, *slopes)
    products = ((covariance[i, j], one * other) for i, one in enumerate(z) for j, other in enumerate(z))
    return sum(float(entry) * float(np.mean(product)) for entry, product in products)


def root_mean_squared_error(outcome: Floats, fitted: Floats) -> float:
    r"""Return :math:`\sqrt{\sum (y_i - \hat y_i)^2 / n}`. It is missing if the fit failed.

    Parameters
    ----------
    outcome, fitted : array of float, shape (n,)
        The observed outcome, and the fitted means including random effects. The fitted means of a logistic model are
        probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> root_mean_squared_error(np.array([1.0, 2.0]), np.array([4.0, -2.0])).__round__(6)
    3.535534
    """
    if len(fitted) == 0:
        return math.nan
    return float(np.sqrt(np.mean((outcome - fitted) ** 2)))
