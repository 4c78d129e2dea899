"""The sheet of a session: the properties that all its screens share, such as sizes, fonts and texts.

All sizes are in proportion to the window's height. In a narrow window, all sizes are in proportion to the window's
width. A screen therefore looks the same at 1024 x 768 and at 3840 x 2160.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, radians, tan
from pathlib import Path

from experiment.lab.media.files import media_folder
from experiment.lab.screens.text.fonts import Typeface, font_for, texts_of
from experiment.lab.screens.text.shaping import Direction
from experiment.study.definition import Study
from experiment.study.palette import PALETTES, Palette
from experiment.texts import Texts

LETTERS_PER_LINE = 75
"""Number of characters in the longest line. After a longer line, readers lose the start of the next line."""

_SAMPLE = (
    "Many stories speak of you: imagine that you were there, and think of things as they usually are in everyday life."
)


_PICTURE_SHARES = (0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""Greatest height of a picture, as a share of the height between the margins, from large to small."""
_COMFORTABLE_SHARE = 0.35


@dataclass(frozen=True)
class Viewing:
    """Size of the screen and distance of the participant, from the monitor file of PsychoPy."""

    px_per_cm: float
    distance_cm: float

    def width_px(self, degrees: float) -> float:
        """Return the width of a picture with a visual angle, in pixels."""
        return 2 * self.distance_cm * tan(radians(degrees / 2)) * self.px_per_cm

    def offset_px(self, degrees: float) -> float:
        """Return the distance of a point from the centre, in pixels."""
        return self.distance_cm * tan(radians(degrees)) * self.px_per_cm


@dataclass(frozen=True)
class ItemSize:
    """Sizes in which an item is drawn."""

    letters_px: int
    """Font size."""
    picture_px: int
    """Greatest height of a picture."""


@dataclass(frozen=True)
class Sheet:
    """Properties that all screens of a session share."""

    size_px: tuple[int, int]
    """Width and height of the window, in pixels."""
    typeface: Typeface
    words: Texts
    """Equipoise's texts in the study's language, and the direction of the study's script."""
    escape_hint: str = ""
    """Hint about the escape key, at the bottom of a screen; empty for no hint."""
    rules_hint: str = ""
    """Hint about the key that opens the rules, at the bottom of a trial's screen; empty for no hint."""
    item_px: int | None = None
    """Font size in pixels in which all items fit; None until `trial.with_even_letters` has computed it."""
    picture_px: int | None = None
    """Greatest height of a picture with which all items fit, in pixels; None before `trial.with_even_letters`."""
    media_folder: Path | None = None
    """Folder of the battery, with the files of its pictures, sounds and videos; None if it has no files."""
    viewing: Viewing | None = None
    """Measures of the screen, for sizes in degrees; None if they are not known."""
    colours: Palette = PALETTES["light"]
    """The colours of this screen."""
    colours_in_trials: Palette = PALETTES["light"]
    """The colours of the screens of a trial, from the interval before it to its feedback."""

    @classmethod
    def of(cls, study: Study, size_px: tuple[int, int], viewing: Viewing | None = None) -> "Sheet":
        """Return the sheet of a study for a window of this size. Its font has every character of the study's texts.

        Raises
        ------
        InputError
            If no installed font has all characters.
        """
        labels = ("leave", "contact") if study.definition.timeline.contact else ("leave",)
        words = " · ".join(map(study.words.say, labels))
        rules = study.words.say("rules") if study.definition.timeline.rules else ""
        typeface, folder = font_for(texts_of(study)), media_folder(study)
        return cls(
            size_px,
            typeface,
            study.words,
            words,
            rules,
            media_folder=folder,
            viewing=viewing,
            colours_in_trials=study.definition.look.in_trials,
        )

    @property
    def in_trials(self) -> "Sheet":
        """The same sheet with the colours of a trial."""
        return replace(self, colours=self.colours_in_trials)

    @property
    def direction(self) -> Direction:
        """Direction in which the study's lines are read."""
        return self.words.direction

    @property
    def _unit_px(self) -> float:
        width, height = self.size_px
        return min(height, 0.75 * width) / 768

    def px(self, at_768: float) -> int:
        """Convert a length on a screen of 1024 x 768 px to a length in this window.

        The result is at least one pixel.
        """
        return max(1, round(at_768 * self._unit_px))

    @property
    def body_px(self) -> int:
        """Font size of running text in pixels: 1/40 of the window's height, or less in a narrow window."""
        return self.px(768 / 40)

    @property
    def body_sizes_px(self) -> Iterator[int]:
        """Font sizes in pixels for running text that must fit one screen, from large to small.

        The smallest font size is 1/48 of the window's height, or less in a narrow window.
        """
        return iter(range(self.body_px, ceil(16 * self._unit_px) - 1, -1))

    def item_sizes_px(self, has_feedback: bool) -> Iterator[int]:
        """Font sizes for an item in pixels, from large to small.

        With feedback, smaller sizes are allowed, because the participant has already read the item.
        """
        smallest_px = ceil((12 if has_feedback else 16) * self._unit_px)
        return iter(range(self.item_px or self.body_px, smallest_px - 1, -1))

    def item_sizes(self, has_feedback: bool, has_pictures: bool) -> Iterator[ItemSize]:
        """Yield the sizes of an item with a question, from large to small.

        First pictures become smaller, but not smaller than a comfortable size, then letters, then pictures again. So an
        item that fits in one of these sizes also fits in all later sizes.
        """
        letters = list(self.item_sizes_px(has_feedback=False))
        smaller = [each for each in self.item_sizes_px(has_feedback) if each < letters[-1]]
        n_large = _PICTURE_SHARES.index(_COMFORTABLE_SHARE) + 1 if has_pictures else 1
        most_px = self.picture_px or self.size_px[1]
        pictures = [min(most_px, round(share * self.inside_px[1])) for share in _PICTURE_SHARES]
        for picture_px in pictures[:n_large]:
            yield ItemSize(letters[0], picture_px)
        for letters_px in letters[1:]:
            yield ItemSize(letters_px, pictures[n_large - 1])
        for picture_px in pictures[n_large:] if has_pictures else ():
            yield ItemSize(letters[-1], picture_px)
        for letters_px in smaller:
            yield ItemSize(letters_px, pictures[-1])

    @property
    def picture_zoom(self) -> float:
        """Pixels of the screen for each pixel of a picture's file, if there is space: 1 on a screen of 1024 x 768."""
        return self._unit_px

    @property
    def target_px(self) -> int:
        """Smallest width and height of a clickable region, in pixels."""
        return ceil(32 * self._unit_px)

    @property
    def margins_px(self) -> tuple[int, int]:
        """Margin at the left and right, and margin at the top and bottom, in pixels."""
        width, height = self.size_px
        return round(width / 25), round(height / 30)

    @property
    def inside_px(self) -> tuple[int, int]:
        """Width and height between the margins, in pixels."""
        (width, height), (side, above) = self.size_px, self.margins_px
        return width - 2 * side, height - 2 * above

    @property
    def column_px(self) -> int:
        """Width of running text in pixels: about 75 Latin letters, and at most the width between the margins."""
        sample_px = self.typeface.font("regular", self.body_px).getlength(_SAMPLE)
        return min(self.inside_px[0], round(sample_px / len(_SAMPLE) * LETTERS_PER_LINE))


class Colour(StrEnum):
    """The use of a colour. The palette of a screen says which colour that is (`Palette`)."""

    PAPER = "paper"
    INK = "ink"
    INK_SOFT = "ink_soft"
    LINE = "line"
    LINE_STRONG = "line_strong"
    PANEL = "panel"
    ACCENT = "accent"
    ON_ACCENT = "on_accent"
    CHOICE = "choice"
    ON_CHOICE = "on_choice"
    CHOICE_SOFT = "choice_soft"
    RIGHT = "right"
    ON_RIGHT = "on_right"
    RIGHT_SOFT = "right_soft"
    WRONG = "wrong"
    WRONG_SOFT = "wrong_soft"
    ATOM = "atom"
    GRID = "grid"
