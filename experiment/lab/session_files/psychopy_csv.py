"""A table of a session's trials, with the columns that PsychoPy uses.

Times are in seconds. A byte-order mark makes Excel read UTF-8.
"""

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from batteries.items import Item
from experiment.records import Kind, LabDevice
from experiment.study.definition import Study

BEFORE_FACTORS = ("thisRow.t", "participant", "kind", "session", "date", "expStart", "expName", "expVersion",
                  "psychopyVersion", "frameRate", "group", "seed", "trials.thisRepN", "trials.thisTrialN",
                  "trials.thisN", "trials.thisIndex", "phase", "item_id", "task")  # fmt: skip
AFTER_FACTORS = ("key_resp.keys", "key_resp.key_name", "key_resp.rt", "key_resp.corr", "key_resp.started",
                 "key_resp.stopped", "missing", "input", "attempt", "visit", "fixation.started", "fixation.stopped",
                 "fixation.duration", "fixation.frames", "fixation.framesDropped", "stimulus.started",
                 "stimulus.stopped")  # fmt: skip


@dataclass(frozen=True)
class Heading:
    """Values that are the same in all rows of a session."""

    participant: str
    """The participant code."""
    kind: Kind
    """`human`, or `simulated` for a rehearsal."""
    session_number: int
    group: int
    seed: int
    started_at: datetime
    devices: Mapping[int, LabDevice]
    """The machine of each visit, by the number of the visit.

        Of the visits on other machines, only the machine of the last one is known.
    """


def date_of(started_at: datetime) -> str:
    """Return the start of a session in this machine's time zone, in PsychoPy's format."""
    return started_at.astimezone().strftime("%Y-%m-%d_%Hh%M.%S")


def exp_start_of(clock_started_at: datetime) -> str:
    """Return the start of a visit's clock in this machine's time zone, in PsychoPy's format of `expStart`."""
    return clock_started_at.astimezone().strftime("%Y-%m-%d %Hh%M.%S.%f %z")


def psychopy_csv(study: Study, heading: Heading, trials: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the completed trials of a session as an encoded CSV file.

    Parameters
    ----------
    study
        The study with the items.
    heading
        Values for every row.
    trials
        Rows of the view `trials`. Trials without a stored response are left out.

    Notes
    -----
    All times are in seconds. `thisRow.t` and the columns that end with `.started` or `.stopped` are times since the
    start of the clock of the first visit, so they increase over visits. They are from clocks that never jump. The time
    between the starts of two visits' clocks is from the time of day. `expStart` is the time of day at which the first
    visit's clock started. These columns are empty if the start of a clock is unknown.

    `key_resp.started` is the onset of the stimulus, from which `key_resp.rt` counts. `key_resp.stopped` is the time of
    the response or of the time-out. `stimulus.stopped` is empty if the stimulus was on the screen until the response.

    The trials are one loop of PsychoPy without repetitions. So `trials.thisRepN` is 0, and `trials.thisTrialN` is equal
    to `trials.thisN`. `trials.thisIndex` is the position of the item in the battery, from 0.

    `frameRate` is the measured refresh rate in Hz, and `fixation.frames` is the measured number of frames. Both are
    empty if flips did not wait for the screen, because then they cannot be measured.

    `key_resp.keys` is the response: the number of the option, or the port of the board. `key_resp.key_name` is the name
    of the key with which the response was given; a click has none. `key_resp.corr` is empty for an ungraded item.
    """
    factors = sorted({name for item in study.battery.items for name in item.factors})
    columns = [*BEFORE_FACTORS, *factors, *AFTER_FACTORS]
    answered = [trial for trial in trials if trial["received_at"] is not None]
    index_of = {item.item_id: index for index, item in enumerate(study.battery.items)}
    rows = [_row(study, heading, trial) | {"trials.thisIndex": index_of[trial["item_id"]]} for trial in answered]
    file = io.StringIO(newline="")
    write_rows(file, [columns, *([row.get(column) for column in columns] for row in rows)])
    return file.getvalue().encode("utf-8-sig")


def write_psychopy_csv(path: Path, study: Study, heading: Heading, trials: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file. The new file appears only when it is complete, and only the owner can read the file."""
    with atomic_write(path, is_private=True) as file:
        file.write(psychopy_csv(study, heading, trials).decode())


def _row(study: Study, heading: Heading, trial: Mapping[str, Any]) -> dict[str, Any]:
    item = study.battery.by_id[trial["item_id"]]
    response, device = json.loads(trial["response"]), heading.devices.get(trial["visit"])
    exp_started_at = _clock_started_at(heading, visit=1)
    is_measured = device is not None and device.pacing == "frames"
    return {
        "participant": heading.participant,
        "kind": heading.kind.value,
        "session": heading.session_number,
        "date": date_of(heading.started_at),
        "expStart": exp_started_at and exp_start_of(exp_started_at),
        "expName": study.name,
        "expVersion": study.definition.version,
        "psychopyVersion": device and device.psychopy_version,
        "frameRate": round(1000 / trial["frame_ms"], 3) if is_measured and trial["frame_ms"] else None,
        "group": heading.group,
        "seed": heading.seed,
        "trials.thisRepN": 0,
        "trials.thisTrialN": trial["trial_index"],
        "trials.thisN": trial["trial_index"],
        "phase": trial["phase"],
        "item_id": item.item_id,
        "task": item.task,
        **item.factors,
        "key_resp.keys": response,
        "key_resp.key_name": _key_name(trial),
        "key_resp.rt": _seconds(trial["rt_ms"]),
        "key_resp.corr": _corr(item, response),
        "missing": trial["missing"],
        "input": trial["input"],
        "attempt": trial["attempt"],
        "visit": trial["visit"],
        "fixation.duration": _seconds(trial["fixation_ms"]),
        "fixation.frames": trial["fixation_frames"] if is_measured else None,
        "fixation.framesDropped": trial["frames_dropped"],
        **_times_s(trial, exp_started_at, _clock_started_at(heading, trial["visit"])),
    }


def _key_name(trial: Mapping[str, Any]) -> str | None:
    """Return the key with which the response was given; None for a click."""
    presentation = json.loads(trial["presentation"] or "{}")
    return next((event["key"] for event in presentation.get("events", ()) if event.get("key")), None)


def _clock_started_at(heading: Heading, visit: int | None) -> datetime | None:
    """Return the time of day at which a visit's clock started; None if it is unknown."""
    device = None if visit is None else heading.devices.get(visit)
    return device.clock_started_at if device else None


def _times_s(
    trial: Mapping[str, Any], exp_started_at: datetime | None, clock_started_at: datetime | None
) -> dict[str, float]:
    """Return the columns with the times of a trial's events, in seconds since the first visit's clock started."""
    if exp_started_at is None or clock_started_at is None or trial["presentation"] is None:
        return {}
    clock_us = (clock_started_at - exp_started_at) // timedelta(microseconds=1)
    spans_us: dict[str, tuple[int, int | None]] = {}
    for event in json.loads(trial["presentation"]).get("events", ()):
        spans_us.setdefault(event["event"], (event["onset_us"], event.get("offset_us")))
    fixation_us, stimulus_us = spans_us.get("fixation", (None, None)), spans_us.get("stimulus", (None, None))
    ended_us = next((spans_us[name][0] for name in ("response", "time_out") if name in spans_us), None)
    times_us = {
        "thisRow.t": fixation_us[0],
        "fixation.started": fixation_us[0],
        "fixation.stopped": fixation_us[1],
        "stimulus.started": stimulus_us[0],
        "stimulus.stopped": stimulus_us[1],
        "key_resp.started": stimulus_us[0],
        "key_resp.stopped": ended_us,
    }
    return {name: (clock_us + us) / 1e6 for name, us in times_us.items() if us is not None}


def _corr(item: Item, response: JsonValue) -> int | None:
    """Return 1 for a correct response, otherwise 0. The cell is empty for an ungraded item."""
    if not item.is_graded:
        return None
    score = None if response is None else item.score(response)
    return int(score is not None and score.correct)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 7)
