"""The words for what a session leaves behind: participant, session, response, run."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

UUID_PATTERN = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("this time is before the year 1 or after the year 9999 in UTC.") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time by a client's clock, which is a time in UTC too."""


class Kind(StrEnum):
    """Who answers."""

    HUMAN = "human"
    MODEL = "model"
    SIMULATED = "simulated"


class Source(StrEnum):
    """The way by which a session's answers came."""

    LAB = "lab"
    WEB = "web"
    API = "api"
    IMPORT = "import"


class Status(StrEnum):
    """How far a session has come."""

    ACTIVE = "active"
    COMPLETED = "completed"
    WITHDRAWN = "withdrawn"


class Participant(BaseModel):
    """Who answers; a pseudonym, never a panel id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    participant: str = Field(description="Pseudonym, made at random.")
    kind: Kind = Field(description="human, model or simulated.")


class Session(BaseModel):
    """One participant's pass through a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session: str = Field(description="Name of the session, made at random.")
    participant: Participant = Field(description="Who answers.")
    study_digest: str = Field(description="Digest of this version of the study as it was registered first.")
    revision: int | None = Field(
        default=None, description="Revision of the study's wording that is shown; None before there were revisions."
    )
    battery_digest: str = Field(description="Digest of the battery whose items are shown.")
    group: int | None = Field(description="Counterbalance group, from 1; None for a run over the whole battery.")
    seed: int | None = Field(description="Seed of the plan; None where the order was not drawn.")
    source: Source = Field(description="lab, web, api or import.")
    status: Status = Field(description="active, completed or withdrawn.")
    started_at: AwareDatetime = Field(description="When consent was given or the run began, UTC.")
    completed_at: AwareDatetime | None = Field(default=None, description="When the last answer was in, UTC.")


class FoundDevice(BaseModel):
    """What a participant's browser told of its device when the session was opened; nothing that names the browser."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    width_px: int = Field(ge=0, le=100_000, description="Width of the window, in CSS pixels.")
    height_px: int = Field(ge=0, le=100_000, description="Height of the window, in CSS pixels.")
    screen_width_px: int = Field(ge=0, le=100_000, description="Width of the screen, in CSS pixels.")
    screen_height_px: int = Field(ge=0, le=100_000, description="Height of the screen, in CSS pixels.")
    pixel_ratio: float = Field(gt=0, le=100, description="Pixels of the screen in one CSS pixel, zoom included.")
    frame_ms: float | None = Field(default=None, gt=0, le=10_000, description="Frame interval, as measured, in ms.")
    touch: bool = Field(description="Whether the screen takes touch.")
    phone: bool = Field(description="Whether it is a phone, by its size and its touch screen.")
    keyboard: bool | None = Field(default=None, description="Whether a keyboard was seen; None if not asked for.")
    automation: bool = Field(description="Whether the browser says that a program drives it.")


class LabDevice(BaseModel):
    """What a laboratory's program found of the machine when it opened the session."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    width_px: int = Field(ge=1, le=100_000, description="Width of the window, in pixels of the screen.")
    height_px: int = Field(ge=1, le=100_000, description="Height of the window, in pixels of the screen.")
    full_screen: bool = Field(description="Whether the window takes the whole screen.")
    screen: int = Field(ge=0, le=1_000, description="Number of the screen, from 0.")
    monitor: str | None = Field(
        default=None, max_length=200, description="Name of the PsychoPy monitor; None if none was named."
    )
    nominal_hz: float | None = Field(
        default=None, gt=0, le=10_000, description="Refresh rate that the screen's mode names, in Hz; None if unknown."
    )
    measured_hz: float | None = Field(default=None, gt=0, le=10_000, description="Refresh rate as measured, in Hz.")
    frame_ms: float | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description="Frame interval, in ms: as measured, or where flips do not wait for the screen, by its mode.",
    )
    is_synchronised: bool = Field(description="Whether flips wait for the screen.")
    pacing: Literal["frames", "clock"] = Field(
        description="Whether the fixation is timed by counting frames, or by the clock where flips do not wait."
    )
    keyboard: Literal["ptb", "iohub", "event"] = Field(description="The backend of PsychoPy that stamps key presses.")
    psychopy_version: str = Field(max_length=100, description="Version of PsychoPy.")
    python_version: str = Field(max_length=100, description="Version of Python.")
    platform: str = Field(max_length=200, description="The operating system with its version.")
    text_font: str = Field(max_length=200, description="The font of the texts.")


class Signals(BaseModel):
    """What happened beside the answer between a trial's begin and its answer. Recorded, never acted upon."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(default=0, ge=0, le=1_000_000, description="Times the page was hidden, as by another tab.")
    away_ms: int = Field(
        default=0, ge=0, le=2_000_000_000, description="How long the page was hidden or without focus, in ms."
    )
    fullscreen_left: int = Field(default=0, ge=0, le=1_000_000, description="Times the full screen was left.")
    pasted: int = Field(default=0, ge=0, le=1_000_000, description="Times something was pasted.")
    copied: int = Field(default=0, ge=0, le=1_000_000, description="Times something was copied or cut.")
    resized: int = Field(default=0, ge=0, le=1_000_000, description="Times the window changed its size.")
    too_early: int = Field(
        default=0, ge=0, le=1_000_000, description="Answers before the stimulus was seen, or within `reading_ms`."
    )
    untrusted: int = Field(
        default=0, ge=0, le=1_000_000, description="Input events that were made by a program, not by a device."
    )


class JsPsychData(BaseModel):
    """What jsPsych itself notes of a trial."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    trial_type: str = Field(max_length=200, description="Name of the plugin.")
    plugin_version: str | None = Field(default=None, max_length=100, description="Version of the plugin.")
    time_elapsed_ms: float = Field(ge=0, description="Since the page's timeline began, by jsPsych's clock, in ms.")


class Response(BaseModel):
    """What was answered on a trial, with its timings. Append-only."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    response_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client; a retry with the same id is one response."
    )
    trial_index: int = Field(ge=0, le=1_000_000, description="The trial that is answered, from 0.")
    response: JsonValue = Field(description="The answer, in the form of the item's task; null if `missing`.")
    missing: Literal["deadline", "interrupted"] | None = Field(
        default=None,
        description="Why there is no answer: the deadline passed, or the page was closed meanwhile and the study "
        "passes such trials over.",
    )
    attempt: int = Field(
        default=1, ge=1, le=1_000_000, description="How often the trial had been begun, this time included."
    )
    visit: int | None = Field(
        default=None, ge=1, le=1_000_000, description="The opening of the session in which it was answered, from 1."
    )
    input: Literal["key", "mouse", "touch", "pen"] | None = Field(default=None, description="What it was made with.")
    rt_ms: float | None = Field(
        default=None, ge=0, le=86_400_000, description="From stimulus onset to the answer, in ms."
    )
    fixation_ms: float | None = Field(default=None, ge=0, le=86_400_000, description="Fixation as shown, in ms.")
    fixation_frames: int | None = Field(default=None, ge=0, le=1_000_000, description="Fixation as shown, in frames.")
    fixation_frames_intended: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Fixation as it should have been shown, in frames."
    )
    frame_ms: float | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description="The display's frame interval, in ms: as measured, or in a laboratory whose flips do not wait for "
        "the screen, by its mode.",
    )
    shown_at: Moment | None = Field(default=None, description="Stimulus onset by the client's clock, UTC.")
    onset_source: Literal["presented", "painted", "flip"] | None = Field(
        default=None,
        description="Where the onset comes from: `presented`, the browser's stamp of the frame on the screen; "
        "`painted`, the moment after it was painted, where the browser has no such stamp; "
        "`flip`, the moment after the flip of a laboratory's window.",
    )
    frames_dropped: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Frames missed during the fixation."
    )
    focus_lost: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Times the page, or a laboratory's window, lost the focus during the trial.",
    )
    signals: Signals | None = Field(default=None, description="What else happened during the trial; None if nothing.")
    jspsych: JsPsychData | None = Field(default=None, description="What jsPsych itself notes of the trial.")


class RunResponse(Response):
    """A model's answer."""

    valid: bool = Field(default=True, description="Whether the answer is a possible answer; kept as it came if not.")
    text: str = Field(default="", description="What the model wrote beside its answer.")
    imported_correct: bool | None = Field(default=None, description="The correctness stored with an imported run.")


class Run(BaseModel):
    """A session whose participant is a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str = Field(description="Label of the run, unique in a store, such as `Haiku 4.5, augmented+viz`.")
    model: str = Field(description="The model's name, such as `Haiku 4.5`.")
    model_version: str = Field(description="The provider's exact name of the model.")
    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature; None if not recorded.")
    prompt_digest: str | None = Field(default=None, description="SHA-256 of the prompt's fixed part.")
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="Everything else that was set.")
    started_at: AwareDatetime = Field(description="When the run began, UTC.")
    completed_at: AwareDatetime = Field(description="When the run ended, UTC.")
    source: Source = Field(description="import for a stored run, api for one made here.")
    item_ids: tuple[str, ...] = Field(description="The items asked, in order.")
    responses: tuple[RunResponse, ...] = Field(description="The answers; trial_index counts in item_ids.")
