"""Sample studies, to run and to copy."""

import json
import shutil
from functools import cache
from pathlib import Path

from batteries.errors import InputError

_HERE = Path(__file__).parent


def sample_studies() -> list[str]:
    """Return the names of the sample studies."""
    return sorted(path.parent.name for path in _HERE.glob("*/study.yaml"))


def sample_study_folder(name: str) -> Path:
    """Return the folder of a sample study.

    Raises
    ------
    InputError
        If the sample study does not exist.
    """
    if name not in sample_studies():
        raise InputError(f"unknown sample study `{name}`. Fix: use one of {', '.join(sample_studies())}.")
    return _HERE / name


def copy_sample_study(name: str, folder: Path) -> None:
    """Copy a sample study to a new folder, with the JSON schema of `study.yaml` for editors.

    Raises
    ------
    InputError
        If the sample study does not exist, or the folder is not empty.
    """
    sample = sample_study_folder(name)
    check_new_folder(folder)
    try:
        shutil.copytree(sample, folder, dirs_exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: this folder cannot be made ({error}). Fix: use another folder.") from None
    (folder / "study.schema.json").write_text(_schema(), encoding="utf-8")
    # Responses are personal data, so Git must not add them to a public repository.
    (folder / ".gitignore").write_text("data/\n", encoding="utf-8")


def check_new_folder(folder: Path) -> None:
    """Raise an InputError if a path exists and is not an empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: this path exists and is not an empty folder. Fix: choose a new folder.")


@cache
def _schema() -> str:
    from experiment.study.definition import StudyDefinition  # noqa: PLC0415 - Inspect only needs names, at each start

    return json.dumps(StudyDefinition.model_json_schema(), indent=2, ensure_ascii=False) + "\n"
