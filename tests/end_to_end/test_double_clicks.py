"""Clicks and keys that belong to the previous page are not responses, in a real browser with a real server."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from equipoise.studies import copy_sample_study
from tests.end_to_end.visitor import NOTHING_WAITS, Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

PLUGIN = """
var anywhere = class {
  static info = {
    name: "anywhere", version: "1.0.0",
    parameters: { stimulus: { type: jsPsychModule.ParameterType.HTML_STRING, default: undefined } }, data: {},
  };
  constructor(jsPsych) { this.jsPsych = jsPsych; }
  trial(display, trial) {
    display.innerHTML = `<p id="shown">${trial.stimulus}</p>`;
    const start_ms = performance.now();
    const finish = (event) => {
      for (const type of ["click", "keydown"]) document.removeEventListener(type, finish);
      display.replaceChildren();
      this.jsPsych.finishTrial({ rt: performance.now() - start_ms, response: event.type });
    };
    for (const type of ["click", "keydown"]) document.addEventListener(type, finish);
  }
};
"""
STUDY = """
study: anywhere
version: "1.0"
title: Anywhere
battery: battery.yaml
design: {method: deal, groups: 1, balance: [shape]}
timing: {fixation_ms: 100}
timeline: {consent: consent.md}
device: {phones: true}
plugins:
  anywhere: {file: anywhere.js, variable: anywhere}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_whole_study(tmp_path / "study")


@pytest.fixture
def anywhere(tmp_path: Path) -> Path:
    """A study with a published plugin that accepts any click and any key as a response."""
    folder = tmp_path / "study"
    copy_sample_study("intuition-single", folder)
    items = "".join(
        f"  - item_id: item-{number}\n    task: jspsych\n    factors: {{shape: dots}}\n    key: {{response: click}}\n"
        f"    content: {{plugin: anywhere, parameters: {{stimulus: Item {number}}},\n"
        f"      answers: [{{response: click}}, {{response: keydown}}]}}\n"
        for number in range(3)
    )
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    (folder / "battery.yaml").write_text(f'battery: anywhere\nversion: "1"\nitems:\n{items}', encoding="utf-8")
    (folder / "anywhere.js").write_text(PLUGIN, encoding="utf-8")
    return folder


def double_click(page: Page, selector: str, between_ms: float) -> None:
    """Click an element twice at the same point, as a device does for a slow double click."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for count in (1, 2):
        page.mouse.down(click_count=count)
        page.mouse.up(click_count=count)
        page.wait_for_timeout(between_ms)


def answered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["received_at"] is not None]


def test_a_double_click_answers_one_question(visit: Any, folder: Path, rows: Any) -> None:
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to_trial(3)
        visitor.wait_for_trial()
        before = len(answered(rows(folder)))
        double_click(visitor.page, "[data-option='2']", between_ms=350)
        visitor.page.wait_for_timeout(600)  # later, a click is not a part of the double click
        visitor.wait_until(NOTHING_WAITS)
        assert len(answered(rows(folder))) == before + 1
        visitor.page.locator("[data-option='3']").click()
        visitor.wait_until(NOTHING_WAITS)
        last = answered(rows(folder))[-1]
        assert json.loads(last["response"]) == 3
        assert json.loads(last["signals"])["too_early"] == 1


def test_two_clicks_on_one_board_both_count(visit: Any, server: str, study_folder: Path, rows: Any) -> None:
    """On a board, a participant may click a position twice, and then submits the response."""
    visitor: Visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()
    visitor.page.wait_for_timeout(500)
    double_click(visitor.page, "[data-response=absorbed]", between_ms=100)
    visitor.page.locator("#submit-response").click()
    visitor.wait_until(NOTHING_WAITS)
    last = answered(rows(study_folder))[-1]
    assert (json.loads(last["response"]), last["signals"]) == ("absorbed", None)


def test_a_double_click_turns_one_page(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    visitor.page.locator("#consent-agree").click()
    visitor.page.locator("#page-next").wait_for()
    visitor.page.wait_for_timeout(500)
    double_click(visitor.page, "#page-next", between_ms=200)
    expect(visitor.page.get_by_text("Page 2 of 2")).to_be_visible()


def test_the_second_click_and_a_held_key_answer_no_trial_of_a_published_plugin(
    visit: Any, anywhere: Path, rows: Any
) -> None:
    with running_server(anywhere) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.locator("#consent-agree").click()
        page.locator("#shown").wait_for()
        page.wait_for_timeout(600)
        double_click(page, "#shown", between_ms=350)
        page.wait_for_timeout(600)
        visitor.wait_until(NOTHING_WAITS)
        assert len(answered(rows(anywhere))) == 1
        for _ in range(20):
            page.keyboard.down("j")  # from the second time on, the key is repeated
            page.wait_for_timeout(40)
        visitor.wait_until(NOTHING_WAITS)
        assert len(answered(rows(anywhere))) == 2
        page.keyboard.up("j")
        page.keyboard.press("j")
        page.locator("#completion-code").wait_for()
        assert [json.loads(row["response"])["response"] for row in rows(anywhere)] == ["click", "keydown", "keydown"]
        assert json.loads(rows(anywhere)[1]["signals"]) == {"too_early": 1}


def test_a_press_that_began_before_the_stimulus_is_not_a_response_to_it(visit: Any, anywhere: Path, rows: Any) -> None:
    (anywhere / "study.yaml").write_text(STUDY.replace("fixation_ms: 100", "fixation_ms: 2000"), encoding="utf-8")
    with running_server(anywhere) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.locator("#consent-agree").click()
        page.locator("#fixation").wait_for()
        page.mouse.down()
        page.locator("#shown").wait_for()
        page.wait_for_timeout(200)
        page.mouse.up()
        page.wait_for_timeout(600)
        assert answered(rows(anywhere)) == []
        page.mouse.click(300, 300)
        page.locator("#shown").wait_for()
        visitor.wait_until(NOTHING_WAITS)
        (first,) = answered(rows(anywhere))
        assert json.loads(first["signals"])["too_early"] == 1


PRESS_AFTER = """
addEventListener("DOMContentLoaded", () => {
  const page = document.querySelector("#jspsych");
  let shown = null;
  new MutationObserver(() => {
    const stimulus = document.querySelector("#stimulus");
    if (!stimulus || stimulus === shown) return;
    shown = stimulus;
    setTimeout(() => page.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true })), AFTER_MS);
  }).observe(page, { childList: true, subtree: true });
});
"""


@pytest.mark.parametrize(("after_ms", "is_too_fast"), [(60, True), (170, False)])
def test_a_response_before_a_person_can_react_is_marked_and_kept(
    visit: Any, folder: Path, rows: Any, after_ms: int, is_too_fast: bool
) -> None:
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(PRESS_AFTER.replace("AFTER_MS", str(after_ms)))
        visitor.page.goto(url)
        walker = Walker(visitor)
        while walker.stages.count("page") < 2:  # information and instructions
            walker.step()
        visitor.page.locator("#feedback-continue").wait_for()
        (given,) = answered(rows(folder))
        signals = json.loads(given["signals"])
        assert ("too_fast" in signals) is is_too_fast is (given["rt_ms"] < 100)
        assert signals.get("too_fast", 1) == 1
