"""The parts of a stimulus: text, picture, sound and video. A part with a file contains the file's SHA-256."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from batteries.stimulus.markdown import shows_something

FOLDER = "assets"
"""The folder next to the battery that contains the files of its parts."""
PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp",
            ".svg": "image/svg+xml"}  # fmt: skip
"""Media types of pictures by the suffix of their files."""
SOUNDS = {".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".opus": "audio/ogg", ".m4a": "audio/mp4"}
"""Media types of sounds by the suffix of their files."""
VIDEOS = {".mp4": "video/mp4", ".webm": "video/webm"}
"""Media types of videos by the suffix of their files."""
MEDIA_TYPES = {"image": PICTURES, "sound": SOUNDS, "video": VIDEOS}
"""Media types by the field that names the file, and by the suffix of the file."""
DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""File names that Windows reserves for devices."""
_FORBIDDEN = frozenset('\\:*?"<>|')


def checked_path(path: str) -> str:
    """Return the path of an asset. Raise ValueError if it is not a plain path inside the folder `assets`."""
    steps = path.split("/")
    if steps[0] != FOLDER or len(steps) < 2 or any(not _is_plain(step) for step in steps):
        raise ValueError(
            f"`{path[:60]}` is not a path inside the folder `{FOLDER}`. Fix: copy the file into the folder "
            f"`{FOLDER}` next to the battery, and write a path such as `{FOLDER}/anna.png`."
        )
    return path


def _is_plain(step: str) -> bool:
    """Return True if a step of a path names the same file on every system, and stays inside its folder."""
    return (
        bool(step)
        and step.strip(" .") == step  # Windows removes spaces and full stops at the end. This also refuses "..".
        and step.isprintable()
        and not _FORBIDDEN & set(step)
        and step.split(".", maxsplit=1)[0].casefold() not in DEVICE_NAMES
    )


AssetPath = Annotated[str, Field(max_length=200), AfterValidator(checked_path)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def _is_none(value: object) -> bool:
    return value is None


class TextPart(BaseModel):
    """A text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, description="The text, in Markdown. HTML tags are shown as text.")

    @field_validator("text")
    @classmethod
    def _is_visible(cls, text: str) -> str:
        if text.strip() and not shows_something(text):
            raise ValueError(
                f"the text `{text[:40]}` shows nothing, because its signs are formatting in Markdown. Fix: write a "
                "backslash before each sign."
            )
        return text


class AssetPart(BaseModel):
    """A part with a file. Reading the battery fills in the SHA-256 and the measures of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alt: str = Field(
        min_length=1,
        max_length=2_000,
        description="A description in words, for screen readers and for models that get no pictures or sounds.",
    )
    sha256: Digest | None = Field(
        default=None, description="SHA-256 of the file. Reading the battery fills it in.", exclude_if=_is_none
    )


class SeenPart(AssetPart):
    """A picture or video. Its size and position can be given in degrees of visual angle.

    With d as the viewing distance, `width_deg` is a width of 2 d tan(`width_deg` / 2) on the screen, and `x_deg` is a
    distance of d tan(`x_deg`) from the centre.
    """

    width_deg: float | None = Field(
        default=None,
        gt=0,
        le=120,
        allow_inf_nan=False,
        description="Width on the screen, in degrees of visual angle. If omitted, the size is in pixels.",
        exclude_if=_is_none,
    )
    x_deg: float | None = Field(
        default=None,
        ge=-60,
        le=60,
        allow_inf_nan=False,
        description="Position of the middle, in degrees to the right of the centre of the parts. Needs `width_deg`. A "
        "part with `x_deg` or `y_deg` is not in line with the other parts.",
        exclude_if=_is_none,
    )
    y_deg: float | None = Field(
        default=None,
        ge=-60,
        le=60,
        allow_inf_nan=False,
        description="Position of the middle, in degrees above the centre of the parts. Needs `width_deg`.",
        exclude_if=_is_none,
    )

    @model_validator(mode="after")
    def _has_size(self) -> Self:
        if self.width_deg is None and (self.x_deg, self.y_deg) != (None, None):
            raise ValueError("a position in degrees needs a size in degrees. Fix: add `width_deg`.")
        return self


class ImagePart(SeenPart):
    """A picture."""

    image: AssetPath = Field(description="Path of a PNG, JPEG, WebP or SVG file, such as `assets/anna.png`.")
    width_px: int | None = Field(
        default=None, ge=1, description="Width of the file in pixels. Filled in.", exclude_if=_is_none
    )
    height_px: int | None = Field(
        default=None, ge=1, description="Height of the file in pixels. Filled in.", exclude_if=_is_none
    )


class SoundPart(AssetPart):
    """A sound."""

    sound: AssetPath = Field(description="Path of a WAV, MP3, OGG, Opus or M4A file, such as `assets/tone.wav`.")
    duration_ms: int | None = Field(
        default=None, ge=1, description="Duration in milliseconds. Filled in.", exclude_if=_is_none
    )


class VideoPart(SeenPart):
    """A video."""

    video: AssetPath = Field(description="Path of an MP4 or WebM file, such as `assets/clip.mp4`.")
    duration_ms: int | None = Field(
        default=None, ge=1, description="Duration in milliseconds. Filled in.", exclude_if=_is_none
    )


def kind_of(part: Any) -> str | None:
    """Return the kind of a part: `text`, `image`, `sound` or `video`. None if it has none of these fields."""
    fields = part if isinstance(part, Mapping) else dict(part) if isinstance(part, BaseModel) else {}
    return next((kind for kind in ("text", "image", "sound", "video") if kind in fields), None)


Part = Annotated[
    Annotated[TextPart, Tag("(text)")]
    | Annotated[ImagePart, Tag("(image)")]
    | Annotated[SoundPart, Tag("(sound)")]
    | Annotated[VideoPart, Tag("(video)")],
    Discriminator(
        lambda part: f"({kind_of(part)})",
        custom_error_type="unknown_part",
        custom_error_message="a part must have a field `text`, `image`, `sound` or `video`",
    ),
]
"""A part of a stimulus."""


class Screen(BaseModel):
    """A screen before the question: its parts are in the middle of the screen, and nothing else is visible."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: tuple[Part, ...] = Field(
        default=(), max_length=20, description="Texts, pictures, sounds and videos. Without parts, the screen is blank."
    )
    duration_ms: int | None = Field(
        default=None,
        ge=10,
        le=600_000,
        description="Duration in ms, rounded to whole frames. If omitted, the participant ends the screen.",
    )

    @model_validator(mode="after")
    def _is_useful(self) -> Self:
        if not self.parts and self.duration_ms is None:
            raise ValueError("a blank screen has no `duration_ms`. Fix: add `duration_ms`, or add `parts`.")
        return self


class StimulusContent(BaseModel):
    """Fields that the contents of all tasks with a stimulus share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    screens: tuple[Screen, ...] = Field(
        default=(),
        max_length=100,
        description="Screens that are shown after the fixation and before the question, in order.",
        exclude_if=lambda screens: not screens,
    )

    # An empty list is left out, so that the digests of batteries without a stimulus stay the same.
    stimulus: tuple[Part, ...] = Field(
        default=(),
        max_length=50,
        description="Parts that are shown above the question, in order: texts, pictures, sounds, videos.",
        exclude_if=lambda parts: not parts,
    )


StimulusBeside = Annotated[
    bool,
    Field(
        description="true: in a browser with a wide window, the parts of `stimulus` are beside the question.",
        exclude_if=lambda is_beside: not is_beside,
    ),
]
"""Field of the contents with a question below the stimulus."""

LISTS_OF_PARTS = ("stimulus", "mask", "options")
"""Fields of a content that are lists of parts. An option can also be a plain text."""


def with_parts(content: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return an item's content (JSON values) in which each part and each option is replaced by `change(part)`."""
    changed = dict(content)
    for name in LISTS_OF_PARTS:
        if isinstance(content.get(name), list | tuple):
            changed[name] = [change(entry) for entry in content[name]]
    if content.get("screens"):
        changed["screens"] = [
            {**screen, "parts": [change(part) for part in screen["parts"]]} for screen in content["screens"]
        ]
    return changed


def asset_parts(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts with a file that an item's content (JSON values) has, in the order in which they are shown.

    A file that the parameters of a jsPsych plugin name is a part without a description (`alt`).
    """
    for screen in content.get("screens", ()):
        yield from _with_files(screen["parts"])
    for name in LISTS_OF_PARTS:
        yield from _with_files(content.get(name))
    for path, sha256 in content.get("files", {}).items():
        yield {str(kind_of_file(path)): path, "sha256": sha256}


def _with_files(entries: Any) -> Iterator[dict[str, Any]]:
    for entry in entries if isinstance(entries, list | tuple) else ():
        if isinstance(entry, dict) and kind_of(entry) in MEDIA_TYPES:
            yield entry


def kind_of_file(path: str) -> str | None:
    """Return `image`, `sound` or `video` by the suffix of a file; None if the suffix is not known."""
    suffix = PurePosixPath(path).suffix.lower()
    return next((kind for kind, types in MEDIA_TYPES.items() if suffix in types), None)


def path_of(part: Mapping[str, Any]) -> str:
    """Return the path of the file of a part, such as `assets/anna.png`."""
    return str(part[kind_of(part) or ""])


def suffix_of(part: Mapping[str, Any]) -> str:
    """Return the suffix of the file of a part in lower case, such as `.png`."""
    return PurePosixPath(path_of(part)).suffix.lower()


def stored_name(part: Mapping[str, Any]) -> str:
    """Return the name under which the file of a part is stored and served: its SHA-256 and its suffix."""
    return f"{part['sha256']}{suffix_of(part)}"


def words_of(entry: str | Mapping[str, Any]) -> str:
    """Return the words of a part or of an option: the text, or the description of the picture, sound or video."""
    return entry if isinstance(entry, str) else str(entry.get("text", entry.get("alt")))


def option_words(content: Mapping[str, Any]) -> list[str]:
    """Return the words of each option of a multiple-choice item: its text, or the description of its picture."""
    return [words_of(option) for option in content["options"]]


def stimulus_words(content: Mapping[str, Any]) -> str:
    """Return the texts of a stimulus, without the descriptions of its pictures, sounds and videos."""
    return _texts_in(content.get("stimulus", ()))


def screen_words(content: Mapping[str, Any]) -> str:
    """Return the texts of the screens before the question, without the descriptions of files."""
    return _texts_in([part for screen in content.get("screens", ()) for part in screen["parts"]])


def _texts_in(parts: Iterable[Mapping[str, Any]]) -> str:
    return "\n\n".join(part["text"] for part in parts if "text" in part)


def needs_newer_form(content: Mapping[str, Any]) -> bool:
    """Return True if an item has screens, a stimulus, several answers or pictures as options."""
    fields = ("screens", "stimulus", "several")
    return any(content.get(name) for name in fields) or any(asset_parts(content))
