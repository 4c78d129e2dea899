"""The markup of templates: placeholders `{vs[key]}` with conversions (`!u !l !c`) and forms (`:p1` to `:p8`).

A text is compiled for one condition, which selects a text for each switch, and one inference level, which selects the
filler. The result is a format string with numbered values. So an instance needs only one call of `str.format`.
"""

import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from batteries.vignettes.grammar import is_plural

FORMS: Mapping[str, tuple[str, str]] = {
    "p1": ("it", "they"),
    "p2": ("it", "them"),
    "p3": ("was", "were"),
    "p4": ("", "s"),
    "p5": ("s", ""),
    "p6": ("it's", "they're"),
    "p7": ("is", "are"),
    "p8": ("isn't", "aren't"),
}
"""The two words of each form: the first word for a singular label, the second word for a plural label."""

CONVERSIONS: Mapping[str, Callable[[str], str]] = {
    "u": str.upper,
    "l": str.lower,
    # str.capitalize would write “Tv remote” for “TV remote”.
    "c": lambda text: text[:1].upper() + text[1:],
    "s": str,
}

_FIELD = re.compile(r"vs\[([A-Za-z0-9_]+)\]")


@dataclass(frozen=True)
class Slot:
    """A placeholder in a text."""

    key: str
    conversion: str = ""
    form: str = ""

    def applied(self, value: str) -> str:
        """Return the text that replaces the placeholder if its key has this value."""
        if self.form:
            # "washing the dishes" is one activity, however many dishes there are.
            value = FORMS[self.form][is_plural(value) and not self.key.startswith("activity_")]
        return CONVERSIONS[self.conversion](value) if self.conversion else value


Markup = tuple[str | Slot, ...]


@cache
def parse_markup(text: str) -> Markup:
    """Return a text of a template as a sequence of fixed texts and placeholders.

    Raises
    ------
    ValueError
        If the text is not well-formed. The message says how to correct the text.
    """
    pieces: list[str | Slot] = []
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"the braces do not match ({error}). Fix: write a placeholder as {{vs[key]}}.") from None
    for literal, name, form, conversion in parsed:
        if literal:
            pieces.append(literal)
        if name is None:
            continue
        match = _FIELD.fullmatch(name)
        if match is None:
            raise ValueError(
                f"`{{{name}}}` is not a placeholder. Fix: write {{vs[NAME]}} with the name of one of the template's "
                "variables."
            )
        if conversion and conversion not in CONVERSIONS:
            raise ValueError(f"unknown conversion `!{conversion}` after `{match[1]}`. Fix: use !u, !l or !c.")
        if form and form not in FORMS:
            raise ValueError(f"unknown form `:{form}` after `{match[1]}`. Fix: use :p1 to :p8.")
        pieces.append(Slot(match[1], conversion or "", form or ""))
    return tuple(pieces)


def is_well_formed(text: str) -> bool:
    """Return True if a text of a template can be parsed."""
    try:
        parse_markup(text)
    except ValueError:
        return False
    return True


def slots_in(text: str) -> list[Slot]:
    """Return the placeholders of a text. The list is empty if the text is not well-formed."""
    return [piece for piece in parse_markup(text) if isinstance(piece, Slot)] if is_well_formed(text) else []


def keys_in(text: str) -> set[str]:
    """Return the keys of the placeholders of a text. The set is empty if the text is not well-formed."""
    return {slot.key for slot in slots_in(text)}


@dataclass(frozen=True)
class Phrase:
    """The text of a switch or filler whose placeholder has a conversion or form, which applies to the whole text."""

    pieces: tuple["Piece", ...]
    conversion: str
    form: str


Piece = str | Slot | Phrase
"""A part of a text in which the texts of switches and filler are inserted."""


@dataclass
class Compiler:
    """A compiler that turns the texts of one story into format strings.

    A value has the same number in all these texts.
    """

    switches: Mapping[str, list[str]]
    fillers: Mapping[str, str]
    slots: list[Slot | Phrase] = field(default_factory=list)
    """The placeholders, in the order of their numbers in the format strings."""
    _numbers: dict[Slot | Phrase, int] = field(default_factory=dict)

    def compile(self, text: str, links: tuple[int, ...], level: str) -> str:
        """Return `text` as a format string for `values`.

        The format string contains the switch texts that `links` selects, and the filler of `level`.
        """
        return "".join(
            piece.replace("{", "{{").replace("}", "}}") if isinstance(piece, str) else f"{{{self._number(piece)}}}"
            for piece in self.resolve(text, links, level)
        )

    def resolve(self, text: str, links: tuple[int, ...], level: str) -> tuple[Piece, ...]:
        """Return `text` with the texts of switches and filler inserted."""
        pieces: list[Piece] = []
        for piece in parse_markup(text):
            chosen = self._chosen(piece, links, level) if isinstance(piece, Slot) else None
            if chosen is None:
                pieces.append(piece)
            else:
                assert isinstance(piece, Slot)
                inner = self.resolve(chosen, links, level)
                plain = not (piece.conversion or piece.form)
                pieces.extend(inner if plain else [Phrase(inner, piece.conversion, piece.form)])
        return tuple(pieces)

    def values(self, labels: Mapping[str, str]) -> list[str]:
        """Return the values to insert into the format strings for one variant, in the order of their numbers."""
        return [_value(slot, labels) for slot in self.slots]

    def _chosen(self, slot: Slot, links: tuple[int, ...], level: str) -> str | None:
        if slot.key == "filler":
            return self.fillers[level]
        if slot.key in self.switches:
            return self.switches[slot.key][links[list(self.switches).index(slot.key)]]
        return None

    def _number(self, slot: Slot | Phrase) -> int:
        if slot not in self._numbers:
            self._numbers[slot] = len(self.slots)
            self.slots.append(slot)
        return self._numbers[slot]


def render(pieces: Iterable[Piece], labels: Mapping[str, str]) -> str:
    """Return the text of `pieces` with these labels."""
    return "".join(piece if isinstance(piece, str) else _value(piece, labels) for piece in pieces)


def _value(slot: Slot | Phrase, labels: Mapping[str, str]) -> str:
    if isinstance(slot, Slot):
        return slot.applied(labels[slot.key])
    return Slot("", slot.conversion, slot.form).applied(render(slot.pieces, labels))
