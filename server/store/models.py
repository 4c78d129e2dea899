"""What goes into a store and comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from batteries.items import Item
from experiment.lab_api import UploadedSession
from experiment.plan import Phase
from experiment.records import FoundDevice, Kind, LabDevice, Session, Source, Status
from experiment.study.definition import StudyDefinition

NOTHING_PASSED_OVER = range(0)


class SlotState(StrEnum):
    """What has become of the place that a session was given in its group."""

    RESERVED = "reserved"
    CONFIRMED = "confirmed"
    RELEASED = "released"


class Release(StrEnum):
    """Why a place was given up."""

    TIME_OUT = "time-out"
    WITHDRAWAL = "withdrawal"
    ATTENTION_CHECK = "attention check"
    RETURN = "return"
    EXCLUSION = "exclusion"
    PRACTICE = "practice not passed"
    TOO_OLD = "too old to go on"
    RELOADED = "reloaded too often"
    RESTARTED = "begun again"
    NO_ROOM = "no room"
    """It never had a place: the session was taken elsewhere, and the group was full when it was brought here."""


ENDED_FOR = (Release.PRACTICE, Release.TOO_OLD, Release.RELOADED, Release.RESTARTED)
"""Reasons after which a session that was not completed cannot be gone on with, by the study's own rules."""

REGAINED_AFTER = (Release.TIME_OUT, Release.NO_ROOM)
"""Reasons after which a session may have a place again, if there is room."""


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of a stored plan, with the item as it was when the session began."""

    trial_index: int
    phase: Phase
    item: Item


@dataclass(frozen=True)
class SessionPlan:
    """What of a session never changes once it has begun."""

    session: str
    """Its name."""
    kind: Kind
    definition: StudyDefinition
    """As the study said when the session began, whatever has changed in the folder since."""
    texts: Mapping[str, str]
    """The participants' pages by file name, from the same time."""
    trials: tuple[StoredTrial, ...]
    withdrawal_code: str
    """By which the participant can have the answers deleted; also the completion code, where the study fixes none."""


@dataclass(frozen=True)
class StoredSession:
    """A session with its plan and how far it has come."""

    session: Session
    plan: SessionPlan
    n_answered: int
    """Trials that are answered, or were passed over."""
    slot: SlotState
    release_reason: str | None
    n_visits: int
    has_demographics: bool
    """Whether the questions about the person have been answered."""
    is_new: bool = field(default=False, compare=False)
    """Whether the call that returned it has begun it."""

    @property
    def ended_for(self) -> Release | None:
        """Why the session cannot be gone on with by the study's rules, or None."""
        if self.session.status is not Status.ACTIVE or self.release_reason not in ENDED_FOR:
            return None
        return Release(self.release_reason)


PANEL = "panel"
"""Source of the identities of people whom a panel sends."""


@dataclass(frozen=True)
class Identity:
    """Who somebody is to a panel, or whose personal link it is; kept apart from all answers."""

    source: str
    """`panel`, `link` or `lab`."""
    external_id: str
    parameters: dict[str, str] = field(default_factory=dict)
    """What else came with the id, such as the panel's name of the submission."""
    signed_at: str | None = None
    """When the panel signed that it sends this person; UTC, ISO 8601. None where it signs nothing."""

    @property
    def is_claim(self) -> bool:
        """Whether nobody vouches for it: a panel's id that stood in an address, and that anybody may have written."""
        return self.source == PANEL and self.signed_at is None


@dataclass(frozen=True)
class SessionStart:
    """What a client asks for when a session begins."""

    start_id: str
    """UUID made by the client; a retry with the same id begins no second session."""
    kind: Kind
    source: Source
    token_digest: str
    """SHA-256 of the secret by which the client will be known."""
    consent_digest: str | None
    """SHA-256 of the text that was agreed to; None where the study asks for no consent on the page."""
    identity: Identity | None = None
    """Who it is, where people do not come by an open link."""
    device: FoundDevice | LabDevice | None = None
    """What the session is taken on."""
    occasion: int | None = None
    """Which of the person's sessions in the laboratory it is, from 1; None where people take part once."""
    group: int | None = None
    """The group that is wanted; None for the one whose turn it is."""
    uploaded: UploadedSession | None = None
    """The session, if it was run elsewhere."""
    content_digest: str | None = None
    """Digest of the study's content with which an uploaded session began; None for the served content."""
    held_digest: str | None = None
    """SHA-256 of the token that the client holds already, if it holds one."""

    @property
    def visit(self) -> "Visit":
        """The session's first opening, or, by somebody known, another one."""
        return Visit(self.start_id, self.device)


@dataclass(frozen=True)
class Visit:
    """One opening of a session: its start, a reload, another browser."""

    visit_id: str
    """UUID made by the client; a retry with the same id is one visit."""
    device: FoundDevice | LabDevice | None = None
    """What it was opened on."""


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
class Revision:
    """A change of a study's wording that was accepted while people took part."""

    version: str
    """The study's version, which stays."""
    revision: int
    """Its number; 1 is what was registered first."""
    at: str
    """UTC, ISO 8601."""
    reason: str
    """The researcher's."""
    changed: tuple[str, ...]
    """Names of what changed, such as ``` item `q17` ```."""
    n_sessions: int
    """Sessions of people and simulated participants that began with it."""
    options: tuple[str, ...] = ()
    """When it is accepted: each option of an item that changed, before and after."""


@dataclass(frozen=True)
class GroupProgress:
    """What has become of the sessions of one kind in one group; the five counts add up to all that were begun."""

    kind: Kind
    group: int
    n_under_way: int
    """Active, with a place reserved."""
    n_completed: int
    """Completed, with the place confirmed: these count towards a quota."""
    n_lapsed: int
    """Never finished; the place was released."""
    n_replaced: int
    """Completed, but the place was released: a failed attention check, an exclusion, a return."""
    n_withdrawn: int
    is_open: bool
    """Whether new participants are put into this group."""

    @property
    def n_begun(self) -> int:
        """All sessions."""
        return self.n_under_way + self.n_completed + self.n_lapsed + self.n_replaced + self.n_withdrawn


class Access(StrEnum):
    """What a researcher does that changes no data; noted in the study's log beside the decisions."""

    SIGNED_IN = "signed in"
    SIGNED_OUT = "signed out"
    SIGN_IN_REFUSED = "sign-in refused"
    """For a wrong token; so many times, since the last such entry, as `number` says."""
    EXPORTED = "exported"
    BACKED_UP = "backed up"
    COPIED = "copied"


@dataclass(frozen=True)
class LogEvent:
    """A decision about places, a change, or an access of the researcher, as the log keeps it."""

    event_index: int
    at: str
    """UTC, ISO 8601."""
    event: str
    """`registered`, `reserved`, `uploaded`, `confirmed`, `released`, `regained`, `surplus`, `withdrew`, `closed`, an
    `Access` ..."""
    session: str | None
    details: dict[str, Any]
    """Why, and the numbers on which the decision rests."""


@dataclass(frozen=True)
class SessionFound:
    """A session as the researcher finds it by code, name or panel id."""

    session: str
    participant: str
    status: str
    slot: str | None
    excluded_reason: str | None
