"""What every store promises."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from batteries.items import Item
from experiment.plan import Phase
from experiment.records import Kind, Response, Run, Session, Source
from experiment.study import Study, StudyDefinition


class Conflict(Exception):
    """A request that contradicts what is stored, such as an answer out of order; the message is for the client."""


class StoreUnavailable(Exception):
    """The store cannot write now (full disk, locked file); nothing was acknowledged, and a retry may succeed."""


@dataclass(frozen=True)
class StoredTrial:
    """A trial of a stored plan, with the item as it was when the session began."""

    trial_index: int
    phase: Phase
    item: Item


@dataclass(frozen=True)
class StoredSession:
    """A session with its plan and how far it has come."""

    session: Session
    trials: tuple[StoredTrial, ...]
    n_answered: int
    completion_code: str
    fixation_ms: int
    """As the study said when the session began; so with the debrief, whatever has changed in the folder since."""
    debrief: str
    """Markdown."""


@dataclass(frozen=True)
class SessionStart:
    """What a client asks for when a session begins."""

    start_id: str
    """UUID made by the client; a retry with the same id begins no second session."""
    kind: Kind
    source: Source
    token_digest: str
    """SHA-256 of the secret by which the client will be known."""
    consent_digest: str
    """SHA-256 of the text that was agreed to."""


@dataclass(frozen=True)
class AddedRun:
    """What became of a run given to the store."""

    run: str
    """The run's label in the store."""
    is_new: bool
    """False if the very same run was there already; then nothing was added."""


@dataclass(frozen=True)
class RegisteredDefinition:
    """A study's definition as it was when sessions were begun by it."""

    registered_at: str
    """UTC, ISO 8601."""
    definition: StudyDefinition
    n_sessions: int


@dataclass(frozen=True)
class GroupProgress:
    """How many sessions of a kind a group has, by status."""

    kind: str
    group: int
    n_active: int
    n_completed: int
    n_withdrawn: int


class Store(ABC):
    """Append-only answers beside the plans they answer. All methods may be called from any thread.

    A method that writes returns only when what it wrote is committed and on disk. If it raises, it has written
    nothing. Responses are never changed; only a withdrawal deletes them. The store publishes one view, `trials`
    (a row a planned trial, with its answer if there is one), which `analysis` reads.
    """

    @abstractmethod
    def register_study(self, study: Study) -> None:
        """Record the study and its battery, so that the store can be understood without the study's folder.

        Raises
        ------
        InputError
            If people have answered this version of the study when its content was another: a version names one thing.
        """

    @abstractmethod
    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        """Begin a session in the group with the fewest of its kind, completed or under way, and store its plan.

        The seed is the session's number within its kind and group, so that the plans of a whole study can be made
        again without its data. The same start given twice begins one session; the later token is then the valid one.
        """

    @abstractmethod
    def find_session(self, token_digest: str) -> StoredSession | None:
        """Return the session that belongs to a token, or None."""

    @abstractmethod
    def add_response(self, session: str, response: Response) -> bool:
        """Store one answer.

        Returns
        -------
        bool
            True if it is new, False if the very same response (by `response_id`) was stored before.

        Raises
        ------
        Conflict
            If the trial is not the next one, the session is over, or the id belongs to another answer.
        """

    @abstractmethod
    def complete_session(self, session: str) -> None:
        """Mark a session as completed; again is the same as once.

        Raises
        ------
        Conflict
            If answers are missing, or the participant has withdrawn.
        """

    @abstractmethod
    def withdraw_session(self, session: str) -> None:
        """Delete a session's answers and close it; again is the same as once."""

    @abstractmethod
    def sessions_with_code(self, completion_code: str) -> list[str]:
        """Return the sessions whose own completion code this is: one or none.

        A code that study.yaml fixes for everyone is nobody's own, and finds no session.
        """

    @abstractmethod
    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        """Store models' runs, all of them or none.

        A run whose very answers are stored already is not stored again; another with the same label gets a number.

        Raises
        ------
        Conflict
            If some answers of a run are stored already, as part of another run.
        """

    @abstractmethod
    def progress(self, study: Study) -> list[GroupProgress]:
        """Return the sessions of people and simulated participants in this study, by kind and group."""

    @abstractmethod
    def registered_definitions(self) -> list[RegisteredDefinition]:
        """Return what `study.yaml` said for the sessions of people and simulated participants in the store."""

    @abstractmethod
    def trials(self) -> list[dict[str, Any]]:
        """Return the rows of the view `trials`."""

    @abstractmethod
    def close(self) -> None:
        """Finish what is being written and let go of the store."""
