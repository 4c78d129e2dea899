"""Pictures, sounds, videos and several answers in a real browser."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Route, expect

from tests.end_to_end.visitor import PHONE, Visitor, pass_sound_check, simulated
from tests.picture_study import make_picture_study
from tests.server_process import running_server
from tests.silent_network import SilentNetwork

ANSWERS = {"p1": 1, "q1": 2, "q2": [1, 3], "q3": 2}
PROMPTS = {
    "Which colour?": "p1",
    "Which picture is red?": "q1",
    "What did you notice?": "q2",
    "Which number is even?": "q3",
}
LOADED = "[...document.querySelectorAll('#stimulus img')].every((image) => image.complete && image.naturalWidth > 0)"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = make_picture_study(tmp_path / "study")
    definition = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(f"{definition}device: {{phones: true}}\n", encoding="utf-8")
    return folder


def enter(visitor: Visitor) -> None:
    """Prove to hear sounds, begin the study, and read the instructions."""
    pass_sound_check(visitor.page)
    visitor.page.click("#page-next")
    visitor.page.click("#page-next:text-is('Begin')")


def take(visitor: Visitor, hand: str, look: Callable[[str], None] = lambda _name: None) -> dict[str, list[str]]:
    """Take a whole session, and return the kinds of media that were on the screen, by item.

    `look` is called with the name of each page.
    """
    page, seen = visitor.page, {}
    press = {"keyboard": None, "mouse": page.click, "touch": page.tap}[hand] or page.click
    while True:
        page.wait_for_selector("#sound-check, #page-next, #consent-agree, #stimulus:not(.closed), #completion-code")
        if page.locator("#completion-code").count():
            return seen
        if page.locator("#sound-check").count():
            pass_sound_check(page)
        for button in ("#consent-agree", "#page-next"):
            if page.locator(button).count():
                page.click(button)
                break
        else:
            page.wait_for_timeout(50)
            prompt = page.locator("#prompt").inner_text()
            item_id = PROMPTS[prompt]
            assert page.evaluate(LOADED), "a picture was shown before it was loaded"
            names = page.locator("#stimulus :is(img, video, .sound)").evaluate_all(
                "all => all.map((one) => one.tagName)"
            )
            seen[item_id] = names
            visitor.shoot_everywhere(item_id)
            look(item_id)
            answer = ANSWERS[item_id]
            for option in answer if isinstance(answer, list) else [answer]:
                if hand == "keyboard":
                    page.keyboard.press(str(option))
                else:
                    press(f"[data-option='{option}']")
            if isinstance(answer, list):
                visitor.shoot_everywhere(f"{item_id}-chosen")
                page.locator("#submit-response").click()
            if item_id == "p1":
                page.click("#feedback-continue")
            page.wait_for_selector(
                f"#completion-code, #stimulus:not(.closed) #prompt:not(:text-is({json.dumps(prompt)}))"
            )


@pytest.mark.parametrize("hand", ["keyboard", "mouse", "touch"])
def test_pictures_and_videos_are_loaded_when_they_appear_and_answers_are_stored(
    visit: Any, pictures: Path, rows: Any, hand: str
) -> None:
    options = {"viewport": PHONE, "has_touch": True} if hand == "touch" else {}
    with running_server(pictures) as url:
        seen = take(visit(url, **options), hand)
        stored = rows(pictures)
    assert seen == {"p1": ["IMG"], "q1": ["IMG", "IMG", "IMG"], "q2": ["DIV", "VIDEO"], "q3": []}
    assert {row["item_id"]: json.loads(row["response"]) for row in stored} == ANSWERS
    for row in stored:
        assert row["onset_source"] == "presented"
        assert row["fixation_frames"] >= row["fixation_frames_intended"] == 12


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_take_a_study_with_pictures(visit: Any, pictures: Path, rows: Any, mode: str) -> None:
    with running_server(pictures) as url:
        visitor: Visitor = visit(simulated(url, pictures, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        assert all(row["response"] is not None for row in rows(pictures))


def test_a_trial_waits_for_its_pictures_and_says_so(visit: Any, pictures: Path, rows: Any) -> None:
    with running_server(pictures) as url:
        visitor: Visitor = visit("about:blank")
        visitor.expected += ["ERR_FAILED", "Failed to load resource"]
        held: list[Route] = []
        is_held = [True]

        def handle(route: Route) -> None:
            if is_held[0]:
                held.append(route)
            else:
                route.continue_()

        visitor.page.route("**/asset/**", handle)
        visitor.page.goto(url)
        enter(visitor)
        expect(visitor.page.locator("#loading [role=status]")).to_have_text("Loading pictures and sounds…")
        visitor.shoot_everywhere("loading")
        is_held[0] = False
        for route in held:
            route.abort()
        expect(visitor.page.locator("#loading [role=status]")).to_contain_text("cannot be reached")
        assert take(visitor, "mouse")["p1"] == ["IMG"]
        assert {row["item_id"]: json.loads(row["response"]) for row in rows(pictures)} == ANSWERS


def test_a_file_that_the_server_does_not_have_ends_the_session_with_words(visit: Any, pictures: Path) -> None:
    with running_server(pictures) as url:
        visitor: Visitor = visit("about:blank")
        visitor.expected += ["status of 404"]
        visitor.page.route("**/asset/**", lambda route: route.fulfill(status=404, body="not found"))
        visitor.page.goto(url)
        enter(visitor)
        expect(visitor.page.get_by_role("alert")).to_contain_text("could not be loaded. Please reload the page.")


# Loading on bad lines


def with_large_picture(folder: Path) -> int:
    """Replace the picture of the practice trial by a picture of 1.5 MB, and return its size in bytes."""
    noise = Image.frombytes("RGB", (700, 700), random.Random(1).randbytes(3 * 700 * 700))
    file = folder / "assets" / "red-is-right.png"
    noise.save(file, "PNG", compress_level=1)
    return file.stat().st_size


SLOW = 100_000
"""Bytes per second. On this line, the large picture takes 15 s."""


@contextmanager
def slow_line(visit: Any, pictures: Path) -> Iterator[tuple[Visitor, SilentNetwork]]:
    """Serve the study through a line that becomes slow when the session begins, up to the first trial's loading."""
    with running_server(pictures) as url, SilentNetwork(int(url.rpartition(":")[2])) as network:
        visitor: Visitor = visit(f"http://127.0.0.1:{network.port}")
        visitor.expected += ["Failed to load resource"]
        pass_sound_check(visitor.page)
        network.bytes_per_s = SLOW
        visitor.page.click("#page-next")
        visitor.page.click("#page-next:text-is('Begin')")
        visitor.page.locator("#loading").wait_for()
        visitor.page.wait_for_timeout(2_000)
        yield visitor, network


def test_a_connection_that_is_lost_in_mid_load_continues_where_it_was(visit: Any, pictures: Path) -> None:
    size = with_large_picture(pictures)
    with slow_line(visit, pictures) as (visitor, network):
        page = visitor.page
        wanted: list[str] = []
        page.on("request", lambda request: wanted.append(request.headers.get("range", "")))
        network.stop()
        expect(page.locator("#loading [role=status]")).to_contain_text("cannot be reached")
        network.bytes_per_s = None
        network.plug_in()
        visitor.wait_for_trial()
        assert page.evaluate(LOADED), "a picture was shown before it was loaded"
        assert page.evaluate("document.querySelector('#stimulus img').naturalWidth") == 700
    (begin,) = {int(asked.removeprefix("bytes=").removesuffix("-")) for asked in wanted if asked}
    assert 0 < begin < size, "the part that had arrived was loaded again"


def test_a_line_that_falls_silent_in_mid_load_is_given_up_and_the_picture_loads_again(
    visit: Any, pictures: Path
) -> None:
    with_large_picture(pictures)
    with slow_line(visit, pictures) as (visitor, network):
        network.unplug()
        network.bytes_per_s = None
        visitor.page.wait_for_timeout(500)
        network.plug_in()
        visitor.page.locator("#stimulus:not(.closed)").wait_for(timeout=60_000)
        assert visitor.page.evaluate(LOADED), "a picture was shown before it was loaded"
