"""What a press does to the answer to a question about the person."""

import re
from dataclasses import dataclass, replace

from batteries.errors import InputError
from experiment.lab.input.key_bindings import ENTER
from experiment.study.demographics import LONGEST_TEXT, Question

OPTIONS_PER_PAGE = 9
"""So many have a key of their own; zero is for no answer."""

_CHARACTER_OF_KEY = {
    "space": " ",
    "period": ".",
    "comma": ",",
    "minus": "-",
    "apostrophe": "'",
    "slash": "/",
    "num_decimal": ".",
    "num_subtract": "-",
    "num_add": "+",
}
_DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789")


@dataclass(frozen=True)
class Filling:
    """How far the answer has come."""

    typed: str = ""
    chosen: str | None = None
    """The chosen option; empty where no answer was chosen in words, None where nothing was."""
    page: int = 0
    """Which options of a choice are shown, from 0."""
    is_refused: bool = False
    """Whether what is typed was handed in and is no answer."""
    is_done: bool = False
    """Whether the answer is final."""


def n_pages(question: Question) -> int:
    """Return over how many pages the options of a choice go."""
    return max(1, -(-len(question.options) // OPTIONS_PER_PAGE))


def options_shown(question: Question, filling: Filling) -> tuple[str, ...]:
    """Return the options of the page that is shown, which have the keys 1 to 9."""
    first = filling.page * OPTIONS_PER_PAGE
    return question.options[first : first + OPTIONS_PER_PAGE]


def answer_of(question: Question, filling: Filling) -> int | str | None:
    """Return the answer in the form that is stored; None for a question that is left out.

    Raises
    ------
    InputError
        If what is typed is no answer to the question.
    """
    typed = filling.typed.strip()
    if question.answer == "choice":
        return filling.chosen or None
    if question.answer == "text" or not typed:
        return typed or None
    digits = typed.translate(_DIGITS)
    if not re.fullmatch(r"[+-]?\d+", digits):
        raise InputError(f"`{question.name}` takes a whole number, not {typed!r}.")
    question.check(int(digits))
    return int(digits)


def after_press(question: Question, filling: Filling, press: str) -> Filling:
    """Return how far the answer has come after a press.

    Parameters
    ----------
    question
        The question.
    filling
        How far the answer had come.
    press
        A key as PsychoPy names it, a character as it was typed, or a region: an option's digit, `left`, `right`,
        `next` or `continue`.
    """
    if filling.is_done:
        return filling
    if press in {*ENTER, "next", "continue"}:
        try:
            answer_of(question, filling)
        except InputError:
            return replace(filling, is_refused=True)
        return replace(filling, is_done=True, is_refused=False)
    if question.answer == "choice":
        return _after_choosing(question, filling, press)
    return _after_typing(filling, press)


def _after_choosing(question: Question, filling: Filling, press: str) -> Filling:
    if press in {"left", "right"}:
        page = filling.page + (1 if press == "right" else -1)
        return replace(filling, page=min(max(page, 0), n_pages(question) - 1))
    digit = press.removeprefix("num_")
    if digit == "0":
        return replace(filling, chosen="")
    options = options_shown(question, filling)
    if digit in set("123456789") and int(digit) <= len(options):
        return replace(filling, chosen=options[int(digit) - 1])
    return filling


def _after_typing(filling: Filling, press: str) -> Filling:
    if press == "backspace":
        return replace(filling, typed=filling.typed[:-1], is_refused=False)
    is_numeric = re.fullmatch(r"num_[0-9]", press)
    character = press[-1] if is_numeric else _CHARACTER_OF_KEY.get(press, press)
    if len(character) != 1 or not character.isprintable() or len(filling.typed) >= LONGEST_TEXT:
        return filling
    return replace(filling, typed=filling.typed + character, is_refused=False)
