"""Canonical JSON has exactly one form, whichever writer makes it."""

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from batteries.canonical_json import canonical_json
from batteries.errors import InputError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
WHOLE_NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e18, 1e18) | st.floats(-1e-3, 1e-3)
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE_NUMBERS | NUMBERS | TEXTS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(TEXTS, inner),
)


@given(VALUES)
@example(1.0)
@example(-0.0)
@example(1e16)
@example(1e-5)
@example([1e21, 1e-7, 0.0001, 123456.789, 5e-324])
@example({"\ue000": 1, "\U00010000": 2, "b": 3, "a": 4})
@example('\x00\x1f\x7f\u2028"\\/\b\f\n\r\t')
def test_every_value_is_written_as_the_standard_requires(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {"\ud800": 1}, {1: 2}, [{3}]])
def test_a_value_without_a_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="a value cannot be written as JSON"):
        canonical_json({"content": [value]})
