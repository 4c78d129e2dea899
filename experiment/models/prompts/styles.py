"""Styles of prompts: template files that are rendered with the content of an item.

A template is a Jinja2 text. A line `===` separates the system prompt, which is above the line, from the user message.
Without such a line there is no system prompt. Templates run in Jinja2's sandbox, and an unknown name is an error.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from batteries.errors import InputError
from batteries.files.file_reading import read_text

DEFAULT_STYLES = {
    "multiple_choice": "three-lines",
    "blackbox_predict": "baseline",
    "rating": "answer-only",
    "number": "answer-only",
    "free_text": "answer-only",
    "ranking": "answer-only",
    "keypress": "answer-only",
    "recall": "answer-only",
}
"""The default style of each task."""
PROGRAMS = {"jspsych": "jsPsych", "psychopy": "PsychoPy", "blackbox_play": "the study's page"}
"""The tasks without a style, because only this program can show their items."""
HUMAN_EQUIVALENT = "human-equivalent"
"""The style with the instructions and practice that people get.

It exists for all tasks. If all items are in one conversation, it is the default.
"""
REASONING_STYLES = frozenset({"thinking", "visualization-of-thought"})
"""The styles that ask for reasoning, so that replies are long."""
_TEMPLATES = files("experiment.models.prompts") / "templates"
_SPLIT = re.compile(r"^===[ \t]*(?:\n|\Z)", re.MULTILINE)


class Prompt(NamedTuple):
    """The messages of one request."""

    system: str | None
    user: str
    """Text of the user message."""
    parts: tuple[Any, ...] = ()
    """Texts and files (`MediaFile`) of the user message, in order. Empty if the message has only the text `user`."""


@dataclass(frozen=True)
class Style:
    """A template of a prompt."""

    name: str
    """Name of the file without its suffix."""
    text: str
    """Text of the file, with `\\n` as line ends."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the variables that the template uses."""
        return frozenset(meta.find_undeclared_variables(_environment().parse(self.text)))

    def render(self, variables: Mapping[str, Any], item_id: str) -> Prompt:
        """Return the messages for one item.

        Parameters
        ----------
        variables
            The value of each variable that a template can use, by name.
        item_id
            Id of the item, for errors.

        Raises
        ------
        InputError
            If the template uses an unknown name, cannot be rendered, or has an empty message for this item.
        """
        try:
            rendered = [part.render(variables).strip() for part in self._parts]
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"template `{self.name}`, item `{item_id}`: the template cannot be rendered ({error}). Fix: use only "
                f"these names in the template: {', '.join(sorted(variables))}."
            ) from None
        if not rendered[-1]:
            raise InputError(
                f"template `{self.name}`, item `{item_id}`: the user message is empty. Fix: write the user message "
                "below the line `===`."
            )
        return Prompt(rendered[0] or None if len(rendered) == 2 else None, rendered[-1])

    @cached_property
    def _parts(self) -> list[Template]:
        return [_environment().from_string(part) for part in _SPLIT.split(self.text)]


def styles_of(task: str) -> tuple[str, ...]:
    """Return the names of the styles for a task."""
    names = [file.name for place in (_TEMPLATES, _TEMPLATES / task) if place.is_dir() for file in place.iterdir()]
    return tuple(sorted(name.removesuffix(".txt") for name in names if name.endswith(".txt")))


def style_for(task: str, chosen: str | None, study_folder: Path) -> Style:
    """Return the style for the items of a task.

    Parameters
    ----------
    task
        The task, such as `multiple_choice`.
    chosen
        Name of a style, or a template file. The file can be in the current folder or in the study's folder. If None,
        the style is the default style of the task.
    study_folder
        The study's folder.

    Raises
    ------
    InputError
        If the task has no style, the style is unknown, or the file cannot be used as a template.
    """
    known = styles_of(task)
    if task in PROGRAMS:
        raise InputError(
            f"items with the task `{task}` cannot be sent to a model, because only {PROGRAMS[task]} can show them. "
            "Fix: use a study without such items."
        )
    name = chosen or DEFAULT_STYLES[task]
    if name in known:
        return _shipped(task, name)
    path = next((each for each in (Path(name), study_folder / name) if _is_file(each)), None)
    if path is None:
        raise InputError(
            f"`{name[:60]}` is neither a style of prompts for the task `{task}` nor the name of a template file. Fix: "
            f"use one of {', '.join(known)}, or the name of a template file."
        )
    return read_style(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # A name that is too long, such as a whole prompt.
        return False


def read_style(path: Path) -> Style:
    """Read a template file.

    Raises
    ------
    InputError
        If the file cannot be read, is not a template, or has several lines `===`.
    """
    style = Style(path.stem, read_text(path))
    try:
        style.variables  # noqa: B018 - parses the text
    except TemplateSyntaxError as error:
        raise InputError(
            f"{path}, line {error.lineno}: the prompt template has a mistake in this line ({error.message}). Fix: "
            "correct this line."
        ) from None
    if len(_SPLIT.findall(style.text)) > 1:
        raise InputError(
            f"{path}: the template has several lines `===`. Fix: keep only the line between the system prompt and the "
            "user message."
        )
    return style


@cache
def _shipped(task: str, name: str) -> Style:
    own = _TEMPLATES / task / f"{name}.txt"
    file = own if own.is_file() else _TEMPLATES / f"{name}.txt"
    return Style(name, file.read_text(encoding="utf-8").replace("\r\n", "\n"))


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
    )
