"""Blocks and sequences on the web: the JSON of a session over HTTP, and sessions in a real browser."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import expect

from experiment.load_study import load_study
from experiment.plan import Phase, plan_session
from tests.block_study import make_block_study
from tests.end_to_end.visitor import Visitor, simulated
from tests.server_process import running_server

HEADINGS = {"pictures": ["Now pictures"], "words": ["Now words", "More about words"]}


def begin_over_http(url: str) -> Any:
    """Begin a session as a browser would, and return its JSON."""
    with httpx.Client(base_url=url) as client:
        client.get("/")
        consent = client.get("/api/study").json()["consent_digest"]
        start = {"start_id": "00000000-0000-4000-8000-000000000001", "consent_digest": consent, "kind": "human"}
        return client.post("/api/session", json=start).json()


def test_the_server_sends_instructions_and_breaks_by_the_index_of_the_trial(tmp_path: Path) -> None:
    folder = make_block_study(tmp_path / "study")
    study = load_study(folder)
    with running_server(folder) as url:
        session = begin_over_http(url)
    planned = plan_session(study, 1, 1)
    materials = [study.battery.by_id[trial.item_id].factors.get("material") for trial in planned.trials]
    first, second = session["blocks"]
    assert first["trial_index"] == 1
    assert second["trial_index"] == materials.index("words")
    assert first["instructions_html"] == ["<h1>Now pictures</h1>\n<p>Imagine each thing.</p>\n"]
    assert len(second["instructions_html"]) == 2
    assert session["breaks"]["page_html"] is None
    assert session["breaks"]["before"]
    for index in session["breaks"]["before"]:  # a break after three questions is in the middle of a sequence
        assert planned.trials[index].phase is Phase.ATTENTION_CHECK or planned.trials[index].item_id.endswith(".study")
    # Nothing names a factor, and an attention check looks like any other question.
    assert "material" not in json.dumps(session) and "delay" not in json.dumps(session)
    assert {trial["phase"] for trial in session["trials"]} == {"practice", "test"}


def test_a_study_without_blocks_and_breaks_sends_none(tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        del study["blocks"], study["order"]["sequence"], study["timeline"]["breaks"]

    with running_server(make_block_study(tmp_path / "study", change)) as url:
        session = begin_over_http(url)
    assert (session["blocks"], session["breaks"]) == ([], None)


def read_pages(visitor: Visitor) -> list[str]:
    """Read pages until a question is on the screen, and return their headings."""
    headings: list[str] = []
    while True:
        visitor.page.wait_for_selector("#page-next, #stimulus:not(.closed), #completed")
        if not visitor.page.locator("#page-next").count():
            return headings
        headings.append(visitor.page.locator("main h1").inner_text())
        visitor.shoot_everywhere(f"blocks-{len(headings)}-{headings[-1].replace(' ', '-')}")
        visitor.page.locator("#page-next").click()
        visitor.wait_until(f"document.querySelector('main h1')?.innerText !== {json.dumps(headings[-1])}")


def test_a_participant_reads_the_instructions_of_each_block_also_after_a_reload(
    visit: Any, tmp_path: Path, rows: Any
) -> None:
    folder = make_block_study(tmp_path / "study")
    study = load_study(folder)
    plan = plan_session(study, 1, 1).trials
    reload_before = next(i for i, trial in enumerate(plan) if trial.item_id[:2] in {"l3", "l4"}) + 1
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        read: dict[int, list[str]] = {}
        for index, trial in enumerate(plan):
            read[index] = read_pages(visitor)
            if index == reload_before:  # in the middle of a sequence of the second block
                visitor.wait_until("!Object.keys(localStorage).some((key) => key.startsWith('equipoise-response-'))")
                visitor.page.reload()
                read[index] = read_pages(visitor)
            visitor.wait_for_trial()
            prompt = visitor.page.locator("#prompt").inner_text()
            assert prompt == study.battery.by_id[trial.item_id].content["prompt"]
            visitor.page.keyboard.press("2")
            if trial.phase is Phase.PRACTICE:
                visitor.page.locator("#feedback-continue").click()
            else:
                visitor.page.wait_for_selector(f"#completed, #page-next, #prompt:not(:text-is({json.dumps(prompt)}))")
        expect(visitor.page.locator("#completed")).to_be_visible()
    breaks = [index for index, headings in read.items() if "Time for a break" in headings]
    assert len(breaks) == 2
    assert read[0] == ["Instructions"]
    assert read[1] == HEADINGS["pictures"]
    assert read[reload_before] == ["Welcome back", *HEADINGS["words"]]
    others = Counter(heading for index, headings in read.items() if index != reload_before for heading in headings)
    assert others == Counter(
        ["Instructions", "Now pictures", "Now words", "More about words", *["Time for a break"] * 2]
    )
    stored = rows(folder)
    assert [row["item_id"] for row in stored] == [trial.item_id for trial in plan]
    assert [row["visit"] for row in stored] == [1] * reload_before + [2] * (len(plan) - reload_before)


def test_a_session_without_practice_begins_with_the_instructions_of_its_first_block(visit: Any, tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        study["practice"] = []

    with running_server(make_block_study(tmp_path / "study", change)) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        assert read_pages(visitor) == ["Instructions", *HEADINGS["pictures"]]
        visitor.page.reload()  # before the first response, so that the session is still new
        assert read_pages(visitor) == ["Instructions", *HEADINGS["pictures"]]
        visitor.wait_for_trial()
        assert visitor.question.startswith("Question 1")


def test_the_feedback_of_practice_comes_before_the_instructions_of_a_block(visit: Any, tmp_path: Path) -> None:
    with running_server(make_block_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url)
        visitor.page.locator("#consent-agree").click()
        read_pages(visitor)
        visitor.wait_for_trial()
        visitor.page.keyboard.press("1")
        visitor.page.locator("#feedback-continue").wait_for()
        visitor.page.reload()
        visitor.page.locator("#page-next").click()  # the welcome page
        visitor.page.locator("#feedback-continue").click()
        assert read_pages(visitor) == HEADINGS["pictures"]
        visitor.wait_for_trial()
        assert visitor.question.startswith("Question 1")


def test_simulated_participants_of_every_group_finish(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_block_study(tmp_path / "study")
    with running_server(folder) as url:
        for _ in range(4):
            visitor: Visitor = visit(simulated(url, folder))
            visitor.page.wait_for_selector("#completed")
    stored = rows(folder)
    assert {row["group"] for row in stored} == {1, 2, 3, 4}
    assert all(row["status"] == "completed" for row in stored)
