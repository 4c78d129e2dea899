"""Finding the places where a reply states an answer.

A task gives the mentions of its outcomes in the reply: each place where an outcome occurs, for whatever purpose. A
mention becomes a claim by the words around it. "The answer is 2" is a claim, "a wall of 2 blocks" is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from pydantic import JsonValue

from batteries.tasks.replies import reading
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.scopes import Scopes

_MOST_STEPS = 14
"""Tokens between the words that announce an answer and the answer."""

_ANNOUNCE = frozenset({Kind.ANSWER, Kind.DECIDE, Kind.FINAL, Kind.EXIT})
_BETWEEN = frozenset(
    {Kind.FILLER, Kind.OPTION, Kind.IS, Kind.RIGHT, Kind.FINAL, Kind.SO, Kind.MAY, Kind.NUMBER_WORD, Kind.PORT}
)
_BEFORE = _BETWEEN | {Kind.ANSWER, Kind.DECIDE, Kind.RETRACT, Kind.BUT, Kind.EXIT, Kind.AND, Kind.OR, Kind.BECAUSE}
_AFTER = frozenset(
    {
        Kind.STOP,
        Kind.LINE,
        Kind.BECAUSE,
        Kind.NOT,
        Kind.BUT,
        Kind.SO,
        Kind.RETRACT,
        Kind.IF,
        Kind.EXPLAIN,
        Kind.OR,
        Kind.AND,
    }
)
_CONNECT = frozenset({Kind.OR, Kind.AND})
_IN_LISTS = _CONNECT | {Kind.FILLER, Kind.OPTION, Kind.SIGN, Kind.PORT}
_IN_PAIRS = frozenset({Kind.SIGN, Kind.STOP, Kind.LINE, Kind.FILLER, Kind.OPTION, Kind.ANSWER, Kind.IS})
_OPENING_SIGNS = frozenset(":=-\"'([{#*|<>@") | {
    "->",
    "=>",
    "-->",
    "==>",
    ":=",
    "\u2192",
    "\u21d2",
    "--",
    "**",
    "<-",
    "...",
}
_CLOSING_SIGNS = frozenset(")]}\"'")
_LIST_SIGNS = frozenset({",", "/", "&", "-", "+", "|", "\u3001", "\u060c"})


class Form(StrEnum):
    """The form of a mention."""

    POSITION = "position"
    TEXT = "text"
    OUTCOME = "outcome"
    """Black Box: a port, absorbed or reflected."""


class Level(IntEnum):
    """Strength of a claim. Only the claims of the highest level count."""

    NONE = 0
    """Only in passing: "step 2"."""
    WEAK = 1
    """The text of an option within a sentence."""
    SOFT = 2
    """A named option within a sentence: "which speaks for option 2"."""
    STRONG = 3
    """The words around it present it as the answer."""


@dataclass(frozen=True)
class Mention:
    """A place where an outcome occurs, from the token `first` to before the token `last`."""

    first: int
    last: int
    form: Form
    responses: frozenset[str | int]
    """Responses that may be meant; several ones if the mention is ambiguous."""
    in_passing: Level = Level.NONE
    """Level of the claim if no words around it present it as the answer."""
    problem: str | None = None
    """The reason why the mention has no response, such as `out_of_range`."""
    position: int | None = None
    """The option that is meant if the mention gives its position."""
    texts: frozenset[str | int] = frozenset()
    """The options that are meant if the mention gives their text."""


@dataclass(frozen=True)
class Claim:
    """A stated answer."""

    mention: Mention
    level: Level
    rule: str
    is_final: bool = False
    is_hypothetical: bool = False

    @property
    def response(self) -> JsonValue:
        """Return the one response that is meant, else None."""
        if self.mention.problem is not None or len(self.mention.responses) != 1:
            return None
        return next(iter(self.mention.responses))

    @property
    def reason(self) -> str:
        """Return the reason why there is no response."""
        return self.mention.problem or reading.AMBIGUOUS


def claims_of(scopes: Scopes, mentions: Sequence[Mention], n_outcomes: int) -> list[Claim]:
    """Return the claims among the mentions, which are in their order and do not overlap.

    A list of all outcomes, if there are more than two, only repeats the question.
    """
    groups = [group for group in _grouped(scopes, list(mentions)) if len(group.responses) < max(n_outcomes, 3)]
    starts = {mention.first for mention in mentions}
    return [claim for mention in groups if (claim := _claim(scopes, mention, starts)) is not None]


def _claim(scopes: Scopes, mention: Mention, starts: set[int]) -> Claim | None:
    first, last = mention.first, mention.last
    if scopes.is_negated[first] or _is_rejected(scopes, last):
        return None
    hypothetical = scopes.is_hypothetical[first] or _is_conditional(scopes, last)
    announced = _announcement(scopes, first)
    if announced is not None:
        return Claim(mention, announced.level, "statement", announced.is_final, hypothetical)
    if _is_called_right(scopes, last):
        return Claim(mention, Level.STRONG, "statement", False, hypothetical)
    rule = _alone(scopes, mention, starts)
    if rule is not None:
        level = Level.SOFT if _is_hedged(scopes, first) else Level.STRONG
        return Claim(mention, level, rule, False, hypothetical)
    if mention.problem == reading.SEVERAL_ANSWERS and not scopes.is_question[first]:
        return Claim(mention, Level.SOFT, "in_sentence", False, True)
    if (
        mention.in_passing is Level.NONE
        or scopes.is_question[first]
        or (scopes.is_explanation[first] and mention.in_passing is Level.WEAK)
    ):
        return None
    concludes = mention.in_passing is Level.SOFT and scopes.concludes(first)
    return Claim(mention, Level.STRONG if concludes else mention.in_passing, "in_sentence", False, hypothetical)


@dataclass(frozen=True)
class _Announcement:
    level: Level
    is_final: bool


def _announcement(scopes: Scopes, first: int) -> _Announcement | None:
    """Return the announcement before a mention, as in "My final answer is"; else None."""
    hedged = final = False
    for position in range(first - 1, max(first - _MOST_STEPS, -1), -1):
        token = scopes.tokens[position]
        hedged = hedged or token.kind is Kind.MAY
        final = final or token.kind is Kind.FINAL
        if token.kind in _ANNOUNCE:
            final = final or _calls_final(scopes, position)
            return _Announcement(Level.SOFT if hedged else Level.STRONG, final)
        if not (token.kind in _BETWEEN or token.text in _OPENING_SIGNS):
            return None
    return None


def _calls_final(scopes: Scopes, position: int) -> bool:
    before = scopes.tokens[max(position - 3, 0) : position + 1]
    kinds = [token.kind for token in before]
    cut = max((index for index, kind in enumerate(kinds) if kind in {Kind.STOP, Kind.LINE}), default=-1)
    return Kind.FINAL in kinds[cut + 1 :]


def _is_called_right(scopes: Scopes, last: int) -> bool:
    """Return True for "2 is the correct answer", with the words after the mention."""
    position, is_linked = last, False
    for token in scopes.tokens[last : last + _MOST_STEPS]:
        if token.kind is Kind.RIGHT or (token.kind is Kind.ANSWER and is_linked):
            return not scopes.is_negated[position]
        is_linked = is_linked or token.kind is Kind.IS
        if not (token.kind in {Kind.FILLER, Kind.IS, Kind.NUMBER_WORD, Kind.SO} or token.text in _CLOSING_SIGNS):
            return False
        position += 1
    return False


def _is_rejected(scopes: Scopes, last: int) -> bool:
    """Return True for "2 is wrong" and "2 makes no sense"."""
    for token in scopes.tokens[last : last + 6]:
        if token.kind is Kind.WRONG:
            return True
        if token.kind is Kind.NOT:
            return scopes.tokens[last].kind in {Kind.IS, Kind.MAY, Kind.WORD}
        if token.kind not in {Kind.FILLER, Kind.IS, Kind.MAY, Kind.WORD, Kind.SO} or token.key == ",":
            return False
    return False


def _is_conditional(scopes: Scopes, last: int) -> bool:
    """Return True for "2 if the ball is fast"."""
    for token in scopes.tokens[last : last + 4]:
        if token.kind is Kind.IF:
            return True
        if not (token.kind is Kind.FILLER or token.text in _CLOSING_SIGNS or token.key == ","):
            return False
    return False


def _is_hedged(scopes: Scopes, first: int) -> bool:
    for position in range(first - 1, max(first - _MOST_STEPS, -1), -1):
        kind = scopes.tokens[position].kind
        if kind is Kind.MAY:
            return True
        if kind in {Kind.STOP, Kind.LINE}:
            break
    return scopes.is_question[first]


@dataclass(frozen=True)
class _Lead:
    """The words before a mention, which have no meaning of their own."""

    begins_sentence: bool
    concludes: bool


def _alone(scopes: Scopes, mention: Mention, starts: set[int]) -> str | None:
    """Return a rule if only words without a meaning of their own are beside the mention in its sentence or clause."""
    lead = _lead(scopes, mention.first)
    if lead is None or not _ends_there(scopes, mention, starts):
        return None
    if lead.begins_sentence:
        return _place(scopes, mention)
    if scopes.is_explanation[mention.first] or scopes.is_question[mention.first] or mention.form is Form.TEXT:
        return None
    return "clause" if lead.concludes or scopes.is_first_or_last(mention.first) else None


def _place(scopes: Scopes, mention: Mention) -> str:
    line = scopes.line_of[mention.first]
    if line == 0:
        return "three_lines" if scopes.line_of[mention.last - 1] > 0 else "first_line"
    return "last_line" if line == scopes.line_of[-1] else "whole_sentence"


def _lead(scopes: Scopes, first: int) -> _Lead | None:
    """Return the words between the start of the clause and a mention; None if one of them has a meaning of its own."""
    is_clause = concludes = False
    for position in range(first - 1, max(first - 2 * _MOST_STEPS, -1), -1):
        token = scopes.tokens[position]
        if token.kind in {Kind.STOP, Kind.LINE}:
            return _Lead(True, concludes)
        if token.kind in {Kind.SO, Kind.RETRACT, Kind.BUT}:
            is_clause = concludes = True
        elif token.kind is Kind.SIGN:
            is_clause = is_clause or token.text not in {'"', "'"}
        elif token.kind not in _BEFORE and not scopes.is_negated[position]:
            return _Lead(False, concludes) if is_clause else None
    return _Lead(True, concludes) if first <= 2 * _MOST_STEPS else None


def _ends_there(scopes: Scopes, mention: Mention, starts: set[int]) -> bool:
    """Return True if the clause ends after a mention."""
    position = mention.last
    while position < len(scopes.tokens) and (
        scopes.tokens[position].kind is Kind.FILLER or scopes.tokens[position].text in _CLOSING_SIGNS
    ):
        position += 1
    if position == len(scopes.tokens) or position in starts:
        return True
    token = scopes.tokens[position]
    return token.kind in _AFTER or token.kind is Kind.SIGN


def _grouped(scopes: Scopes, mentions: list[Mention]) -> list[Mention]:
    """Join mentions that are one statement: "2. In the box", "two (2)", "1 or 2"."""
    for join in (_pair, _list):
        groups: list[Mention] = []
        for mention in mentions:
            joined = None
            if groups and mention.first - groups[-1].last <= _MOST_STEPS:
                joined = join(scopes, groups[-1], mention)
            if joined is None:
                groups.append(mention)
            else:
                groups[-1] = joined
        mentions = groups
    return mentions


def _list(scopes: Scopes, one: Mention, other: Mention) -> Mention | None:
    """Return the joined mention of a list such as "2 or 3" and "2, 3"."""
    between = scopes.tokens[one.last : other.first]
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
    return replace(one, last=other.last, responses=responses, problem=problem, position=None, texts=frozenset())


def _pair(scopes: Scopes, one: Mention, other: Mention) -> Mention | None:
    """Return the joined mention of a position and a text, or of the same position in words and digits."""
    between = scopes.tokens[one.last : other.first]
    if (
        any(token.kind not in _IN_PAIRS for token in between)
        or scopes.is_negated[one.first] != scopes.is_negated[other.first]
    ):
        return None
    n_lines = sum(token.kind is Kind.LINE for token in between)
    if n_lines > 1 or (n_lines and not (scopes.begins_line(one.first) and scopes.ends_line(other.last))):
        return None
    for position, text in ((one, other), (other, one)):
        if position.position is not None and text.texts and not (n_lines and scopes.ends_line(one.last) is False):
            return _position_with_text(position, text, replace(one, last=other.last))
    if n_lines:
        return None
    if one.responses == other.responses and one.problem == other.problem and one.form is other.form:
        return replace(one, last=other.last)
    return None


def _position_with_text(position: Mention, text: Mention, joined: Mention) -> Mention:
    """Return a position with the text beside it. With a text, a number is a position, even if it occurs in a text."""
    both = text.texts & {position.position}
    if both:
        return replace(joined, responses=both, problem=None, position=position.position, texts=frozenset())
    everything = position.responses | text.texts
    return replace(joined, responses=everything, problem=reading.DISAGREEMENT, texts=frozenset())
