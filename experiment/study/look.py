"""The look of the participants' pages: a study's own colour and logo, and the contrast of the colour.

Contrast is computed as in WCAG 2.2 (relative luminance, success criteria 1.4.3 and 1.4.11).
"""

import colorsys
import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from batteries.stimulus.parts import AssetPath, Digest

PAPER = {"light": "#ffffff", "dark": "#15181c"}
"""Background of the pages in the two colour schemes, as in `web/src/style/colours.css`."""
TEXT_ON_ACCENT = {"light": ("#ffffff", "#000000"), "dark": ("#0b1a2a", "#000000", "#ffffff")}
"""Colours of the text on a button, in the order of preference. At least one of black and white has enough contrast."""
LEAST_OF_MARKS = 3.0
"""Least contrast of buttons and lines with the page (WCAG 1.4.11)."""
LEAST_OF_TEXT = 4.5
"""Least contrast of a text with its background (WCAG 1.4.3)."""

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
_COLOUR = "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"
Colour = Annotated[str, Field(pattern=_COLOUR)]


def _is_none(value: object) -> bool:
    return value is None


class Look(BaseModel):
    """The study's own colour and logo on the participants' pages in a browser.

    The laboratory's screens have their own colours, and no logo.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    accent: Colour | None = Field(
        default=None,
        description='Colour of buttons, links and the progress bar, in quotes, such as `"#0a7d5c"`.',
        exclude_if=_is_none,
    )
    accent_dark: Colour | None = Field(
        default=None,
        description=(
            "The same on a device with dark colours. If omitted: `accent`, made lighter until it has enough contrast."
        ),
        exclude_if=_is_none,
    )
    logo: AssetPath | None = Field(
        default=None,
        description=(
            "PNG, JPEG, WebP or SVG file in the folder `assets` of the study, such as `assets/logo.svg`. It is shown "
            "above the pages before and after the questions."
        ),
        exclude_if=_is_none,
    )
    logo_alt: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The logo in words, for screen readers, such as the name of the university.",
        exclude_if=_is_none,
    )
    logo_sha256: Digest | None = Field(
        default=None, description="SHA-256 of the logo's file. Reading the study fills it in.", exclude_if=_is_none
    )

    @field_validator("accent", "accent_dark", mode="before")
    @classmethod
    def _is_colour(cls, value: object) -> object:
        # Without quotes, YAML reads a colour as a comment, and the field is empty.
        if not isinstance(value, str) or not re.match(_COLOUR, value):
            found = "empty" if value is None else f"`{str(value)[:40]}`"
            raise ValueError(f'the colour is {found}. Fix: write a colour such as "#0a7d5c", with the quotes.')
        return value

    @model_validator(mode="after")
    def _fits(self) -> "Look":
        if self.accent is None and self.accent_dark is not None:
            raise ValueError("`accent_dark` is given without `accent`. Fix: add `accent`.")
        if (self.logo is None) != (self.logo_alt is None):
            missing = "logo" if self.logo is None else "logo_alt"
            raise ValueError(f"`logo` and `logo_alt` belong together. Fix: add `{missing}`.")
        _check("accent", self.accent, "light")
        _check("accent_dark", self.accent_dark, "dark")
        return self

    def accent_in(self, scheme: Scheme) -> str | None:
        """Return the accent in a colour scheme, as `#rrggbb`. None if the study has no colour of its own."""
        if self.accent is None:
            return None
        if scheme == "light":
            return _hex(_rgb(self.accent))
        return _hex(_rgb(self.accent_dark)) if self.accent_dark else nearest(self.accent, "dark", LEAST_OF_TEXT)


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


def nearest(colour: str, scheme: Scheme, least: float) -> str:
    """Return the colour of the same hue with the nearest lightness that has enough contrast with the page.

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
        if contrast(found, PAPER[scheme]) >= least:
            return found
    raise AssertionError("black on white, or white on the dark page, has enough contrast")


def text_on(colour: str, scheme: Scheme) -> str:
    """Return the colour for a text on a button of this colour."""
    return next(text for text in TEXT_ON_ACCENT[scheme] if contrast(text, colour) >= LEAST_OF_TEXT)


def stylesheet(look: Look) -> str | None:
    """Return the rules (CSS) with a study's colour. None if the study has no colour of its own."""
    if look.accent is None:
        return None
    light, dark = (f":root {{ {_rules(look, scheme)} }}" for scheme in SCHEMES)
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"


def _rules(look: Look, scheme: Scheme) -> str:
    accent = look.accent_in(scheme)
    assert accent is not None
    # The text of a link needs more contrast than a button.
    link = accent if contrast(accent, PAPER[scheme]) >= LEAST_OF_TEXT else "var(--ink)"
    return f"--accent: {accent}; --on-accent: {text_on(accent, scheme)}; --link: {link};"


def _check(field: str, colour: str | None, scheme: Scheme) -> None:
    if colour is None:
        return
    ratio = contrast(colour, PAPER[scheme])
    if ratio < LEAST_OF_MARKS:
        raise ValueError(
            f'`{field}` "{colour}" has a contrast of {int(ratio * 100) / 100}:1 with the {scheme} page, but buttons '
            f'need {LEAST_OF_MARKS:.0f}:1. Fix: write "{nearest(colour, scheme, LEAST_OF_MARKS)}", the nearest colour '
            "that passes."
        )


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
