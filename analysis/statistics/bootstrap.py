"""The bootstrap: sums over resampled units. A statistic of all resamples can be computed from these sums at once."""

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

_NUMBERS_AT_ONCE = 2_000_000


def resampled_sums(values: npt.NDArray[np.int64] | Floats, resamples: int, seed: int) -> Floats:
    r"""Return the sums of values over units that are resampled with replacement.

    A resample has as many units as the data.

    Parameters
    ----------
    values : array, shape (units, columns)
        The values to be summed, with one row for each unit. For instance, a participant's row has the number of correct
        responses and the number of trials.
    resamples, seed : int
        Number of resamples, and the seed.

    Returns
    -------
    array of float, shape (resamples, columns)
        The sums of each resample. The sums do not depend on the order of the units.

    Notes
    -----
    Units with the same values are exchangeable. Let the :math:`n` units have :math:`m` different rows of values, and
    let :math:`n_j` units have row :math:`j`. The numbers of units with each row in a resample follow a multinomial
    distribution with :math:`n` trials and probabilities :math:`n_j / n`. The function draws these numbers instead of
    single units. The distribution of the sums is the same as in the usual bootstrap, but the computation time depends
    on :math:`m` instead of :math:`n`.

    References
    ----------
    Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall.

    Examples
    --------
    Equal units have the same sum in every resample:

    >>> resampled_sums(np.array([[1, 2], [1, 2], [1, 2]]), resamples=2, seed=1)
    array([[3., 6.],
           [3., 6.]])

    The mean of 1 and 3 is 1, 2 or 3, with probabilities of 1/4, 1/2 and 1/4:

    >>> sums = resampled_sums(np.array([[1, 1], [3, 1]]), resamples=100_000, seed=1)
    >>> means, counts = np.unique(sums[:, 0] / sums[:, 1], return_counts=True)
    >>> means.tolist(), (counts / 100_000).round(2).tolist()
    ([1.0, 2.0, 3.0], [0.25, 0.5, 0.25])
    """
    alike = pd.DataFrame(np.asarray(values, dtype="float64")).groupby(list(range(values.shape[1]))).size()
    rows, n_alike = alike.index.to_frame().to_numpy(), alike.to_numpy()
    generator = np.random.default_rng(seed)
    at_once = max(1, _NUMBERS_AT_ONCE // len(rows))
    sums = [
        generator.multinomial(n_alike.sum(), n_alike / n_alike.sum(), size=min(at_once, resamples - start)) @ rows
        for start in range(0, resamples, at_once)
    ]
    return np.concatenate(sums)
