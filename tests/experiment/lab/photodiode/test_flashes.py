"""The flashes for a photodiode: in a real window, and by the command."""

import csv

import pytest

from experiment.lab.photodiode.flash_table import read_flashes
from experiment.lab.photodiode.flashes import PATCHES, FlashSeries, patch_box
from tests.experiment.lab.window_processes import equipoise_command

N_ATTEMPTS = 5
"""On a busy machine, the window may fail to see that flips wait. Then another window is opened."""
PATIENCE_S = 60


def test_a_real_window_shows_the_patch_for_each_flash_and_sends_the_code(screen, tmp_path):
    log = tmp_path / "codes.csv"
    with screen.start("flashes", None, str(log)) as program:
        found = program.reply()
    flashes, drawn = found["flashes"], found["drawn"]
    assert [each["flash"] for each in flashes] == [1, 2, 3, 4, 5]
    is_white = [top_left == 255 for top_left, _, _ in drawn]
    assert all(bottom_right == 0 for _, bottom_right, _ in drawn)
    changes = [
        (white, at_s)
        for (_, _, at_s), white, before in zip(drawn, is_white, [False, *is_white[:-1]], strict=True)
        if white != before
    ]
    onsets, offsets = ([at_s for white, at_s in changes if white == is_onset] for is_onset in (True, False))
    assert [each["onset_s"] for each in flashes] == pytest.approx(onsets, abs=1e-5)
    assert [each["offset_s"] for each in flashes] == pytest.approx(offsets, abs=1e-4)
    with log.open(newline="") as file:
        assert [row["code"] for row in csv.DictReader(file)] == ["3"] * 5
    for each in flashes:
        assert each["code"] == 3
        assert 0 <= each["code_s"] - each["onset_s"] < 0.05
        assert each["white_ms"] >= 45
        assert each["black_ms"] >= 95


def test_on_a_screen_for_which_flips_wait_flashes_last_whole_frames(screen):
    for _ in range(N_ATTEMPTS):
        with screen.start("flashes", 50) as program:
            found = program.reply()
        if found["pacing"] == "frames":
            break
    assert found["pacing"] == "frames"
    for each, black_ms in zip(found["flashes"], FlashSeries(n=5, black_ms=100).all_black_ms(), strict=True):
        assert each["black_frames_intended"] == round(black_ms / each["frame_ms"])
        assert each["white_frames_intended"] in {2, 3}  # 2.5 frames
        assert each["white_ms"] == pytest.approx(each["white_frames"] * each["frame_ms"], abs=5)
        assert each["code"] is None


def test_the_command_shows_flashes_and_writes_their_timing(screen, tmp_path):
    output, written = tmp_path / "output", tmp_path / "flashes.csv"
    arguments = ["lab", "flashes", "-n", "3", "--black-ms", "80", "--white-ms", "40", "--window", "480", "400"]
    process = equipoise_command(screen.display, screen.group, [*arguments, "-o", str(written)], output)
    process.join(PATIENCE_S)
    assert process.exitcode == 0, output.read_text()
    assert f"Flashes shown: 3 of 3. Their timing: {written}" in output.read_text()
    assert [each.flash for each in read_flashes(written)] == [1, 2, 3]


def test_a_trigger_that_cannot_send_the_code_leaves_no_file(screen, tmp_path):
    output, written = tmp_path / "output", tmp_path / "flashes.csv"
    arguments = ["lab", "flashes", "--trigger", "serial:loop://", "--code", "999", "-o", str(written)]
    process = equipoise_command(screen.display, screen.group, arguments, output)
    process.join(PATIENCE_S)
    assert process.exitcode == 2
    assert "cannot send the code 999" in output.read_text()
    assert not written.exists()


def test_patches_are_inside_the_window():
    for patch in PATCHES:
        left, top, right, bottom = patch_box(patch, (800, 600))
        assert 0 <= left < right <= 800
        assert 0 <= top < bottom <= 600
    assert patch_box("full", (800, 600)) == (0, 0, 800, 600)
    assert patch_box("bottom-right", (800, 600)) == (680, 480, 800, 600)
    assert patch_box("center", (800, 600)) == (340, 240, 460, 360)


def test_the_black_varies_and_is_the_same_in_each_run():
    blacks = FlashSeries().all_black_ms()
    assert blacks == FlashSeries().all_black_ms()
    assert all(500 <= each <= 600 for each in blacks)
    assert len(set(blacks)) == 200
