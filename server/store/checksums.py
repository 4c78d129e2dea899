"""Chains of checksums.

Each checksum covers a row and the previous checksum, so every changed or missing row is detected.

The first checksum of a session covers the session and its plan; each response adds a checksum. The session stores the
last checksum of its chain, so that missing rows at the end are detected too. The log of decisions is a separate chain.
If a person edits rows and computes the whole chain again, the chain does not reveal the edit. Then only an earlier
digest of the store, which `equipoise store verify` prints, shows that the data have changed.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

MODEL_COLUMNS = ("reading_rule", "stop_reason", "input_tokens", "output_tokens", "thinking")
"""Columns of a response that the migration `m011` added. They have values only if a model responded."""

SCREEN_COLUMNS = ("presentation", "confidence", "confidence_rt_ms")
"""Columns of a response that the migration `m015` added: the timing of screens and sounds, and the confidence."""

RESPONSE_COLUMNS = (
    "session", "trial_index", "attempt", "response_id", "response", "rt_ms", "fixation_ms", "fixation_frames",
    "fixation_frames_intended", "frame_ms", "shown_at", "onset_source", "received_at", "frames_dropped", "focus_lost",
    "valid", "text", "imported_correct", "visit", "input", "missing", "signals", "jspsych",
    *MODEL_COLUMNS, *SCREEN_COLUMNS,
)  # fmt: skip
"""The stored columns of a response that the checksum of the response covers, in this order."""

ACTION_COLUMNS = (
    "session", "trial_index", "action_index", "action_id", "action", "observation", "since_onset_ms", "rt_ms",
    "input", "attempt", "visit", "received_at",
)  # fmt: skip
"""The stored columns of an action. Its checksum, which covers them, is a link of the session's chain: the actions of a
trial come before the trial's response.
"""

N_FIRST_COLUMNS = 18
"""Number of the columns in `RESPONSE_COLUMNS` that existed before the migration `m003`. The checksum of a response that
was stored before `m003` covers only these first columns.
"""

TIMING_COLUMNS = ("fixation_frames_intended", "frame_ms", "onset_source")
"""Columns that the earliest stores with checksums lacked. The checksums of such a store do not cover these columns,
although the columns are among the first `N_FIRST_COLUMNS`.
"""

FIRST_FIXED = """
    session, participant, kind, study_digest, battery_digest, "group", seed, source, started_at, consent_digest,
    run, model, model_version, temperature, prompt_digest, parameters,
    CASE WHEN kind = 'model' THEN completed_at END
"""
"""The columns of a session that never change, as they were before the migration `m005`, for a query on `SESSIONS`. The
column `run` and all columns after it have values only in the session of a model.
"""

N_FIRST_FIXED = 17

FIXED = f"{FIRST_FIXED}, session_number, uploaded_at, revision, withdrawal_code"
"""The columns of a session that never change, for a query on `SESSIONS`. `session_number` and `uploaded_at` have
values only in a laboratory session. The checksum of a session from before the migration `m007` does not cover the last
column. Checksums cover values and not names, so a renamed column changes no checksum.
"""

SESSIONS = "sessions LEFT JOIN participants USING (participant) LEFT JOIN runs USING (session)"


def link(previous: str, values: Sequence[Any]) -> str:
    """Return the checksum (SHA-256) of a row together with the preceding checksum, as 64 hexadecimal digits.

    Parameters
    ----------
    previous
        The preceding checksum; "" at the beginning of a chain.
    values
        The values of the row (texts, numbers and None), as they were read from the database.
    """
    # A plain and fast form, not canonical JSON: every store returns the same Python types in the same order.
    return hashlib.sha256(json.dumps([previous, *values], separators=(",", ":")).encode()).hexdigest()


def link_response(previous: str, values: Sequence[Any]) -> str:
    """Return the checksum of a response, which also covers the preceding checksum.

    The columns after the first `N_FIRST_COLUMNS` were added later. The checksum covers these later columns only up to
    the last column that has a value. So a response that was stored before these columns existed keeps its checksum.

    Parameters
    ----------
    previous
        The preceding checksum.
    values
        The response, in the order of `RESPONSE_COLUMNS`.
    """
    n_covered = len(values)
    while n_covered > N_FIRST_COLUMNS and values[n_covered - 1] is None:
        n_covered -= 1
    return link(previous, values[:n_covered])


def is_link_of_response(checksum: str, previous: str, values: Sequence[Any]) -> bool:
    """Return True if a checksum is right for a response. The checksum may come from any earlier version of Equipoise.

    Parameters
    ----------
    checksum
        The checksum stored with the response.
    previous
        The preceding checksum.
    values
        The response, in the order of `RESPONSE_COLUMNS`.
    """
    if checksum == link_response(previous, values):
        return True
    later = {*TIMING_COLUMNS, *RESPONSE_COLUMNS[N_FIRST_COLUMNS:]}
    response = dict(zip(RESPONSE_COLUMNS, values, strict=True))
    if any(response[column] is not None for column in later):
        return False
    return checksum == link(previous, [value for column, value in response.items() if column not in later])


def beginning_of_session(fixed: Sequence[Any], plan: Iterable[Sequence[str]]) -> str:
    """Return the checksum with which a session's chain begins.

    The columns after the first `N_FIRST_FIXED` were added later. The checksum covers these later columns only up to the
    last column that has a value. So a session that was stored before these columns existed keeps its checksum.

    Parameters
    ----------
    fixed
        The values of the columns in `FIXED`.
    plan
        The phase and the item id of each trial, in the order of the trials.
    """
    n_covered = len(fixed)
    while n_covered > N_FIRST_FIXED and fixed[n_covered - 1] is None:
        n_covered -= 1
    return link("", [*fixed[:n_covered], *(list(trial) for trial in plan)])
