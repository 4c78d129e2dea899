"""Sample studies, to run and to copy."""

import json
import shutil
from pathlib import Path

from batteries.errors import InputError
from experiment.study.definition import StudyDefinition

_HERE = Path(__file__).parent


def sample_studies() -> list[str]:
    """Return the names of the sample studies."""
    return sorted(path.parent.name for path in _HERE.glob("*/study.yaml"))


def copy_sample_study(name: str, folder: Path) -> None:
    """Copy a sample study to a new folder, with the schema by which editors check `study.yaml`.

    Raises
    ------
    InputError
        If there is no such study, or the folder has something in it.
    """
    if name not in sample_studies():
        raise InputError(f"there is no sample study `{name}`; the sample studies are {', '.join(sample_studies())}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: there is something at this place already. Fix: name a new folder.")
    try:
        shutil.copytree(_HERE / name, folder, dirs_exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: this folder cannot be made ({error}). Fix: name another place.") from None
    schema = json.dumps(StudyDefinition.model_json_schema(), indent=2, ensure_ascii=False)
    (folder / "study.schema.json").write_text(schema + "\n", encoding="utf-8")
    # Answers are personal: they must not slip into a public repository.
    (folder / ".gitignore").write_text("data/\n", encoding="utf-8")
