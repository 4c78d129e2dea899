"""Writes the reference pages from the code: study.yaml, texts, batteries, SPEC.yaml, settings, commands, Python API.

Run `.venv/bin/python docs/generate_reference.py` after changing a model or a command; a test fails until it is done.
"""

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import equipoise
from batteries.items import BatteryHeader, Item
from batteries.tasks import TASKS
from batteries.vignettes.spec import BuildSpec
from equipoise.cli.main import main as command_line
from experiment.study.definition import StudyDefinition
from experiment.study.demographics import DemographicQuestion, Questionnaire
from experiment.study.planned_analyses import Level
from experiment.texts import catalogue, languages
from server.settings import PREFIX, Settings

HERE = Path(__file__).parent / "reference"

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
    "files": "The files with the runs, as JSON.",
    "folder": "The new folder; it must not exist, or be empty.",
    "study": "The study's folder.",
    "source": "A study's folder, or a battery's file; of `import`, the CSV file; of `audit`, the table as CSV; of "
    "`store copy`, the store to copy.",
    "target": "The store to copy to: a new file, or an empty database.",
    "templates": "The templates' folder, or `intuition` for the templates that come with Equipoise.",
    "what": "Kind of file to describe.",
}

API_INTRO = """# Python API

`import equipoise as eq` gives every command as a function of the same name, with `_` for spaces and hyphens:
`equipoise store verify my-study` is `eq.store_verify("my-study")`. A function takes a study's folder, or a study that
`eq.load_study` has loaded. Where the command prints, the function returns. Bad input raises `eq.InputError`, whose
message is the sentence that the command prints.

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

`help(eq.analyze)` shows all parameters of a function.
"""

STUDY_INTRO = """# study.yaml

A study is a folder with a file `study.yaml` (YAML 1.2, UTF-8). These are all its fields. An unknown field is
refused with its file and line. File names are relative to the folder.

An editor with the YAML language server checks the file while you type: `equipoise new` writes the JSON Schema beside
it as `study.schema.json`, and `equipoise schema study` prints it.

In YAML 1.2 an unquoted `no` is a text, and `1.0` is a number; put versions in quotes.

[Design the participants' way](../how-to/design-the-participants-way.md) shows most fields in an example. The file of
`timeline.demographics` has [its own fields](#the-demographics-file).
"""

DEMOGRAPHICS_INTRO = """A YAML file of questions about the participant, named by `timeline.demographics`. They are
asked once, on one page, after consent; each may be skipped. The answers are in the
[list of sessions](data.md#the-list-of-sessions).

```yaml
questions:
  - {name: age, ask: How old are you?, answer: number, low: 18, high: 120}
  - {name: hand, ask: Which hand do you write with?, answer: choice, options: [left, right, both]}
  - {name: languages, ask: Which languages do you speak at home?, answer: text}
```
"""

TEXTS_INTRO = f"""# Participants' texts

The texts that participants read beside a study's own pages and items: buttons, announcements, feedback, errors. There
are catalogues for the languages {", ".join(f"`{language}`" for language in languages())}; `language` in
[study.yaml](study-yaml.md) chooses one (`de-AT` uses `de`), and a language without one uses the English texts, marked
as English for screen readers. A study can replace any text by its own:

```yaml
language: de
texts:
  agree: Ja, ich mache mit
  question_of: "Geschichte {{number}} von {{total}}"
```

A word in braces is a placeholder; it may be omitted. Texts are plain text, not Markdown.
"""

BATTERY_INTRO = """# The battery file

A battery is one file, JSON Lines (`.jsonl`) or YAML (`.yaml`, `.yml`), in UTF-8. In JSON Lines the first line is the
header and every further line one item; in YAML the header's fields are at the top and the items in the list
`items`. [Write a battery](../how-to/write-a-battery.md) has an example of each. `equipoise schema item` prints the
JSON Schema of an item.

A battery is identified by its digest: the SHA-256 of the canonical JSON (RFC 8785) of name, version and items. The
order of the items, the order of the fields and the form of the file do not change it; a changed letter of a text does.
The description and the canary are not part of it.
"""

SPEC_INTRO = """# SPEC.yaml

`equipoise battery build TEMPLATES --spec SPEC.yaml` builds the battery of this specification, and `equipoise battery
check` with it checks only the selected templates. Every field may be omitted; without any, the battery holds every
template at all four inference levels, in the first person, in five variants.
[Build a vignette battery](../how-to/build-a-vignette-battery.md) has an example; `equipoise schema spec` prints its
JSON Schema for editors.
"""

SETTINGS_INTRO = """# Settings of a server

The settings of a server; the properties of a study are in [study.yaml](study-yaml.md). Each setting can be given as an
environment variable. Some are also options of `equipoise serve`; the option takes precedence. A variable with almost
the name of a setting is refused, so that a typing error does not send responses to another store.

No secret has a default: the two secrets are made at the first start, in files that only their owner may read (see
`EQUIPOISE_SECRETS`). The address of a database may hold a password; it is neither logged nor shown.
"""

COMMANDS_INTRO = """# The command line

`equipoise --help` lists the commands, and every command has its own `--help`. A study is named by its folder.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | stopped by an error that is not in the input |
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
    return "\n".join(sections)


def command_page() -> str:
    """Return the page on the command line."""
    sections = [GENERATED + COMMANDS_INTRO]
    sections += [_command_section(path, command) for path, command in commands(command_line)]
    return "\n".join(sections)


def api_page() -> str:
    """Return the page on the Python API."""
    groups = (("Commands", equipoise._COMMANDS), ("Parts", equipoise._PARTS))
    lines = [GENERATED + API_INTRO]
    for heading, names in groups:
        lines += [f"## {heading}\n", *(_api_section(name) for name in sorted(names))]
    return "\n".join(lines)


def _api_section(name: str) -> str:
    """Return a public name with its signature and the first paragraph of its docstring."""
    thing = getattr(equipoise, name)
    about = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    if inspect.isclass(thing):
        return f"### eq.{name}\n\n{about}\n"
    parameters = ", ".join(_parameter_words(each) for each in inspect.signature(thing).parameters.values())
    return f"### eq.{name}\n\n```text\neq.{name}({parameters})\n```\n\n{about}\n"


def _parameter_words(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return parameter.name
    default = parameter.default
    return f"{parameter.name}={default.__name__ if callable(default) else repr(default)}"


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
        return f"list of {_annotation_words(parts[0])}"
    if origin is dict:
        return f"fields, each {_annotation_words(parts[1]).replace('fields, see', 'with fields, see')}"
    if origin in {Union, types.UnionType}:
        words = dict.fromkeys(_annotation_words(part) for part in parts)
        return " or ".join(words)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "fields, see below"
    return "any JSON value"


def _limits(field: FieldInfo) -> str:
    unit = "entries" if "list of" in _annotation_words(field.annotation) else "characters"
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
    """Return a default in YAML; a model is written as its own defaults."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_yaml_words, value))}]"
    return "{}" if isinstance(value, BaseModel) else str(value)


def _meaning(field: FieldInfo) -> str:
    return field.description or "Says which of the alternatives this is."


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
        # A default that depends on what is there already is written at the end of the help.
        meaning, _, default = (parameter.help or "").partition("  [default: ")
        default = default.rstrip("]") or parameter.to_info_dict()["default"]
    else:
        name, meaning, default = f"`{parameter.make_metavar(context)}`", ARGUMENTS[str(parameter.name)], None
    if parameter.required:
        words = "required"
    elif isinstance(parameter, click.Option) and parameter.is_flag:
        words = "off"
    else:
        words = "none" if default is None else f"`{default}`"
    return f"| {_cell(name)} | {words} | {_cell(meaning)} |"


def _value_words(option: click.Option, context: click.Context) -> str:
    if isinstance(option.type, click.IntRange):
        top = "" if option.type.max is None else f" to {option.type.max:,}"
        return f"whole number, {option.type.min}{top or ' or more'}"
    return option.make_metavar(context).lower()


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"{HERE / name}")
