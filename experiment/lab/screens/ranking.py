"""`ranking` on the screen: numbered options with the places that the participant gives them."""

from typing import Any

from experiment.lab.input.choices import is_complete
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.sheet import ItemSize
from experiment.lab.screens.option_buttons import ButtonLook, OptionKey, add_option_button, add_submit
from experiment.lab.screens.trial_header import TrialMoment


def add_ranking(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the options and the button that submits the ranking."""
    say, options = column.sheet.words.say, content["options"]
    longest = max((say("ranking_place", place=place) for place in range(1, len(options) + 1)), key=len)
    for number, option in enumerate(options, start=1):
        look = _look(column, number, moment)
        add_option_button(column, OptionKey.of_number(number), option, look, size.letters_px, longest)
    if moment.feedback is None:
        add_submit(column, is_complete(content, moment.response_state), "Enter", size.letters_px)


def help_on(column: ScreenColumn, content: dict[str, Any]) -> str:  # noqa: ARG001 - as for the other tasks
    """Return the text about how to respond."""
    return column.sheet.words.say("ranking_help")


def _look(column: ScreenColumn, number: int, moment: TrialMoment) -> ButtonLook:
    say, feedback = column.sheet.words.say, moment.feedback
    order: Any = moment.response_state.chosen or []
    place = order.index(number) + 1 if number in order else None
    end = "" if place is None else say("ranking_place", place=place)
    if feedback is None:
        return ButtonLook("" if place is None else "chosen", end=end, is_reading=moment.is_reading)
    solution: Any = feedback.solution
    right = solution.index(number) + 1
    note = f"{say('right_answer')}: {right}"
    return ButtonLook("right" if place == right else "wrong", note, end, is_open=False)
