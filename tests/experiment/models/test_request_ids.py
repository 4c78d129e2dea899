"""The ids of requests: each part can be read from the id, and services accept the id."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.models.request_ids import RequestId
from experiment.study.definition import Study

DIGITS = st.text("0123456789abcdef", min_size=8, max_size=8)
IDS = st.builds(
    RequestId,
    battery=DIGITS,
    item_index=st.integers(0, 999_999_999),
    template=DIGITS,
    temperature=st.none() | st.integers(0, 999).map(lambda hundredths: hundredths / 100),
    epoch=st.integers(1, 999_999_999),
)


@given(IDS)
def test_an_id_is_read_back_unchanged(request_id: RequestId) -> None:
    text = str(request_id)
    assert RequestId.parse(text) == request_id
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text)


@given(IDS, IDS)
def test_different_requests_have_different_ids(one: RequestId, other: RequestId) -> None:
    assert (str(one) == str(other)) == (one == other)


def test_an_id_has_the_documented_form() -> None:
    assert str(RequestId("a1b2c3d4", 12, "9f8e7d6c", 0.7, 1)) == "a1b2c3d4-00012-9f8e7d6c-t070-e1"
    assert str(RequestId("a1b2c3d4", 0, "9f8e7d6c", None, 30)) == "a1b2c3d4-00000-9f8e7d6c-tx-e30"


def test_the_id_of_an_item_has_its_position_in_the_battery(sample_study: Study) -> None:
    for index in (0, 7, len(sample_study.battery.items) - 1):
        item = sample_study.battery.items[index]
        request_id = RequestId.of(sample_study, item, "9f8e7d6c" * 8, 0.1, 2)
        assert request_id == RequestId(sample_study.battery.digest[:8], index, "9f8e7d6c", 0.1, 2)


@pytest.mark.parametrize(
    "text",
    ["", "request-1", "a1b2c3d4-00012-9f8e7d6c-t070-e0", "a1b2c3d4-00012-9f8e7d6c-t70-e1", "a1b2c3d4-12-9f8e7d6c-tx-e1",
     "A1B2C3D4-00012-9f8e7d6c-tx-e1", "a1b2c3d4-00012-9f8e7d6c-tx-e1\n", "a1b2c3d4-0001²-9f8e7d6c-tx-e1"],
)  # fmt: skip
def test_another_text_is_refused_with_a_fix(text: str) -> None:
    with pytest.raises(InputError, match=r"is not the id of a request.*Fix: "):
        RequestId.parse(text)


@given(st.text())
def test_every_text_is_an_id_or_is_refused(text: str) -> None:
    with suppress(InputError):
        assert str(RequestId.parse(text)) == text
