"""The timing of the laboratory's computer in the tidy table, from each visit to the analysis."""

import html
import re

import pandas as pd
import pytest

import equipoise as eq
from analysis.data.columns import LAB_TIMING
from analysis.data.tidy_table import read_trials
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import DEVICE, WITHDRAW, leaving_at, other_store, upload_all_to

BY_CLOCK = DEVICE.model_copy(update={"is_synchronised": False, "pacing": "clock", "keyboard": "event"})


@pytest.fixture
def study(small, lab):
    """Return a study with a session of two visits: the first is timed by the clock, the second counts frames."""
    study = load_study(small)
    lab(study, leaving_at(5, ["2"]), device=BY_CLOCK)
    lab(study)
    return study


def test_each_trial_has_the_timing_of_its_visit(study):
    trials = read_trials(study.store_path)
    found = {
        (int(visit), pacing, keyboard)
        for visit, pacing, keyboard in trials.loc[
            trials["response"].notna(), ["visit", "device_pacing", "device_keyboard"]
        ].itertuples(index=False)
    }
    assert found == {(1, "clock", "event"), (2, "frames", "ptb")}


def test_uploaded_trials_have_the_last_recorded_device(study, tmp_path):
    """The upload has the device of the last visit only."""
    upload_all_to(study, other_store(tmp_path))
    trials = read_trials(tmp_path / "elsewhere.db")
    answered = trials[trials["response"].notna()]
    assert set(answered["visit"]) == {1, 2}
    assert set(answered["device_pacing"]) == {"frames"}


def test_a_withdrawal_deletes_the_timing_too(small, lab):
    study = load_study(small)
    lab(study, leaving_at(5, WITHDRAW), device=BY_CLOCK)
    trials = read_trials(study.store_path)
    assert trials["device_pacing"].isna().all() and trials["device_keyboard"].isna().all()


def test_an_export_keeps_the_timing(study, tmp_path):
    eq.export(study, tmp_path / "export", "csv")
    eq.import_data(tmp_path / "export", tmp_path / "trials.csv")
    before, after = (
        read_trials(path).sort_values(["session", "trial_index"], ignore_index=True)[list(LAB_TIMING)]
        for path in (study.store_path, tmp_path / "trials.csv")
    )
    assert set(before["device_pacing"].dropna()) == {"clock", "frames"}
    pd.testing.assert_frame_equal(after, before)


def test_the_report_states_the_timing_and_the_rules_exclude_the_trials_that_the_laboratory_recorded(
    command, small, tmp_path
):
    rules = "  exclusions:\n    - {rule: dropped_frames, max_frames: 4}\n    - {rule: fixation_off_by_ms, max_ms: 60}\n"
    text = (small / "study.yaml").read_text()
    (small / "study.yaml").write_text(re.sub(r"  exclusions:\n(    - .*\n)+", rules, text))
    command(device=BY_CLOCK, late={n: {"frames_dropped": n} for n in range(1, 9)})
    command(participant="P02", late={n: {"fixation_ms": 200.4 + 16.7 * n} for n in range(1, 9)})
    results = eq.analyze(small, tmp_path / "results")
    flow = results.exclusions.flow.set_index("step")["n_trials"]
    trials = results.exclusions.trials
    test = trials[trials["phase"] == "test"]
    assert flow["dropped_frames"] == (test["frames_dropped"] > 4).sum() > 0
    assert flow["fixation_off_by_ms"] == (test["fixation_ms"] > 200.4 + 60).sum() > 0
    report = html.unescape((tmp_path / "results" / "report.html").read_text()).replace("\u00a0", " ")
    assert "The timing of laboratory sessions is degraded (People, lab). Of 2 sessions, 1 had fixations" in report
    assert "more than 4 dropped frames during the trial's fixation <code>dropped_frames</code>" in report
    assert '<h3 id="timing">Timing</h3>\n<ul>\n<li>People, lab: Of 2 sessions, 1 had fixations' in report
