"""Every screen of a participant: a walk through studies that shows each kind of page, and pictures of all of them.

Run `.venv/bin/python -m tests.end_to_end.every_screen FOLDER` to look at the pages after a change of their style. Each
file in the folder shows one page at all sizes, in light and dark colours and with large text; a red line is the lower
edge of the window. `test_every_screen.py` takes the same walk, and checks what can be measured.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, BrowserContext, Page, Route

from equipoise.studies import copy_sample_study
from tests.browser import chromium_path, resize, running_chromium
from tests.end_to_end.test_accessibility import make_study_with_screens, take_screens
from tests.end_to_end.test_pictures_and_sounds import take as take_pictures
from tests.end_to_end.test_question_tasks import copy_question_study
from tests.end_to_end.test_question_tasks import take as take_questions
from tests.end_to_end.visitor import DESKTOP, Visitor, Walker, measure_screen, pass_sound_check
from tests.end_to_end.whole_study import PRACTICE, make_whole_study
from tests.picture_study import make_picture_study
from tests.server_process import running_server
from tests.timed_study import TONE, choice, make_timed_study

SIZES = [(390, 664), (390, 844), (844, 390), (768, 1024), (1280, 800)]
"""Width and height of a small phone, a phone, a phone on its side, a tablet and a laptop."""
PICTURES = {
    100: [(390, 664, "light"), (390, 844, "dark"), (768, 1024, "dark"), (844, 390, "light"), (1280, 800, "light")],
    200: [(390, 664, "light"), (844, 390, "dark"), (768, 1024, "light"), (1280, 800, "dark")],
}
"""The pictures of a page: width, height and colours, by the text size in per cent."""
SHEET_WIDTH, SHEET_SCALE, COLUMN_HEIGHT = 1560, 0.62, 900
"""Width of a file in pixels, and the scale and height of the pictures in it."""
Look = Callable[[Page, str], None]
"""Called with each page, while it is on the screen, and the name of the page."""


def refusing(status: int) -> Callable[[Route], None]:
    """Return a handler that replies to each request with an error."""
    return lambda route: route.fulfill(status=status, json={"error": "This session was opened in another window."})


class Screens:
    """Walks through studies in new browser contexts, and shows each kind of page once."""

    def __init__(self, browser: Browser, folder: Path, language: str, look: Look) -> None:
        self._browser, self._folder, self._language, self._look = browser, folder, language, look
        self._seen: set[str] = set()

    def samples(self) -> None:
        """Show the pages of sample studies, up to the second question."""
        for name in ("blackbox-predict", "intuition-single", "intuition-double"):
            copy_sample_study(name, self._folder / name)
            self._translate(self._folder / name)
            with self._visitor(self._folder / name) as visitor:
                on_stage = partial(self._stage, visitor.page, name)
                Walker(visitor, on_stage=on_stage).to_trial(2)
                if visitor.page.locator("#rules-dialog").count():
                    visitor.page.locator("#show-rules").click()
                    self._show(visitor.page, f"{name}-rules-dialog")

    def study_with_every_part(self) -> None:
        """Show all pages of a study with every part, its dialogs, and the pages of an error and of a withdrawal."""
        folder = make_whole_study(self._folder / "whole", self._language, "{fixation_ms: 100, deadline_ms: 600000}")
        wrong = {"Which number comes after three?": iter([3, 1])}

        def answer(prompt: str) -> int:
            return next(wrong[prompt]) if prompt in wrong else PRACTICE.get(prompt, 2)

        with self._visitor(folder) as visitor:
            page = visitor.page

            def stage(name: str) -> None:
                self._stage(page, "whole", name)

            walker = Walker(visitor, "mouse", stage, answer)
            walker.to("demographics")
            self._stage(page, "whole", "demographics")
            page.locator("#question-age").fill("twelve")
            page.locator("#demographics-done").click()
            self._show(page, "whole-demographics-mistake")
            walker.to_trial(5)
            visitor.wait_for_trial()
            for button, dialog in (("#show-contact", "#contact-dialog"), ("#leave-study", "#leave-dialog")):
                page.locator(button).evaluate("button => button.click()")
                page.locator(dialog).wait_for()
                self._show(page, f"whole-{dialog[1:]}")
                page.keyboard.press("Escape")
            page.reload()
            page.locator("#fullscreen-go, #page-next").wait_for()
            self._show(page, "whole-welcome-back")
            walker.to_the_end()
            origin = page.url.rstrip("/")
            page.goto(f"{origin}/withdraw")
            self._show(page, "whole-withdraw")
            page.locator("#code").fill("WRONG")
            page.locator("#delete-answers").click()
            page.locator("#problem").wait_for()
            self._show(page, "whole-withdraw-unknown")
            page.goto(f"{origin}/no-such-page")
            self._show(page, "whole-wrong-address")

    def end_pages(self) -> None:
        """Show the pages after an early end, on an unfit device, and of a problem."""
        folder = make_whole_study(self._folder / "ends", self._language)
        with running_server(folder) as url:
            with self._page(url) as visitor:
                visitor.page.locator("#page-next").click()
                visitor.page.locator("#consent-decline").click()
                visitor.page.locator("#declined").wait_for()
                self._show(visitor.page, "ends-declined")
            with self._page(url) as visitor:
                Walker(visitor).to_trial(1)
                visitor.page.locator("#leave-study").evaluate("button => button.click()")  # may be in the menu
                visitor.page.locator("#leave-confirm").click()
                visitor.page.locator("#withdrawn").wait_for()
                self._show(visitor.page, "ends-withdrawn")
            with self._page(url) as visitor:
                Walker(visitor, answer=lambda _prompt: 3).to_the_end()
                self._show(visitor.page, "ends-practice-failed")
            for status, name in ((401, "elsewhere"), (422, "not-saved")):
                with self._page(url) as visitor:
                    walker = Walker(visitor)
                    walker.to("trial")
                    visitor.page.route("**/api/responses", refusing(status))
                    walker.step()
                    visitor.page.locator("[role=alert] .buttons").wait_for()
                    self._show(visitor.page, f"ends-{name}")
        for need, selector in (("keyboard: true", "#keyboard-check"), ("refresh_hz: 999", "#incompatible")):
            folder = make_whole_study(self._folder / need.partition(":")[0], self._language)
            study = folder / "study.yaml"
            study.write_text(study.read_text(encoding="utf-8").replace("phones: true", f"phones: true, {need}"))
            with self._visitor(folder) as visitor:
                visitor.page.locator(selector).wait_for()
                self._show(visitor.page, f"ends-{selector[1:]}")

    def questions(self) -> None:
        """Show every kind of question."""
        folder = copy_question_study(self._folder / "questions")
        self._translate(folder)
        with self._visitor(folder) as visitor:
            take_questions(visitor, "mouse", lambda name: self._show(visitor.page, f"question-{name}"))

    def pictures(self) -> None:
        """Show pictures, sounds and videos."""
        folder = make_picture_study(self._folder / "pictures")
        self._translate(folder)
        with self._visitor(folder) as visitor:
            take_pictures(visitor, "mouse", lambda name: self._show(visitor.page, f"picture-{name}"))

    def screens(self) -> None:
        """Show screens before a question, fast responses, recall and confidence."""
        with self._visitor(make_study_with_screens(self._folder / "screens", self._language)) as visitor:
            take_screens(visitor.page, lambda name: self._show(visitor.page, f"timed-{name}"))

    def response_keys(self) -> None:
        """Show a question whose options have keys instead of numbers."""
        more = f"language: {self._language}\nresponse_keys: {{options: [f, space], mappings: 2}}\n"
        with self._visitor(make_timed_study(self._folder / "keys", [choice("Which?")], more)) as visitor:
            Walker(visitor).to("trial")
            visitor.wait_for_trial()
            self._show(visitor.page, "keys-choice")

    def device(self) -> None:
        """Show the sound check and the measurement of the screen."""
        folder = make_timed_study(
            self._folder / "device", [choice("sound", stimulus=[TONE])], f"language: {self._language}\n"
        )
        study = folder / "study.yaml"
        text = study.read_text(encoding="utf-8")
        study.write_text(text.replace("sound: false", "calibration: true"), encoding="utf-8")
        with running_server(folder) as url:
            with self._page(url) as visitor:
                visitor.page.locator("#sound-none").click()
                visitor.page.locator("#incompatible").wait_for()
                self._show(visitor.page, "device-no-sound")
            with self._page(url) as visitor:
                page = visitor.page
                page.locator("#sound-check").wait_for()
                self._show(page, "device-sound-check")
                pass_sound_check(page)
                page.locator("#consent-agree, #page-next").first.click()
                page.locator("#calibration").wait_for()
                self._show(page, "device-calibration")
                measure_screen(page)
                page.locator("#distance-done").wait_for()
                self._show(page, "device-distance")

    def _translate(self, folder: Path) -> None:
        text = (folder / "study.yaml").read_text(encoding="utf-8")
        text = re.sub(r"^language: .*\n", "", text, flags=re.MULTILINE)
        (folder / "study.yaml").write_text(f"{text}\nlanguage: {self._language}\n", encoding="utf-8")

    @contextmanager
    def _visitor(self, folder: Path) -> Iterator[Visitor]:
        with running_server(folder) as url, self._page(url) as visitor:
            yield visitor

    @contextmanager
    def _page(self, url: str, beside: Visitor | None = None, **options: Any) -> Iterator[Visitor]:
        context: BrowserContext = (
            beside.context if beside else self._browser.new_context(**{"viewport": DESKTOP} | options)
        )
        visitor = Visitor(context, url)
        try:
            yield visitor
        finally:
            visitor.page.close()
            if not beside:
                context.close()

    def _stage(self, page: Page, study: str, stage: str) -> None:
        """Show the page of a walker's stage, unless a page of the same kind was shown before."""
        name = stage
        if stage in {"page", "feedback"}:
            name += f"-{page.locator('h1, h2').first.inner_text()}"
        self._show(page, f"{study}-{name}")

    def _show(self, page: Page, name: str) -> None:
        name = re.sub(r"[^\w]+", "-", name).strip("-")
        if name in self._seen:
            return
        self._seen.add(name)
        before = page.viewport_size
        self._look(page, name)
        page.emulate_media(color_scheme="null")
        resize(page, before)


PARTS: dict[str, Callable[[Screens], None]] = {
    "whole": Screens.study_with_every_part,
    "ends": Screens.end_pages,
    "questions": Screens.questions,
    "pictures": Screens.pictures,
    "screens": Screens.screens,
    "response keys": Screens.response_keys,
    "device": Screens.device,
    "samples": Screens.samples,
}
"""Parts of the walk. Together, they show every page."""


def take_pictures_of(folder: Path, name_of_run: str, percent: int) -> Look:
    """Return a function that writes one file with all pictures of a page."""

    def look(page: Page, name: str) -> None:
        taken = []
        for width, height, scheme in PICTURES[percent]:
            resize(page, {"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.wait_for_timeout(80)
            picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
            ImageDraw.Draw(picture).line([(0, height), (picture.width, height)], fill="red", width=2)
            taken += cut_into_columns(picture)
        arrange_in_rows(taken).save(folder / f"{name_of_run}-{name}.png")

    return look


def cut_into_columns(picture: Image.Image) -> list[Image.Image]:
    """Return a smaller copy of a picture of a page, cut into columns if the page is long."""
    scale = SHEET_SCALE
    small = picture.resize((int(picture.width * scale), int(picture.height * scale)), Image.Resampling.LANCZOS)
    tops = range(0, small.height, COLUMN_HEIGHT)
    return [small.crop((0, top, small.width, min(small.height, top + COLUMN_HEIGHT))) for top in tops]


def arrange_in_rows(pictures: list[Image.Image]) -> Image.Image:
    """Return one sheet of pictures, in rows that are not too wide to look at."""
    gap = 12
    places: list[tuple[int, int]] = []
    x = y = row_height = 0
    for one in pictures:
        if x and x + one.width > SHEET_WIDTH:
            x, y, row_height = 0, y + row_height + gap, 0
        places.append((x, y))
        x += one.width + gap
        row_height = max(row_height, one.height)
    sheet = Image.new("RGB", (SHEET_WIDTH, y + row_height), "#8899bb")
    for one, place in zip(pictures, places, strict=True):
        sheet.paste(one, place)
    return sheet


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--language", "languages", multiple=True, default=("en", "ar"), help="Language of the texts.")
def main(folder: Path, languages: tuple[str, ...]) -> None:
    """Write pictures of every page to FOLDER."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, percent in product(languages, PICTURES):
        # Pictures lose a text size that is set while the browser runs.
        flag = f"--blink-settings=defaultFontSize={16 * percent // 100}"
        with running_chromium(chromium_path(), flag) as browser, TemporaryDirectory() as studies:
            look = take_pictures_of(folder, f"{language}-{percent}", percent)
            screens = Screens(browser, Path(studies), language, look)
            for show in PARTS.values():
                show(screens)


if __name__ == "__main__":
    main()
