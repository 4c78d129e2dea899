"""Reading the files of a battery's pictures, sounds and videos: where they are, what they contain, their SHA-256."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.parts import FOLDER, MEDIA_TYPES, asset_parts, kind_of, path_of, suffix_of, with_parts

MOST_MEGABYTES = {"image": 10, "sound": 20, "video": 100}
"""Largest size of one file, in megabytes of 1,000,000 bytes. Participants load every file before they need it."""

_SIGNATURES: tuple[tuple[str, frozenset[str], Callable[[bytes], bool]], ...] = (
    ("PNG", frozenset({".png"}), lambda data: data.startswith(b"\x89PNG\r\n\x1a\n")),
    ("JPEG", frozenset({".jpg", ".jpeg"}), lambda data: data.startswith(b"\xff\xd8\xff")),
    ("WebP", frozenset({".webp"}), lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP"),
    ("WAV", frozenset({".wav"}), lambda data: data[:4] == b"RIFF" and data[8:12] == b"WAVE"),
    ("Ogg", frozenset({".ogg", ".opus"}), lambda data: data.startswith(b"OggS")),
    ("MP4", frozenset({".mp4", ".m4a"}), lambda data: data[4:8] == b"ftyp"),
    ("WebM", frozenset({".webm"}), lambda data: data.startswith(b"\x1a\x45\xdf\xa3")),
    ("MP3", frozenset({".mp3"}), lambda data: data[:3] == b"ID3" or (data[:1] == b"\xff" and data[1:2] >= b"\xe0")),
    ("SVG", frozenset({".svg"}), lambda data: b"<svg" in data[:4_000] or b":svg" in data[:4_000]),
)
"""Name of each format, the suffixes of its files, and a function that recognizes the first bytes."""


@dataclass
class AssetReader:
    """Reads and checks the files of one battery. Each file is read once, also if many items show it."""

    folder: Path
    """The folder of the battery."""
    _known: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def filled_in(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return an item's content (JSON values) with the SHA-256 and the measures of the files of its parts.

        Raises
        ------
        InputError
            If a file is missing, unsafe or damaged, or if it is not the file that the battery names by its SHA-256.
        """
        if "files" in content:
            return {**content, "files": self._digests(content)}
        return with_parts(
            content, lambda part: {**part, **self._measured(part)} if kind_of(part) in MEDIA_TYPES else part
        )

    def _digests(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the SHA-256 of each file that the parameters of a jsPsych plugin name, by the path of the file."""
        digests: dict[str, str] = {}
        paths: dict[str, str] = {}
        for part in asset_parts(content):
            path = path_of(part)
            digests[path] = self._measured(part)["sha256"]
            # A browser knows a file only by its SHA-256. So its data could not say which of two copies was chosen.
            other = paths.setdefault(f"{digests[path]}{suffix_of(part)}", path)
            if other != path:
                raise InputError(f"{other} and {path} are copies of the same file. Fix: use only one of these paths.")
        return digests

    def _measured(self, part: Mapping[str, Any]) -> dict[str, Any]:
        path, kind = path_of(part), str(kind_of(part))
        if (kind, path) not in self._known:
            self._known[kind, path] = read_asset(self.folder, path, kind)
        found = self._known[kind, path]
        if part.get("sha256") not in {None, found["sha256"]}:
            raise InputError(
                f"{path}: the file has changed since the battery was written (its SHA-256 is {found['sha256']}). "
                "Fix: restore the file, or delete `sha256` from the item."
            )
        return found


def read_asset(folder: Path, path: str, kind: str) -> dict[str, Any]:
    """Read and check one file, and return its SHA-256 and its measures.

    Parameters
    ----------
    folder
        The folder of the battery.
    path
        Path of the file in this folder, in the form that the models in `parts` accept.
    kind
        `image`, `sound` or `video`.

    Returns
    -------
    dict
        `sha256`, and `width_px` and `height_px` of a picture, or `duration_ms` of a sound or video.

    Raises
    ------
    InputError
        If the file is missing, outside the folder `assets`, too large, damaged or unsafe, or if its content does not
        agree with its suffix.
    """
    data = _bytes_of(folder, path, kind)
    suffix = PurePosixPath(path).suffix.lower()
    allowed = MEDIA_TYPES[kind]
    if suffix not in allowed:
        names = ", ".join(f"`{known}`" for known in allowed)
        raise InputError(f"{path}: the name of this file must end in {names}. Fix: use a file with such a format.")
    _check_format(path, suffix, data)
    return {"sha256": hashlib.sha256(data).hexdigest(), **_measures(path, suffix, data, kind)}


def _measures(path: str, suffix: str, data: bytes, kind: str) -> dict[str, int]:
    # Imported here, because batteries without files need none of these modules and their libraries.
    if kind == "image":
        from batteries.stimulus import pictures  # noqa: PLC0415

        return pictures.measure_picture(path, suffix, data)
    from batteries.stimulus import recordings  # noqa: PLC0415

    return recordings.measure_recording(path, suffix, data)


def asset_file(folder: Path, path: str) -> Path:
    """Return the file of an asset. Links are followed only inside the folder `assets`.

    Raises
    ------
    InputError
        If the file does not exist, or is not inside the folder `assets` of the battery's folder.
    """
    try:
        file = (folder / path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links.
        raise InputError(
            f"{path}: this file does not exist in {folder}. Fix: correct the name, or add the file."
        ) from None
    if not file.is_relative_to(folder.resolve() / FOLDER):
        raise InputError(
            f"{path}: this link leads to a file outside the folder `{FOLDER}`. Fix: copy the file into `{FOLDER}`."
        )
    if not file.is_file():
        raise InputError(f"{path}: this is not a file. Fix: write the name of a file.")
    return file


def copy_asset(source: Path, target: Path, path: str) -> None:
    """Copy an asset from the folder of one battery to the folder of another battery.

    Raises
    ------
    InputError
        If the other folder has a different file with this name, or the file cannot be copied.
    """
    file, copy = asset_file(source, path), target / path
    try:
        if copy.exists():
            if copy.read_bytes() == file.read_bytes():
                return
            raise InputError(f"{copy}: another file has this name. Fix: rename the file, or choose another folder.")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    except OSError as error:
        raise InputError(
            f"{copy}: cannot be written ({error.strerror}). Fix: check the permissions of the folder and the free "
            "space on the disk."
        ) from None


def _bytes_of(folder: Path, path: str, kind: str) -> bytes:
    file, most = asset_file(folder, path), MOST_MEGABYTES[kind]
    try:
        size = file.stat().st_size
        if size > most * 1_000_000:
            raise InputError(
                f"{path}: the file has {size / 1_000_000:.1f} MB; the limit is {most} MB. Fix: make the file smaller, "
                "for example with fewer pixels or a lower bit rate."
            )
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: this file cannot be read ({error.strerror}). Fix: check its permissions.") from None


def _check_format(path: str, suffix: str, data: bytes) -> None:
    """Refuse a file whose content is another format than its suffix says. Browsers would refuse it, too."""
    if not data:
        raise InputError(f"{path}: the file is empty. Fix: copy the file again.")
    found = next(((name, suffixes) for name, suffixes, fits in _SIGNATURES if fits(data)), None)
    if found is None:
        raise InputError(
            f"{path}: the content of this file is not one of the known formats. Fix: save the file again as "
            f"`{suffix}` in the program that made it."
        )
    name, suffixes = found
    if suffix not in suffixes:
        raise InputError(
            f"{path}: the content of this file is {name}, but its name ends in `{suffix}`. Fix: rename the file, so "
            f"that it ends in `{min(suffixes)}`, or save it again as `{suffix}`."
        )
