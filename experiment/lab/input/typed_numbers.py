"""Reading a number that a participant typed, with the same rule as on the web (`typed-number.ts`)."""

import re
from dataclasses import dataclass

_SIGNS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹,٫−", "01234567890123456789..-")


@dataclass(frozen=True)
class TypedNumber:
    """A typed number."""

    value: int | float
    n_decimals: int
    """Number of typed decimals."""


def typed_number(text: str) -> TypedNumber | None:
    """Return the number in a text, or None if the text is not one number.

    The digits may be European, Arabic or Persian, and the decimals follow a point or a comma. A separator of thousands
    could mean two numbers, so it is refused.

    Examples
    --------
    >>> typed_number(" 2,50 ")
    TypedNumber(value=2.5, n_decimals=2)
    >>> typed_number("1,000,000") is None
    True
    """
    found = re.fullmatch(r"[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))", text.strip().translate(_SIGNS), re.ASCII)
    if found is None:
        return None
    value = float(found[0])
    return TypedNumber(int(value) if value.is_integer() else value, len(found[1] or found[2] or ""))
