"""Finding words that are negated, hypothetical, part of a question or part of an explanation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.tokens import Token

_PLAIN_NO = frozenset({"no", "nein", "non", "\u043d\u0435\u0442", "nope", "nah"})
_AFTER_NO = frozenset({Kind.SIGN, Kind.STOP, Kind.RETRACT})
_SENTENCE_ENDS = frozenset({Kind.STOP, Kind.LINE})
_ENDS_NEGATION = frozenset({Kind.STOP, Kind.LINE, Kind.BUT, Kind.SO, Kind.BECAUSE, Kind.RETRACT})
_ENDS_CONDITION = _SENTENCE_ENDS | {Kind.BUT}
_EXPLAINS = frozenset({Kind.BECAUSE, Kind.EXPLAIN})
_ENDS_EXPLANATION = frozenset({Kind.LINE, Kind.SO, Kind.RETRACT})
_CONCLUDES = frozenset({Kind.SO, Kind.FINAL})
_BEFORE_NO = frozenset({Kind.STOP, Kind.LINE, Kind.SIGN, Kind.RETRACT, Kind.FILLER})
_COMMAS = frozenset({",", "\u3001", "\u060c"})
_CLAUSE_SIGNS = frozenset(":()[]|-=") | {"->", "=>", "--"}


@dataclass
class Scopes:
    """The tokens of a reply and their properties, for example whether a token is negated."""

    tokens: Sequence[Token]
    is_negated: list[bool] = field(default_factory=list)
    is_hypothetical: list[bool] = field(default_factory=list)
    is_explanation: list[bool] = field(default_factory=list)
    is_question: list[bool] = field(default_factory=list)
    line_of: list[int] = field(default_factory=list)
    sentence_of: list[int] = field(default_factory=list)
    concluding_sentences: set[int] = field(default_factory=set)

    def ends_line(self, last: int) -> bool:
        """Return True if the line has only signs, such as full stops, from the token `last` on."""
        return self._only_signs(range(last, len(self.tokens)))

    def begins_line(self, first: int) -> bool:
        """Return True if only signs and words such as "answer" or "so" are before a token in its line."""
        labels = {Kind.ANSWER, Kind.OPTION, Kind.FILLER, Kind.IS, Kind.FINAL, Kind.RETRACT, Kind.SO, Kind.DECIDE}
        for position in range(first - 1, -1, -1):
            if self.tokens[position].kind is Kind.LINE:
                break
            if self.tokens[position].kind not in labels | {Kind.SIGN, Kind.STOP}:
                return False
        return True

    def _only_signs(self, positions: range) -> bool:
        for position in positions:
            kind = self.tokens[position].kind
            if kind is Kind.LINE:
                break
            if kind not in {Kind.SIGN, Kind.STOP}:
                return False
        return True

    def is_first_or_last(self, position: int) -> bool:
        """Return True if a token is in the first or the last sentence."""
        return self.sentence_of[position] in {0, self.sentence_of[-1]}

    def concludes(self, position: int) -> bool:
        """Return True if a token is in the last sentence, and words such as "so" begin this sentence."""
        sentence = self.sentence_of[position]
        return sentence == self.sentence_of[-1] and sentence in self.concluding_sentences

    def retracts(self, first: int, last: int) -> bool:
        """Return True if a word between two tokens takes back what was said."""
        return any(self._is_retraction(position) for position in range(first, last))

    def _is_retraction(self, position: int) -> bool:
        if self.tokens[position].kind is not Kind.RETRACT:
            return False
        before = self.tokens[position - 1].kind if position else Kind.LINE
        # "She was waiting" and "was actually in the box" take nothing back.
        return before not in {Kind.WORD, Kind.IS, Kind.NUMBER, Kind.DECIDE}


def scopes_of(tokens: Sequence[Token], covered: Collection[int], starts: Collection[int]) -> Scopes:
    """Return the tokens of a reply with their properties.

    Parameters
    ----------
    tokens : sequence of Token
        The tokens, with their kinds.
    covered : collection of int
        Positions of tokens within the text of an option. For example, the "not" of the option "does not know" negates
        no word of the reply.
    starts : collection of int
        Positions where a mention of an outcome begins.
    """
    scopes = Scopes(_with_retractions(tokens))
    negated = refused = hypothetical = explanation = False
    has_mention = False
    line = sentence = 0
    for position, token in enumerate(scopes.tokens):
        kind = Kind.WORD if position in covered else token.kind
        if kind in _ENDS_NEGATION or _ends_negation(scopes.tokens, position, starts if has_mention else ()):
            negated = refused = False
        has_mention = negated and (has_mention or position in starts)
        negated = negated or kind is Kind.NOT
        refused = (refused and token.text != ",") or kind is Kind.REFUSE
        hypothetical = (hypothetical and kind not in _ENDS_CONDITION) or kind is Kind.IF
        explanation = (explanation and kind not in _ENDS_EXPLANATION) or kind in _EXPLAINS
        if explanation and kind is Kind.STOP:
            explanation = _is_labelled(scopes.tokens, position)
        if kind in _CONCLUDES:
            scopes.concluding_sentences.add(sentence)
        scopes.is_negated.append(negated or refused)
        scopes.is_hypothetical.append(hypothetical)
        scopes.is_explanation.append(explanation)
        scopes.line_of.append(line)
        scopes.sentence_of.append(sentence)
        line += kind is Kind.LINE
        sentence += kind in _SENTENCE_ENDS
    _end_with_last_words(scopes)
    scopes.is_question = _questions(scopes)
    return scopes


def _ends_negation(tokens: Sequence[Token], position: int, starts: Collection[int]) -> bool:
    token = tokens[position]
    if token.kind is not Kind.SIGN:
        return False
    if token.text in _CLAUSE_SIGNS:
        return not (0 < position < len(tokens) - 1 and token.text == "-" and _are_joined(tokens, position))
    if token.text not in _COMMAS:
        return False
    after = position + 1
    while after < len(tokens) and tokens[after].kind in {Kind.OR, Kind.AND}:
        after += 1
    return after not in starts  # "not 1, 2 or 3" negates all numbers of the list.


def _are_joined(tokens: Sequence[Token], position: int) -> bool:
    return tokens[position - 1].end == tokens[position].start and tokens[position].end == tokens[position + 1].start


def _is_labelled(tokens: Sequence[Token], position: int) -> bool:
    """Return True if the line of a token begins with a label such as "Explanation:"."""
    for before in range(position - 1, max(position - 400, -1), -1):
        if tokens[before].kind is Kind.LINE:
            return tokens[before + 1].kind is Kind.EXPLAIN
    return tokens[0].kind is Kind.EXPLAIN


def _end_with_last_words(scopes: Scopes) -> None:
    """Count the signs after the last sentence as part of this sentence."""
    position = len(scopes.tokens) - 1
    while position > 0 and scopes.tokens[position].kind in {Kind.SIGN, Kind.STOP, Kind.LINE}:
        position -= 1
    for later in range(position + 1, len(scopes.tokens)):
        scopes.sentence_of[later] = scopes.sentence_of[position]
        scopes.line_of[later] = scopes.line_of[position]


def _questions(scopes: Scopes) -> list[bool]:
    asked = {
        scopes.sentence_of[position]
        for position, token in enumerate(scopes.tokens)
        if token.kind is Kind.STOP and ("?" in token.text or "\u061f" in token.text)
    }
    return [sentence in asked for sentence in scopes.sentence_of]


def _with_retractions(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens. A "no" before a sign, as in "1... no, 3", gets the kind `RETRACT`."""
    result = list(tokens)
    for position, token in enumerate(tokens[:-1]):
        if token.key not in _PLAIN_NO:
            continue
        follows = position == 0 or tokens[position - 1].kind in _BEFORE_NO
        # In "2: no." the word is a verdict.
        is_verdict = position > 0 and tokens[position - 1].text in {":", "-"} and tokens[position + 1].text != ","
        if follows and not is_verdict and tokens[position + 1].kind in _AFTER_NO:
            result[position] = token._replace(kind=Kind.RETRACT)
    return result
