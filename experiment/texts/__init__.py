"""The texts that participants read and that do not come from the study itself, one catalogue per language.

A catalogue is a JSON file of texts by name; `{name}` in a text is a placeholder. Web client and server use the same
catalogues, and a study can replace any text by its own (`texts` in `study.yaml`).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal

from batteries.errors import InputError

PLACE = re.compile(r"\{(\w+)\}")
FROM_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"})
"""Languages whose usual script is read from right to left."""


@dataclass(frozen=True)
class Texts:
    """A catalogue with a study's own texts in it."""

    language: str
    """The catalogue's language; it is English if the study's language has no catalogue."""
    direction: Literal["ltr", "rtl"]
    """Side where the lines of the study's language start."""
    by_name: Mapping[str, str]

    def say(self, name: str, **values: object) -> str:
        """Return a text with its placeholders filled."""
        return PLACE.sub(lambda place: str(values[place[1]]), self.by_name[name])


@cache
def languages() -> tuple[str, ...]:
    """Return the languages for which there is a catalogue."""
    return tuple(sorted(file.name.removesuffix(".json") for file in files(__name__).iterdir() if ".json" in file.name))


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Return the texts of a language, by name."""
    texts: dict[str, str] = json.loads((files(__name__) / f"{language}.json").read_text(encoding="utf-8"))
    return texts


def texts_in(language: str, own: Mapping[str, str]) -> Texts:
    """Return the texts for a study.

    Parameters
    ----------
    language
        The study's, such as `de` or `de-AT`. If it has no catalogue, the texts are English.
    own
        The study's own texts, by name; see `check_own`.
    """
    base = language.partition("-")[0]
    found = base if base in languages() else "en"
    is_all_own = own.keys() >= catalogue("en").keys()
    return Texts(
        language=language if is_all_own else found,
        direction="rtl" if base in FROM_RIGHT_TO_LEFT else "ltr",
        by_name={**catalogue(found), **own},
    )


def check_own(own: Mapping[str, str]) -> None:
    """Refuse a study's own texts that could not be shown.

    Raises
    ------
    InputError
        If a name is unknown, or a text has an unknown placeholder.
    """
    known = catalogue("en")
    for name, text in own.items():
        if name not in known:
            like = get_close_matches(name, known, n=1)
            hint = f"write `{like[0]}`." if like else "see docs/reference/texts.md for their names."
            raise InputError(f"`texts` names `{name}`, which is not one of our texts. Fix: {hint}")
        strange = set(PLACE.findall(text)) - set(PLACE.findall(known[name]))
        if strange:
            places = ", ".join(f"{{{place}}}" for place in PLACE.findall(known[name])) or "none"
            raise InputError(f"`texts.{name}` has an unknown placeholder {{{min(strange)}}}. Fix: use {places}.")


ENGLISH = texts_in("en", {})
