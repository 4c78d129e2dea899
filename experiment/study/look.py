"""The look of the participants' pages: a study's own colours and logo."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from batteries.stimulus.parts import AssetPath, Digest
from experiment.study.palette import (
    LEAST_OF_MARKS,
    LEAST_OF_TEXT,
    PALETTES,
    SCHEMES,
    Palette,
    Scheme,
    contrast,
    full,
    nearest,
    palette_on,
    scheme_of,
    text_on,
)

TRIALS = ", ".join(("#intertrial", "#loading", "#fixation", "#screen", "#stimulus", ".published-plugin"))
"""The elements (CSS) of the screens of a trial, from the interval before it to its feedback."""
_COLOUR = "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"
Colour = Annotated[str, Field(pattern=_COLOUR)]


def _is_none(value: object) -> bool:
    return value is None


class Look(BaseModel):
    """The study's own colours and logo. The laboratory's screens have only the background."""

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
    background: Colour | None = Field(
        default=None,
        description=(
            'Background of the trials in a browser and in the laboratory, in quotes, such as `"#808080"`, from the '
            "interval before a trial to its feedback. Texts on it are black or white. The pages between the trials "
            "keep their colours."
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

    @field_validator("accent", "accent_dark", "background", mode="before")
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
            return full(self.accent)
        return full(self.accent_dark) if self.accent_dark else nearest(self.accent, "dark", LEAST_OF_TEXT)

    @property
    def in_trials(self) -> Palette:
        """The colours of a trial in the laboratory."""
        if self.background is None:
            return PALETTES["light"]
        return palette_on(self.background, self.accent_in(scheme_of(self.background)))


def stylesheet(look: Look) -> str | None:
    """Return the rules (CSS) with a study's colours. None if the study has no colours of its own."""
    rules = []
    if look.accent is not None:
        light, dark = (f":root {{ {_rules(look, scheme)} }}" for scheme in SCHEMES)
        rules += [light, f"@media (prefers-color-scheme: dark) {{ {dark} }}"]
    if look.background is not None:
        colours = f"color-scheme: {scheme_of(look.background)}; {look.in_trials.css}"
        rules.append(f"@media screen {{ :root:has({TRIALS}) {{ {colours} }} }}")
    return "\n".join([*rules, ""]) if rules else None


def _rules(look: Look, scheme: Scheme) -> str:
    accent = look.accent_in(scheme)
    assert accent is not None
    # The text of a link needs more contrast than a button.
    link = accent if contrast(accent, PALETTES[scheme].paper) >= LEAST_OF_TEXT else "var(--ink)"
    return f"--accent: {accent}; --on-accent: {text_on(accent, scheme)}; --link: {link};"


def _check(field: str, colour: str | None, scheme: Scheme) -> None:
    if colour is None:
        return
    ratio = contrast(colour, PALETTES[scheme].paper)
    if ratio < LEAST_OF_MARKS:
        raise ValueError(
            f'`{field}` "{colour}" has a contrast of {int(ratio * 100) / 100}:1 with the {scheme} page, but buttons '
            f'need {LEAST_OF_MARKS:.0f}:1. Fix: write "{nearest(colour, scheme, LEAST_OF_MARKS)}", the nearest colour '
            "that passes."
        )
