"""Screens without a trial: pages, consent, messages, and questions about the participant."""

from collections.abc import Callable, Collection, Mapping, Sequence

from experiment.lab.input.form_input import FormState, after_press, answer_of
from experiment.lab.input.response_state import ENTER
from experiment.lab.input.typed_text import NO_TEXT
from experiment.lab.screens.form import form
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.screen_image import ESCAPE, ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.screens.pages import pages
from experiment.lab.trial import Display
from experiment.study.demographics import LONGEST_TEXT, DemographicQuestion


class PageReader:
    """Shows pages and asks questions, always with the same keys.

    Parameters
    ----------
    display, sheet
        The participant's display, and the sheet (sizes, fonts and texts of the screens).
    on_escape
        Function that is called after a press of escape. If it returns, the screen is shown again.
    """

    def __init__(self, display: Display, sheet: Sheet, on_escape: Callable[[], None]) -> None:
        self._display = display
        self._sheet = sheet
        self._on_escape = on_escape
        self._say = sheet.words.say
        is_ltr = sheet.direction == "ltr"
        self._onward_key, self._back_key = ("right", "left") if is_ltr else ("left", "right")
        self._onward_sign, self._back_sign = ("→", "←") if is_ltr else ("←", "→")

    def onward(self, label: str) -> Action:
        """Return the action that leads to the next screen."""
        return Action("next", label, self._onward_sign)

    def read(self, texts: Mapping[str, str], last: str | None = None, *others: Action) -> str:
        """Show Markdown texts until the participant has read them. Return the action chosen on the last page.

        The keys of `texts` are file names. On the last page, the action `next` has the label `last`, and `others` are
        the other actions.
        """
        return self._through(texts, [self.onward(last or self._say("next")), *others])

    def consents(self, texts: Mapping[str, str]) -> bool:
        """Show texts, of which the last asks for consent. Return True if the participant consents."""
        answers = [Action("agree", self._say("agree"), "1"), Action("decline", self._say("decline"), "2")]
        return self._through(texts, answers) == "agree"

    def _through(self, texts: Mapping[str, str], actions: Sequence[Action]) -> str:
        """Show pages until the participant chooses an action on the last page; return the name of the action."""
        back = Action("back", self._say("back"), self._back_sign)
        pictures = pages(self._sheet, texts, actions, back, self.onward(self._say("next")))
        number = 0
        while True:
            is_last = number == len(pictures) - 1
            names = self._names(actions if is_last else [self.onward("")])
            done = names.get(self._pressed(pictures[number], (*names, self._back_key)), "back")
            if done == "back":
                number = max(0, number - 1)
            elif is_last:
                return done
            else:
                number += 1

    def choose(self, title: str, paragraphs: Sequence[str], actions: Sequence[Action]) -> str:
        """Show a message with actions; return the name of the chosen action.

        Escape has an effect only if an action has the key `Esc`.
        """
        picture = message(self._sheet, title, paragraphs, actions)
        names = self._names(actions)
        self._display.show(picture)
        while True:
            press = self._display.press(picture, tuple(names))
            if press is not None and press.name in names:
                return names[press.name]

    def ask_for_text(self, title: str, paragraphs: Sequence[str], submit: str, cancel: str) -> str | None:
        """Show a message with a field. Return the typed text when the participant submits it, or None on escape.

        `submit` and `cancel` are the labels of the actions for Enter and for escape.
        """
        typed, actions = NO_TEXT, [Action("submit", submit, "Enter"), Action("stay", cancel, "Esc")]
        picture = message(self._sheet, title, paragraphs, actions, typed.text)
        self._display.show(picture)
        while True:
            press = self._display.typing(picture)
            assert press is not None  # There is no time limit.
            if press.name in {ESCAPE, "stay"}:
                return None
            if press.name in {*ENTER, "submit"}:
                return typed.text
            typed = typed.after(press.name, LONGEST_TEXT)
            picture = message(self._sheet, title, paragraphs, actions, typed.text)
            self._display.redraw(picture)

    def show_message(self, title: str, *paragraphs: str) -> None:
        """Show a message until the participant continues."""
        self.choose(title, paragraphs, [self.onward(self._say("close"))])

    def show(self, picture: ScreenImage, duration_ms: int | None = None) -> None:
        """Show an image with the action `onward` until the participant chooses that action.

        If `duration_ms` is not None, show an image without actions for this time.
        """
        if duration_ms is None:
            self._pressed(picture, tuple(self._names([self.onward("")])))
            return
        self._display.ask(picture)
        while self._display.press(picture, (), duration_ms) is not None:
            self._on_escape()
            self._display.ask(picture)

    def ask(self, question: DemographicQuestion, progress: str) -> str | int | None:
        """Ask a question about the participant; return the answer, or None for a skipped question."""
        form_state, action = FormState(), Action("continue", self._say("continue"), "Enter")
        while not form_state.is_done:
            picture = form(self._sheet, question, form_state, progress, [action])
            self._display.redraw(picture)
            press = self._display.typing(picture)
            assert press is not None  # There is no time limit.
            if press.name == ESCAPE:
                self._on_escape()
            else:
                # The arrow keys turn pages in the direction of reading.
                turning = {self._onward_key: "right", self._back_key: "left"} if press.input == "key" else {}
                form_state = after_press(question, form_state, turning.get(press.name, press.name))
        return answer_of(question, form_state)

    def _names(self, actions: Sequence[Action]) -> dict[str, str]:
        """Return a dictionary from the name of each key and region to the name of the action."""
        names = {action.name: action.name for action in actions}
        for action in actions:
            keys = {self._onward_sign: (self._onward_key, "space", *ENTER), "Enter": ENTER, "Esc": (ESCAPE,)}
            names |= dict.fromkeys(keys.get(action.key, (action.key, f"num_{action.key}")), action.name)
        return names

    def _pressed(self, picture: ScreenImage, keys: Collection[str]) -> str:
        """Show an image, and return the key that the participant presses, or the region that the participant clicks."""
        while True:
            self._display.show(picture)
            press = self._display.press(picture, keys)
            if press is not None and press.name != ESCAPE:
                return press.name
            self._on_escape()
