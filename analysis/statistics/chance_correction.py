"""Accuracy on scales that start at chance: from chance to 1, and from chance to the accuracy of people."""

import math
from typing import NamedTuple

from analysis.statistics.intervals import Interval, mover_ratio


class Estimate(NamedTuple):
    """An estimate with its confidence interval. Missing numbers are NaN."""

    value: float
    low: float
    high: float


MISSING = Estimate(math.nan, math.nan, math.nan)


def chance_corrected(accuracy: float, interval: Interval, chance: float) -> Estimate:
    r"""Return an accuracy on a scale on which chance is 0 and all responses correct is 1.

    Parameters
    ----------
    accuracy : float
        Proportion of correct trials.
    interval : Interval
        Interval of the accuracy.
    chance : float
        Mean chance level of the same trials with the same weights: the probability that a random response is correct.

    Returns
    -------
    Estimate
        The value is negative for an accuracy below chance. All numbers are missing if the chance level is missing or 1.

    Notes
    -----
    With the accuracy :math:`p` and the chance level :math:`g`, the value is :math:`(p - g) / (1 - g)`. Each bound of
    the interval is converted in the same way. The chance level is a property of the items, so it is treated as known.
    Cohen's kappa has the same form, with the expected agreement as :math:`g`. If a respondent either knows the right
    response or guesses at random, the value is the probability of knowing. If items have different chance levels, the
    value is a weighted mean over items. The weight of an item is proportional to 1 minus the chance level of the item.

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement, 20,
    37-46.
    Frary, R. B. (1988). Formula scoring of multiple-choice tests (correction for guessing). Educational Measurement:
    Issues and Practice, 7(2), 33-38.

    Examples
    --------
    An accuracy of 70 % in items with four options:

    >>> [round(number, 3) for number in chance_corrected(0.7, Interval(0.55, 0.85), 0.25)]
    [0.6, 0.4, 0.8]
    """
    if math.isnan(chance) or chance >= 1:
        return MISSING
    return Estimate(*((share - chance) / (1 - chance) for share in (accuracy, *interval)))


def normalized_accuracy(
    model: float,
    model_interval: Interval,
    people: float,
    people_interval: Interval,
    chance: float,
    correlation: float = 0.0,
) -> Estimate:
    r"""Return a model's accuracy on a scale on which chance is 0 and the accuracy of people is 1.

    Parameters
    ----------
    model, people : float
        Accuracies at the same items with the same weights.
    model_interval, people_interval : Interval
        Intervals of the two accuracies.
    chance : float
        Mean chance level of the same items with the same weights.
    correlation : float
        Correlation between the errors of the two estimated accuracies; 0 if they are independent.

    Returns
    -------
    Estimate
        All numbers are missing if the chance level is missing, or if people's accuracy is not above chance. The bounds
        are infinite if the interval of people's accuracy reaches chance.

    Notes
    -----
    The value is :math:`(p_m - g) / (p_h - g)` for the accuracies :math:`p_m` of the model and :math:`p_h` of people,
    and the chance level :math:`g`. This is the human-normalized score of Mnih et al. (2015). The interval is the MOVER
    interval of a ratio (`intervals.mover_ratio`); the chance level is treated as known.

    References
    ----------
    Mnih, V., et al. (2015). Human-level control through deep reinforcement learning. Nature, 518, 529-533.

    Examples
    --------
    >>> found = normalized_accuracy(0.55, Interval(0.45, 0.65), 0.85, Interval(0.8, 0.9), 0.25)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.5, 0.331, 0.676)
    """
    if math.isnan(chance) or people <= chance:
        return MISSING
    above = [Interval(low - chance, high - chance) for low, high in (model_interval, people_interval)]
    bounds = mover_ratio(model - chance, above[0], people - chance, above[1], correlation)
    return Estimate((model - chance) / (people - chance), *bounds)
