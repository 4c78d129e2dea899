"""Effect sizes of F tests: partial eta squared, partial omega squared and Cohen's f, with confidence intervals."""

import math
from dataclasses import dataclass

import scipy
from scipy import special

LARGEST_NONCENTRALITY = 1e8
"""Largest noncentrality of the search for a bound. A larger bound is reported as missing."""


@dataclass(frozen=True)
class EffectSizes:
    """The effect sizes of one F test. All numbers are missing (NaN) if F is missing."""

    partial_eta_squared: float
    eta_ci_low: float
    eta_ci_high: float
    """`eta_ci_low` and `eta_ci_high` are the bounds of the two-sided confidence interval of partial eta squared."""
    partial_omega_squared: float
    """An estimate of the same share of variance as partial eta squared, with less bias. If F is below 1, it is 0."""
    cohens_f: float
    f_ci_low: float
    f_ci_high: float
    """`f_ci_low` and `f_ci_high` are the bounds of the two-sided confidence interval of Cohen's f."""


def effect_sizes_of_f(f: float, df: float, df_error: float, *, confidence: float = 0.95) -> EffectSizes:
    r"""Return the effect sizes of an F test, from F and its degrees of freedom.

    Parameters
    ----------
    f : float
        The statistic. NaN if the test has no result.
    df, df_error : float
        Degrees of freedom of the effect and of the error. They can be fractions, as after the Greenhouse-Geisser
        correction or by Satterthwaite's method.
    confidence : float
        Confidence level of the two-sided intervals.

    Returns
    -------
    EffectSizes

    Notes
    -----
    .. math::
        \eta_p^2 = \frac{F\,\nu_1}{F\,\nu_1 + \nu_2}, \quad
        \omega_p^2 = \frac{(F - 1)\,\nu_1}{F\,\nu_1 + \nu_2 + 1}, \quad
        f = \sqrt{\frac{\eta_p^2}{1 - \eta_p^2}}.

    A negative :math:`\omega_p^2` becomes 0. In an analysis of variance with one factor between units, the formulas
    give the usual ratios of sums of squares. A mixed model has no sums of squares, so the formulas themselves define
    the effect sizes. For a factor within units, see `partial_omega_squared_within`. R's ``effectsize::F_to_eta2``,
    ``F_to_omega2`` and ``F_to_f`` give the same values.

    The interval of the noncentrality :math:`\lambda` has the bounds for which the observed F is a quantile of the
    noncentral F distribution (`noncentrality_interval`). The bounds of partial eta squared are :math:`\lambda /
    (\lambda + \nu_2)`, as in R's effectsize with ``alternative = "two.sided"``. By default, effectsize has a one-sided
    interval, from a lower bound to 1. The F test is one-sided too. So the lower bound of the two-sided 95 % interval
    can be 0 although p is below .05. For this reason, Steiger (2004) reports 90 % intervals. Partial omega squared has
    no interval, because it estimates the same share as partial eta squared.

    In an analysis of variance between N units with normal errors, the interval of :math:`\lambda` has exactly the
    stated confidence level. The population's share of variance is :math:`\lambda / (\lambda + N)`. So with few units,
    partial eta squared and its bounds are a little larger than this share. With factors within units and in mixed
    models, the interval is an approximation.

    References
    ----------
    Steiger, J. H. (2004). Beyond the F test: Effect size confidence intervals and tests of close fit in the analysis
    of variance and contrast analysis. Psychological Methods, 9, 164-182.
    Ben-Shachar, M. S., Lüdecke, D., & Makowski, D. (2020). effectsize: Estimation of effect size indices and
    standardized parameters. Journal of Open Source Software, 5(56), 2815.
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.

    Examples
    --------
    An F of 7 with 2 and 6 degrees of freedom: 14 of 14 + 6 units of the sum of squares are between the groups.

    >>> sizes = effect_sizes_of_f(7.0, 2, 6)
    >>> round(sizes.partial_eta_squared, 6), round(sizes.partial_omega_squared, 6), round(sizes.cohens_f, 6)
    (0.7, 0.571429, 1.527525)
    >>> round(sizes.eta_ci_low, 4), round(sizes.eta_ci_high, 4)
    (0.0, 0.8734)
    """
    explained = f * df
    low, high = noncentrality_interval(f, df, df_error, confidence=confidence)
    return EffectSizes(
        partial_eta_squared=explained / (explained + df_error),
        eta_ci_low=low / (low + df_error),
        eta_ci_high=high / (high + df_error),
        partial_omega_squared=_not_negative((explained - df) / (explained + df_error + 1)),
        cohens_f=math.sqrt(explained / df_error),
        f_ci_low=math.sqrt(low / df_error),
        f_ci_high=math.sqrt(high / df_error),
    )


def partial_omega_squared_between(f: float, df: float, *, n: int) -> float:
    r"""Return partial omega squared of a factor between units, or of an interaction of such factors.

    Parameters
    ----------
    f, df : float
        The statistic, and the degrees of freedom of the effect.
    n : int
        Number of units.

    Notes
    -----
    .. math::
        \omega_p^2 = \frac{(F - 1)\,\nu_1}{(F - 1)\,\nu_1 + n}.

    A negative value becomes 0. With one factor, `effect_sizes_of_f` returns the same value. With several factors,
    `effect_sizes_of_f` returns a larger value, because its denominator omits the degrees of freedom of the other
    factors. In a design without factors within units, R's ``effectsize::omega_squared`` gives the same value. In a
    design with factors within units, effectsize omits the degrees of freedom of the other factors.

    References
    ----------
    Olejnik, S., & Algina, J. (2003). Generalized eta and omega squared statistics: Measures of effect size for some
    common research designs. Psychological Methods, 8, 434-447.

    Examples
    --------
    >>> round(partial_omega_squared_between(7.0, 2, n=9), 6), round(partial_omega_squared_between(7.0, 2, n=12), 6)
    (0.571429, 0.5)
    """
    return _not_negative((f - 1) * df / ((f - 1) * df + n))


def partial_omega_squared_within(
    effect_ss: float, error_ss: float, units_ss: float, *, df: float, df_error: float, df_units: float
) -> float:
    r"""Return partial omega squared of a factor within units, or of an interaction with such a factor.

    Parameters
    ----------
    effect_ss, error_ss, units_ss : float
        Sums of squares of the effect, of its error (the interaction of effect and units), and of the units. In a mixed
        design, the units are nested in the groups.
    df, df_error, df_units : float
        Degrees of freedom of the three sums of squares, without a correction for sphericity.

    Notes
    -----
    .. math::
        \omega_p^2 = \frac{SS - \nu_1\,MS_e}{SS + SS_e + SS_u + MS_u}.

    A negative value becomes 0. The denominator includes the variance of the units, which partial eta squared omits. The
    value equals R's ``effectsize::omega_squared`` of an ``aov`` with an ``Error`` term.

    References
    ----------
    Olejnik, S., & Algina, J. (2003). Generalized eta and omega squared statistics: Measures of effect size for some
    common research designs. Psychological Methods, 8, 434-447.

    Examples
    --------
    >>> round(partial_omega_squared_within(14.0, 6.0, 3.0, df=2, df_error=4, df_units=2), 6)
    0.44898
    """
    return _not_negative(
        (effect_ss - df * error_ss / df_error) / (effect_ss + error_ss + units_ss + units_ss / df_units)
    )


def _not_negative(value: float) -> float:
    """Return 0 for a negative number, and NaN for NaN."""
    return 0.0 if value < 0 else value


def noncentrality_interval(f: float, df: float, df_error: float, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Return the two-sided confidence interval of the noncentrality of an F test.

    Notes
    -----
    The lower bound is the :math:`\lambda` with :math:`\Pr(F_\lambda \le F) = (1 + c) / 2`, and the upper bound is the
    :math:`\lambda` with :math:`\Pr(F_\lambda \le F) = (1 - c) / 2`. If F is small, no :math:`\lambda` has the
    probability for the lower bound, and the lower bound is 0. If the upper bound would be 0 too, or if F is missing,
    both bounds are missing. R's effectsize reports the interval [0, 0], which would claim certainty.

    Examples
    --------
    >>> [round(bound, 3) for bound in noncentrality_interval(7.0, 2, 6)]
    [0.0, 41.409]
    """
    if math.isnan(f) or math.isnan(df_error):
        return math.nan, math.nan
    low, high = (_noncentrality(f, df, df_error, (1 + sign * confidence) / 2) for sign in (1, -1))
    return (math.nan, math.nan) if high == 0 else (low, high)


def _noncentrality(f: float, df: float, df_error: float, probability: float) -> float:
    """Return the noncentrality for which the probability of a value up to F is `probability`; 0 if there is none."""

    def excess(noncentrality: float) -> float:
        return float(special.ncfdtr(df, df_error, noncentrality, f)) - probability

    if excess(0.0) <= 0:
        return 0.0
    upper = f * df + df + 10
    while not excess(upper) < 0:
        upper *= 2
        if upper > LARGEST_NONCENTRALITY:
            return math.nan
    return float(scipy.optimize.brentq(excess, 0.0, upper, xtol=1e-10, rtol=1e-12))
