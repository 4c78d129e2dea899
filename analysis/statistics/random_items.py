"""Confidence intervals of a proportion that generalize to other participants and to other items.

The responses of one participant are not independent, and neither are the responses to one item.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from analysis.statistics.intervals import Counts, Floats, Interval, wilson


@dataclass(frozen=True)
class CrossedProportion:
    """A proportion that is pooled over the responses of several participants to several items."""

    proportion: float
    n_effective: float
    """Number of independent trials with which the proportion would be as precise."""
    df: float
    """Degrees of freedom of the variance."""
    item_parts: Floats
    """For each item, the sum of the deviations of its responses from the proportion, divided by the number of all
    trials.
    """

    def interval(self, confidence: float) -> Interval:
        """Return Wilson's interval, computed with the effective number of trials and the quantile of t."""
        tail = 0.5 + confidence / 2
        n = self.n_effective * (float(ndtri(tail)) / float(stdtrit(self.df, tail))) ** 2
        return wilson(self.proportion * n, n, confidence)

    @property
    def variance(self) -> float:
        """Variance of the proportion; 0 if the variance is unknown."""
        return self.proportion * (1 - self.proportion) / self.n_effective


def crossed_proportion(correct: Floats, participants: Counts, items: Counts) -> CrossedProportion:
    r"""Return the proportion of correct trials, with its precision over participants and items.

    Parameters
    ----------
    correct : array of float, shape (trials,)
        1 for a correct trial, 0 for any other trial.
    participants, items : array of int, shape (trials,)
        The participant and the item of each trial, numbered 0, 1, 2 and so on. Clusters of items may be given instead
        of items.

    Notes
    -----
    Let :math:`p` be the proportion of correct trials among :math:`N` trials, and let :math:`e` be the response of a
    trial minus :math:`p`. For one way to group the trials into :math:`G` groups, the variance of :math:`p` is

    .. math:: v = \frac{G}{G - 1} \sum_g \left(\frac{\sum_{t \in g} e_t}{N}\right)^2.

    Let :math:`v_P` be the variance with the participants as groups, :math:`v_I` with the items, and :math:`v_{PI}`
    with the pairs of participant and item. The variance over both is :math:`v_P + v_I - v_{PI}` (Cameron et al.,
    2011). If this variance is smaller than :math:`v_P`, :math:`v_I` or the variance :math:`p (1 - p) / N` of
    independent trials, the largest of the three is used instead. The effective number of trials is :math:`p (1 - p)`
    divided by the variance.

    The degrees of freedom follow Satterthwaite's formula for :math:`v_P + v_I`. Each of the two variances has
    :math:`N^2 / \sum n_g^2 - 1` degrees of freedom, where :math:`n_g` is the number of trials in group :math:`g`.

    If all trials are correct, or all are incorrect, or if there is only one item, the variance over items is unknown.
    Then the trials of an item count as one trial: the effective number of trials is :math:`N^2 / \sum n_g^2`, with the
    items as groups. With one participant, :math:`v_P` and :math:`v_{PI}` are left out.

    References
    ----------
    Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. Journal of
    Business & Economic Statistics, 29, 238-249.
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin,
    2, 110-114.

    Examples
    --------
    Two participants, who both have the same two of four items right:

    >>> people, items = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    >>> crossed = crossed_proportion(np.tile([1.0, 1.0, 0.0, 0.0], 2), people, items)
    >>> round(crossed.n_effective, 2), round(crossed.df, 2)
    (3.0, 3.0)
    """
    n = len(correct)
    p = float(correct.mean())
    parts = {"people": _parts(correct - p, participants), "items": _parts(correct - p, items)}
    dfs = {"people": _n_groups(participants) - 1, "items": _n_groups(items) - 1}
    n_items = dfs["items"] + 1
    if p in (0.0, 1.0) or len(parts["items"]) == 1:
        return CrossedProportion(p, n_items, max(n_items - 1, 1), parts["items"])
    of_items = _variance(parts["items"])
    of_people = of_both = 0.0
    if len(parts["people"]) > 1:
        of_people = _variance(parts["people"])
        pairs = np.unique(participants * (int(items.max()) + 1) + items, return_inverse=True)[1]
        of_both = _variance(_parts(correct - p, pairs))
    variance = max(of_people + of_items - of_both, of_people, of_items, p * (1 - p) / n)
    per_df = of_items**2 / dfs["items"] + (of_people**2 / max(dfs["people"], 1e-9) if of_people else 0.0)
    df = (of_people + of_items) ** 2 / per_df if per_df else dfs["items"]
    return CrossedProportion(p, p * (1 - p) / variance, max(df, 1.0), parts["items"])


def correlation_over_items(people: CrossedProportion, model_parts: Floats) -> float:
    r"""Return the correlation between the proportions of people and of a model at the same items.

    People and models tend to be right at the same items. So the interval of their difference takes this correlation
    into account.

    Parameters
    ----------
    people
        The proportion of people, from `crossed_proportion`.
    model_parts : array of float, shape (items,)
        The same parts as `people.item_parts` for the model, with the items in the same order.

    Notes
    -----
    With the parts :math:`a_j` and :math:`b_j` of :math:`J` items, the covariance is :math:`J / (J - 1) \sum_j a_j
    b_j`. The correlation is the covariance, divided by people's standard error and the model's standard error over
    items. The correlation is 0 if one of these standard errors is unknown.
    """
    n_items = len(model_parts)
    scale = math.sqrt(people.variance * _variance(model_parts)) if n_items > 1 else 0.0
    covariance = n_items / max(n_items - 1, 1) * float(people.item_parts @ model_parts)
    return min(max(covariance / scale, -1.0), 1.0) if scale else 0.0


def _parts(errors: Floats, groups: Counts) -> Floats:
    sums: Floats = np.bincount(groups, weights=errors) / len(errors)
    return sums


def _variance(parts: Floats) -> float:
    return len(parts) / (len(parts) - 1) * float((parts**2).sum())


def _n_groups(groups: Counts) -> float:
    sizes = np.bincount(groups).astype("float64")
    return float(sizes.sum() ** 2 / (sizes**2).sum())
