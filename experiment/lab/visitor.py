"""The participant of a visit in the laboratory, and the way in which the visit ended."""

from dataclasses import dataclass
from enum import StrEnum

from experiment.records import Kind


@dataclass(frozen=True)
class Visitor:
    """The participant of a visit, with the session number and the group."""

    participant: str
    """The participant code, such as `P01`."""
    session_number: int
    """Session number, from 1."""
    group: int | None
    """Counterbalance group; None for a group with few participants that the participant has not had."""
    kind: Kind = Kind.HUMAN


class VisitOutcome(StrEnum):
    """The way in which a visit ended."""

    COMPLETED = "completed"
    LEFT = "left"
    WITHDRAWN = "withdrawn"
    DECLINED = "declined"
    ENDED = "ended"
