"""Our trial plugins for jsPsych experiments that are made elsewhere."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from batteries.errors import InputError

FILES = ("equipoise-plugins.js", "equipoise.css")


def jspsych_plugins(folder: Path | str) -> None:
    """Copy the plugins and their stylesheet to a folder, in place of older copies of them.

    Raises
    ------
    InputError
        If the folder cannot be written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            with as_file(files("experiment.web") / "static" / name) as source:
                shutil.copy(source, folder / name)
    except OSError as error:
        raise InputError(
            f"{folder}: the files cannot be written ({error.strerror}). Fix: name another place."
        ) from None
