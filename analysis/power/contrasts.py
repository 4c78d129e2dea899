"""Power of a paired t test of the participants' accuracies, from simulated responses."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.data.row_filters import levels_of
from analysis.power.simulated_responses import Bools, Effect, Floats, PlannedTrials
from analysis.power.simulation import Outcome, PowerAnalysis, Run
from analysis.statistics.equivalence import equivalence_of_difference
from analysis.statistics.factor_levels import level_text
from analysis.statistics.t_tests import difference_from, one_sample_t
from batteries.errors import InputError
from experiment.study.planned_analyses import Level


def contrast_t(trials: PlannedTrials, effects: Sequence[Effect]) -> PowerAnalysis:
    r"""Return the power analysis of a t test of the first effect, with one contrast per participant.

    For an effect at a level of one factor, the test compares the participants' accuracies at this level and at the
    reference level. For an effect at levels of several factors, it tests their interaction, such as the difference
    between two differences. The reference level of a factor is its first level without an effect.

    Parameters
    ----------
    trials : PlannedTrials
        The trials.
    effects : sequence of Effect
        The effects that are simulated. Only the first effect is tested.

    Raises
    ------
    InputError
        If every level of a factor has an effect, so that there is no reference level. Also if no participant has
        trials in all compared cells.

    Notes
    -----
    The factors of the first effect divide the trials into cells. In a cell :math:`c`, each factor has the level of the
    effect or the reference level. Let :math:`k_c` be the number of reference levels in cell :math:`c`, and
    :math:`m_{pc}` the accuracy of participant :math:`p` in cell :math:`c`. A one-sample t test compares the contrast
    :math:`\sum_c (-1)^{k_c} m_{pc}` with 0. Participants who lack trials in a cell are left out.

    Examples
    --------
    >>> from analysis.power.simulated_responses import planned_trials
    >>> import pandas as pd
    >>> design = pd.DataFrame({"group": 1, "item_id": ["a", "b", "c"], "condition": ["A", "A", "B"]})
    >>> test = contrast_t(planned_trials(design, 3), [Effect({"condition": "B"}, -0.1)])
    >>> test.title
    'paired t test of accuracy at condition = B against condition = A'

    The participants' differences are 1/2, 1/2 and -1, so t is 0.

    >>> outcome = test.run(np.array([1, 0, 1, 0, 1, 1, 1, 1, 0]), np.full(9, True))
    >>> outcome.estimate, outcome.p_value
    (0.0, 1.0)
    """
    effect = effects[0]
    signs, cells = np.ones(len(trials.table)), np.zeros(len(trials.table), dtype=np.intp)
    reference = {factor: _reference_level(trials, factor, effects) for factor in effect.levels}
    for factor, level in effect.levels.items():
        texts = trials.table[factor].map(level_text, na_action="ignore")
        there, at_reference = (
            texts.eq(level_text(one)).fillna(False).to_numpy(bool) for one in (level, reference[factor])
        )
        signs *= there.astype(float) - at_reference
        cells = 2 * cells + at_reference
    run, complete = paired_contrast(trials, signs, cells, 2 ** len(effect.levels))
    against = Effect(reference, 0.0).place
    title = (
        f"paired t test of accuracy at {effect.place} against {against}"
        if len(effect.levels) == 1
        else f"t test of the participants' interaction contrast at {effect.place} against {against}"
    )
    missing = 1 - complete
    note = (
        f"{100 * missing:.0f} % of the participants have no trials in at least one cell of the comparison. These "
        "participants are left out."
    )
    return PowerAnalysis(title, run, notes=(note,) if missing else ())


def paired_contrast(
    trials: PlannedTrials,
    signs: Floats,
    cells: npt.NDArray[np.intp],
    n_cells: int,
    *,
    sums: bool = False,
    margin: float | None = None,
) -> tuple[Run, float]:
    """Return the function that runs the t test of a contrast, and the share of participants with trials in all cells.

    A cell is a combination of levels. The contrast of a participant is the sum of the means of all cells, each
    multiplied by the sign of the cell.

    Parameters
    ----------
    trials : PlannedTrials
        The trials.
    signs : array of float, shape (trials,)
        1 or -1, the sign of the trial's cell; 0 for a trial outside the contrast.
    cells : array of int, shape (trials,)
        The number of the trial's cell, from 0.
    n_cells : int
        Number of cells.
    sums : bool
        True to use the sum of each cell instead of the mean.
    margin : float, optional
        The margin of an equivalence test. None for a test of a difference.

    Raises
    ------
    InputError
        If no participant has trials in all cells.

    Examples
    --------
    There are two participants. Their differences between the cell means are 1 and 1/2.

    >>> import pandas as pd
    >>> from analysis.power.simulated_responses import planned_trials
    >>> trials = planned_trials(pd.DataFrame({"group": 1, "item_id": ["a", "b", "c"]}), 2)
    >>> signs, cells = np.array([1.0, -1, -1] * 2), np.array([0, 1, 1] * 2)
    >>> run, share = paired_contrast(trials, signs, cells, 2)
    >>> run(np.array([1.0, 0, 0, 1, 1, 0]), np.full(6, True)).estimate, share
    (0.75, 1.0)
    """
    compared: Bools = signs.astype(np.bool_)
    places = trials.participants * n_cells + np.where(compared, cells, 0)
    n_trials = np.bincount(places[compared], minlength=trials.n * n_cells)
    complete: Bools = np.all(n_trials.reshape(trials.n, n_cells) > 0, axis=1)
    if not complete.any():
        raise InputError(
            "a paired t test compares the same participants at several levels, but no participant has items at all "
            "these levels. Fix: compute the power of a test that compares different participants, or of a statistical "
            "model."
        )
    used: Bools = compared & complete[trials.participants]
    weights = np.divide(signs, 1 if sums else n_trials[places], out=np.zeros(len(signs)), where=used)

    def run(correct: Floats, kept: Bools) -> Outcome:
        contrasts = np.bincount(trials.participants, weights * correct * kept, minlength=trials.n)
        there = np.bincount(trials.participants, used & kept, minlength=trials.n) > 0
        values = contrasts[there].astype(float)
        if margin is None:
            result = one_sample_t(values, 0.0)
        else:
            result = equivalence_of_difference(difference_from(values, 0.0), -margin, margin)
        return Outcome(result.p_value, result.estimate)

    return run, float(complete.mean())


def _reference_level(trials: PlannedTrials, factor: str, effects: Sequence[Effect]) -> Level:
    named = {level_text(effect.levels[factor]) for effect in effects if factor in effect.levels}
    for text, level in levels_of(trials.table, factor, "the effect").items():
        if text not in named:
            known: Level = level
            return known
    raise InputError(
        f"every level of `{factor}` has an effect, so there is no reference level for the comparison. Fix: remove the "
        "effect of one level."
    )
