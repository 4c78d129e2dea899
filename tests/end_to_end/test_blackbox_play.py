"""Games of Black Box with hidden atoms, in a real browser: keyboard, mouse, touch, a reload, and no line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from batteries.tasks import task_named
from tests.end_to_end.test_accessibility import assert_without_violations
from tests.end_to_end.test_keypress import taking
from tests.end_to_end.visitor import PHONE, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import make_timed_study

ATOMS = [[2, 3], [3, 6], [6, 2], [7, 7]]
TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


def board(item_id: str = "board", **content: Any) -> dict[str, Any]:
    return {
        "item_id": item_id, "task": "blackbox_play", "factors": {"topic": "test"}, "content": content, "key": ATOMS,
    }  # fmt: skip


@contextmanager
def playing(visit: Any, folder: Path, **options: Any) -> Iterator[Visitor]:
    with taking(visit, folder, **options) as visitor:
        visitor.page.wait_for_selector("#stimulus:not(.closed)")
        visitor.page.wait_for_timeout(300)
        yield visitor


def fire(page: Page, port: str, tap: bool = False) -> str:
    """Fire a ray, and return the sentence about it."""
    button = page.locator(f'[data-port="{port}"]')
    (button.tap if tap else button.click)()
    expect(page.locator(".blackbox-play.busy")).to_have_count(0)
    return page.locator("#play-status").inner_text()


def guess(page: Page, cells: list[list[int]], tap: bool = False) -> None:
    for selector in ("#play-guess", *(f'[data-cell="{row},{column}"]' for row, column in cells), "#submit-response"):
        button = page.locator(selector)
        (button.tap if tap else button.click)()


def game_of(visitor: Visitor, rows: Any, folder: Path) -> list[dict[str, Any]]:
    """Wait for the end of a study with one trial, and return the moves of the game."""
    visitor.page.locator("#completion-code").wait_for()
    (row,) = [row for row in rows(folder) if row["received_at"] is not None]
    moves: list[dict[str, Any]] = json.loads(row["response"])
    assert row["rt_ms"] > 0 and row["missing"] is None
    return moves


@pytest.mark.parametrize("hand", ["mouse", "touch"])
def test_a_game_is_stored_as_it_was_played(visit: Any, tmp_path: Path, rows: Any, hand: str) -> None:
    folder, tap = make_timed_study(tmp_path / "study", [board()]), hand == "touch"
    with playing(visit, folder, **(TOUCH if tap else {})) as visitor:
        page = visitor.page
        assert "absorbed" in fire(page, "north-3", tap)
        outcome = fire(page, "west-8", tap)
        (page.locator('[data-cell="4,4"]').tap if tap else page.locator('[data-cell="4,4"]').click)()
        expect(page.locator('[data-cell="4,4"]')).to_have_attribute("aria-pressed", "true")
        assert_without_violations(page, f"a game, {hand}")
        visitor.shoot(f"play-{hand}")
        guess(page, [[4, 4], *ATOMS], tap)  # The marked cell is chosen at first.
        moves = game_of(visitor, rows, folder)
    actions = [move["action"] for move in moves]
    assert [action["action"] for action in actions] == ["fire", "fire", "mark", "guess"]
    assert sorted(actions[-1]["cells"]) == ATOMS
    task: Any = task_named("blackbox_play")
    content = task.checked_content({}, ATOMS)
    assert task.disagreements(content, ATOMS, moves) == []
    assert ("came out" in outcome) == ("-" in moves[1]["observation"]["outcome"])


def test_a_game_can_be_played_with_the_keyboard_alone(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [board(n_atoms=4)])
    with playing(visit, folder) as visitor:
        page = visitor.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.cell") == "1,1"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page.locator('[data-port="north-1"].used')).to_have_count(1)
        page.keyboard.press("ArrowUp")  # There is nothing above a port.
        assert page.evaluate("document.activeElement.dataset.port") == "north-1"
        page.locator("#play-guess").focus()
        page.keyboard.press("Enter")
        page.locator('[data-cell="1,1"]').focus()
        at = [1, 1]
        for row, column in ATOMS:
            for _ in range(row - at[0]):
                page.keyboard.press("ArrowDown")
            step = "ArrowRight" if column > at[1] else "ArrowLeft"
            for _ in range(abs(column - at[1])):
                page.keyboard.press(step)
            page.keyboard.press("Space")
            at = [row, column]
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        moves = game_of(visitor, rows, folder)
    assert sorted(moves[-1]["action"]["cells"]) == ATOMS


def test_a_reload_continues_the_game_with_all_results(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [board()])
    with playing(visit, folder) as visitor:
        page = visitor.page
        fire(page, "north-3")
        fire(page, "east-1")
        page.locator('[data-cell="5,5"]').click()
        expect(page.locator('[data-cell="5,5"]')).to_have_attribute("aria-pressed", "true")
        before = page.locator(".play-board").inner_text(), page.locator("#play-rays").inner_text()
        page.reload()
        page.click("#page-next")
        page.wait_for_selector("#stimulus:not(.closed)")
        page.wait_for_timeout(300)
        assert (page.locator(".play-board").inner_text(), page.locator("#play-rays").inner_text()) == before
        expect(page.locator('[data-cell="5,5"]')).to_have_attribute("aria-pressed", "true")
        guess(page, [[5, 5], *ATOMS])
        moves = game_of(visitor, rows, folder)
    assert [move["action"]["action"] for move in moves] == ["fire", "fire", "mark", "guess"]


def test_without_a_line_the_ray_waits_and_is_fired_once(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [board()])
    with playing(visit, folder) as visitor:
        page = visitor.page
        page.context.set_offline(True)
        page.locator('[data-port="north-3"]').click()
        page.locator('[data-port="south-3"]').click()  # A second ray has to wait for the first.
        expect(page.locator("#save-status")).to_contain_text("Offline", timeout=10_000)
        page.context.set_offline(False)
        expect(page.locator('[data-port="north-3"].used')).to_have_count(1, timeout=15_000)
        assert page.locator(".used").count() == 1
        guess(page, ATOMS)
        moves = game_of(visitor, rows, folder)
    assert [move["action"]["action"] for move in moves] == ["fire", "guess"]


def test_a_second_window_cannot_see_a_ray_of_its_own(visit: Any, tmp_path: Path) -> None:
    folder = make_timed_study(tmp_path / "study", [board()])
    with playing(visit, folder) as visitor:
        other = visitor.page.context.new_page()
        other.goto(visitor.page.url)
        other.click("#page-next")
        other.wait_for_selector("#stimulus:not(.closed)")
        other.wait_for_timeout(300)
        fire(visitor.page, "north-3")
        other.locator('[data-port="north-1"]').click()
        expect(other.get_by_role("alert")).to_contain_text("another window")
        other.get_by_role("button", name="Reload the page").click()
        other.click("#page-next")
        expect(other.locator('[data-port="north-3"].used')).to_have_count(1)


def test_the_solution_is_shown_only_if_the_study_says_so(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [board(show_solution=True)])
    with playing(visit, folder) as visitor:
        page = visitor.page
        fire(page, "west-2")
        assert page.locator(".atom, .missed").count() == 0
        guess(page, [*ATOMS[:3], [1, 1]])
        expect(page.locator(".atom")).to_have_count(3)
        expect(page.locator(".missed")).to_have_count(1)
        assert_without_violations(page, "the solution")
        visitor.shoot("play-solution")
        page.locator("#play-continue").click()
        assert game_of(visitor, rows, folder)[-1]["observation"]["atoms"] == ATOMS


def test_practice_gives_feedback_with_the_solution(visit: Any, tmp_path: Path) -> None:
    folder = make_timed_study(tmp_path / "study", [board("first"), board("second")], practice=1)
    with playing(visit, folder) as visitor:
        page = visitor.page
        fire(page, "west-2")
        guess(page, ATOMS)
        expect(page.locator(".feedback")).to_contain_text("You found all atoms.")
        expect(page.locator(".atom")).to_have_count(4)
        visitor.shoot("play-feedback")


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_a_simulated_participant_plays_a_game(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    folder = make_timed_study(tmp_path / "study", [board()])
    with running_server(folder) as url:
        visitor = visit(simulated(url, folder, mode))
        moves = game_of(visitor, rows, folder)
    assert [move["action"]["action"] for move in moves] == ["fire"] * 3 + ["guess"]
