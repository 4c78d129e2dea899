"""Tokens and price of a run, and the limit of its price."""

from collections.abc import Sequence
from dataclasses import dataclass, field

_TOKENS_PER_PRICE = 1_000_000
_TOKENS_OF_A_MESSAGE = 16
"""Assumed maximum number of tokens that a provider adds to each message."""


@dataclass(frozen=True)
class Prices:
    """Prices of a model, in USD per million tokens."""

    tokens_in: float
    tokens_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return the price of `tokens_in` tokens of prompts and `tokens_out` tokens of replies, in USD."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / _TOKENS_PER_PRICE


@dataclass
class Budget:
    """The tokens that were used, and the limit of the total price of all requests.

    Before a request is sent, its highest possible price is reserved. So many requests at the same time cannot exceed
    the limit.
    """

    prices: Prices | None = None
    max_cost: float | None = None
    """Limit of the total price in USD; None for no limit."""
    is_growing: bool = False
    """True if each request of a run repeats the earlier messages, so that requests become longer."""
    n_replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    is_exhausted: bool = False
    """True if a request was not sent because of the limit."""
    _reserved: float = field(default=0.0, repr=False)

    @property
    def cost(self) -> float | None:
        """The price so far in USD, or None if the prices are unknown."""
        return None if self.prices is None else self.prices.of(self.tokens_in, self.tokens_out)

    def reserve(self, messages: Sequence[str], max_tokens: int) -> float | None:
        """Reserve the highest price of a request. Return this price, or None if the limit does not allow the request.

        A token of text has at least one byte, so the number of bytes is an upper limit of the number of tokens.
        """
        if self.prices is None:
            return 0.0
        n_bytes = sum(len(message.encode()) + _TOKENS_OF_A_MESSAGE for message in messages)
        price = self.prices.of(n_bytes, max_tokens)
        if self.max_cost is not None and self.prices.of(self.tokens_in, self.tokens_out) + self._reserved + price > (
            self.max_cost
        ):
            self.is_exhausted = True
            return None
        self._reserved += price
        return price

    def release(self, price: float) -> None:
        """Release the reserved price of a request that has ended."""
        self._reserved = max(0.0, self._reserved - price)

    def add(self, tokens_in: int, tokens_out: int) -> None:
        """Add the tokens of a reply."""
        self.n_replies += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def sentence(self) -> str:
        """Return the number of used tokens as text, with their price if the prices are known."""
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} tokens out"
        return tokens if self.cost is None else f"{tokens}, {self.cost:.4f} USD"

    def price_to_come(self, n_total: int) -> str:
        """Return a text with the number of replies that are still missing, and their expected price.

        Parameters
        ----------
        n_total
            Number of all replies, with those on disk.

        Returns
        -------
        str
            For example `the 120 other replies would cost about 0.3600 USD`, from the mean price of the replies so far.
            If requests become longer, the text has `at least` instead of `about`. It is empty if the prices are
            unknown, there is no reply yet, or no reply is missing.
        """
        n_missing = n_total - self.n_replies
        if self.cost is None or not self.n_replies or n_missing <= 0:
            return ""
        price = self.cost / self.n_replies * n_missing
        about = "at least" if self.is_growing else "about"
        return f"the {n_missing:,} other replies would cost {about} {price:.4f} USD"
