"""Comparison of confidence ratings with accuracy: calibration error, and the parts of the Brier score."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bins = npt.NDArray[np.intp]

N_DRAWS = 1_000
"""Number of simulated respondents in `ece_if_calibrated`."""
TOLERANCE = 1e-12
DIGITS = 9
"""Before a confidence is assigned to a bin, confidence times number of bins is rounded to this number of decimals. So
0.7 is in the bin that ends at 0.7, although computers do not store 0.7 exactly.
"""


@dataclass(frozen=True)
class Calibration:
    """Agreement of confidence with accuracy.

    `brier` is `reliability` - `resolution` + `uncertainty` + `within_bins`.
    """

    brier: float
    """Mean squared difference between confidence and correctness (1 or 0). 0 is best."""
    reliability: float
    """Mean squared difference between the mean confidence and the accuracy of a bin. 0 is best."""
    resolution: float
    """Variance of the accuracy between bins. A high value is good: it means that confidence distinguishes right from
    wrong.
    """
    uncertainty: float
    """Variance of correctness, which does not depend on confidence."""
    within_bins: float
    """Part of the Brier score from different confidences within a bin; 0 if all confidences in each bin are equal."""
    ece: float
    """Expected calibration error: mean absolute difference between the mean confidence and the accuracy of a bin."""


def bins_of(confidence: Floats, n_bins: int) -> Bins:
    """Return the number of the bin of each confidence, from 0.

    Bins have equal width from 0 to 1 and include their upper end. The first bin also includes 0.

    Examples
    --------
    >>> bins_of(np.array([0.0, 0.1, 0.11, 0.7, 1.0]), 10).tolist()
    [0, 0, 1, 6, 9]
    """
    upward = np.ceil(np.round(confidence * n_bins, DIGITS)).astype(np.intp)
    return np.maximum(upward - 1, 0)


def calibration(confidence: Floats, correct: Floats, n_bins: int) -> Calibration:
    r"""Return the Brier score with its parts, and the expected calibration error.

    Parameters
    ----------
    confidence : array of float, shape (n,)
        Confidence of each response, from 0 to 1. There is at least one response.
    correct : array of float, shape (n,)
        1 for a correct response, 0 for any other response.
    n_bins : int
        Number of bins of equal width.

    Notes
    -----
    Bin :math:`k` has :math:`n_k` of the :math:`N` responses, the mean confidence :math:`\bar c_k` and the accuracy
    :math:`\bar o_k`; :math:`\bar o` is the accuracy of all responses. Then

    .. math::
        \mathrm{reliability} &= \tfrac1N \sum_k n_k (\bar c_k - \bar o_k)^2, \quad
        \mathrm{resolution} = \tfrac1N \sum_k n_k (\bar o_k - \bar o)^2, \quad
        \mathrm{uncertainty} = \bar o (1 - \bar o), \\
        \mathrm{within} &= \tfrac1N \sum_i (c_i - \bar c_{k(i)})^2
            - \tfrac2N \sum_i (c_i - \bar c_{k(i)}) (o_i - \bar o_{k(i)}), \quad
        \mathrm{ECE} = \tfrac1N \sum_k n_k |\bar c_k - \bar o_k|.

    Murphy (1973) defined the first three parts. Stephenson et al. (2008) defined the last part, which is 0 if all
    confidences in a bin are equal.

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review, 78, 1-3.
    Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied Meteorology, 12, 595-600.
    Stephenson, D. B., Coelho, C. A. S., & Jolliffe, I. T. (2008). Two extra components in the Brier score
    decomposition. Weather and Forecasting, 23, 752-757.
    Naeini, M. P., Cooper, G. F., & Hauskrecht, M. (2015). Obtaining well calibrated probabilities using Bayesian
    binning. Proceedings of the AAAI Conference on Artificial Intelligence, 29, 2901-2907.

    Examples
    --------
    Ten responses with a confidence of 0.9, of which six are right:

    >>> found = calibration(np.full(10, 0.9), np.repeat([1.0, 0.0], [6, 4]), 10)
    >>> round(found.ece, 3), round(found.reliability, 3), round(found.brier, 3)
    (0.3, 0.09, 0.33)
    """
    bins = bins_of(confidence, n_bins)
    sizes = np.bincount(bins, minlength=n_bins)
    used = np.maximum(sizes, 1)
    mean_confidence = np.bincount(bins, confidence, n_bins) / used
    accuracy = np.bincount(bins, correct, n_bins) / used
    weights = sizes / len(confidence)
    overall = float(correct.mean())
    gaps = mean_confidence - accuracy
    from_bin = confidence - mean_confidence[bins]
    # With equal confidences in each bin, only a rounding error is left.
    within = (
        0.0
        if np.abs(from_bin).max() < TOLERANCE
        else (from_bin**2).mean() - 2 * (from_bin * (correct - accuracy[bins])).mean()
    )
    return Calibration(
        brier=float(((confidence - correct) ** 2).mean()),
        reliability=float(weights @ gaps**2),
        resolution=float(weights @ (accuracy - overall) ** 2),
        uncertainty=overall * (1 - overall),
        within_bins=float(within),
        ece=float(weights @ np.abs(gaps)),
    )


def ece_if_calibrated(confidence: Floats, n_bins: int, seed: int) -> float:
    """Return the expected calibration error of a perfectly calibrated respondent with the same confidences.

    A respondent is *perfectly calibrated* if the probability of a correct response equals the confidence. The error is
    still above 0, because the accuracy of a bin with few responses differs from the confidence by chance.

    Parameters
    ----------
    confidence : array of float, shape (n,)
        Confidence of each response, from 0 to 1.
    n_bins : int
        Number of bins of equal width.
    seed : int
        Seed of the simulation of `N_DRAWS` respondents, whose responses are independent.

    References
    ----------
    Bröcker, J., & Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather and Forecasting, 22,
    651-661.

    Examples
    --------
    One response with a confidence of 0.5 is always 0.5 away from its accuracy of 0 or 1. A confidence of 1 is certain.

    >>> ece_if_calibrated(np.array([0.5]), 10, seed=1), ece_if_calibrated(np.array([1.0, 1.0]), 10, seed=1)
    (0.5, 0.0)
    """
    values, counts = np.unique(confidence, return_counts=True)
    bins = bins_of(values, n_bins)
    rng = np.random.default_rng(seed)
    errors = np.zeros(N_DRAWS)
    for place in np.unique(bins):
        own = bins == place
        n_correct = rng.binomial(counts[own], values[own], size=(N_DRAWS, int(own.sum()))).sum(axis=1)
        errors += np.abs(n_correct - counts[own] @ values[own])
    return float(errors.mean() / len(confidence))
