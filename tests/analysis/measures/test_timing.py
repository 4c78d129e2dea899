"""The table of the timing of trials in the analysis, and its sentences in the report."""

import json

import pandas as pd
import pytest

from analysis.data.fixation_timing import fixation_error_ms
from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.timing import timing, timing_notes, timing_sentences
from experiment.study.analysis_plan import AnalysisPlan

EXACT = {"fixation_ms": 200.4, "fixation_frames_intended": 12, "frame_ms": 16.7, "frames_dropped": 0}


def device(pacing="frames", keyboard="ptb"):
    return json.dumps({"pacing": pacing, "keyboard": keyboard})


def lab(session, participant, **changes):
    return session(**EXACT | {"source": "lab", "participant": participant, "device": device(), **changes})


def table_of(rows, *rules):
    return timing(apply_exclusions(tidy_trials(rows), AnalysisPlan(exclusions=rules)).trials)


def one_row(rows, *rules):
    (found,) = table_of(rows, *rules).to_dict("records")
    return found


def test_sessions_are_counted_by_the_timing_of_their_machines(view, session):
    rows = view(
        lab(session, "A"),
        lab(session, "B", device=device("clock")),
        lab(session, "C", device=device("clock", "event")),
        lab(session, "D", device=None),
    )
    row = one_row(rows)
    assert (row["kind"], row["source"], row["n_sessions"]) == ("human", "lab", 4)
    assert (row["n_sessions_by_clock"], row["n_sessions_keys_by_window"], row["n_sessions_without_device"]) == (2, 1, 1)


def test_a_session_with_one_visit_by_the_clock_counts(view, session):
    rows = lab(session, "A")
    rows[3]["device"] = device("clock")
    assert one_row(view(rows))["n_sessions_by_clock"] == 1


def test_trials_are_counted_by_their_dropped_frames_and_the_error_of_their_fixation(view, session):
    rows = lab(session, "A", n_test=6)
    rows[0]["frames_dropped"] = 3
    rows[1] |= {"fixation_ms": 200.4 + 8.3}  # Less than half a frame.
    rows[2] |= {"fixation_ms": 200.4 + 8.4}
    rows[3] |= {"fixation_ms": 200.4 - 33.4, "frames_dropped": 1}
    row = one_row(view(rows))
    assert (row["n_trials"], row["n_trials_timed"]) == (6, 6)
    assert (row["n_trials_with_drops"], row["n_fixations_off"]) == (2, 2)
    assert row["largest_error_ms"] == pytest.approx(33.4)


def test_only_test_trials_in_the_analysis_count(view, session, row):
    late = EXACT | {"source": "lab", "participant": "A", "device": device(), "frames_dropped": 9}
    rows = view(
        lab(session, "A"),
        row(**late, trial_index=8, phase="practice"),
        row(**late, trial_index=9, item_id="i9"),
        lab(session, "B", status="active", device=device("clock")),
    )
    assert one_row(rows)["n_trials_with_drops"] == 1
    kept = one_row(rows, {"rule": "dropped_frames"})
    assert (kept["n_trials"], kept["n_trials_with_drops"], kept["n_sessions_by_clock"]) == (4, 0, 0)


def test_people_simulated_participants_and_sources_have_their_own_rows_and_models_have_none(view, session):
    rows = view(
        lab(session, "A"),
        session(participant="W", **EXACT),
        session(participant="S", kind="simulated"),
        session(kind="model", run="M"),
    )
    table = table_of(rows)
    assert list(zip(table["kind"], table["source"], strict=True)) == [
        ("human", "lab"),
        ("human", "web"),
        ("simulated", "web"),
    ]
    of_web = table.loc[1]
    assert pd.isna(of_web["n_sessions_by_clock"]) and of_web["n_trials_timed"] == 4
    assert table.loc[2, "n_trials_timed"] == 0 and pd.isna(table.loc[2, "largest_error_ms"])


def test_models_alone_have_an_empty_table(view, session):
    table = table_of(view(session(kind="model", run="M")))
    assert table.empty and timing_sentences(table) == timing_notes(table) == []


def test_the_error_is_missing_if_a_part_of_the_timing_is_missing(view, session, row):
    rows = [row(trial_index=n, **EXACT | {name: None}) for n, name in enumerate(list(EXACT)[:3])]
    assert fixation_error_ms(tidy_trials(view(rows))).isna().all()


def sentence(row):
    (text,) = timing_sentences(pd.DataFrame([row]))
    return text.replace("\u00a0", " ")


def test_good_timing_is_stated_with_its_numbers(view, session):
    assert sentence(one_row(view(lab(session, "A")))) == (
        "People, lab: Flips waited for the screen, and psychtoolbox timed key presses, in all known sessions. Of 4 "
        "test trials, 0 had dropped frames, and the fixation of 0 differed from its intended duration by more than "
        "half a frame (largest difference: 0.0 ms)."
    )


def test_degraded_timing_is_stated_and_is_a_note(view, session):
    rows = view(lab(session, "A"), lab(session, "B", device=device("clock", "event")))
    row = one_row(rows)
    degraded = (
        "Of 2 sessions, 1 had fixations that were timed by the clock, because flips did not wait for the screen, and 1 "
        "had key presses that were timed by the window's events."
    )
    assert sentence(row).startswith(f"People, lab: {degraded} Of 8 test trials, ")
    (note,) = timing_notes(pd.DataFrame([row]))
    assert degraded in note.replace("\u00a0", " ")


def test_good_timing_makes_no_note(view, session):
    rows = view(lab(session, "A"), session(participant="W", **EXACT), lab(session, "S", kind="simulated"))
    assert timing_notes(table_of(rows)) == []


def test_unknown_timing_is_stated(view, session):
    of_lab = sentence(one_row(view(lab(session, "A", device=None, frame_ms=None))))
    assert of_lab == (
        "People, lab: 1 session has no device data, so it is unknown whether flips waited for the screen, and what "
        "timed key presses. The data have no measured timing of fixations."
    )
    rows = session(participant="W", **EXACT)
    rows[0]["frame_ms"] = None
    assert sentence(one_row(view(rows))).endswith("The timing of 1 further test trial was not measured.")
