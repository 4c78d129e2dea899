"""The levels of a factor: the natural order of levels, and levels as text."""

import math
import re

import numpy as np
import pandas as pd


def level_order(level: object) -> tuple[int, list[tuple[int, float, str]]]:
    """Return a sort key for the natural order of a factor's levels.

    Numbers come first, sorted by size. Texts follow. Digits in a text are compared as whole numbers, so `1.9` comes
    before `1.10`. Only a number that begins with `0.`, such as 0.25, is read as a decimal number. Missing values are
    last.

    Examples
    --------
    >>> sorted(["t 1", "t 0.5", "t 0.25", "t 0", "t 10", "1.10", "1.9"], key=level_order)
    ['1.9', '1.10', 't 0', 't 0.25', 't 0.5', 't 1', 't 10']
    """
    if pd.isna(level):  # type: ignore[call-overload]
        return 2, []
    if isinstance(level, str):
        parts = re.split(r"((?<![\d.])0\.\d+(?![\d.])|\d+)", level)
        natural = [
            (1, float(part), part) if part[0].isdecimal() else (2, 0.0, part.casefold()) for part in parts if part
        ]
        return 1, [*natural, (0, 0.0, level)]
    return 0, [(0, float(level), "")]  # type: ignore[arg-type]


def level_text(level: object) -> str:
    """Return a level as text.

    The levels `1`, `1.0` and `"1"` have the same text. The levels `true` and `"True"` also have the same text.

    Examples
    --------
    >>> [level_text(level) for level in (1, 1.0, "1", True, "True", 0.5)]
    ['1', '1', '1', 'true', 'true', '0.5']
    """
    if isinstance(level, (bool, np.bool_)):
        return str(bool(level)).lower()
    if isinstance(level, (int, np.integer)):
        return str(int(level))
    if isinstance(level, (float, np.floating)):
        return str(int(level)) if math.isfinite(level) and level == int(level) else repr(float(level))
    text = str(level)
    return text.lower() if text.lower() in {"true", "false"} else text
