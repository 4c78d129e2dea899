"""Frames of videos, decoded with PyAV, which contains FFmpeg."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from PIL import Image

from batteries.errors import InputError
from batteries.stimulus.parts import path_of
from experiment.lab.media.files import missing_package

if TYPE_CHECKING:
    from av.container import InputContainer


@contextmanager
def opened(part: Mapping[str, Any], data: bytes) -> "Iterator[InputContainer]":
    """Open the file of a sound or video.

    Raises
    ------
    InputError
        If the file cannot be decoded.
    """
    try:
        import av  # noqa: PLC0415 - comes with the extra `lab`, and few studies have sounds or videos
    except ImportError:
        raise missing_package("av") from None
    try:
        with av.open(BytesIO(data)) as container:
            yield container
    except av.FFmpegError as error:
        raise InputError(f"{path_of(part)}: this file cannot be decoded ({error}). Fix: convert it again.") from None


def video_size_px(part: Mapping[str, Any], data: bytes) -> tuple[int, int]:
    """Return the width and height of a video, in pixels."""
    with opened(part, data) as container:
        if not container.streams.video:
            raise InputError(f"{path_of(part)}: this file contains no pictures. Fix: use a video with pictures.")
        stream = container.streams.video[0]
        return stream.width, stream.height


def has_sound(part: Mapping[str, Any], data: bytes) -> bool:
    """Return True if a video contains a sound."""
    with opened(part, data) as container:
        return bool(container.streams.audio)


def first_frame(part: Mapping[str, Any], data: bytes, size_px: tuple[int, int]) -> Image.Image:
    """Return the first frame of a video as an RGB image of one size."""
    with opened(part, data) as container:
        image: Image.Image = next(container.decode(video=0)).to_image(width=size_px[0], height=size_px[1])
        return image


@dataclass(frozen=True)
class VideoFrame:
    """A decoded frame of a video."""

    at_ms: float
    """Time after the first frame, in ms."""
    size_px: tuple[int, int]
    pixels: bytes
    """Red, green, blue and a fourth byte of each pixel, row by row from the top."""


def decoded_frames(part: Mapping[str, Any], data: bytes) -> Iterator[VideoFrame]:
    """Yield the frames of a video in order."""
    with opened(part, data) as container:
        first_s: float | None = None
        for frame in container.decode(video=0):
            at_s = frame.time or 0.0
            first_s = at_s if first_s is None else first_s
            pixels = frame.to_ndarray(format="rgba").tobytes()
            yield VideoFrame((at_s - first_s) * 1000, (frame.width, frame.height), pixels)
