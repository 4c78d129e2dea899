"""The timing of the trials in the analysis: pacing, keyboard, dropped frames, and wrong fixations.

The columns of the tidy table are described in `docs/explanation/timing.md`.
"""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from analysis.data.columns import LAB_TIMING, PEOPLE
from analysis.data.fixation_timing import fixation_error_ms
from analysis.sentences import count, source_words

COUNTS = ["n_sessions", "n_sessions_by_clock", "n_sessions_keys_by_window", "n_sessions_without_device", "n_trials",
          "n_trials_timed", "n_trials_with_drops", "n_fixations_off"]  # fmt: skip
TIMING_COLUMNS = ["kind", "source", *COUNTS, "largest_error_ms"]


def timing(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the timing of the test trials in the analysis, for each kind and source of people. Models have no timing.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.

    Returns
    -------
    DataFrame
        The columns `TIMING_COLUMNS`. A session is counted in `n_sessions_by_clock` if the clock timed the fixation of
        at least one of its trials, and in `n_sessions_keys_by_window` if the window timed the key presses of at least
        one. Only laboratory sessions have this information, so other sources have missing values there.
        `n_fixations_off` counts fixations that differ from their intended duration by more than half a frame, and
        `largest_error_ms` is the largest difference.
    """
    names = ["kind", "source", "session", *LAB_TIMING, "frames_dropped", "fixation_ms", "fixation_frames_intended",
             "frame_ms"]  # fmt: skip
    kept = trials.loc[trials["excluded_by"].isna() & trials["kind"].isin(list(PEOPLE)), names]
    kept = kept.assign(error_ms=fixation_error_ms(kept))
    rows = [
        {"kind": kind, "source": source, **_counts(own, source)}
        for kind in PEOPLE
        for source, own in kept[kept["kind"] == kind].groupby("source", observed=True)
    ]
    table = pd.DataFrame(rows, columns=TIMING_COLUMNS)
    return table.astype(dict.fromkeys(COUNTS, "Int64") | {"largest_error_ms": "float64"})


def _counts(own: pd.DataFrame, source: Hashable) -> dict[str, Any]:
    error_ms = own["error_ms"].dropna()
    counts = {
        "n_sessions": own["session"].nunique(),
        "n_trials": len(own),
        "n_trials_timed": len(error_ms),
        "n_trials_with_drops": int((own.loc[error_ms.index, "frames_dropped"].fillna(0) > 0).sum()),
        "n_fixations_off": int((error_ms > own.loc[error_ms.index, "frame_ms"] / 2).sum()),
        "largest_error_ms": error_ms.max(),
    }
    if source != "lab":
        return counts
    pacing, keyboard = (own[column].astype("object") for column in LAB_TIMING)
    return counts | {
        "n_sessions_by_clock": own.loc[pacing == "clock", "session"].nunique(),
        "n_sessions_keys_by_window": own.loc[keyboard == "event", "session"].nunique(),
        "n_sessions_without_device": counts["n_sessions"] - own.loc[pacing.notna(), "session"].nunique(),
    }


def timing_sentences(table: pd.DataFrame) -> list[str]:
    """Return one text for each row of the table `timing`."""
    return [f"{_who(row)}: {' '.join(_sentences(row))}" for row in _records(table)]


def timing_notes(table: pd.DataFrame) -> list[str]:
    """Return a note for each kind of people whose laboratory sessions have degraded timing."""
    return [
        f"The timing of laboratory sessions is degraded ({_who(row)}). {sentence} The section Exclusions has the "
        "timing of all trials."
        for row in _records(table)
        if (sentence := _degraded(row))
    ]


def _sentences(row: dict[str, Any]) -> list[str]:
    sentences = []
    if row["source"] == "lab":
        without = row["n_sessions_without_device"]
        if sentence := _degraded(row):
            sentences.append(sentence)
        elif without < row["n_sessions"]:
            sentences.append("Flips waited for the screen, and psychtoolbox timed key presses, in all known sessions.")
        if without:
            sentences.append(
                f"{count(without, 'session has', 'sessions have')} no device data, so it is unknown whether flips "
                "waited for the screen, and what timed key presses."
            )
    n_timed, n_trials = row["n_trials_timed"], row["n_trials"]
    if not n_timed:
        return [*sentences, "The data have no measured timing of fixations."]
    sentences.append(
        f"Of {count(n_timed, 'test trial')}, {row['n_trials_with_drops']:,} had dropped frames, and the fixation of "
        f"{row['n_fixations_off']:,} differed from its intended duration by more than half a frame (largest "
        f"difference: {row['largest_error_ms']:.1f}\u00a0ms)."
    )
    if n_timed < n_trials:
        sentences.append(f"The timing of {count(n_trials - n_timed, 'further test trial')} was not measured.")
    return sentences


def _degraded(row: dict[str, Any]) -> str:
    """Return a sentence on the degraded sessions of the laboratory; empty if there are none."""
    if row["source"] != "lab" or not (row["n_sessions_by_clock"] or row["n_sessions_keys_by_window"]):
        return ""
    return (
        f"Of {count(row['n_sessions'], 'session')}, {row['n_sessions_by_clock']:,} had fixations that were timed by "
        f"the clock, because flips did not wait for the screen, and {row['n_sessions_keys_by_window']:,} had key "
        "presses that were timed by the window's events."
    )


def _who(row: dict[str, Any]) -> str:
    return f"{PEOPLE[row['kind']].capitalize()}, {source_words(row['kind'], row['source'])}"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return table.to_dict("records")  # type: ignore[return-value]
