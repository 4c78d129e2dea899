"""`equipoise jspsych-plugins`: copy the trial plugins of Equipoise, for other jsPsych experiments."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from batteries.errors import InputError

FILES = ("equipoise-plugins.js", "equipoise.css")


def jspsych_plugins(output: Path | str) -> None:
    """Copy the jsPsych plugins of Equipoise and their stylesheet to a folder; older copies are replaced.

    Parameters
    ----------
    output
        Folder for the copies.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            with as_file(files("experiment.web") / "static" / name) as source:
                shutil.copy(source, folder / name)
    except OSError as error:
        raise InputError(
            f"{folder}: the files cannot be written ({error.strerror}). Fix: choose another folder."
        ) from None
