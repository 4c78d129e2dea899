"""Fonts: DejaVu Sans, which comes with matplotlib, or an installed font for letters that DejaVu lacks."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from string import ascii_letters, digits
from typing import Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font
from PIL import ImageFont

from batteries.errors import InputError
from batteries.tasks.jspsych_plugin import JsPsychPlugin
from batteries.tasks.psychopy_trial import PsychoPyTask
from experiment.lab.screens.text.shaping import shaped
from experiment.records import Source
from experiment.study.definition import Study

Style = Literal["regular", "bold", "italic", "mono"]

_NOT_FOR_READING = ("lastresort", "last resort", "adobeblank", "notdef", "emoji", "unifont")
"""Fonts with one of these texts in their names are never used.

They contain pictures, or the same sign for all letters.
"""


@dataclass(frozen=True)
class Typeface:
    """The font files of a study's screens. Several styles may use the same file."""

    regular: Path
    """Font with all characters of the study."""
    bold: Path
    italic: Path
    mono: Path

    def font(self, style: Style, size_px: int, shapes: bool = False) -> ImageFont.FreeTypeFont:
        """Return a font. If `shapes` is True, Pillow joins letters and orders them, as for example Arabic needs."""
        return _font(self._path(style), size_px, shapes)

    def has(self, style: Style, text: str) -> bool:
        """Return True if the font of a style has all characters of a text."""
        return _to_draw([text]) <= _glyphs(self._path(style))

    def _path(self, style: Style) -> Path:
        paths = {"regular": self.regular, "bold": self.bold, "italic": self.italic, "mono": self.mono}
        return paths[style]


@lru_cache(maxsize=512)
def _font(path: Path, size_px: int, shapes: bool) -> ImageFont.FreeTypeFont:
    engine = ImageFont.Layout.RAQM if shapes else ImageFont.Layout.BASIC
    return ImageFont.truetype(str(path), size_px, layout_engine=engine)


def _shipped(name: str) -> Path:
    return Path(matplotlib.get_data_path(), "fonts", "ttf", name)


DEJAVU = Typeface(
    _shipped("DejaVuSans.ttf"),
    _shipped("DejaVuSans-Bold.ttf"),
    _shipped("DejaVuSans-Oblique.ttf"),
    _shipped("DejaVuSansMono.ttf"),
)


def missing_glyphs(texts: Iterable[str], typeface: Typeface = DEJAVU) -> tuple[str, ...]:
    """Return the characters for which a typeface has no glyph, in order of their code points.

    Only the regular style is checked, because it replaces a style that lacks a character of a word.

    Parameters
    ----------
    texts
        The texts that a study shows.
    typeface
        The fonts to check.
    """
    return tuple(sorted(_to_draw(texts) - _glyphs(typeface.regular)))


def font_for(texts: Iterable[str]) -> Typeface:
    """Return fonts that have every character of the texts: DejaVu Sans if possible, otherwise an installed font.

    Running text uses one font family, so that no line mixes letters of two designs.

    Raises
    ------
    InputError
        If no font of this machine has all characters. The message names the characters and a font to install.
    """
    wanted = _to_draw(texts)
    missing = sorted(wanted - _glyphs(DEJAVU.regular))
    if not missing:
        return DEJAVU
    for entry in _installed():
        regular = Path(entry.fname)
        if wanted <= _glyphs(regular):
            bold = _of_family(entry.name, _is_bold) or regular
            return Typeface(regular, bold, _of_family(entry.name, _is_italic) or regular, DEJAVU.mono)
    named = ", ".join(f"{character} (U+{ord(character):04X})" for character in missing[:10])
    more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
    raise InputError(
        f"no font of this machine has all the characters of the study's texts; DejaVu Sans lacks {named}{more}. "
        "Fix: install one font that has all characters of the study, or replace these characters. On Debian and "
        "Ubuntu, install fonts-noto-cjk for Chinese, Japanese and Korean, or fonts-freefont-ttf for many other "
        "scripts. No such font has emoji, so replace emoji with words."
    )


def texts_of(study: Study) -> Iterator[str]:
    """Yield every text that a study can show in the laboratory."""
    for item in study.battery.items:
        if item.task not in {JsPsychPlugin.name, PsychoPyTask.name}:
            yield from _strings(item.content)
    yield from (study.page(name, Source.LAB) for name in study.definition.pages)
    for question in study.demographics:
        yield question.ask
        yield from question.options
    yield study.definition.title
    yield ascii_letters + digits  # Names of ports and keys.
    yield from study.words.by_name.values()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def _to_draw(texts: Iterable[str]) -> set[str]:
    characters = {
        character
        for text in texts
        for line in text.splitlines()
        for character in unicodedata.normalize("NFC", line) + shaped(line.expandtabs(1), "ltr").text
    }
    return {character for character in characters if unicodedata.category(character) not in {"Cf", "Cc"}}


@cache
def _glyphs(path: Path) -> frozenset[str]:
    """Return the characters of a font. If the file cannot be read, return no characters."""
    try:
        return frozenset(map(chr, FT2Font(str(path)).get_charmap()))
    except (RuntimeError, OSError, ValueError):
        return frozenset()


def _installed() -> list[font_manager.FontEntry]:
    """Return the upright fonts of ordinary weight for running text, sans serif first, always in the same order."""
    # matplotlib's cache lacks fonts that were installed later.
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in set(font_manager.findSystemFonts()) - known:
        with suppress(RuntimeError, OSError, ValueError):  # The file is broken, or is not a font.
            font_manager.fontManager.addfont(path)
    entries = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal"
        and entry.weight in {400, "normal", "regular"}
        and entry.stretch in {"normal", 400}
        and "mono" not in entry.name.lower()
        and not any(word in entry.name.lower() for word in _NOT_FOR_READING)
    ]
    return sorted(entries, key=lambda entry: ("sans" not in entry.name.lower(), entry.name, str(entry.fname)))


def _of_family(family: str, is_sought: Callable[[font_manager.FontEntry], bool]) -> Path | None:
    entries = (entry for entry in font_manager.fontManager.ttflist if entry.name == family and is_sought(entry))
    return next((Path(entry.fname) for entry in entries), None)


def _is_bold(entry: font_manager.FontEntry) -> bool:
    return entry.style == "normal" and entry.weight in {600, 700, "semibold", "bold"}


def _is_italic(entry: font_manager.FontEntry) -> bool:
    return entry.style in {"italic", "oblique"} and entry.weight in {400, "normal", "regular"}
