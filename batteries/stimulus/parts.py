"""The parts of a stimulus: text, picture, sound and video. A part with a file contains the file's SHA-256."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

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


class ImagePart(AssetPart):
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


class VideoPart(AssetPart):
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


class StimulusContent(BaseModel):
    """Fields that the contents of all tasks with a stimulus share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # An empty list is left out, so that the digests of batteries without a stimulus stay the same.
    stimulus: tuple[Part, ...] = Field(
        default=(),
        max_length=50,
        description="Parts that are shown above the question, in order: texts, pictures, sounds, videos.",
        exclude_if=lambda parts: not parts,
    )


def asset_parts(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts with a file that an item's content (JSON values) has in `stimulus` and in `options`.

    A file that the parameters of a jsPsych plugin name is a part without a description (`alt`).
    """
    for name in ("stimulus", "options"):
        entries = content.get(name)
        for entry in entries if isinstance(entries, list | tuple) else ():
            if isinstance(entry, dict) and kind_of(entry) in MEDIA_TYPES:
                yield entry
    for path, sha256 in content.get("files", {}).items():
        yield {str(kind_of_file(path)): path, "sha256": sha256}


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
    return "\n\n".join(part["text"] for part in content.get("stimulus", ()) if "text" in part)


def needs_newer_form(content: Mapping[str, Any]) -> bool:
    """Return True if an item has a stimulus, several answers or pictures as options, besides texts and one answer."""
    return bool(content.get("stimulus") or content.get("several")) or any(asset_parts(content))
