"""Write the reference pages from the code: study.yaml, texts, batteries, SPEC.yaml, settings, commands, Python API.

Run `.venv/bin/python docs/generate_reference.py` after changing a pydantic model, a command or a public function. A
test fails until the pages agree with the code.
"""

import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import equipoise
from analysis.exports.codebook import ABOUT_TABLES, TABLES, Column
from analysis.imports.table_map import TableMap, WideColumns
from batteries.items import BatteryHeader, Item
from batteries.stimulus.parts import ImagePart, Screen, SoundPart, TextPart, VideoPart
from batteries.tasks import TASKS
from batteries.tasks.multiple_choice import Several
from batteries.vignettes.spec import BuildSpec
from equipoise.cli.main import main as command_line
from experiment.study.definition import StudyDefinition
from experiment.study.demographics import DemographicQuestion, Questionnaire
from experiment.study.planned_analyses import Level
from experiment.texts import catalogue, languages
from server.settings import PREFIX, Settings

HERE = Path(__file__).parent / "reference"

LONGEST_DEFAULT = 60
"""A default with more characters is shortened to its type and `(...)`."""

GENERATED = "<!-- Made by docs/generate_reference.py from the code; do not edit. -->\n"

PLAIN_TYPES: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "yes or no",
    Path: "folder",
    Level: "level",
}

ARGUMENTS = {
    "equipoise researchers role role": "The new role: `owner`, `researcher` or `viewer`.",
    "name": "Name of the account.",
    "files": "The files with the replies.",
    "folder": "The new folder. If the folder exists, it must be empty.",
    "study": "The study's folder.",
    "bonuses": "File with one line per participant, `PARTICIPANT,AMOUNT`, without a header.",
    "export": "The panel's list of submissions, .csv.",
    "recording": "The recording of the photodiode, .csv or .wav.",
    "sources": "Folder of an export; or with `--map`, one or more tables of another program.",
    "source": "A study's folder, or a battery's file.",
    "equipoise audit source": "CSV file of the table as printed.",
    "equipoise battery import source": "The CSV file of the battery.",
    "equipoise store copy source": "The store to copy: its file, or the address of its database.",
    "target": "The store to copy to: a new file, or the address of an empty database.",
    "templates": "Folder of the templates, or `intuition` for the templates that come with Equipoise.",
    "what": "Kind of file to describe.",
}

API_INTRO = """# Python API

`import equipoise as eq` makes every command a function of the same name, with `_` for spaces and hyphens:
`equipoise store verify my-study` is `eq.store_verify("my-study")`. Only `equipoise import` is `eq.import_data`, because
`import` is a word of Python. The parameters of a function are the arguments and
options of its command, with the same defaults. A file, a folder or a store is a text or a `pathlib.Path`. A study is
its folder, or a study that `eq.load_study` has loaded.

Where a command prints its result, the function returns it. Bad input raises `eq.InputError`; its message is the
sentence that the command prints. `help(eq.analyze)` shows the documentation of a function.

The examples on this page are one program: each example uses the files of the examples before it.

```python
from pathlib import Path

import equipoise as eq

eq.new("my-study")
print(eq.models_run("my-study", "baseline/tracer"))
eq.simulate("my-study", n_participants=10, seed=7)
eq.analyze("my-study", "my-study/results")

trials = eq.read_trials(Path("my-study/data/equipoise.db"))
print(trials.groupby("kind")["correct"].mean())
```
"""

API_GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Studies",
        """study = eq.load_study(Path("my-study"))
print(study.name, len(study.test_items))
print(eq.plan_session(study, group=1, seed=1).trials[0].item_id)
print(eq.schema("study")["title"])
print(eq.check("my-study", browser=False).text())""",
        ("new", "check", "demo", "schema", "load_study", "Study", "plan_session", "Plan", "Trial", "InputError"),
    ),
    (
        "Batteries",
        """n_items = eq.battery_build("intuition", "battery.jsonl", seed=2)
eq.battery_preview("battery.jsonl", "preview.html")
eq.battery_export("battery.jsonl", "csv", "battery.csv")
battery = eq.load_battery(Path("battery.jsonl"))
print(n_items, battery.items[0].item_id)""",
        (
            "battery_build", "battery_check", "battery_export", "battery_import", "battery_preview",
            "battery_variants", "load_battery", "save_battery", "Battery", "Item", "jspsych_plugins",
        ),
    ),
    (
        "Server and simulated participants",
        """print(eq.simulate("my-study", n_participants=5, seed=8))""",
        ("serve", "simulate", "create_app", "SqliteStore"),
    ),
    (
        "Models",
        """for sentence in eq.models_run("my-study", "baseline/nearest-atom"):
    print(sentence)""",
        ("models_prompts", "models_import", "models_run", "models_list", "read_stored_runs", "run_baseline"),
    ),
    (
        "Store",
        """verified = eq.store_verify("my-study")
print(verified.n_responses, verified.digest, verified.problems)
eq.store_backup("my-study", "backups/monday.db")
print(eq.store_sessions("my-study", "sessions.csv"))""",
        ("store_backup", "store_copy", "store_sessions", "store_verify"),
    ),
    (
        "Exports and imports",
        """made = eq.export("my-study", "my-study-data", form="csv", license="CC-BY-4.0", authors=["Anna Adler"])
print(made.n_trials, made.n_participants)
print(eq.import_data("my-study-data", "trials.csv").n_trials)""",
        ("export", "import_data"),
    ),
    (
        "Assignment to groups",
        """eq.assignment_close("my-study", group=3)
for row in eq.assignment_show("my-study"):
    print(*row)
eq.assignment_open("my-study", group=3)
print(eq.assignment_log("my-study", "slots.csv"))""",
        (
            "assignment_show", "assignment_close", "assignment_open", "assignment_extend", "assignment_release",
            "assignment_log",
        ),
    ),
    (
        "Identities",
        """print(eq.identities_export("my-study", "panel-ids.csv"))
n_deleted, files_with_traces = eq.identities_delete("my-study", everybody=True)
print(n_deleted, files_with_traces)""",
        ("identities_export", "identities_delete", "links"),
    ),
    (
        "Recruitment panels",
        "",
        ("recruit_prolific", "recruit_reconcile", "recruit_approve", "recruit_reject", "recruit_bonus"),
    ),
    (
        "Researchers' accounts",
        """eq.researchers_add("my-study", "anna", "seven blue chairs sing", role="owner")
eq.researchers_role("my-study", "anna", "viewer")
for row in eq.researchers_list("my-study"):
    print(*row)
eq.researchers_remove("my-study", "anna")""",
        (
            "researchers_add", "researchers_list", "researchers_role", "researchers_password",
            "researchers_second_factor", "researchers_disable", "researchers_enable", "researchers_remove",
        ),
    ),
    (
        "Changes in a study under way",
        """session = trials.loc[trials["kind"] == "simulated", "session"].iloc[0]
print(eq.withdraw("my-study", session=session))""",
        ("exclude", "revise", "withdraw"),
    ),
    (
        "Analysis",
        """eq.analyze("my-study", "results-of-models", without_simulated=True)
print(Path("results-of-models/report.html").stat().st_size)""",
        ("analyze", "analyze_table", "analyze_trials", "read_trials", "fit_mixed_model"),
    ),
    (
        "Power and audit",
        """print(eq.power("my-study", "outcome=absorbed:-0.10", ns=[20, 40], simulations=100))

Path("table.csv").write_text("group,n,women\\na,20,11\\nb,22,9\\nTotal,42,20\\n", encoding="utf-8")
print(eq.audit("table.csv")[["row", "check", "verdict"]])""",
        ("power", "audit", "audit_table"),
    ),
    ("Coding of open answers", "", ("coding_new", "coding_agreement", "coding_refresh")),
    ("Laboratory", "", (
        "lab_run", "lab_check", "lab_codes", "lab_flashes", "lab_photodiode", "lab_upload", "PsychoPyTrial",
        "TrialPress", "FlashSeries", "Visitor", "Setup", "Kind",
    )),
)  # fmt: skip
"""The groups of public names: heading, example and names. The laboratory needs a window, and
the coding needs coders, so they have no examples.
"""

STUDY_INTRO = """# study.yaml

A study is a folder with a file `study.yaml` (YAML 1.2, UTF-8). This page lists all fields of the file. An unknown field
causes an error with file and line. File names in the file are relative to the folder of the study.

An editor with the YAML language server checks the file while you type. It uses the JSON Schema `study.schema.json`,
which `equipoise new` writes into the same folder; `equipoise schema study` prints this schema.

In YAML 1.2 an unquoted `no` is a text, and `1.0` is a number; put versions in quotes.

In the column *type*, *fields* are entries with a name and a value, such as `{condition: B, version: 2}`. A *level* is
the value of a factor: a text, a number, or yes or no (`true` or `false`).

[Design a participant's session](../how-to/design-a-session.md) shows most fields in an example. The file of
`timeline.demographics` has [other fields](#the-demographics-file).
"""

DEMOGRAPHICS_INTRO = """A YAML file of questions about the participant. `timeline.demographics` is the name of the file.
One page after the consent shows all questions, once to each participant. The participant may skip each question. The
answers are in the [list of sessions](data.md#the-list-of-sessions).

```yaml
questions:
  - {name: age, ask: How old are you?, answer: number, low: 18, high: 120}
  - {name: hand, ask: Which hand do you write with?, answer: choice, options: [left, right, both]}
  - {name: languages, ask: Which languages do you speak at home?, answer: text}
```
"""

TEXTS_INTRO = f"""# Participants' texts

Besides a study's pages and items, participants read the texts of buttons, announcements, feedback and errors. There
are catalogues for the languages {", ".join(f"`{language}`" for language in languages())}. `language` in
[study.yaml](study-yaml.md) chooses the catalogue (`de-AT` uses `de`). A language without a catalogue uses the English
texts, and the page marks these texts as English for screen readers. A study can replace any text:

```yaml
language: de
texts:
  agree: Ja, ich mache mit
  question_of: "Geschichte {{number}} von {{total}}"
```

A word in braces is a placeholder; a text may omit it. Texts are plain text, not Markdown.
"""

BATTERY_INTRO = """# The battery file

A battery is one file, JSON Lines (`.jsonl`) or YAML (`.yaml`, `.yml`), in UTF-8. In JSON Lines, the first line is the
header, and each further line is one item. In YAML, the header's fields are at the top, and the items are in the list
`items`. [Write a battery](../how-to/write-a-battery.md) has an example of each form. `equipoise schema item` prints the
JSON Schema of an item.

The digest identifies a battery. The digest is the SHA-256 of the canonical JSON (RFC 8785) of name, version and items.
If one letter of a text changes, the digest changes. The order of the items, the order of the fields and the form of
the file do not change the digest. The description and the canary are not part of the digest.
"""

CODEBOOK_INTRO = """# Codebook

This page describes the columns of the tables in [an export](../how-to/export-data.md). Each export also has its own
codebook, with the factors of its items and the questions about its participants. A table omits columns that no study of
this kind has, such as `device_...` for an unknown device. Cells of the type JSON have a plain text where this is
unambiguous. Times are in ISO 8601.

`trials` also has one column for each factor, before `key`. `participants` and `sessions` also have one column
`demographics_<name>` for each question about the participant. In BIDS, `participants` begins with `participant_id`.
"""

TABLE_MAP_INTRO = """# The map of a table

`equipoise import TABLE --map MAP.yaml` reads a table of another program. The map is a YAML file that names the columns
of the table. [Analyze data from other programs](../how-to/import-data.md) has an example and lists the ready-made maps.

In the fields for columns, you can write one name or a list of names. The first name of a list that is in the table is
used. If there is only one name, the table must have this column.
"""

SPEC_INTRO = """# SPEC.yaml

`equipoise battery build TEMPLATES --spec SPEC.yaml` builds the battery of this specification. `equipoise battery check
TEMPLATES --spec SPEC.yaml` checks only the selected templates. Every field may be omitted. Without any field, the
battery has every template at all four inference levels, in the first person, in five variants.
[Build a vignette battery](../how-to/build-a-vignette-battery.md) has an example. `equipoise schema spec` prints
the JSON Schema of the specification, for editors.
"""

SETTINGS_INTRO = """# Settings of a server

This page lists the settings of a server; the properties of a study are in [study.yaml](study-yaml.md). Each setting is
an environment variable. Some settings are also options of `equipoise serve`; an option has precedence over its
variable. The server refuses a variable whose name is almost the name of a setting, so that a typing error does not send
responses to the wrong store.

No secret has a default. The server makes its two secrets at the first start, in files that only the owner can read (see
`EQUIPOISE_SECRETS`). The address of a database may contain a password; the server neither logs nor shows the address.
"""

COMMANDS_INTRO = """# The command line

`equipoise --help` lists the commands, and every command has its own `--help`. The argument STUDY is a study's folder.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | stopped by an error that is not in the input; or a check failed, as the text of the command says |
| 2 | invalid input: one sentence on standard error says what is wrong, where, and how to correct it |

Progress is shown on standard error, and only on a terminal. No command asks questions.
"""


def pages() -> dict[str, str]:
    """Return the text of every generated page by its file name."""
    return {
        "study-yaml.md": study_page(),
        "texts.md": texts_page(),
        "battery.md": battery_page(),
        "battery-spec.md": spec_page(),
        "settings.md": settings_page(),
        "command-line.md": command_page(),
        "python-api.md": api_page(),
        "codebook.md": codebook_page(),
        "table-map.md": table_map_page(),
    }


def study_page() -> str:
    """Return the page on `study.yaml`."""
    sections = [GENERATED + STUDY_INTRO, _section("The whole file", StudyDefinition)]
    sections += [_section(_heading(path, model), model) for path, model in _inner_models(StudyDefinition)]
    sections.append(_section("The demographics file", Questionnaire, intro=DEMOGRAPHICS_INTRO.rstrip()))
    sections.append(_section("`questions` of the demographics file", DemographicQuestion))
    return "\n".join(sections)


def texts_page() -> str:
    """Return the page on the participants' texts."""
    rows = [f"| `{name}` | {_cell(text)} |" for name, text in catalogue("en").items()]
    table = ["| name | English text |", "|---|---|", *rows, ""]
    return "\n".join([GENERATED + TEXTS_INTRO, *table])


def spec_page() -> str:
    """Return the page on SPEC.yaml."""
    sections = [GENERATED + SPEC_INTRO, _section("The whole file", BuildSpec)]
    sections += [_section(_heading(path, model), model) for path, model in _inner_models(BuildSpec)]
    return "\n".join(sections)


def settings_page() -> str:
    """Return the page on a server's settings."""
    rows = [
        f"| `{PREFIX}{name.upper()}` | {_option_words(name)} | {_type_words(field)} | {_default_words(field)} | "
        f"{_cell(_meaning(field))} |"
        for name, field in Settings.model_fields.items()
    ]
    table = ["| environment variable | option | type | default | meaning |", "|---|---|---|---|---|", *rows, ""]
    return "\n".join([GENERATED + SETTINGS_INTRO, *table])


def _option_words(name: str) -> str:
    options = {parameter.name for parameter in command_line.commands["serve"].params}
    return f"`--{name}`" if name in options else "none"


def battery_page() -> str:
    """Return the page on battery files."""
    sections = [GENERATED + BATTERY_INTRO, _section("Header", BatteryHeader), _section("Item", Item)]
    for name, task in TASKS.items():
        note = " ".join(inspect.getdoc(type(task)).split("\n\n")[0].split())  # type: ignore[union-attr]
        heading = f"`content` of the task `{name}`"
        sections.append(_section(heading, task.content_model, intro=note))
    parts = {
        "`several`": Several, "A screen": Screen, "A text of the stimulus": TextPart, "A picture": ImagePart,
        "A sound": SoundPart, "A video": VideoPart,
    }  # fmt: skip
    sections += [_section(heading, model) for heading, model in parts.items()]
    return "\n".join(sections)


def codebook_page() -> str:
    """Return the page on the columns of exports."""
    sections = [GENERATED + CODEBOOK_INTRO]
    for table, columns in TABLES.items():
        about = ABOUT_TABLES[table]
        rows = [
            f"| `{column.name}` | {column.type} | {column.unit or '-'} | {_cell(column.label)}{_levels_words(column)} |"
            for column in columns
        ]
        heading = f"## `{table}`\n\n{about[0].upper()}{about[1:]}.\n"
        sections.append("\n".join([heading, "| column | type | unit | meaning |", "|---|---|---|---|", *rows, ""]))
    return "\n".join(sections)


def _levels_words(column: Column) -> str:
    """Return the levels of a column as the end of a cell, such as `. Levels: ...`."""
    levels = [f"`{level}` ({label})" if label else f"`{level}`" for level, label in column.levels.items()]
    return f". Levels: {', '.join(levels)}" if levels else ""


def table_map_page() -> str:
    """Return the page on the map of a table of another program."""
    sections = [GENERATED + TABLE_MAP_INTRO, _section("The whole file", TableMap)]
    return "\n".join([*sections, _section("`wide`", WideColumns)])


def command_page() -> str:
    """Return the page on the command line."""
    sections = [GENERATED + COMMANDS_INTRO]
    sections += [_command_section(path, command) for path, command in commands(command_line)]
    return "\n".join(sections)


def api_page() -> str:
    """Return the page on the Python API."""
    lines = [GENERATED + API_INTRO]
    for heading, example, names in API_GROUPS:
        lines.append(f"## {heading}\n")
        if example:
            lines.append(f"```python\n{example}\n```\n")
        lines += [_api_section(name) for name in names]
    return "\n".join(lines)


def _api_section(name: str) -> str:
    """Return a public name with its signature and the parts of its docstring."""
    thing = getattr(equipoise, name)
    about, sections = docstring_parts(inspect.getdoc(thing) or "")
    lines = [f"### eq.{name}\n"]
    if inspect.isclass(thing):
        return "\n".join([*lines, f"{about}\n"])
    signature = inspect.signature(thing)
    shown = ", ".join(_parameter_words(each) for each in signature.parameters.values())
    lines += [f"```text\neq.{name}({shown})\n```\n", f"{about}\n"]
    if "Parameters" in sections:
        lines += ["| parameter | default | meaning |", "|---|---|---|"]
        lines += [
            f"| {', '.join(f'`{each}`' for each in names)} | {_defaults(signature, names)} | {_cell(meaning)} |"
            for entry, meaning in sections["Parameters"]
            for names in [entry.partition(" : ")[0].split(", ")]
        ]
        lines.append("")
    lines += [f"Returns `{entry}`{_after_colon(meaning)}\n" for entry, meaning in sections.get("Returns", [])]
    lines += [f"Raises `{entry}`{_condition(meaning)}\n" for entry, meaning in sections.get("Raises", [])]
    return "\n".join(lines)


def docstring_parts(docstring: str) -> tuple[str, dict[str, list[tuple[str, str]]]]:
    r"""Return the text before the sections of a NumPy docstring, and each section's entries with their meanings.

    Examples
    --------
    >>> docstring_parts("Add numbers.\n\nParameters\n----------\na, b : int\n    Numbers to\n    add.")
    ('Add numbers.', {'Parameters': [('a, b : int', 'Numbers to add.')]})
    """
    before, *rest = re.split(r"^(\w+)\n-+\n", docstring, flags=re.MULTILINE)
    about = "\n\n".join(" ".join(paragraph.split()) for paragraph in before.strip().split("\n\n"))
    sections = {}
    for heading, text in zip(rest[::2], rest[1::2], strict=True):
        found = re.findall(r"^(\S.*)\n((?:[ ]+\S.*(?:\n|$)|\n)+)", text, flags=re.MULTILINE)
        sections[heading] = [(entry, " ".join(meaning.split())) for entry, meaning in found]
    return about, sections


def _after_colon(meaning: str) -> str:
    """Return a meaning as the end of a sentence, with a small first letter."""
    if not meaning:
        return "."
    return ": " + (meaning[0].lower() + meaning[1:] if meaning[1:2].islower() else meaning)


def _condition(meaning: str) -> str:
    return f" if {meaning[3:]}" if meaning.startswith("If ") else _after_colon(meaning)


def _defaults(signature: inspect.Signature, names: list[str]) -> str:
    """Return the defaults of parameters that share one entry; one word if all are equal."""
    found = [signature.parameters[name].default for name in names]
    shown = ["required" if each is inspect.Parameter.empty else f"`{_default(each)}`" for each in found]
    return ", ".join(dict.fromkeys(shown)) if len(set(shown)) == 1 else ", ".join(shown)


def _default(value: Any) -> str:
    if callable(value):
        return str(value.__name__)
    words = repr(dict(value) if isinstance(value, types.MappingProxyType) else value)
    return words if len(words) <= LONGEST_DEFAULT else f"{type(value).__name__}(...)"


def _parameter_words(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return parameter.name
    return f"{parameter.name}={_default(parameter.default)}"


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that is not itself a group, with the words that call it."""
    for name, command in sorted(group.commands.items()):
        if command.hidden:
            continue
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def _section(heading: str, model: type[BaseModel], intro: str | None = None) -> str:
    rows = [
        f"| `{name}` | {_type_words(field)} | {_default_words(field)} | {_cell(_meaning(field))} |"
        for name, field in model.model_fields.items()
    ]
    words = intro or " ".join((model.__doc__ or "").split())
    return "\n".join(
        [f"## {heading}\n", f"{words}\n", "| field | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _inner_models(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        place = f"{path}.{name}" if path else name
        for inner in _models_in(field.annotation):
            yield place, inner
            yield from _inner_models(inner, place)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _heading(path: str, model: type[BaseModel]) -> str:
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is Literal and field.is_required() and len(get_args(field.annotation)) == 1:
            return f"`{path}` with `{name}: {get_args(field.annotation)[0]}`"
    return f"`{path}`"


def _type_words(field: FieldInfo) -> str:
    words = _annotation_words(field.annotation)
    limits = _limits(field)
    return _cell(f"{words}, {limits}" if limits else words)


def _annotation_words(annotation: Any) -> str:
    if annotation in PLAIN_TYPES:
        return PLAIN_TYPES[annotation]
    origin, parts = get_origin(annotation), [part for part in get_args(annotation) if part is not type(None)]
    if origin is Annotated:
        return _annotation_words(parts[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in parts)
    if origin is tuple:
        if parts[-1] is not Ellipsis:
            return f"[{', '.join(_annotation_words(part) for part in parts)}]"
        words = _annotation_words(parts[0])
        return f"list of {words}s" if words in {"text", "whole number", "level"} else f"list of {words}"
    if origin is dict:
        words = _annotation_words(parts[1])
        return f"fields; each value: {f'({words})' if words.startswith('fields; ') else words}"
    if origin in {Union, types.UnionType}:
        if set(get_args(Level)) <= set(parts):
            parts = [Level, *(part for part in parts if part not in get_args(Level))]
        words = dict.fromkeys(_annotation_words(part) for part in parts)
        return " or ".join(words)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "fields, see below"
    return "any JSON value"


def _limits(field: FieldInfo) -> str:
    words = _annotation_words(field.annotation)
    unit = "entries" if "list of" in words or words.startswith("fields") else "characters"
    forms = {
        "ge": "{} or more", "gt": "over {}", "le": "at most {}", "lt": "under {}", "pattern": "of the form `{}`",
        "min_length": f"at least {{}} {unit}", "max_length": f"at most {{}} {unit}",
    }  # fmt: skip
    words = []
    for bound in field.metadata:
        for name, form in forms.items():
            value = getattr(bound, name, None)
            if value is not None and not (name == "min_length" and value == 1):
                words.append(form.format(f"{value:,}" if isinstance(value, int) else value))
            elif name == "min_length" and value == 1:
                words.append("not empty")
    return ", ".join(words)


def _default_words(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        default = field.get_default(call_default_factory=True)
        return "none" if not isinstance(default, BaseModel) else "its fields' defaults"
    if field.default in (None, (), PydanticUndefined):
        return "none"
    return "empty" if field.default == "" else f"`{_yaml_words(field.default)}`"


def _yaml_words(value: Any) -> str:
    """Return a default in YAML. A pydantic model is written as `{}`, because its fields have defaults."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_yaml_words, value))}]"
    return "{}" if isinstance(value, BaseModel) else str(value)


def _meaning(field: FieldInfo) -> str:
    return field.description or "Selects this alternative."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _command_section(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(("equipoise", *path)))
    rows = [
        _parameter_row(parameter, context) for parameter in command.params if not getattr(parameter, "hidden", False)
    ]
    usage = command.get_usage(context).removeprefix("Usage: ")
    help_text = " ".join((command.help or "").split())
    example = (command.epilog or "").removeprefix("Example: ")
    lines = [f"## equipoise {' '.join(path)}\n", f"{help_text}\n", f"```text\n{' '.join(usage.split())}\n```\n"]
    lines += ["| argument or option | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join([*lines, f"```console\n$ {example}\n```\n"])


def _parameter_row(parameter: click.Parameter, context: click.Context) -> str:
    if isinstance(parameter, click.Option):
        name = ", ".join(f"`{option}`" for option in parameter.opts)
        if not parameter.is_flag:
            name += f" {_value_words(parameter, context)}"
        # A default that depends on files or settings is at the end of the help.
        meaning, _, default = (parameter.help or "").partition("  [default: ")
        default = default.rstrip("]") or parameter.to_info_dict()["default"]
    else:
        name, meaning, default = f"`{parameter.make_metavar(context)}`", _argument_words(parameter, context), None
    if parameter.required:
        words = "required"
    elif isinstance(parameter, click.Option) and parameter.is_flag:
        words = "off"
    else:
        shown = ", ".join(map(str, default)) if isinstance(default, (list, tuple)) else default
        words = "none" if default is None else f"`{shown}`"
    return f"| {_cell(name)} | {words} | {_cell(meaning)} |"


def _argument_words(parameter: click.Parameter, context: click.Context) -> str:
    """Return the meaning of an argument in this command, or in all commands."""
    return ARGUMENTS.get(f"{context.info_name} {parameter.name}") or ARGUMENTS[str(parameter.name)]


def _value_words(option: click.Option, context: click.Context) -> str:
    if isinstance(option.type, click.IntRange):
        top = "" if option.type.max is None else f" to {option.type.max:,}"
        return f"whole number, {option.type.min}{top or ' or more'}"
    return option.make_metavar(context).lower()


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"{HERE / name}")
