"""Reading of a folder of templates and its tables. Mistakes of form (such as a missing field) are collected."""

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
    """A scenario, with the parts of its context template that have no mistakes of form."""

    name: str
    path: Path
    """The file with the context template."""
    metadata: Metadata | None
    """Metadata of the scenario. None if the metadata are missing or have mistakes."""
    versions: Mapping[str, ContextVersion]
    """The versions of the story that have no mistakes of form, by letter."""
    letters: frozenset[str]
    """Letters of all versions in the file, with or without mistakes. Empty if the file cannot be read."""


@dataclass(frozen=True)
class ScenarioQuestion:
    """A QA template, with its file and scenario."""

    path: Path
    qa: QATemplate
    scenario: Scenario

    @property
    def story(self) -> ContextVersion | None:
        """The version of the story for the question. None if this version is missing or has mistakes of form."""
        return self.scenario.versions.get(self.qa.base_context_version)


@dataclass(frozen=True)
class TemplateSet:
    """All templates of a folder in sorted order, and the tables."""

    folder: Path
    tables: Tables
    scenarios: list[Scenario] = field(default_factory=list)
    questions: list[ScenarioQuestion] = field(default_factory=list)
    canary: str | None = None


def read_template_set(folder: Path, tables_folder: Path | None, problems: Problems) -> TemplateSet:
    """Read the templates and the tables. Append mistakes of form to `problems`.

    If `tables_folder` is None, the tables are in `folder`/tables.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: this folder does not exist. Fix: choose the folder that contains the folders of the scenarios."
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
                    surplus,
                    "",
                    (f"the folder has a second context template, {path.name}. Fix: delete one of the two."),
                )
        if not contexts:
            problems.add(
                path, "", "this context template is missing. Fix: add this file, or delete the folder of the scenario."
            )
        elif path != own:
            problems.add(
                path,
                "",
                (f"the context template in the folder {sub.name} must be called {own.name}. Fix: rename this file."),
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
                        "this file is not a QA template. Besides the context template, the folder may contain only "
                        "QA templates as JSON files. Fix: move this file to another folder."
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
            folder,
            "",
            ("the folder contains no templates. Fix: add a folder with JSON files for each scenario."),
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
    """Return the prefixes of the variables in all stories. `name` is always used, for the protagonist's name."""
    stories = [story for scenario in scenarios for story in scenario.versions.values() if story is not None]
    return {"name"} | {prefix_of(key) for story in stories for key in story.variables}


def _scenario_folders(folder: Path, tables_folder: Path) -> Iterator[Path]:
    for sub in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if sub.resolve() != tables_folder.resolve() and _json_files(sub):
            yield sub


def _json_files(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, without the hidden files of some operating systems and editors."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".json" and not path.name.startswith("."))


def _scenario(name: str, path: Path, document: Any, problems: Problems) -> Scenario:
    """Return the parts of a context template that have no mistakes of form. Report the mistakes of all parts."""
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
        problems.add(path, "metadata", "the metadata are missing. Fix: add the field `metadata`.")
    sound = {letter: version for letter, version in versions.items() if version}
    return Scenario(name, path, metadata, sound, frozenset(versions))


def _read_json(path: Path, problems: Problems) -> Any:
    try:
        document = parse_json(read_text(path), str(path))
    except InputError as error:
        problems.add(path, "", str(error).removeprefix(str(path)).lstrip(":, "))
        return None
    if not isinstance(document, dict):
        problems.add(
            path, "", "the file must contain one JSON object. Fix: put { at the beginning and } at the end of the file."
        )
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
