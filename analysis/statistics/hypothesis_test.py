"""The result of a hypothesis test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HypothesisTest:
    """One hypothesis test, its effect and its warnings."""

    test: str
    """The test by its full name, such as `Welch's t test`."""
    statistic_name: str
    """`t`, `F`, `chisq` or `z`."""
    statistic: float
    p_value: float
    """Two-sided."""
    n: int
    """Number of units that the test counted: participants, pairs, or counts in a table."""
    df: float | None = None
    """Degrees of freedom; for an F test, the degrees of freedom of the effect."""
    df_error: float | None = None
    """Degrees of freedom of an F test's error."""
    estimate: float | None = None
    """The tested difference, first minus second; missing if the test has no single difference."""
    ci_low: float | None = None
    ci_high: float | None = None
    """Confidence interval of `estimate`."""
    effect_name: str | None = None
    """Name of the effect size, such as `Cohen's d`, `partial eta squared`, `Cramér's V`."""
    effect: float | None = None
    """Size of the effect in standard units."""
    warnings: tuple[str, ...] = ()
    """Reasons why the result may be misleading, one sentence each."""
