"""Our trial plugins, for jsPsych experiments made elsewhere."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from batteries.errors import InputError

FILES = ("equipoise-plugins.js", "equipoise.css")


def jspsych_plugins(folder: Path | str) -> None:
    """Copy the plugins and their stylesheet to a folder, replacing older copies.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            with as_file(files("experiment.web") / "static" / name) as source:
                shutil.copy(source, folder / name)
    except OSError as error:
        raise InputError(
            f"{folder}: the files cannot be written ({error.strerror}). Fix: name another folder."
        ) from None
