"""Saving of large responses from a real browser to a real server, such as drawings and repeated pictures."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from equipoise.studies import copy_sample_study
from tests.end_to_end.visitor import Visitor
from tests.server_process import running_server

STUDY = """
study: large
version: "1.0"
title: Large responses
battery: battery.yaml
practice: PRACTICE
design: {method: deal, groups: 1, balance: [shape]}
timeline: {consent: consent.md}
device: {phones: true}
plugins:
  drawing: {file: drawing.js, variable: drawing}
"""
PLUGIN = """
var drawing = class {
  static info = {
    name: "drawing", version: "1.0.0",
    parameters: {
      stimulus: { type: jsPsychModule.ParameterType.HTML_STRING, default: undefined },
      pictures: { type: jsPsychModule.ParameterType.COMPLEX, array: true, default: [] },
      n_bytes: { type: jsPsychModule.ParameterType.INT, default: 0 },
    },
    data: {},
  };
  constructor(jsPsych) { this.jsPsych = jsPsych; }
  trial(display, trial) {
    display.innerHTML = `<p>${trial.stimulus.length}</p><button id="draw">Draw</button>`;
    const start_ms = performance.now();
    document.getElementById("draw").addEventListener("click", () => this.jsPsych.finishTrial({
      rt: Math.round(performance.now() - start_ms), stimulus: trial.stimulus, response: "done",
      shown: trial.pictures.map((src) => ({ src, at_ms: 5 })), drawing: "x".repeat(trial.n_bytes),
    }));
  }
};
"""
PICTURE = "data:image/png;base64," + "A" * 225_000
KB = 1024


def item(number: int, **parameters: Any) -> str:
    parameters = {"stimulus": f"<p>Draw {number}</p>"} | parameters
    return (
        f"  - item_id: drawing-{number}\n    task: jspsych\n    factors: {{shape: dots}}\n    key: {{response: done}}\n"
        f"    content: {{plugin: drawing, answers: [{{response: done}}, {{response: none}}],\n"
        f"      parameters: {json.dumps(parameters)}}}\n"
    )


def make_study(folder: Path, *items: dict[str, Any], practice: str = "[]") -> Path:
    copy_sample_study("intuition-single", folder)
    text = "".join(item(number, **parameters) for number, parameters in enumerate(items))
    (folder / "study.yaml").write_text(STUDY.replace("PRACTICE", practice), encoding="utf-8")
    (folder / "battery.yaml").write_text(f'battery: large\nversion: "1"\nitems:\n{text}', encoding="utf-8")
    (folder / "drawing.js").write_text(PLUGIN, encoding="utf-8")
    return folder


def draw(visitor: Visitor, n: int) -> None:
    for _ in range(n):
        visitor.page.locator("#draw:not([data-walked])").evaluate("element => element.dataset.walked = 1")
        visitor.page.locator("#draw").click()


def stored(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(row["response"]) for row in rows if row["received_at"] is not None]


def test_responses_of_300_kb_and_3_mb_are_stored_between_small_responses(visit: Any, tmp_path: Path, rows: Any) -> None:
    sizes = [300 * KB, 30 * KB, 30 * KB, 3 * KB * KB, 10]
    folder = make_study(tmp_path / "study", *({"n_bytes": size} for size in sizes))
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        draw(visitor, len(sizes))
        expect(visitor.page.locator("#completed")).to_contain_text("All your answers are saved.", timeout=20_000)
        assert sorted(len(response["drawing"]) for response in stored(rows(folder))) == sorted(sizes)
        assert {row["missing"] for row in rows(folder)} == {None}


def test_large_responses_survive_a_lost_connection_and_a_reload(visit: Any, tmp_path: Path, rows: Any) -> None:
    """Together, the responses are larger than the browser's local storage."""
    sizes = [300 * KB, *[3 * KB * KB] * 3, 10]
    folder = make_study(tmp_path / "study", *({"n_bytes": size} for size in sizes))
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.expected.append("ERR_FAILED")
        visitor.page.locator("#consent-agree").click()
        visitor.page.route("**/api/responses", lambda route: route.abort())
        draw(visitor, 4)
        visitor.page.locator("#draw:not([data-walked])").wait_for()
        expect(visitor.page.locator("#save-status")).to_contain_text("Offline")
        visitor.page.once("dialog", lambda dialog: dialog.accept())
        visitor.page.unroute("**/api/responses")
        visitor.page.reload()
        expect(visitor.page.get_by_text("Your answers so far are saved (4 of 5)")).to_be_visible(timeout=30_000)
        visitor.page.locator("#page-next").click()
        draw(visitor, 1)
        visitor.page.locator("#completed").wait_for()
        assert sorted(len(response["drawing"]) for response in stored(rows(folder))) == sorted(sizes)
        left = visitor.page.evaluate("indexedDB.databases().then((found) => found.map(({ name }) => name))")
        assert left in ([], ["equipoise"])
        assert visitor.page.evaluate(COUNT_LARGE) == 0


COUNT_LARGE = """() => new Promise((resolve) => {
  indexedDB.open("equipoise").onsuccess = ({ target: { result } }) => {
    result.transaction("responses").objectStore("responses").count().onsuccess = ({ target }) => resolve(target.result);
  };
})"""


def test_a_plugins_data_refer_to_the_parameters_that_they_repeat(visit: Any, tmp_path: Path, rows: Any) -> None:
    pictures = [PICTURE, PICTURE + "="]
    folder = make_study(tmp_path / "study", {"stimulus": f"<img src='{PICTURE}'>"}, {"pictures": pictures})
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        draw(visitor, 2)
        visitor.page.locator("#completed").wait_for()
        responses = {row["item_id"]: json.loads(row["response"]) for row in rows(folder)}
        assert responses["drawing-0"]["stimulus"] == {"same_as_parameter": "/stimulus"}
        assert responses["drawing-1"]["stimulus"] == "<p>Draw 1</p>"
        shown = [one["src"] for one in responses["drawing-1"]["shown"]]
        assert shown == [{"same_as_parameter": "/pictures/0"}, {"same_as_parameter": "/pictures/1"}]
        assert {response["response"] for response in responses.values()} == {"done"}
        assert all(len(json.dumps(response)) < 500 for response in responses.values())


@pytest.mark.parametrize("refusing", ["page", "proxy"])
def test_a_response_that_is_too_large_is_announced_and_recorded_and_the_session_continues(
    visit: Any, tmp_path: Path, rows: Any, monkeypatch: pytest.MonkeyPatch, refusing: str
) -> None:
    items = [{"n_bytes": size} for size in (300 * KB, 300 * KB, 10)]
    folder = make_study(tmp_path / "study", *items, practice="[drawing-0]")
    if refusing == "page":
        monkeypatch.setenv("EQUIPOISE_MAX_RESPONSES_KB", "100")
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.expected.append("status of 413")
        if refusing == "proxy":
            visitor.page.route(
                "**/api/responses",
                lambda route: (
                    route.fulfill(status=413, body="<h1>413 Request Entity Too Large</h1>")
                    if len(route.request.post_data or "") > 100 * KB
                    else route.continue_()
                ),
            )
        visitor.page.locator("#consent-agree").click()
        draw(visitor, 1)
        expect(visitor.page.locator(".page")).to_contain_text("One answer was too large to be saved")
        visitor.page.locator("#feedback-continue").click()
        draw(visitor, 1)
        expect(visitor.page.locator("#too-large")).to_contain_text("One answer was too large to be saved")
        visitor.shoot_everywhere("too-large")
        draw(visitor, 1)
        expect(visitor.page.locator("#completed")).to_contain_text("except those that were too large")
        lost = [row for row in rows(folder) if row["missing"] is not None]
        assert [json.loads(row["content"])["parameters"]["n_bytes"] for row in lost] == [300 * KB] * 2
        for row in lost:
            assert (row["missing"], row["response"], row["status"]) == ("too_large", "null", "completed")
            assert row["rt_ms"] > 0
