"""The study's own colour and logo in `study.yaml`."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.load_study import MOST_LOGO_KB, load_study
from experiment.study.look import Look, stylesheet
from experiment.study.palette import (
    LEAST_OF_MARKS,
    LEAST_OF_TEXT,
    PALETTES,
    Scheme,
    contrast,
    nearest,
    palette_on,
    text_on,
)
from tests.paths import ROOT
from tests.picture_study import DRAWING, picture

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def with_look(folder: Path, look: str) -> Path:
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nlook: {look}\n")
    return folder


def with_logo(folder: Path, data: bytes = DRAWING.encode(), name: str = "logo.svg") -> Path:
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "assets" / name).write_bytes(data)
    return with_look(folder, f"{{logo: assets/{name}, logo_alt: The university}}")


def error_of(folder: Path) -> str:
    with pytest.raises(InputError) as error:
        load_study(folder)
    return str(error.value)


@given(COLOURS, st.sampled_from(["light", "dark"]))
def test_a_colour_is_refused_exactly_if_it_cannot_be_seen_and_the_proposed_colour_passes(
    colour: str, scheme: Scheme
) -> None:
    fields = {"accent": colour} if scheme == "light" else {"accent": "#000000", "accent_dark": colour}
    if contrast(colour, PALETTES[scheme].paper) >= LEAST_OF_MARKS:
        Look.model_validate(fields)
        return
    with pytest.raises(ValueError, match=colour) as error:
        Look.model_validate(fields)
    proposed = re.findall(r'"(#[0-9a-f]{6})"', str(error.value))[-1]
    assert contrast(proposed, PALETTES[scheme].paper) >= LEAST_OF_MARKS
    Look.model_validate(fields | {next(reversed(fields)): proposed})


@given(COLOURS)
def test_every_text_and_mark_in_the_colour_of_a_study_has_enough_contrast(colour: str) -> None:
    look = Look(accent=nearest(colour, "light", LEAST_OF_MARKS))
    rules = stylesheet(look)
    assert rules is not None
    for scheme, part in zip(PALETTES, rules.split("@media"), strict=True):
        found = dict(re.findall(r"--([\w-]+): ([^;]+);", part))
        assert contrast(found["accent"], PALETTES[scheme].paper) >= LEAST_OF_MARKS
        assert contrast(found["on-accent"], found["accent"]) >= LEAST_OF_TEXT
        assert found["link"] == "var(--ink)" or contrast(found["link"], PALETTES[scheme].paper) >= LEAST_OF_TEXT


def test_the_palettes_have_the_colours_of_the_pages() -> None:
    css = (ROOT / "experiment/web/src/style/colours.css").read_text(encoding="utf-8")
    for palette, part in zip(PALETTES.values(), css.split("@media"), strict=True):
        assert dict(re.findall(r"(--[\w-]+): ([^;]+);", palette.css)) == dict(re.findall(r"(--[\w-]+): ([^;]+);", part))


@given(COLOURS, COLOURS)
def test_every_text_and_mark_of_a_trial_has_enough_contrast_on_any_background(background: str, accent: str) -> None:
    accent = nearest(accent, "light", LEAST_OF_MARKS)
    found = palette_on(background, accent)
    assert found.paper == background
    for text in (found.ink, found.ink_soft, found.link, found.right, found.wrong, found.choice):
        for behind in (found.paper, found.panel):
            assert contrast(text, behind) >= LEAST_OF_TEXT
    for behind in (found.choice_soft, found.right_soft, found.wrong_soft):
        assert contrast(found.ink, behind) >= LEAST_OF_TEXT
    for text, behind in (
        (found.on_accent, found.accent),
        (found.on_choice, found.choice),
        (found.on_right, found.right),
        (found.paper, found.atom),
    ):
        assert contrast(text, behind) >= LEAST_OF_TEXT
    for mark in (found.line_strong, found.accent, found.grid, found.atom):
        assert contrast(mark, found.paper) >= LEAST_OF_MARKS
    rules = stylesheet(Look(background=background, accent=accent))
    assert rules is not None and found.ink in rules and f"--paper: {background};" in rules


def test_white_on_a_dark_colour_and_black_on_a_light_one() -> None:
    assert text_on("#0a7d5c", "light") == "#ffffff"
    assert text_on("#ff8800", "light") == "#000000"


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ('{accent: "#ffe100"}', ["`accent` \"#ffe100\" has a contrast of 1.31:1", "3:1", 'Fix: write "#a99500"']),
        ('{accent: "#0a5", accent_dark: "#033"}', ["`accent_dark`", "1.29:1 with the dark page"]),
        ("\n  accent: #0a5\n  logo_alt: x", ["the colour is empty", "with the quotes"]),
        ("{accent: green}", ["the colour is `green`"]),
        ("{background: grey}", ["background", "the colour is `grey`"]),
        ("\n  background: #808080", ["the colour is empty", "with the quotes"]),
        ('{accent_dark: "#9fd"}', ["add `accent`"]),
        ("{logo: assets/logo.svg}", ["add `logo_alt`"]),
        ("{logo: ../logo.svg, logo_alt: x}", ["`../logo.svg`", "inside the folder `assets`"]),
        ("{logo: assets/no.svg, logo_alt: x}", ["assets/no.svg: this file does not exist"]),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_sentence_with_the_line_and_the_fix(study_folder: Path, look: str, words: list[str]) -> None:
    message = error_of(with_look(study_folder, look))
    assert re.search(r"study\.yaml, line \d+", message)
    assert "Fix: " in message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_digest_has_the_logo_and_is_unchanged_without_a_look(study_folder: Path) -> None:
    plain = load_study(study_folder).digest
    assert load_study(with_logo(study_folder)).digest != plain
    first = load_study(study_folder)
    (study_folder / "assets" / "logo.svg").write_text(DRAWING.replace("red", "blue"), encoding="utf-8")
    second = load_study(study_folder)
    assert first.digest != second.digest
    assert first.battery.digest == second.battery.digest


def test_the_digest_of_a_study_without_a_look_is_the_digest_before_looks_existed(study_folder: Path) -> None:
    definition = load_study(study_folder).definition
    assert "look" not in definition.model_dump(mode="json", exclude_defaults=True)


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (DRAWING.replace("<circle", "<script/><circle").encode(), "logo.svg", "`script`"),
        (picture("PNG")[:45], "logo.png", "logo.png"),
        (picture("PNG"), "logo.jpg", "is PNG"),
        (DRAWING.encode() + b" " * 1000 * (MOST_LOGO_KB + 1), "logo.svg", f"the limit is {MOST_LOGO_KB} kB"),
    ],
)
def test_an_unsafe_damaged_or_large_logo_is_refused(study_folder: Path, data: bytes, name: str, words: str) -> None:
    message = error_of(with_logo(study_folder, data, name))
    assert words in message
    assert "study.yaml, line" in message
