"""Practice until enough is right: which round comes next, and whether the questions may begin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batteries.tasks import task_named
from experiment.records import Status
from server.store import Release, SessionPlan, Store, StoredSession


@dataclass(frozen=True)
class Judged:
    """What a finished round of practice leads to."""

    passed: bool
    n_correct: int
    n_needed: int
    next_trial_index: int
    """The first trial of the next round, or the first after all practice."""
    has_ended: bool
    """Whether the study ends here, by its own rule."""


def n_planned(plan: SessionPlan) -> int:
    """Return how many practice trials are planned, in all rounds."""
    criterion = plan.definition.practice_criterion
    return len(plan.definition.practice) * (criterion.rounds if criterion else 1)


def ends_round(plan: SessionPlan, trial_index: int) -> bool:
    """Return whether a trial is the last of a round on which something hangs."""
    n_in_round = len(plan.definition.practice)
    if plan.definition.practice_criterion is None or trial_index >= n_planned(plan):
        return False
    return (trial_index + 1) % n_in_round == 0


def judge(plan: SessionPlan, answers: Mapping[int, Any], last: int) -> Judged:
    """Judge the round that ends with the trial `last`, after those before it: one good round is enough.

    Parameters
    ----------
    plan
        The session's plan, of a study with a practice criterion.
    answers
        The session's answers by trial index; all up to `last` are there.
    last
        A trial for which `ends_round` is true.
    """
    criterion, n_in_round = plan.definition.practice_criterion, len(plan.definition.practice)
    assert criterion is not None
    n_correct = [_n_correct(plan, answers, first, n_in_round) for first in range(0, last + 1, n_in_round)]
    passed, n_all = max(n_correct) >= criterion.correct, n_planned(plan)
    return Judged(
        passed=passed,
        n_correct=n_correct[-1],
        n_needed=criterion.correct,
        next_trial_index=n_all if passed else last + 1,
        has_ended=last + 1 == n_all and not passed and criterion.otherwise == "end",
    )


def _n_correct(plan: SessionPlan, answers: Mapping[int, Any], first: int, n_in_round: int) -> int:
    return sum(
        task_named(trial.item.task).score(trial.item.content, trial.item.key, answers[trial.trial_index]).correct
        for trial in plan.trials[first : first + n_in_round]
    )


def is_under_way(plan: SessionPlan, n_answered: int) -> bool:
    """Return whether what comes next depends on how the practice went."""
    return plan.definition.practice_criterion is not None and 0 < n_answered <= n_planned(plan)


def judged_so_far(plan: SessionPlan, answers: Mapping[int, Any], n_answered: int) -> Judged | None:
    """Return what the rounds finished so far lead to; None where there is none yet, or no criterion."""
    n_in_round = len(plan.definition.practice)
    if not is_under_way(plan, n_answered) or n_answered < n_in_round:
        return None
    return judge(plan, answers, n_answered - n_answered % n_in_round - 1)


def passed_over(plan: SessionPlan, answers: Mapping[int, Any]) -> range:
    """Return the practice trials that need no answer, as a round before them was passed."""
    n_answered = 0
    while n_answered in answers:
        n_answered += 1
    judged = judged_so_far(plan, answers, n_answered)
    return range(n_answered, n_planned(plan)) if judged and judged.passed else range(n_answered, n_answered)


def release_if_failed(store: Store, stored: StoredSession) -> None:
    """Release the place of a session whose practice was not passed, if that ends it and is not noted yet.

    The practice is judged however far the session has come, so that no answer that arrives later hides how it went.
    """
    plan = stored.plan
    if stored.session.status is not Status.ACTIVE or stored.ended_for or not _may_end(plan, stored.n_answered):
        return
    answers, n_practice = store.answers(plan.session), n_planned(plan)
    if all(index in answers for index in range(n_practice)) and judge(plan, answers, n_practice - 1).has_ended:
        store.release_slot(plan.session, Release.PRACTICE)


def _may_end(plan: SessionPlan, n_answered: int) -> bool:
    criterion = plan.definition.practice_criterion
    return criterion is not None and criterion.otherwise == "end" and n_answered >= n_planned(plan)
