"""Loading the Python classes of a study. Only the laboratory runs their code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from batteries.errors import InputError
from experiment.lab.psychopy_trials.trial_class import PsychoPyTrial
from experiment.study.definition import Study


@dataclass(frozen=True)
class LoadedClass:
    """A class of a study that draws trials."""

    path: Path
    """The file of the class."""
    trial_class: type[PsychoPyTrial]


def load_classes(study: Study) -> dict[str, LoadedClass]:
    """Run the files with the study's classes, and return the classes by their names in `study.yaml`.

    The code is the text that was read with the study, so it is exactly the code that belongs to the study's digest.

    Raises
    ------
    InputError
        If a file cannot be run, or has no class of this name that draws trials.
    """
    described = study.definition.psychopy_trials
    modules = {
        file: _run(study.folder / file, study.texts[file]) for file in {each.file for each in described.values()}
    }
    return {
        name: LoadedClass(
            study.folder / each.file, _class_in(modules[each.file], study.folder / each.file, each.class_name)
        )
        for name, each in described.items()
    }


@contextmanager
def errors_of_code(path: Path, what: str) -> Iterator[None]:
    """Turn an exception in the code of a study into an InputError that names the file and the line.

    Parameters
    ----------
    path
        The file of the code.
    what
        The part of the code that runs, for the sentence, such as "`Gabor.draw` of the item `tilt-3`".
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # PsychoPy's `core.quit` raises SystemExit.
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else (lines or [None])[-1]
        where = f"{path}, line {line}" if line is not None else str(path)
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(f"{where}: {what} failed ({reason}). Fix: correct the code.") from None


def _run(path: Path, text: str) -> ModuleType:
    module = ModuleType(f"equipoise_psychopy_trials_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # Dataclasses look up the module of their class.
    with errors_of_code(path, "the file"):
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - a study may have code for the laboratory
    return module


def _class_in(module: ModuleType, path: Path, name: str) -> type[PsychoPyTrial]:
    found = getattr(module, name, None)
    if found is None:
        raise InputError(
            f"{path}: the file has no class `{name}`. Fix: write the name of the class as `class_name` in study.yaml."
        )
    if not (isinstance(found, type) and issubclass(found, PsychoPyTrial)):
        raise InputError(
            f"{path}: `{name}` does not inherit from `PsychoPyTrial`. Fix: write `from equipoise import PsychoPyTrial` "
            f"and `class {name}(PsychoPyTrial):`."
        )
    if found.draw is PsychoPyTrial.draw:
        raise InputError(f"{path}: the class `{name}` has no method `draw`. Fix: write `def draw(self, t_ms):`.")
    return found
