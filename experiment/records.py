"""Records of a session: participant, session, response, run."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

UUID_PATTERN = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(
            "this time is before the year 1 or after the year 9999 in UTC. Fix: send the time of the event."
        ) from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time from the clock of a browser or a laboratory computer, converted to UTC."""


class Kind(StrEnum):
    """Kind of respondent."""

    HUMAN = "human"
    MODEL = "model"
    SIMULATED = "simulated"


class Source(StrEnum):
    """Source of a session's responses."""

    LAB = "lab"
    WEB = "web"
    API = "api"
    IMPORT = "import"


class Status(StrEnum):
    """Status of a session."""

    ACTIVE = "active"
    COMPLETED = "completed"
    WITHDRAWN = "withdrawn"


class Participant(BaseModel):
    """The participant, identified by a pseudonym and never by a panel id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    participant: str = Field(description="Pseudonym, drawn at random.")
    kind: Kind = Field(description="human, model or simulated.")


class Session(BaseModel):
    """A session, in which one participant responds to the trials of a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session: str = Field(description="Name of the session, drawn at random.")
    participant: Participant = Field(description="The participant who responds.")
    study_digest: str = Field(description="Digest with which this version of the study was first registered.")
    revision: int | None = Field(
        default=None,
        description=(
            "Revision of the study's wording that the participant sees; None for a session from before Equipoise had "
            "revisions."
        ),
    )
    battery_digest: str = Field(description="Digest of the battery with the items.")
    group: int | None = Field(description="Counterbalance group, from 1; None for a run over the whole battery.")
    seed: int | None = Field(description="Seed of the plan; None if the order is not random.")
    source: Source = Field(description="lab, web, api or import.")
    status: Status = Field(description="active, completed or withdrawn.")
    started_at: AwareDatetime = Field(description="Time of the consent, or of the start of the run, UTC.")
    completed_at: AwareDatetime | None = Field(
        default=None, description="Time at which the last response was stored, UTC."
    )


class FoundDevice(BaseModel):
    """The browser's report of its device when the session is opened. No field identifies the browser."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    width_px: int = Field(ge=0, le=100_000, description="Width of the window, in CSS pixels.")
    height_px: int = Field(ge=0, le=100_000, description="Height of the window, in CSS pixels.")
    screen_width_px: int = Field(ge=0, le=100_000, description="Width of the screen, in CSS pixels.")
    screen_height_px: int = Field(ge=0, le=100_000, description="Height of the screen, in CSS pixels.")
    pixel_ratio: float = Field(gt=0, le=100, description="Screen pixels per CSS pixel. The browser's zoom is included.")
    frame_ms: float | None = Field(default=None, gt=0, le=10_000, description="Measured frame interval, in ms.")
    frame_used_ms: float | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description=(
            "Frame interval with which durations are counted in frames, in ms: the measured interval, or the interval "
            "of the usual refresh rate that is nearest to it."
        ),
    )
    touch: bool = Field(description="True if the device has a touch screen.")
    phone: bool = Field(description="True for a phone: a small touch screen.")
    keyboard: bool | None = Field(
        default=None,
        description="True if the participant pressed the requested key; None if the study requires no keyboard.",
    )
    automation: bool = Field(description="True if the browser reports that a program controls it.")
    color_scheme: Literal["light", "dark"] | None = Field(default=None, description="The colours of the page.")
    text_px: float | None = Field(default=None, gt=0, le=1_000, description="Size of normal text, in CSS pixels.")
    clock_ms: float | None = Field(
        default=None, gt=0, le=10_000, description="Smallest step of the browser's clock, in ms."
    )
    translated: bool | None = Field(
        default=None, description="True if the browser or an extension has translated the page."
    )
    storage: bool | None = Field(
        default=None, description="True if the browser can store responses until the server has them."
    )
    sound: bool | None = Field(
        default=None,
        description="True if the participant proved to hear sounds; None if the study requires no sound.",
    )
    px_per_cm: float | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="CSS pixels per cm of the screen, as the participant measured them with a card; None if unknown.",
    )
    distance_cm: float | None = Field(
        default=None,
        ge=1,
        le=1_000,
        description="Viewing distance that the page asked for, in cm. It is not measured. None without calibration.",
    )


class LabDevice(BaseModel):
    """Screen, keyboard and software of the laboratory computer. The laboratory reports them when a session begins."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    width_px: int = Field(ge=1, le=100_000, description="Width of the window, in pixels of the screen.")
    height_px: int = Field(ge=1, le=100_000, description="Height of the window, in pixels of the screen.")
    full_screen: bool = Field(description="True if the window fills the screen.")
    screen: int = Field(ge=0, le=1_000, description="Number of the screen, from 0.")
    monitor: str | None = Field(
        default=None, max_length=200, description="Name of the PsychoPy monitor; None if no monitor was chosen."
    )
    nominal_hz: float | None = Field(
        default=None, gt=0, le=10_000, description="Refresh rate of the screen's mode, in Hz; None if unknown."
    )
    measured_hz: float | None = Field(default=None, gt=0, le=10_000, description="Measured refresh rate, in Hz.")
    frame_ms: float | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description=(
            "Frame interval, in ms: the measured interval, or the interval of the screen's mode if flips do not wait "
            "for the screen."
        ),
    )
    is_synchronised: bool = Field(description="True if flips wait for the screen.")
    pacing: Literal["frames", "clock"] = Field(
        description="`frames`: the fixation is timed by counting frames. `clock`: flips do not wait for the screen."
    )
    keyboard: Literal["ptb", "iohub", "event"] = Field(description="The keyboard backend of PsychoPy.")
    response_box: str | None = Field(
        default=None,
        max_length=500,
        description="The response box with the keys of its buttons, and the source of its times; None without a box.",
    )
    psychopy_version: str = Field(max_length=100, description="Version of PsychoPy.")
    python_version: str = Field(max_length=100, description="Version of Python.")
    platform: str = Field(max_length=200, description="The operating system with its version.")
    text_font: str = Field(max_length=200, description="The font of the texts.")
    clock_started_at: Moment | None = Field(
        default=None,
        description="Time of day at which the visit's clock was 0, UTC. The times of a trial's events count from it.",
    )
    px_per_cm: float | None = Field(
        default=None, gt=0, le=1_000, description="Pixels per cm of the screen, from the PsychoPy monitor; else None."
    )
    distance_cm: float | None = Field(
        default=None, gt=0, le=1_000, description="Viewing distance in cm, from the PsychoPy monitor; else None."
    )


class Signals(BaseModel):
    """Events of a trial other than the response. The events are recorded, and have no effect on the session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of times that the page was hidden, for example by another tab.",
    )
    away_ms: int = Field(
        default=0, ge=0, le=2_000_000_000, description="Duration for which the page was hidden or without focus, in ms."
    )
    fullscreen_left: int = Field(default=0, ge=0, le=1_000_000, description="Number of exits from the full screen.")
    pasted: int = Field(default=0, ge=0, le=1_000_000, description="Number of pastes.")
    copied: int = Field(default=0, ge=0, le=1_000_000, description="Number of copies or cuts.")
    resized: int = Field(default=0, ge=0, le=1_000_000, description="Number of changes of the window's size.")
    too_early: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of responses before the stimulus was visible, or within `reading_ms`.",
    )
    too_fast: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="1 if the response came within 100 ms after stimulus onset, before a person can react.",
    )
    untrusted: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of input events that came from a program, not from a device.",
    )
    translated: int = Field(
        default=0, ge=0, le=1_000_000, description="1 if the browser or an extension had translated the page."
    )
    rules_opened: int = Field(
        default=0, ge=0, le=1_000_000, description="Number of times that the participant opened the rules."
    )
    rules_ms: int = Field(
        default=0,
        ge=0,
        le=2_000_000_000,
        description="Duration for which the rules were open, in ms. The response time includes this duration.",
    )


class JsPsychData(BaseModel):
    """jsPsych's own data of a trial."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    trial_type: str = Field(max_length=200, description="Name of the plugin.")
    plugin_version: str | None = Field(default=None, max_length=100, description="Version of the plugin.")
    time_elapsed_ms: float = Field(
        ge=0, description="Time since the start of the page's timeline, by jsPsych's clock, in ms."
    )


class Shown(BaseModel):
    """The actual time for which a part of a trial was on the screen."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    duration_ms: float = Field(ge=0, le=86_400_000, description="Actual duration, in ms.")
    frames: int = Field(ge=0, le=100_000_000, description="Actual duration, in frames.")
    frames_intended: int | None = Field(
        default=None,
        ge=0,
        le=100_000_000,
        description="Intended duration, in frames; None if the participant ended the screen.",
    )


class DrawnFrames(BaseModel):
    """The frames that a class of the study drew after the onset, in a trial of the task `psychopy`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    frames: int = Field(ge=0, le=100_000_000, description="Number of drawn frames after the first frame.")
    dropped: int = Field(
        ge=0, le=100_000_000, description="Number of frames of the screen in which no new frame could be drawn in time."
    )
    longest_ms: float = Field(ge=0, le=86_400_000, description="Longest interval between two drawn frames, in ms.")


class PlayedSound(BaseModel):
    """The actual onset of a sound."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    part: int = Field(ge=0, le=1_000, description="Position of the sound among the parts of the stimulus, from 0.")
    onset_ms: float | None = Field(
        ge=-86_400_000,
        le=86_400_000,
        description="Time from stimulus onset until the sound reached the loudspeaker, in ms; None if it never played.",
    )
    latency_ms: float | None = Field(
        default=None,
        ge=0,
        le=60_000,
        description="Delay of the sound output that `onset_ms` includes, in ms; None if the device does not report it.",
    )


TrialEventName = Literal[
    "intertrial", "fixation", "screen", "stimulus", "mask", "blank", "response", "time_out", "feedback"
]
"""Events of a trial in the laboratory."""
SessionEventName = Literal["session_start", "session_end", "block", "break"]
"""Events between the trials of a laboratory session."""
MachineEventName = Literal["scanner_start", "calibration"]
"""Events of the machines of a laboratory session: the scanner and the eye tracker. They have no event codes."""
EventName = TrialEventName | SessionEventName | MachineEventName


class TrialEvent(BaseModel):
    """An event of a laboratory session, by a clock that never jumps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event: EventName = Field(
        description="What appeared on the screen, the participant's response, or another event of the session."
    )
    onset_us: int = Field(
        ge=0, le=10**13, description="Time from the start of the visit's clock to the event, in microseconds."
    )
    offset_us: int | None = Field(
        default=None,
        ge=0,
        le=10**13,
        description="Time at which the next screen replaced it; None for the last screen and for a response.",
    )
    key: str | None = Field(
        default=None,
        max_length=100,
        description="PsychoPy's name of the key with which a response was given; None for a click or another event.",
    )
    code: int | None = Field(default=None, ge=1, le=65_535, description="The event code that was sent, if any.")
    code_us: int | None = Field(
        default=None, ge=0, le=10**13, description="Time at which the code was sent, by the same clock."
    )


class Presentation(BaseModel):
    """The actual timing of a trial's screens and sounds, and the trial's mapping of response keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    response_mapping: int | None = Field(
        default=None,
        ge=1,
        le=60,
        description="Number of the mapping of keys to responses, from 1, which the server adds; None if the study has "
        "only one mapping.",
    )
    intertrial: Shown | None = Field(
        default=None,
        description="The blank screen between the trial before and this trial; None if there was none.",
    )
    screens: tuple[Shown, ...] = Field(
        default=(), max_length=100, description="The screens before the question, in order."
    )
    stimulus: Shown | None = Field(default=None, description="The stimulus, if it disappeared before the response.")
    mask: Shown | None = Field(default=None, description="The mask after the stimulus, if it disappeared.")
    drawn: DrawnFrames | None = Field(
        default=None, description="The frames that a class of the study drew; None for other tasks."
    )
    sounds: tuple[PlayedSound, ...] = Field(default=(), max_length=50, description="The sounds of the stimulus.")
    events: tuple[TrialEvent, ...] = Field(
        default=(), max_length=200, description="The events of a laboratory trial, in the order of their times."
    )
    events_before: tuple[TrialEvent, ...] = Field(
        default=(),
        max_length=200,
        description="The events of the visit between the last stored trial and this trial, such as feedback.",
    )


class Response(BaseModel):
    """The response to a trial, with its timings. Stored responses never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    response_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client. A retry with the same id stores no second response."
    )
    trial_index: int = Field(ge=0, le=1_000_000, description="Index of the trial, from 0.")
    response: JsonValue = Field(description="The response, in the form of the item's task; null if `missing` is set.")
    missing: Literal["deadline", "interrupted", "too_large"] | None = Field(
        default=None,
        description=(
            "Reason for a missing response: the deadline passed, the page was closed during the trial and the study "
            "skips such trials, or the response had more bytes than the server accepts."
        ),
    )
    attempt: int = Field(default=1, ge=1, le=1_000_000, description="Number of the attempt at the trial, from 1.")
    visit: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Number of the visit in which the response was given, from 1."
    )
    input: Literal["key", "mouse", "touch", "pen", "box"] | None = Field(default=None, description="Input device.")
    rt_ms: float | None = Field(
        default=None, ge=0, le=86_400_000, description="Time from stimulus onset to the response, in ms."
    )
    fixation_ms: float | None = Field(
        default=None, ge=0, le=86_400_000, description="Actual duration of the fixation, in ms."
    )
    fixation_frames: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Actual duration of the fixation, in frames."
    )
    fixation_frames_intended: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Intended duration of the fixation, in frames."
    )
    frame_ms: float | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description=(
            "The display's frame interval, in ms. The interval is measured. If flips of a laboratory's window do not "
            "wait for the screen, the interval of the screen's mode is stored instead."
        ),
    )
    shown_at: Moment | None = Field(default=None, description="Stimulus onset by the client's clock, UTC.")
    onset_source: Literal["presented", "painted", "flip"] | None = Field(
        default=None,
        description=(
            "Source of the onset. `presented`: the browser's time stamp of the frame on the screen. `painted`: the "
            "time just after the frame was painted, if the browser has no such time stamp. `flip`: the time just after "
            "the flip of a laboratory's window."
        ),
    )
    frames_dropped: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Number of frames missed during the fixation."
    )
    focus_lost: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Number of times that the page, or a laboratory's window, lost the focus during the trial.",
    )
    signals: Signals | None = Field(
        default=None, description="Other events of the trial; None if no such event occurred."
    )
    jspsych: JsPsychData | None = Field(default=None, description="jsPsych's own data of the trial.")
    presentation: Presentation | None = Field(
        default=None, description="Timing of the trial's screens and sounds; None if the trial has none."
    )
    confidence: float | None = Field(
        default=None, description="The participant's confidence in the response, on the scale of the study."
    )
    confidence_rt_ms: float | None = Field(
        default=None,
        ge=0,
        le=86_400_000,
        description="Time from the question about confidence to its answer, in ms.",
    )


class TrialAction(BaseModel):
    """One action in a trial of an interactive task. The observation follows from the actions up to this one."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    action_id: str = Field(
        pattern=UUID_PATTERN, description="UUID made by the client. An action that is sent twice is stored once."
    )
    trial_index: int = Field(ge=0, le=1_000_000, description="Index of the trial in the session's plan, from 0.")
    action_index: int = Field(ge=0, le=1_000_000, description="Number of actions in this trial before this one.")
    action: JsonValue = Field(description="The action; its form depends on the task.")
    since_onset_ms: float | None = Field(
        default=None, ge=0, le=86_400_000, description="Time from the onset of the stimulus to the action, in ms."
    )
    rt_ms: float | None = Field(
        default=None,
        ge=0,
        le=86_400_000,
        description="Time from the observation before, or from the onset for the first action, to the action, in ms.",
    )
    input: Literal["key", "mouse", "touch", "pen", "box"] | None = Field(default=None, description="Input device.")
    attempt: int = Field(default=1, ge=1, le=1_000_000, description="Number of the trial's presentation, from 1.")
    visit: int | None = Field(default=None, ge=1, le=1_000_000, description="Number of the visit, from 1.")


TRUNCATED = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""The providers' words for the reason that a reply stopped at the limit of tokens."""


class RunResponse(Response):
    """A response of a language model or a baseline."""

    valid: bool = Field(
        default=True, description="True if the response is valid. An invalid response is kept unchanged."
    )
    text: str = Field(default="", description="The text that the model wrote with its response.")
    imported_correct: bool | None = Field(
        default=None, description="Whether the response is right according to the imported run; None for other runs."
    )
    reading_rule: str | None = Field(
        default=None,
        description="Rule that read the response in the model's reply, or the reason why the reply has no response.",
    )
    stop_reason: str | None = Field(default=None, description="The provider's word for why the reply ended.")
    input_tokens: int | None = Field(default=None, ge=0, description="Number of tokens of the prompt.")
    output_tokens: int | None = Field(default=None, ge=0, description="Number of tokens of the reply and its thinking.")
    thinking: str | None = Field(default=None, description="The model's thinking, which is not part of its reply.")


TRAINING_CUTOFF = "training_cutoff"
"""Name of a run's parameter: the month or day at which the model's training data end."""


class Run(BaseModel):
    """A session whose participant is a language model or a baseline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str = Field(description="Label of the run, unique in a store, such as `Haiku 4.5, augmented+viz`.")
    model: str = Field(description="The model's name, such as `Haiku 4.5`.")
    model_version: str = Field(description="The provider's exact name of the model.")
    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature; None if not recorded.")
    prompt_digest: str | None = Field(default=None, description="SHA-256 of the prompt's fixed part.")
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="All other settings.")
    started_at: AwareDatetime = Field(description="Time at which the run began, UTC.")
    completed_at: AwareDatetime = Field(description="Time at which the run ended, UTC.")
    source: Source = Field(description="`import` for a stored run, `api` for a run made with Equipoise.")
    item_ids: tuple[str, ...] = Field(description="Ids of the items that the model was asked, in order.")
    responses: tuple[RunResponse, ...] = Field(
        description="The responses. `trial_index` is the position of the item in `item_ids`, from 0."
    )
