"""Estimation of a cumulative logit model (proportional odds), with or without random intercepts.

No Python library fits this model with random effects. The likelihood is the same as in R's package ordinal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.linalg import cho_solve
from scipy.special import expit, logit

from analysis.statistics.mixed_models.design_matrix import Codes, Floats
from batteries.errors import InputError

MOST_GROUPS = 2_000
"""Largest number of levels of all random intercepts together. The computing time grows with the third power of this
number.
"""
MOST_STEPS = 200
SMALLEST_STEP = 1e-10
GRADIENT_TOLERANCE = 1e-3
"""The search has converged if the absolute value of each derivative of the log-likelihood is below this number."""
ZERO_SD = 1e-3
"""If the standard deviation of a random intercept is below this number, it is reported as 0."""
STEP_OF_HESSIAN = 1e-4


@dataclass(frozen=True, eq=False)
class CumulativeLogit:
    """Estimates of a cumulative logit model."""

    thresholds: Floats
    """Thresholds between neighbouring categories, shape (categories - 1,)."""
    slopes: Floats
    """Coefficients of the columns of the design matrix, shape (p,)."""
    covariance: Floats
    """Covariance of thresholds and slopes, shape (categories - 1 + p,) * 2."""
    sds: Floats
    """Standard deviation of each random intercept."""
    loglik: float
    converged: bool


def fit_cumulative_logit(categories: Codes, design: Floats, groups: Sequence[Codes]) -> CumulativeLogit:
    r"""Fit a cumulative logit model by maximum likelihood.

    Parameters
    ----------
    categories : array of int, shape (n,)
        The category of each row as a number; 0 is the lowest category. Each category has at least one row.
    design : array of float, shape (n, p)
        The columns of the design matrix, without an intercept, because the thresholds replace it. No column is a
        linear combination of other columns and a constant.
    groups : sequence of arrays of int, shape (n,)
        One array for each random intercept, with the number of each row's group.

    Raises
    ------
    InputError
        If there are more than `MOST_GROUPS` groups.

    Notes
    -----
    .. math:: \Pr(y_i \le k) = \frac{1}{1 + e^{-(\alpha_k - \eta_i)}}, \quad
        \eta = X\beta + \sum_g \sigma_g Z_g u_g, \quad u_g \sim N(0, I).

    So a positive coefficient means higher categories, and :math:`e^\beta` is the odds ratio of a category above
    :math:`k`, for every :math:`k`. Let :math:`h(u)` be the log-density of the categories and of :math:`u` together,
    with its maximum at :math:`\hat u`, and :math:`A = -h''(\hat u)`. Laplace's approximation of the log-likelihood is

    .. math:: \ell = h(\hat u) - \tfrac12 \log \det A.

    The search uses the gradient of :math:`\ell`. The covariance is the inverse of the negative Hessian, which is
    computed from differences of the gradient. R's ``ordinal::clmm`` gives the same results; without random intercepts,
    ``ordinal::clm`` does.

    References
    ----------
    McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society: Series B, 42,
    109-142.
    Tutz, G., & Hennevogl, W. (1996). Random effects in ordinal regression models. Computational Statistics & Data
    Analysis, 22, 537-557.
    Christensen, R. H. B. (2022). ordinal: Regression models for ordinal data [Computer software].

    Examples
    --------
    Without predictors, the thresholds are the log-odds of the cumulative proportions, here 1/4 and 3/4.

    >>> model = fit_cumulative_logit(np.array([0, 1, 1, 2]), np.empty((4, 0)), [])
    >>> model.thresholds.round(4).tolist(), round(model.loglik, 4)
    ([-1.0986, 1.0986], -4.1589)
    """
    n_groups = sum(int(codes.max()) + 1 for codes in groups)
    if n_groups > MOST_GROUPS:
        raise InputError(
            f"the random intercepts of an ordinal model have {n_groups:,} levels together, but at most {MOST_GROUPS:,} "
            "are possible. Fix: use fewer random intercepts."
        )
    # The search is easiest with standardized columns.
    means, scales = design.mean(axis=0), design.std(axis=0)
    likelihood = _Likelihood(categories, (design - means) / scales, groups)
    shares = np.cumsum(np.bincount(categories))[:-1] / len(categories)
    start = np.concatenate([logit(shares), np.zeros(design.shape[1]), np.ones(len(groups))])
    found = scipy.optimize.minimize(
        likelihood.negative,
        likelihood.searched(start),
        jac=True,
        method="BFGS",
        options={"gtol": GRADIENT_TOLERANCE / 100, "maxiter": 1_000},
    )
    parameters = likelihood.parameters(found.x)
    loglik, gradient = likelihood.with_gradient(parameters)
    n_thresholds, n_fixed = len(shares), len(shares) + design.shape[1]
    # From standardized columns to the columns: slopes are divided by scales, and thresholds move by the means.
    back = np.eye(n_fixed)
    back[n_thresholds:, n_thresholds:] = np.diag(1 / scales)
    back[:n_thresholds, n_thresholds:] = means / scales
    fixed = back @ parameters[:n_fixed]
    covariance = back @ likelihood.covariance(parameters)[:n_fixed, :n_fixed] @ back.T
    return CumulativeLogit(
        thresholds=fixed[:n_thresholds],
        slopes=fixed[n_thresholds:],
        covariance=covariance,
        sds=np.where(np.abs(parameters[n_fixed:]) < ZERO_SD, 0.0, np.abs(parameters[n_fixed:])),
        loglik=loglik,
        converged=bool(np.abs(gradient).max() < GRADIENT_TOLERANCE and np.isfinite(covariance).all()),
    )


class _Likelihood:
    """The likelihood of thresholds, slopes and standard deviations of random intercepts, in this order."""

    def __init__(self, categories: Codes, design: Floats, groups: Sequence[Codes]) -> None:
        self.categories, self.design, self.groups = categories, design, groups
        self.n_thresholds = int(categories.max())
        self.sizes = [int(codes.max()) + 1 for codes in groups]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.effects: Floats = np.zeros(int(self.starts[-1]))
        """The random intercepts at the last computed likelihood. The next search for random intercepts starts there."""

    def searched(self, parameters: Floats) -> Floats:
        """Return the parameters for the search.

        Logarithms of the distances between thresholds keep the thresholds in order.
        """
        thresholds, others = np.split(parameters, [self.n_thresholds])
        return np.concatenate([thresholds[:1], np.log(np.diff(thresholds)), others])

    def parameters(self, searched: Floats) -> Floats:
        """Return the parameters from the result of `searched`."""
        first, distances, others = np.split(searched, [1, self.n_thresholds])
        return np.concatenate([first, first + np.cumsum(np.exp(distances)), others])

    def negative(self, searched: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood and its gradient with respect to the searched parameters."""
        loglik, gradient = self.with_gradient(self.parameters(searched))
        of_thresholds = np.cumsum(gradient[: self.n_thresholds][::-1])[::-1]
        of_thresholds[1:] *= np.exp(searched[1 : self.n_thresholds])
        return -loglik, -np.concatenate([of_thresholds, gradient[self.n_thresholds :]])

    def covariance(self, parameters: Floats) -> Floats:
        """Return the inverse of the negative Hessian.

        If the negative Hessian is not positive definite, all values are NaN.
        """
        rows = []
        for place in range(len(parameters)):
            step = np.zeros(len(parameters))
            step[place] = STEP_OF_HESSIAN
            above, below = (self.with_gradient(parameters + sign * step)[1] for sign in (1, -1))
            rows.append((below - above) / (2 * STEP_OF_HESSIAN))
        information = (np.array(rows) + np.array(rows).T) / 2
        if not np.isfinite(information).all() or np.linalg.eigvalsh(information).min() <= 0:
            return np.full_like(information, np.nan)
        return np.asarray(np.linalg.inv(information), dtype=np.float64)

    def with_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood (Laplace's approximation) and its gradient."""
        thresholds, slopes, sds = np.split(parameters, [self.n_thresholds, len(parameters) - len(self.groups)])
        bounds = np.concatenate([[-np.inf], thresholds, [np.inf]])
        fixed = self.design @ slopes
        effects, factor = self._mode(bounds, fixed, sds)
        rows = _Rows(bounds, self.categories, fixed + self._sum(effects, sds))
        loglik = float(rows.log_probabilities.sum() - effects @ effects / 2 - np.log(np.diag(factor)).sum())

        inverse = cho_solve((factor, True), np.eye(len(effects)))
        # For each random intercept g: sum over h of sd_h times the inverse of A at the row's groups in g and h.
        crossed = [
            sum(
                sd * inverse[self.starts[g] + codes, self.starts[h] + others]
                for h, (others, sd) in enumerate(zip(self.groups, sds, strict=True))
            )
            for g, codes in enumerate(self.groups)
        ]
        leverages = sum((sd * one for sd, one in zip(sds, crossed, strict=True)), np.zeros(len(fixed)))
        bent = leverages * rows.weight_slopes
        # The random intercepts depend on the parameters; `adjoint` is the effect of this on the determinant.
        solved = inverse @ self._sums(bent, sds)
        adjoint = self._sum(solved, sds)
        upper, lower = (
            np.bincount(self.categories, one, self.n_thresholds + 1) for one in rows.of_bounds(leverages, adjoint)
        )
        of_thresholds = upper[:-1] + lower[1:]
        of_slopes = self.design.T @ (rows.scores - (bent - rows.weights * adjoint) / 2)
        of_sds = []
        for g, codes in enumerate(self.groups):
            own = slice(self.starts[g], self.starts[g + 1])
            values = effects[own][codes]
            determinant = 2 * rows.weights @ crossed[g] + values @ (bent - rows.weights * adjoint)
            determinant += solved[own] @ np.bincount(codes, rows.scores, self.sizes[g])
            of_sds.append(values @ rows.scores - determinant / 2)
        return loglik, np.concatenate([of_thresholds, of_slopes, of_sds])

    def _mode(self, bounds: Floats, fixed: Floats, sds: Floats) -> tuple[Floats, Floats]:
        """Return the most probable random intercepts, and the Cholesky factor of the matrix A (Newton's method)."""
        effects = self.effects
        rows = _Rows(bounds, self.categories, fixed + self._sum(effects, sds))
        value = rows.log_probabilities.sum() - effects @ effects / 2
        for _ in range(MOST_STEPS):
            factor = _cholesky(self._information(rows.weights, sds))
            step = cho_solve((factor, True), self._sums(rows.scores, sds) - effects)
            for _ in range(MOST_STEPS):  # The density is concave, so a short enough step is always upward.
                rows = _Rows(bounds, self.categories, fixed + self._sum(effects + step, sds))
                new = rows.log_probabilities.sum() - (effects + step) @ (effects + step) / 2
                if new >= value - 1e-9 * abs(value):
                    break
                step = step / 2
            effects, value = effects + step, new
            if np.abs(step).max(initial=0.0) < SMALLEST_STEP:
                break
        self.effects = effects
        return effects, _cholesky(self._information(rows.weights, sds))

    def _sum(self, effects: Floats, sds: Floats) -> Floats:
        """Return the sum of each row's random intercepts, multiplied by their standard deviations."""
        parts = (sd * effects[start + codes] for sd, start, codes in zip(sds, self.starts, self.groups, strict=False))
        return sum(parts, np.zeros(len(self.categories)))

    def _sums(self, values: Floats, sds: Floats) -> Floats:
        """Return the sum of `values` in each group, multiplied by the standard deviation of the random intercept."""
        parts = [sd * np.bincount(codes, values) for sd, codes in zip(sds, self.groups, strict=True)]
        return np.concatenate([np.empty(0), *parts])

    def _information(self, weights: Floats, sds: Floats) -> Floats:
        """Return A: the negative second derivative of the log-density with respect to the random intercepts."""
        information = np.eye(int(self.starts[-1]))
        for g, codes in enumerate(self.groups):
            for h, others in enumerate(self.groups):
                cells = np.bincount(codes * self.sizes[h] + others, weights, self.sizes[g] * self.sizes[h])
                place = slice(self.starts[g], self.starts[g + 1]), slice(self.starts[h], self.starts[h + 1])
                information[place] += sds[g] * sds[h] * cells.reshape(self.sizes[g], self.sizes[h])
        return information


class _Rows:
    """The log-probability of each row's category, and its derivatives with respect to the linear predictor."""

    def __init__(self, bounds: Floats, categories: Codes, predictor: Floats) -> None:
        high, low = bounds[categories + 1] - predictor, bounds[categories] - predictor
        self.above, self.below = expit(high), expit(low)
        # F(high) - F(low) without cancellation far from 0: (e^high - e^low) / ((1 + e^high) (1 + e^low)).
        self.log_probabilities = _log_expit(high) + _log_expit(-low) + np.log(-np.expm1(low - high))
        self.dense_above, self.dense_below = self.above * (1 - self.above), self.below * (1 - self.below)
        self.scores = self.above + self.below - 1
        self.weights = self.dense_above + self.dense_below
        self.bent_above, self.bent_below = (
            dense * (1 - 2 * share) for dense, share in ((self.dense_above, self.above), (self.dense_below, self.below))
        )
        self.weight_slopes = -(self.bent_above + self.bent_below)

    def of_bounds(self, leverages: Floats, adjoint: Floats) -> tuple[Floats, Floats]:
        """Return each row's part of the gradient for the threshold above its category, and for the threshold below."""
        probabilities = np.exp(self.log_probabilities)
        of_above = self.dense_above / probabilities - (leverages * self.bent_above + self.dense_above * adjoint) / 2
        of_below = -self.dense_below / probabilities - (leverages * self.bent_below + self.dense_below * adjoint) / 2
        return of_above, of_below


def _cholesky(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)


def _log_expit(values: Floats) -> Floats:
    return -np.logaddexp(0.0, -values)
