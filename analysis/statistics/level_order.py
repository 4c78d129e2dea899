"""The natural order of a factor's levels."""

import re

import pandas as pd


def level_order(level: object) -> tuple[int, list[tuple[int, float, str]]]:
    """Return a sort key for the levels of a factor: numbers by size, text by its numbers and letters, missing last."""
    if pd.isna(level):  # type: ignore[call-overload]
        return 2, []
    if isinstance(level, str):
        parts = re.split(r"(\d+)", level)
        natural = [(0, float(part), part) if part.isdecimal() else (1, 0.0, part.casefold()) for part in parts if part]
        return 1, [*natural, (2, 0.0, level)]
    return 0, [(0, float(level), "")]  # type: ignore[arg-type]
