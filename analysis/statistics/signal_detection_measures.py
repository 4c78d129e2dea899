"""Signal detection: hits minus false alarms, sensitivity d' and criterion c."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SignalDetection:
    """Measures of signal detection. A field is a number for one subject, or an array for many subjects."""

    hit_rate: Any
    """Share of the signal trials in which the subject responded that a signal is present."""
    false_alarm_rate: Any
    """Share of the trials without a signal in which the subject responded that a signal is present."""
    difference: Any
    """Hit rate minus false alarm rate."""
    d_prime: Any
    """Sensitivity; 0 if the subject does not distinguish signal and noise."""
    d_prime_se: Any
    """Standard error of `d_prime`, assuming independent trials."""
    criterion: Any
    """Response bias: positive if the subject reports a signal too seldom, and negative if too often."""
    criterion_se: Any
    """Standard error of `criterion`, assuming independent trials."""


def signal_detection(
    hits: npt.ArrayLike, n_signal: npt.ArrayLike, false_alarms: npt.ArrayLike, n_noise: npt.ArrayLike
) -> SignalDetection:
    r"""Return the measures of signal detection theory for one or many subjects.

    Parameters
    ----------
    hits, n_signal : float or array of float, shape (subjects,)
        `hits` is the number of signal trials in which the subject responded that a signal is present. `n_signal` is
        the number of all signal trials, which is above 0. Both may be fractions.
    false_alarms, n_noise : float or array of float, shape (subjects,)
        `false_alarms` is the number of trials without a signal in which the subject responded that a signal is present.
        `n_noise` is the number of all trials without a signal, which is above 0.

    Notes
    -----
    Hit rate and false alarm rate are the observed shares. For :math:`d'` and :math:`c` the log-linear correction adds
    1/2 to the hits and to the false alarms, and 1 to both numbers of trials. So :math:`d'` and :math:`c` are finite
    even if a rate is 0 or 1:

    .. math::
        H = \frac{h + 1/2}{n_s + 1}, \quad F = \frac{f + 1/2}{n_n + 1}, \quad
        d' = z(H) - z(F), \quad c = -\frac{z(H) + z(F)}{2}.

    The variance of :math:`z(H)` is about :math:`H (1 - H) / (n_s \varphi(z(H))^2)`, and the variance of :math:`z(F)`
    has the same form. The variance of :math:`d'` is the sum of these two variances, and the variance of :math:`c` is a
    quarter of this sum.

    References
    ----------
    Hautus, M. J. (1995). Corrections for extreme proportions and their biasing effects on estimated values of d'.
    Behavior Research Methods, Instruments, & Computers, 27, 46-51.
    Gourevitch, V., & Galanter, E. (1967). A significance test for one parameter isosensitivity functions.
    Psychometrika, 32, 25-33.

    Examples
    --------
    There are 20 hits in 25 signal trials, and 10 false alarms in 25 trials without signal. R's ``qnorm(20.5/26) -
    qnorm(10.5/26)`` gives the same d':

    >>> measures = signal_detection(20, 25, 10, 25)
    >>> round(float(measures.difference), 10), round(float(measures.d_prime), 10), round(float(measures.criterion), 10)
    (0.4, 1.0444987071, -0.2788451757)
    """
    h, n_s, f, n_n = (np.asarray(count, dtype="float64") for count in (hits, n_signal, false_alarms, n_noise))
    hit_rate, false_alarm_rate = h / n_s, f / n_n
    z_hit, hit_variance = _z((h + 0.5) / (n_s + 1), n_s)
    z_false, false_variance = _z((f + 0.5) / (n_n + 1), n_n)
    error = np.sqrt(hit_variance + false_variance)
    return SignalDetection(
        hit_rate=hit_rate,
        false_alarm_rate=false_alarm_rate,
        difference=hit_rate - false_alarm_rate,
        d_prime=z_hit - z_false,
        d_prime_se=error,
        criterion=-(z_hit + z_false) / 2,
        criterion_se=error / 2,
    )


def _z(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    z = ndtri(rate)
    return z, rate * (1 - rate) / (n * _density(z) ** 2)


def _density(z: Any) -> Any:
    """Return the density of the standard normal distribution."""
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
