"""Other orders of the options of an item. In all orders together, the right option is in every position once."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import JsonValue

from batteries.items import Item
from batteries.variants import ITEM_VARIANT, ORDER

_NOUN = r"(?:options?|answers?|choices?|alternatives?)"
_REFERENCES = re.compile(
    rf"""\b(?:
      of\ the\ (?:above|foregoing) | of\ those\ above
    | (?:all|none|any|both|either|neither)\ (?:the\ )?(?:above|below)\.?$
    | {_NOUN}\ (?:above|below)
    | (?:above|foregoing|preceding|previous)\ (?:two\ |three\ |four\ )?{_NOUN}
    | obig\w* | oben\ ?(?:genannt|erwähnt|stehend)\w* | vorgenannt\w* | vorstehend\w* | bovenstaande\w*
    | ci-dessus | qui\ précèdent | (?:las|los|das|dos)\ anteriores | (?:dei|delle)\ precedenti
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that refer to the place of other options, in English, German, Dutch, French, Spanish, Portuguese, Italian."""
_ONE = rf"(?:{_NOUN}\ )?\(?([A-I]|[1-9])\)?"
_NAMED = re.compile(
    rf"""(?:
      (?:both|only|either|neither)?\ ?{_ONE}(?:,\ ?{_ONE})*,?\ ?(?:and|or|nor|&|\+|und|oder|et|ou|y|o|e)\ ?{_ONE}
    | (?:only|all\ but|all\ except)\ {_ONE}
    )(?:\ (?:are|is)\ .*)?\.?""",
    re.IGNORECASE | re.VERBOSE,
)
"""An option that consists of the letters or numbers of other options, such as "Both A and B"."""


def refers_to_options(options: Sequence[str]) -> bool:
    """Return True if the text of an option refers to the place, letter or number of other options.

    Examples
    --------
    >>> refers_to_options(["Red", "Blue", "None of the above"]), refers_to_options(["Red", "Blue", "Both A and B"])
    (True, True)
    >>> refers_to_options(["Above the shelf", "There is not enough information to know."])
    False
    """
    return any(_refers(" ".join(option.split()), len(options)) for option in options)


def _refers(option: str, n_options: int) -> bool:
    if _REFERENCES.search(option):
        return True
    named = _NAMED.fullmatch(option)
    names = [name for name in named.groups() if name] if named else []
    numbers = [int(name) if name.isdigit() else ord(name.upper()) - ord("A") + 1 for name in names]
    return bool(numbers) and max(numbers) <= n_options


def in_other_orders(item: Item, n_orders: int | None = None) -> list[Item]:
    """Return the item with its options in other orders, without the original order.

    Parameters
    ----------
    item
        An item of the task `multiple_choice`.
    n_orders
        Number of orders, including the original order. By default and at most, an item has as many orders as options.

    Notes ----- The orders are rotations. In `order 3`, the third option of the original item is the first option, and
    the first two options are the last options. With all orders, every option is in every position exactly once. With
    fewer orders, the rotations are evenly spaced.
    """
    n_options = len(item.content["options"])  # type: ignore[arg-type]
    n = n_options if n_orders is None else min(n_orders, n_options)
    return [_rotated(item, order * n_options // n, n_options) for order in range(1, n)]


def _rotated(item: Item, by: int, n_options: int) -> Item:
    def position(number: Any) -> int:
        return (int(number) - 1 - by) % n_options + 1

    def content(original: dict[str, Any]) -> dict[str, Any]:
        return {**original, "options": [*original["options"][by:], *original["options"][:by]]}

    factors = {**item.factors, ITEM_VARIANT: f"{ORDER} {by + 1}"}
    template_order = item.factors.get("option_order")
    if isinstance(template_order, str) and len(template_order) == n_options:
        # In vignette batteries, this factor has the template's number of each option, in the order shown.
        factors["option_order"] = template_order[by:] + template_order[:by]
    return item.model_copy(
        update={
            "item_id": f"{item.item_id}-{ORDER}{by + 1}",
            "factors": factors,
            "content": content(item.content),
            "key": _rotated_key(item.key, position),
            "clean": None if item.clean is None else content(item.clean),
        }
    )


def _rotated_key(key: JsonValue, position: Callable[[Any], int]) -> JsonValue:
    if isinstance(key, list):
        return [*sorted(map(position, key))]
    return None if key is None else position(key)
