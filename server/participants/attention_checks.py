"""Attention checks: the study's preregistered rule decides whether a participant passed or must be replaced."""

from typing import Any

from experiment.plan import Phase
from experiment.study.exclusion_rules import AttentionCheckRule
from server.store import SessionPlan


def has_passed_checks(plan: SessionPlan, responses: dict[int, Any]) -> bool:
    """Return True if a session's responses satisfy the rule for attention checks, or if the study has no such rule.

    Parameters
    ----------
    plan
        The plan of the session's trials, with the study's definition at the start of the session.
    responses
        The responses of the session. The keys are trial indices.
    """
    rules = [rule for rule in plan.definition.analysis.exclusions if isinstance(rule, AttentionCheckRule)]
    n_failed = sum(
        not score.correct
        for trial in plan.trials
        if trial.phase is Phase.ATTENTION_CHECK
        and trial.trial_index in responses
        and (score := trial.item.score(responses[trial.trial_index])) is not None
    )
    return all(n_failed <= rule.max_failed for rule in rules)
