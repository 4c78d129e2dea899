"""Times of trials are kept in little memory and returned as exactly the texts that were read."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.cell_text import cell_texts
from analysis.data.compact_columns import TimeColumn
from analysis.data.time_columns import compact_times, time_texts, times_of
from server.store.database import as_text

STORED = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)).map(as_text)  # noqa: DTZ001
OTHERS = [
    "2026-03-01T10:00:00+00:00", "2026-03-01T10:00:00.000Z", "2026-03-01T10:00:00.000+01:00",
    "2026-03-01 10:00:00.000+00:00", "2026-13-01T10:00:00.000+00:00", "2026-03-01T10:00:60.000+00:00", "now", "",
    "2026-03-01T10:00:00.00x+00:00", "NaT", " 026-03-01T10:00:00.000+00:00",
]  # fmt: skip


@given(texts=st.lists(st.none() | STORED, max_size=30))
def test_times_in_the_stores_format_are_kept_in_eight_bytes_and_returned_exactly(texts: list[str | None]) -> None:
    column = compact_times(pd.Series(texts, dtype=object))
    if texts:
        assert column.dtype == "datetime64[ms, UTC]"
        assert time_texts(column).astype(object).where(column.notna(), None).tolist() == texts
    assert cell_texts(column, str) == [str(text) for text in texts]


@pytest.mark.parametrize("other", OTHERS)
def test_a_column_with_a_time_in_another_format_is_not_changed(other: str) -> None:
    texts = ["2026-03-01T10:00:00.000+00:00", other, None]
    assert times_of(texts) is None
    column = compact_times(pd.Series(texts, dtype=object))
    assert column.dtype == "str"
    assert cell_texts(column, str) == ["2026-03-01T10:00:00.000+00:00", other, "None"]


@pytest.mark.parametrize("other", OTHERS)
@given(portions=st.lists(st.lists(st.none() | STORED, min_size=1, max_size=4), max_size=4), index=st.integers(0, 4))
def test_texts_in_portions_are_complete_in_any_order(other: str, portions: list[list[str | None]], index: int) -> None:
    cells = [*portions[:index], [other, None], *portions[index:]]
    column = TimeColumn()
    for portion in cells:
        column.take(portion)
    assert column.column().tolist() == [text for portion in cells for text in portion]


def test_a_missing_time_is_missing() -> None:
    column = compact_times(pd.Series([None, None], dtype=object))
    assert column.isna().all()
    assert times_of([]).tolist() == np.array([], dtype="datetime64[ms]").tolist()
