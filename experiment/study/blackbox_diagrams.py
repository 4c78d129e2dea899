"""Diagrams of a ray in the pages of a study, which teach the rules of the Black Box.

A page contains a diagram as a fenced block with the name `blackbox`:

    ```blackbox
    entry: west-3
    atoms: [[2, 4]]
    caption: The ray turns away from the atom.
    ```

The author writes only the board. The path and the sentences come from the rules (`batteries.blackbox`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict, Field, model_validator

from batteries.blackbox import Cell, Effect, Encounter, Port, Ray, trace
from batteries.errors import InputError
from batteries.files.file_reading import parse_yaml
from batteries.tasks.blackbox_predict import encounter_sentence
from experiment.texts import Texts

_parser = MarkdownIt("commonmark", {"html": False})


class Diagram(BaseModel):
    """The board and the caption of a diagram."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int = Field(default=5, ge=3, le=8, description="Rows and columns of the board.")
    atoms: tuple[tuple[int, int], ...] = Field(default=(), description="Cells with an atom: [row, column] from 1.")
    entry: str = Field(description="The port by which the ray enters, such as `west-3`.")
    caption: str = Field(min_length=1, description="The rule that the diagram shows, in words.")

    @model_validator(mode="after")
    def _fits_the_board(self) -> "Diagram":
        Port.parse(self.entry, self.size)
        for row, column in self.atoms:
            if not (1 <= row <= self.size and 1 <= column <= self.size):
                raise ValueError(
                    f"the atom [{row}, {column}] is off the board. Fix: use rows and columns from 1 to {self.size}."
                )
        return self

    @property
    def ray(self) -> Ray:
        """The ray, by the rules of the Black Box."""
        return trace(frozenset(self.atoms), Port.parse(self.entry, self.size), self.size)


@dataclass(frozen=True)
class Step:
    """One step of the ray."""

    sentence: str
    cells: tuple[Cell, ...] = ()
    """Cells into which the ray goes in this step."""
    encounter: Encounter | None = None
    """The atoms that change the course of the ray in this step."""
    exit: Port | None = None
    """The port by which the ray leaves in this step."""


def steps_of(diagram: Diagram, words: Texts) -> list[Step]:
    """Return the steps of a ray from its entry port to its end, with a sentence for each step."""
    ray, entry = diagram.ray, Port.parse(diagram.entry, diagram.size)
    steps = [Step(words.say("ray_arrives", port=_name_of(entry, words)))]
    n_passed = 0
    for encounter in ray.encounters:
        steps += _straight_on(ray.path[n_passed : encounter.n_cells], words)
        n_passed = encounter.n_cells
        text, values = encounter_sentence(encounter)
        hit = encounter.atoms if encounter.effect is Effect.ABSORBED else ()
        steps.append(Step(words.say(text, **values), hit, encounter))
    if ray.outcome == "absorbed":
        return steps
    steps += _straight_on(ray.path[n_passed:], words)
    if ray.outcome == "reflected":
        return [*steps, Step(words.say("ray_is_reflected"), exit=entry)]
    leaving = Port.parse(ray.outcome, diagram.size)
    return [*steps, Step(words.say("ray_leaves", port=_name_of(leaving, words)), exit=leaving)]


def _straight_on(cells: tuple[Cell, ...], words: Texts) -> list[Step]:
    if not cells:
        return []
    row, column = cells[-1]
    return [Step(words.say("ray_goes_on", row=row, column=column), cells)]


def _name_of(port: Port, words: Texts) -> str:
    return f"{words.say(f'side_{port.side}')} {port.position}"


def is_diagram(token: Token) -> bool:
    """Return True if a Markdown token is the fenced block of a diagram."""
    return token.type == "fence" and token.info.strip() == "blackbox"


def diagram_of(token: Token, path: Path) -> Diagram:
    """Read a diagram from its fenced block in a Markdown file.

    Raises
    ------
    InputError
        If the block has an error. The message names the file, the line, the error and the fix.
    """
    first_line = token.map[0] + 1 if token.map else 0  # The line after the fence, from 0.
    if ":" not in token.content:
        raise InputError(
            f"{path}, line {first_line}: this diagram has no board. Fix: add the lines `entry`, `atoms` and `caption`."
        )
    # Empty lines before the block give the errors the line numbers of the page.
    return parse_yaml("\n" * first_line + token.content, path, Diagram)


def check_diagrams(markdown: str, path: Path) -> None:
    """Raise an InputError if a diagram of a page has an error."""
    for token in _parser.parse(markdown):
        if is_diagram(token):
            diagram_of(token, path)


def with_diagrams_in_words(markdown: str, words: Texts) -> str:
    """Return a page in which each diagram is replaced by its caption and its steps in words, for language models."""
    lines = markdown.split("\n")
    for token in reversed(_parser.parse(markdown)):
        if is_diagram(token) and token.map:
            first, end = token.map
            lines[first:end] = _in_words(diagram_of(token, Path("page")), words)
    return "\n".join(lines)


def atoms_in_words(diagram: Diagram, words: Texts) -> str:
    """Return the positions of a diagram's atoms in words."""
    if not diagram.atoms:
        return words.say("no_atoms")
    cells = (words.say("cell", row=row, column=column) for row, column in sorted(diagram.atoms))
    return words.say("atoms_at", cells=words.say("between_cells").join(cells))


def _in_words(diagram: Diagram, words: Texts) -> Iterator[str]:
    yield f"{diagram.caption} {atoms_in_words(diagram, words)}"
    yield ""
    for number, step in enumerate(steps_of(diagram, words), start=1):
        yield f"{number}. {step.sentence}"
