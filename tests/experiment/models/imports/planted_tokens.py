"""Log-probabilities of the tokens of fabricated replies, in the JSON form of OpenAI, with planted choices."""

import math
from typing import Any

from batteries.items import Item

Top = dict[str, float]
"""Probability of each of the most likely tokens."""


def entry(token: str, top: Top | None = None) -> dict[str, Any]:
    """Return the entry of a token. A token without other tokens has the probability 1."""
    listed = [{"token": each, "logprob": math.log(p), "bytes": None} for each, p in (top or {token: 1.0}).items()]
    own = next((each for each in listed if each["token"] == token), {"logprob": -9999.0})
    return {"token": token, "logprob": own["logprob"], "bytes": None, "top_logprobs": listed}


def planted_tokens(number: int, item: Item) -> list[dict[str, Any]]:
    """Return the tokens of a reply. Of six replies, two choose the right option, and one chooses a wrong option."""
    assert isinstance(item.key, int)
    key, other = str(item.key), str(item.key % 4 + 1)
    rest = {str(option): 0.01 for option in range(1, 5)}
    match number % 6:
        case 0:
            return [entry(key, rest | {key: 0.9, other: 0.05}), entry("\n"), entry("Because.")]
        case 1:  # The reply has the wrong option, but the right option is more likely.
            return [entry("\n"), entry(" "), entry(other, rest | {other: 0.4, key: 0.5})]
        case 2:  # The reply has the right option, but a wrong option is more likely.
            return [entry("Answer"), entry(":"), entry(f" {key}", {f" {key}": 0.3, f" {other}": 0.6})]
        case 3:
            return [entry(key, rest | {key: 0.45, other: 0.45})]
        case 4:  # The tokens that are not listed have 45 % of the probability.
            return [entry(key, {"The": 0.28, key: 0.27})]
        case _:
            return [entry("I", {"I": 0.5, key: 0.4}), entry(" do"), entry(" not"), entry(" know"), entry(".")]


def text_of(tokens: list[dict[str, Any]]) -> str:
    return "".join(token["token"] for token in tokens)
