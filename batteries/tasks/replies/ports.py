"""Finding the ports that a reply names."""

from collections.abc import Sequence
from dataclasses import dataclass

from batteries.tasks.replies.board_words import AMBIGUOUS_SIDES, SIDES
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.tokens import Token

_SIDE_OF = {word: side for side, words in SIDES.items() for word in words.split(", ")}
SIDE_LETTERS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_BETWEEN = frozenset({Kind.PORT, Kind.FILLER, Kind.ROW, Kind.COLUMN, Kind.OPTION, Kind.NUMBER_WORD})
_BETWEEN_LINES = _BETWEEN | {Kind.EXIT, Kind.ANSWER}
_SIGNS = frozenset("-,:(#/_=")
_POSITIONS = frozenset({"position", "pos", "row", "column", "col", "index"})
_NUMBERED = _POSITIONS | {"number", "no.", "port"}
_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_MOST_BETWEEN = 6


@dataclass(frozen=True)
class Port:
    """A port that a reply names. Its name begins at the token `first`, and ends before the token `end`."""

    first: int
    end: int
    side: str
    position: int


def port_at(tokens: Sequence[Token], position: int) -> Port | None:
    """Return the port whose name begins at a position, such as "WEST-5", "W5" or "row 5 on the left"."""
    side = _side_at(tokens, position)
    if side is not None:
        return _side_first(tokens, position, side)
    if tokens[position].kind in {Kind.ROW, Kind.COLUMN, Kind.NUMBER} or tokens[position].key in _POSITIONS:
        return _number_first(tokens, position)
    return None


def _side_at(tokens: Sequence[Token], position: int) -> str | None:
    token = tokens[position]
    if token.text in SIDE_LETTERS and _is_beside_number(tokens, position):
        return SIDE_LETTERS[token.text]
    if token.kind is not Kind.SIDE or (token.key in AMBIGUOUS_SIDES and not _is_side(tokens, position)):
        return None
    return _SIDE_OF[token.key]


def _is_beside_number(tokens: Sequence[Token], position: int) -> bool:
    after = [token for token in tokens[position + 1 : position + 3] if token.text not in {"-", "_", ",", "("}]
    return bool(after) and after[0].kind is Kind.NUMBER


def _is_side(tokens: Sequence[Token], position: int) -> bool:
    """Return True if a word that has another meaning too, such as the French "est", names a side in this place."""
    after = tokens[position + 1] if position + 1 < len(tokens) else None
    before = tokens[position - 1] if position else None
    beside = (token for token in (before, after) if token is not None)
    return _is_beside_number(tokens, position) or any(
        token.kind in {Kind.PORT, Kind.ROW, Kind.COLUMN} for token in beside
    )


def _side_first(tokens: Sequence[Token], position: int, side: str) -> Port | None:
    direction: Kind | None = None
    crosses = is_position = False
    for index in range(position + 1, min(position + 1 + _MOST_BETWEEN, len(tokens))):
        token = tokens[index]
        crosses = crosses or token.kind is Kind.LINE
        is_position = is_position or token.key in _POSITIONS
        number = _number_at(tokens, index)
        if token.kind is Kind.NUMBER or number is not None:
            if number is None or not _fits(side, direction) or (crosses and not is_position):
                return None
            last = index + 1 + (index + 1 < len(tokens) and tokens[index + 1].kind in {Kind.ROW, Kind.COLUMN})
            return Port(position, last, side, number)
        if token.kind in {Kind.ROW, Kind.COLUMN}:
            direction = token.kind
        if not (
            token.kind in (_BETWEEN_LINES if crosses else _BETWEEN) or token.text in _SIGNS or token.kind is Kind.LINE
        ):
            return None
    return None


def _number_at(tokens: Sequence[Token], position: int) -> int | None:
    """Return the number of a token, in digits or as an English word after "number", "row", a side and similar words."""
    token = tokens[position]
    if token.kind is Kind.NUMBER:
        return int(token.text[:9]) if token.text.isdigit() else None
    before = tokens[position - 1]
    counts = position + 1 < len(tokens) and tokens[position + 1].kind is Kind.WORD  # As in "east one cell".
    if (
        counts
        or token.key not in _NUMBER_WORDS
        or not (before.kind in {Kind.SIDE, Kind.ROW, Kind.COLUMN} or before.text == "-" or before.key in _NUMBERED)
    ):
        return None
    return _NUMBER_WORDS.index(token.key) + 1


def _number_first(tokens: Sequence[Token], position: int) -> Port | None:
    """Return the port of "row 5 on the left", or of the cell and direction "(5,1), heading WEST"."""
    direction = tokens[position].kind if tokens[position].kind in {Kind.ROW, Kind.COLUMN} else None
    is_named = direction is not None or tokens[position].key in _POSITIONS
    numbers: list[int] = []
    for index in range(position, min(position + 2 * _MOST_BETWEEN, len(tokens))):
        token = tokens[index]
        side = _SIDE_OF[token.key] if token.kind is Kind.SIDE else None
        if side is not None and (is_named or len(numbers) == 2) and numbers:
            if not _fits(side, direction):
                return None
            number = numbers[0] if is_named or side in {"east", "west"} else numbers[1]
            return Port(position, index + 1, side, number)
        if token.kind is Kind.NUMBER and token.text.isdigit() and len(numbers) < 2:
            numbers.append(int(token.text[:9]))
        elif not (token.kind in _BETWEEN | {Kind.EXIT} or token.text in _SIGNS | {")", "),"}):
            return None
    return None


def _fits(side: str, direction: Kind | None) -> bool:
    """Return True if "row" or "column" in a reply fits the side, or if the reply has neither word.

    Ports in the east and west are numbered by rows, and ports in the north and south by columns.
    """
    if direction is None:
        return True
    return (direction is Kind.ROW) == (side in {"east", "west"})
