"""`equipoise lab codes`: list the event codes of a study, and send each of them once to the recording device."""

import io
import time
from collections.abc import Callable
from contextlib import closing
from itertools import groupby

from batteries.errors import InputError
from batteries.files.csv_files import write_rows
from equipoise.commands.store_access import StudyFolder, loaded
from experiment.lab.hardware.triggers import open_trigger
from experiment.study.event_codes import level_text

INTERVAL_S = 0.5
"""Time between two codes of a rehearsal, in s, so that a technician can follow them on the recording."""


def lab_codes(study: StudyFolder) -> str:
    """Return the event codes of a study as CSV.

    Parameters
    ----------
    study
        The study.

    Returns
    -------
    str
        A table with one row for each code and meaning.

    Raises
    ------
    InputError
        If the study has an error.
    """
    study = loaded(study)
    factors = list(study.definition.event_codes.factors)
    file = io.StringIO(newline="")
    rows = []
    for meaning in study.event_code_meanings:
        levels = {name: level_text(level) for name, level in meaning.levels}
        rows.append((meaning.code, meaning.event, meaning.phase, *map(levels.get, factors), meaning.item_id))
    write_rows(file, [("code", "event", "phase", *factors, "item_id"), *rows])
    return file.getvalue()


def rehearse_codes(study: StudyFolder, trigger: str, say: Callable[[str], object] = print) -> int:
    """Send each event code of a study once, in the order of the codes. Return the number of codes.

    Parameters
    ----------
    study
        The study.
    trigger
        Destination of the codes; see `experiment.lab.hardware.triggers`.
    say
        Function that receives each code with its meanings, when the code is sent.

    Raises
    ------
    InputError
        If the study has an error, the device cannot be opened or no longer accepts codes, or the study has no codes.
    """
    study = loaded(study)
    by_code = {code: list(same) for code, same in groupby(study.event_code_meanings, lambda meaning: meaning.code)}
    if not by_code:
        raise InputError(
            f"{study.folder / 'study.yaml'}: the study sends no event codes. Fix: name events under "
            "`event_codes.events`, or delete `event_codes` for the usual codes."
        )
    with closing(open_trigger(trigger, study.highest_event_code)) as device:
        for number, (code, meanings) in enumerate(by_code.items()):
            if number > 0:
                time.sleep(INTERVAL_S)
            device.send(code, time.perf_counter_ns())
            say(f"{code}: {'; '.join(meaning.words for meaning in meanings)}")
        time.sleep(INTERVAL_S)  # The pulse of the last code must end before the device is closed.
    return len(by_code)
