"""The codebook of an export: type, unit, meaning and levels of each column of each table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from analysis.data.columns import AFTER_FACTORS, BEFORE_FACTORS
from analysis.data.row_filters import levels_of
from analysis.exclusions.flow import FLOW_COLUMNS
from analysis.statistics.factor_levels import level_text

Type = Literal["text", "whole number", "number", "true or false", "time", "JSON"]

MOST_LEVELS = 60
"""A factor with more levels has no list of levels in the codebook: such a factor names the items."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: Type
    label: str
    """The meaning, in words."""
    unit: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    """The possible values, as texts, with the meaning of each; empty if any value of the type is possible."""


def _column(name: str, type: Type, label: str, unit: str = "", **levels: str) -> Column:
    return Column(name, type, label, unit, levels)


_STATUS = {
    "active": "not completed",
    "completed": "all responses were given",
    "withdrawn": "the participant withdrew, and the responses were deleted",
}
_KIND = {"human": "person", "simulated": "program in place of a person", "model": "language model"}
_SOURCE = {
    "web": "browser",
    "lab": "laboratory",
    "api": "run of a model that Equipoise made",
    "import": "read from a file",
}

_SHARED = (
    _column("study", "text", "Name of the study"),
    _column("study_version", "text", "Version of the study at the start of the session"),
    _column("study_revision", "whole number", "Revision of the wording at the start of the session, from 1"),
    _column("battery", "text", "Digest of the battery (SHA-256, hexadecimal)"),
    _column("session", "text", "Name of the session, drawn at random"),
    _column("participant", "text", "Pseudonym of the participant, drawn at random; for a model, the session"),
    _column("kind", "text", "Kind of respondent", **_KIND),
    _column("source", "text", "Source of the responses", **_SOURCE),
    _column("status", "text", "Status of the session", **_STATUS),
    _column("session_number", "whole number", "Session number in the laboratory, from 1"),
    _column("group", "whole number", "Counterbalance group, from 1; empty for models"),
    _column("seed", "whole number", "Seed of the session's plan; empty for models"),
    _column("started_at", "time", "Time of consent, or start of the run of a model", "UTC"),
    _column("completed_at", "time", "Completion of the session", "UTC"),
    _column("excluded_at", "time", "Time at which the researcher excluded the session by name", "UTC"),
    _column("excluded_reason", "text", "The researcher's reason for this exclusion"),
)

_TRIALS = (
    *_SHARED,
    _column("trial_index", "whole number", "Position in the session, from 0"),
    _column("phase", "text", "Phase of the session", practice="practice trial", test="test trial",
            attention_check="attention check"),
    _column("item_id", "text", "The item; items.jsonl has its content"),
    _column("task", "text", "Task of the item"),
    _column("key", "JSON", "The right answer; null for an ungraded item, which has none"),
    _column("response", "JSON", "The response"),
    _column("missing", "text", "Reason for a missing response", deadline="the deadline passed",
            interrupted="the page was closed during the trial",
            too_large="the response had more bytes than the server accepts"),
    _column("correct", "true or false", "True if the response is correct; empty for an ungraded item"),
    _column("score", "number", "Score of the response; empty for an ungraded item", "credit from 0 to 1"),
    _column("chance", "number", "Probability that a random response is correct; empty for an ungraded item", "share"),
    _column("value", "number", "The response as a number, such as a rating; empty for tasks without numbers"),
    _column("rt_ms", "number", "Time from stimulus onset to the response", "ms"),
    _column("input", "text", "Input device", key="key", mouse="mouse", touch="touch screen", pen="pen",
            box="response box"),
    _column("fixation_ms", "number", "Measured duration of the fixation", "ms"),
    _column("fixation_frames", "whole number", "Measured duration of the fixation", "frames"),
    _column("fixation_frames_intended", "whole number", "Intended duration of the fixation", "frames"),
    _column("frame_ms", "number", "Frame interval of the display", "ms"),
    _column("shown_at", "time", "Stimulus onset by the clock of the participant's computer", "UTC"),
    _column("onset_source", "text", "Source of the stimulus onset",
            presented="the browser reported the frame on the screen", painted="time just after the browser drew",
            flip="flip of the laboratory window"),
    _column("received_at", "time", "Time at which the server stored the response", "UTC"),
    _column("frames_dropped", "whole number", "Missed frames during the fixation", "frames"),
    _column("device_pacing", "text", "Timing of the fixation in the laboratory", frames="counted in frames",
            clock="timed by the clock"),
    _column("device_keyboard", "text", "Program that timed key presses in the laboratory", ptb="psychtoolbox",
            iohub="ioHub", event="the window's events"),
    _column("presentation", "JSON", "Actual timing of the trial's screens, sounds and (in the laboratory) events"),
    _column("stimulus_duration_ms", "number", "Actual duration of a stimulus that disappeared by itself", "ms"),
    _column("presentation_frames_off", "number",
            "Largest difference between an actual and an intended duration of the trial's screens", "frames"),
    _column("sound_onset_ms", "number", "Time from stimulus onset until the first sound left the output", "ms"),
    _column("sound_latency_ms", "number", "Delay of the sound output that sound_onset_ms includes", "ms"),
    _column("response_mapping", "whole number", "Mapping of keys to responses, from 1; empty if all participants have "
            "the same keys"),
    _column("confidence", "number", "Confidence in the response, on the scale of the study"),
    _column("confidence_rt_ms", "number", "Time from the question about confidence to its answer", "ms"),
    _column("attempt", "whole number", "Number of times that the trial was shown", "times"),
    _column("visit", "whole number", "Number of the visit in which the participant responded, from 1"),
    _column("focus_lost", "whole number", "Number of times that the page lost focus", "times"),
    _column("signal_hidden", "whole number", "Number of times that the page was hidden", "times"),
    _column("signal_away_ms", "whole number", "Time for which the page was hidden or without focus", "ms"),
    _column("signal_fullscreen_left", "whole number", "Number of times that full screen was left", "times"),
    _column("signal_pasted", "whole number", "Number of times that text was pasted", "times"),
    _column("signal_copied", "whole number", "Number of times that text was copied", "times"),
    _column("signal_resized", "whole number", "Number of times that the window changed its size", "times"),
    _column("signal_too_early", "whole number", "Number of presses that came too early", "times"),
    _column("signal_too_fast", "whole number", "1 if the response came within 100 ms after stimulus onset", "times"),
    _column("signal_untrusted", "whole number", "Number of presses that a program in the page made", "times"),
    _column("signal_translated", "whole number", "1 if the browser or an extension had translated the page", "times"),
    _column("signal_rules_opened", "whole number", "Number of times that the participant opened the rules", "times"),
    _column("signal_rules_ms", "whole number", "Time for which the rules were open", "ms"),
    _column("implausibly_fast", "true or false", "True if the response came faster than a person can read"),
    _column("same_response_run", "whole number", "Number of equal responses in a row", "responses"),
    _column("trial_type", "text", "jsPsych's name of the plugin that showed the trial"),
    _column("plugin_version", "text", "Version of this plugin"),
    _column("time_elapsed", "number", "Time since the start of jsPsych's timeline", "ms"),
    _column("rt", "number", "rt_ms, rounded, under jsPsych's name", "ms"),
    _column("model", "text", "Name of the model"),
    _column("model_version", "text", "Exact name of the model, as its provider writes it"),
    _column("temperature", "number", "Sampling temperature"),
    _column("run", "text", "Label of the run of a model"),
    _column("prompt_digest", "text", "SHA-256 of the part of the prompt that is the same for all items"),
    _column("valid", "true or false", "False if a model's reply contains no possible response"),
    _column("imported_correct", "true or false", "Score in the file of an imported run"),
    _column("reading_rule", "text", "Rule by which the response was found in a model's reply"),
    _column("stop_reason", "text", "Reason why a model's reply ended, in the provider's words"),
    _column("input_tokens", "whole number", "Length of the prompt", "tokens"),
    _column("output_tokens", "whole number", "Length of the reply and of the thinking", "tokens"),
    _column("prompt", "text", "Name of the run's prompt"),
    _column("thinking", "true or false", "True if the model was asked to think before its reply"),
    _column("thinking_budget", "whole number", "Largest length of the thinking", "tokens"),
    _column("epoch", "whole number", "Number of the repetition of a run, from 1"),
    _column("subject", "text", "The subject in tables of results: people, simulated participants, or a model"),
    _column("excluded_by", "text", "Step of the analysis that excludes the trial; empty for a trial in the analysis"),
)  # fmt: skip

_PARTICIPANTS = (
    *(column for column in _SHARED if column.name in {"participant", "kind"}),
    _column("run", "text", "Label of the run of a model"),
    _column("subject", "text", "The subject in tables of results"),
    _column("model", "text", "Name of the model"),
    _column("model_version", "text", "Exact name of the model, as its provider writes it"),
    _column("source", "text", "Source of the responses; several sources are separated by commas"),
    _column("group", "text", "Counterbalance groups of the participant's sessions"),
    _column("status", "text", "Status of the first completed session, or of the first session", **_STATUS),
    _column("started_at", "time", "Start of this session", "UTC"),
    _column("completed_at", "time", "Completion of this session", "UTC"),
    _column("n_sessions", "whole number", "Number of sessions", "sessions"),
    _column("n_test_trials", "whole number", "Planned test trials", "trials"),
    _column("n_answered", "whole number", "Test trials with a response", "trials"),
    _column("n_included", "whole number", "Test trials in the analysis", "trials"),
    _column("n_attention_checks", "whole number", "Attention checks that count", "trials"),
    _column("n_attention_checks_failed", "whole number", "Failed attention checks", "trials"),
    _column("median_rt_ms", "number", "Median response time of the test trials", "ms"),
    _column("disposition", "text", "Step of the analysis that excludes the participant, or `included`"),
)

_SESSIONS = (
    *(column for column in _SHARED if column.name not in {"study", "battery", "seed"}),
    _column("slot", "text", "State of the slot in the group", reserved="reserved", confirmed="counts towards the quota",
            released="free for another participant"),
    _column("release_reason", "text", "Reason why the slot was released"),
    _column("n_trials", "whole number", "Planned trials, with all rounds of practice", "trials"),
    _column("n_answered", "whole number", "Finished trials", "trials"),
    _column("consent_version", "text", "Version of the consent text"),
    _column("consent_digest", "text", "SHA-256 of the consent text that was shown"),
    _column("uploaded_at", "time", "Time of the upload of a session that was run without this server", "UTC"),
    _column("n_visits", "whole number", "Number of openings of the study's page", "visits"),
    _column("content_digest", "text", "SHA-256 of definition, battery and texts of the revision"),
    _column("device_width_px", "whole number", "Width of the window", "pixels"),
    _column("device_height_px", "whole number", "Height of the window", "pixels"),
    _column("device_screen_width_px", "whole number", "Width of the screen", "pixels"),
    _column("device_screen_height_px", "whole number", "Height of the screen", "pixels"),
    _column("device_pixel_ratio", "number", "Screen pixels per CSS pixel, including zoom"),
    _column("device_frame_ms", "number", "Measured frame interval of the display", "ms"),
    _column("device_frame_used_ms", "number", "Frame interval with which durations were counted in frames", "ms"),
    _column("device_touch", "true or false", "True if there is a touch screen"),
    _column("device_phone", "true or false", "True for a phone"),
    _column("device_keyboard", "text", "Web: true if a key was pressed on request. Laboratory: the keyboard library"),
    _column("device_automation", "true or false", "True if a program controls the browser"),
    _column("device_color_scheme", "text", "Colours of the page", light="dark text on a light page",
            dark="light text on a dark page"),
    _column("device_text_px", "number", "Size of normal text; most browsers have 16", "pixels"),
    _column("device_clock_ms", "number", "Smallest step of the browser's clock", "ms"),
    _column("device_translated", "true or false", "True if the browser or an extension has translated the page"),
    _column("device_storage", "true or false", "True if the browser could keep responses until they were sent"),
    _column("device_sound", "true or false", "True if the participant proved to hear sounds"),
    _column("device_px_per_cm", "number", "Size of a pixel, as measured with a card", "pixels per cm"),
    _column("device_distance_cm", "number", "Viewing distance that the page asked for", "cm"),
    _column("device_full_screen", "true or false", "True if the laboratory window fills the screen"),
    _column("device_screen", "whole number", "Number of the laboratory's screen, from 0"),
    _column("device_monitor", "text", "Name of the monitor in PsychoPy"),
    _column("device_nominal_hz", "number", "Nominal refresh rate", "Hz"),
    _column("device_measured_hz", "number", "Measured refresh rate", "Hz"),
    _column("device_is_synchronised", "true or false", "True if flips waited for the screen"),
    _column("device_pacing", "text", "Timing of fixations", frames="counted in frames", clock="timed by the clock"),
    _column("device_response_box", "text", "Response box with the keys of its buttons, and the source of its times"),
    _column("device_psychopy_version", "text", "Version of PsychoPy"),
    _column("device_python_version", "text", "Version of Python"),
    _column("device_platform", "text", "Operating system of the laboratory's computer"),
    _column("device_text_font", "text", "Font of the texts"),
)  # fmt: skip

_RUNS = (
    _column("run", "text", "Label of the run of a model"),
    _column("session", "text", "Name of the session in the table of trials"),
    _column("model", "text", "Name of the model"),
    _column("model_version", "text", "Exact name of the model, as its provider writes it"),
    _column("temperature", "number", "Sampling temperature"),
    _column("prompt_digest", "text", "SHA-256 of the part of the prompt that is the same for all items"),
    _column("source", "text", "Source of the responses", **_SOURCE),
    _column("run_parameters", "JSON", "Other settings of the run, such as the name of the prompt"),
)

_EVENTS = (
    _column("event_index", "whole number", "Number of the entry in the log of the study, from 0"),
    _column("at", "time", "Time of the event", "UTC"),
    _column("event", "text", "Kind of the event, such as reserved, confirmed, released, excluded, revised"),
    _column("session", "text", "Session of the event"),
    _column("group", "whole number", "Counterbalance group"),
    _column("because", "text", "Reason why a slot was released"),
    _column("details", "JSON", "All details of the entry; only in exports with --full"),
)

_EXCLUSIONS = (
    _column("kind", "text", "Kind of respondent", **_KIND),
    _column("step", "text", "Step of the exclusions, or `included`"),
    _column("criterion", "text", "What the step excludes, in words"),
    _column("n_participants", "whole number", "Participants that the step excludes", "participants"),
    _column("n_trials", "whole number", "Test trials that the step excludes", "trials"),
    _column("participants_left", "whole number", "Participants that remain after the step", "participants"),
    _column("trials_left", "whole number", "Test trials that remain after the step", "trials"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "trials": _TRIALS,
    "participants": _PARTICIPANTS,
    "sessions": _SESSIONS,
    "runs": _RUNS,
    "events": _EVENTS,
    "exclusions": _EXCLUSIONS,
}
"""The columns of each table. `trials` has also a column for each factor. `participants` and `sessions` have also a
column for each question about the participant."""

ABOUT_TABLES = {
    "trials": "one row for each planned trial of each session, with or without a response",
    "participants": "one row for each participant and for each run of a model",
    "sessions": "one row for each session of people and simulated participants, with the device",
    "runs": "one row for each run of a model, with its settings",
    "events": "the log of the study: one row for each decision about slots, exclusion and revision",
    "exclusions": "one row for each step of the exclusions, with the numbers of participants and trials",
}

assert {column.name for column in _EXCLUSIONS} == set(FLOW_COLUMNS)
assert {column.name for column in _TRIALS} == {*BEFORE_FACTORS, *AFTER_FACTORS, "excluded_by"} - {"content"}


def described(table: str, names: Iterable[str], others: Mapping[str, Column]) -> list[Column]:
    """Return the description of each named column of a table.

    Parameters
    ----------
    table
        The table, a key of `TABLES`.
    names
        The names of its columns, in order.
    others
        Descriptions of columns that are not the same in all studies, such as factors.
    """
    known = {column.name: column for column in TABLES[table]} | dict(others)
    return [known.get(name) or Column(name, "text", name.replace("_", " ")) for name in names]


def factor_column(name: str, values: pd.Series) -> Column:
    """Return the description of a factor. `values` has each level at least once."""
    if isinstance(values.dtype, pd.BooleanDtype):
        kind: Type = "true or false"
    elif pd.api.types.is_integer_dtype(values.dtype):
        kind = "whole number"
    elif pd.api.types.is_numeric_dtype(values.dtype):
        kind = "number"
    else:
        kind = "text"
    levels = [level_text(level) for level in levels_of(pd.DataFrame({name: values}), name, "the items").values()]
    shown = {} if len(levels) > MOST_LEVELS or kind == "true or false" else dict.fromkeys(levels, "")
    return Column(name, kind, f"Factor of the item: {name.replace('_', ' ')}", "", shown)


CODEBOOK_HEADER = ("table", "column", "type", "unit", "label", "levels")


def codebook_rows(tables: Mapping[str, Sequence[Column]]) -> list[tuple[str, ...]]:
    """Return the codebook as rows with `CODEBOOK_HEADER`. Levels are separated by semicolons."""
    return [
        (table, column.name, column.type, column.unit, column.label, _levels_text(column))
        for table, columns in tables.items()
        for column in columns
    ]


def _levels_text(column: Column) -> str:
    return "; ".join(f"{level} = {label}" if label else level for level, label in column.levels.items())


def codebook_json(tables: Mapping[str, Sequence[Column]]) -> dict[str, list[dict[str, object]]]:
    """Return the codebook as plain JSON values."""
    return {
        table: [
            {
                "name": column.name,
                "type": column.type,
                "unit": column.unit,
                "label": column.label,
                "levels": dict(column.levels),
            }
            for column in columns
        ]
        for table, columns in tables.items()
    }
