"""The start dialog in the laboratory's window: the experimenter says who takes part, before the participant sits down.

The words are in English, as all words for the experimenter are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from batteries.errors import InputError
from experiment.lab.input.typed_numbers import typed_number
from experiment.lab.page_reader import PageReader
from experiment.lab.screens.layout.buttons import Action
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.trial import Display
from experiment.lab.visitor import Visitor
from experiment.lab_api import MAX_SESSION_NUMBER
from experiment.records import Kind
from experiment.study.definition import StudyDefinition
from experiment.texts import texts_in


@dataclass(frozen=True)
class Proposal:
    """A session that can begin, or the reason why it cannot begin."""

    visitor: Visitor
    """The participant, with the proposed or chosen session number. The group is None unless it was chosen."""
    is_resumed: bool = False
    """True if the session has begun already."""
    group: int | None = None
    """The group that the session has or would have; None if it is not known before the session begins."""
    warnings: Sequence[str] = ()
    """Sentences on likely typing errors."""
    problem: str | None = None
    """Reason why the session cannot begin; None if it can."""


Propose = Callable[[str, int | None, int | None, Kind], Proposal]
"""Function that proposes a session of a participant.

Its arguments are the participant code, the chosen session number, the chosen group and the kind. The number and the
group are None if the experimenter has not chosen them.
"""


_Action = Literal["begin", "another", "number", "group", "rehearsal", "cancel"]


class StartDialog:
    """Asks the experimenter for the participant of a visit.

    Parameters
    ----------
    display, sheet
        The display, and the sheet (sizes, fonts and texts of the screens).
    definition
        Definition of the study.
    timing
        Sentences on the timing of this machine.
    propose
        Function that proposes a session; see `Propose`.
    may_rehearse
        False if a rehearsal is not possible.
    """

    def __init__(
        self,
        display: Display,
        sheet: Sheet,
        definition: StudyDefinition,
        timing: Sequence[str],
        propose: Propose,
        may_rehearse: bool,
    ) -> None:
        in_english = replace(sheet, words=texts_in("en", {}), escape_hint="", rules_hint="")
        self._reader = PageReader(display, in_english, on_escape=lambda: None)
        self._title, self._n_groups = definition.title, definition.n_groups
        self._timing, self._propose, self._may_rehearse = timing, propose, may_rehearse

    def ask(self) -> Visitor:
        """Return the participant of the visit.

        Raises
        ------
        InputError
            If the experimenter cancels the dialog.
        """
        question = "Type the participant code, such as P01."
        while True:
            code = self._reader.ask_for_text(self._title, [*self._timing, question], "Continue", "Cancel")
            done = "cancel" if code is None else self._session_of(code.strip()) if code.strip() else "another"
            if isinstance(done, Visitor):
                return done
            if done == "cancel":
                raise InputError("no session has begun, because the dialog was cancelled. Fix: run the command again.")

    def _session_of(self, code: str) -> Visitor | Literal["another", "cancel"]:
        """Return the participant with the confirmed session, or the action with which the experimenter gave it up."""
        number: int | None = None
        group: int | None = None
        kind = Kind.HUMAN
        while True:
            proposal = self._propose(code, number, group, kind)
            done = self._choose(proposal, is_number_chosen=number is not None)
            if done == "begin":
                return proposal.visitor
            if done == "another":
                return "another"
            if done == "cancel":
                return "cancel"
            if done == "rehearsal":
                kind = Kind.HUMAN if kind is Kind.SIMULATED else Kind.SIMULATED
            elif done == "number":
                number = self._ask_for_number("Session number", MAX_SESSION_NUMBER)
            else:
                group = self._ask_for_number("Group", self._n_groups)

    def _choose(self, proposal: Proposal, is_number_chosen: bool) -> _Action:
        """Show a proposal, and return the name of the chosen action."""
        visitor = proposal.visitor
        is_rehearsal = visitor.kind is Kind.SIMULATED
        how = "to be resumed" if proposal.is_resumed else "chosen" if is_number_chosen else "suggested"
        group = "chosen by the program" if proposal.group is None else str(proposal.group)
        if proposal.group is not None and not proposal.is_resumed:
            group += " (suggested)" if visitor.group is None else " (chosen)"
        begin = "Begin the rehearsal" if is_rehearsal else "Begin the session"
        actions = [
            Action("begin", "Resume the session" if proposal.is_resumed else begin, "Enter"),
            Action("another", "Another participant code", "1"),
            Action("number", f"Session number: {visitor.session_number} ({how})", "2"),
            Action("group", f"Group: {group}", "3"),
            Action("rehearsal", f"Rehearsal: {'yes' if is_rehearsal else 'no'}", "4"),
            Action("cancel", "Cancel", "Esc"),
        ]
        without = {
            "begin": proposal.problem is not None,
            "group": proposal.is_resumed,
            "rehearsal": not self._may_rehearse,
        }
        sentences = [*proposal.warnings, *([proposal.problem] if proposal.problem else []), *self._timing]
        possible = [action for action in actions if not without.get(action.name)]
        return cast(_Action, self._reader.choose(f"Participant {visitor.participant}", sentences, possible))

    def _ask_for_number(self, title: str, most: int) -> int | None:
        """Return a typed number; None for the suggested number, after an empty text or escape."""
        question = f"Type a whole number from 1 to {most:,}. For the suggestion, leave the field empty."
        sentences = [question]
        while text := (self._reader.ask_for_text(title, sentences, "Continue", "Back") or "").strip():
            typed = typed_number(text)
            if typed is not None and typed.n_decimals == 0 and 1 <= typed.value <= most:
                return int(typed.value)
            sentences = [f"`{text}` is not possible.", question]
        return None
