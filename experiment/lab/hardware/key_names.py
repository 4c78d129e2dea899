"""Names of keys in the window's events: PsychoPy's names, and the names by the place of a key on the keyboard.

On a French or Czech keyboard, the keys of the row of digits produce other characters without Shift. On a Russian
keyboard, the keys of letters produce no Latin letters. Such keys then count by their place, as on the web.
"""

import unicodedata
from functools import cache

from pyglet.window import key

WITHOUT_NUM_LOCK = {
    "num_insert": "num_0",
    "num_end": "num_1",
    "num_down": "num_2",
    "num_page_down": "num_3",
    "num_next": "num_3",
    "num_left": "num_4",
    "num_begin": "num_5",
    "num_right": "num_6",
    "num_home": "num_7",
    "num_up": "num_8",
    "num_page_up": "num_9",
    "num_prior": "num_9",
    "num_delete": "num_decimal",
}
"""Name of each keypad key with Num Lock, by the name that the window reports without Num Lock.

The names from psychtoolbox do not depend on Num Lock.
"""
_UNKNOWN = "user_key"
_DIGITS = dict(enumerate("1234567890", start=10))
_LETTERS = {
    **dict(enumerate("qwertyuiop", start=24)),
    **dict(enumerate("asdfghjkl", start=38)),
    **dict(enumerate("zxcvbnm", start=52)),
}
"""Characters of an American keyboard by the X server's number of the key, which depends only on the key's place."""


def name_of(symbol: int) -> str | None:
    """Return PsychoPy's name of a key; None if pyglet does not know the key, such as a letter with an accent."""
    name: str = key.symbol_string(symbol).lower()
    if _UNKNOWN in name:
        return None
    name = name.lstrip("_")  # pyglet writes an underscore before a digit.
    return "return" if name == "enter" else WITHOUT_NUM_LOCK.get(name, name)


def is_key_name(name: str) -> bool:
    """Return True if a key can have this name: a name of PsychoPy, or a character such as `é`."""
    return (len(name) == 1 and name.isprintable()) or name in names_of_keys()


@cache
def names_of_keys() -> frozenset[str]:
    """Return PsychoPy's names of all keys whose names do not depend on the keyboard's layout."""
    symbols = [symbol for symbol in vars(key).values() if isinstance(symbol, int)]
    return frozenset(name for name in map(name_of, symbols) if name is not None)


def name_by_place(name: str, keycode: int | None) -> str | None:
    """Return the digit or Latin letter at the place of a key; None if the key counts only by its own name.

    Parameters
    ----------
    name
        PsychoPy's name of the key, or the character that the key produces.
    keycode
        The X server's number of the key; None if it is unknown.
    """
    if keycode in _DIGITS and not (name.isascii() and name.isalnum() and len(name) == 1):
        return _DIGITS[keycode]
    is_foreign_letter = len(name) == 1 and name.isalpha() and not unicodedata.name(name, "").startswith("LATIN")
    return _LETTERS.get(keycode) if keycode is not None and is_foreign_letter else None
