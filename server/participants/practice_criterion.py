"""The practice criterion. It decides what follows a round of practice: a further round, the test or the end page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiment.records import Status
from server.store import Release, SessionPlan, Store, StoredSession


@dataclass(frozen=True)
class Judged:
    """The result of a finished round of practice."""

    passed: bool
    n_correct: int
    n_needed: int
    next_trial_index: int
    """Index of the next trial. If the practice was passed, this is the first trial after all practice."""
    has_ended: bool
    """True if the study's rule ends the session after this round."""


def n_planned(plan: SessionPlan) -> int:
    """Return the number of practice trials in the plan, over all rounds."""
    criterion = plan.definition.practice_criterion
    return len(plan.definition.practice) * (criterion.rounds if criterion else 1)


def ends_round(plan: SessionPlan, trial_index: int) -> bool:
    """Return True if a trial is the last trial of a round, in a study with a practice criterion."""
    n_in_round = len(plan.definition.practice)
    if plan.definition.practice_criterion is None or trial_index >= n_planned(plan):
        return False
    return (trial_index + 1) % n_in_round == 0


def judge(plan: SessionPlan, responses: Mapping[int, Any], last: int) -> Judged:
    """Apply the criterion to the rounds up to the trial `last`.

    The practice is passed if any of these rounds is passed.

    Parameters
    ----------
    plan
        The plan of the session. Its study has a practice criterion.
    responses
        The responses of the session. The keys are trial indices. All responses up to `last` are present.
    last
        Index of a trial for which `ends_round` is true.
    """
    criterion, n_in_round = plan.definition.practice_criterion, len(plan.definition.practice)
    assert criterion is not None
    n_correct = [_n_correct(plan, responses, first, n_in_round) for first in range(0, last + 1, n_in_round)]
    passed, n_all = max(n_correct) >= criterion.correct, n_planned(plan)
    return Judged(
        passed=passed,
        n_correct=n_correct[-1],
        n_needed=criterion.correct,
        next_trial_index=n_all if passed else last + 1,
        has_ended=last + 1 == n_all and not passed and criterion.otherwise == "end",
    )


def _n_correct(plan: SessionPlan, responses: Mapping[int, Any], first: int, n_in_round: int) -> int:
    return sum(
        score.correct
        for trial in plan.trials[first : first + n_in_round]
        if (score := trial.item.score(responses[trial.trial_index])) is not None
    )


def is_under_way(plan: SessionPlan, n_answered: int) -> bool:
    """Return True if the study has a practice criterion, and the session has begun but is still in the practice."""
    return plan.definition.practice_criterion is not None and 0 < n_answered <= n_planned(plan)


def judged_so_far(plan: SessionPlan, responses: Mapping[int, Any], n_answered: int) -> Judged | None:
    """Return the result of the finished rounds; None if no round is finished, or the study has no criterion."""
    n_in_round = len(plan.definition.practice)
    if not is_under_way(plan, n_answered) or n_answered < n_in_round:
        return None
    return judge(plan, responses, n_answered - n_answered % n_in_round - 1)


def passed_over(plan: SessionPlan, responses: Mapping[int, Any]) -> range:
    """Return the practice trials that need no response because an earlier round was passed."""
    n_answered = 0
    while n_answered in responses:
        n_answered += 1
    judged = judged_so_far(plan, responses, n_answered)
    return range(n_answered, n_planned(plan)) if judged and judged.passed else range(n_answered, n_answered)


def release_if_failed(store: Store, stored: StoredSession) -> None:
    """Release the slot of a session that must end because its practice was not passed.

    Later calls check the criterion again. So a session that has later responses cannot avoid this end.
    """
    plan = stored.plan
    if stored.session.status is not Status.ACTIVE or stored.ended_for or not _may_end(plan, stored.n_answered):
        return
    responses, n_practice = store.responses(plan.session), n_planned(plan)
    if all(index in responses for index in range(n_practice)) and judge(plan, responses, n_practice - 1).has_ended:
        store.release_slot(plan.session, Release.PRACTICE)


def _may_end(plan: SessionPlan, n_answered: int) -> bool:
    criterion = plan.definition.practice_criterion
    return criterion is not None and criterion.otherwise == "end" and n_answered >= n_planned(plan)
