"""The files that `study.yaml` names. Only files in the study's folder are accepted."""

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from experiment.study.definition import StudyDefinition

Location = tuple[int | str, ...]
NEVER_SHOWN = "data"
"""Folder of a study with responses and secrets, which the server never shows."""


def files_named_in(definition: StudyDefinition) -> Iterator[tuple[Location, str]]:
    """Yield the key in `study.yaml` and the file name of each file that the server shows."""
    timeline = definition.timeline
    yield ("battery",), definition.battery
    for field in ("information", "instructions"):
        for index, name in enumerate(getattr(timeline, field)):
            yield ("timeline", field, index), name
    single = {field: getattr(timeline, field) for field in ("consent", "demographics", "debrief", "contact")}
    for field, name in single.items():
        if name is not None:
            yield ("timeline", field), name
    if timeline.breaks and timeline.breaks.page is not None:
        yield ("timeline", "breaks", "page"), timeline.breaks.page
    for level, block in enumerate(definition.blocks.levels if definition.blocks else ()):
        for index, name in enumerate(block.instructions):
            yield ("blocks", "levels", level, "instructions", index), name
    for plugin, described in definition.plugins.items():
        yield ("plugins", plugin, "file"), described.file
    for trial, described_class in definition.psychopy_trials.items():
        yield ("psychopy_trials", trial, "file"), described_class.file


def may_be_published(folder: Path, name: str) -> bool:
    """Return True if a file is inside a study's folder and outside its folder `data`; see `is_in_folder`."""
    if not is_in_folder(folder, name):
        return False
    try:
        parts = (folder / name).resolve().relative_to(folder.resolve()).parts
    except ValueError:  # No file can have this name.
        return True
    return [part.casefold() for part in parts[:1]] != [NEVER_SHOWN]


def is_in_folder(folder: Path, name: str) -> bool:
    """Return False if a file with this name would be outside the study's folder.

    For a name that no file can have, the result is True, because the later reading of the file reports the error.

    Parameters
    ----------
    folder
        The study's folder, which can be a symbolic link.
    name
        The name in `study.yaml`. The result is False for an absolute path of any system, and for a name with `..`. A
        symbolic link is followed.
    """
    parts = PureWindowsPath(name)  # Windows paths have / and \\ as separators.
    if parts.drive or parts.root or ".." in parts.parts:
        return False
    try:
        return (folder / name).resolve().is_relative_to(folder.resolve())
    except ValueError:  # No file can have this name. Reading the file reports the error.
        return True
    except (OSError, RuntimeError):  # A cycle of links.
        return False
