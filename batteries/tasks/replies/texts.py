"""Reading replies whose answer is a text: the text of an answer field or tag, otherwise the whole reply."""

from batteries.tasks.question import n_characters
from batteries.tasks.replies import reading
from batteries.tasks.replies.fields import answer_values, extracted, names_of
from batteries.tasks.replies.preparation import answer_text
from batteries.tasks.replies.reading import Reading

_ANSWERS = frozenset({"answer", "response", "text"})


def read(reply: str, most_characters: int) -> Reading:
    """Return the text that a reply gives as its answer, or the reason why there is none.

    Parameters
    ----------
    reply : str
        The whole reply of the model.
    most_characters : int
        Largest number of characters of an answer. A longer answer is invalid, and is never cut.
    """
    text = answer_text(reply)
    if isinstance(text, Reading):
        return text
    _, fields = extracted(text)
    named = {
        (field.rule, entry.strip())
        for field in fields
        if field.rule in {"json", "answer_tag"}
        for entry in _texts_of(field.value)
        if entry.strip()
    }
    if len({answer for _, answer in named}) > 1:
        return Reading.invalid(reading.SEVERAL_ANSWERS)
    rule, answer = next(iter(sorted(named, reverse=True)), ("whole_reply", text.strip()))
    if n_characters(answer) > most_characters:
        return Reading.invalid(reading.OUT_OF_RANGE)
    return Reading(answer, rule)


def _texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [
        entry
        for _, entry in answer_values(value, lambda name: not _ANSWERS.isdisjoint(names_of(name)))
        if isinstance(entry, str)
    ]
