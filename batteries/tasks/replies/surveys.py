"""Finding surveys. A survey is the part of a reply that discusses every option."""

from collections.abc import Sequence

from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.mentions import Level, Mention
from batteries.tasks.replies.scopes import Scopes
from batteries.tasks.replies.statements import Claim

_LEAST_BARE = 3
"""Minimum number of options for a survey in which an option has no sign, such as a colon, after it."""
_LABEL_SIGNS = frozenset({":", "-", "|", "=", "(", "->", "=>"})


def without_survey(
    scopes: Scopes, mentions: Sequence[Mention], claims: Sequence[Claim], n_outcomes: int
) -> list[Claim]:
    """Return the claims (stated answers), without those in a survey if the reply also gives an explicit answer.

    A survey has an entry for every option, such as "1: 10 %, 2: 70 %, 3: 20 %", or one line for each option.
    """
    span = _survey(scopes, mentions, n_outcomes)
    if span is None or not any(_is_explicit(claim, span) for claim in claims):
        return list(claims)
    return [claim for claim in claims if claim.is_announced or claim.mention.first not in span]


def _is_explicit(claim: Claim, span: range) -> bool:
    """Return True for an answer that is announced, or alone on the last line after a survey."""
    is_last = claim.rule == "last_line" and claim.mention.first not in span
    return claim.level is Level.STRONG and (claim.is_announced or is_last)


def _survey(scopes: Scopes, mentions: Sequence[Mention], n_outcomes: int) -> range | None:
    """Return the tokens from the first entry of a survey to the end of its last entry."""
    entries = [mention for mention in mentions if _outcome(mention) is not None and _is_entry(scopes, mention)]
    if any(not _is_labelled(scopes, entry) for entry in entries) and n_outcomes < _LEAST_BARE:
        return None
    found = set()
    for entry in entries:
        found.add(_outcome(entry))
        if len(found) == n_outcomes:
            return range(entries[0].first, _end(scopes, entry))
    return None


def _outcome(mention: Mention) -> str | int | None:
    """Return the outcome that a mention means, or None if it can mean several.

    A number means the position of an option.
    """
    if mention.problem is not None:
        return None
    if mention.position is not None:
        return mention.position
    return next(iter(mention.responses)) if len(mention.responses) == 1 else None


def _is_entry(scopes: Scopes, mention: Mention) -> bool:
    """Return True if a mention begins an entry of a survey.

    The mention begins a line, or it is between a full stop or comma and a sign such as a colon.
    """
    if _begins_line(scopes, mention):
        return True
    before = scopes.tokens[mention.first - 1]
    return (before.kind is Kind.STOP or before.text == ",") and _is_labelled(scopes, mention)


def _begins_line(scopes: Scopes, mention: Mention) -> bool:
    for position in range(mention.first - 1, -1, -1):
        token = scopes.tokens[position]
        if token.kind is Kind.LINE:
            return True
        if token.kind not in {Kind.SIGN, Kind.OPTION}:
            return False
    return True


def _is_labelled(scopes: Scopes, mention: Mention) -> bool:
    return mention.end < len(scopes.tokens) and scopes.tokens[mention.end].text in _LABEL_SIGNS


def _end(scopes: Scopes, entry: Mention) -> int:
    """Return the position after the last entry.

    An entry that begins a line ends with this line. Any other entry ends with its sentence.
    """
    parts = scopes.line_of if _begins_line(scopes, entry) else scopes.sentence_of
    position = entry.end
    while position < len(scopes.tokens) and parts[position] == parts[entry.first]:
        position += 1
    return position
