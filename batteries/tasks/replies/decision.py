"""The decision over the claims (stated answers) of a reply: one response, or the reason why there is none."""

from collections.abc import Sequence

from batteries.tasks.replies import reading
from batteries.tasks.replies.mentions import Level
from batteries.tasks.replies.reading import Reading
from batteries.tasks.replies.scopes import Scopes
from batteries.tasks.replies.statements import Claim

RULES = (
    "json", "answer_tag", "boxed", "three_lines", "first_line", "statement", "marked_option", "last_line",
    "whole_sentence", "clause", "in_sentence", "other_words",
)  # fmt: skip
"""The rules, from the strictest to the most tolerant one."""


def decide(claims: Sequence[Claim], scopes: Scopes) -> Reading | None:
    """Return the response that the claims of a reply state.

    If the claims contradict each other, return the reason why there is no response. If no claim counts, return None.
    The level of a claim is its strength: the field `answer` of JSON is stronger than a mention of an option. Only
    the claims of the highest level count. If these claims differ, the last claim counts in three cases only:

    - The reply calls only the last claim final.
    - Words between the claims take back the earlier claims.
    - The earlier claims are lists of outcomes, and the last claim is the conclusion.
    """
    firm = [claim for claim in claims if not claim.is_hypothetical and claim.level > Level.NONE]
    if not firm:
        return _hypothetical(claims)
    level = max(claim.level for claim in firm)
    top = [claim for claim in firm if claim.level == level]
    last = top[-1]
    if not any(_differ(claim, last) for claim in top):
        return _agreed(top)
    if last.is_final and not any(claim.is_final and _differ(claim, last) for claim in top):
        return _named(last, "final_statement")
    rest = [claim for claim in top if _differ(claim, last)]
    if scopes.retracts(rest[-1].mention.end, last.mention.first):
        return _named(last, "changed_mind")
    if _narrows(rest, last, scopes):
        return _named(last, last.rule)
    return Reading.invalid(reading.SEVERAL_ANSWERS)


def _narrows(lists: Sequence[Claim], last: Claim, scopes: Scopes) -> bool:
    """Return True if the last claim is a conclusion from lists of outcomes, as in "It is 1 or 2. It is red, so 2"."""
    are_lists = all(claim.mention.problem == reading.SEVERAL_ANSWERS for claim in lists)
    return are_lists and last.response is not None and scopes.concludes(last.mention.first)


def _hypothetical(claims: Sequence[Claim]) -> Reading | None:
    """Return the reading of a reply that states answers only under conditions, such as "if he saw it, 1".

    If the answers differ, the reply is invalid (`several_answers`). Otherwise return None, because an answer under a
    condition does not count.
    """
    likely = [claim for claim in claims if claim.level >= Level.SOFT]
    differ = any(_differ(claim, likely[0]) or claim.reason == reading.SEVERAL_ANSWERS for claim in likely)
    return Reading.invalid(reading.SEVERAL_ANSWERS) if differ else None


def _agreed(claims: Sequence[Claim]) -> Reading:
    certain = [claim for claim in claims if claim.response is not None]
    if not certain:
        return Reading.invalid(claims[0].reason)
    strictest = min((claim.rule for claim in certain), key=RULES.index)
    return Reading(certain[0].response, strictest)


def _named(claim: Claim, rule: str) -> Reading:
    return Reading.invalid(claim.reason) if claim.response is None else Reading(claim.response, rule)


def _differ(one: Claim, other: Claim) -> bool:
    """Return True if two claims give different answers.

    A claim with an ambiguous number does not differ from a claim of one of the responses that the number can mean.
    """
    if one.response is not None and other.response is not None:
        return one.response != other.response
    if one.response is None and other.response is None:
        return one.reason != other.reason
    problem, certain = (one, other) if one.response is None else (other, one)
    return problem.reason != reading.AMBIGUOUS or certain.response not in problem.mention.responses
