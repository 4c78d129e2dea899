"""Every page of the sample studies, and of a study with every part, under the rules of WCAG 2.2 AA that axe-core knows.

axe-core finds about half of all problems. Other tests in this file check announcements, zoom and reduced motion.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from equipoise.studies import copy_sample_study
from tests.browser import resize
from tests.end_to_end.test_pictures_and_sounds import take as take_pictures
from tests.end_to_end.test_question_tasks import copy_question_study
from tests.end_to_end.test_question_tasks import take as take_questions
from tests.end_to_end.visitor import DESKTOP, PHONE, STAGES, Visitor, Walker
from tests.end_to_end.whole_study import PRACTICE, make_whole_study
from tests.picture_study import make_picture_study
from tests.server_process import running_server
from tests.timed_study import CONFIDENCE, MASK, RED, TONE, choice, keypress, make_timed_study, recall

OTHERS = {"sound check", "calibration", "viewing distance"}
"""Pages that this study does not have, because not every browser of a test has a sound output."""

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
NARROW = {"width": 320, "height": 640}
AXE = Axe()


def look_at(visitor: Visitor, name: str) -> None:
    """Check the rules on the page in light colours, in dark colours and at 320 px, and take screenshots."""
    page = visitor.page
    before = page.viewport_size
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_timeout(50)
        assert_without_violations(page, f"{name}, {scheme}")
    resize(page, NARROW)
    assert_without_violations(page, f"{name}, 320 px")
    assert_nothing_is_cut_off(page, name)
    resize(page, before)
    page.emulate_media(color_scheme="null")
    visitor.shoot_everywhere(f"axe-{name}")


def assert_without_violations(page: Page, of: str) -> None:
    problems = violations(page)
    assert not problems, f"{of}: {problems}"


def violations(page: Page) -> list[str]:
    """Return the rules that the page breaks, with the elements."""
    found = AXE.run(page, options=RULES)
    assert found.response["passes"], "axe-core checked nothing"
    return [
        f"{violation['id']}: {violation['help']}: {[node['html'][:200] for node in violation['nodes']]}"
        for violation in found.response["violations"]
    ]


def assert_nothing_is_cut_off(page: Page, of: str) -> None:
    """Check WCAG 1.4.10: at 320 px a reader needs to scroll in one direction only."""
    width, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= seen, f"{of} is {width} px wide in {seen} px"


def visitor_task(page: Page) -> str:
    """Return the kind of question on the screen."""
    names = (page.locator("#stimulus").get_attribute("class") or "").split()
    return next(name for name in names if name != "question-trial")


class Looks:
    """Checks each kind of page once."""

    def __init__(self, visitor: Visitor, name: str) -> None:
        self.visitor, self.name = visitor, name
        self.seen: set[str] = set()
        self._titles: set[str] = set()

    def look(self, stage: str) -> None:
        """Check the page on the screen, unless a page of the same kind was checked before."""
        self.seen.add(stage)
        page = self.visitor.page
        title = ""
        if stage in {"page", "end"}:
            title = page.locator("h1, h2").first.inner_text()
        elif stage in {"trial", "feedback"}:
            title = visitor_task(page)
        if (mark := f"{stage} {title}") not in self._titles:
            self._titles.add(mark)
            look_at(self.visitor, re.sub(r"\W+", "-", f"{self.name}-{mark}"))


@pytest.fixture(params=["blackbox-predict", "intuition-single", "intuition-double"])
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    copy_sample_study(request.param, tmp_path / "study")
    with running_server(tmp_path / "study") as url:
        yield request.param, url


def test_every_page_of_a_sample_study_is_accessible(visit: Any, sample: tuple[str, str]) -> None:
    name, url = sample
    visitor: Visitor = visit(url)
    looks = Looks(visitor, name)
    Walker(visitor, on_stage=looks.look).to_the_end()
    assert looks.seen >= {"consent", "page", "trial", "feedback", "end"}
    visitor.page.goto(f"{url}/withdraw")
    look_at(visitor, f"{name}-withdraw")


def test_every_kind_of_question_is_accessible(visit: Any, tmp_path: Path) -> None:
    folder = copy_question_study(tmp_path / "study")
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        take_questions(visitor, "mouse", lambda name: look_at(visitor, f"question-{name}"))


def test_pictures_videos_and_several_answers_are_accessible(visit: Any, tmp_path: Path) -> None:
    folder = make_picture_study(tmp_path / "study")
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        take_pictures(visitor, "mouse", lambda name: look_at(visitor, f"picture-{name}"))


def make_study_with_screens(folder: Path, language: str) -> Path:
    """Write a study with screens, fast responses, recall and confidence, whose practice has all of them."""
    screens = [{"parts": [{"text": "Remember these words."}, RED, TONE]}]
    items = [
        keypress("without prompt", "word", screens=screens, stimulus=[RED], stimulus_ms=50, mask=[MASK]),
        keypress("slow", "one", window_ms=5_000, text="A text", prompt="Which?", keys={"f": "one", "j": "two"}),
        recall("Which words?", ["apple"]),
        choice("test"),
    ]
    return make_timed_study(folder, items, f"language: {language}\n{CONFIDENCE}", practice=3)


def take_screens(page: Page, look: Callable[[str], None]) -> None:
    """Take the practice of the study with screens. `look` is called with the name of each page."""
    page.locator("#page-next").click()
    expect(page.locator(".buttons")).to_have_count(1)
    page.locator(".server-html h1").wait_for()
    page.locator("#page-next").click()
    page.locator("#screen-continue").wait_for()
    look("screen")
    page.keyboard.press(" ")
    page.locator(".keypress").wait_for()
    look("keypress")
    page.keyboard.press("f")
    page.locator(".confidence").wait_for()
    look("confidence")
    page.keyboard.press("3")
    page.locator(".verdict").wait_for()
    look("keypress-feedback")
    page.locator("#feedback-continue").click()
    page.locator(".verdict.wrong").wait_for()
    look("too-slow")
    page.locator("#feedback-continue").click()
    page.locator(".recall").wait_for()
    for entry in ("apple", "a long entry with several words"):
        page.keyboard.type(entry)
        page.keyboard.press("Enter")
    look("recall")
    page.locator("#submit-response").click()
    page.locator("[data-point='3']").click()
    page.locator(".verdict").wait_for()
    look("recall-feedback")


@pytest.mark.parametrize(("language", "size"), [("ar", PHONE), ("en", DESKTOP)])
def test_screens_fast_responses_recall_and_confidence_are_accessible(
    visit: Any, tmp_path: Path, language: str, size: dict[str, int]
) -> None:
    with running_server(make_study_with_screens(tmp_path / "study", language)) as url:
        visitor: Visitor = visit(url, viewport=size)
        take_screens(visitor.page, lambda name: look_at(visitor, f"timed-{language}-{size['width']}-{name}"))


@pytest.mark.parametrize("language", ["ar", "en"])
def test_every_page_of_a_study_with_every_part_is_accessible(visit: Any, tmp_path: Path, language: str) -> None:
    timing = "{fixation_ms: 100, reading_ms: 300, deadline_ms: 60000}"
    folder = make_whole_study(tmp_path / "study", language, timing)
    wrong = {"Which number comes after three?": iter([3, 1])}

    def answer(prompt: str) -> int:
        page.wait_for_timeout(350)  # wait for the end of the reading time
        return next(wrong[prompt]) if prompt in wrong else PRACTICE.get(prompt, 2)

    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        looks = Looks(visitor, f"whole-{language}")
        walker = Walker(visitor, "keyboard", looks.look, answer)
        walker.to("demographics")
        page.locator("#question-age").fill("twelve")
        page.locator("#demographics-done").click()
        expect(page.locator("#question-age")).to_be_focused()
        expect(page.locator("#question-age")).to_have_attribute("aria-invalid", "true")
        looks.look("mistake")
        walker.to("full screen")
        for dialog in ("#show-contact", "#leave-study"):
            page.locator(dialog).click()
            looks.look(f"dialog {dialog[1:]}")
            page.keyboard.press("Escape")
        walker.to_the_end()
        assert walker.prompts.count("Which number comes after three?") == 2
        # The page "continue here" is for a second browser.
        assert looks.seen >= set(STAGES) - {"keyboard check", "continue here", *OTHERS}
        expect(page.locator("#exit-link")).to_have_attribute("href", "https://panel.example.org/complete?cc=DONE2026")
        page.locator("#withdraw-link").click()
        page.locator("#code").wait_for()
        looks.look("withdraw")
        page.locator("#code").fill("WRONG")
        visitor.expected.append("status of 404")
        page.locator("#delete-answers").click()
        page.locator("#problem").wait_for()
        looks.look("withdraw unknown")


@pytest.mark.parametrize("language", ["ar", "en"])
def test_the_exit_pages_are_accessible(visit: Any, tmp_path: Path, language: str) -> None:
    with running_server(make_whole_study(tmp_path / "study", language)) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#page-next").click()
        visitor.page.locator("#consent-decline").click()
        expect(visitor.page.locator("#exit-code")).to_have_text("NOCONS26")
        look_at(visitor, f"whole-{language}-declined")
        small = visit(url, viewport={"width": 319, "height": 640})
        expect(small.page.locator("#exit-code")).to_have_text("DEVICE26")
        assert_without_violations(small.page, "incompatible device")
        small.shoot(f"axe-whole-{language}-incompatible")


def test_with_reduced_motion_nothing_moves(visit: Any, tmp_path: Path) -> None:
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url, reduced_motion="reduce")
        moving: list[Any] = []
        find = "document.getAnimations().map((moves) => moves.animationName ?? moves.transitionProperty)"
        Walker(visitor, on_stage=lambda stage: moving.append((stage, visitor.page.evaluate(find)))).to_the_end()
        assert [found for found in moving if found[1]] == []


def test_at_a_zoom_of_200_percent_nothing_is_cut_off(visit: Any, tmp_path: Path) -> None:
    """A zoom of 200 % halves the size of the window in CSS pixels, and doubles the size of each CSS pixel."""
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url, viewport={"width": 640, "height": 400}, device_scale_factor=2)
        Walker(visitor, on_stage=lambda stage: assert_nothing_is_cut_off(visitor.page, stage)).to_the_end()


ANNOUNCED = """
window.announced = [];
addEventListener("DOMContentLoaded", () =>
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const element = target.nodeType === 1 ? target : target.parentElement;
      const live = element?.closest("[aria-live], [role=status], [role=alert]");
      if (live && live.textContent.trim()) window.announced.push(live.textContent.trim());
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true }));
"""


def test_a_screen_reader_announces_the_question_the_end_of_the_time_and_the_state_of_saving(
    visit: Any, tmp_path: Path
) -> None:
    folder = make_whole_study(tmp_path / "study", timing="{fixation_ms: 100, deadline_ms: 3000}")
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(ANNOUNCED)
        visitor.page.goto(url)
        walker = Walker(visitor)
        walker.to_trial(2)
        expect(visitor.page.locator("#stimulus")).to_be_focused()
        visitor.context.set_offline(True)
        walker.step()
        walker.look()  # the deadline of the next question passes
        visitor.wait_until("announced.includes('The time for this question is over.')")
        visitor.wait_until("announced.some((words) => words.startsWith('Offline'))")
        visitor.context.set_offline(False)
        visitor.wait_until("announced.some((words) => words === 'All answers are saved.')")
        announced = visitor.page.evaluate("announced")
        assert any(words.startswith("Question 1 of") for words in announced)
        assert any(words.startswith("Question 2 of") for words in announced)
