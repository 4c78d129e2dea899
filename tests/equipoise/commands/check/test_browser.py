"""Points on a real browser: simulated participants in Chromium, and the timing."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from batteries.items import Item
from equipoise.commands.check import browser, browser_session
from equipoise.commands.check.browser import browser_points
from equipoise.commands.check.checklist import Point, Verdict
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.recruitment import Recruitment
from tests.end_to_end.whole_study import make_whole_study
from tests.equipoise.commands.check.studies import with_entries, with_items
from tests.picture_study import make_picture_study

pytestmark = pytest.mark.usefixtures("chromium")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Return the folder of a study with every kind of page, two groups, and a practice that ends the session."""
    return make_whole_study(tmp_path / "whole")


def test_a_participant_of_each_group_completes_a_study_with_every_kind_of_page_and_any_rules_of_recruitment(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_STORE", str(whole / "data" / "equipoise.db"))
    monkeypatch.setenv("EQUIPOISE_SECRETS", str(whole / "data"))
    study = load_study(whole)
    exits = {"completed": {"code": "DONE2026", "link": "https://panel.example.org/complete?cc={code}&id={id}"}}
    rules = Recruitment.model_validate({"entry": "link", "quota": 1, "exits": exits})
    needs = {"refresh_hz": 144, "keyboard": True, "width_px": 1400, "sound": True, "calibration": True}
    device = study.definition.device.model_copy(update=needs)
    done, timing = browser_points(with_entries(study, recruitment=rules, device=device))
    assert done.verdict is Verdict.PASSED, done
    assert "each of 2 groups" in done.found
    assert timing.verdict in {Verdict.PASSED, Verdict.ATTENTION}, timing
    assert "of 9 fixations of 100 ms had exactly 6 frames (at 60 Hz" in timing.found
    assert not (whole / "data").exists(), "the study's own store and secrets must not be made"


def test_a_study_with_pictures_and_sounds_is_completed_without_ears(tmp_path: Path) -> None:
    folder = make_picture_study(tmp_path / "pictures")
    battery = (folder / "battery.jsonl").read_text(encoding="utf-8")
    one_answer = battery.replace(', "several": {"at_least": 1, "at_most": 2}', "").replace("[1, 2]", "1")
    (folder / "battery.jsonl").write_text(one_answer, encoding="utf-8")
    done, _ = browser_points(load_study(folder))
    assert done.verdict is Verdict.PASSED, done


def test_a_participant_gives_the_right_answer_in_every_task_and_is_asked_for_its_confidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[dict[str, Any]] = []
    timing_point = browser._timing_point

    def noted(trials: list[dict[str, Any]], fixation_ms: int) -> Point:
        stored.extend(trials)
        return timing_point(trials, fixation_ms)

    monkeypatch.setattr(browser, "_timing_point", noted)
    copy_sample_study("showcase", tmp_path / "study")
    with (tmp_path / "study" / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("confidence: {prompt: How sure are you?, low: 0, high: 1, step: 0.05, shown_as: slider}\n")
    study = load_study(tmp_path / "study")
    done, _ = browser_points(study)
    assert done.verdict is Verdict.PASSED, done
    responses = {row["item_id"]: json.loads(row["response"]) for row in stored}
    assert responses.keys() == study.battery.by_id.keys()
    scores = [item.score(responses[item.item_id]) for item in study.battery.items]
    assert all(score is None or score.correct for score in scores)
    assert all(0 <= row["confidence"] <= 1 for row in stored)


def test_a_page_that_stops_the_participants_fails(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_session, "NEXT", ("#consent-agree",))  # The participant does not see the button Next.
    monkeypatch.setattr(browser_session, "PATIENCE_MS", 2_000)
    done, _ = browser_points(load_study(whole))
    assert done.verdict is Verdict.FAILED
    assert "stopped before the first question. The next step did not appear. The page says: " in done.found
    assert "What it is for, and who pays" in done.found


def test_a_page_that_ends_the_session_early_fails_with_its_words(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (whole / "study.yaml").read_text(encoding="utf-8")
    (whole / "study.yaml").write_text(
        text.replace("recruitment:\n", "recruitment:\n  entry: panel\n"), encoding="utf-8"
    )
    monkeypatch.setattr(
        browser, "_copy_without_recruitment", lambda study, folder: shutil.copytree(study.folder, folder)
    )
    done, _ = browser_points(load_study(whole))
    assert done.verdict is Verdict.FAILED
    assert "before the first question. The page says: Every part Please open this study with the link" in done.found


def test_a_last_page_without_the_completion_code_fails(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Recruitment.model_validate({"exits": {"completed": {"code": "OTHER2026"}}})
    monkeypatch.setattr(browser, "load_study", lambda folder: with_entries(load_study(folder), recruitment=other))
    done, _ = browser_points(load_study(whole))
    assert (done.verdict, "does not show the completion code OTHER2026" in done.found) == (Verdict.FAILED, True), done


def test_without_playwright_the_browser_is_not_checked(sample_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    done, timing = browser_points(sample_study)
    assert (done.verdict, timing.verdict) == (Verdict.NOT_CHECKED, Verdict.NOT_CHECKED)
    assert "pip install playwright" in done.fix


def test_without_chromium_the_browser_is_not_checked(
    whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chromium: Browser
) -> None:
    monkeypatch.setattr(browser, "PROGRAMS", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    done, _ = browser_points(load_study(whole))
    assert (done.verdict, "playwright install chromium" in done.fix) == (Verdict.NOT_CHECKED, True), done


def test_a_study_that_cannot_be_served_fails(sample_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "_environment", lambda: {**os.environ, "EQUIPOISE_THREADS": "none"})
    done, timing = browser_points(sample_study)
    assert (done.verdict, timing.verdict) == (Verdict.FAILED, Verdict.NOT_CHECKED)
    assert done.fix


def test_items_of_published_plugins_are_not_answered(sample_study: Study) -> None:
    content = {"plugin": "slider", "parameters": {}, "answers": [{"response": 0}, {"response": 1}]}
    dots = Item(item_id="dots", task="jspsych", factors={}, content=content, key={"response": 0})
    done, _ = browser_points(with_items(sample_study, [dots], {"dots": 1}))
    assert (done.verdict, "jsPsych" in done.found) == (Verdict.NOT_CHECKED, True)


def frames(intended: int, *shown: int) -> list[dict[str, Any]]:
    return [
        {"started_at": "1", "fixation_frames": each, "fixation_frames_intended": intended, "frame_ms": 16.7}
        for each in shown
    ]


def test_fixations_with_the_intended_number_of_frames_pass() -> None:
    point = browser._timing_point(frames(12, *[12] * 20), 200)
    assert (point.verdict, "20 of 20 fixations of 200 ms" in point.found) == (Verdict.PASSED, True)


def test_fixations_with_other_numbers_of_frames_need_attention() -> None:
    later = [row | {"started_at": "2"} for row in frames(12, *[12] * 100)]
    point = browser._timing_point([*frames(12, *[12] * 18, 13, 14), *later], 200)
    assert (point.verdict, "18 of 20 fixations" in point.found) == (Verdict.ATTENTION, True)


def test_a_session_without_responses_has_no_timing() -> None:
    assert browser._timing_point([], 200).verdict is Verdict.NOT_CHECKED
