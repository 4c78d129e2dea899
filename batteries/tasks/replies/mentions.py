"""Places of a reply that name an outcome, whether or not the reply claims this outcome."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from batteries.tasks.replies import reading
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.scopes import Scopes

_MOST_BETWEEN = 14
"""Maximum number of tokens between two mentions that are joined into one statement."""

_CONNECT = frozenset({Kind.OR, Kind.AND})
_IN_LISTS = _CONNECT | {Kind.FILLER, Kind.OPTION, Kind.SIGN, Kind.PORT}
_IN_PAIRS = frozenset({Kind.SIGN, Kind.STOP, Kind.LINE, Kind.FILLER, Kind.OPTION, Kind.ANSWER, Kind.IS})
_LIST_SIGNS = frozenset({",", "/", "&", "-", "+", "|", "\u3001", "\u060c"})


class Form(StrEnum):
    """The way in which a reply names an outcome."""

    POSITION = "position"
    """The reply gives the position of an option, such as "option 2" or "B"."""
    TEXT = "text"
    """The reply gives the text of an option."""
    OUTCOME = "outcome"
    """Black Box: the reply names a port, or says absorbed or reflected."""


class Level(IntEnum):
    """Strength of a claim. Only the claims of the highest level count."""

    NONE = 0
    """The reply names the outcome only in passing, as in "step 2"."""
    WEAK = 1
    """A sentence contains the text of an option."""
    SOFT = 2
    """A sentence names an option, as in "which speaks for option 2"."""
    STRONG = 3
    """The words around the mention present it as the answer."""


@dataclass(frozen=True)
class Mention:
    """A mention of an outcome in a reply. It begins at the token `first`, and ends before the token `end`."""

    first: int
    end: int
    form: Form
    responses: frozenset[str | int]
    """Responses that the mention can mean. An ambiguous mention has several."""
    in_passing: Level = Level.NONE
    """Level of the mention if no words around it present it as the answer."""
    problem: str | None = None
    """The reason why the mention has no response, such as `out_of_range`."""
    position: int | None = None
    """Number of the option if the mention gives the option's position, such as "option 2"."""
    texts: frozenset[str | int] = frozenset()
    """The options whose text the mention gives."""


def grouped(scopes: Scopes, mentions: Sequence[Mention]) -> list[Mention]:
    """Join mentions that are one statement: "2. In the box", "two (2)", "1 or 2"."""
    return _joined(scopes, _joined(scopes, mentions, _pair), _list)


def _joined(
    scopes: Scopes, mentions: Sequence[Mention], join: Callable[[Scopes, Mention, Mention], Mention | None]
) -> list[Mention]:
    groups: list[Mention] = []
    for mention in mentions:
        is_near = bool(groups) and mention.first - groups[-1].end <= _MOST_BETWEEN
        joined = join(scopes, groups[-1], mention) if is_near else None
        if joined is None:
            groups.append(mention)
        else:
            groups[-1] = joined
    return groups


def _list(scopes: Scopes, one: Mention, other: Mention) -> Mention | None:
    """Join two mentions into the mention of a list such as "2 or 3" or "2, 3". Return None if they are not a list."""
    between = scopes.tokens[one.end : other.first]
    if scopes.is_negated[one.first] != scopes.is_negated[other.first]:
        return None
    kinds = {token.kind for token in between}
    signs = {token.text for token in between if token.kind in {Kind.SIGN, Kind.STOP}}
    is_list = kinds & _CONNECT or (len(signs) == 1 and signs <= _LIST_SIGNS)
    return _several(one, other) if is_list and kinds <= _IN_LISTS else None


def _several(one: Mention, other: Mention) -> Mention:
    responses = one.responses | other.responses
    is_same = one.responses == other.responses and len(responses) == 1
    problem = one.problem or other.problem if is_same else reading.SEVERAL_ANSWERS
    return replace(one, end=other.end, responses=responses, problem=problem, position=None, texts=frozenset())


def _pair(scopes: Scopes, one: Mention, other: Mention) -> Mention | None:
    """Join a position and a text, or the same position in words and digits. Return None for other mentions."""
    between = scopes.tokens[one.end : other.first]
    if (
        any(token.kind not in _IN_PAIRS for token in between)
        or scopes.is_negated[one.first] != scopes.is_negated[other.first]
    ):
        return None
    n_lines = sum(token.kind is Kind.LINE for token in between)
    if n_lines > 1 or (n_lines and not (scopes.begins_line(one.first) and scopes.ends_line(other.end))):
        return None
    for position, text in ((one, other), (other, one)):
        if position.position is not None and text.texts and (not n_lines or scopes.ends_line(one.end)):
            return _position_with_text(position, text, replace(one, end=other.end))
    if n_lines:
        return None
    if one.responses == other.responses and one.problem == other.problem and one.form is other.form:
        return replace(one, end=other.end)
    return None


def _position_with_text(position: Mention, text: Mention, joined: Mention) -> Mention:
    """Return the joined mention of a position and the text of an option, such as "2. In the box".

    The number is read as a position only, even if the text of an option contains this number.
    """
    both = text.texts & {position.position}
    if both:
        return replace(joined, responses=both, problem=None, position=position.position, texts=frozenset())
    everything = position.responses | text.texts
    return replace(joined, responses=everything, problem=reading.DISAGREEMENT, texts=frozenset())
