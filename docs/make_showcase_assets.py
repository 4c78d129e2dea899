"""Make the pictures, sounds and the video of the sample study `showcase`.

Run `.venv/bin/python docs/make_showcase_assets.py`. The script needs FFmpeg. It draws everything itself, so the files
have no other author. Other versions of Pillow and FFmpeg make other bytes. Then give the battery a new version.
"""

import math
import random
import subprocess
import tempfile
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent.parent / "equipoise" / "studies" / "showcase" / "assets"
SIDE_PX = 240
LARGER = 4
"""Drawings are made four times as large and then reduced, so that edges are smooth."""
RATE_HZ = 16_000
PAPER, INK, SKIN, BLUE, RED = (250, 248, 243), (52, 58, 74), (244, 205, 160), (66, 112, 180), (196, 78, 68)

Shape = Callable[[ImageDraw.ImageDraw, float], None]


def drawing(shape: Shape) -> Image.Image:
    """Return a square picture. `shape` gets the canvas and the number of its pixels per unit (100 units a side)."""
    side = SIDE_PX * LARGER
    picture = Image.new("RGB", (side, side), PAPER)
    shape(ImageDraw.Draw(picture), side / 100)
    return picture.resize((SIDE_PX, SIDE_PX), Image.Resampling.LANCZOS)


def box(unit: float, *numbers: float) -> list[float]:
    """Return coordinates in units as coordinates in pixels."""
    return [unit * number for number in numbers]


def face(canvas: ImageDraw.ImageDraw, unit: float) -> None:
    """Draw a surprised face: wide eyes, high brows and a round mouth."""
    line = round(1.6 * unit)
    canvas.ellipse(box(unit, 14, 10, 86, 92), SKIN, INK, line)
    for x in (36, 64):
        canvas.ellipse(box(unit, x - 8, 36, x + 8, 52), "white", INK, line)
        canvas.ellipse(box(unit, x - 3, 41, x + 3, 47), INK)
        canvas.arc(box(unit, x - 10, 22, x + 10, 40), 200, 340, INK, round(2 * unit))
    canvas.ellipse(box(unit, 42, 64, 58, 84), (120, 50, 50), INK, line)


def lamp(canvas: ImageDraw.ImageDraw, unit: float) -> None:
    """Draw a table lamp."""
    canvas.polygon(box(unit, 36, 18, 64, 18, 78, 52, 22, 52), (240, 190, 80), INK, round(1.6 * unit))
    canvas.rectangle(box(unit, 48, 52, 52, 82), INK)
    canvas.ellipse(box(unit, 30, 78, 70, 90), BLUE, INK, round(1.6 * unit))


def house(canvas: ImageDraw.ImageDraw, unit: float) -> None:
    """Draw a house."""
    line = round(1.6 * unit)
    canvas.rectangle(box(unit, 22, 46, 78, 88), (222, 214, 196), INK, line)
    canvas.polygon(box(unit, 14, 48, 50, 16, 86, 48), RED, INK, line)
    canvas.rectangle(box(unit, 44, 62, 58, 88), (140, 100, 70), INK, line)
    canvas.rectangle(box(unit, 28, 54, 40, 66), (170, 210, 235), INK, line)


def arrow(direction: int) -> Shape:
    """Return a drawing of an arrow to the right (1) or to the left (-1)."""

    def shape(canvas: ImageDraw.ImageDraw, unit: float) -> None:
        points = [(12, 42), (56, 42), (56, 24), (90, 50), (56, 76), (56, 58), (12, 58)]
        canvas.polygon([(unit * (50 + direction * (x - 50)), unit * y) for x, y in points], INK)

    return shape


def dots(number: int, seed: int) -> Shape:
    """Return a drawing of dots that do not touch each other."""
    rng, places = random.Random(seed), list[tuple[float, float]]()
    while len(places) < number:
        x, y = rng.uniform(12, 88), rng.uniform(12, 88)
        if all(math.dist((x, y), other) > 15 for other in places):
            places.append((x, y))

    def shape(canvas: ImageDraw.ImageDraw, unit: float) -> None:
        for x, y in places:
            canvas.ellipse(box(unit, x - 5, y - 5, x + 5, y + 5), BLUE)

    return shape


def mask() -> Image.Image:
    """Return a picture of small black and white squares."""
    squares = np.random.default_rng(3).integers(0, 2, (24, 24), dtype=np.uint8) * 190 + 40
    return Image.fromarray(squares).resize((SIDE_PX, SIDE_PX), Image.Resampling.NEAREST).convert("RGB")


def glide(start_hz: float, end_hz: float, duration_s: float = 0.8) -> npt.NDArray[np.int16]:
    """Return a tone whose frequency moves from `start_hz` to `end_hz`, with soft ends."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    frequency_hz = start_hz * (end_hz / start_hz) ** (time_s / duration_s)
    soft = np.minimum(1, np.minimum(time_s, duration_s - time_s) / 0.03)
    wave_form = np.sin(2 * np.pi * np.cumsum(frequency_hz) / RATE_HZ) * soft
    return np.round(wave_form * 12_000).astype(np.int16)


def write_sound(path: Path, samples: npt.NDArray[np.int16]) -> None:
    """Write a WAV file with one channel."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.tobytes())


def write_video(path: Path) -> None:
    """Write a video of 1.5 s in which a ball rolls to the right and falls off a table."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(45):
            progress = number / 44
            x = 12 + 70 * progress
            y = 46 if x < 66 else 46 + 0.12 * (x - 66) ** 2

            def shape(canvas: ImageDraw.ImageDraw, unit: float, x: float = x, y: float = y) -> None:
                canvas.rectangle(box(unit, 4, 52, 66, 57), (150, 110, 75))
                for leg in (10, 56):
                    canvas.rectangle(box(unit, leg, 57, leg + 4, 92), (150, 110, 75))
                canvas.ellipse(box(unit, x - 6, y - 6, x + 6, y + 6), RED)

            drawing(shape).save(Path(folder) / f"{number:02}.png")
        frames = ["-framerate", "30", "-i", f"{folder}/%02d.png"]
        coding = ["-c:v", "libvpx", "-b:v", "300k", "-pix_fmt", "yuv420p", "-bitexact"]
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *frames, *coding, str(path)], check=True)  # noqa: S607


BOAT = """<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240" viewBox="0 0 100 100">
  <rect width="100" height="100" fill="#faf8f3"/>
  <path d="M0 78 q8 -6 17 0 t17 0 t17 0 t17 0 t17 0 t17 0 V100 H0 Z" fill="#4270b4"/>
  <path d="M18 62 H82 L72 78 H28 Z" fill="#8c6446" stroke="#343a4a" stroke-width="1.6"/>
  <path d="M49 14 V62" stroke="#343a4a" stroke-width="2"/>
  <path d="M52 16 L78 56 H52 Z" fill="#c44e44"/>
  <path d="M46 24 L26 56 H46 Z" fill="#f0be50"/>
</svg>
"""


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawing(face).save(FOLDER / "face.png", optimize=True)
    drawing(lamp).save(FOLDER / "lamp.webp", quality=85)
    drawing(house).save(FOLDER / "house.jpg", quality=85)
    (FOLDER / "boat.svg").write_text(BOAT, encoding="utf-8")
    for name, direction in {"left": -1, "right": 1}.items():
        drawing(arrow(direction)).save(FOLDER / f"arrow-{name}.png", optimize=True)
    drawing(dots(6, seed=1)).save(FOLDER / "dots-few.png", optimize=True)
    drawing(dots(9, seed=2)).save(FOLDER / "dots-many.png", optimize=True)
    mask().save(FOLDER / "mask.png", optimize=True)
    write_sound(FOLDER / "tone-rising.wav", glide(330, 660))
    write_sound(FOLDER / "tone-falling.wav", glide(660, 330))
    write_video(FOLDER / "ball.webm")


if __name__ == "__main__":
    main()
