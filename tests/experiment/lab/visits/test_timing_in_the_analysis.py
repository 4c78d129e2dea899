"""The timing of the laboratory's computer in the tidy table, from each visit to the analysis."""

import pytest

from analysis.data.tidy_table import read_trials
from experiment.load_study import load_study
from tests.experiment.lab.visits.lab_visits import DEVICE, leaving_at, other_store, upload_all_to

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
    lab(study, leaving_at(5, ["3", "2"]), device=BY_CLOCK)
    trials = read_trials(study.store_path)
    assert trials["device_pacing"].isna().all() and trials["device_keyboard"].isna().all()
