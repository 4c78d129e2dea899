"""Rules that turn key presses and clicks into an answer to a question about the participant."""

import re
from dataclasses import dataclass, replace

from batteries.errors import InputError
from experiment.lab.input.response_state import ENTER
from experiment.study.demographics import LONGEST_TEXT, DemographicQuestion

OPTIONS_PER_PAGE = 9
"""Number of options per page. The keys 1 to 9 choose an option, and the key 0 skips the question."""

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
class FormState:
    """State of an answer while the participant gives it."""

    typed: str = ""
    chosen: str | None = None
    """The chosen option; an empty text if the participant chose not to answer; None before a choice."""
    page: int = 0
    """Index of the page of options on the screen, from 0."""
    is_refused: bool = False
    """True if the typed text was submitted and is not valid."""
    is_done: bool = False
    """True if the answer is final."""


def n_pages(question: DemographicQuestion) -> int:
    """Return the number of pages that the options of a question need."""
    return max(1, -(-len(question.options) // OPTIONS_PER_PAGE))


def options_shown(question: DemographicQuestion, form_state: FormState) -> tuple[str, ...]:
    """Return the options of the current page, which have the keys 1 to 9."""
    first = form_state.page * OPTIONS_PER_PAGE
    return question.options[first : first + OPTIONS_PER_PAGE]


def answer_of(question: DemographicQuestion, form_state: FormState) -> int | str | None:
    """Return the answer in its stored form; None for a skipped question.

    Raises
    ------
    InputError
        If the typed text is not a valid answer to the question.
    """
    typed = form_state.typed.strip()
    if question.answer == "choice":
        return form_state.chosen or None
    if question.answer == "text" or not typed:
        return typed or None
    digits = typed.translate(_DIGITS)
    if not re.fullmatch(r"[+-]?\d+", digits):
        raise InputError(f"`{question.name}`: {typed!r} is not a whole number. Fix: type a whole number.")
    question.check(int(digits))
    return int(digits)


def after_press(question: DemographicQuestion, form_state: FormState, press: str) -> FormState:
    """Return the state of an answer after a press.

    Parameters
    ----------
    question
        The question.
    form_state
        State before the press.
    press
        PsychoPy's name of a key, a typed character, or the name of a clicked region. The name of a region is the digit
        of an option, `left`, `right`, `next` or `continue`.
    """
    if form_state.is_done:
        return form_state
    if press in {*ENTER, "next", "continue"}:
        try:
            answer_of(question, form_state)
        except InputError:
            return replace(form_state, is_refused=True)
        return replace(form_state, is_done=True, is_refused=False)
    if question.answer == "choice":
        return _after_choosing(question, form_state, press)
    return _after_typing(form_state, press)


def _after_choosing(question: DemographicQuestion, form_state: FormState, press: str) -> FormState:
    if press in {"left", "right"}:
        page = form_state.page + (1 if press == "right" else -1)
        return replace(form_state, page=min(max(page, 0), n_pages(question) - 1))
    digit = press.removeprefix("num_")
    if digit == "0":
        return replace(form_state, chosen="")
    options = options_shown(question, form_state)
    if digit in set("123456789") and int(digit) <= len(options):
        return replace(form_state, chosen=options[int(digit) - 1])
    return form_state


def _after_typing(form_state: FormState, press: str) -> FormState:
    if press == "backspace":
        return replace(form_state, typed=form_state.typed[:-1], is_refused=False)
    is_numeric = re.fullmatch(r"num_[0-9]", press)
    character = press[-1] if is_numeric else _CHARACTER_OF_KEY.get(press, press)
    if len(character) != 1 or not character.isprintable() or len(form_state.typed) >= LONGEST_TEXT:
        return form_state
    return replace(form_state, typed=form_state.typed + character, is_refused=False)
