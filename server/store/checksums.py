"""Checksum chains: each row's checksum covers the checksum before it, so that any change, gap or swap breaks the chain.

A session's chain begins with the session itself and its plan, and has a link for each response. The session stores the
last checksum, so that a missing end is detected too. The log of decisions is a separate chain. Chains reveal damage,
accidents and hidden edits. A person can also write a whole chain again; a digest that was recorded earlier reveals this
(`equipoise store verify` prints the digest).
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

RESPONSE_COLUMNS = (
    "session", "trial_index", "attempt", "response_id", "response", "rt_ms", "fixation_ms", "fixation_frames",
    "fixation_frames_intended", "frame_ms", "shown_at", "onset_source", "received_at", "frames_dropped", "focus_lost",
    "valid", "text", "imported_correct", "visit", "input", "missing", "signals", "jspsych",
)  # fmt: skip
"""The stored columns of a response that its checksum covers, in this order."""

N_FIRST_COLUMNS = 18
"""Number of these columns before `m003`; checksums of older responses cover only these columns."""

TIMING_COLUMNS = ("fixation_frames_intended", "frame_ms", "onset_source")
"""Those of the first columns that the earliest stores with checksums did not have, so that checksums omit them."""

FIRST_FIXED = """
    session, participant, kind, study_digest, battery_digest, "group", seed, source, started_at, consent_digest,
    run, model, model_version, temperature, prompt_digest, parameters,
    CASE WHEN kind = 'model' THEN completed_at END
"""
"""Unchanging columns of a session before `m005`, as columns of `SESSIONS`; the columns from `run` on are a model's."""

N_FIRST_FIXED = 17

FIXED = f"{FIRST_FIXED}, session_number, uploaded_at, revision, withdrawal_code"
"""Unchanging columns of a session, as columns of `SESSIONS`; `session_number` and `uploaded_at` are a laboratory's.
Checksums of sessions from before `m007` do not cover the last column. A checksum covers values only, so that a renamed
column changes no checksum.
"""

SESSIONS = "sessions LEFT JOIN participants USING (participant) LEFT JOIN runs USING (session)"


def link(previous: str, values: Sequence[Any]) -> str:
    """Return a row's checksum, which covers the preceding one: SHA-256, as 64 hexadecimal digits.

    Parameters
    ----------
    previous
        The preceding checksum; "" at the beginning.
    values
        Texts, numbers and None, as read from the database.
    """
    # A plain and fast form, not canonical JSON: every store returns the same Python types in the same order.
    return hashlib.sha256(json.dumps([previous, *values], separators=(",", ":")).encode()).hexdigest()


def link_response(previous: str, values: Sequence[Any]) -> str:
    """Return a response's checksum, which covers the preceding one.

    Later columns without a value are left out at the end, so that responses from before these columns existed keep
    their checksums.

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
    """Return True if a checksum is a response's checksum, as any version of Equipoise computes it.

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

    Later columns without a value are left out at the end, as in `link_response`.

    Parameters
    ----------
    fixed
        The unchanging columns of the session, as `FIXED` selects them.
    plan
        Phase and item id of each trial, in order.
    """
    n_covered = len(fixed)
    while n_covered > N_FIRST_FIXED and fixed[n_covered - 1] is None:
        n_covered -= 1
    return link("", [*fixed[:n_covered], *(list(trial) for trial in plan)])
