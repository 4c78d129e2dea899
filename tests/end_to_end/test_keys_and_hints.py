"""Response keys on other keyboard layouts, and hints that fit the device, in a real browser with a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from experiment.texts import catalogue
from tests.end_to_end.visitor import DESKTOP, Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

TABLET = {"viewport": {"width": 820, "height": 1180}, "has_touch": True, "is_mobile": True}
CONTROL, ALT, SHIFT = 2, 1, 8


def press(visitor: Visitor, key: str, code: str, modifiers: int = 0) -> None:
    """Press a key that types `key` on the layout of the keyboard, at the position `code`."""
    session = visitor.context.new_cdp_session(visitor.page)
    for kind in ("keyDown", "keyUp"):
        session.send("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": code, "modifiers": modifiers})
    session.detach()


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = make_whole_study(tmp_path_factory.mktemp("keys") / "study")
    with running_server(folder) as url:
        yield url, folder


@pytest.mark.parametrize(
    ("key", "code"), [("é", "Digit2"), ("٢", "Digit2"), ("۲", "Numpad2"), ("Process", "Digit2")]
)  # fmt: skip
def test_a_digit_key_of_another_layout_gives_the_response(
    visit: Any, stories: tuple[str, Path], rows: Any, key: str, code: str
) -> None:
    url, folder = stories
    visitor: Visitor = visit(url)
    Walker(visitor).to_trial(2)
    visitor.wait_for_trial()
    question = visitor.question
    press(visitor, key, code)
    visitor.next_question(question)
    visitor.wait_until("!Object.keys(localStorage).some((key) => key.startsWith('equipoise-response-'))")
    latest = [row for row in rows(folder) if row["response"] is not None and row["trial_index"] >= 2]
    assert {json.loads(row["response"]) for row in latest} == {2}


def test_a_key_with_a_modifier_is_not_a_response(visit: Any, stories: tuple[str, Path]) -> None:
    visitor: Visitor = visit(stories[0])
    Walker(visitor).to_trial(2)
    visitor.wait_for_trial()
    question = visitor.question
    press(visitor, "2", "Digit2", CONTROL)
    press(visitor, "é", "Digit2", ALT)
    press(visitor, "@", "Digit2", CONTROL | ALT)
    press(visitor, "@", "Digit2", SHIFT)
    press(visitor, "ArrowDown", "Numpad2")
    visitor.page.wait_for_timeout(300)
    assert visitor.question == question
    press(visitor, "2", "Digit2", SHIFT)  # On a French keyboard, the digits need the shift key.
    visitor.next_question(question)


@pytest.mark.parametrize(
    ("letter", "side"),
    [(("ы", "KeyS"), "SOUTH"), (("ц", "KeyW"), "WEST"), (("ى", "KeyN"), "NORTH"), (("s", "Semicolon"), "SOUTH")],
)
def test_a_letter_key_of_another_script_chooses_an_edge(
    visit: Any, server: str, letter: tuple[str, str], side: str
) -> None:
    visitor: Visitor = visit(server)
    visitor.begin()
    visitor.wait_for_trial()
    press(visitor, *letter)
    press(visitor, "٣", "Digit3")
    expect(visitor.page.locator("#response-text")).to_have_text(f"Your answer: {side} 3")


def test_a_latin_letter_counts_as_typed_and_not_by_its_position(visit: Any, server: str) -> None:
    """On a French keyboard, Q is where A is on an English keyboard."""
    visitor: Visitor = visit(server)
    visitor.begin()
    visitor.wait_for_trial()
    press(visitor, "q", "KeyA")
    expect(visitor.page.locator("#response-text")).to_contain_text("Choose a place")
    press(visitor, "a", "KeyQ")
    expect(visitor.page.locator("#response-text")).to_have_text("Your answer: Absorbed")


def test_hints_on_a_touch_screen_name_neither_keys_nor_clicks(visit: Any, stories: tuple[str, Path]) -> None:
    visitor: Visitor = visit(stories[0], **TABLET)
    shown: list[str] = []
    walker = Walker(visitor, "touch", lambda stage: shown.append(visitor.page.locator("main").inner_text()))
    walker.to_trial(1)
    visitor.wait_for_trial()
    shown.append(visitor.page.locator("main").inner_text())
    text = "\n".join(shown)
    assert catalogue("en")["fullscreen_touch"] in text
    assert catalogue("en")["multiple_choice_help_touch"] in text
    assert "Esc" not in text
    assert "click" not in text


def test_a_key_brings_back_the_hints_about_keys(visit: Any, stories: tuple[str, Path]) -> None:
    visitor: Visitor = visit(stories[0], **TABLET)
    Walker(visitor, "touch").to_trial(2)
    visitor.answer()  # with a keyboard
    visitor.wait_for_trial()
    expect(visitor.page.locator("#stimulus > .hint").last).to_have_text(catalogue("en")["multiple_choice_help"])


def test_a_board_on_a_touch_screen_explains_no_keys(visit: Any, server: str) -> None:
    for options, hand, n_helps in ((TABLET, "touch", 0), ({"viewport": DESKTOP}, "mouse", 1)):
        visitor: Visitor = visit(server, **options)
        Walker(visitor, hand).to("trial")
        expect(visitor.page.locator(".keyboard-help")).to_have_count(n_helps)
