"""Reading of a folder of templates and its tables. A mistake of form is collected and does not stop the reading."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from batteries.errors import InputError
from batteries.files.file_reading import parse_json, read_text, sentences
from batteries.vignettes.templates.labels import prefix_of
from batteries.vignettes.templates.models import CONTEXT_SUFFIX, ContextVersion, Metadata, QATemplate, natural_id
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.tables import GUID, Tables, read_tables

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Scenario:
    """The readable parts of a scenario's folder."""

    name: str
    path: Path
    """File of the context template."""
    metadata: Metadata | None
    """None if the metadata are missing or have mistakes."""
    versions: Mapping[str, ContextVersion]
    """The versions of the story that have no mistakes of form, by letter."""
    letters: frozenset[str]
    """All versions in the file, also those with mistakes; empty if the file cannot be read."""


@dataclass(frozen=True)
class ScenarioQuestion:
    """A QA template, its file and its story."""

    path: Path
    qa: QATemplate
    scenario: Scenario

    @property
    def story(self) -> ContextVersion | None:
        """The story that the question is about; None if this version is missing or has mistakes of form."""
        return self.scenario.versions.get(self.qa.base_context_version)


@dataclass(frozen=True)
class TemplateSet:
    """All templates of a folder, sorted, with their tables."""

    folder: Path
    tables: Tables
    scenarios: list[Scenario] = field(default_factory=list)
    questions: list[ScenarioQuestion] = field(default_factory=list)
    canary: str | None = None


def read_template_set(folder: Path, tables_folder: Path | None, problems: Problems) -> TemplateSet:
    """Read templates and tables (by default from `folder`/tables); append mistakes of form to `problems`.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: this folder does not exist. Fix: name the folder that holds one folder per scenario."
        )
    tables_folder = tables_folder or folder / "tables"
    scenarios, questions, canaries = [], [], set()
    for sub in _scenario_folders(folder, tables_folder):
        own = sub / f"{sub.name}{CONTEXT_SUFFIX}"
        files = _json_files(sub)
        contexts = [file for file in files if file.name.endswith(CONTEXT_SUFFIX)]
        path = own if own in contexts or not contexts else contexts[0]
        for surplus in contexts:
            if surplus != path:
                problems.add(
                    surplus, "", (f"the folder also has {path.name}. Fix: keep one context template per folder.")
                )
        if not contexts:
            problems.add(path, "", "the folder has no context template. Fix: add this file or remove the folder.")
        elif path != own:
            problems.add(
                path,
                "",
                (f"the context template of the folder {sub.name} must be called {own.name}. Fix: rename this file."),
            )
        document = _read_json(path, problems) if contexts else None
        scenario = _scenario(sub.name, path, document, problems)
        canaries.add(_canary(document))
        scenarios.append(scenario)
        for qa_path in (file for file in files if file not in contexts):
            document = _read_json(qa_path, problems)
            canaries.add(_canary(document))
            if document is not None and not document.keys() & {"id", "links", "question", "answers"}:
                problems.add(
                    qa_path,
                    "",
                    (
                        "this is not a QA template, but every JSON file in this folder must be one. "
                        "Fix: move the file away."
                    ),
                )
                continue
            qa = _validated(qa_path, "", document, QATemplate, problems)
            if qa is not None:
                questions.append(ScenarioQuestion(qa_path, qa, scenario))
    tables = read_tables(tables_folder, problems, _used_prefixes(scenarios))
    canaries.add(tables.canary)
    if not scenarios:
        problems.add(
            folder, "", ("the folder holds no templates. Fix: give each scenario its own folder with JSON files.")
        )
    guids = sorted(guid for guid in canaries if guid)
    if len(guids) > 1:
        problems.add(
            folder,
            "canary",
            (f"the files have {len(guids)} different canary GUIDs. Fix: give all files the same GUID."),
        )
    questions.sort(key=lambda question: (natural_id(question.qa.id), question.path))
    return TemplateSet(folder, tables, scenarios, questions, guids[0] if guids else None)


def _used_prefixes(scenarios: Iterable[Scenario]) -> set[str]:
    """Return the prefixes of the variables that stories draw; the protagonist's name is drawn in every story."""
    stories = [story for scenario in scenarios for story in scenario.versions.values() if story is not None]
    return {"name"} | {prefix_of(key) for story in stories for key in story.variables}


def _scenario_folders(folder: Path, tables_folder: Path) -> Iterator[Path]:
    for sub in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if sub.resolve() != tables_folder.resolve() and _json_files(sub):
            yield sub


def _json_files(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, except the hidden ones that some systems and editors leave."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".json" and not path.name.startswith("."))


def _scenario(name: str, path: Path, document: Any, problems: Problems) -> Scenario:
    """Return the readable parts of a context template. A mistake in one part does not hide mistakes in other parts."""
    if not isinstance(document, dict):
        return Scenario(name, path, None, {}, frozenset())
    if "A" not in document:
        problems.add(path, "A", "version A of the story is missing. Fix: add version A.")
    versions = {
        letter: _validated(path, letter, document[letter], ContextVersion, problems)
        for letter in ("A", "B")
        if letter in document
    }
    metadata = None
    if "metadata" in document:
        metadata = _validated(path, "metadata", document["metadata"], Metadata, problems)
    else:
        problems.add(path, "metadata", "the metadata are missing. Fix: add them.")
    sound = {letter: version for letter, version in versions.items() if version}
    return Scenario(name, path, metadata, sound, frozenset(versions))


def _read_json(path: Path, problems: Problems) -> Any:
    try:
        document = parse_json(read_text(path), str(path))
    except InputError as error:
        problems.add(path, "", str(error).removeprefix(str(path)).lstrip(":, "))
        return None
    if not isinstance(document, dict):
        problems.add(path, "", "the file must contain one JSON object, `{...}`. Fix: correct the file.")
        return None
    return document


def _canary(document: Any) -> str | None:
    guid = GUID.search(str(document.get("canary", ""))) if document else None
    return guid[0].lower() if guid else None


def _validated(path: Path, key: str, document: Any, model: type[Model], problems: Problems) -> Model | None:
    if key == "" and document is None:  # The file could not be read; this is reported already.
        return None
    try:
        return model.model_validate(document)
    except ValidationError as error:
        for sentence in sentences(error, model):
            problems.add(path, key, sentence)
        return None
