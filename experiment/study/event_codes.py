"""Event codes for EEG, eye trackers and similar devices: which number the laboratory sends at which event.

The code of an event of a trial is a sum: the number of the event, the number of the phase, the numbers of the item's
levels of factors, and the number of the item. Events between trials have only the number of the event.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from batteries.errors import InputError
from batteries.items import Item, Level
from experiment.records import SessionEventName, TrialEventName

HIGHEST_CODE = 65_535
"""Highest event code of any destination. Serial and parallel ports send codes up to 255."""

PhaseName = Literal["practice", "test", "attention_check"]

TRIAL_EVENTS: tuple[TrialEventName, ...] = get_args(TrialEventName)
SESSION_EVENTS: tuple[SessionEventName, ...] = get_args(SessionEventName)


class BlockLevel(NamedTuple):
    """A block of trials: the factor that defines the blocks, and the level of this block."""

    factor: str
    level: Level


class EventCodes(BaseModel):
    """Event codes of a study, which the laboratory sends to recording devices. `equipoise lab codes` lists them.

    The code of an event of a trial is the sum of the numbers of the event, the phase, the levels of factors and the
    item. Events between trials have the number of the event; `block` adds the number of the level of the block.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: dict[TrialEventName | SessionEventName, int] = Field(
        default={
            "session_start": 1,
            "session_end": 2,
            "block": 3,
            "break": 4,
            "fixation": 1,
            "stimulus": 2,
            "response": 3,
            "time_out": 4,
            "feedback": 5,
        },
        description=(
            "Number of each event; an event without a number sends no code. Events of a trial: `intertrial`, "
            "`fixation`, `screen`, `stimulus`, `mask`, `blank`, `response`, `time_out`, `feedback`. Events between "
            "trials: `session_start`, `session_end`, `block`, `break`."
        ),
    )
    phases: dict[PhaseName, int] = Field(
        default={"practice": 10, "test": 20, "attention_check": 30},
        description="Number that is added for each phase: `practice`, `test`, `attention_check`; 0 if it is not named.",
    )
    factors: dict[str, dict[str, int]] = Field(
        default={},
        description=(
            "Number that is added for each level of a factor. Name every level that the test items have. An item "
            "without the factor adds 0."
        ),
    )
    items: dict[str, int] = Field(default={}, description="Number that is added for an item, by item id; 0 if omitted.")

    @field_validator("factors", mode="before")
    @classmethod
    def _levels_as_text(cls, factors: Any) -> Any:
        """Write each level as text, because YAML reads the level 1 as a number, and JSON has only keys of text."""
        if not isinstance(factors, Mapping) or not all(isinstance(numbers, Mapping) for numbers in factors.values()):
            return factors  # pydantic describes the mistake.
        return {name: {level_text(level): each for level, each in numbers.items()} for name, numbers in factors.items()}

    def of_trial(self, event: TrialEventName, phase: PhaseName, item: Item) -> int | None:
        """Return the code of an event of a trial; None if no code is sent."""
        summands = _summands_of_trial(self, event, phase, item)
        return sum(summands) if summands else None

    def of_session(self, event: SessionEventName, block: BlockLevel | None = None) -> int | None:
        """Return the code of an event between trials; None if no code is sent.

        `block` is the block that begins at the event `block`.
        """
        summands = _summands_of_session(self, event, block)
        return sum(summands) if summands else None


class CodeMeaning(NamedTuple):
    """The meaning of an event code."""

    code: int
    event: TrialEventName | SessionEventName
    phase: PhaseName | None
    """Phase of the trial; None for an event between trials."""
    levels: tuple[tuple[str, Level], ...]
    """The factors that have numbers, with the levels of the item or of the block."""
    item_id: str | None
    """Id of the item if the item has its own number."""

    @property
    def words(self) -> str:
        """The meaning in words, such as `stimulus, test, congruency incongruent`."""
        levels = [f"{name} {level_text(level)}" for name, level in self.levels]
        item = [f"item {self.item_id}"] if self.item_id else []
        return ", ".join([self.event, *([self.phase] if self.phase else []), *levels, *item])


def list_codes(
    codes: EventCodes, items: Iterable[tuple[PhaseName, Item]], blocks: Iterable[BlockLevel] = ()
) -> list[CodeMeaning]:
    """Return the meanings of all codes that can be sent in a session, in the order of the codes.

    Several meanings have the same code if they have the same numbers, such as two phases to which 0 is added.

    Parameters
    ----------
    codes
        The event codes.
    items
        The items of the study with their phases.
    blocks
        The blocks of the study.

    Raises
    ------
    InputError
        If a code is not from 1 to 65,535, or if different numbers have the same sum.
    """
    first: dict[int, tuple[_Summands, CodeMeaning]] = {}
    meanings: dict[CodeMeaning, None] = {}
    for summands, meaning in (*_of_session(codes, blocks), *_of_trials(codes, items)):
        if not 1 <= meaning.code <= HIGHEST_CODE:
            raise InputError(
                f"`event_codes`: the code of the event {meaning.words} is {meaning.code}, but codes are from 1 to "
                f"{HIGHEST_CODE:,}. Fix: change the numbers that are added to this code."
            )
        known, other = first.setdefault(meaning.code, (summands, meaning))
        if (other.event, known) != (meaning.event, summands):
            raise InputError(
                f"`event_codes`: two events have the code {meaning.code}: ({other.words}) and ({meaning.words}). Fix: "
                "change the numbers so that their sums differ."
            )
        meanings[meaning] = None
    return sorted(meanings, key=lambda meaning: meaning.code)


def check_names(codes: EventCodes, items: Iterable[Item], test_items: Iterable[Item]) -> None:
    """Raise an InputError if event codes name an unknown item, factor or level, or do not name a level of a factor."""
    ids = {item.item_id for item in items}
    for item_id in codes.items:
        if item_id not in ids:
            raise InputError(
                f"`event_codes.items` names the item `{item_id}`, which is not in the battery. Fix: correct the item "
                "id."
            )
    tested = list(test_items)
    for factor, numbers in codes.factors.items():
        levels = {level_text(item.factors[factor]) for item in tested if factor in item.factors}
        if not levels:
            raise InputError(
                f"`event_codes.factors` names the factor `{factor}`, which no test item has. Fix: use a factor of the "
                "test items."
            )
        if wrong := sorted(numbers.keys() - levels):
            raise InputError(
                f"`event_codes.factors.{factor}` names the level `{wrong[0]}`, which no test item has. Fix: correct "
                "or delete this level."
            )
        if missing := sorted(levels - numbers.keys()):
            raise InputError(
                f"`event_codes.factors.{factor}` has no number for the level `{missing[0]}`. Fix: write a number for "
                "each level, such as 0."
            )


def level_text(level: Level) -> str:
    """Return a level as text, as YAML writes it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


_Summands = tuple[int, ...]


def _summands_of_trial(codes: EventCodes, event: TrialEventName, phase: PhaseName, item: Item) -> _Summands | None:
    if event not in codes.events:
        return None
    of_levels = [
        numbers.get(level_text(item.factors[name]), 0) if name in item.factors else 0
        for name, numbers in codes.factors.items()
    ]
    return codes.events[event], codes.phases.get(phase, 0), *of_levels, codes.items.get(item.item_id, 0)


def _summands_of_session(codes: EventCodes, event: SessionEventName, block: BlockLevel | None) -> _Summands | None:
    if event not in codes.events:
        return None
    if block is None or event != "block":
        return (codes.events[event],)
    return codes.events[event], codes.factors.get(block.factor, {}).get(level_text(block.level), 0)


def _of_session(codes: EventCodes, blocks: Iterable[BlockLevel]) -> Iterator[tuple[_Summands, CodeMeaning]]:
    for event in SESSION_EVENTS:
        for block in blocks if event == "block" else (None,):
            summands = _summands_of_session(codes, event, block)
            if summands is not None:
                levels = (block,) if block is not None and block.factor in codes.factors else ()
                yield summands, CodeMeaning(sum(summands), event, None, levels, None)


def _of_trials(codes: EventCodes, items: Iterable[tuple[PhaseName, Item]]) -> Iterator[tuple[_Summands, CodeMeaning]]:
    for phase, item in items:
        levels = tuple((name, item.factors[name]) for name in codes.factors if name in item.factors)
        item_id = item.item_id if item.item_id in codes.items else None
        for event in TRIAL_EVENTS:
            if event == "feedback" and phase != "practice":  # Feedback follows only practice.
                continue
            summands = _summands_of_trial(codes, event, phase, item)
            if summands is not None:
                yield summands, CodeMeaning(sum(summands), event, phase, levels, item_id)
