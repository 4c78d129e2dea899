"""Agreement: Cohen's kappa, error consistency, correlations with intervals, and split-half reliability."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit

from analysis.statistics.intervals import Interval, wilson
from batteries.errors import InputError

Floats = npt.NDArray[np.float64]

FEWEST_DIFFERENT = 4
"""Smallest number of items that must differ from the most frequent value, in each variable, for an interval."""
_NUMBERS_AT_ONCE = 2_000_000
_ROUNDING = 1e-20
"""A product of two variances counts as 0 if it is at most this number. For values between 0 and 1, so small a product
is a rounding error.
"""


def cohens_kappa(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    r"""Return Cohen's kappa: the agreement of two raters beyond the agreement expected by chance.

    Parameters
    ----------
    first, second : array of labels, shape (items,)
        The category that the rater chose for each item.

    Raises
    ------
    InputError
        If there are no items, or `first` and `second` have different lengths. Also if both raters chose the same
        category for all items, because kappa is then undefined.

    Notes
    -----
    Let :math:`p_o` be the share of items on which the raters agree. Let :math:`p_{1c}` and :math:`p_{2c}` be the shares
    of items for which the first and the second rater chose category :math:`c`. Then

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \quad p_e = \sum_c p_{1c} p_{2c}.

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement, 20,
    37-46.

    Examples
    --------
    There are 50 items. Both raters accept 20 items and reject 15 items; the raters disagree on the other 15 items. The
    observed agreement is 0.7, and the agreement expected by chance is 0.5:

    >>> first = ["yes"] * 25 + ["no"] * 25
    >>> second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    >>> round(cohens_kappa(first, second), 10)
    0.4
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.shape != two.shape or one.ndim != 1 or not one.size:
        raise InputError(
            "kappa needs one label of each rater for each item. Fix: give two lists of labels of the same length, "
            "with at least one label."
        )
    categories = np.union1d(one, two)
    expected = sum(float((one == category).mean() * (two == category).mean()) for category in categories)
    if len(categories) == 1:
        raise InputError("all labels of both raters are the same, so kappa is undefined. Fix: leave kappa out.")
    return (float((one == two).mean()) - expected) / (1 - expected)


def repeated_agreement(items: npt.ArrayLike, labels: npt.ArrayLike) -> pd.Series:
    r"""Return the agreement of repeated responses at each item.

    Parameters
    ----------
    items : array, shape (responses,)
        The item of each response.
    labels : array, shape (responses,)
        The category of each response, such as the chosen option.

    Returns
    -------
    Series of float
        The share of pairs of responses with the same label, for each item with two responses or more. The index has
        the items in sorted order.

    Notes
    -----
    If item :math:`i` has :math:`n_i` responses, :math:`n_{ij}` of them with label :math:`j`, the agreement is Fleiss's

    .. math:: P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{n_i (n_i - 1)}.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76, 378-382.

    Examples
    --------
    >>> repeated_agreement(["a", "a", "a", "b"], [1, 1, 2, 1]).round(3).to_dict()
    {'a': 0.333}
    """
    counts = pd.DataFrame({"item": items, "label": labels}).groupby(["item", "label"], sort=True).size()
    of_item = counts.groupby(level="item")
    n = of_item.sum()
    pairs = (counts * (counts - 1)).groupby(level="item").sum()
    repeated = n > 1
    return pairs[repeated] / (n[repeated] * (n[repeated] - 1))


def mean_agreement_interval(
    agreement: Floats, n_responses: Floats, clusters: npt.NDArray[np.int64], confidence: float
) -> Interval:
    r"""Return the interval of the mean agreement of repeated responses over items.

    Parameters
    ----------
    agreement, n_responses : array, shape (items,)
        The agreement at each item (from `repeated_agreement`), and the number of responses to the item, at least 2.
    clusters : array of int, shape (items,)
        The cluster of each item, numbered 0, 1, 2 and so on. Without clusters, give each item its own number.
    confidence
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    With the agreements :math:`P_i` of :math:`J` items, their mean :math:`p`, and :math:`C` clusters, the variance of
    the mean is

    .. math:: v = \frac{C}{C - 1} \sum_c \left(\frac{\sum_{i \in c} (P_i - p)}{J}\right)^2.

    The interval is Wilson's interval with the effective number :math:`p (1 - p) / v` of pairs of responses. This
    number is limited to half the number of responses, because two responses make one independent pair. The quantile is
    that of the t distribution with :math:`C - 1` degrees of freedom. If :math:`v` is 0, the true variance is unknown,
    and each cluster counts as one pair. See `intervals.effective_trials` for the sources.

    Examples
    --------
    >>> low, high = mean_agreement_interval(np.array([1.0, 1, 1, 0]), np.full(4, 2.0), np.arange(4), 0.95)
    >>> round(low, 3), round(high, 3)
    (0.131, 0.984)
    """
    n_clusters, p = int(clusters.max()) + 1, float(agreement.mean())
    residuals = np.bincount(clusters, weights=agreement - p) / len(agreement)
    variance = n_clusters / (n_clusters - 1) * float((residuals**2).sum()) if n_clusters > 1 else 0.0
    if variance < _ROUNDING:
        return wilson(p * n_clusters, n_clusters, confidence)
    tail = 0.5 + confidence / 2
    n = min(p * (1 - p) / variance, float(n_responses.sum()) / 2)
    n *= (float(ndtri(tail)) / float(stdtrit(n_clusters - 1, tail))) ** 2
    return wilson(p * n, n, confidence)


@dataclass(frozen=True)
class ErrorConsistency:
    """Share of items on which two subjects are both right or both wrong, compared with the expected share."""

    observed: float
    """Share of items on which both are right or both are wrong."""
    expected: float
    """The share that is expected from the accuracies of the two subjects if the errors of the subjects are
    independent."""
    kappa: float | None
    """(`observed` - `expected`) / (1 - `expected`); None if a subject is always right or always wrong."""


def error_consistency(first: npt.ArrayLike, second: npt.ArrayLike) -> ErrorConsistency:
    r"""Return the consistency of two subjects' errors, beyond the consistency expected from their accuracies.

    Parameters
    ----------
    first, second : array, shape (items,)
        Correctness of each subject at each item, as 0 and 1 or as truth values. If a subject responded to an item more
        than once, give the share of correct responses.

    Raises
    ------
    InputError
        If there are no items, or `first` and `second` have different lengths.

    Notes
    -----
    Let :math:`x_i` and :math:`y_i` be the correctness of the first and the second subject at item :math:`i`. Let
    :math:`p` and :math:`q` be the accuracies of the two subjects. Then

    .. math::
        c_{obs} = \frac{1}{n} \sum_i x_i y_i + (1 - x_i)(1 - y_i), \quad
        c_{exp} = p q + (1 - p)(1 - q), \quad
        \kappa = \frac{c_{obs} - c_{exp}}{1 - c_{exp}}.

    This kappa is Cohen's kappa for the two categories right and wrong. Kappa is 0 if the errors are independent, and 1
    if both subjects make the same errors. Kappa is negative if the subjects make errors at different items more often
    than by chance. If a subject is always right or always wrong, kappa is not defined. The formula then gives 0 for any
    responses of the other subject, or 0 / 0.

    References
    ----------
    Geirhos, R., Meding, K., & Wichmann, F. A. (2020). Beyond accuracy: Quantifying trial-by-trial behaviour of CNNs
    and humans by measuring error consistency. Advances in Neural Information Processing Systems, 33.

    Examples
    --------
    Each of two subjects is right on 4 of 6 items, and both subjects are wrong on one item. So the subjects agree on 4/6
    of the items; the expected share is 5/9:

    >>> both = error_consistency([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0])
    >>> round(both.observed, 4), round(both.expected, 4), round(both.kappa, 4)
    (0.6667, 0.5556, 0.25)
    """
    one, two = np.asarray(first, dtype="float64"), np.asarray(second, dtype="float64")
    if one.shape != two.shape or one.ndim != 1 or not one.size:
        raise InputError(
            "error consistency needs one value of each subject for each item. Fix: give two lists of values of the "
            "same length, with at least one value."
        )
    observed = (one * two + (1 - one) * (1 - two)).mean()
    expected, kappa = beyond_expected(observed, one.mean(), two.mean())
    return ErrorConsistency(float(observed), float(expected), None if np.isnan(kappa) else float(kappa))


def beyond_expected(observed: npt.ArrayLike, p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the expected agreement and the kappa of `error_consistency` for many pairs of subjects.

    Parameters
    ----------
    observed, p, q : array of float, shape (pairs,)
        `observed` is the observed agreement of each pair. `p` and `q` are the accuracies of the two subjects of each
        pair, on the same items.

    Returns
    -------
    expected, kappa : array of float, shape (pairs,)
        Kappa is NaN if a subject is always right or always wrong.

    Examples
    --------
    >>> expected, kappa = beyond_expected([0.75, 0.5], [0.5, 0.5], [0.5, 1.0])
    >>> expected.tolist(), kappa.tolist()
    ([0.5, 0.5], [0.5, nan])
    """
    agreed, first, second = (np.asarray(values, dtype="float64") for values in (observed, p, q))
    expected = first * second + (1 - first) * (1 - second)
    is_constant = np.isclose(first * (1 - first) * second * (1 - second), 0, rtol=0, atol=1e-12)
    return expected, (agreed - expected) / np.where(is_constant, np.nan, 1 - expected)


@dataclass(frozen=True)
class Correlation:
    """A correlation and its interval."""

    value: float
    interval: Interval | None
    """The confidence interval; None if too few items have different values, or if the correlation is 1 or -1."""
    why_no_interval: str = ""
    """The reason why there is no interval."""


def pearson(x: Floats, y: Floats, confidence: float) -> Correlation:
    r"""Return Pearson's correlation of two variables over items, with a jackknife interval.

    Parameters
    ----------
    x, y : array of float, shape (items,)
        The two variables, with one value for each item.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Raises
    ------
    InputError
        If there are fewer than 3 items, or all items have the same x, or all items have the same y.

    Notes
    -----
    The interval generalizes to other items. The jackknife leaves out one of the :math:`m` items at a time. It gives the
    standard error of Fisher's :math:`z = \operatorname{artanh} r`. The standard error is set to at least :math:`1 /
    \sqrt{m - 3}`, the standard error for two normally distributed variables. The interval is :math:`z` ± t standard
    errors with :math:`m - 1` degrees of freedom, transformed back. There is no interval if fewer than
    `FEWEST_DIFFERENT` items differ from the most frequent value of x, or of y.

    References
    ----------
    Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall. Chapter 11.
    Fisher, R. A. (1921). On the probable error of a coefficient of correlation deduced from a small sample. Metron, 1,
    3-32.

    Examples
    --------
    >>> x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    >>> round(pearson(x, y, 0.95).value, 10)
    0.8
    """
    return _correlation(x, y, confidence, ranked=False)


def spearman(x: Floats, y: Floats, confidence: float) -> Correlation:
    """Return Spearman's rank correlation of two variables over items, with a jackknife interval.

    The parameters, the errors and the interval are the same as in `pearson`. Equal values have the mean of their
    ranks. The jackknife computes the ranks again without each item.

    References
    ----------
    Spearman, C. (1904). The proof and measurement of association between two things. American Journal of Psychology,
    15, 72-101.

    Examples
    --------
    >>> x, y = np.array([1.0, 2, 3, 4, 50]), np.array([2.0, 1, 4, 3, 5])
    >>> round(spearman(x, y, 0.95).value, 10)
    0.8
    """
    return _correlation(x, y, confidence, ranked=True)


def _correlation(x: Floats, y: Floats, confidence: float, *, ranked: bool) -> Correlation:
    if len(x) != len(y) or len(x) < 3:
        raise InputError("a correlation needs at least 3 items, with two values of each item. Fix: collect more items.")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(
            "one of the two variables has the same value for all items, so the correlation cannot be computed. Fix: "
            "leave the correlation out."
        )
    # Items with the same two values are exchangeable, so only one of them is left out.
    scaled = np.column_stack([(values - values.min()) / np.ptp(values) for values in (x, y)])
    pairs, n_alike = np.unique(scaled, axis=0, return_counts=True)
    value = float(_weighted_correlations(pairs, n_alike[None, :], ranked=ranked)[0])
    n_different = min(len(values) - np.unique(values, return_counts=True)[1].max() for values in (x, y))
    if n_different < FEWEST_DIFFERENT:
        why = f"fewer than {FEWEST_DIFFERENT} items differ from the most frequent value of one of the two variables"
        return Correlation(value, None, why)
    at_once = max(1, _NUMBERS_AT_ONCE // len(pairs))
    without = np.concatenate([
        _weighted_correlations(pairs, n_alike - one, ranked=ranked)
        for one in np.array_split(np.eye(len(pairs), dtype="int64"), -(-len(pairs) // at_once))
    ])  # fmt: skip
    if max(abs(value), np.abs(without).max()) > 1 - 1e-12:  # Fisher's z would be infinite.
        when = "" if abs(value) > 1 - 1e-12 else " without one of the items"
        return Correlation(value, None, f"the correlation is 1 or −1{when}")
    n = len(x)
    z = np.arctanh(without)
    variance = (n - 1) / n * (n_alike * (z - np.average(z, weights=n_alike)) ** 2).sum()
    half = stdtrit(n - 1, 0.5 + confidence / 2) * np.sqrt(max(variance, 1 / (n - 3)))
    low, high = np.tanh([np.arctanh(value) - half, np.arctanh(value) + half])
    return Correlation(value, Interval(float(low), float(high)))


def _weighted_correlations(pairs: Floats, weights: npt.NDArray[np.int64], *, ranked: bool) -> Floats:
    """Return one correlation for each row of `weights`. A row states how often each pair of values counts.

    The correlation is NaN if one of the two variables is constant.
    """
    total = weights.sum(axis=1, keepdims=True)
    centred = []
    for column in pairs.T:
        values = _ranks(column, weights) if ranked else np.broadcast_to(column, weights.shape)
        centred.append(values - (weights * values).sum(axis=1, keepdims=True) / total)
    first, second = centred
    variances = (weights * first**2).sum(axis=1) * (weights * second**2).sum(axis=1)
    products = (weights * first * second).sum(axis=1)
    scale = np.sqrt(np.where(variances > _ROUNDING, variances, np.nan))
    correlations: Floats = np.clip(products / scale, -1.0, 1.0)
    return correlations


def _ranks(column: Floats, weights: npt.NDArray[np.int64]) -> Floats:
    """Return the mean rank of each value, for each row of `weights`. A row states how often each value counts."""
    dense = np.unique(column, return_inverse=True)[1]
    n_of_value = np.zeros((len(weights), dense.max() + 1))
    for place, rank in enumerate(dense):
        n_of_value[:, rank] += weights[:, place]
    mean_rank = n_of_value.cumsum(axis=1) - (n_of_value - 1) / 2
    ranks: Floats = mean_rank[:, dense]
    return ranks


def split_half_reliability(
    participant: npt.ArrayLike, item: npt.ArrayLike, correct: npt.ArrayLike, *, splits: int = 1_000, seed: int = 1
) -> float:
    r"""Return the reliability of items' accuracies, from correlations between random halves of the participants.

    Parameters
    ----------
    participant, item : array of labels, shape (responses,)
        Participant and item of each response.
    correct : array, shape (responses,)
        Correctness of the response, as 0 and 1 or as truth values.
    splits, seed : int
        Number of random splits, and their seed.

    Returns
    -------
    float
        The expected correlation between the item accuracies of these participants and the item accuracies of the same
        number of other participants. If the halves do not agree at all, the result is 0. The reliability does not
        depend on the order of the responses.

    Raises
    ------
    InputError
        If there are fewer than 2 participants. Also if no split has a correlation. For a correlation, both halves must
        have responded to at least 3 common items, and the accuracies at these items must differ.

    Notes
    -----
    In each split, :math:`r` is Pearson's correlation between the item accuracies of the two halves. Only the items that
    both halves responded to are used. The Spearman-Brown formula extrapolates the mean :math:`\bar r` over the splits
    to the full number of participants:

    .. math:: \rho = \frac{2 \bar r}{1 + \bar r}.

    The expected correlation between these item accuracies and any other measure of the items is at most
    :math:`\sqrt{\rho}`. This is also true for the item accuracies of a model, even if the model is like people.

    References
    ----------
    Spearman, C. (1910). Correlation calculated from faulty data. British Journal of Psychology, 3, 271-295.
    Brown, W. (1910). Some experimental results in the correlation of mental abilities. British Journal of Psychology,
    3, 296-322.

    Examples
    --------
    Four participants who all miss the same items agree in every split:

    >>> who, what = np.repeat(["a", "b", "c", "d"], 5), np.tile(np.arange(5), 4)
    >>> round(split_half_reliability(who, what, [1, 1, 0, 0, 1] * 4), 10)
    1.0
    """
    who, participants = pd.factorize(np.asarray(participant), sort=True)
    what, items = pd.factorize(np.asarray(item), sort=True)
    if len(participants) < 2:
        raise InputError("a split-half reliability needs at least 2 participants. Fix: collect more participants.")
    shape = len(items), len(participants)
    answered = csr_array((np.ones(len(who)), (what, who)), shape=shape)
    right = csr_array((np.asarray(correct, dtype="float64"), (what, who)), shape=shape)
    everybody = np.ones(len(participants))
    n_all, k_all = answered @ everybody, right @ everybody
    rng = np.random.default_rng(seed)
    halves = np.arange(len(participants)) % 2
    correlations: list[float] = []
    for _ in range(splits):
        chosen = rng.permutation(halves)
        n_first, k_first = answered @ chosen, right @ chosen
        n_second, k_second = n_all - n_first, k_all - k_first
        both = (n_first > 0) & (n_second > 0)
        x, y = k_first[both] / n_first[both], k_second[both] / n_second[both]
        if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
            correlations.append(np.corrcoef(x, y)[0, 1])
    if not correlations:
        raise InputError(
            "a split-half reliability needs at least 3 items to which both halves of the participants responded, and "
            "these items must differ in accuracy. Fix: collect more data."
        )
    mean = max(float(np.mean(correlations)), 0.0)
    return 2 * mean / (1 + mean)
