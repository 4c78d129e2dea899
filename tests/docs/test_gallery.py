"""The gallery shows what its commands compute from the published data, beside the printed numbers."""

import re
from pathlib import Path

import pytest

from tests.docs.test_docs import DOCS, generator

PAGE = DOCS / "gallery" / "published-tables.md"


def test_the_tables_of_the_gallery_are_those_that_its_commands_compute(test_data: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert generator("generate_gallery").with_tables(page, test_data) == page, "run docs/generate_gallery.py"


def test_every_published_table_of_the_gallery_is_as_printed_except_the_two_that_the_page_explains() -> None:
    _, *tables = re.split(r"<!-- compare: \{printed: ([\w-]+)\.csv", PAGE.read_text(encoding="utf-8"))
    counts = {
        name: re.search(r"(\d+) of (\d+) rows are as printed", text).groups()  # type: ignore[union-attr]
        for name, text in zip(tables[::2], tables[1::2], strict=True)
    }
    differing = {name for name, (n_same, n_rows) in counts.items() if n_same != n_rows}
    assert differing == {"predict-table-12", "predict-table-15"}
    assert set(counts) | {"predict-table-11"} == {path.stem for path in (DOCS / "gallery" / "printed").glob("*.csv")}


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        (15.31214, "15.3121", "15.3121"),
        (0.925, "0.92", "0.92"),
        (0.925, "0.93", "0.93"),
        (0.9261, "0.92", "0.93"),
        (9.1131e-05, "9.113e-05", "9.113e-05"),
        (9.2e-05, "9.113e-05", "9.200e-05"),
        (0.15, "15%", "15%"),
        (0.161, "15%", "16%"),
        (1e-20, "<2.2e-16", "<2.2e-16"),
        (0.002, "<0.001", "0.002"),
    ],
)
def test_a_number_is_as_printed_if_it_can_be_rounded_to_the_printed_digits(value: float, text: str, shown: str) -> None:
    assert generator("generate_gallery")._as_printed(value, text) == shown
