"""The JSON of a participant's session: requests of a client, and replies of the server.

The clients are the web page and the laboratory. `web/src/saving/server-api.ts` has the same fields for the web page.
Requests are pydantic models, because the server checks them. Replies are typed dictionaries, which mypy checks. Only
the feedback on a practice trial can contain an answer key.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import BaseModel, ConfigDict, FailFast, Field, JsonValue

from experiment.plan import Phase
from experiment.records import UUID_PATTERN, FoundDevice, Kind, Moment, Response, Status, TrialAction

MAX_RESPONSES_AT_ONCE = 100


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StartRequest(_Request):
    """Body of `POST /api/session`."""

    start_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client. A retry with the same id begins no second session."
    )
    consent_digest: str | None = Field(
        description="Digest of the consent that was shown, as returned by `GET /api/study`."
    )
    kind: Literal[Kind.HUMAN, Kind.SIMULATED] = Field(description="human or simulated.")
    device: FoundDevice | None = Field(default=None, description="Device of the session.")
    resume_only: bool = Field(
        default=False, description="True if the participant saw no consent. The server then begins no new session."
    )


class VisitRequest(_Request):
    """Body of `POST /api/visit`."""

    visit_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client. A retry with the same id is not a second visit."
    )
    device: FoundDevice | None = Field(default=None, description="Device of the visit.")


class DemographicsRequest(_Request):
    """Body of `POST /api/demographics`."""

    session: str = Field(description="Name of the session to which the answers belong.")
    answers: dict[str, str | int | None] = Field(
        max_length=30, description="Answers, by the names of the questions; null for a skipped question."
    )


class ResponsesRequest(_Request):
    """Body of `POST /api/responses`."""

    session: str = Field(description="Name of the session to which the responses belong, from `GET /api/session`.")
    # `FailFast` stops at the first mistake, because a body may contain 20,000 mistakes.
    responses: Annotated[tuple[Response, ...], FailFast()] = Field(
        min_length=1,
        max_length=MAX_RESPONSES_AT_ONCE,
        description="Responses to the next trials, in the order of the trials.",
    )


class ActionRequest(_Request):
    """Body of `POST /api/action`."""

    session: str = Field(description="Name of the session to which the action belongs, from `GET /api/session`.")
    action: TrialAction = Field(description="The next action of the next trial.")


class CompletionRequest(_Request):
    """Body of `POST /api/complete`."""

    completed_at: Moment | None = Field(
        default=None, description="Time of the last response in a laboratory session; omitted in other sessions."
    )


class EmptyRequest(_Request):
    """Body of a request without data."""


class ExitReply(TypedDict):
    """Completion code and redirect URL."""

    code: str | None
    url: str | None


class ExitsReply(TypedDict):
    """Completion codes and return links for participants whose session cannot begin."""

    no_consent: ExitReply
    incompatible_device: ExitReply


class PluginReply(TypedDict):
    """A published jsPsych plugin of the study."""

    address: str
    variable: str
    """Global variable that contains the plugin after loading."""


class StudyReply(TypedDict):
    """Reply of `GET /api/study`: the data shown before a session."""

    title: str
    language: str
    information_html: Sequence[str]
    consent_html: str | None
    consent_digest: str | None
    instructions_html: Sequence[str]
    rules_html: Sequence[str]
    """Pages that participants can open during a trial."""
    contact_html: str | None
    device: Mapping[str, Any]
    """The study's requirements for devices, with the fields of `experiment.study.timeline.Device`."""
    fullscreen: bool
    exits: ExitsReply
    plugins: Mapping[str, PluginReply]
    fixation_ms: int
    notice: str | None
    """Reason why no session can begin now."""
    begun_before: bool
    """True if the participant has proved who they are, and has begun the study in another browser."""
    returns_cookies: bool
    """True if the client has returned the cookie of the study's page. Without cookies, no session can continue."""


class TrialReply(TypedDict):
    """A trial of a session, without its answer key, as the browser receives it."""

    trial_index: int
    phase: Phase
    """`practice` or `test`.

    It is `test` for an attention check too, so that participants cannot recognise the check.
    """
    task: str
    content: Mapping[str, JsonValue]
    intertrial_ms: int
    """Interval between the trial before and this trial, in ms. The client omits it if a page comes before the trial."""


class BreaksReply(TypedDict):
    """Breaks between trials."""

    before: Sequence[int]
    """Indexes of the trials before which there is a break."""
    page_html: str | None


class BlockReply(TypedDict):
    """A block of test trials."""

    trial_index: int
    """Index of the block's first test trial."""
    instructions_html: Sequence[str]


class SessionReply(TypedDict):
    """Reply with a session, its plan and its progress."""

    session: str
    kind: Kind
    status: Status | Literal["ended"]
    visit: int
    fixation_ms: int
    reading_ms: int
    deadline_ms: int | None
    feedback_ms: int | None
    """Time after which feedback closes by itself; None if the participant continues."""
    interrupted_trial: Literal["repeat", "skip"]
    demographics: Sequence[Mapping[str, Any]]
    """The questions about the participant, with the fields of `experiment.study.demographics.DemographicQuestion`."""
    breaks: BreaksReply | None
    blocks: Sequence[BlockReply]
    """The blocks in the order of the session; empty if the study has no blocks."""
    confidence: Mapping[str, Any] | None
    """The question about confidence, with the fields of `experiment.study.timeline.Confidence`."""
    practice_rounds: int
    next_trial_index: int
    moves: Sequence[Mapping[str, JsonValue]]
    """The actions and observations so far in the next trial, if its task is interactive; otherwise empty."""
    trials: Sequence[TrialReply]


class ActionReply(TypedDict):
    """Reply of `POST /api/action`."""

    observation: JsonValue
    is_over: bool
    """True if the trial is over. The client then sends the number of actions as the response."""


class CompletionReply(TypedDict):
    """Reply of `POST /api/complete`: the end page of a participant who has responded to every trial."""

    completion_code: str
    withdrawal_code: str | None
    exit: ExitReply
    debrief_html: str
    contact_html: str | None


class EndedReply(TypedDict):
    """End page of a session that ended early because of a rule of the study."""

    message: str
    exit: ExitReply
    withdrawal_code: str | None
    contact_html: str | None


class CompletedSessionReply(SessionReply, CompletionReply):
    """A completed session."""


class EndedSessionReply(SessionReply, EndedReply):
    """A session that ended early because of a rule of the study."""


class PracticeReply(TypedDict):
    """Result of a finished round of practice."""

    passed: bool
    correct: int
    needed: int
    next_trial_index: int
    ended: EndedReply | None


class FeedbackReply(TypedDict):
    """Feedback after the response to a practice trial."""

    correct: bool
    message: str
    solution: JsonValue
    explanation: NotRequired[list[str]]
    """The reasons for the right answer, in order, such as the atoms that turned a ray. Sent if there are any."""
    practice: NotRequired[PracticeReply]
    """Sent after the last trial of a round, if the study has a practice criterion."""


class StoredResponseReply(TypedDict):
    """A stored response."""

    response_id: str
    feedback: FeedbackReply | None


class ResponsesReply(TypedDict):
    """Reply of `POST /api/responses`."""

    responses: Sequence[StoredResponseReply]
