"""What `study.yaml` says of a session's course: its pages, its timing, the device it needs, and coming back to it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Break(BaseModel):
    """A pause between trials, ended by the participant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every: int = Field(ge=1, description="Questions after which a break comes; practice is not counted.")
    page: str | None = Field(default=None, description="File shown in the break; without it, a sentence of ours.")


class Timeline(BaseModel):
    """The participants' pages: Markdown files in the study's folder. Each part can be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    information: tuple[str, ...] = Field(default=(), description="Files read before the consent, a page each.")
    consent: str | None = Field(
        default=None,
        description="File with the consent; nothing is stored before it is given. Left out only where consent is "
        "given by other means, such as on paper.",
    )
    consent_version: str | None = Field(
        default=None, min_length=1, description="Version of the consent's text, as your ethics board knows it."
    )
    demographics: str | None = Field(
        default=None, description="File (YAML) with questions about the person; see below."
    )
    fullscreen: bool = Field(default=False, description="Whether participants are asked to go to full screen.")
    instructions: tuple[str, ...] = Field(default=(), description="Files with the instructions, a page each.")
    breaks: Break | None = Field(default=None, description="Breaks between questions; none if left out.")
    debrief: str | None = Field(default=None, description="File shown at the end.")
    contact: str | None = Field(
        default=None, description="File that says whom to ask and which rights one has; it can be opened at any time."
    )

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of all Markdown files."""
        pause = self.breaks.page if self.breaks else None
        single = (self.consent, pause, self.debrief, self.contact)
        return (*self.information, *self.instructions, *(name for name in single if name is not None))


class Timing(BaseModel):
    """Durations of a trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixation_ms: int = Field(default=200, ge=0, le=10_000, description="Fixation cross before each trial, in ms.")
    reading_ms: int = Field(
        default=0, ge=0, le=600_000, description="Time from onset before which no answer is taken, in ms."
    )
    deadline_ms: int | None = Field(
        default=None,
        ge=100,
        le=3_600_000,
        description="Time from onset after which a question of the test passes unanswered, in ms; none if left out.",
    )

    @model_validator(mode="after")
    def _leaves_time_to_answer(self) -> "Timing":
        if self.deadline_ms is not None and self.deadline_ms <= self.reading_ms:
            raise ValueError("`deadline_ms` leaves no time after `reading_ms`. Fix: make it longer.")
        return self


class PracticeCriterion(BaseModel):
    """How much of the practice must be right before the questions begin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    correct: int = Field(ge=1, description="Right answers needed in one round of the practice trials.")
    rounds: int = Field(default=3, ge=1, le=20, description="Most rounds.")
    otherwise: Literal["continue", "end"] = Field(
        default="continue", description="What follows when no round was good enough: the questions, or the end."
    )


class Device(BaseModel):
    """What a participant's device must have; checked before anything is stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phones: bool = Field(default=False, description="Whether the study may be taken on a phone.")
    keyboard: bool = Field(default=False, description="Whether a keyboard is needed.")
    width_px: int | None = Field(default=None, ge=200, le=10_000, description="Least width of the window, in CSS px.")
    height_px: int | None = Field(default=None, ge=200, le=10_000, description="Least height of the window, in CSS px.")
    refresh_hz: int | None = Field(default=None, ge=10, le=1_000, description="Least refresh rate of the screen.")


class Resume(BaseModel):
    """What becomes of somebody who comes back after a reload, a crash or a pause; by default they go on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_age_min: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Minutes since its begin after which a session is not gone on with; no bound if left out.",
    )
    max_reloads: int | None = Field(
        default=None, ge=0, description="How often a session may be opened again; no bound if left out."
    )
    otherwise: Literal["end", "restart"] = Field(
        default="end",
        description="Beyond these bounds: the session ends, or the participant begins another one in the same group.",
    )
    interrupted_trial: Literal["repeat", "skip"] = Field(
        default="repeat",
        description="Whether the trial that was on the screen is shown again or passed over; marked in the data.",
    )
