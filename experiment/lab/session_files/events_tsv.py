"""The events of a visit as BIDS writes them: a table `events.tsv`, and its description in JSON.

References
----------
Gorgolewski, K. J., et al. (2016). The brain imaging data structure, a format for organizing and describing outputs of
neuroimaging experiments. *Scientific Data, 3*, 160044.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batteries.files.atomic_write import atomic_write
from experiment.lab.visit_events import VisitEvent, VisitEvents
from experiment.study.definition import Study
from experiment.study.event_codes import level_text

COLUMNS = {
    "onset": "Time of the event, in seconds since the start of the visit's clock. A scanner run can be aligned by the "
    "row `scanner_start`, and other recordings by `value` or `lsl_time`.",
    "duration": "Time until the next screen appeared, in seconds; n/a for an event that is not a screen.",
    "trial_type": "The event.",
    "value": "The event code that was sent to the recording device; n/a if none was sent.",
    "code_time": "Time at which the program had sent the code, in seconds on the same clock as `onset`.",
    "lsl_time": "The time `onset` on the clock of LabStreamingLayer, in seconds; n/a if no code is sent to it.",
    "eye_tracker_time": "The time `onset` on the clock of ioHub, in seconds; n/a if no eye tracker received a message. "
    "ioHub's file has its samples and its messages by this clock.",
    "key": "PsychoPy's name of the key with which the response was given; n/a for a click and for other events.",
    "volume": "Number of the scanner's pulse, from 1; n/a for other events.",
    "trial_index": "Position of the trial in the session, from 0; n/a between trials.",
    "phase": "Phase of the trial: practice, test or attention_check.",
    "item_id": "Item of the trial.",
}
LEVELS = {
    "intertrial": "The blank screen between two trials appeared.",
    "fixation": "The fixation appeared.",
    "screen": "A screen before the stimulus appeared.",
    "stimulus": "The stimulus appeared.",
    "mask": "The mask appeared.",
    "blank": "The stimulus or the mask disappeared.",
    "response": "The participant gave the final response.",
    "time_out": "The time for the response was over.",
    "feedback": "The feedback appeared.",
    "session_start": "The session began or was resumed, after the consent.",
    "session_end": "The participant completed, stopped or left the session.",
    "block": "A block began.",
    "break": "A break began.",
    "scanner_start": "The pulse of the scanner after which the trials begin.",
    "calibration": "A calibration of the eye tracker began. Its duration is the time until the next screen appeared.",
    "pulse": "The scanner sent a pulse.",
}


def write_events(path: Path, study: Study, events: VisitEvents) -> None:
    """Replace the table of a visit's events, and the description of its columns in a JSON file beside it.

    Only the owner can read the files.

    Parameters
    ----------
    path
        Path of the table. Its name ends with `events.tsv`.
    study
        The study with the items.
    events
        The events of the visit.
    """
    factors = sorted({name for item in study.battery.items for name in item.factors})
    rows = [_row(study, event, events.lsl_offset_s, factors) for event in events.recorded]
    rows += [_pulse(number, us, events.lsl_offset_s) for number, us in enumerate(events.pulses_us, start=1)]
    columns = [*COLUMNS, *factors]
    lines = ["\t".join(columns), *(_line(row, columns) for row in sorted(rows, key=lambda row: row["onset"]))]
    with atomic_write(path, is_private=True) as file:
        file.write("\n".join(lines) + "\n")
    described: dict[str, Any] = {name: {"Description": text} for name, text in COLUMNS.items()}
    described["trial_type"]["Levels"] = LEVELS
    described |= {name: {"Description": f"Level of the factor {name} of the item."} for name in factors}
    described["StartTime"] = events.anchor.utc.isoformat(timespec="microseconds")
    with atomic_write(path.with_suffix(".json"), is_private=True) as file:
        file.write(json.dumps(described, indent=2, ensure_ascii=False) + "\n")


def _row(study: Study, visit_event: VisitEvent, lsl_offset_s: float | None, factors: Sequence[str]) -> dict[str, Any]:
    event, trial = visit_event.event, visit_event.trial
    onset_s = event.onset_us / 1e6
    row: dict[str, Any] = {
        "onset": onset_s,
        "duration": None if event.offset_us is None else (event.offset_us - event.onset_us) / 1e6,
        "trial_type": event.event,
        "value": event.code,
        "code_time": None if event.code_us is None else event.code_us / 1e6,
        "lsl_time": None if lsl_offset_s is None else onset_s + lsl_offset_s,
        "eye_tracker_time": visit_event.eye_tracker_s,
        "key": event.key,
    }
    if trial is None:
        return row
    item = study.battery.by_id[trial.item_id]
    levels = {name: level_text(item.factors[name]) for name in factors if name in item.factors}
    return row | {"trial_index": trial.trial_index, "phase": trial.phase.value, "item_id": trial.item_id, **levels}


def _pulse(number: int, us: int, lsl_offset_s: float | None) -> dict[str, Any]:
    onset_s = us / 1e6
    lsl_time_s = None if lsl_offset_s is None else onset_s + lsl_offset_s
    return {"onset": onset_s, "duration": 0.0, "trial_type": "pulse", "lsl_time": lsl_time_s, "volume": number}


def _line(row: dict[str, Any], columns: Sequence[str]) -> str:
    return "\t".join(_cell(row.get(column)) for column in columns)


def _cell(value: object) -> str:
    """Return a cell. A tab or a line break in a level would end the cell, so it becomes a space."""
    if value is None or value == "":
        return "n/a"
    return f"{value:.6f}" if isinstance(value, float) else " ".join(str(value).split())
