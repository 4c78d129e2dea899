"""Files of pictures, sounds and videos: where they may be, and what they must contain."""

import hashlib
import io
import json
import os
import shutil
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.items import load_battery, save_battery
from batteries.stimulus import pictures, recordings
from batteries.stimulus.asset_files import read_asset
from batteries.stimulus.parts import ImagePart
from tests.paths import MEDIA, STUDIES

DIGESTS = {
    "blackbox-predict": "391c623a5647eca8bb1df86352a0ca3469faf3e9a0062c0f61827c9fb687c2ee",
    "intuition-double": "cec4a225bb86e4e3889fdbe907b1afe86f5e8814ce3fb0faae5331cbbe26e8c3",
    "intuition-single": "748d2ed220cc8062c1bd756c3b66640fce438f81b6026804d4955b208c00426e",
}


def picture(form: str = "PNG", size: tuple[int, int] = (6, 4), **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, form, **options)
    return file.getvalue()


def put(folder: Path, name: str, data: bytes) -> str:
    path = folder / "assets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"assets/{name}"


def write_battery(folder: Path, *parts: dict[str, Any], **content: Any) -> Path:
    item = {"item_id": "q1", "task": "multiple_choice", "key": 1}
    fields = {"stimulus": list(parts), "prompt": "Who?", "options": ["Anna", "Ben"], **content}
    path = folder / "battery.jsonl"
    rows = [{"battery": "b", "version": "1"}, {**item, "content": fields}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", DIGESTS)
def test_the_digests_of_batteries_without_a_stimulus_stay_the_same(name: str) -> None:
    assert load_battery(STUDIES / name / "battery.jsonl").digest == DIGESTS[name]


def test_a_battery_contains_the_digests_and_measures_of_its_files(tmp_path: Path) -> None:
    data = picture()
    image = {"image": put(tmp_path, "anna.png", data), "alt": "A red square"}
    sound = {"sound": put(tmp_path, "tone.wav", (MEDIA / "tone.wav").read_bytes()), "alt": "A tone"}
    video = {"video": put(tmp_path, "clip.mp4", (MEDIA / "clip.mp4").read_bytes()), "alt": "A clip"}
    text = {"text": "A *short* story."}
    battery = load_battery(write_battery(tmp_path, text, image, sound, video, options=["no", image]))
    stimulus: Any = battery.items[0].content["stimulus"]
    assert stimulus[0] == text
    full = {**image, "sha256": hashlib.sha256(data).hexdigest(), "width_px": 6, "height_px": 4}
    assert stimulus[1] == full
    assert stimulus[2]["duration_ms"] == 250
    assert stimulus[3]["duration_ms"] == 400
    assert battery.items[0].content["options"] == ["no", full]


def test_the_digest_of_a_battery_changes_with_one_byte_of_a_picture(tmp_path: Path) -> None:
    path = write_battery(tmp_path, {"image": put(tmp_path, "a.png", picture()), "alt": "A square"})
    before = load_battery(path).digest
    put(tmp_path, "a.png", picture(compress_level=0))
    assert load_battery(path).digest != before


def test_a_saved_battery_refuses_a_changed_picture(tmp_path: Path) -> None:
    path = write_battery(tmp_path, {"image": put(tmp_path, "a.png", picture()), "alt": "A square"})
    battery = load_battery(path)
    save_battery(battery, path)
    assert load_battery(path) == battery
    put(tmp_path, "a.png", picture(compress_level=0))
    with pytest.raises(InputError, match=r"item `q1`: assets/a.png: the file has changed .* Fix: "):
        load_battery(path)


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = {"image": put(tmp_path, "a.png", picture()), "alt": "A square"}
    path = write_battery(tmp_path, part, part, part)
    n_read = []
    measure = pictures.measure_picture
    monkeypatch.setattr(pictures, "measure_picture", lambda *given: n_read.append(given) or measure(*given))
    load_battery(path)
    assert len(n_read) == 1


def test_all_mistakes_of_a_battery_are_listed_with_their_items(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"battery": "b", "version": "1"}]
    for number in (1, 2):
        content = {"stimulus": [{"image": f"assets/{number}.png", "alt": "x"}], "prompt": "Who?", "options": ["a", "b"]}
        rows.append({"item_id": f"q{number}", "task": "multiple_choice", "key": 1, "content": content})
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_battery(path)
    for number in (1, 2):
        assert f"line {number + 1}, item `q{number}`: assets/{number}.png: this file does not exist" in str(
            refused.value
        )


STEPS = st.sampled_from(
    ["assets", "..", ".", "", "a.png", "C:", "\\", "~", "con.png", "nul", " a.png", "a.png.", "b\0"]
)


@given(st.one_of(st.lists(STEPS, min_size=1, max_size=5).map("/".join), st.text(max_size=30)))
@example("/etc/passwd")
@example("assets/../../secret.png")
@example("assets\\..\\secret.png")
@example("C:\\secret.png")
@example("//server/share/a.png")
@example("assets//a.png")
def test_a_path_that_is_accepted_stays_in_the_folder_on_every_system(path: str) -> None:
    try:
        accepted = ImagePart(image=path, alt="x").image
    except ValidationError:
        return
    for system in (PurePosixPath, PureWindowsPath):
        steps = system(accepted).parts
        assert steps[0] == "assets"
        assert len(steps) == len(accepted.split("/")) > 1
        assert not {"..", ".", ""} & set(steps)
        assert not system(accepted).is_absolute()
        assert not system(accepted).drive


@pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege for links")
def test_links_out_of_the_folder_are_refused_and_links_within_it_work(tmp_path: Path) -> None:
    study = tmp_path / "study"
    put(study, "real.png", picture())
    (tmp_path / "secret.png").write_bytes(picture())
    (study / "secret.png").write_bytes(picture())
    assets = study / "assets"
    (assets / "inside.png").symlink_to("real.png")
    (assets / "outside.png").symlink_to(tmp_path / "secret.png")
    (assets / "beside.png").symlink_to("../secret.png")
    (assets / "loop.png").symlink_to("loop.png")
    (assets / "folder").symlink_to(tmp_path)
    assert read_asset(study, "assets/inside.png", "image")["width_px"] == 6
    for name in ("outside.png", "beside.png", "folder/secret.png"):
        with pytest.raises(InputError, match="outside the folder `assets`"):
            read_asset(study, f"assets/{name}", "image")
    with pytest.raises(InputError, match="does not exist"):
        read_asset(study, "assets/loop.png", "image")


def test_a_folder_is_not_a_picture(tmp_path: Path) -> None:
    (tmp_path / "assets" / "a.png").mkdir(parents=True)
    with pytest.raises(InputError, match="not a file"):
        read_asset(tmp_path, "assets/a.png", "image")


@pytest.mark.parametrize(
    ("name", "data", "kind", "said"),
    [
        ("a.png", picture("JPEG"), "image", "is JPEG, but its name ends in `.png`"),
        ("a.jpg", picture("WEBP"), "image", "is WebP, but its name ends in `.jpg`"),
        ("a.png", b"<html>", "image", "not one of the known formats"),
        ("a.png", b"", "image", "the file is empty"),
        ("a.gif", picture("GIF"), "image", "must end in"),
        ("a.wav", picture(), "image", "must end in"),
        ("a.wav", (MEDIA / "tone.mp3").read_bytes(), "sound", "is MP3, but its name ends in `.wav`"),
        ("a.webm", (MEDIA / "clip.mp4").read_bytes(), "video", "is MP4, but its name ends in `.webm`"),
    ],
)
def test_content_and_suffix_must_agree(tmp_path: Path, name: str, data: bytes, kind: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"assets/{name}: .*{said}.* Fix: "):
        read_asset(tmp_path, put(tmp_path, name, data), kind)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_a_truncated_picture_is_refused(tmp_path: Path, form: str) -> None:
    file = io.BytesIO()
    Image.effect_noise((64, 64), 80).convert("RGB").save(file, form)  # A picture in one colour is mostly header.
    data = file.getvalue()
    path = put(tmp_path, f"a.{form.lower()}", data)
    assert read_asset(tmp_path, path, "image")["width_px"] == 64
    put(tmp_path, f"a.{form.lower()}", data[: len(data) * 3 // 4])
    with pytest.raises(InputError, match="damaged or not complete"):
        read_asset(tmp_path, path, "image")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["PNG", "JPEG", "WEBP"]), st.data())
def test_a_damaged_picture_is_refused_with_a_sentence_or_read(tmp_path: Path, form: str, data: st.DataObject) -> None:
    damaged = bytearray(picture(form, (16, 16)))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(12, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        pictures.measure_picture("a", f".{form.lower()}", bytes(damaged))


def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    header = picture()
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("the picture was decoded"))
    for side in (5_001, 12_000, 30_000):  # Above our limit, and above the two limits of Pillow.
        size = header[12:16] + side.to_bytes(4, "big") * 2 + header[24:29]
        bomb = header[:12] + size + zlib.crc32(size).to_bytes(4, "big") + header[33:]
        with pytest.raises(InputError, match="the limit is 25,000,000 pixels"):
            pictures.measure_picture("a.png", ".png", bomb)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.png", b"")
    with (tmp_path / path).open("r+b") as file:
        file.truncate(10_000_001)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("the file was read"))
    with pytest.raises(InputError, match=r"has 10.0 MB; the limit is 10 MB. Fix: "):
        read_asset(tmp_path, path, "image")


def test_a_photograph_is_measured_as_the_browser_turns_it() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = picture("JPEG", (6, 4), exif=exif)
    assert pictures.measure_picture("a.jpg", ".jpg", data) == {"width_px": 4, "height_px": 6}


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_an_animated_picture_is_refused(form: str) -> None:
    file = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    frames[0].save(file, form, save_all=True, append_images=frames[1:])
    with pytest.raises(InputError, match="animated"):
        pictures.measure_picture("a", f".{form.lower()}", file.getvalue())


@pytest.mark.parametrize(
    ("name", "duration_ms"),
    # An MP3 file has a whole number of frames of 24 ms.
    [("tone.wav", 250), ("tone.mp3", 288), ("tone.ogg", 250), ("tone.opus", 250), ("tone.m4a", 250),
     ("clip.mp4", 400), ("clip.webm", 400)],
)  # fmt: skip
def test_the_duration_of_a_recording_is_known(tmp_path: Path, name: str, duration_ms: int) -> None:
    kind = "video" if name.startswith("clip") else "sound"
    path = put(tmp_path, name, (MEDIA / name).read_bytes())
    assert read_asset(tmp_path, path, kind)["duration_ms"] == duration_ms


@pytest.mark.parametrize("name", ["tone.wav", "tone.m4a", "clip.mp4", "clip.webm"])
def test_a_recording_without_its_end_or_header_is_refused(tmp_path: Path, name: str) -> None:
    data = (MEDIA / name).read_bytes()
    kept = 200 if name == "clip.webm" else len(data) - 10
    path = put(tmp_path, name, data[:kept])
    with pytest.raises(InputError, match=r"damaged or not complete.* Fix: "):
        read_asset(tmp_path, path, "video" if name.startswith("clip") else "sound")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(MEDIA.glob("*.[mow]*"))), st.data())
@pytest.mark.filterwarnings("ignore::UnicodeWarning")
def test_a_damaged_recording_is_refused_with_a_sentence_or_read(path: Path, data: st.DataObject) -> None:
    if path.suffix == ".md":
        return
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(4, min(400, len(damaged) - 1)))] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        recordings.measure_recording("a", path.suffix, bytes(damaged))


def test_a_recording_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MOST_MINUTES", 0.001)
    with pytest.raises(InputError, match=r"the limit is 0.001 minutes"):
        recordings.measure_recording("a.wav", ".wav", (MEDIA / "tone.wav").read_bytes())


def test_a_battery_in_another_folder_needs_its_files_there(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    part = {"image": put(first, "a.png", picture()), "alt": "A square"}
    battery = load_battery(write_battery(first, part))
    second.mkdir()
    save_battery(battery, second / "battery.jsonl")
    with pytest.raises(InputError, match=r"assets/a.png: this file does not exist"):
        load_battery(second / "battery.jsonl")
    shutil.copytree(first / "assets", second / "assets")
    assert load_battery(second / "battery.jsonl").digest == battery.digest
