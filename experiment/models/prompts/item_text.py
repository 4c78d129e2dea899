"""The content of an item as text for a prompt. The functions do not receive the answer key."""

from collections.abc import Mapping
from typing import Any

from batteries.blackbox import Port
from batteries.blackbox.rules import Side
from batteries.tasks import task_named
from batteries.tasks.rating import MOST_BUTTONS, points_of
from experiment.models.prompts.media import mark
from experiment.texts import ENGLISH, Texts

_ARROWS = {Side.NORTH: "v", Side.SOUTH: "^", Side.WEST: ">", Side.EAST: "<"}
_OUTCOMES = ("absorbed", "reflected")
OPTIONS = frozenset({"multiple_choice", "ranking"})
"""The tasks with numbered options."""


def content_variables(task: str, content: Mapping[str, Any], words: Texts = ENGLISH) -> dict[str, Any]:
    """Return the content of an item as variables for the template of a prompt.

    Parameters
    ----------
    task
        The item's task; neither `jspsych` nor `psychopy`.
    content
        The item's content.
    words
        The texts for one study: labels and messages in its language.

    Returns
    -------
    dict
        The fields of the content; `text` begins with the stimulus. For multiple choice, also `several`. For a rating,
        also `points`, the list of the points with their words. For `keypress`, also `responses`, the names of the
        possible responses. For Black Box, `size`, `atoms`, `entry` and `board` (the
        board drawn as text).
    """
    if task == "blackbox_predict":
        return {
            "size": content["size"],
            "atoms": sorted([row, column] for row, column in content["atoms"]),
            "entry": content["entry"],
            "board": board_text(content, ENGLISH),
        }
    shown = {**content, "text": _story(content, words)}
    for name in ("screens", "stimulus", "stimulus_beside", "mask"):
        shown.pop(name, None)
    if task in OPTIONS:
        shown["options"] = _options(content, words)
    if task == "multiple_choice":
        shown["several"] = content.get("several", {})
    if task == "rating":
        shown["points"] = _scale_in_words(content)
    if task == "keypress":
        shown["responses"] = _responses(content)
    return shown


def shown_item(task: str, content: Mapping[str, Any], words: Texts) -> str:
    """Return an item as text, with the same content that people see.

    Parameters
    ----------
    task
        The item's task; neither `jspsych` nor `psychopy`.
    content
        The item's content.
    words
        The texts for one study: labels and messages in its language.
    """
    if task == "blackbox_predict":
        return _shown_board(content, words)
    answer = []
    if task in OPTIONS:
        answer = [f"{number}. {option}" for number, option in enumerate(_options(content, words), start=1)]
    elif task == "rating":
        answer = _scale_in_words(content)
    parts = [_story(content, words).strip(), content["prompt"], "\n".join(answer), answer_help(task, content, words)]
    return "\n\n".join(part for part in parts if part)


def answer_help(task: str, content: Mapping[str, Any], words: Texts) -> str:
    """Return the text that tells people how to answer an item. The page shows it again after an impossible answer."""
    match task:
        case "number":
            name = "number_help_decimals" if content["decimals"] else "number_help"
            return words.say(name, low=content["low"], high=content["high"], decimals=content["decimals"])
        case "ranking":
            return words.say("ranking_help")
        case "free_text":
            return words.say("free_text_help", number=content["most_characters"])
        case "keypress":
            name = "withhold_reply_help" if content["withhold"] else "keypress_reply_help"
            return words.say(name, responses=", ".join(_responses(content)))
        case "recall":
            return words.say("recall_reply_help")
        case "rating" if content["shown_as"] == "slider":
            return words.say("rating_slider_help")
        case "blackbox_predict":
            return words.say("blackbox_no_answer")
        case "multiple_choice" if content.get("several"):
            return words.say("several_reply_help", **content["several"])
    return words.say("multiple_choice_help")


def _scale_in_words(content: Mapping[str, Any]) -> list[str]:
    """Return the points of a scale with their words. A slider with many points is described by its two ends."""
    points, labels = points_of(content["low"], content["high"], content["step"]), content["labels"]
    if len(labels) == len(points):
        return [f"{point} = {label}" for point, label in zip(points, labels, strict=True)]
    ends = [f"{point} = {label}" for point, label in zip((points[0], points[-1]), labels, strict=False)]
    ends = ends or [str(points[0]), str(points[-1])]
    between = [str(point) for point in points[1:-1]] if len(points) <= MOST_BUTTONS else ["..."]
    return [ends[0], *between, ends[1]]


def _shown_board(content: Mapping[str, Any], words: Texts) -> str:
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
    """Return the screens, the stimulus and the text of an item. Pictures, sounds and videos are marks.

    The mask of a `keypress` item is left out. A mask stops people from seeing the stimulus longer than `stimulus_ms`,
    and a model can read its prompt without a limit.
    """
    before = [part for screen in content.get("screens", ()) for part in screen["parts"]]
    parts = [_words_or_mark(part, words) for part in [*before, *content.get("stimulus", ())]]
    return "\n\n".join([*parts, content["text"]] if content["text"] else parts)


def _options(content: Mapping[str, Any], words: Texts) -> list[str]:
    return [_words_or_mark(option, words) for option in content["options"]]


def _responses(content: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in task_named("keypress").responses(dict(content))]


def _words_or_mark(entry: Any, words: Texts) -> str:
    if isinstance(entry, str):
        return entry
    return str(entry["text"]) if "text" in entry else mark(entry, words)


def response_in_words(task: str, response: Any, content: Mapping[str, Any], words: Texts) -> str:
    """Return a response as people give it: a number, a text, or the outcome of a ray in words."""
    if task != "blackbox_predict":
        is_list = task == "recall" or bool(content.get("several"))
        return ", ".join(map(str, response)) if isinstance(response, list) and is_list else str(response)
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
