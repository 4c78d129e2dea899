"""The parts of `study.yaml` about a session: pages, timing, practice, device requirements, and resuming."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from batteries.tasks.rating import Scale

LONGEST_INTERTRIAL_MS = 60_000
"""Longest interval between two trials, in ms."""


class Break(BaseModel):
    """A pause between trials, which the participant ends."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every: int = Field(ge=1, description="Number of questions between breaks; practice is not counted.")
    page: str | None = Field(
        default=None, description="File shown in the break; if omitted, a standard sentence is shown."
    )


class Timeline(BaseModel):
    """The participants' pages: Markdown files in the study's folder. Each field can be omitted.

    Lines between `::: web` and `:::` are for the browser only, and lines between `::: lab` and `:::` are for the
    laboratory only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    information: tuple[str, ...] = Field(default=(), description="Files shown before the consent, one page each.")
    consent: str | None = Field(
        default=None,
        description=(
            "File with the consent. Nothing is stored before the participant agrees. Omit this field only if "
            "participants give consent by other means, such as on paper."
        ),
    )
    consent_version: str | None = Field(
        default=None, min_length=1, description="Version of the consent text, as named by your ethics board."
    )
    demographics: str | None = Field(
        default=None, description="File (YAML) with questions about the participant; see below."
    )
    fullscreen: bool = Field(default=False, description="true: ask participants to use the full screen.")
    instructions: tuple[str, ...] = Field(default=(), description="Files with the instructions, one page each.")
    rules: tuple[str, ...] = Field(
        default=(),
        description=(
            "Files that participants can read again during a trial, with the button *Rules*. Usually these are files "
            "of `instructions`."
        ),
    )
    breaks: Break | None = Field(default=None, description="Breaks between questions; none if omitted.")
    debrief: str | None = Field(default=None, description="File shown at the end.")
    contact: str | None = Field(
        default=None,
        description="File with the contact and the participant's rights; participants can open it at any time.",
    )

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of all Markdown files, each once."""
        pause = self.breaks.page if self.breaks else None
        single = (self.consent, pause, self.debrief, self.contact)
        named = (*self.information, *self.instructions, *(name for name in single if name is not None), *self.rules)
        return tuple(dict.fromkeys(named))


class IntertrialRange(BaseModel):
    """A range of intervals between trials. The interval of each trial is drawn from it: whole ms, equally likely."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: int = Field(ge=0, le=LONGEST_INTERTRIAL_MS, description="Shortest interval, in ms.")
    max: int = Field(ge=0, le=LONGEST_INTERTRIAL_MS, description="Longest interval, in ms; greater than `min`.")

    @model_validator(mode="after")
    def _is_a_range(self) -> "IntertrialRange":
        if self.min >= self.max:
            raise ValueError(
                "`max` is not greater than `min`. Fix: increase `max`, or write one number for equal intervals."
            )
        return self


IntertrialMs = Annotated[
    Annotated[int, Field(ge=0, le=LONGEST_INTERTRIAL_MS), Tag("(number)")] | Annotated[IntertrialRange, Tag("(range)")],
    Discriminator(lambda interval: "(range)" if isinstance(interval, Mapping | IntertrialRange) else "(number)"),
]
"""The interval between two trials: a number of ms, or a range."""


class Timing(BaseModel):
    """Durations of a trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixation_ms: int = Field(default=200, ge=0, le=10_000, description="Fixation cross before each trial, in ms.")
    intertrial_ms: IntertrialMs = Field(
        default=0,
        description=(
            f"Blank screen between two trials, in ms: a number up to {LONGEST_INTERTRIAL_MS:,}, or `{{min: 500, max: "
            "1500}` for a random interval before each trial. There is none before a trial that follows a page."
        ),
    )
    reading_ms: int = Field(
        default=0, ge=0, le=600_000, description="Time after onset during which no response is accepted, in ms."
    )
    deadline_ms: int | None = Field(
        default=None,
        ge=100,
        le=3_600_000,
        description=(
            "Time after onset at which a test trial or an attention check ends without a response, in ms; no limit if "
            "omitted."
        ),
    )

    feedback_ms: int | None = Field(
        default=None,
        ge=500,
        le=600_000,
        description=(
            "Time after which the feedback of a practice trial closes by itself, in ms. The participant cannot close "
            "it earlier. If omitted, the participant continues with a button."
        ),
    )

    @property
    def mean_intertrial_ms(self) -> float:
        """Mean of the intervals between trials, in ms."""
        interval = self.intertrial_ms
        return (interval.min + interval.max) / 2 if isinstance(interval, IntertrialRange) else interval

    @model_validator(mode="after")
    def _leaves_time_to_answer(self) -> "Timing":
        if self.deadline_ms is not None and self.deadline_ms <= self.reading_ms:
            raise ValueError("`deadline_ms` is not greater than `reading_ms`. Fix: increase `deadline_ms`.")
        return self


def deadline_ms_of(timing: Timing, is_practice: bool, content: Mapping[str, Any]) -> int | None:
    """Return the time after onset at which a trial ends without a response, in ms; None for no limit.

    The `window_ms` of a `keypress` item replaces the study's deadline. Otherwise, practice has no deadline.
    """
    window_ms: int | None = content.get("window_ms")
    return window_ms if window_ms is not None else None if is_practice else timing.deadline_ms


class Confidence(Scale):
    """The question about confidence, which follows every answer."""

    prompt: str = Field(min_length=1, description="The question, such as `How sure are you?`.")


class PracticeCriterion(BaseModel):
    """The practice criterion: how many right responses a participant needs before the questions begin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    correct: int = Field(ge=1, description="Right responses needed in one round of the practice trials.")
    rounds: int = Field(default=3, ge=1, le=20, description="Largest number of rounds.")
    otherwise: Literal["continue", "end"] = Field(
        default="continue",
        description="Consequence if the participant passed no round: continue with the questions, or end the session.",
    )


class Device(BaseModel):
    """Requirements for a participant's device. The requirements are checked before anything is stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phones: bool = Field(default=False, description="true: participants may use a phone.")
    keyboard: bool = Field(default=False, description="true: participants need a keyboard.")
    width_px: int | None = Field(default=None, ge=200, le=10_000, description="Least width of the window, in CSS px.")
    height_px: int | None = Field(default=None, ge=200, le=10_000, description="Least height of the window, in CSS px.")
    refresh_hz: int | None = Field(
        default=None, ge=10, le=1_000, description="Least refresh rate of the screen, in Hz."
    )
    sound: bool | None = Field(
        default=None,
        description=(
            "true: before the study, participants prove that they hear sounds. false: no such check. If omitted, a "
            "study with sounds has the check. For videos with sound, write `true`. Only on the web."
        ),
    )
    calibration: bool = Field(
        default=False,
        description=(
            "true: before the study, participants measure their screen with a bank card. Necessary for sizes in "
            "degrees on the web. In the laboratory, PsychoPy's monitor file has these measures."
        ),
    )
    distance_cm: float = Field(
        default=57,
        ge=10,
        le=500,
        allow_inf_nan=False,
        description=(
            "Viewing distance that the calibration page asks for, in cm. At 57 cm, one degree is about one centimetre."
        ),
    )


class Resume(BaseModel):
    """Rules for participants who come back after a reload, a crash or a pause. By default they resume their session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_age_min: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Minutes for which a session can be resumed after its start; no limit if omitted.",
    )
    max_reloads: int | None = Field(
        default=None, ge=0, description="Number of times that a session may be opened again; no limit if omitted."
    )
    otherwise: Literal["end", "restart"] = Field(
        default="end",
        description=(
            "Consequence if a participant comes back after `max_age_min`, or more often than `max_reloads`: the "
            "session ends, or the participant begins a new session in the same group."
        ),
    )
    interrupted_trial: Literal["repeat", "skip"] = Field(
        default="repeat",
        description="Show the interrupted trial again, or skip it. The data mark the trial.",
    )
