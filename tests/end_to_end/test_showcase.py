"""Whole sessions of the sample study `showcase` in each browser engine, by keyboard, by mouse and by touch."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.data.tidy_table import read_trials
from equipoise.studies import copy_sample_study
from tests.end_to_end.showcase import ITEMS, RESPONSES, Hand, ShowcaseParticipant
from tests.engines import ENGINES, Launch
from tests.server_process import running_server

CASES = [
    *((engine, hand) for engine in ENGINES for hand in ("keyboard", "mouse")),
    ("chromium", "touch"),
    ("firefox", "touch"),
]
SCORES = {"pictures-as-options": 0, "order-of-size": 5 / 6, "two-pictures": 0, "ray": 0, "list-and-probe": 0.5}
"""The scores of the responses that are not fully right."""
INPUTS = {"keyboard": "key", "mouse": "mouse", "touch": "touch"}


@pytest.mark.parametrize(("engine", "hand"), CASES)
def test_each_stored_response_of_the_showcase_equals_what_was_entered(
    engine: str, hand: Hand, launch: Launch, tmp_path: Path, rows: Any, edit: Any
) -> None:
    folder = tmp_path / "study"
    copy_sample_study("showcase", folder)
    # A slow machine must have the time to show the stimulus, to answer the test and to press the key.
    edit(folder / "battery.yaml", "window_ms: 1500", "window_ms: 5000")
    if engine != "chromium":  # They need a sound device to pass the sound check.
        edit(folder / "study.yaml", "phones: true", "phones: true\n  sound: false")
    with running_server(folder) as url, launch(**({"touch": True} if hand == "touch" else {})) as window:
        window.goto(url)
        participant = ShowcaseParticipant(window, hand)
        participant.to_the_end()
        assert window.evaluate("document.querySelector('#completed') !== null")
        stored = {row["item_id"]: row for row in rows(folder)}
    assert sorted(participant.given) == sorted(ITEMS)
    assert {item_id: json.loads(row["response"]) for item_id, row in stored.items()} == RESPONSES
    for item_id, row in stored.items():
        check_record(item_id, row, hand)
    dropped = [row["fixation_frames"] - row["fixation_frames_intended"] for row in stored.values()]
    assert sum(frames == 0 for frames in dropped) > len(dropped) / 2, dropped
    check_scores(folder)


def check_record(item_id: str, row: dict[str, Any], hand: Hand) -> None:
    """Check the input device and the timing of a stored response."""
    content = ITEMS[item_id].content
    assert (row["status"], row["source"], row["missing"]) == ("completed", "web", None), item_id
    assert row["input"] == (None if RESPONSES[item_id] == "none" else INPUTS[hand]), item_id
    assert row["fixation_frames"] >= row["fixation_frames_intended"] > 0, item_id
    presentation = json.loads(row["presentation"] or "{}")
    screens, screens_shown = content.get("screens", []), presentation.get("screens", [])
    assert len(screens_shown) == len(screens), item_id
    timed = [(shown, screen.get("duration_ms")) for shown, screen in zip(screens_shown, screens, strict=True)]
    for part in ("stimulus", "mask"):
        if content.get(f"{part}_ms"):
            timed.append((presentation[part], content[f"{part}_ms"]))
    for shown, duration_ms in timed:
        if duration_ms is None:
            assert "frames_intended" not in shown and shown["frames"] > 0, item_id
        else:
            assert shown["frames_intended"] == round(duration_ms / row["frame_ms"]), item_id
            assert shown["frames"] >= shown["frames_intended"], item_id


def check_scores(folder: Path) -> None:
    """Check that the analysis counts each response as right or wrong."""
    trials = read_trials(folder / "data" / "equipoise.db")
    graded = {item_id: SCORES.get(item_id, 1) for item_id, item in ITEMS.items() if item.is_graded}
    trials = trials[trials["item_id"].isin(graded)]
    assert dict(zip(trials["item_id"], trials["score"], strict=True)) == pytest.approx(graded)
    assert dict(zip(trials["item_id"], trials["correct"], strict=True)) == {
        item_id: score == 1 for item_id, score in graded.items()
    }
