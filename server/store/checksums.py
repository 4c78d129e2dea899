"""Checksum chains: each row's checksum covers the one before it, so that a change, a gap or a swap breaks the chain.

A session's chain begins with the session itself and its plan, and has a link for each response; the session stores the
last one, so that a missing end is detected too. The log of decisions is a chain of its own. Chains reveal damage,
accidents and hidden edits. Rewriting a whole chain with its ends is revealed by a digest that was recorded earlier
(`equipoise store verify` prints it).
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
"""Number of these columns before `m003`; older responses have checksums over these alone."""

TIMING_COLUMNS = ("fixation_frames_intended", "frame_ms", "onset_source")
"""Those among the first that the earliest stores with checksums did not have, nor cover."""

FIRST_FIXED = """
    session, participant, kind, study_digest, battery_digest, "group", seed, source, started_at, consent_digest,
    run, model, model_version, temperature, prompt_digest, parameters,
    CASE WHEN kind = 'model' THEN completed_at END
"""
"""Unchanging columns of a session before `m005`, as columns of `SESSIONS`; those from `run` on are a model's."""

N_FIRST_FIXED = 17

FIXED = f"{FIRST_FIXED}, session_number, uploaded_at, revision, withdrawal_code"
"""Unchanging columns of a session, as columns of `SESSIONS`; `session_number` and `uploaded_at` are a laboratory's.
Sessions from before `m007` have checksums without the last one.
"""

SESSIONS = "sessions LEFT JOIN participants USING (participant) LEFT JOIN runs USING (session)"


def link(previous: str, values: Sequence[Any]) -> str:
    """Return the checksum of a row after the one before it: SHA-256, as 64 hexadecimal digits.

    Parameters
    ----------
    previous
        The preceding checksum; "" at the beginning.
    values
        Texts, numbers and None, as read from the database.
    """
    # A plain and fast form, not the canonical one: the same Python types come from every store, in fixed order.
    return hashlib.sha256(json.dumps([previous, *values], separators=(",", ":")).encode()).hexdigest()


def link_response(previous: str, values: Sequence[Any]) -> str:
    """Return the checksum of a response after the one before it.

    Later columns without a value are left out at the end, so that responses from before these columns keep their
    checksums.

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
    """Return True if a checksum is that of a response after the one before it, in any version.

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
