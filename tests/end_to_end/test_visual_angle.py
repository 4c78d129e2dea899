"""Degrees of visual angle in a real browser: the calibration with a card, and sizes and positions on the page."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from experiment.texts import catalogue
from tests.end_to_end.test_accessibility import look_at
from tests.end_to_end.visitor import DESKTOP, PHONE, Hand, Visitor, Walker, measure_screen, simulated
from tests.picture_study import make_picture_study
from tests.server_process import running_server

DISTANCE_CM = 50
CARD_CM, CARD_SHORT_CM = 8.56, 5.398
TOUCH = {"has_touch": True, "is_mobile": True}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study whose practice shows pictures in degrees: two beside the centre, and one above them in the text."""
    folder = make_picture_study(tmp_path / "study")
    lines = [json.loads(line) for line in (folder / "battery.jsonl").read_text(encoding="utf-8").splitlines()]
    red = lines[1]["content"]["stimulus"][0]
    lines[1]["content"]["stimulus"] = [
        {"image": "assets/circle.svg", "alt": "A circle", "width_deg": 3},
        red | {"width_deg": 4, "x_deg": 5, "y_deg": 2},
        {"image": "assets/blue-is-right.png", "alt": "A blue square", "width_deg": 2, "x_deg": -5},
    ]
    (folder / "battery.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"device: {{phones: true, sound: false, calibration: true, distance_cm: {DISTANCE_CM}}}\n")
    return folder


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with running_server(folder) as url:
        yield url


def boxes(visitor: Visitor) -> dict[str, dict[str, float]]:
    """Return the boxes of the pictures on the screen, by their descriptions."""
    found: dict[str, dict[str, float]] = visitor.page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("#stimulus img")].map((image) => {
          const {x, y, width, height} = image.getBoundingClientRect();
          return [image.alt, {x: x + width / 2, y: y + height / 2, width, height}];
        }))"""
    )
    return found


def assert_in_degrees(visitor: Visitor, px_per_cm: float) -> None:
    """Check the pictures of the practice trial: exact sizes, and exact places around the middle of their area."""
    cm = {deg: 2 * DISTANCE_CM * math.tan(math.radians(deg) / 2) for deg in (2, 3, 4)}
    found = boxes(visitor)
    circle, red, blue = (found[f"A {name}"] for name in ("circle", "red square", "blue square"))
    for box, degrees in ((circle, 3), (red, 4), (blue, 2)):
        assert box["width"] == pytest.approx(px_per_cm * cm[degrees], abs=0.1)
    assert red["height"] / red["width"] == pytest.approx(4 / 6, rel=0.01)
    offset_px = {deg: px_per_cm * DISTANCE_CM * math.tan(math.radians(deg)) for deg in (2, 5)}
    middle = visitor.page.evaluate(
        "(({x, width}) => x + width / 2)(document.querySelector('.stimulus-parts').getBoundingClientRect())"
    )
    assert red["x"] - middle == pytest.approx(offset_px[5], abs=0.6)
    assert blue["x"] - middle == pytest.approx(-offset_px[5], abs=0.6)
    assert blue["y"] - red["y"] == pytest.approx(offset_px[2], abs=0.6)
    assert circle["y"] + circle["height"] / 2 < red["y"] - red["height"] / 2, "the pictures overlap"


@pytest.mark.parametrize(("hand", "options", "card_cm"), [
    ("mouse", {"viewport": DESKTOP}, CARD_CM),
    ("keyboard", {"viewport": DESKTOP}, CARD_CM),
    ("touch", {"viewport": PHONE, **TOUCH}, CARD_SHORT_CM),
])  # fmt: skip
def test_the_screen_is_measured_with_a_card_and_pictures_have_their_size_in_degrees(
    visit: Any, url: str, folder: Path, query: Any, hand: Hand, options: dict[str, Any], card_cm: float
) -> None:
    visitor: Visitor = visit(url, **options)
    page = visitor.page
    width_px = 300
    page.click("#page-next")
    expect(page.locator("#calibration-done")).to_be_disabled()
    assert query(folder, "SELECT * FROM sessions") == []
    card = page.locator(".card").bounding_box()
    assert card is not None
    assert card["width"] / card["height"] == pytest.approx(card_cm / (CARD_CM + CARD_SHORT_CM - card_cm), rel=0.01)
    if hand == "keyboard":
        page.locator("#card-size").focus()
    measure_screen(page, hand, width_px)
    expect(page.locator("#viewing-distance")).to_contain_text("50 cm")
    expect(page.locator("#viewing-distance")).to_contain_text("5.8 times")
    page.click("#distance-done")
    page.click("#page-next:text-is('Begin')")
    visitor.wait_for_trial()
    (opened,) = query(folder, "SELECT device FROM visits")
    device = json.loads(opened["device"])
    assert device["px_per_cm"] == pytest.approx(width_px / card_cm)
    assert device["distance_cm"] == DISTANCE_CM
    if hand != "touch":  # on the phone, the pictures are wider than the screen
        assert_in_degrees(visitor, width_px / card_cm)
    visitor.shoot_everywhere("degrees")


def test_a_reload_asks_again_only_if_the_zoom_has_changed(visit: Any, url: str, folder: Path, query: Any) -> None:
    visitor: Visitor = visit(url)
    page = visitor.page
    page.click("#page-next")
    measure_screen(page, width_px=350)
    page.click("#distance-done")
    page.click("#page-next:text-is('Begin')")
    visitor.wait_for_trial()
    page.reload()
    page.click("#page-next")
    visitor.wait_for_trial()
    assert_in_degrees(visitor, 350 / CARD_CM)
    devtools = visitor.context.new_cdp_session(page)
    zoomed = {"width": 1280, "height": 800, "deviceScaleFactor": 1.5, "mobile": False}
    devtools.send("Emulation.setDeviceMetricsOverride", zoomed)
    page.reload()
    measure_screen(page, width_px=300)
    page.click("#distance-done")
    page.click("#page-next")
    visitor.wait_for_trial()
    assert_in_degrees(visitor, 300 / CARD_CM)
    measured = [json.loads(row["device"])["px_per_cm"] for row in query(folder, "SELECT device FROM visits")]
    assert measured == pytest.approx([350 / CARD_CM, 350 / CARD_CM, 300 / CARD_CM])


def test_a_participant_without_a_card_takes_part_and_the_record_says_so(
    visit: Any, url: str, folder: Path, query: Any
) -> None:
    visitor: Visitor = visit(url)
    visitor.page.click("#page-next")
    visitor.page.click("#calibration-none")
    visitor.page.click("#distance-done")
    visitor.page.click("#page-next:text-is('Begin')")
    visitor.wait_for_trial()
    (opened,) = query(folder, "SELECT device FROM visits")
    assert json.loads(opened["device"])["px_per_cm"] is None
    assert_in_degrees(visitor, 96 / 2.54)


def test_a_walk_to_the_end_leaves_no_measures_in_the_browser(visit: Any, url: str) -> None:
    visitor: Visitor = visit(url)
    kept = "Object.keys(localStorage).filter((key) => key.startsWith('equipoise'))"
    walker = Walker(visitor, answer=lambda _prompt: 1)
    walker.to("trial")
    assert "equipoise-screen" in visitor.page.evaluate(kept)
    visitor.page.click("#leave-study")
    visitor.page.click("#leave-confirm")
    expect(visitor.page.locator("#withdrawn")).to_be_visible()
    assert visitor.page.evaluate(kept) == []


def test_a_simulation_needs_no_card(visit: Any, url: str, folder: Path, rows: Any) -> None:
    visitor: Visitor = visit(simulated(url, folder))
    visitor.page.locator("#completion-code").wait_for(timeout=60_000)
    assert {row["kind"] for row in rows(folder)} == {"simulated"}


@pytest.mark.parametrize("language", ["en", "de", "es", "ar"])
def test_the_calibration_is_accessible_in_every_language(visit: Any, folder: Path, language: str) -> None:
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"language: {language}\n")
    words = catalogue(language)
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.click("#page-next")
        expect(page.locator("#calibration h1")).to_have_text(words["calibration_title"])
        look_at(visitor, f"calibration-{language}")
        page.click("#calibration-none")
        expect(page.locator("#viewing-distance h1")).to_have_text(words["distance_title"])
        look_at(visitor, f"distance-{language}")
