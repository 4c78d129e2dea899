"""The content of an item as text for a prompt. The functions do not receive the answer key."""

from collections.abc import Mapping
from typing import Any

from batteries.blackbox import Port
from batteries.blackbox.rules import Side
from experiment.models.prompts.media import mark
from experiment.texts import ENGLISH, Texts

_ARROWS = {Side.NORTH: "v", Side.SOUTH: "^", Side.WEST: ">", Side.EAST: "<"}
_OUTCOMES = ("absorbed", "reflected")


def content_variables(task: str, content: Mapping[str, Any], words: Texts = ENGLISH) -> dict[str, Any]:
    """Return the content of an item as variables for the template of a prompt.

    Parameters
    ----------
    task
        `multiple_choice` or `blackbox_predict`.
    content
        The item's content.
    words
        The texts for one study: labels and messages in its language.

    Returns
    -------
    dict
        `text` (with the stimulus), `prompt`, `options` and `several`; for Black Box, `size`, `atoms`, `entry` and
        `board` (the board drawn as text).
    """
    if task == "multiple_choice":
        return {
            "text": _story(content, words),
            "prompt": content["prompt"],
            "options": [_words_or_mark(option, words) for option in content["options"]],
            "several": content.get("several", {}),
        }
    return {
        "size": content["size"],
        "atoms": sorted([row, column] for row, column in content["atoms"]),
        "entry": content["entry"],
        "board": board_text(content, ENGLISH),
    }


def shown_item(task: str, content: Mapping[str, Any], words: Texts) -> str:
    """Return an item as text, with the same content that people see.

    Parameters
    ----------
    task
        `multiple_choice` or `blackbox_predict`.
    content
        The item's content.
    words
        The texts for one study: labels and messages in its language.
    """
    if task == "multiple_choice":
        options = [_words_or_mark(option, words) for option in content["options"]]
        numbered = "\n".join(f"{number}. {option}" for number, option in enumerate(options, start=1))
        several = content.get("several")
        help_text = words.say("several_reply_help", **several) if several else words.say("multiple_choice_help")
        parts = [_story(content, words).strip(), content["prompt"], numbered, help_text]
        return "\n\n".join(part for part in parts if part)
    port = Port.parse(content["entry"])
    buttons = "\n".join(f"{words.say(name)} ({words.say(f'{name}_hint')})" for name in _OUTCOMES)
    return "\n\n".join([
        words.say("blackbox_question"),
        words.say(f"ray_enters_{port.side}", port=_port_name(port, words), position=port.position)
        + "\n"
        + words.say("atoms_at", cells=cells_in_words(sorted(map(tuple, content["atoms"])), words)),
        board_text(content, words),
        buttons,
    ])  # fmt: skip


def _story(content: Mapping[str, Any], words: Texts) -> str:
    """Return the stimulus and the text of an item. Pictures, sounds and videos are marks."""
    parts = [_words_or_mark(part, words) for part in content.get("stimulus", ())]
    return "\n\n".join([*parts, content["text"]] if content["text"] else parts)


def _words_or_mark(entry: Any, words: Texts) -> str:
    if isinstance(entry, str):
        return entry
    return str(entry["text"]) if "text" in entry else mark(entry, words)


def response_in_words(task: str, response: Any, content: Mapping[str, Any], words: Texts) -> str:
    """Return a response as people choose it: the number of an option, or the outcome of a ray in words."""
    if task == "multiple_choice":
        return ", ".join(map(str, response)) if isinstance(response, list) else str(response)
    if response in _OUTCOMES:
        return words.say(response)
    name = _port_name(Port.parse(response), words)
    return words.say("leaves_at_entry", port=name) if response == content["entry"] else name


def cells_in_words(cells: list[tuple[int, int]], words: Texts) -> str:
    """Return a list of cells in words."""
    return words.say("between_cells").join(words.say("cell", row=row, column=column) for row, column in cells)


def board_text(content: Mapping[str, Any], words: Texts) -> str:
    """Return a board drawn as text: `O` is an atom, and an arrow at the edge shows where the ray enters."""
    size, entry = content["size"], Port.parse(content["entry"])
    atoms = {(row, column) for row, column in content["atoms"]}
    arrow = {
        Side.NORTH: (0, entry.position),
        Side.SOUTH: (size + 1, entry.position),
        Side.WEST: (entry.position, 0),
        Side.EAST: (entry.position, size + 1),
    }[entry.side]
    inside = range(1, size + 1)

    def sign(row: int, column: int) -> str:
        if (row, column) == arrow:
            return _ARROWS[entry.side]
        if row not in inside or column not in inside:
            return " "
        return "O" if (row, column) in atoms else "."

    north, south, west, east = (words.say(f"side_{side}") for side in (Side.NORTH, Side.SOUTH, Side.WEST, Side.EAST))
    middle, margin = (size + 1) // 2, " " * len(west)
    numbers = f"{margin}     {' '.join(map(str, inside))}"
    lines = [f"{margin}   {north:^{2 * size + 3}}", numbers]
    for row in range(size + 2):
        number = str(row) if row in inside else " "
        cells = " ".join(sign(row, column) for column in range(size + 2))
        left, right = (west, east) if row == middle else (margin, "")
        lines.append(f"{left} {number} {cells} {number} {right}")
    lines += [numbers, f"{margin}   {south:^{2 * size + 3}}"]
    return "\n".join(line.rstrip() for line in lines)


def _port_name(port: Port, words: Texts) -> str:
    return f"{words.say(f'side_{port.side}')} {port.position}"
