"""A table of a session's trials, with the columns that PsychoPy uses.

Times are in seconds. A byte-order mark makes Excel read UTF-8.
"""

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from batteries.items import Item
from experiment.records import Kind, LabDevice
from experiment.study.definition import Study

BEFORE_FACTORS = ("participant", "kind", "session", "date", "expName", "expVersion", "psychopyVersion", "frameRate",
                  "group", "seed", "trials.thisN", "phase", "item_id", "task")  # fmt: skip
AFTER_FACTORS = ("key_resp.keys", "key_resp.rt", "key_resp.corr", "key_resp.started", "missing", "input", "attempt",
                 "visit", "fixation.duration", "fixation.frames", "fixation.framesDropped")  # fmt: skip


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
    `key_resp.rt` and `fixation.duration` are in seconds. `key_resp.started` is the onset of the stimulus, in seconds
    since the first onset of the session. The start of the session is not used, because it may be by a server's clock.

    `frameRate` is the measured refresh rate in Hz, and `fixation.frames` is the measured number of frames. Both are
    empty if flips did not wait for the screen, because then they cannot be measured.

    `key_resp.keys` is the response: the number of the option, or the port of the board. `key_resp.corr` is empty for an
    ungraded item.
    """
    factors = sorted({name for item in study.battery.items for name in item.factors})
    columns = [*BEFORE_FACTORS, *factors, *AFTER_FACTORS]
    answered = [trial for trial in trials if trial["received_at"] is not None]
    first_shown_at = next((trial["shown_at"] for trial in answered if trial["shown_at"]), None)
    rows = [_row(study, heading, trial, first_shown_at) for trial in answered]
    file = io.StringIO(newline="")
    write_rows(file, [columns, *([row.get(column) for column in columns] for row in rows)])
    return file.getvalue().encode("utf-8-sig")


def write_psychopy_csv(path: Path, study: Study, heading: Heading, trials: Iterable[Mapping[str, Any]]) -> None:
    """Replace the file. The new file appears only when it is complete, and only the owner can read the file."""
    with atomic_write(path, is_private=True) as file:
        file.write(psychopy_csv(study, heading, trials).decode())


def _row(study: Study, heading: Heading, trial: Mapping[str, Any], first_shown_at: str | None) -> dict[str, Any]:
    item = study.battery.by_id[trial["item_id"]]
    response, device = json.loads(trial["response"]), heading.devices.get(trial["visit"])
    is_measured = device is not None and device.pacing == "frames"
    return {
        "participant": heading.participant,
        "kind": heading.kind.value,
        "session": heading.session_number,
        "date": date_of(heading.started_at),
        "expName": study.name,
        "expVersion": study.definition.version,
        "psychopyVersion": device and device.psychopy_version,
        "frameRate": round(1000 / trial["frame_ms"], 3) if is_measured and trial["frame_ms"] else None,
        "group": heading.group,
        "seed": heading.seed,
        "trials.thisN": trial["trial_index"],
        "phase": trial["phase"],
        "item_id": item.item_id,
        "task": item.task,
        **item.factors,
        "key_resp.keys": response,
        "key_resp.rt": _seconds(trial["rt_ms"]),
        "key_resp.corr": _corr(item, response),
        "key_resp.started": _seconds_between(first_shown_at, trial["shown_at"]),
        "missing": trial["missing"],
        "input": trial["input"],
        "attempt": trial["attempt"],
        "visit": trial["visit"],
        "fixation.duration": _seconds(trial["fixation_ms"]),
        "fixation.frames": trial["fixation_frames"] if is_measured else None,
        "fixation.framesDropped": trial["frames_dropped"],
    }


def _corr(item: Item, response: JsonValue) -> int | None:
    """Return 1 for a correct response, otherwise 0. The cell is empty for an ungraded item."""
    if not item.is_graded:
        return None
    score = None if response is None else item.score(response)
    return int(score is not None and score.correct)


def _seconds_between(earlier: str | None, later: str | None) -> float | None:
    if earlier is None or later is None:
        return None
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 7)
