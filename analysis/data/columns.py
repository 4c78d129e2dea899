"""The columns of the view `trials` and of the tidy table, and the names of participants in all tables."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.factor_levels import level_order

TEXT = ("study", "study_version", "battery", "session", "participant", "kind", "source", "status", "started_at",
        "completed_at", "phase", "item_id", "task", "shown_at", "onset_source", "received_at", "model",
        "model_version", "run", "prompt_digest", "input", "missing", "excluded_at", "excluded_reason",
        "reading_rule", "stop_reason")  # fmt: skip
WHOLE = ("group", "seed", "trial_index", "fixation_frames", "fixation_frames_intended", "frames_dropped", "focus_lost",
         "attempt", "visit", "session_number", "study_revision", "input_tokens", "output_tokens")  # fmt: skip
DECIMAL = ("rt_ms", "fixation_ms", "frame_ms", "temperature", "confidence", "confidence_rt_ms")
YES_NO = ("valid", "imported_correct")
JSON = ("factors", "content", "key", "response", "signals", "jspsych", "run_parameters", "presentation",
        "device")  # fmt: skip
VIEW_COLUMNS = (*TEXT, *WHOLE, *DECIMAL, *YES_NO, *JSON)
LATER_COLUMNS = ("fixation_frames_intended", "frame_ms", "onset_source", "visit", "input", "missing", "signals",
                 "jspsych", "session_number", "study_revision", "excluded_at", "excluded_reason", "reading_rule",
                 "stop_reason", "input_tokens", "output_tokens", "run_parameters", "presentation", "confidence",
                 "confidence_rt_ms", "device")  # fmt: skip
"""Columns that stores and exports of an earlier Equipoise lack. If a store or export lacks such a column, the values
of this column are missing in the tidy table.
"""

FORMER_COLUMNS = {"session_number": "occasion"}
"""The names of columns in stores and exports of an earlier Equipoise. The keys are the present names."""

NEVER_EMPTY = ("study", "study_version", "battery", "session", "participant", "kind", "source", "status",
               "trial_index", "phase", "item_id", "task", "factors", "content", "key")  # fmt: skip

BEFORE_FACTORS = ("study", "study_version", "study_revision", "battery", "session", "participant", "kind", "source",
                  "status", "session_number", "group", "seed", "started_at", "completed_at", "excluded_at",
                  "excluded_reason", "trial_index", "phase", "item_id", "task")  # fmt: skip
SIGNALS = ("signal_hidden", "signal_away_ms", "signal_fullscreen_left", "signal_pasted", "signal_copied",
           "signal_resized", "signal_too_early", "signal_too_fast", "signal_untrusted",
           "signal_translated", "signal_rules_opened", "signal_rules_ms")  # fmt: skip
"""Events during a trial that a browser records, such as a hidden page, as whole numbers. Without a browser, the values
are missing.
"""
LAB_SIGNALS = ("signal_too_early", "signal_rules_opened", "signal_rules_ms")
"""The signals that the laboratory program records too."""
LAB_TIMING = ("device_pacing", "device_keyboard")
"""Columns with the timing of a laboratory's computer, from the column `device`. Without a laboratory, the values are
missing.
"""
PRESENTATION = ("stimulus_duration_ms", "presentation_frames_off", "sound_onset_ms", "sound_latency_ms",
                "response_mapping")  # fmt: skip
"""Columns from the column `presentation`: the timing of a trial's screens and sounds, and the mapping of keys."""
PATTERNS = ("implausibly_fast", "same_response_run")
"""Suspicious patterns of responses, computed by `analysis.data.response_patterns`."""
JSPSYCH = ("trial_type", "plugin_version", "time_elapsed", "rt")
"""Columns with the names of jsPsych's own data. `rt` is `rt_ms`, rounded as in jsPsych."""
AFTER_FACTORS = ("content", "key", "response", "missing", "correct", "score", "chance", "value", "rt_ms", "input",
                 "fixation_ms", "fixation_frames", "fixation_frames_intended", "frame_ms", "shown_at", "onset_source",
                 "received_at", "frames_dropped", *LAB_TIMING, "presentation", *PRESENTATION, "confidence",
                 "confidence_rt_ms", "attempt", "visit", "focus_lost", *SIGNALS, *PATTERNS, *JSPSYCH,
                 "model", "model_version", "temperature", "run", "prompt_digest", "valid", "imported_correct",
                 "reading_rule", "stop_reason", "input_tokens", "output_tokens", "prompt", "thinking",
                 "thinking_budget", "epoch", "subject")  # fmt: skip
DERIVED = ("correct", "score", "chance", "value", "excluded_by", "counted_as", "coding_name", "coded_as",
           *LAB_TIMING, *PRESENTATION, *PATTERNS, "rt", "prompt", "thinking", "thinking_budget", "epoch",
           "subject")  # fmt: skip
"""Columns that are computed from the raw data. The data digest does not include these columns."""

SINCE_THE_DIGEST = ("session_number", "study_revision", "excluded_at", "excluded_reason", "reading_rule",
                    "stop_reason", "input_tokens", "output_tokens", "signal_translated", "signal_too_fast",
                    "presentation", "confidence", "confidence_rt_ms", "signal_rules_opened",
                    "signal_rules_ms")  # fmt: skip
"""Columns that were added after the data digest was defined. If such a column has no values, the digest omits the
column. A signal that is 0 counts as no value."""

FIXED_COLUMNS = frozenset((*VIEW_COLUMNS, *BEFORE_FACTORS, *AFTER_FACTORS, *DERIVED))

ALLOWED = {
    "kind": ("human", "simulated", "model"),
    "source": ("web", "lab", "api", "import"),
    "status": ("active", "completed", "withdrawn"),
    "phase": ("practice", "test", "attention_check"),
}

KINDS = ("human", "simulated", "model")
"""The kinds of participants, in the order of every table."""

PEOPLE = {"human": "people", "simulated": "simulated participants"}
"""The name of people and of simulated participants in tables. Responses of the two kinds are never pooled."""


def factor_columns(trials: pd.DataFrame) -> list[str]:
    """Return the factors of a tidy table: every column that is not in `FIXED_COLUMNS`."""
    return [column for column in trials.columns if column not in FIXED_COLUMNS]


def is_graded(trials: pd.DataFrame) -> pd.Series:
    """Return True for each trial of an item with a right answer."""
    return trials["key"].notna()


def dtype_of_levels(levels: pd.Series) -> Any:
    """Return the type that the column of a factor has in tables of results.

    The tidy table has a type that needs less memory.
    """
    if isinstance(levels.dtype, pd.CategoricalDtype):
        return "str"
    return "Int64" if levels.dtype == "Int32" else levels.dtype


def units(trials: pd.DataFrame) -> pd.Series:
    """Return the participant of each trial; for a trial of a model, return the run."""
    return trials["run"].astype("str").where(trials["kind"] == "model", trials["participant"].astype("str"))


def numbered_units(trials: pd.DataFrame) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the unit of each trial as a number, and the names of the units. A million texts would need much memory."""
    participant, participants = pd.factorize(trials["participant"])
    run, runs = pd.factorize(trials["run"])
    number = np.where(trials["kind"] == "model", len(participants) + run, participant)
    return number, [str(name) for name in [*participants, *runs]]


def subject_order(kind: Hashable, subject: Hashable) -> tuple[int, object]:
    """Return a sort key for the order: people, simulated participants, then models by their names."""
    return KINDS.index(str(kind)), level_order(subject)


SESSION_COLUMNS = ["session", "kind", "study", "study_version", "battery", "source", "group", "status", "started_at"]


def sessions_of(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row per session with `SESSION_COLUMNS` and `unit` (the participant or the run), sorted by session.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    """
    sessions = trials.drop_duplicates("session").sort_values("session", ignore_index=True)
    return sessions[SESSION_COLUMNS].assign(unit=units(sessions))
