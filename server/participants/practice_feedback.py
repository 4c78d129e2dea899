"""Feedback after the response to a practice trial."""

from batteries.tasks import Feedback, task_named
from experiment.participant_api import FeedbackReply
from experiment.plan import Phase
from experiment.records import Response
from server.context import context
from server.participants import participant_json, practice_criterion
from server.store import SessionPlan


def feedback(plan: SessionPlan, response: Response) -> FeedbackReply | None:
    """Return the feedback on a stored practice response, with the result of its round.

    A test trial and a trial of an ungraded item have no feedback.
    """
    trial = plan.trials[response.trial_index]
    if trial.phase is not Phase.PRACTICE or not trial.item.is_graded:
        return None
    task = task_named(trial.item.task)
    if response.missing is None:
        found = task.feedback(trial.item.content, trial.item.key, response.response)
    elif response.missing == "deadline":
        found = Feedback(False, "too_slow", {}, task.right_response(trial.item.content, trial.item.key))
    else:
        found = Feedback(False, "answer_too_large", {}, None)
    words = context().study.words
    reply: FeedbackReply = {
        "correct": found.correct,
        "message": words.say(found.text, **found.values),
        "solution": found.solution,
    }
    if found.explanation:
        reply["explanation"] = [words.say(text, **values) for text, values in found.explanation]
    if practice_criterion.ends_round(plan, response.trial_index):
        judged = practice_criterion.judge(plan, context().store.responses(plan.session), response.trial_index)
        reply["practice"] = participant_json.practice_json(plan, judged)
    return reply
