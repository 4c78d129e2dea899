"""The inputs and outputs of a store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from batteries.items import Item
from experiment.lab_api import UploadedSession
from experiment.plan import Phase
from experiment.records import FoundDevice, Kind, LabDevice, Session, Source, Status
from experiment.study.definition import StudyDefinition

NOTHING_PASSED_OVER = range(0)


class SlotState(StrEnum):
    """State of a session's slot in its group."""

    RESERVED = "reserved"
    CONFIRMED = "confirmed"
    RELEASED = "released"


class Release(StrEnum):
    """Reason why a slot was released."""

    TIME_OUT = "time-out"
    WITHDRAWAL = "withdrawal"
    ATTENTION_CHECK = "attention check"
    RETURN = "return"
    EXCLUSION = "exclusion"
    PRACTICE = "practice not passed"
    TOO_OLD = "too old to resume"
    RELOADED = "reloaded too often"
    RESTARTED = "restarted"
    NO_ROOM = "no room"
    """The group was full when the session was uploaded, so the session never had a slot."""

    @classmethod
    def _missing_(cls, value: object) -> "Release | None":
        """Return the reason with this former name, which a log from before the migration `m010` may contain."""
        return cls(FORMER_REASONS[value]) if value in FORMER_REASONS else None


FORMER_REASONS: dict[object, str] = {
    "too old to go on": "too old to resume",  # prose: stored
    "begun again": "restarted",
}
"""The present names of renamed reasons. The keys are the former names, which logs from before the migration `m010`
contain.
"""


ENDED_FOR = (Release.PRACTICE, Release.TOO_OLD, Release.RELOADED, Release.RESTARTED)
"""Reasons that are rules of the study. After such a release, an incomplete session cannot be resumed."""

REGAINED_AFTER = (Release.TIME_OUT, Release.NO_ROOM)
"""Reasons after which a session may get a slot again, if its group has a free slot."""


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of a stored plan, with the item as it was at the session's start."""

    trial_index: int
    phase: Phase
    item: Item


@dataclass(frozen=True, slots=True)
class StoredAction:
    """An action in a trial of an interactive task, with its observation."""

    action_id: str
    action: JsonValue
    observation: JsonValue


@dataclass(frozen=True)
class SessionPlan:
    """The part of a session that never changes."""

    session: str
    """The session's name."""
    kind: Kind
    definition: StudyDefinition
    """The study's definition at the session's start, even if the study's folder has changed since."""
    texts: Mapping[str, str]
    """The texts of the participant's pages at the session's start. The keys are file names."""
    trials: tuple[StoredTrial, ...]
    withdrawal_code: str
    """The code with which the participant can delete the responses. If `study.yaml` sets no completion code, it is
    also the completion code.
    """
    group: int | None = None
    """Counterbalance group, from 1; None for a run over the whole battery."""


@dataclass(frozen=True)
class StoredSession:
    """A session with its plan and its progress."""

    session: Session
    plan: SessionPlan
    n_answered: int
    """Number of trials that have a response or were skipped."""
    slot: SlotState
    release_reason: str | None
    n_visits: int
    has_demographics: bool
    """True if the questions about the participant have been answered."""
    is_new: bool = field(default=False, compare=False)
    """True if the call that returned this object has begun the session."""

    @property
    def ended_for(self) -> Release | None:
        """The rule of the study that forbids resuming the session; None if the session can be resumed."""
        if self.session.status is not Status.ACTIVE or self.release_reason not in ENDED_FOR:
            return None
        return Release(self.release_reason)


PANEL = "panel"
"""Kind of an identity that is a panel id."""
LAB = "lab"
"""Kind of an identity that is a laboratory code."""


@dataclass(frozen=True)
class Identity:
    """A participant's panel id, personal link or laboratory code. Identities are stored apart from all responses."""

    id_kind: str
    """Kind of the id: `panel`, `link` or `lab`."""
    external_id: str
    parameters: dict[str, str] = field(default_factory=dict)
    """Further parameters that came with the id, such as the panel's id of the submission."""
    signed_at: str | None = None
    """Time at which the panel signed the participant's ids; UTC, ISO 8601. None if there is no signature."""

    @property
    def is_claim(self) -> bool:
        """True if the identity is unverified: anyone may have written an address with a panel id."""
        return self.id_kind == PANEL and self.signed_at is None


@dataclass(frozen=True)
class SessionStart:
    """The request to begin a session."""

    start_id: str
    """UUID that the client makes. A retry with the same UUID begins no second session."""
    kind: Kind
    source: Source
    token_digest: str
    """SHA-256 of the token: the secret with which the client identifies itself in later requests."""
    consent_digest: str | None
    """SHA-256 of the consent text; None if the study does not ask for consent."""
    identity: Identity | None = None
    """The participant's identity; None if the study has an open link, or if the participant is simulated."""
    device: FoundDevice | LabDevice | None = None
    """The computer or telephone on which the session is run, and its browser or display."""
    session_number: int | None = None
    """Number of the participant's session in the laboratory, from 1; None in studies with one session."""
    group: int | None = None
    """The wanted group; None for the group with the fewest participants."""
    uploaded: UploadedSession | None = None
    """The data of an uploaded session; None for any other session."""
    content_digest: str | None = None
    """Digest of the content that the study had when an uploaded session began. If None, the served content is used."""
    held_digest: str | None = None
    """SHA-256 of a token that the client has from an earlier start; None if the client has no token."""

    @property
    def visit(self) -> "Visit":
        """The visit that this start begins."""
        return Visit(self.start_id, self.device)


@dataclass(frozen=True)
class Visit:
    """One opening of a session's page: the start, a reload, or an opening in another browser."""

    visit_id: str
    """UUID that the client makes. Retries with the same UUID are one visit."""
    device: FoundDevice | LabDevice | None = None
    """The device that was used in this visit."""


@dataclass(frozen=True)
class AddedRun:
    """Result of storing a run."""

    run: str
    """The run's label in the store."""
    is_new: bool
    """False if the same run was stored already, so that nothing was added."""


@dataclass(frozen=True)
class StoredRun:
    """A stored run of a model. It has counts of the responses, but not the responses."""

    run: str
    """The run's label."""
    model: str
    model_version: str
    """The provider's exact name of the model."""
    temperature: float | None
    prompt_digest: str | None
    parameters: dict[str, Any]
    """All other settings of the run; see `experiment.records.Run`."""
    source: Source
    """`import` for an imported run, `api` for a run made with Equipoise."""
    started_at: str
    """Time of the first reply; UTC, ISO 8601."""
    completed_at: str
    """Time of the last reply; UTC, ISO 8601."""
    study_version: str
    battery_digest: str
    n_items: int
    """Number of items that the model was asked. For an imported run, these are the items with a reply."""
    n_responses: int
    n_invalid: int
    n_truncated: int
    """Number of replies that reached the limit of tokens."""
    n_with_canary: int | None
    """Number of replies whose text or thinking contains the battery's canary; None if no canary was given."""
    input_tokens: int | None
    """Number of tokens in all prompts; None if unknown."""
    output_tokens: int | None
    """Number of tokens in all replies and their thinking; None if unknown."""


@dataclass(frozen=True)
class RegisteredDefinition:
    """The content of `study.yaml` that the store saved, with the number of sessions that began with it."""

    registered_at: str
    """Time of the registration; UTC, ISO 8601."""
    definition: StudyDefinition
    n_sessions: int


@dataclass(frozen=True)
class Revision:
    """A change of a study's wording that the researcher accepted after sessions had begun."""

    version: str
    """The study's version, which stays the same."""
    revision: int
    """Number of the revision. The content before any change of wording has the number 1."""
    at: str
    """Time of the revision; UTC, ISO 8601."""
    reason: str
    """The researcher's reason for the change."""
    changed: tuple[str, ...]
    """Names of the changes, such as ``` item `q17` ```."""
    n_sessions: int
    """Number of sessions of people and simulated participants that began with this revision."""
    options: tuple[str, ...] = ()
    """Each changed answer option, with its text before and after the change. Only `revise_study` fills this field."""


@dataclass(frozen=True)
class GroupProgress:
    """Numbers of sessions of one kind in one group, by state. The first five numbers (`n_...`) add up to `n_begun`."""

    kind: Kind
    group: int
    n_under_way: int
    """Active sessions with a reserved slot."""
    n_completed: int
    """Completed sessions with a confirmed slot, which count towards a quota."""
    n_lapsed: int
    """Sessions that were never finished and whose slot was released."""
    n_replaced: int
    """Completed sessions whose slot was released, because of a failed attention check, an exclusion or a return."""
    n_withdrawn: int
    is_open: bool
    """True if new participants are assigned to this group."""
    n_added: int = 0
    """Number of slots that researchers added to the quota of the group."""

    @property
    def n_begun(self) -> int:
        """Number of all sessions that have begun."""
        return self.n_under_way + self.n_completed + self.n_lapsed + self.n_replaced + self.n_withdrawn


class Access(StrEnum):
    """A researcher's action that changes no data. The study's log records such actions."""

    SIGNED_IN = "signed in"
    SIGNED_OUT = "signed out"
    SIGN_IN_REFUSED = "sign-in refused"
    """Wrong tokens or passwords were refused. `number` in the entry counts them since the previous entry of this kind.
    """
    ACCOUNT_ADDED = "account added"
    ROLE_CHANGED = "role changed"
    PASSWORD_CHANGED = "password changed"  # noqa: S105 - the name of an action
    SECOND_FACTOR_SET = "second factor set"
    SECOND_FACTOR_REMOVED = "second factor removed"
    ACCOUNT_DISABLED = "account disabled"
    ACCOUNT_ENABLED = "account enabled"
    ACCOUNT_REMOVED = "account removed"
    EXPORTED = "exported"
    BACKED_UP = "backed up"
    COPIED = "copied"
    REVIEWED = "submissions reviewed"
    """Submissions at the panel were approved or rejected."""
    BONUS_PAID = "bonus paid"


ACCOUNT_CHANGES = (
    Access.ACCOUNT_ADDED, Access.ROLE_CHANGED, Access.PASSWORD_CHANGED, Access.SECOND_FACTOR_SET,
    Access.SECOND_FACTOR_REMOVED, Access.ACCOUNT_DISABLED, Access.ACCOUNT_ENABLED, Access.ACCOUNT_REMOVED,
)  # fmt: skip
"""Changes of researchers' accounts. An entry of such a change has a checksum of the account after the change."""


class Role(StrEnum):
    """Rights of a researcher. Each role includes the rights of the roles after it."""

    OWNER = "owner"
    """May also delete responses."""
    RESEARCHER = "researcher"
    """May also change the data collection: close groups, extend quotas, exclude participants."""
    VIEWER = "viewer"
    """May only read."""

    def includes(self, role: "Role") -> bool:
        """Return True if this role may do everything that `role` may do."""
        ranked = list(Role)
        return ranked.index(self) <= ranked.index(role)


@dataclass(frozen=True)
class Account:
    """A researcher's account for one study."""

    name: str
    """Name that the researcher enters to sign in. The study's log contains it."""
    role: Role
    password_hash: str = field(repr=False)
    """Salted hash of the password (argon2id, RFC 9106)."""
    totp_secret: str | None = field(default=None, repr=False)
    """Secret of the second factor (RFC 6238), in base 32; None if the account has no second factor."""
    is_active: bool = True
    """False if the account is disabled, so that nobody can sign in with it."""


def has_active_owner(accounts: Iterable[Account]) -> bool:
    """Return True if a researcher can sign in as an owner. Then the printed link no longer signs anybody in."""
    return any(account.is_active and account.role is Role.OWNER for account in accounts)


@dataclass(frozen=True)
class LogEvent:
    """An entry of the log: a decision about slots, a change, or an action of the researcher (`Access`)."""

    event_index: int
    at: str
    """Time of the event; UTC, ISO 8601."""
    event: str
    """Kind of the event, such as `registered`, `reserved`, `uploaded`, `confirmed`, `released`, `regained`, `surplus`,
    `withdrew`, `closed` or an `Access`.
    """
    session: str | None
    details: dict[str, Any]
    """The details of the event, such as the reason of a decision and the numbers of slots."""


@dataclass(frozen=True)
class SessionFound:
    """A session that the researcher has found by a withdrawal code, a session name or a panel id."""

    session: str
    participant: str
    status: str
    slot: str | None
    excluded_reason: str | None


class PaymentState(StrEnum):
    """State of a decision that is sent to the panel."""

    CLAIMED = "claimed"
    """A command will send the decision. Nothing was sent."""
    SENT = "sent"
    """The request was sent, or is sent now. If there is no later state, the outcome is unknown."""
    DONE = "done"
    REFUSED = "refused"
    """The panel refused the request, or did not get it. So the decision may be sent again."""


REVIEW = "review"
"""Purpose of a payment that is an approval or a rejection. The purpose of a bonus is `bonus`, a space and its label."""


@dataclass(frozen=True)
class Payment:
    """A decision on a participant's payment, which is sent to the panel at most once.

    Payments belong to the identities: they are deleted together with a participant's panel id.
    """

    participant: str
    """The participant's pseudonym."""
    purpose: str
    """`REVIEW`, or `bonus` with a label. A participant has at most one payment for each purpose."""
    decision: str
    """`approve`, `reject` or `bonus`."""
    submission: str
    """The panel's id of the submission."""
    cents: int | None = None
    """Amount of a bonus in cents; None for other decisions."""
    paid_before: tuple[int, ...] = ()
    """Bonuses of this submission, in cents, that the panel listed before the request."""
    state: PaymentState = PaymentState.CLAIMED
    claim: str = ""
    """Name of the command's run that claimed this payment last."""
    batch: str | None = None
    """The panel's id of the bonus payment that contains this bonus."""
    claimed_at: str = ""
    """Time of the claim; UTC, ISO 8601."""
    settled_at: str | None = None
    """Time at which the outcome was known; UTC, ISO 8601."""
