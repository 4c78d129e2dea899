"""Sounds as samples for the sound output, also the sound of videos. PyAV, which contains FFmpeg, decodes them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from experiment.lab.media.videos import opened

Samples = npt.NDArray[np.float32]
"""Two columns (left and right), with values from -1 to 1."""


def decode_sound(part: Mapping[str, Any], data: bytes, rate_hz: int) -> Samples | None:
    """Return the samples of a sound or of a video's sound; None if a video has no sound.

    Parameters
    ----------
    part, data
        The sound or video of an item's content, and the content of its file.
    rate_hz
        Number of samples per second of the sound output.

    Raises
    ------
    InputError
        If the file cannot be decoded.
    """
    with opened(part, data) as container:
        from av import AudioResampler  # noqa: PLC0415 - comes with the extra `lab`, and few studies have sounds

        resampler = AudioResampler(format="flt", layout="stereo", rate=rate_hz)
        if not container.streams.audio:
            return None
        pieces = [
            frame.to_ndarray().reshape(-1, 2)
            for source in (*container.decode(audio=0), None)  # None: the resampler returns its last samples.
            for frame in resampler.resample(source)
        ]
    return np.concatenate(pieces).astype(np.float32) if pieces else None
