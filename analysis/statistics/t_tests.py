"""t tests: two groups (Student's and Welch's), pairs, and one sample compared with a number."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.statistics.effect_size_intervals import noncentral_t_interval
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.intervals import Interval
from batteries.errors import InputError

Floats = npt.NDArray[np.float64]

LARGEST = 1e100
"""Largest absolute value that can be tested. Squares of much larger values would overflow."""


@dataclass(frozen=True)
class MeanDifference:
    """The difference that a t test compares with 0, and its standard error."""

    test: str
    """Name of the test, such as `Welch's t test`."""
    estimate: float
    standard_error: float
    df: float
    n: int
    """Number of units: participants of both groups, or pairs."""
    effect_name: str
    standard_deviation: float
    """The standard deviation by which the estimate is divided to get the effect."""
    warnings: tuple[str, ...] = ()

    @property
    def effect(self) -> float:
        """The effect size: the estimate in standard deviations."""
        return self.estimate / self.standard_deviation

    def effect_interval(self, confidence: float) -> Interval:
        """Return the confidence interval of the effect, from the noncentral t distribution."""
        low, high = noncentral_t_interval(self.estimate / self.standard_error, self.df, confidence)
        ratio = self.standard_error / self.standard_deviation
        return Interval(ratio * low, ratio * high)


def independent_t(
    first: Floats, second: Floats, *, equal_variances: bool = False, confidence: float = 0.95
) -> HypothesisTest:
    r"""Test whether two independent groups have the same mean, by Welch's or Student's t test.

    Parameters
    ----------
    first, second : array of float, shape (units,)
        One value per unit, such as a participant's mean; no unit is in both groups.
    equal_variances : bool
        True for Student's test, which assumes that both populations have the same variance. False for Welch's test.
    confidence : float
        Confidence level of the intervals of the difference and of the effect.

    Returns
    -------
    HypothesisTest
        `estimate` is mean(first) - mean(second). `effect` is Cohen's d. Student's test divides the estimate by the
        pooled standard deviation. Welch's test divides the estimate by the square root of the mean of the two
        variances. With different variances, the interval of the pooled d would be wrong. `noncentral_t_interval`
        computes the interval of d.

    Raises
    ------
    InputError
        A group has fewer than two values, or a value is not finite. Or all values within each group are the same.

    Notes
    -----
    With sizes :math:`n_i`, means :math:`m_i`, variances :math:`s_i^2` and the pooled variance
    :math:`s^2 = ((n_1 - 1) s_1^2 + (n_2 - 1) s_2^2) / (n_1 + n_2 - 2)`, Student's test is

    .. math:: t = \frac{m_1 - m_2}{s \sqrt{1/n_1 + 1/n_2}}, \quad \nu = n_1 + n_2 - 2,

    and Welch's test is

    .. math::
        t = \frac{m_1 - m_2}{\sqrt{s_1^2/n_1 + s_2^2/n_2}}, \quad
        \nu = \frac{(s_1^2/n_1 + s_2^2/n_2)^2}{(s_1^2/n_1)^2/(n_1 - 1) + (s_2^2/n_2)^2/(n_2 - 1)}.

    Cohen's d is :math:`(m_1 - m_2)/s` in Student's test, and :math:`(m_1 - m_2)/\sqrt{(s_1^2 + s_2^2)/2}` in Welch's
    test, as in R's ``effectsize::cohens_d`` with ``pooled_sd = TRUE`` and ``FALSE``.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika, 6, 1-25.
    Welch, B. L. (1947). The generalization of "Student's" problem when several different population variances are
    involved. Biometrika, 34, 28-35.
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.
    Delacre, M., Lakens, D., Ley, C., Liu, L., & Leys, C. (2021). Why Hedges' g*s based on the non-pooled standard
    deviation should be reported with Welch's t-test. PsyArXiv.

    Examples
    --------
    Student's data on hours of sleep gained, treated as two groups (R: ``t.test(extra ~ group, sleep)``):

    >>> one = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    >>> two = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    >>> result = independent_t(one, two)
    >>> round(result.statistic, 4), round(result.df, 3), round(result.p_value, 5)
    (-1.8608, 17.776, 0.07939)
    >>> round(result.ci_low, 4), round(result.ci_high, 4)
    (-3.3655, 0.2055)
    """
    return _tested(difference_of_groups(first, second, equal_variances=equal_variances), confidence)


def paired_t(first: Floats, second: Floats, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether the mean difference within pairs is zero.

    Parameters
    ----------
    first, second : array of float, shape (pairs,)
        The two values of each pair, such as a participant's means in two conditions. The two values of a pair have the
        same position in both arrays.
    confidence : float
        Confidence level of the intervals of the mean difference and of the effect.

    Returns
    -------
    HypothesisTest
        `estimate` is the mean of first - second. `effect` is Cohen's d_z: the estimate divided by the standard
        deviation of the differences. `noncentral_t_interval` computes the interval of d_z.

    Raises
    ------
    InputError
        The arrays differ in length, there are fewer than two pairs, a value is not finite, or all differences are
        the same.

    Notes
    -----
    Let the :math:`n` differences have the mean :math:`m` and the standard deviation :math:`s`. Then

    .. math:: t = \frac{m}{s / \sqrt{n}}, \quad \nu = n - 1, \quad d_z = m / s.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika, 6, 1-25.
    Lakens, D. (2013). Calculating and reporting effect sizes to facilitate cumulative science. Frontiers in
    Psychology, 4, 863.

    Examples
    --------
    Student's data on ten patients, treated as pairs (R: ``t.test(one, two, paired = TRUE)``):

    >>> one = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    >>> two = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    >>> result = paired_t(one, two)
    >>> round(result.statistic, 4), result.df, round(result.p_value, 6)
    (-4.0621, 9, 0.002833)
    """
    return _tested(difference_of_pairs(first, second), confidence)


def one_sample_t(values: Floats, against: float | Floats, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether a population's mean is a given number, such as chance.

    Parameters
    ----------
    values : array of float, shape (units,)
        One value per unit.
    against : float, or array of float, shape (units,)
        The mean under the null hypothesis: one number, or a number for each unit, such as the chance level of a
        participant's items.
    confidence : float
        Confidence level of the intervals of the difference and of the effect.

    Returns
    -------
    HypothesisTest
        `estimate` is the mean of values - against. `effect` is Cohen's d: the estimate divided by the standard
        deviation of values - against. `noncentral_t_interval` computes the interval of d.

    Raises
    ------
    InputError
        There are fewer than two values, a value is not finite, or all values are the same.

    Notes
    -----
    .. math:: t = \frac{m - \mu_0}{s / \sqrt{n}}, \quad \nu = n - 1, \quad d = (m - \mu_0) / s.

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika, 6, 1-25.

    Examples
    --------
    The numbers 1, 2, 3, 4 and 5 have the mean 3 with the standard error sqrt(1/2). So if the mean is compared with 2,
    the square of t is 2:

    >>> result = one_sample_t(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 2.0)
    >>> round(result.statistic**2, 6), result.df, result.estimate
    (2.0, 4, 1.0)
    """
    return _tested(difference_from(values, against), confidence)


def difference_of_groups(first: Floats, second: Floats, *, equal_variances: bool) -> MeanDifference:
    """Return the difference of the means of two independent groups. For the parameters, see `independent_t`."""
    one, two = checked_sample(first, "the first group"), checked_sample(second, "the second group")
    n_one, n_two = len(one), len(two)
    variance_one, variance_two = float(one.var(ddof=1)), float(two.var(ddof=1))
    pooled = math.sqrt(((n_one - 1) * variance_one + (n_two - 1) * variance_two) / (n_one + n_two - 2))
    largest = _largest(one, two)
    if is_constant(pooled, largest):
        raise InputError(
            "all values within each group are the same, so a t test cannot be computed. Fix: leave the test out, "
            "and report the value of each group."
        )
    if equal_variances:
        test, effect_name, standard_deviation = "Student's t test", "Cohen's d", pooled
        standard_error, df = pooled * math.sqrt(1 / n_one + 1 / n_two), float(n_one + n_two - 2)
    else:
        test, effect_name = "Welch's t test", "Cohen's d (average variance)"
        standard_deviation = math.sqrt((variance_one + variance_two) / 2)
        standard_error = math.sqrt(variance_one / n_one + variance_two / n_two)
        share = variance_one / n_one / standard_error**2
        df = 1 / (share**2 / (n_one - 1) + (1 - share) ** 2 / (n_two - 1))
    estimate = float(one.mean() - two.mean())
    warnings = tuple(
        f"All values of the {name} group are the same, so the variance of this group is unknown."
        for name, variance in (("first", variance_one), ("second", variance_two))
        if is_constant(math.sqrt(variance), largest)
    )
    return MeanDifference(test, estimate, standard_error, df, n_one + n_two, effect_name, standard_deviation, warnings)


def difference_of_pairs(first: Floats, second: Floats) -> MeanDifference:
    """Return the mean difference within pairs. For the parameters, see `paired_t`."""
    one, two = checked_pairs(first, second)
    return _mean_against_zero(one - two, _largest(one, two), "Paired t test", "Cohen's d_z")


def difference_from(values: Floats, against: float | Floats) -> MeanDifference:
    """Return the difference of a mean from a given number. For the parameters, see `one_sample_t`."""
    if not np.all(np.abs(against) <= LARGEST):
        raise InputError(
            f"the mean under the null hypothesis (`against`) is {against}, which is not a finite number. Fix: correct "
            "this number."
        )
    sample = checked_sample(values, "the sample")
    largest = max(_largest(sample), float(np.abs(against).max()))
    return _mean_against_zero(sample - against, largest, "One-sample t test", "Cohen's d")


def checked_pairs(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the values of pairs as two arrays, or raise an error if the values cannot be tested."""
    one, two = checked_sample(first, "the first condition"), checked_sample(second, "the second condition")
    if len(one) != len(two):
        raise InputError(
            f"the first condition has {len(one)} values and the second condition has {len(two)} values, so the values "
            "are not pairs. Fix: keep only the units that have both values."
        )
    return one, two


def checked_sample(values: Floats, name: str) -> Floats:
    """Return the values as an array, or raise an error if the values cannot be tested."""
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1:
        raise InputError(
            f"{name} has {sample.ndim} dimensions, but it must have one dimension. Fix: give a list with one value per "
            "unit."
        )
    unusable = int((~(np.abs(sample) <= LARGEST)).sum())
    if unusable:
        raise InputError(f"{name} has {unusable} missing or infinite values. Fix: exclude the units of these values.")
    if len(sample) < 2:
        raise InputError(
            f"{name} has {len(sample)} values; a test needs at least 2. Fix: collect more data, or leave the test out."
        )
    return sample


def t_interval(difference: MeanDifference, confidence: float) -> tuple[float, float]:
    """Return the confidence interval of the difference."""
    if not 0 < confidence < 1:
        raise InputError(
            f"the confidence is {confidence}, but it must be between 0 and 1. Fix: give a share such as 0.95."
        )
    half = float(scipy.stats.t.ppf(0.5 + confidence / 2, difference.df)) * difference.standard_error
    return difference.estimate - half, difference.estimate + half


def is_constant(standard_deviation: float, largest: float) -> bool:
    """Return True if a standard deviation is 0, or so small that it is a rounding error.

    `largest` is the largest absolute value in the computation.
    """
    return standard_deviation <= max(1e-13 * largest, 1 / LARGEST)


def _mean_against_zero(values: Floats, largest: float, test: str, effect_name: str) -> MeanDifference:
    n, mean, deviation = len(values), float(values.mean()), float(values.std(ddof=1))
    if is_constant(deviation, largest):
        raise InputError(
            f"all {n} differences are the same, so a t test cannot be computed. Fix: leave the test out, and report "
            "this difference."
        )
    return MeanDifference(test, mean, deviation / math.sqrt(n), n - 1, n, effect_name, deviation)


def _largest(*samples: Floats) -> float:
    return max(float(np.abs(sample).max()) for sample in samples)


def _tested(difference: MeanDifference, confidence: float) -> HypothesisTest:
    t = difference.estimate / difference.standard_error
    low, high = t_interval(difference, confidence)
    effect_low, effect_high = difference.effect_interval(confidence)
    return HypothesisTest(
        test=difference.test,
        statistic_name="t",
        statistic=t,
        p_value=float(2 * scipy.stats.t.sf(abs(t), difference.df)),
        n=difference.n,
        df=difference.df,
        estimate=difference.estimate,
        ci_low=low,
        ci_high=high,
        effect_name=difference.effect_name,
        effect=difference.effect,
        effect_ci_low=effect_low,
        effect_ci_high=effect_high,
        warnings=difference.warnings,
    )
