"""Take the screenshots of the documentation from the real pages: a server, a browser, and a screen of the laboratory.

Run `.venv/bin/python -m docs.make_screenshots` after a change of these pages. A test takes the screenshots again, and
fails if a page has other texts or other styles than its screenshot in docs/images. It compares no pixels, because fonts
differ between machines. So each file contains the texts that it shows, and a digest of their styles (the PNG text
`shows`).
"""

import hashlib
import io
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, Page

import equipoise as eq
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial import trial
from experiment.lab.screens.trial_header import TrialMoment
from experiment.load_study import load_study
from tests.browser import chromium_path, running_chromium
from tests.server_process import running_server

FOLDER = Path(__file__).parent / "images"
N_COLOURS = 64
"""Colours of a file. The pages have few colours, so that the files are small."""
_VOLATILE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?|\b[0-9a-f]{12,}\b|127\.0\.0\.1:\d+")
_STYLES = """(part) => [part, ...part.querySelectorAll("*")].map((element) => {
  const style = getComputedStyle(element);
  return ["display", "color", "background-color", "font-family", "font-size", "font-weight", "text-align",
    "border-top", "border-radius", "padding"].map((name) => style.getPropertyValue(name)).join("; ");
}).join(" | ")"""
"""JavaScript function: the computed styles of a part of a page. These styles do not depend on installed fonts."""


@dataclass(frozen=True)
class Screenshot:
    """A screenshot."""

    name: str
    image: Image.Image
    shows: str
    """The texts of the page, without times and random names, and a digest of its styles."""

    def save(self, folder: Path) -> None:
        """Write the file of the screenshot, with its texts."""
        texts = PngInfo()
        texts.add_text("shows", self.shows, zip=True)
        small = self.image.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
        small.save(folder / f"{self.name}.png", optimize=True, pnginfo=texts)


def saved_texts(path: Path) -> str:
    """Return the texts that a file of a screenshot contains."""
    with Image.open(path) as image:
        image.load()
        return str(image.text["shows"])  # type: ignore[attr-defined]


def screenshots(browser: Browser) -> Iterator[Screenshot]:
    """Take all screenshots, of a copy of the sample study with 40 simulated participants and two baselines."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "my-study"
        eq.new(study)
        eq.simulate(study, n_participants=40, seed=7)
        for name in ("nearest-atom", "tracer"):
            eq.models_run(study, f"baseline/{name}")
        eq.analyze(study, study / "results")
        with running_server(study) as url:
            yield _progress(browser, url, study)
            yield from _participant(browser, url)
        with browser.new_context(viewport={"width": 1000, "height": 700}) as context:
            page = context.new_page()
            page.goto((study / "results" / "report.html").as_uri())
            yield _of_page("report", page, "main > header, main > .banner, section:has(#summary)")
        yield _laboratory(study)


def _participant(browser: Browser, url: str) -> Iterator[Screenshot]:
    """Take the consent form on a telephone, and the practice question, which is the same in each session."""
    for name, width, height in (("consent-on-a-phone", 390, 700), ("question", 1000, 640)):
        with browser.new_context(viewport={"width": width, "height": height}) as context:
            page = context.new_page()
            page.goto(url)
            page.locator("#consent-agree").wait_for()
            if name == "question":
                page.locator("#consent-agree").click()
                for _ in range(2):
                    page.locator("#page-next").click()
                page.locator("#stimulus:not(.closed)").wait_for()
            yield _of_page(name, page, "body")


def _progress(browser: Browser, url: str, study: Path) -> Screenshot:
    token = (study / "data" / "researcher-token").read_text(encoding="ascii").strip()
    with browser.new_context(viewport={"width": 1000, "height": 1300}) as context:
        page = context.new_page()
        page.goto(f"{url}/researcher/#{token}")
        page.get_by_text("Live: the numbers change").wait_for()
        # The parts below the counts contain times, which are never the same.
        return _of_page("progress", page, "header, h1, section[aria-labelledby='groups-heading']")


def _laboratory(study: Path) -> Screenshot:
    """Draw the first question of the battery. PsychoPy's window shows this image pixel for pixel."""
    loaded = load_study(study)
    item = loaded.test_items[0]
    sheet = Sheet.of(loaded, (1024, 768))
    moment = TrialMoment(progress=loaded.words.say("question_of", number=1, total=25))
    screen = trial(sheet, item.item_id, item.task, item.content, moment)
    return Screenshot("lab-question", screen.image, "\n".join(written.text for written in screen.written))


def _of_page(name: str, page: Page, selector: str) -> Screenshot:
    """Take the part of a page with the elements of a selector, at most as high as the browser's window."""
    parts = page.locator(selector).all()
    texts = "\n".join(part.inner_text() for part in parts)
    styles = hashlib.sha256("".join(part.evaluate(_STYLES) for part in parts).encode()).hexdigest()
    last = parts[-1].bounding_box()
    assert last is not None
    assert page.viewport_size is not None
    height = min(page.viewport_size["height"], last["y"] + last["height"])
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    image = Image.open(io.BytesIO(page.screenshot(clip=clip)))  # type: ignore[arg-type]
    return Screenshot(name, image, f"{_VOLATILE.sub('...', texts)}\n\nStyles: {styles}")


if __name__ == "__main__":
    with running_chromium(chromium_path()) as chromium:
        for taken in screenshots(chromium):
            taken.save(FOLDER)
            click.echo(f"{FOLDER / taken.name}.png")
