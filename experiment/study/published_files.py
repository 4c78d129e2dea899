"""The files that `study.yaml` names: only files in the study's folder."""

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from experiment.study.definition import StudyDefinition

Location = tuple[int | str, ...]
NEVER_SHOWN = "data"
"""Folder of a study for responses and secrets."""


def files_named_in(definition: StudyDefinition) -> Iterator[tuple[Location, str]]:
    """Yield the key in `study.yaml` and the name of each file that it names and the server shows."""
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
    for plugin, described in definition.plugins.items():
        yield ("plugins", plugin, "file"), described.file


def may_be_published(folder: Path, name: str) -> bool:
    """Return True if a name leads to a file inside a study's folder, outside its data; see `is_in_folder`."""
    if not is_in_folder(folder, name):
        return False
    try:
        parts = (folder / name).resolve().relative_to(folder.resolve()).parts
    except ValueError:  # A name that no file can have.
        return True
    return [part.casefold() for part in parts[:1]] != [NEVER_SHOWN]


def is_in_folder(folder: Path, name: str) -> bool:
    """Return True if a name leads to a file inside a study's folder, or can be the name of no file.

    Parameters
    ----------
    folder
        The study's folder; it may itself be a link.
    name
        As in `study.yaml`. No absolute path, on any system, and no `..`; a link is followed.
    """
    parts = PureWindowsPath(name)  # Treats / and \\ as separators.
    if parts.drive or parts.root or ".." in parts.parts:
        return False
    try:
        return (folder / name).resolve().is_relative_to(folder.resolve())
    except ValueError:  # A name that no file can have; reading it reports that.
        return True
    except (OSError, RuntimeError):  # Links in a circle.
        return False
