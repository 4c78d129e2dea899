"""Trials of a published jsPsych plugin in a study, in a real browser with a real server."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from analysis.data.tidy_table import read_trials
from equipoise.cli.main import main
from equipoise.studies import copy_sample_study
from experiment.web import __file__ as web
from tests.end_to_end.visitor import Visitor, simulated
from tests.paths import ROOT
from tests.server_process import running_server

PLUGIN = Path(web).parent / "node_modules/@jspsych/plugin-html-slider-response/dist/index.browser.min.js"
STUDY = """
study: dots
version: "1.0"
title: How many dots?
battery: battery.yaml
practice: [practice-1]
design: {method: deal, groups: 1, balance: [shape]}
timeline: {consent: consent.md}
device: {phones: true}
plugins:
  slider: {file: slider.js, variable: jsPsychHtmlSliderResponse}
"""


def item(item_id: str, n_dots: int) -> str:
    dots = "●" * n_dots
    return (
        f"  - item_id: {item_id}\n    task: jspsych\n    factors: {{shape: dots}}\n"
        f"    key: {{response: {n_dots}}}\n    content:\n"
        f"      plugin: slider\n      answers: [{{response: 1}}, {{response: 2}}, {{response: 3}}]\n"
        f"      parameters: {{stimulus: <p>{dots}</p>, min: 1, max: 3, slider_start: 2, labels: [one, two, three]}}\n"
    )


@pytest.fixture
def dots(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    copy_sample_study("intuition-single", folder)
    items = item("practice-1", 3) + item("dots-1", 2) + item("dots-2", 3)
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    (folder / "battery.yaml").write_text(f'battery: dots\nversion: "1"\nitems:\n{items}', encoding="utf-8")
    shutil.copy(PLUGIN, folder / "slider.js")
    return folder


def test_a_published_plugins_trials_are_shown_stored_and_scored(visit: Any, dots: Path, rows: Any) -> None:
    with running_server(dots) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.locator("#consent-agree").click()
        for number in range(3):
            page.locator("input[type=range]").wait_for()
            assert page.evaluate("document.querySelector('input[type=range]').translate") is False
            if number == 0:
                visitor.shoot_everywhere("slider")
            page.locator("input[type=range]").focus()
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("ArrowRight")
            page.locator("#jspsych-html-slider-response-next").click()
            if number == 0:
                expect(page.locator(".page")).to_contain_text("That is not right.")
                assert page.evaluate("document.querySelector('.page').translate") is True
                visitor.shoot_everywhere("slider-feedback")
                page.locator("#feedback-continue").click()
        page.locator("#completion-code").wait_for()
        stored = rows(dots)
        assert [json.loads(row["response"])["response"] for row in stored] == [2, 2, 2]
        for row in stored:
            data = json.loads(row["response"])
            assert {"rt", "stimulus", "slider_start"} <= set(data)
            assert not {"trial_type", "time_elapsed", "internal_node_id"} & set(data)
            assert 0 < row["rt_ms"] <= data["rt"]
            assert row["fixation_frames"] >= row["fixation_frames_intended"] == 12
            assert row["onset_source"] == "presented"
            assert row["input"] == "mouse"
            noted = json.loads(row["jspsych"])
            assert (noted["trial_type"], noted["plugin_version"]) == ("html-slider-response", "2.1.0")
        table = read_trials(dots / "data" / "equipoise.db")
        assert table["correct"].tolist() == [row["item_id"] == "dots-1" for row in stored]
        assert set(table["trial_type"]) == {"html-slider-response"}
        assert (table["chance"] - 1 / 3).abs().max() < 1e-9
        assert (table["rt"] == table["rt_ms"].round()).all()
        assert table["time_elapsed"].is_monotonic_increasing


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_a_published_plugin_uses_its_own_simulation(visit: Any, dots: Path, rows: Any, mode: str) -> None:
    with running_server(dots) as url:
        visitor: Visitor = visit(simulated(url, dots, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        stored = rows(dots)
        assert [row["kind"] for row in stored] == ["simulated"] * 3
        assert all(1 <= json.loads(row["response"])["response"] <= 3 for row in stored)


def test_a_plugin_that_cannot_be_loaded_is_reported_and_begins_no_trial(visit: Any, dots: Path) -> None:
    (dots / "slider.js").write_text("// jsPsychHtmlSliderResponse is not made here\n", encoding="utf-8")
    with running_server(dots) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        expect(visitor.page.get_by_role("alert")).to_contain_text("jsPsychHtmlSliderResponse")


JSPSYCH = Path(web).parent / "node_modules/jspsych/dist/index.browser.min.js"
HOW_TO = ROOT / "docs/how-to/use-with-jspsych.md"
INFOS = """() => Object.values(equipoisePlugins).filter((plugin) => plugin.info).map(({ info }) => [
  info.name, Object.keys(info.parameters), Object.keys(info.data)])"""


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    """Make the experiment of the how-to guide, by its instructions."""
    folder = tmp_path / "experiment"
    done = CliRunner().invoke(main, ["jspsych-plugins", "-o", str(folder / "equipoise")])
    assert done.exit_code == 0, done.output
    shutil.copy(JSPSYCH, folder / "jspsych.js")
    (html,) = re.findall(r"```html\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), flags=re.DOTALL)
    (folder / "index.html").write_text(html, encoding="utf-8")
    return (folder / "index.html").as_uri()


def test_our_plugins_work_in_other_jspsych_experiments(visit: Any, experiment: str) -> None:
    visitor: Visitor = visit("about:blank")
    visitor.expected.append("file:// protocol")
    visitor.page.goto(experiment)
    page = visitor.page
    page.locator("#page-next").click()
    page.locator("[data-port='west-5']").wait_for()
    visitor.shoot_everywhere("our-plugin-elsewhere")
    visitor.answer()
    page.locator("[data-option='2']").wait_for()
    visitor.answer()
    visitor.wait_until("window.collected !== undefined")
    read, board, choice = page.evaluate("window.collected")
    assert (read["trial_type"], read["button"]) == ("page", "page-next")
    assert (board["trial_type"], board["response"]) == ("blackbox-predict", "reflected")
    assert (choice["trial_type"], choice["response"]) == ("multiple-choice", 2)
    assert [trial["fixation_frames_intended"] for trial in (board, choice)] == [12, 30]
    assert choice["onset_source"] == "presented"


def test_the_how_to_names_every_parameter_and_data_field(visit: Any, experiment: str) -> None:
    visitor: Visitor = visit("about:blank")
    visitor.expected.append("file:// protocol")
    visitor.page.goto(experiment)
    text = HOW_TO.read_text(encoding="utf-8")
    infos = visitor.page.evaluate(INFOS)
    assert {name for name, *_ in infos} == {
        "multiple-choice", "rating", "number", "free-text", "ranking", "keypress", "recall", "blackbox-predict",
        "demographics", "page",
    }  # fmt: skip
    for name, parameters, data in infos:
        for word in (name, *parameters, *data):
            assert f"`{word}`" in text, (name, word)
