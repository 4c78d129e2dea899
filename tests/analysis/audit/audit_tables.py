"""Published tables for the tests of the audit, and their findings."""

import pandas as pd

from tests.paths import FIXTURES


def published(name: str) -> pd.DataFrame:
    """Return a published table as it was printed."""
    return pd.read_csv(FIXTURES / f"audit_{name}.csv", dtype=str, keep_default_na=False)


def table(text: str, separator: str = "|") -> pd.DataFrame:
    """Return a table from lines of cells."""
    lines = [[cell.strip() for cell in line.split(separator)] for line in text.strip().splitlines()]
    return pd.DataFrame(lines[1:], columns=lines[0], dtype=str)


def found(audited: pd.DataFrame, row: str | None = None, check: str | None = None) -> list[str]:
    """Return the verdicts of a row and of a check, or all verdicts."""
    chosen = audited if row is None else audited[audited["row"] == row]
    chosen = chosen if check is None else chosen[chosen["check"] == check]
    return chosen["verdict"].tolist()


def wrong(audited: pd.DataFrame) -> pd.DataFrame:
    """Return the findings that are neither consistent nor not checkable."""
    return audited[~audited["verdict"].isin(["consistent", "not checkable"])]


def sentences(audited: pd.DataFrame) -> str:
    """Return the explanations of the findings."""
    return " ".join(audited["explanation"])
