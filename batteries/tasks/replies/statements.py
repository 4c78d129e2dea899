"""Finding the places where a reply states an answer.

A mention is a place of the reply where an outcome occurs, for any purpose. The words around a mention can make it a
claim, that is, a stated answer. In "The answer is 2", the 2 is a claim. In "a wall of 2 blocks", it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from batteries.tasks.replies import reading
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.mentions import Form, Level, Mention, grouped
from batteries.tasks.replies.scopes import Scopes

_MOST_STEPS = 14
"""Words can announce an answer, or call it right, only if they are near. This number limits the distance in tokens."""

_ANNOUNCE = frozenset({Kind.ANSWER, Kind.DECIDE, Kind.FINAL, Kind.EXIT})
_NOUNS = frozenset({"answer", "choice"})
"""Nouns of phrases such as "my answer".

After an option, these phrases call it right; before an option, they announce it.
"""
_BETWEEN = frozenset(
    {Kind.FILLER, Kind.OPTION, Kind.IS, Kind.RIGHT, Kind.FINAL, Kind.SO, Kind.MAY, Kind.NUMBER_WORD, Kind.PORT}
)
_BEFORE = _BETWEEN | {Kind.ANSWER, Kind.DECIDE, Kind.RETRACT, Kind.BUT, Kind.EXIT, Kind.AND, Kind.OR, Kind.BECAUSE}
_AFTER = frozenset(
    {Kind.STOP, Kind.LINE, Kind.BECAUSE, Kind.NOT, Kind.BUT, Kind.SO, Kind.RETRACT, Kind.IF, Kind.EXPLAIN, Kind.OR}
) | {Kind.AND}
_ARROWS = frozenset(["->", "=>", "-->", "==>", ":=", "→", "⇒", "--", "**", "<-", "..."])
_OPENING_SIGNS = frozenset(":=-\"'([{#*|<>@") | _ARROWS
_CLOSING_SIGNS = frozenset(")]}\"'")


@dataclass(frozen=True)
class Claim:
    """A stated answer."""

    mention: Mention
    level: Level
    rule: str
    is_final: bool = False
    is_hypothetical: bool = False
    is_announced: bool = False
    """True if words before the mention announce the answer, or if the answer is data such as JSON."""

    @property
    def response(self) -> JsonValue:
        """Return the response if the claim can mean only one, else None."""
        if self.mention.problem is not None or len(self.mention.responses) != 1:
            return None
        return next(iter(self.mention.responses))

    @property
    def reason(self) -> str:
        """Return the reason why the claim does not give one response."""
        return self.mention.problem or reading.AMBIGUOUS


def claims_of(scopes: Scopes, mentions: Sequence[Mention], n_outcomes: int) -> list[Claim]:
    """Return the claims among the mentions. The mentions must be in their order and must not overlap.

    If an item has more than two outcomes, a list of all its outcomes only repeats the question and is not a claim.
    """
    groups = [group for group in grouped(scopes, mentions) if not _is_everything(scopes, group, n_outcomes)]
    return [claim for mention in groups if (claim := _claim(scopes, mention)) is not None]


def _is_everything(scopes: Scopes, group: Mention, n_outcomes: int) -> bool:
    """Return True for a list of all outcomes, and for a range such as "1-4"."""
    between = [token.text for token in scopes.tokens[group.first + 1 : group.end - 1]]
    is_range = between == ["-"] and group.responses == {1, n_outcomes}
    if group.problem == reading.DISAGREEMENT:
        return False
    return len(group.responses) >= max(n_outcomes, 3) or (is_range and n_outcomes > 2)


def _claim(scopes: Scopes, mention: Mention) -> Claim | None:
    first, last = mention.first, mention.end
    if scopes.is_negated[first] or _is_rejected(scopes, last) or _is_labelled_wrong(scopes, first):
        return None
    hypothetical = scopes.is_hypothetical[first] or _is_conditional(scopes, last)
    announced = _announcement(scopes, first)
    if announced is not None:
        return Claim(mention, announced.level, "statement", announced.is_final, hypothetical, True)
    if _is_called_right(scopes, last):
        return Claim(mention, Level.STRONG, "statement", False, hypothetical)
    rule = _alone(scopes, mention)
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
        if token.kind in _ANNOUNCE or (token.kind is Kind.RIGHT and token.key in _NOUNS):
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
    """Return True if the words after a mention call it right, as in "2 is the correct answer"."""
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
    """Return True if the words after a mention reject it, as in "2 is wrong" and "2 makes no sense"."""
    if _has_verdict(scopes, last):
        return True
    for token in scopes.tokens[last : last + 6]:
        if token.kind is Kind.WRONG:
            return True
        if token.kind is Kind.NOT:
            return scopes.tokens[last].kind in {Kind.IS, Kind.MAY, Kind.WORD}
        if token.kind not in {Kind.FILLER, Kind.IS, Kind.MAY, Kind.WORD, Kind.SO} or token.key == ",":
            return False
    return False


def _is_labelled_wrong(scopes: Scopes, first: int) -> bool:
    """Return True if the words before a mention call it wrong, as in "The wrong answer is 2" and "Incorrect: 2"."""
    for position in range(first - 1, max(first - _MOST_STEPS, -1), -1):
        token = scopes.tokens[position]
        if token.kind is Kind.WRONG:
            return True
        if not (token.kind in _BETWEEN | {Kind.ANSWER} or token.text in {":", "="}):
            return False
    return False


def _has_verdict(scopes: Scopes, last: int) -> bool:
    """Return True if a sign and a rejection follow a mention, as in "2: no." and "2 - wrong"."""
    after = scopes.tokens[last : last + 3]
    is_verdict = len(after) > 1 and after[0].text in {"-", ":"} and after[1].kind in {Kind.NOT, Kind.WRONG}
    return is_verdict and (len(after) == 2 or after[2].kind in {Kind.STOP, Kind.LINE})


def _is_conditional(scopes: Scopes, last: int) -> bool:
    """Return True if a condition follows a mention, as in "2 if the ball is fast"."""
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
    """Words before a mention in its clause. They have no meaning of their own, such as "so the answer is"."""

    begins_sentence: bool
    concludes: bool
    follows_so: bool
    """True if a word such as "so" begins the clause."""
    is_labelled: bool
    """True if a colon or an equals sign is before the mention."""


def _alone(scopes: Scopes, mention: Mention) -> str | None:
    """Return the name of a rule if a sentence or clause is only an answer, such as "Probably 2."; else None.

    The sentence or clause may contain only the mention and words without a meaning of their own.
    """
    lead = _lead(scopes, mention.first)
    if lead is None or not _ends_there(scopes, mention):
        return None
    if lead.begins_sentence:
        return _place(scopes, mention)
    if lead.is_labelled and mention.form is Form.POSITION and not lead.concludes:
        return None  # As in "Rating: 4".
    if scopes.is_explanation[mention.first] or scopes.is_question[mention.first]:
        return None
    if mention.form is Form.TEXT and not (lead.follows_so and _ends_last_sentence(scopes, mention)):
        return None
    return "clause" if lead.concludes or scopes.is_first_or_last(mention.first) else None


def _ends_last_sentence(scopes: Scopes, mention: Mention) -> bool:
    """Return True if no word with a meaning of its own follows in the reply."""
    after = scopes.tokens[mention.end :]
    return all(token.kind in {Kind.FILLER, Kind.SIGN, Kind.STOP, Kind.LINE} for token in after)


def _place(scopes: Scopes, mention: Mention) -> str:
    line = scopes.line_of[mention.first]
    if line == 0:
        return "three_lines" if scopes.line_of[mention.end - 1] > 0 else "first_line"
    return "last_line" if line == scopes.line_of[-1] else "whole_sentence"


def _lead(scopes: Scopes, first: int) -> _Lead | None:
    """Return the words between the start of the clause and a mention; None if one of them has a meaning of its own."""
    is_clause = concludes = follows_so = is_labelled = False
    for position in range(first - 1, max(first - 2 * _MOST_STEPS, -1), -1):
        token = scopes.tokens[position]
        if token.kind in {Kind.STOP, Kind.LINE}:
            return _Lead(True, concludes, follows_so, is_labelled)
        if token.kind in {Kind.SO, Kind.RETRACT, Kind.BUT}:
            follows_so = follows_so or (token.kind is Kind.SO and not is_clause)
            is_clause = concludes = True
        elif token.kind is Kind.IF:
            is_clause = True
        elif _is_call(scopes, position):
            return None
        elif token.kind is Kind.SIGN:
            is_labelled = is_labelled or (not is_clause and token.text in {":", "="})
            is_clause = is_clause or token.text not in {'"', "'"}
        elif token.kind not in _BEFORE and not scopes.is_negated[position]:
            return _Lead(False, concludes, follows_so, is_labelled) if is_clause else None
    return _Lead(True, concludes, follows_so, is_labelled) if first <= 2 * _MOST_STEPS else None


def _is_call(scopes: Scopes, position: int) -> bool:
    """Return True if a bracket encloses the arguments of a function, as in "print(1)"."""
    before = scopes.tokens[position - 1] if position else None
    is_bracket = scopes.tokens[position].text in {"(", "["}
    return (
        is_bracket and before is not None and before.kind is Kind.WORD and before.end == scopes.tokens[position].start
    )


def _ends_there(scopes: Scopes, mention: Mention) -> bool:
    """Return True if the clause ends after a mention."""
    position = mention.end
    while position < len(scopes.tokens) and (
        scopes.tokens[position].kind is Kind.FILLER or scopes.tokens[position].text in _CLOSING_SIGNS
    ):
        position += 1
    if position == len(scopes.tokens):
        return True
    token = scopes.tokens[position]
    if token.kind is Kind.NOT and position > mention.end:
        return False  # As in "the circle has no corner".
    return token.kind in _AFTER or token.kind is Kind.SIGN
