"""Pictures, sounds and videos in prompts: sent as files, or described in words.

The text of a rendered prompt contains a mark for each file. `with_files` replaces the marks by the files, and
`with_descriptions` by the descriptions (`alt`) that screen readers also use.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from batteries.errors import InputError
from batteries.items import Item
from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import MEDIA_TYPES, asset_parts, kind_of, path_of, stored_name, suffix_of
from experiment.models.prompts.styles import Prompt
from experiment.study.definition import Study
from experiment.texts import Texts

Pictures = Literal["sent", "described"]
"""The form of pictures, sounds and videos for models: files, or descriptions in words."""
SENDABLE = frozenset({".png", ".jpg", ".jpeg", ".webp", ".wav", ".mp3", ".mp4"})
"""Suffixes of files that services of language models accept."""
_OPEN, _MIDDLE, _CLOSE = "\ue0f0", "\ue0f1", "\ue0f2"
"""Characters of a mark. They are in Unicode's private use area, so texts do not contain them."""
_MARK = re.compile(rf"{_OPEN}([0-9a-f]{{64}}\.\w+){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")


@dataclass(frozen=True)
class MediaFile:
    """A picture, sound or video of a prompt."""

    kind: str
    """`image`, `sound` or `video`."""
    path: Path
    """The file. If the battery names a link, the name of the file may have another suffix."""
    suffix: str
    """Suffix of the format, such as `.png`."""

    @property
    def media_type(self) -> str:
        """The media type, such as `image/png`."""
        return MEDIA_TYPES[self.kind][self.suffix]

    @property
    def base64(self) -> str:
        """The bytes of the file in base64."""
        return base64.b64encode(self.path.read_bytes()).decode()


def mark(part: Mapping[str, Any], words: Texts) -> str:
    """Return the mark of a part with a file, for the text of a prompt."""
    description = words.say(f"described_{kind_of(part)}", description=part["alt"])
    return f"{_OPEN}{stored_name(part)}{_MIDDLE}[{description}]{_CLOSE}"


def files_of(study: Study, items: Iterable[Item], pictures: Pictures) -> dict[str, MediaFile] | None:
    """Return the files of items by the names in their marks. None if the items have no files.

    Raises
    ------
    InputError
        If files are to be sent, and services of models do not accept the format of a file.
    """
    folder = (study.folder / study.definition.battery).parent
    files: dict[str, MediaFile] = {}
    for item in items:
        for part in asset_parts(item.content):
            if pictures == "sent" and suffix_of(part) not in SENDABLE:
                raise InputError(
                    f"item `{item.item_id}`: `{path_of(part)}` cannot be sent, because services of models do not "
                    f"accept files of the kind `{suffix_of(part)}`. Fix: convert the file to "
                    f"{_accepted(str(kind_of(part)))}, or use --pictures described."
                )
            file = MediaFile(str(kind_of(part)), asset_file(folder, path_of(part)), suffix_of(part))
            files[stored_name(part)] = file
    return files or None


def _accepted(kind: str) -> str:
    return " or ".join(f"`{suffix}`" for suffix in MEDIA_TYPES[kind] if suffix in SENDABLE)


def with_descriptions(prompt: Prompt) -> Prompt:
    """Return a prompt with a description in words in place of each file."""
    system = None if prompt.system is None else _MARK.sub(r"\2", prompt.system)
    return Prompt(system, _MARK.sub(r"\2", prompt.user))


def with_files(prompt: Prompt, files: Mapping[str, MediaFile], item_id: str) -> Prompt:
    """Return a prompt whose user message has texts and files as parts.

    Raises
    ------
    InputError
        If the system prompt has a file.
    """
    if prompt.system is not None and _MARK.search(prompt.system):
        raise InputError(
            f"item `{item_id}`: the template puts a picture into the system prompt, which services of models do not "
            "accept. Fix: move this part of the template below the line `===`."
        )
    if not _MARK.search(prompt.user):
        return prompt
    texts_and_names = _MARK.split(prompt.user)  # text, name, description, text, name, description, ..., text
    parts: list[str | MediaFile] = []
    for position in range(0, len(texts_and_names), 3):
        if text := texts_and_names[position].strip():
            parts.append(text)
        if position + 1 < len(texts_and_names):
            parts.append(files[texts_and_names[position + 1]])
    return Prompt(prompt.system, "\n\n".join(part for part in parts if isinstance(part, str)), tuple(parts))
