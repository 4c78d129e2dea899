"""The JSON of laboratory sessions: the requests of the laboratory, and the replies of the server.

The laboratory and the server both use these pydantic models. A server refuses unknown fields in requests. A laboratory
ignores unknown fields in replies, so that it works with a newer server.
"""

from datetime import datetime
from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from experiment.plan import Phase
from experiment.records import UUID_PATTERN, Kind, LabDevice, Moment
from experiment.study.demographics import DemographicQuestion

LONGEST_CODE = 64
MAX_SESSION_NUMBER = 10_000
FORMER_KEY = "occasion"
"""Former name of `session_number`."""
LARGEST_SEED = 2**31 - 1


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class SessionQuery(_Request):
    """Query of `GET /api/lab/session`: a participant and a session number."""

    participant: str = Field(
        min_length=1,
        max_length=LONGEST_CODE,
        description="The participant code in the laboratory, such as `P01`.",
    )
    session_number: int = Field(
        default=1,
        ge=1,
        le=MAX_SESSION_NUMBER,
        description="Session number of the participant, from 1.",
        validation_alias=AliasChoices("session_number", FORMER_KEY),  # An older laboratory sends the former key.
    )

    @field_validator("participant")
    @classmethod
    def _is_plain(cls, code: str) -> str:
        if not code.isprintable() or code != code.strip():
            raise ValueError(
                "a participant code is not valid. Fix: use printable characters only, and no space at its start or end."
            )
        return code


class SlotQuery(SessionQuery):
    """Query of `GET /api/lab/slot`: a session that is about to begin."""

    group: int | None = Field(
        default=None, description="The requested counterbalance group; null for the group with the fewest participants."
    )


class SlotReply(_Reply):
    """Reply to `GET /api/lab/slot` if the participant may begin or resume the session."""

    study_digest: str | None = Field(default=None, description="Digest of the study that the server has.")
    group: int | None = Field(
        default=None, description="The group that the session has, or that it would have if it began now."
    )


class UploadedSession(_Request):
    """A session that was run on another machine and is uploaded to this server."""

    session: str = Field(pattern=r"^[0-9a-f]{16}$", description="Name of the session.")
    participant: str = Field(
        pattern=r"^p-[0-9a-f]{12}$", description="The participant's pseudonym on the machine that ran the session."
    )
    group: int = Field(description="Counterbalance group of the session.")
    seed: int = Field(ge=0, le=LARGEST_SEED, description="Seed of the session plan.")
    started_at: Moment = Field(description="Start of the session.")
    withdrawal_code: str | None = Field(
        default=None,
        pattern=r"^[0-9A-F]{10}$",
        description="Withdrawal code of the participant; null if there is none.",
    )
    is_withdrawn: bool = Field(
        default=False,
        description="True if the participant withdrew on the machine that ran the session. The server then withdraws "
        "the session too.",
    )


class LabStart(SlotQuery):
    """Body of `POST /api/lab/session`: begin, resume or upload a session."""

    start_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client. Requests with the same id begin only one session."
    )
    study_digest: str = Field(
        description="Digest of the study in the laboratory. For an upload, this is the digest of the revision with "
        "which the session began. Otherwise, this is the digest of the served study."
    )
    consent_digest: str | None = Field(
        description="Digest of the consent text for the laboratory; null if the study has no consent."
    )
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(
        default=Kind.HUMAN, description="`human`, or `simulated` for a rehearsal."
    )
    device: LabDevice | None = Field(default=None, description="The machine on which the session runs.")
    uploaded: UploadedSession | None = Field(
        default=None, description="The uploaded session; null if the session is not an upload."
    )

    @model_validator(mode="after")
    def _has_one_group(self) -> Self:
        if self.uploaded is not None and self.group not in {None, self.uploaded.group}:
            raise ValueError("`group` and `uploaded.group` differ. Fix: send the same group in both, or omit `group`.")
        return self


class Ended(_Reply):
    """A session that ended before all responses were given, and the reason for its end."""

    message: str
    withdrawal_code: str | None


class PracticeResult(_Reply):
    """The result of a finished round of practice."""

    correct: int
    needed: int
    next_trial_index: int
    ended: Ended | None


class TrialFeedback(_Reply):
    """The feedback after a practice trial."""

    correct: bool
    message: str
    solution: JsonValue
    explanation: list[str] = []
    practice: PracticeResult | None = None


class Completion(_Reply):
    """End of a session for a participant who has responded to every trial."""

    completion_code: str
    withdrawal_code: str | None


class PlannedTrial(_Reply):
    """A trial of a stored plan."""

    phase: Phase
    content: dict[str, JsonValue]
    """Content of the item."""


class LabFields(BaseModel):
    """Fields of a session that only a laboratory receives.

    With these fields, the laboratory checks the session plan, uploads the session, and says what a withdrawal deletes.
    """

    group: int
    seed: int
    participant: str
    """The participant's pseudonym."""
    started_at: datetime
    withdrawal_code: str | None
    n_answers: int = 0
    """Number of stored responses, without skipped and missed trials; 0 if an older server does not send it."""
    n_other_sessions: int = 0
    """Number of other sessions of the participant that a withdrawal would delete too; 0 if it is not sent."""


class OpenSession(LabFields, _Reply):
    """A session with its plan and its progress."""

    session: str
    status: Literal["active", "completed", "withdrawn", "ended"]
    visit: int
    demographics: tuple[DemographicQuestion, ...]
    next_trial_index: int
    trials: tuple[PlannedTrial, ...]
    message: str | None = None
    """Reason why the session has ended; null if it has not ended."""
