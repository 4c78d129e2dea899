"""Replies of mock models, for the demo: a CSV file that `equipoise models import` reads.

A mock model is a small program that replaces a language model. It reads the answer keys, as simulated participants
do. So its accuracy says nothing about any language model.
"""

import random
from dataclasses import dataclass
from pathlib import Path

from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from batteries.items import Item
from batteries.tasks import task_named
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.multiple_choice import MultipleChoice
from batteries.tasks.recall import Recall
from batteries.tasks.replies import entries, several_numbers
from experiment.models.prompts.requests import PromptRequest, Requests
from experiment.study.timeline import Confidence
from experiment.texts import Texts

COLUMN_MAP = "item=request_id,reply=reply,model=model"
"""The map of columns (`--map`) with which `equipoise models import` reads the file."""
_REASON = "This is a mock model, so there is no reason."


@dataclass(frozen=True)
class MockModel:
    """A mock model, with its probabilities at temperature 0."""

    name: str
    p_correct: float
    """Probability that a valid reply is right."""
    p_invalid: float
    """Probability of a reply without a response."""


MOCK_MODELS = (
    MockModel("mock-strong", p_correct=0.9, p_invalid=0.0),
    MockModel("mock-weak", p_correct=0.5, p_invalid=0.08),
)


def write_mock_replies(requests: Requests, model: MockModel, path: Path, seed: int) -> None:
    """Write the reply of a mock model to each request.

    Parameters
    ----------
    requests
        The requests.
    model
        The mock model.
    path
        The CSV file to write, with one row per request and the columns `request_id`, `model` and `reply`.
    seed
        Seed of the replies.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    items = requests.study.battery.by_id
    question, words = requests.study.definition.confidence, requests.study.words
    replies = (
        (str(each.request_id), model.name, _reply(model, each, items[each.item_id], seed) + _last_line(question, words))
        for each in requests
    )
    with atomic_write(path) as file:
        write_rows(file, [("request_id", "model", "reply"), *replies])


def _reply(model: MockModel, request: PromptRequest, item: Item, seed: int) -> str:
    """Return the reply of a mock model to one request.

    In each epoch (repetition), the model responds at random with a probability of a quarter of the temperature.
    Otherwise, it gives the same reply in each epoch.
    """
    of_item = random.Random(f"{seed}/{model.name}/{item.item_id}")
    of_request = random.Random(f"{seed}/{model.name}/{request.request_id}")
    task = task_named(item.task)
    is_invalid, is_correct = of_item.random() < model.p_invalid, of_item.random() < model.p_correct
    if not item.is_graded:
        response = task.draw(item.content, of_item)
    elif is_correct:
        response = task.right_response(item.content, item.key)
    else:
        response = task.draw_wrong(item.content, item.key, of_item)
    if of_request.random() < (request.request_id.temperature or 0) / 4:
        is_invalid, response = False, task.draw(item.content, of_request)
    if is_invalid:
        return "I cannot say what the answer is."
    if isinstance(response, list) and item.content.get("several"):
        return f"{', '.join(map(str, response)) or several_numbers.NONE}\n{_REASON}"
    if item.task == MultipleChoice.name:
        return f"{response}\n{task.choice(item.content, response)}\n{_REASON}"
    if item.task == Recall.name:
        return "\n".join(map(str, response)) if isinstance(response, list) and response else entries.NOTHING
    if item.task == BlackboxPredict.name:
        return f"Prediction: {response}\nReason: {_REASON}"
    return str(response)


def _last_line(question: Confidence | None, words: Texts) -> str:
    """Return the line about confidence, if the study asks for it. A mock model is always as sure as possible."""
    return "" if question is None else f"\n{words.say('confidence_word')}: {question.high:g}"
