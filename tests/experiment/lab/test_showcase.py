"""Whole sessions of the sample study `showcase` in a real window, by keys and by mouse."""

import pytest

from equipoise.studies import copy_sample_study
from tests.end_to_end.showcase import ITEMS, RESPONSES
from tests.experiment.lab.scripted_participant import ScriptedParticipant

DEVICES = {"keys": "key", "mouse": "mouse"}
AFTER_MASK = ("wait", 0.5)
NOT_PRESSED = [("wait", 2.0), None]
"""Wait longer than the item: between two trials, the participant presses the space bar, which is the item's key."""


def typed(text, submit):
    return [*text, submit]


def actions(item, hand):
    """Return the keys and clicks that give the response to an item."""
    response, content = RESPONSES[item.item_id], item.content
    by_mouse = hand == "mouse"
    submit = ("click", "submit") if by_mouse else "Return"

    def choice(number):
        return ("click", str(number)) if by_mouse else str(number)

    match item.task:
        case "multiple_choice" | "ranking" if isinstance(response, list):
            return [*map(choice, response), submit]
        case "multiple_choice":
            return [choice(response)]
        case "rating" if content["shown_as"] == "slider":
            first_step = 51  # from the middle of the line
            moves = [("click", f"point-{response}")] if by_mouse else ["Right"] * (response - first_step + 1)
            return [*moves, submit]
        case "rating":
            return [("click", f"point-{response - content['low']}") if by_mouse else str(response)]
        case "number":
            return typed(str(response), submit)
        case "free_text":
            return typed(response, submit if by_mouse or content["lines"] == 1 else "ctrl+Return")
        case "keypress" if response == "none":
            return NOT_PRESSED
        case "keypress":
            key = next(key for key, name in content["keys"].items() if name == response)
            waits = [AFTER_MASK] if content["mask"] else []
            return [*waits, ("click", f"key-{key}") if by_mouse else key]
        case "recall":
            entries = [key for entry in response for key in typed(entry, "Return")]
            return [*entries, submit if by_mouse else "ctrl+Return"]
        case "blackbox_predict":
            side, _, number = response.partition("-")
            return [("click", response), submit] if by_mouse else [side[0], number, submit]


@pytest.fixture(scope="module", params=list(DEVICES))
def session(request, screen, fingers, sound, tmp_path_factory):
    """Take a session; return the input device and the stored responses."""
    folder = tmp_path_factory.mktemp("showcase") / "study"
    copy_sample_study("showcase", folder)
    answers = {item.item_id: actions(item, request.param) for item in ITEMS.values()}
    return request.param, ScriptedParticipant(screen, fingers, folder, answers).run(sound)


def test_each_stored_response_equals_what_was_entered(session):
    hand, rows = session
    assert {item_id: row["response"] for item_id, row in rows.items()} == RESPONSES
    assert {item_id: row["input"] for item_id, row in rows.items()} == {
        item_id: None if response == "none" else DEVICES[hand] for item_id, response in RESPONSES.items()
    }


def test_the_timing_of_screens_stimuli_and_sounds_is_stored(session):
    _, rows = session
    for item_id, row in rows.items():
        content, shown = ITEMS[item_id].content, row["presentation"] or {}
        frame_ms = row["frame_ms"]
        assert row["missing"] is None and row["onset_source"] == "flip"
        assert row["fixation_frames_intended"] == round(300 / frame_ms)
        intended_ms = [screen["duration_ms"] for screen in content.get("screens", [])]
        timed = [*zip(shown.get("screens", []), intended_ms, strict=True)]
        timed += [(shown[part], content[f"{part}_ms"]) for part in ("stimulus", "mask") if content.get(f"{part}_ms")]
        for part, duration_ms in timed:
            assert part.get("frames_intended") == (None if duration_ms is None else round(duration_ms / frame_ms))
            assert part["frames"] > 0
        has_sound = any("sound" in part for part in content.get("stimulus", []))
        assert [sound["part"] for sound in shown.get("sounds", [])] == [0] * has_sound
