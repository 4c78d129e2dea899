"""Decoding of sounds and videos: every format that a battery accepts."""

import numpy as np
import pytest

from batteries.errors import InputError
from experiment.lab.hardware.sound_output import SoundOutput
from experiment.lab.media.sounds import decode_sound
from experiment.lab.media.videos import decoded_frames, has_sound, video_size_px
from tests.paths import MEDIA

RATE_HZ = 48_000


@pytest.mark.parametrize("name", ["tone.wav", "tone.mp3", "tone.ogg", "tone.opus", "tone.m4a"])
def test_every_format_of_sounds_is_decoded_at_the_rate_of_the_output(lab_extra, name):
    samples = decode_sound({"sound": f"assets/{name}"}, (MEDIA / name).read_bytes(), RATE_HZ)
    reference = decode_sound({"sound": "assets/tone.wav"}, (MEDIA / "tone.wav").read_bytes(), RATE_HZ)
    assert samples.shape[1] == 2 and samples.dtype == np.float32
    assert abs(len(samples) - len(reference)) < 0.08 * RATE_HZ
    peaks = [np.argmax(np.abs(np.fft.rfft(each[:, 0], n=RATE_HZ))) for each in (samples, reference)]
    assert abs(peaks[0] - peaks[1]) <= 2, "the same pitch in Hz"


@pytest.mark.parametrize("name", ["clip.mp4", "clip.webm"])
def test_the_frames_of_a_video_come_in_order_with_their_times(lab_extra, name):
    part, data = {"video": f"assets/{name}"}, (MEDIA / name).read_bytes()
    frames = list(decoded_frames(part, data))
    assert [frame.at_ms for frame in frames] == pytest.approx([0, 100, 200, 300], abs=2)
    width, height = video_size_px(part, data)
    assert {(frame.size_px, len(frame.pixels)) for frame in frames} == {((width, height), 4 * width * height)}
    assert not has_sound(part, data)
    assert decode_sound(part, data, RATE_HZ) is None


def test_a_file_that_cannot_be_decoded_is_named(lab_extra):
    with pytest.raises(InputError, match=r"assets/clip\.mp4: this file cannot be decoded \(.*\)\. Fix: convert"):
        video_size_px({"video": "assets/clip.mp4"}, b"no video")


def test_a_machine_without_a_sound_output_is_refused_with_one_sentence(lab_extra, monkeypatch):
    from psychtoolbox import audio

    def refuse(**_):
        raise Exception("PTB-ERROR: PortAudio can't detect any supported sound device on this system.\n")

    monkeypatch.setattr(audio, "Stream", refuse)
    monkeypatch.setattr(audio, "verbosity", lambda _: None)
    with pytest.raises(InputError, match=r"cannot be opened \(PortAudio can't detect .* system\)\. Fix: connect"):
        SoundOutput()
