"""The result of a hypothesis test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HypothesisTest:
    """The result of one hypothesis test, with the size of the effect and warnings."""

    test: str
    """Full name of the test, such as `Welch's t test`."""
    statistic_name: str
    """`t`, `F` or `chisq`. `b` for the exact McNemar test, `U` for the Mann-Whitney test, `V` for Wilcoxon's test, and
    `mean difference` for a permutation test.
    """
    statistic: float
    p_value: float
    """Two-sided p value. In a test of equivalence, the larger one-sided p value."""
    n: int
    """Number of units in the test: participants, pairs, or the sum of the counts in a table."""
    df: float | None = None
    """Degrees of freedom; for an F test, the degrees of freedom of the effect."""
    df_error: float | None = None
    """Degrees of freedom of the error in an F test."""
    estimate: float | None = None
    """The tested difference (first minus second). It is missing if the test is not about a single difference."""
    ci_low: float | None = None
    ci_high: float | None = None
    """`ci_low` and `ci_high` are the bounds of the confidence interval of `estimate`."""
    effect_name: str | None = None
    """Name of the effect size, such as `Cohen's d`, `partial eta squared` or `rank-biserial correlation`."""
    effect: float | None = None
    """Size of the effect in standard units."""
    effect_ci_low: float | None = None
    effect_ci_high: float | None = None
    """`effect_ci_low` and `effect_ci_high` are the bounds of the two-sided confidence interval of `effect`. They are
    missing for effect sizes without an established method for the interval.
    """
    generalized_eta_squared: float | None = None
    """Share of variance of an effect in an analysis of variance, which is comparable between designs."""
    partial_omega_squared: float | None = None
    """Share of variance of an effect in an analysis of variance, estimated with less bias than partial eta squared."""
    cohens_f: float | None = None
    """Cohen's f of an effect in an analysis of variance."""
    warnings: tuple[str, ...] = ()
    """Reasons why the result may be misleading, one sentence each."""
