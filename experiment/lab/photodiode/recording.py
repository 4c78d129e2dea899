"""Reading of recordings of a photodiode: CSV from an oscilloscope or an EEG amplifier, or WAV from a sound input."""

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.io import wavfile

from batteries.errors import InputError
from batteries.files.file_reading import read_text
from experiment.lab.photodiode.light import Floats, Ints

MOST_HEADER_LINES = 200
"""Maximum number of lines above the numbers. Oscilloscopes write their settings there."""
HIGHEST_RATE_HZ = 1e9
"""Highest sampling rate, in Hz."""
SAME_TRIGGER_S = 0.02
"""Two rises of the trigger within this time are the same event code, in s."""
LEAST_TRIGGER = 0.5
"""Least height of a trigger, as a share of the highest trigger."""

_NUMBER = re.compile(r"\s*\"?[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\"?\s*")


@dataclass(frozen=True)
class Recording:
    """The samples of a recording."""

    path: Path
    rate_hz: float
    light: Floats
    """Voltage of the photodiode at each sample."""
    trigger: Floats | None
    """Level or code of the trigger at each sample; None if the recording has no trigger."""

    @property
    def length_s(self) -> float:
        """Length of the recording, in s."""
        return len(self.light) / self.rate_hz


def read_recording(path: Path, rate_hz: float | None = None) -> Recording:
    """Read the recording of a photodiode.

    The columns of a CSV file are the time in s, the voltage of the photodiode, and optionally the trigger. With
    `rate_hz`, there is no column of times. The columns can be separated by commas, semicolons or tabs, and lines
    without numbers above the samples are skipped. In a WAV file, the left channel is the photodiode, and the right
    channel is the trigger. A file with one channel has no trigger.

    Parameters
    ----------
    path
        The file.
    rate_hz
        Sampling rate in Hz, for a CSV file without a column of times.

    Raises
    ------
    InputError
        If the file cannot be read as a recording.
    """
    if rate_hz is not None and not 0 < rate_hz <= HIGHEST_RATE_HZ:
        raise InputError(f"--rate-hz {rate_hz:g}: this is not a sampling rate in Hz. Fix: write a number such as 1000.")
    if path.suffix.lower() in {".wav", ".wave"}:
        if rate_hz is not None:
            raise InputError(f"{path}: a WAV file contains its sampling rate. Fix: omit --rate-hz.")
        return _read_wav(path)
    return _read_csv(path, rate_hz)


def trigger_onsets(recording: Recording) -> Floats:
    """Return the time of each event code in the trigger of a recording, in s from the first sample.

    The trigger leaves its usual level (the median) at the onset of a code, upwards or downwards. The onset is between
    two samples; its time is the middle between these samples.

    Raises
    ------
    InputError
        If the recording has a trigger that never changes.
    """
    assert recording.trigger is not None
    change = recording.trigger - np.median(recording.trigger)
    if -change.min() > change.max():
        change = -change
    if change.max() <= 0:
        raise InputError(
            f"{recording.path}: the trigger never changes. Fix: check its cable and its column, or record without a "
            "trigger and name the flashes with --flashes."
        )
    level = LEAST_TRIGGER * change.max()
    is_on = change >= level
    rises: Ints = np.flatnonzero(is_on & ~np.concatenate([[False], is_on[:-1]]))
    rises = rises[rises > 0]  # A code that the beginning of the recording cuts has no onset.
    times = (rises - 0.5) / recording.rate_hz
    kept: list[float] = []
    for at_s in times:
        if not kept or at_s - kept[-1] > SAME_TRIGGER_S:
            kept.append(float(at_s))
    return np.array(kept)


def _read_wav(path: Path) -> Recording:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rate_hz, samples = wavfile.read(path)
        except FileNotFoundError:
            raise InputError(f"{path}: this file does not exist. Fix: check the name and the current folder.") from None
        except OSError as error:
            raise InputError(
                f"{path}: this file cannot be read ({error.strerror}). Fix: check its name and permissions."
            ) from None
        except Exception as error:  # Damaged files raise different errors.
            raise InputError(f"{path}: this is not a WAV file ({error}). Fix: export it again as PCM WAV.") from None
    if any("EOF" in str(warning.message) for warning in caught):
        raise InputError(f"{path}: the file ends too early. Fix: copy or export the recording again.")
    channels = samples.reshape(len(samples), -1).astype(np.float64)
    if channels.shape[1] > 2 or len(samples) == 0:
        raise InputError(
            f"{path}: the file has {channels.shape[1]} channels with {len(samples):,} samples. Fix: export the "
            "photodiode as left channel and the trigger as right channel."
        )
    if not np.isfinite(channels).all():
        raise InputError(f"{path}: the file has values that are not numbers. Fix: export it again as PCM WAV.")
    trigger = channels[:, 1] if channels.shape[1] == 2 else None
    if trigger is not None and np.ptp(trigger) == 0:
        trigger = None  # A stereo recording of one cable.
    return Recording(path, float(rate_hz), channels[:, 0], trigger)


def _read_csv(path: Path, rate_hz: float | None) -> Recording:
    text = read_text(path)
    separator, n_above, n_columns, has_decimal_commas = _layout(text, path)
    n_times = 0 if rate_hz is not None else 1
    if not n_times < n_columns <= n_times + 2:
        expected = "time, photodiode and trigger" if n_times else "photodiode and trigger"
        hint = " With --rate-hz, the file has no column of times." if not n_times else ""
        missing = " If the file has no column of times, add --rate-hz." if n_times and n_columns == 1 else ""
        raise InputError(
            f"{path}, line {n_above + 1}: this line has {n_columns} {'column' if n_columns == 1 else 'columns'}.{hint} "
            f"Fix: export only these columns: {expected} (the trigger can be omitted).{missing}"
        )
    table = _numbers(text, path, separator, n_above, n_columns, has_decimal_commas)
    if n_times:
        rate_hz = _rate_hz(table[:, 0], path, text, n_above)
    assert rate_hz is not None
    trigger = table[:, n_times + 1] if n_columns == n_times + 2 else None
    return Recording(path, rate_hz, table[:, n_times], trigger)


def _layout(text: str, path: Path) -> tuple[str, int, int, bool]:
    """Return the separator, the number of lines above the numbers, the number of columns, and if commas are decimal."""
    for number, line in enumerate(islice(map(str.strip, io.StringIO(text)), MOST_HEADER_LINES)):
        separator = next((sign for sign in (";", "\t", ",") if sign in line), ",")
        cells = line.rstrip(separator).split(separator)
        if line and all(_NUMBER.fullmatch(cell) for cell in cells):
            return separator, number, len(cells), separator != "," and "," in line
    raise InputError(
        f"{path}: no line of numbers was found. Fix: export the recording as CSV, with the columns time, photodiode "
        "and trigger (or as WAV)."
    )


def _numbers(text: str, path: Path, separator: str, n_above: int, n_columns: int, has_decimal_commas: bool) -> Floats:
    if has_decimal_commas:
        text = text.replace(",", ".")
    try:
        table = np.loadtxt(
            io.StringIO(text), delimiter=separator, skiprows=n_above, ndmin=2, comments=None, quotechar='"',
            usecols=range(n_columns),
        )  # fmt: skip
    except ValueError:
        table = None
    if table is None or not np.isfinite(table).all():
        raise _bad_line(text, path, separator, n_above, n_columns)
    return np.asarray(table, dtype=np.float64)


def _bad_line(text: str, path: Path, separator: str, n_above: int, n_columns: int) -> InputError:
    """Return the error about the first line that is not one number per column."""
    for number, line in enumerate(io.StringIO(text), start=1):
        cells = line.strip().rstrip(separator).split(separator)
        if number <= n_above or not line.strip():
            continue
        if len(cells) < n_columns:
            return InputError(
                f"{path}, line {number}: this line has {len(cells)} of {n_columns} columns. Fix: export the recording "
                "again, or delete an incomplete last line."
            )
        wrong = next((cell for cell in cells[:n_columns] if not _NUMBER.fullmatch(cell)), None)
        if wrong is not None:
            return InputError(
                f"{path}, line {number}: {wrong.strip()[:40]!r} is not a number. Fix: correct or delete this line."
            )
    return InputError(f"{path}: the numbers cannot be read. Fix: export the recording as CSV with one number per cell.")


def _rate_hz(times_s: Floats, path: Path, text: str, n_above: int) -> float:
    """Return the sampling rate. The times may be rounded, but they must increase in equal steps."""
    steps = np.diff(times_s)
    if len(steps) == 0 or times_s[-1] <= times_s[0]:
        raise InputError(
            f"{path}, line {n_above + 1}: the first column does not increase, so it is not the time. Fix: export the "
            "time in s as first column, or add --rate-hz if there is no column of times."
        )
    mean_s = float(times_s[-1] - times_s[0]) / len(steps)
    step_s = float(np.median(steps[steps > 0])) if (steps > 0).any() else mean_s
    backwards = np.flatnonzero(steps < 0)
    if len(backwards):
        line = _line_of_row(text, n_above, int(backwards[0]) + 1)
        raise InputError(f"{path}, line {line}: the time goes backwards. Fix: export one recording without a pause.")
    gaps = np.flatnonzero(steps > 2.5 * max(step_s, mean_s))
    if len(gaps):
        line = _line_of_row(text, n_above, int(gaps[0]) + 1)
        raise InputError(
            f"{path}, line {line}: samples are missing for {steps[gaps[0]]:.4g} s before this line. Fix: record again "
            "without a pause, and export every sample."
        )
    even_s = times_s[0] + mean_s * np.arange(len(times_s))
    if float(np.abs(times_s - even_s).max()) > max(2.5 * max(step_s, mean_s), 0.001):
        raise InputError(
            f"{path}: the times do not increase in equal steps. Fix: record with a constant sampling rate."
        )
    return 1 / mean_s


def _line_of_row(text: str, n_above: int, row: int) -> int:
    """Return the line of a row of numbers, from 1. Empty lines have no row."""
    lines: Sequence[int] = [
        number for number, line in enumerate(io.StringIO(text), start=1) if number > n_above and line.strip()
    ]
    return lines[row]
