"""The data for the pages on which researchers watch a study."""

from dataclasses import dataclass, field
from typing import Any

from server.store.models import GroupProgress, LogEvent


@dataclass(frozen=True)
class RecentResponse:
    """One response of a recent session, for the response times and the signals."""

    kind: str
    phase: str
    rt_ms: float | None
    focus_lost: int | None
    frames_dropped: int | None
    signals: str | None
    """Signals that are not 0, as JSON; None if all are 0."""


@dataclass(frozen=True)
class Monitored:
    """The state of a study at one moment. It contains no pseudonym, no id and no answer."""

    at: str
    """Time of the state; UTC, ISO 8601."""
    groups: tuple[GroupProgress, ...]
    stages: dict[tuple[str, str, int], int]
    """Number of unfinished sessions, by kind, slot (`reserved` or `released`) and stage.

    The stage is the number of completed quarters of the session's trials. It is -1 before the first response, and 4 if
    the session has all responses but was not completed.
    """
    releases: dict[tuple[str, str], int]
    """Number of sessions whose slot was released, by kind and reason."""
    n_excluded: int
    completions: tuple[tuple[str, str, str], ...]
    """Kind, start and completion of the latest completed sessions, the latest first; times are UTC, ISO 8601."""
    first_start: str | None
    """Start of the first session of a person; None if there is none."""
    responses: tuple[RecentResponse, ...]
    """Responses of the latest sessions."""
    n_responses: int
    """Number of all stored responses of people and simulated participants."""


@dataclass(frozen=True)
class WatchedSession:
    """A row of the list of sessions."""

    session: str
    participant: str
    kind: str
    group: int
    status: str
    slot: str
    release_reason: str | None
    started_at: str
    completed_at: str | None
    n_answered: int
    n_trials: int
    excluded_reason: str | None


@dataclass(frozen=True)
class SessionHistory:
    """Everything that the store has on one session, except the participant's panel id."""

    watched: WatchedSession
    seed: int
    source: str
    events: tuple[LogEvent, ...]
    """Entries of the study's log about the session."""
    visits: tuple[tuple[int, str, int], ...]
    """Number, time, and index of the next trial of each visit."""
    responses: tuple[dict[str, Any], ...] = field(repr=False)
    """The stored responses, by column, with phase and item id of their trials."""
