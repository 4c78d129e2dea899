"""`equipoise lab photodiode`: the report, its files, and errors; and errors of `equipoise lab flashes`."""

import csv
import re

import numpy as np
import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from experiment.lab.photodiode.flash_table import COLUMNS, read_flashes, write_flashes
from tests.experiment.lab.photodiode.recordings import flash_times
from tests.experiment.lab.photodiode.test_delays import recorded, shown_flashes

N = 20


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return a folder with the recording of a screen that is 12 ms late, and with the file of its flashes."""
    folder = tmp_path_factory.mktemp("screen")
    flips_s, ends_s = flash_times(N)
    recording = recorded(flips_s + 0.012, ends_s + 0.012, flips_s)
    at_s = np.arange(len(recording.light)) / recording.rate_hz
    table = np.column_stack([at_s, recording.light, recording.trigger])
    np.savetxt(folder / "scope.csv", table, delimiter=",", fmt="%.4f", header="s,V,V", comments="")
    write_flashes(shown_flashes(flips_s - 3, code_lag_s=0.0002), folder / "flashes.csv")
    return folder


def invoke(*arguments):
    return CliRunner().invoke(main, ["lab", *map(str, arguments)])


def test_the_report_and_the_files(measured, tmp_path):
    result = invoke(
        "photodiode", measured / "scope.csv", "--flashes", measured / "flashes.csv", "-o", tmp_path / "results"
    )
    assert result.exit_code == 0, result.output
    assert "Response times of this setup are about 12 ms too long." in result.output
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "flashes-measured.csv", "screen-timing.svg", "screen-timing.pdf", "provenance.json",
    }  # fmt: skip
    with (tmp_path / "results" / "flashes-measured.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["flash"] for row in rows] == [str(number + 1) for number in range(N)]
    assert {row["frames"] for row in rows} == {row["frames_intended"] for row in rows} == {"6"}
    assert all(11 < float(row["delay_ms"]) < 13 for row in rows)
    svg = (tmp_path / "results" / "screen-timing.svg").read_text()
    assert "Delay from the event code to the light (n = 20)" in svg
    assert re.search(r"<desc .*>Delay from the event code to the light: mean 12\.\d ms", svg)


def test_without_the_shown_flashes_the_delay_is_reported(measured):
    result = invoke("photodiode", measured / "scope.csv")
    assert result.exit_code == 0
    assert "Flashes found: 20; expected: 20." in result.output
    assert "Intended duration" not in result.output


def test_the_file_of_flashes_is_read_as_it_was_written(measured):
    flashes = read_flashes(measured / "flashes.csv")
    assert [each.flash for each in flashes] == list(range(1, N + 1))
    assert flashes[0].code_s == pytest.approx(flashes[0].onset_s + 0.0002)
    assert (flashes[0].code, flashes[0].white_frames, flashes[0].pacing) == (1, 6, "frames")


def changed(measured, tmp_path, change):
    lines = (measured / "flashes.csv").read_text().splitlines()
    path = tmp_path / "changed.csv"
    path.write_text("\n".join(change(lines)) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda lines: [lines[0].replace("onset_s", "onset"), *lines[1:]], "line 1: the column `onset_s` is missing"),
        (lambda lines: lines[:1], "the file has no flashes. Fix: run"),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], "line 4: `onset_s` does not increase. Fix"),
        (lambda lines: [*lines[:3], lines[3].replace(",6,", ",six,", 1)], "line 4: `white_frames` is not a valid"),
        (lambda lines: [*lines[:3], lines[3].rsplit(",", 2)[0] + ",0,frames"], "line 4: `frame_ms` is not a valid"),
    ],
)
def test_a_damaged_file_of_flashes_is_refused_with_the_line(measured, tmp_path, change, sentence):
    path = changed(measured, tmp_path, change)
    result = invoke("photodiode", measured / "scope.csv", "--flashes", path)
    assert result.exit_code == 2
    assert sentence in result.output
    assert str(path) in result.output


def test_bad_input_is_one_sentence_with_exit_code_2(measured, tmp_path):
    for arguments, sentence in (
        ((tmp_path / "none.csv",), "none.csv: this file does not exist. Fix"),
        ((measured / "scope.csv", "--rate-hz", "1000"), "has 3 columns. With --rate-hz"),
        ((measured / "scope.csv", "-o", measured / "scope.csv"), "this is a file where a folder is needed. Fix"),
    ):
        result = invoke("photodiode", *arguments)
        assert result.exit_code == 2
        assert sentence in " ".join(result.output.split())
        assert "Traceback" not in result.output


def test_flashes_refuse_a_short_black_and_an_existing_file(tmp_path):
    result = invoke("flashes", "--white-ms", 300, "-o", tmp_path / "flashes.csv")
    assert result.exit_code == 2
    assert "the black must last at least 2 times as long as the white (--white-ms 300). Fix" in result.output
    (tmp_path / "flashes.csv").write_text(",".join(COLUMNS))
    result = invoke("flashes", "-o", tmp_path / "flashes.csv")
    assert result.exit_code == 2
    assert "this file exists already. Fix: choose another name" in result.output
