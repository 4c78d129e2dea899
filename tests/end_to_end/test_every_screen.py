"""Every page at every size of a window, with usual and with large text: nothing overlaps, and nothing is cut off."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import resize
from tests.end_to_end.every_screen import PARTS, SIZES, Screens
from tests.end_to_end.test_accessibility import assert_without_violations, violations
from tests.end_to_end.visitor import Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

CODES = ("completion-code", "withdrawal-code")
LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><rect width="120" height="40" fill="#0a7d5c"/>'
    '<circle cx="20" cy="20" r="12" fill="#fff"/></svg>'
)
FONT_SIZE = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
N_PAGES = {
    "whole": 18, "ends": 7, "questions": 16, "pictures": 4, "screens": 7, "response keys": 1, "device": 4,
    "samples": 14,
}  # fmt: skip
"""The number of pages of each part of the walk."""
LANDMARKS = ["header.study-bar", "main"]
PROBLEMS = Path(__file__).with_name("layout_problems.js").read_text(encoding="utf-8")
"""JavaScript function: what is wrong with the layout of the page."""


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("part", PARTS)
def test_on_every_page_nothing_overlaps_and_nothing_is_cut_off(
    chromium: Browser, tmp_path: Path, part: str, language: str
) -> None:
    found: list[str] = []
    seen: list[str] = []

    def look(page: Page, name: str) -> None:
        seen.append(name)
        devtools = page.context.new_cdp_session(page)
        for percent in (100, 200):
            devtools.send("Page.setFontSizes", {"fontSizes": {"standard": 16 * percent // 100}})
            for width, height in SIZES:
                resize(page, {"width": width, "height": height})
                page.wait_for_timeout(40)
                size, problems = page.evaluate(f"[{FONT_SIZE}, ({PROBLEMS})()]")
                assert size == 16 * percent / 100
                found.extend(f"{name}, {width} x {height}, {percent} %: {problem}" for problem in problems)
        found.extend(f"{name}, text of 200 %: {problem}" for problem in violations(page))
        devtools.send("Page.setFontSizes", {"fontSizes": {"standard": 16}})
        devtools.detach()
        for selector in LANDMARKS:
            if page.locator(selector).count() != 1:
                found.append(f"{name} has no single {selector}")

    PARTS[part](Screens(chromium, tmp_path, language, look))
    assert not found, "\n".join(found)
    assert len(seen) == N_PAGES[part]


def test_a_screen_reader_gets_the_question_as_a_text_to_walk_through(visit: Any, tmp_path: Path) -> None:
    """The focused question has a short name, and its text is paragraphs and a heading, not a part of this name."""
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to("page")
        expect(visitor.page.get_by_role("banner")).to_be_visible()
        expect(visitor.page.get_by_role("main").get_by_role("article", name="About this study")).to_be_focused()
        walker.to_trial(2)
        visitor.wait_for_trial()
        question = visitor.page.locator("#stimulus")
        expect(question).to_be_focused()
        expect(question).to_have_accessible_name("Question 1 of 7")
        expect(question.get_by_role("paragraph").first).to_have_text("A ball lies on the table.")
        expect(question.get_by_role("heading", level=1)).to_be_visible()
        assert question.get_by_role("listitem").count() == 3


def test_the_keys_of_a_question_act_only_while_the_focus_is_in_the_question(visit: Any, tmp_path: Path) -> None:
    """WCAG 2.1.4: a single key is a shortcut only while its component has the focus. Buttons always work."""
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url)
        Walker(visitor).to_trial(2)
        visitor.wait_for_trial()
        page, question = visitor.page, visitor.question
        page.locator("#leave-study").focus()
        page.keyboard.press("2")
        page.wait_for_timeout(300)
        assert visitor.question == question
        page.mouse.click(5, 700)  # beside the question
        expect(page.locator("#stimulus")).to_be_focused()
        page.locator("#show-contact").focus()
        page.evaluate("document.querySelector('[data-option=\"2\"]').click()")  # as a screen reader does
        visitor.next_question(question)


def test_the_minutes_left_come_after_five_questions_and_never_with_a_time_limit(visit: Any, tmp_path: Path) -> None:
    for timing, expected in (("{fixation_ms: 100}", "about 1 minute left"), ("{deadline_ms: 60000}", "")):
        folder = make_whole_study(tmp_path / str(len(timing)), timing=timing)
        with running_server(folder) as url:
            visitor: Visitor = visit(url)
            walker = Walker(visitor)
            shown = []
            for number in range(2, 9):
                walker.to_trial(number)
                visitor.wait_for_trial()
                shown.append(visitor.page.locator("#minutes-left").inner_text())
            assert shown == [""] * 5 + [expected] * 2
            if expected:
                visitor.page.emulate_media(color_scheme="dark")
                assert_without_violations(visitor.page, "minutes left")


def test_the_end_page_leads_back_to_the_panel_and_its_codes_can_be_copied_and_printed(
    visit: Any, tmp_path: Path
) -> None:
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url, permissions=["clipboard-read", "clipboard-write"])
        visitor.page.add_init_script("window.print = () => (window.printed = true)")
        visitor.page.reload()
        Walker(visitor).to_the_end()
        page = visitor.page
        controls = page.locator("main :is(a, button)")
        expect(controls.first).to_have_id("exit-link")
        withdrawal_code = page.locator("#withdrawal-code").inner_text()
        for code in ("completion-code", "withdrawal-code"):
            page.locator(f"#copy-{code}").click()
            assert page.evaluate("navigator.clipboard.readText()") == page.locator(f"#{code}").inner_text()
        page.locator("#print-page").click()
        assert page.evaluate("window.printed")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(0, 0, 0)"
        expect(page.locator("#exit-link")).to_be_hidden()
        expect(page.locator("#withdrawal-code")).to_have_text(withdrawal_code)
        sizes = [page.locator(f"#{code}").evaluate("one => getComputedStyle(one).fontSize") for code in CODES]
        assert float(sizes[0][:-2]) > float(sizes[1][:-2])


def test_a_participant_who_did_not_agree_can_read_the_information_again(visit: Any, tmp_path: Path) -> None:
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#page-next").click()
        visitor.page.locator("#consent-decline").click()
        visitor.page.locator("#declined-again").click()
        visitor.page.locator("#page-next").click()
        expect(visitor.page.locator("#consent-agree")).to_be_visible()


def test_a_study_with_its_own_look_shows_it_outside_of_the_questions(visit: Any, tmp_path: Path) -> None:
    folder = make_whole_study(tmp_path / "study")
    (folder / "assets").mkdir()
    (folder / "assets" / "logo.svg").write_text(LOGO, encoding="utf-8")
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write('look: {accent: "#0a7d5c", logo: assets/logo.svg, logo_alt: The university}\n')
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        page, logo = visitor.page, visitor.page.get_by_role("img", name="The university")
        expect(logo).to_be_visible()
        assert logo.evaluate("image => image.naturalWidth") == 120
        button = page.locator("#page-next")
        assert button.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(10, 125, 92)"
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(150)  # a button changes its colour slowly
            assert_without_violations(page, f"own look, {scheme}")
            visitor.shoot(f"look-{scheme}")
        walker = Walker(visitor)
        walker.to_trial(1)
        visitor.wait_for_trial()
        expect(logo).to_be_hidden()
        walker.to_the_end()
        expect(logo).to_be_visible()
