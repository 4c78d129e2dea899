"""Black Box is taught: diagrams in steps, feedback that names the atoms, the rules during a trial, large targets."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from equipoise.studies import copy_sample_study
from tests.end_to_end.test_accessibility import assert_nothing_is_cut_off, assert_without_violations
from tests.end_to_end.test_phone import BELOW_THE_FOLD, SMALL_PHONE
from tests.end_to_end.visitor import NOTHING_WAITS, Visitor, Walker, press_focused
from tests.server_process import running_server

TURNED = 2
"""Position of the diagram with one turn among the diagrams of the sample study."""
SENTENCES = [
    "The ray comes to WEST 3.", "It goes straight on to row 3, column 3.", "The atom at row 4, column 4 turns the ray.",
    "It goes straight on to row 1, column 3.", "The ray leaves at NORTH 3.",
]  # fmt: skip
VISIBLE_STEPS = """figure => [...new Set([...figure.querySelectorAll("svg [data-step]")]
  .filter((one) => getComputedStyle(one).visibility === "visible").map((one) => Number(one.dataset.step)))]"""
TARGETS = """() => [...document.querySelectorAll(".target")].map((target) => {
  const { left, top, width, height } = target.getBoundingClientRect();
  const port = target.parentElement.dataset.port;
  // Points of the whole area, at distances of 2 px.
  let chosen = 0;
  for (let x = left + 1; x < left + width; x += 2)
    for (let y = top + 1; y < top + height; y += 2)
      if (document.elementFromPoint(x, y)?.closest("[data-port]")?.dataset.port === port) chosen += 4;
  return { port, width, height, area: chosen };
})"""


def read_instructions(visitor: Visitor) -> Locator:
    """Open the page with the rules, and return the diagram with one turn."""
    visitor.page.locator("#consent-agree").click()
    return visitor.page.locator(".blackbox-diagram").nth(TURNED)


def right_responses(page: Page, keys: list[list[str]]) -> None:
    """Respond to practice trials with the keys of each, and continue after the feedback."""
    for pressed in keys:
        page.locator("#stimulus:not(.closed)").wait_for()
        page.wait_for_timeout(60)
        for key in pressed:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        expect(page.locator(".verdict.right")).to_be_visible()
        page.locator("#feedback-continue").click()


def test_a_diagram_shows_the_ray_step_by_step_and_announces_each_step(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    figure = read_instructions(visitor)
    expect(figure.locator("li")).to_have_text(SENTENCES)
    assert figure.evaluate(VISIBLE_STEPS) == [0, 1, 2, 3, 4], "before a step is chosen, the whole ray is visible"
    step, back = figure.get_by_role("button", name="Step", exact=True), figure.get_by_role("button", name="Step back")
    for number, sentence in enumerate(SENTENCES):
        step.focus()
        visitor.page.keyboard.press("Enter")
        expect(figure.get_by_role("status")).to_have_text(f"Step {number + 1} of 5. {sentence}")
        expect(figure.locator("li[aria-current=step]")).to_have_text(sentence)
        assert figure.evaluate(VISIBLE_STEPS) == list(range(number + 1))
    back.focus()
    visitor.page.keyboard.press(" ")
    expect(figure.locator("li[aria-current=step]")).to_have_text(SENTENCES[3])
    assert figure.evaluate(VISIBLE_STEPS) == [0, 1, 2, 3]
    expect(figure.locator("svg")).to_have_attribute("aria-label", "Atoms at row 4 column 4.")
    assert visitor.page.locator("article h1").inner_text() == "What happens to a ray", "the keys turned no page"


def test_a_diagram_plays_to_its_end_and_can_be_paused(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    visitor.page.clock.install()
    figure = read_instructions(visitor)
    figure.get_by_role("button", name="Play").click()
    current = figure.locator("li[aria-current=step]")
    expect(current).to_have_text(SENTENCES[0])
    visitor.page.clock.run_for(2_000)
    expect(current).to_have_text(SENTENCES[1])
    figure.get_by_role("button", name="Pause").click()
    visitor.page.clock.run_for(10_000)
    expect(current).to_have_text(SENTENCES[1])
    figure.get_by_role("button", name="Play").click()
    visitor.page.clock.run_for(20_000)
    expect(current).to_have_text(SENTENCES[4])
    expect(figure.get_by_role("button", name="Play")).to_be_visible()


def test_a_participant_who_prefers_no_motion_gets_steps_only(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server, reduced_motion="reduce")
    figure = read_instructions(visitor)
    expect(figure.get_by_role("button", name="Play")).to_have_count(0)
    figure.get_by_role("button", name="Step", exact=True).click()
    figure.get_by_role("button", name="Step", exact=True).click()
    assert figure.evaluate("one => one.getAnimations({ subtree: true }).length") == 0


def test_a_step_is_animated_for_other_participants(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server, reduced_motion="no-preference")
    figure = read_instructions(visitor)
    for _ in range(2):
        figure.get_by_role("button", name="Step", exact=True).click()
    assert figure.evaluate("one => one.getAnimations({ subtree: true }).length") > 0


@pytest.mark.parametrize("language", ["en", "ar"])
def test_diagrams_and_rules_are_accessible_at_every_width(
    visit: Any, study_folder: Path, edit: Any, language: str
) -> None:
    edit(study_folder / "study.yaml", "language: en", f"language: {language}")
    with running_server(study_folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        figure = read_instructions(visitor)
        figure.locator("button").last.click()
        for width, height in ((1280, 800), (844, 390), (390, 664), (320, 664)):
            page.set_viewport_size({"width": width, "height": height})
            assert_nothing_is_cut_off(page, f"the page at {width} px")
            for button in figure.locator("button").all():
                box = button.bounding_box()
                assert box and min(box["width"], box["height"]) >= 44
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.wait_for_timeout(100)
            assert_without_violations(page, f"the diagrams, {scheme}")
        visitor.shoot_everywhere(f"diagrams-{language}")
        for _ in range(2):
            page.locator("#page-next").click()
        visitor.wait_for_trial()
        page.locator("#show-rules").click()
        assert_without_violations(page, "the rules")
        assert page.locator("#rules-dialog").evaluate("one => one.scrollWidth <= one.clientWidth")
        visitor.shoot_everywhere(f"rules-{language}")


def test_feedback_names_and_marks_the_atoms_that_changed_the_ray(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    page = visitor.page
    visitor.begin()
    visitor.wait_for_trial()
    for key in ("a", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".verdict")).to_have_text("Not quite: the ray leaves at EAST 5.")
    feedback = page.get_by_role("status").filter(has=page.locator(".explanation"))
    assert feedback.locator("li").all_inner_texts() == [
        "The atom at row 3, column 5 turns the ray.", "The atom at row 6, column 3 turns the ray.",
    ]  # fmt: skip
    assert page.locator("#stimulus .encounter text").all_text_contents() == ["1", "2"]
    places = page.locator("#stimulus .encounter circle").evaluate_all(
        "all => all.map((one) => [one.getAttribute('cy') / 40 - 0.5, one.getAttribute('cx') / 40 - 0.5])"
    )
    assert places == [[3, 5], [6, 3]]
    turns = page.locator("#stimulus .turning-point").evaluate_all(
        "all => all.map((one) => [one.getAttribute('cy') / 40 - 0.5, one.getAttribute('cx') / 40 - 0.5])"
    )
    assert turns == [[4, 4], [5, 4]]
    assert_without_violations(page, "the feedback")


def test_the_rules_open_during_a_trial_and_their_use_is_recorded(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor: Visitor = visit(server)
    page = visitor.page
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()
    dialog = page.get_by_role("dialog", name="Rules")
    press_focused(page, "#show-rules")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("heading", name="What happens to a ray")).to_be_visible()
    expect(dialog.locator(".blackbox-diagram")).to_have_count(5)
    page.wait_for_timeout(300)
    page.keyboard.press("r")  # Keys do not respond to the trial behind the rules.
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#stimulus")).to_be_focused()
    expect(page.locator("#submit-response")).to_be_disabled()
    page.locator("#show-rules").click()
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator("#stimulus")).to_be_focused()
    question = visitor.question
    for key in ("r", "Enter"):
        page.keyboard.press(key)
    visitor.next_question(question)
    visitor.answer_questions(1)
    visitor.wait_until(NOTHING_WAITS)
    _, first, second = [one for one in visitor.sent_responses if one["trial_index"] < 3]
    assert first["signals"]["rules_opened"] == 2
    assert 300 <= first["signals"]["rules_ms"] <= first["rt_ms"], "the response time goes on"
    assert "rules_opened" not in (second["signals"] or {})


def test_the_rules_return_to_the_feedback(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    page = visitor.page
    expect(page.locator("#show-rules")).to_have_count(0)
    visitor.begin()
    visitor.wait_for_trial()
    for key in ("a", "Enter"):
        page.keyboard.press(key)
    page.locator("#feedback-continue").wait_for()
    page.locator("#show-rules").click()
    page.keyboard.press("Escape")
    expect(page.locator("#feedback-continue")).to_be_focused()


def test_the_rules_close_when_the_time_is_over(visit: Any, study_folder: Path, edit: Any) -> None:
    edit(study_folder / "study.yaml", "  fixation_ms: 200", "  fixation_ms: 200\n  deadline_ms: 3000")
    with running_server(study_folder) as url:
        visitor: Visitor = visit(url)
        visitor.begin()
        visitor.answer_practice()
        visitor.wait_for_trial()
        question = visitor.question
        visitor.page.locator("#show-rules").click()
        visitor.next_question(question)
        expect(visitor.page.locator("#rules-dialog")).to_be_hidden()
        visitor.wait_until(NOTHING_WAITS)
        first = next(one for one in visitor.sent_responses if one["trial_index"] == 1)
        assert first["missing"] == "deadline" and first["signals"]["rules_ms"] > 1_000


def test_a_study_without_rules_has_no_button(visit: Any, study_folder: Path, edit: Any) -> None:
    edit(study_folder / "study.yaml", "  rules: [instructions-1.md]", "  #rules:")
    with running_server(study_folder) as url:
        visitor: Visitor = visit(url)
        visitor.begin()
        visitor.wait_for_trial()
        expect(visitor.page.locator("#show-rules:visible")).to_have_count(0)


def test_the_practice_of_the_sample_study_ends_after_four_right_responses_of_five(visit: Any, tmp_path: Path) -> None:
    copy_sample_study("blackbox-predict", tmp_path / "study")
    with running_server(tmp_path / "study") as url:
        visitor: Visitor = visit(url)
        visitor.begin()
        right_responses(visitor.page, [["e", "5"], ["a"], ["e", "5"], ["r"]])
        visitor.wait_for_trial()
        for key in ("a", "Enter"):
            visitor.page.keyboard.press(key)
        explanation = visitor.page.locator(".explanation li")
        expect(explanation).to_have_text("The atoms at row 5, column 4 and at row 5, column 2 send the ray back.")
        assert visitor.page.locator("#stimulus .encounter text").all_text_contents() == ["1", "1"]
        expect(visitor.page.locator(".feedback")).to_contain_text("The practice ends here.")
        visitor.page.locator("#feedback-continue").click()
        visitor.wait_for_trial()
        assert visitor.question.startswith("Question 1 of")


def test_a_board_has_large_targets_for_a_thumb(visit: Any, server: str) -> None:
    """A target is as wide as a cell, because its neighbours are beside it. So it is longer than 44 px."""
    visitor: Visitor = visit(server, **SMALL_PHONE)
    page = visitor.page
    Walker(visitor, "touch").to("trial")
    visitor.wait_for_trial()
    assert page.evaluate(BELOW_THE_FOLD) == []
    targets = page.evaluate(TARGETS)
    assert len(targets) == 32
    for target in targets:
        assert max(target["width"], target["height"]) >= 66, target
        assert min(target["width"], target["height"]) >= 29, target
        assert target["area"] >= 44 * 32, target
    box = page.locator("[data-port=west-5] rect").bounding_box()
    side = box["width"]
    page.touchscreen.tap(box["x"] + 1.7 * side, box["y"] + side / 2)  # in the box, beside the port
    expect(page.locator("#response-text")).to_contain_text("WEST 5")
    page.touchscreen.tap(box["x"] - 8, box["y"] + side / 2 - side)  # beside the board
    expect(page.locator("#response-text")).to_contain_text("WEST 4")
    page.touchscreen.tap(box["x"] + 4.5 * side, box["y"])  # in the middle of the box, where no port is near
    expect(page.locator("#response-text")).to_contain_text("WEST 4")


def test_the_feedback_of_a_board_is_above_the_fold_of_a_phone(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server, **SMALL_PHONE)
    Walker(visitor, "touch").to("feedback")
    expect(visitor.page.locator(".explanation li")).to_have_count(2)
    expect(visitor.page.locator("#feedback-continue")).to_be_in_viewport(ratio=1)
    # Heights in the page are fractions of pixels, and a fraction of one pixel may be outside the window.
    expect(visitor.page.locator(".blackbox-predict .board")).to_be_in_viewport(ratio=0.99)
