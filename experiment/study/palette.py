"""The colours of a participant's screen, and the contrast of two colours.

Contrast is computed as in WCAG 2.2 (relative luminance, success criteria 1.4.3 and 1.4.11).
"""

import colorsys
from dataclasses import dataclass, fields, replace
from typing import Literal

LEAST_OF_MARKS = 3.0
"""Least contrast of buttons and lines with the page (WCAG 1.4.11)."""
LEAST_OF_TEXT = 4.5
"""Least contrast of a text with its background (WCAG 1.4.3)."""

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

_SHARE_OF_PANEL = 0.2
"""Difference of a panel from a study's background, as a share of the way to white or black."""


@dataclass(frozen=True)
class Palette:
    """The colours of a screen, as `#rrggbb`. In a browser, each field is a custom property of the same name."""

    paper: str
    """Background."""
    ink: str
    ink_soft: str
    line: str
    """Lines that only divide; they may have less contrast."""
    line_strong: str
    panel: str
    accent: str
    """Buttons and the port where a ray enters."""
    on_accent: str
    link: str
    choice: str
    """The participant's own response."""
    on_choice: str
    choice_soft: str
    right: str
    on_right: str
    right_soft: str
    wrong: str
    wrong_soft: str
    atom: str
    grid: str

    @property
    def css(self) -> str:
        """The custom properties (CSS)."""
        return " ".join(f"--{each.name.replace('_', '-')}: {getattr(self, each.name)};" for each in fields(self))


PALETTES: dict[Scheme, Palette] = {
    "light": Palette(
        paper="#ffffff",
        ink="#1b1f24",
        ink_soft="#525b66",
        line="#c9d0d8",
        line_strong="#6f7985",
        panel="#f3f5f7",
        accent="#0b57a4",
        on_accent="#ffffff",
        link="#0b57a4",
        choice="#8a4b00",
        on_choice="#ffffff",
        choice_soft="#fdf0dc",
        right="#146c2e",
        on_right="#ffffff",
        right_soft="#e4f4e8",
        wrong="#a3261b",
        wrong_soft="#fcebe9",
        atom="#1b1f24",
        grid="#8a949f",
    ),
    "dark": Palette(
        paper="#15181c",
        ink="#eceff2",
        ink_soft="#aab4bf",
        line="#3b434c",
        line_strong="#8a95a1",
        panel="#20252b",
        accent="#7db8f5",
        on_accent="#0b1a2a",
        link="#7db8f5",
        choice="#f0b35c",
        on_choice="#241500",
        choice_soft="#3a2a12",
        right="#7dd397",
        on_right="#06210e",
        right_soft="#17331f",
        wrong="#f59a90",
        wrong_soft="#3d1f1c",
        atom="#eceff2",
        grid="#66717d",
    ),
}
"""The colours of the pages in the two colour schemes, as in `web/src/style/colours.css`."""


def scheme_of(background: str) -> Scheme:
    """Return the scheme in which texts have more contrast with a background: `light` has black texts."""
    return "light" if contrast(background, "#000000") >= contrast(background, "#ffffff") else "dark"


def palette_on(background: str, accent: str | None = None) -> Palette:
    """Return the colours of screens with a background of any colour.

    Texts are black or white. The other colours keep their hue, and become darker or lighter until they have the
    contrast of a text.

    Parameters
    ----------
    background
        The background, as `#rgb` or `#rrggbb`.
    accent
        The study's own colour of buttons; None for the usual colour.
    """
    paper, scheme = full(background), scheme_of(background)
    usual = PALETTES[scheme]
    ink, opposite = ("#000000", "#ffffff") if scheme == "light" else ("#ffffff", "#000000")

    def legible(colour: str) -> str:
        return nearest(colour, scheme, LEAST_OF_TEXT, paper)

    accent, choice, right, wrong = map(legible, (accent or usual.accent, usual.choice, usual.right, usual.wrong))
    return replace(
        usual,
        paper=paper,
        ink=ink,
        ink_soft=ink,
        line=_between(paper, ink, 0.3),
        line_strong=ink,
        panel=_between(paper, opposite, _SHARE_OF_PANEL),
        accent=accent,
        on_accent=text_on(accent, scheme),
        link=accent,
        choice=choice,
        on_choice=text_on(choice, scheme),
        right=right,
        on_right=text_on(right, scheme),
        wrong=wrong,
        atom=ink,
        grid=ink,
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21.

    Examples
    --------
    >>> contrast("#fff", "#000")
    21.0
    >>> round(contrast("#777777", "#fff"), 2)
    4.48
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def nearest(colour: str, scheme: Scheme, least: float, paper: str | None = None) -> str:
    """Return the colour of the same hue with the nearest lightness that has enough contrast with the page.

    In the light scheme the colour becomes darker, and in the dark scheme lighter. `paper` is the background; None for
    that of the scheme's pages.

    Examples
    --------
    >>> nearest("#0a7d5c", "light", 3)
    '#0a7d5c'
    >>> nearest("#ffe100", "light", 3)
    '#a99500'
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    end = 0.0 if scheme == "light" else 1.0
    steps = 512
    for step in range(steps + 1):
        found = _hex(colorsys.hls_to_rgb(hue, lightness + (end - lightness) * step / steps, saturation))
        if contrast(found, paper or PALETTES[scheme].paper) >= least:
            return found
    raise AssertionError("black or white has enough contrast")


def text_on(colour: str, scheme: Scheme) -> str:
    """Return the colour for a text on a button of this colour. At least one of black and white has enough contrast."""
    preferred = (PALETTES[scheme].on_accent, "#000000", "#ffffff")
    return next(text for text in preferred if contrast(text, colour) >= LEAST_OF_TEXT)


def full(colour: str) -> str:
    """Return a colour such as `#fff` as `#rrggbb`."""
    return _hex(_rgb(colour))


def _between(one: str, other: str, share: float) -> str:
    red, green, blue = (a + (b - a) * share for a, b in zip(_rgb(one), _rgb(other), strict=True))
    return _hex((red, green, blue))


def _rgb(colour: str) -> tuple[float, float, float]:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def _luminance(colour: str) -> float:
    parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _rgb(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
