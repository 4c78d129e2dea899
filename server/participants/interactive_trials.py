"""Trials of interactive tasks: the server plays them again from their stored actions, and answers one action at a time.

The hidden state never leaves the server. A reply contains the observation and nothing else that depends on the state.
"""

from typing import Any

from pydantic import JsonValue

from batteries.errors import InputError
from batteries.tasks import task_named
from batteries.tasks.interactive import MOST_ACTIONS, InteractiveTask, Move
from experiment.records import Response, TrialAction
from server.context import context
from server.request_body import BadRequest
from server.store import Refusal, SessionPlan, StoredTrial


def observe(plan: SessionPlan, action: TrialAction) -> tuple[JsonValue, bool]:
    """Return the observation of an action that follows the stored actions, and True if the trial is over.

    An action that is stored already gets its stored observation again.

    Raises
    ------
    BadRequest
        If the trial is not a trial of an interactive task, the action does not have the form of an action, or the trial
        is over.
    Refusal
        If an earlier action is missing, or another action is stored in its place, because another window has added it.
    """
    trial = trial_of(plan, action.trial_index)
    task = _task_of(trial)
    try:
        task.check_action(trial.item.content, action.action)
    except InputError as error:
        raise BadRequest(f"Trial {action.trial_index}: {error}") from None
    stored = context().store.actions(plan.session, action.trial_index)
    if action.action_index < len(stored):
        there = stored[action.action_index]
        if (there.action_id, there.action) != (action.action_id, action.action):
            raise Refusal("opened_elsewhere")
        so_far = [one.action for one in stored[: action.action_index + 1]]
        return there.observation, task.is_over(_state(task, trial, so_far))
    if action.action_index > len(stored):
        raise Refusal("answer_missing")
    state = _state(task, trial, [one.action for one in stored])
    if task.is_over(state):
        raise Refusal("answered_already")
    state, observation = task.act(state, action.action)
    is_over = task.is_over(state)
    if action.action_index >= MOST_ACTIONS and not is_over:
        raise BadRequest(f"Trial {action.trial_index} has {MOST_ACTIONS:,} actions. Fix: end the trial.")
    return observation, is_over


def moves_so_far(plan: SessionPlan, trial_index: int) -> list[Move]:
    """Return the stored moves of a trial; empty if the trial's task is not interactive, or there is no such trial."""
    if trial_index >= len(plan.trials):
        return []
    if not isinstance(task_named(plan.trials[trial_index].item.task), InteractiveTask):
        return []
    stored = context().store.actions(plan.session, trial_index)
    return [{"action": one.action, "observation": one.observation} for one in stored]


def with_moves(plan: SessionPlan, response: Response) -> Response:
    """Return a response with the stored moves of its trial, if its task is interactive.

    A client sends the number of its actions in place of the moves, because the server has them.

    Raises
    ------
    InputError
        If the number is not that of the stored actions, or the trial is not over.
    """
    trial = plan.trials[response.trial_index]
    task = task_named(trial.item.task)
    if not isinstance(task, InteractiveTask) or response.missing is not None:
        return response
    moves = moves_so_far(plan, response.trial_index)
    if response.response != len(moves) or isinstance(response.response, bool):
        raise InputError(
            f"the response is {response.response!r}, but the trial has {len(moves)} stored actions. Fix: send all "
            "actions first, and then their number as the response."
        )
    if not task.is_over(_state(task, trial, [move["action"] for move in moves])):
        raise InputError("the trial is not over. Fix: send the action that ends it.")
    return response.model_copy(update={"response": moves})


def trial_of(plan: SessionPlan, trial_index: int) -> StoredTrial:
    """Return a trial of a plan. Raise `BadRequest` if there is no such trial."""
    if trial_index >= len(plan.trials):
        raise BadRequest(
            f"There is no trial {trial_index} in this session. Fix: send the index of a trial in the session's "
            "`trials`."
        )
    return plan.trials[trial_index]


def _task_of(trial: StoredTrial) -> InteractiveTask[Any]:
    task = task_named(trial.item.task)
    if not isinstance(task, InteractiveTask):
        raise BadRequest(
            f"Trial {trial.trial_index} has no actions, because its task is `{trial.item.task}`. Fix: send a response."
        )
    return task


def _state(task: InteractiveTask[Any], trial: StoredTrial, actions: list[JsonValue]) -> Any:
    return task.state_after(trial.item.content, trial.item.key, actions)
