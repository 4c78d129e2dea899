"""`equipoise lab flashes` and `equipoise lab photodiode`: show flashes, and measure the screen with a photodiode."""

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pandas as pd

from analysis.figures.photodiode import screen_timing_figure
from analysis.output_files import csv_bytes
from batteries.errors import InputError
from batteries.files.atomic_folder import write_together
from equipoise.commands.lab.check import Setup
from experiment.lab.hardware.psychopy_import import require_psychopy
from experiment.lab.hardware.triggers import open_trigger
from experiment.lab.photodiode.delays import ScreenTiming, measure_screen
from experiment.lab.photodiode.flash_table import ShownFlash, read_flashes, write_flashes
from experiment.lab.photodiode.flashes import FlashSeries, show_flashes
from experiment.lab.photodiode.recording import read_recording
from experiment.lab.photodiode.report import report

LEAST_BLACK = 2
"""Least ratio of the black to the flash. `find_light` recognises flashes by their shorter duration."""


def lab_flashes(
    output: str | Path,
    setup: Setup | None = None,
    series: FlashSeries | None = None,
    say: Callable[[int], object] = lambda _: None,
) -> int:
    """Show flashes for a photodiode in the laboratory's window, and write their timing as CSV.

    Parameters
    ----------
    output
        The CSV file to write.
    setup
        The display and the destination of event codes; None for the defaults.
    series
        Number, durations, place and event code of the flashes; None for the defaults.
    say
        Function that receives the number of flashes so far, after each flash.

    Returns
    -------
    int
        Number of flashes that were shown. It is smaller than intended if the technician has pressed Escape.

    Raises
    ------
    InputError
        If PsychoPy is not installed, the window or the trigger cannot be opened, or the file cannot be written.
    """
    output, setup, series = Path(output), setup or Setup(), series or FlashSeries()
    if series.black_ms < LEAST_BLACK * series.white_ms:
        raise InputError(
            f"--black-ms {series.black_ms}: the black must last at least {LEAST_BLACK} times as long as the white "
            f"(--white-ms {series.white_ms}). Fix: write --black-ms {LEAST_BLACK * series.white_ms} or more."
        )
    if output.exists():
        raise InputError(f"{output}: this file exists already. Fix: choose another name with -o, or delete the file.")
    require_psychopy()
    write_flashes([], output)  # A file that cannot be written must not be noticed only after the last flash.
    try:
        flashes = _show(setup, series, say)
        write_flashes(flashes, output)
    except BaseException:
        output.unlink()
        raise
    return len(flashes)


def _show(setup: Setup, series: FlashSeries, say: Callable[[int], object]) -> list[ShownFlash]:
    from experiment.lab.hardware.keys_and_clicks import InputDevices  # noqa: PLC0415 - PsychoPy takes seconds to load
    from experiment.lab.hardware.window import LabWindow  # noqa: PLC0415

    with (
        closing(open_trigger(setup.trigger, series.code)) if setup.trigger else nullcontext() as trigger,
        LabWindow(setup.size_px, screen=setup.screen, monitor=setup.monitor, background="#000000") as window,
    ):
        return show_flashes(window, InputDevices(window), trigger, series, say)


def lab_photodiode(
    recording: str | Path,
    flashes: str | Path | None = None,
    rate_hz: float | None = None,
    output: str | Path | None = None,
) -> str:
    """Measure the delay and the durations of a screen in the recording of a photodiode.

    Parameters
    ----------
    recording
        The recording: CSV with the columns time in s, photodiode and trigger (optional), or WAV.
    flashes
        The file of `equipoise lab flashes`; None without this file.
    rate_hz
        Sampling rate in Hz, if the CSV file has no column of times.
    output
        Folder for the table of all flashes (`flashes-measured.csv`) and the figure (`screen-timing.svg` and `.pdf`);
        None to write no files.

    Returns
    -------
    str
        The report for a technician.

    Raises
    ------
    InputError
        If a file cannot be read or written, the recording has no clear flashes, or the files do not match.
    """
    shown = None if flashes is None else read_flashes(Path(flashes))
    timing = measure_screen(read_recording(Path(recording), rate_hz), shown)
    if output is not None:
        _write(timing, Path(output))
    return report(timing)


def _write(timing: ScreenTiming, folder: Path) -> None:
    files = {"flashes-measured.csv": csv_bytes(measured_table(timing))}
    figure = screen_timing_figure(timing.delays_ms, timing.deviations_ms, timing.durations_ms, "screen-timing")
    files |= {"screen-timing.svg": figure.svg.encode(), "screen-timing.pdf": figure.pdf}
    write_together(folder, files, {"recording": timing.recording.path.name})


def measured_table(timing: ScreenTiming) -> pd.DataFrame:
    """Return a table of all flashes in the recording, with one row per flash."""
    rows = []
    for each in timing.flashes:
        shown = each.shown
        rows.append(
            {
                "flash": None if shown is None else shown.flash,
                "onset_s": round(each.onset_s, 6),
                "offset_s": round(each.offset_s, 6),
                "duration_ms": round(each.duration_ms, 3),
                "code_s": None if each.code_s is None else round(each.code_s, 6),
                "delay_ms": None if each.delay_ms is None else round(each.delay_ms, 3),
                "deviation_ms": None if each.deviation_ms is None else round(each.deviation_ms, 3),
                "frames": each.frames,
                "frames_recorded": None if shown is None else shown.white_frames,
                "frames_intended": None if shown is None else shown.white_frames_intended,
            }
        )
    table = pd.DataFrame(rows)
    whole = ["flash", "frames", "frames_recorded", "frames_intended"]
    return table.astype(dict.fromkeys(whole, "Int64"))
