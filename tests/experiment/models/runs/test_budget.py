"""Tokens, prices, and the limit of a price."""

import pytest

from batteries.errors import InputError
from experiment.models.runs.budget import Budget, Prices
from experiment.models.runs.settings import checked_prices

PROMPT = ["x" * 984]  # 1,000 tokens at most, with the frame of the message


def test_the_price_is_the_sum_of_prompt_and_reply() -> None:
    budget = Budget(Prices(2.0, 8.0))
    budget.add(1_000_000, 500_000)
    assert budget.cost == 6.0
    assert budget.sentence() == "1,000,000 tokens in, 500,000 tokens out, 6.0000 USD"


def test_without_prices_no_price_is_shown_and_each_request_is_allowed() -> None:
    budget = Budget()
    budget.add(10, 20)
    assert budget.sentence() == "10 tokens in, 20 tokens out"
    assert budget.reserve(PROMPT, 10**9) == 0


def test_the_price_to_come_is_expected_from_the_mean_price_of_the_replies_so_far() -> None:
    budget = Budget(Prices(1.0, 1.0))
    assert budget.price_to_come(10) == ""
    budget.add(100_000, 100_000)
    budget.add(200_000, 200_000)
    assert budget.price_to_come(1_002) == "the 1,000 other replies would cost about 300.0000 USD"
    assert budget.price_to_come(2) == ""


def test_open_requests_cannot_exceed_the_limit_together() -> None:
    budget = Budget(Prices(1000.0, 1000.0), max_cost=4.5)
    prices = [budget.reserve(PROMPT, 1000) for _ in range(3)]
    assert prices == [2.0, 2.0, None]
    assert budget.is_exhausted
    budget.release(2.0)
    budget.add(100, 100)
    assert budget.reserve(PROMPT, 1000) == 2.0


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ((None, None, 1.0), "add --price-in and --price-out"),
        ((1.0, None, 1.0), "add --price-out"),
        ((None, 1.0, None), "add --price-in"),
        ((-1.0, 1.0, None), "write a number such as 2.50"),
        ((float("nan"), 1.0, None), "write a number such as 2.50"),
    ],
)
def test_missing_or_impossible_prices_are_refused(given: tuple[float | None, ...], fix: str) -> None:
    with pytest.raises(InputError, match=fix):
        checked_prices(*given)


def test_prices_without_a_limit_are_allowed() -> None:
    assert checked_prices(1.0, 2.0, None) == Prices(1.0, 2.0)
    assert checked_prices(None, None, None) is None
