"""The practice of a study in prompts: solved examples, practice trials, and the feedback that people get.

No other module of `prompts` reads answer keys. This module reads only the keys of practice items.
"""

from typing import Any

from pydantic import JsonValue

from batteries.errors import InputError
from batteries.items import Item
from batteries.tasks import task_named
from experiment.models.confidence import split_confidence
from experiment.models.prompts.item_text import (
    answer_help,
    cells_in_words,
    content_variables,
    response_in_words,
    shown_item,
)
from experiment.models.prompts.styles import PROGRAMS
from experiment.records import Source
from experiment.study.blackbox_diagrams import with_diagrams_in_words
from experiment.study.definition import Study

_DECIMAL_COMMA = frozenset({"de", "es"})


def examples(study: Study, task: str, shots: int) -> list[dict[str, Any]]:
    """Return solved practice items of a task, as variables for the template of a prompt.

    Parameters
    ----------
    study
        The study.
    task
        The task of the examples.
    shots
        Number of examples. They are the first practice items in the study's order.

    Returns
    -------
    list of dict
        The variables of each item's content, with `answer` (the right response). For multiple choice, `answer_text` is
        the text of the right option.

    Raises
    ------
    InputError
        If the study has too few practice items of this task.
    """
    practice = [study.battery.by_id[item_id] for item_id in study.definition.practice]
    items = [item for item in practice if item.task == task and item.is_graded]
    if len(items) < shots:
        n = "no practice item" if not items else f"{len(items)} practice item{'s' if len(items) > 1 else ''}"
        fix = f"use --shots {len(items)}" if items else "leave --shots out"
        raise InputError(
            f"--shots {shots}: the study has {n} with the task `{task}`, and only practice items are used as examples. "
            f"Fix: {fix}, or add practice items to the study."
        )
    solved = []
    for item in items[:shots]:
        variables = content_variables(task, item.content, study.words) | {"answer": _right_response(item)}
        if task == "multiple_choice":
            if not variables["several"]:  # Left out, so that the digests of earlier prompts stay the same.
                del variables["several"]
            numbers = item.key if isinstance(item.key, list) else [item.key]
            if isinstance(item.key, list):
                variables["answer"] = response_in_words(task, item.key, item.content, study.words)
            variables["answer_text"] = ", ".join(variables["options"][int(str(number)) - 1] for number in numbers)
        solved.append(variables)
    return solved


def _right_response(item: Item) -> JsonValue:
    return task_named(item.task).right_response(item.content, item.key)


def instruction_pages(study: Study) -> list[str]:
    """Return the instructions as people get them in the browser: Markdown pages, the last with the time limit.

    Diagrams are described in words.
    """
    definition = study.definition
    texts = [study.page(name, Source.WEB).strip() for name in definition.timeline.instructions]
    pages = [with_diagrams_in_words(text, study.words) for text in texts]
    deadline_ms = definition.timing.deadline_ms
    if pages and deadline_ms is not None:
        seconds = f"{deadline_ms / 1000:g}"
        if study.words.language.partition("-")[0] in _DECIMAL_COMMA:
            seconds = seconds.replace(".", ",")
        pages[-1] += f"\n\n{study.words.say('time_limit', seconds=seconds)}"
    return pages


def practice_items(study: Study) -> list[Item]:
    """Return the practice items of one round, in order.

    Raises
    ------
    InputError
        If only jsPsych or PsychoPy can show a practice item.
    """
    items = [study.battery.by_id[item_id] for item_id in study.definition.practice]
    for item in items:
        if item.task in PROGRAMS:
            raise InputError(
                f"the practice item `{item.item_id}` cannot be sent to a model, because only {PROGRAMS[item.task]} can "
                "show it. Fix: use a style without practice."
            )
    return items


def practice_trials(study: Study) -> list[dict[str, str]]:
    """Return one round of practice with right responses, and with the feedback that people get.

    Ungraded items have no right response and no feedback, so they are left out.

    Returns
    -------
    list of dict
        For each trial, the texts `heading`, `item`, `response` and `feedback`.

    Raises
    ------
    InputError
        If only jsPsych or PsychoPy can show a practice item.
    """
    words = study.words
    return [
        {
            "heading": practice_heading(study, item),
            "item": shown_item(item.task, item.content, words),
            "response": words.say(
                "your_answer_is", answer=response_in_words(item.task, _right_response(item), item.content, words)
            ),
            "feedback": _feedback(study, item, _right_response(item)),
        }
        for item in practice_items(study)
        if item.is_graded
    ]


def practice_heading(study: Study, item: Item) -> str:
    """Return the heading of a practice trial, such as `Practice 1 of 2`."""
    names = study.definition.practice
    text = "practice_of" if len(names) > 1 else "practice"
    return study.words.say(text, number=names.index(item.item_id) + 1, total=len(names))


def feedback_on_reply(study: Study, item: Item, reply: str) -> str:
    """Return the feedback on a model's own reply to a practice item, in the words that people get.

    After an impossible response, the web page asks people for a possible one. So the feedback on an invalid reply is
    the page's text, and then the feedback on a wrong response.
    """
    answer = split_confidence(reply, study.definition.confidence, study.words).answer
    reading = task_named(item.task).read_reply(item.content, answer)
    if reading.is_valid:
        return _feedback(study, item, reading.response)
    help_words = answer_help(item.task, item.content, study.words)
    return "\n".join(filter(None, [help_words, _feedback(study, item, None)]))


def _feedback(study: Study, item: Item, response: Any) -> str:
    feedback = []
    if item.is_graded:
        found = task_named(item.task).feedback(item.content, item.key, response)
        feedback.append(study.words.say(found.text, **found.values))
        feedback += [study.words.say(text, **values) for text, values in found.explanation]
        if item.task == "blackbox_predict":
            feedback.append(_path_in_words(found.solution, study))
    if item.item_id == study.definition.practice[-1]:
        feedback.append(study.words.say("last_practice"))
    return "\n".join(feedback)


def _path_in_words(solution: Any, study: Study) -> str:
    path = [(row, column) for row, column in solution["path"]]
    if not path:
        return study.words.say("ray_never_in")
    return study.words.say("ray_path", cells=cells_in_words(path, study.words))
