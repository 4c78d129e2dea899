"""The columns with the timing of a laboratory's computer."""

import json

import pandas as pd
import pytest

from analysis.data.columns import LAB_TIMING
from analysis.data.tidy_table import tidy_trials
from analysis.provenance.record import data_digest
from batteries.errors import InputError

LAB = json.dumps({"pacing": "clock", "keyboard": "event", "frame_ms": 16.7})
WEB = json.dumps({"keyboard": True, "frame_ms": 16.7, "phone": False})


def test_only_trials_of_the_laboratory_have_a_pacing_and_a_keyboard_program(row, view):
    rows = view(row(source="lab", device=LAB), row(participant="P02", device=WEB), row(participant="P03", device=None))
    table = tidy_trials(rows)
    assert table.loc[0, list(LAB_TIMING)].tolist() == ["clock", "event"]
    assert table.loc[1:, list(LAB_TIMING)].isna().all(axis=None)
    assert "device" not in table


def test_the_trials_of_one_session_can_have_different_machines(row, view):
    other = json.dumps({"pacing": "frames", "keyboard": "ptb"})
    rows = view(row(source="lab", device=LAB, visit=1), row(source="lab", device=other, visit=2, trial_index=1))
    assert tidy_trials(rows)["device_pacing"].tolist() == ["clock", "frames"]


def test_data_from_before_the_column_have_the_same_digest(row, view):
    """The device is not part of the responses."""
    with_device, without = (tidy_trials(view(row(source="lab", device=device))) for device in (LAB, None))
    assert data_digest(with_device) == data_digest(without)


def test_a_damaged_device_is_an_error_that_names_the_row(row, view):
    with pytest.raises(InputError, match="row 2: `device` is '\\['"):
        tidy_trials(view(row(device=LAB), row(participant="P02", device="[")))


def test_a_table_without_devices_has_empty_columns(session, view):
    table = tidy_trials(view(session()))
    assert all(pd.isna(table[column]).all() for column in LAB_TIMING)
