"""The report of a study on a telephone: nothing scrolls sideways, and each figure can be enlarged."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from analysis.data.columns import VIEW_COLUMNS
from analysis.data.tidy_table import tidy_trials
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.conftest import view_row
from tests.end_to_end.visitor import DESKTOP, PHONE

N_ITEMS = 12
LETTERS = """figure => Math.min(...[...figure.querySelectorAll('svg text')].map(text => {
  const place = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(place.a, place.b);
}))"""
"""The size of the smallest letters of a figure on the screen, in pixels."""
TOO_WIDE = "parts => parts.filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.ariaLabel)"
"""The names of the tables that are wider than their place on the page."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of five people and of two models at two temperatures, with an exclusion rule."""
    who = [{"participant": f"P{n}"} for n in range(5)]
    runs = [(f"a-long-name-of-a-model-{n}", temperature) for n in (1, 2) for temperature in (0.0, 1.0)]
    who += [
        {"kind": "model", "run": f"{model}, temperature {temperature:g}", "model": model, "temperature": temperature}
        for model, temperature in runs
    ]
    rows = [
        view_row(
            **{"rt_ms": 900.0 + 50 * n + 400 * place if "run" not in one else None},
            **one,
            item_id=f"i{n}",
            trial_index=n,
            response=1 + (n % 4 < place % 4),
            factors={"condition": "AB"[n % 2], "level": n % 3},
        )
        for place, one in enumerate(who)
        for n in range(N_ITEMS)
    ]
    plan = {
        "by": ["condition", "level"],
        "exclusions": [{"rule": "median_rt", "min_ms": 1500}],
        "models": {
            "m": {
                "formula": "rt_ms ~ condition + (1 | participant)",
                "who": "people",
                "contrasts": [{"of": ["condition"]}],
            }
        },
    }
    out = tmp_path_factory.mktemp("report") / "out"
    trials = tidy_trials(pd.DataFrame(rows, columns=list(VIEW_COLUMNS), dtype=object))
    analyze_trials(trials, AnalysisPlan.model_validate(plan), out, title="A study", software_version="1.0")
    return out / "report.html"


@pytest.fixture
def phone(chromium: Browser, report: Path) -> Iterator[Page]:
    page = chromium.new_page(viewport=PHONE)
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    yield page
    page.close()


def test_nothing_of_a_report_is_cut_off_or_scrolls_sideways_on_a_telephone(phone: Page) -> None:
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert phone.locator(".scroll").evaluate_all(TOO_WIDE) == []


def test_each_figure_can_be_enlarged_on_a_telephone_until_its_letters_are_readable(phone: Page) -> None:
    figures = phone.locator("figure").all()
    assert len(figures) > 8
    for figure in figures:
        small = figure.evaluate(LETTERS)
        figure.locator(".enlarge").click()
        letters = figure.evaluate(LETTERS)
        name = figure.get_attribute("id")
        assert letters >= 10 > small, name
        shown = figure.locator("svg").bounding_box()
        assert shown is not None
        if "wide" in (figure.get_attribute("class") or ""):
            assert shown["x"] >= 0, name
            assert shown["x"] + shown["width"] <= PHONE["width"] + 1, name
            assert shown["y"] + shown["height"] <= PHONE["height"] + 1, name
        assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        figure.locator(".close").click()
        assert figure.evaluate(LETTERS) == pytest.approx(small)


def test_on_a_wide_page_every_table_fits_and_figures_have_no_buttons(chromium: Browser, report: Path) -> None:
    page = chromium.new_page(viewport=DESKTOP)
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.locator(".scroll").evaluate_all(TOO_WIDE) == []
    assert page.locator(".enlarge:visible, .close:visible").count() == 0
    assert page.locator("#figure-accuracy").evaluate(LETTERS) > 10
    page.close()
