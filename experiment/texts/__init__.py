"""The texts that participants see besides the study's pages and items, such as labels of buttons, in each language.

A catalogue is a JSON file of texts by name. In a text, `{name}` is a placeholder. Web client, laboratory and server
use the same catalogues. A study can replace any text with its own text (`texts` in `study.yaml`).
"""

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from batteries.errors import InputError

PLACEHOLDER = re.compile(r"\{(\w+)\}")
FROM_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"})
"""Languages that are read from right to left."""
FEWEST_LETTERS = 3
"""Fewest letters of the word that a participant types in the laboratory to delete the answers."""
FORMER_NAMES = {
    "places_taken": "slots_taken",
    "place_given_away": "slot_given_away",
    "places_of_address_taken": "slots_of_address_taken",
    "lab_leave": "lab_stop_for_now",
    "blackbox_submit": "submit_answer",
}
"""Renamed texts: the former name and the present name of each text. `study.yaml` may still contain former names.

Equipoise does not change `study.yaml`, so the digest of the study stays the same.
"""


@dataclass(frozen=True)
class Texts:
    """The texts for one study: a catalogue in which the study's own texts replace the usual texts."""

    language: str
    """The language of the texts: the study's language, or English.

    It is English if the study's language has no catalogue and the study does not replace all texts.
    """
    direction: Literal["ltr", "rtl"]
    """Direction in which the study's language is read."""
    by_name: Mapping[str, str]

    def say(self, name: str, **values: object) -> str:
        """Return the text with this name. The given values replace its placeholders."""
        return PLACEHOLDER.sub(lambda found: str(values[found[1]]), self.by_name[name])


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have a catalogue."""
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
        The study's language, such as `de` or `de-AT`. If this language has no catalogue, the catalogue is English.
    own
        The study's own texts, by name; see `check_own`.
    """
    own = {FORMER_NAMES.get(name, name): text for name, text in own.items()}
    base = language.partition("-")[0]
    found = base if base in languages() else "en"
    is_all_own = own.keys() >= catalogue("en").keys()
    return Texts(
        language=language if is_all_own else found,
        direction="rtl" if base in FROM_RIGHT_TO_LEFT else "ltr",
        by_name={**catalogue(found), **own},
    )


def check_own(own: Mapping[str, str], path: Path) -> None:
    """Raise an InputError if a study's own texts cannot be shown, and warn of former names.

    Parameters
    ----------
    own
        The study's own texts, by name.
    path
        The file with these texts, for the warning.

    Raises
    ------
    InputError
        If a name is unknown, a text has an unknown placeholder, a text is given under both its former name and its
        present name, or the word that deletes the answers has too few letters.
    """
    known = catalogue("en")
    for written, text in own.items():
        name = FORMER_NAMES.get(written, written)
        if name not in known:
            like = get_close_matches(name, known, n=1)
            hint = f"write `{like[0]}`." if like else "use a name from docs/reference/texts.md."
            raise InputError(f"`texts` has the unknown name `{name}`. Fix: {hint}")
        if name != written:
            _check_former_name(written, own, path)
        if name == "lab_delete_word" and sum(map(str.isalpha, text)) < FEWEST_LETTERS:
            raise InputError(
                f"`texts.{written}` is {text!r}, which participants could type by accident, because it has fewer than "
                f"{FEWEST_LETTERS} letters. Fix: write a word."
            )
        strange = set(PLACEHOLDER.findall(text)) - set(PLACEHOLDER.findall(known[name]))
        if strange:
            placeholders = ", ".join(f"{{{found}}}" for found in PLACEHOLDER.findall(known[name])) or "none"
            raise InputError(
                f"`texts.{written}` has an unknown placeholder {{{min(strange)}}}. Fix: use {placeholders}."
            )


def _check_former_name(former: str, own: Mapping[str, str], path: Path) -> None:
    present = FORMER_NAMES[former]
    if present in own:
        raise InputError(
            f"`texts.{former}` is the former name of `texts.{present}`, and both are given. Fix: delete "
            f"`texts.{former}`."
        )
    warnings.warn(
        f"{path}: `texts.{former}` is now called `texts.{present}`. Fix: use the new name in the file.",
        FutureWarning,
        stacklevel=3,
    )


ENGLISH = texts_in("en", {})
