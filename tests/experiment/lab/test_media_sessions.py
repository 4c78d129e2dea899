"""A whole session with pictures, a sound and a video in a real window, with a sound output."""

import pytest

from experiment.lab.input.response_state import ResponseState
from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.picture_study import make_picture_study, picture

ANSWERS = {
    "p1": (["1"], 1),
    "q1": ([("click", "2")], 2),
    "q2": ([("wait", 1.0), "1", "3", "2", "1", "Return"], [2, 3]),
    "q3": (["2"], 2),
}


@pytest.fixture(scope="module")
def session(screen, fingers, sound, tmp_path_factory):
    """Take the session; return the participant and the stored responses."""
    folder = make_picture_study(tmp_path_factory.mktemp("pictures") / "study")
    (folder / "assets" / "red-is-right.png").write_bytes(picture(size=(300, 200)))
    participant = ScriptedParticipant(screen, fingers, folder, {name: keys for name, (keys, _) in ANSWERS.items()})
    return participant, participant.run(sound)


def test_each_response_to_pictures_equals_what_was_entered(session):
    _, rows = session
    assert {name: row["response"] for name, row in rows.items()} == {
        name: response for name, (_, response) in ANSWERS.items()
    }


@pytest.mark.parametrize("name", ["p1", "q1"])
def test_the_window_shows_the_picture_pixel_for_pixel(session, name):
    participant, _ = session
    drawn = participant.picture(participant.study.battery.by_id[name], response_state=ResponseState())
    assert participant.shots[name].tobytes() == drawn.image.tobytes()


def test_sounds_begin_with_the_stimulus_and_their_onset_is_stored(session):
    _, rows = session
    sounds, frame_ms = rows["q2"]["presentation"]["sounds"], rows["q2"]["frame_ms"]
    assert [sound["part"] for sound in sounds] == [0], "the tone; the video has no sound"
    for sound in sounds:
        assert abs(sound["onset_ms"]) < 10 * frame_ms
        assert 0 < sound["latency_ms"] < 100
    assert "sounds" not in rows["q1"]["presentation"]


def test_a_video_plays_in_its_box_and_nothing_else_moves(session):
    participant, _ = session
    item = participant.study.battery.by_id["q2"]
    drawn, shot = participant.picture(item, response_state=ResponseState([2, 3])), participant.shots["q2"]
    ((left, top, right, bottom),) = [place.box_px for place in drawn.videos]
    assert shot.crop((left, top, right, bottom)).tobytes() != drawn.image.crop((left, top, right, bottom)).tobytes()
    for image in (shot, drawn.image):
        image.paste((0, 0, 0), (left, top, right, bottom))
    assert shot.tobytes() == drawn.image.tobytes()
