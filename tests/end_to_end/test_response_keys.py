"""Keys of options, and mappings of keys over groups, in a real browser with a real server."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.end_to_end.test_keypress import answered, taking, wait_for_stimulus
from tests.end_to_end.test_keys_and_hints import press
from tests.end_to_end.visitor import Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import choice, keypress, make_timed_study

BALANCED = "response_keys: {options: [f, space], mappings: 2}\norder: {sequence: {of: [topic], by: n}}\n"
ALT = 1


def test_the_group_decides_what_a_key_means_and_digits_mean_nothing(visit: Any, tmp_path: Path, rows: Any) -> None:
    items = [choice("q"), keypress("w", "word")]
    for n, item in enumerate(items):
        item["factors"]["n"] = n
    folder = make_timed_study(tmp_path / "study", items, BALANCED)
    labels = (["F", "Space"], ["Space", "F"])
    for group in (1, 2):  # The first participant is in the first group.
        with taking(visit, folder) as visitor:
            wait_for_stimulus(visitor)
            assert visitor.page.locator(".option-number").all_inner_texts() == labels[group - 1]
            expect(visitor.page.get_by_text("Press the key of your answer, or click it.")).to_be_visible()
            visitor.shoot_everywhere(f"option-keys-{group}")
            press(visitor, "1", "Digit1")
            press(visitor, "j", "KeyJ")
            press(visitor, "f", "KeyF", ALT)
            visitor.page.wait_for_timeout(100)
            assert visitor.page.locator("#prompt").inner_text() == "q"
            press(visitor, "а", "KeyF")  # Cyrillic: the position decides.
            wait_for_stimulus(visitor)
            assert (
                visitor.page.locator(".key-name").all_inner_texts()
                == (["word", "nonword"], ["nonword", "word"])[group - 1]
            )
            press(visitor, "f", "KeyF")
            visitor.page.locator("#completion-code").wait_for()
    stored = [
        (row["group"], json.loads(row["response"]), json.loads(row["presentation"])["response_mapping"])
        for row in sorted(answered(rows(folder)), key=lambda row: (row["group"], row["trial_index"]))
    ]
    assert stored == [(1, 1, 1), (1, "word", 1), (2, 2, 2), (2, "nonword", 2)]


def test_the_space_key_chooses_its_option_also_if_another_option_has_the_focus(
    visit: Any, tmp_path: Path, rows: Any
) -> None:
    folder = make_timed_study(tmp_path / "study", [choice("q")], "response_keys: {options: [f, space]}\n")
    with taking(visit, folder) as visitor:
        wait_for_stimulus(visitor)
        visitor.page.locator(".option").first.focus()
        visitor.page.keyboard.press("Space")
        visitor.page.locator("#completion-code").wait_for()
    (row,) = answered(rows(folder))
    assert (json.loads(row["response"]), row["input"], row["presentation"]) == (2, "key", None)


def test_a_simulation_presses_the_keys_of_the_options(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(
        tmp_path / "study", [choice("q"), choice("p")], "response_keys: {options: [left, space]}\n"
    )
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, "visual"))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        stored = rows(folder)
    assert {json.loads(row["response"]) for row in stored} <= {1, 2}
