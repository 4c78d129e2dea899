"""An export of a database is the same as an export of a file: all trials of the study, and no other study's trials."""

from pathlib import Path

import pandas as pd

import equipoise as eq
from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.provenance.record import data_digest
from tests.equipoise.commands.store.commands import FORMULA, StoredStudy, another_study, answer


def test_an_export_has_all_trials_of_the_store(stored: StoredStudy, tmp_path: Path) -> None:
    with stored.opened() as store:
        rows = pd.DataFrame.from_records(store.trials(eq.load_study(stored.folder)))
    other = another_study(stored, tmp_path)
    answer(other, "dora", n_answers=3)
    made = eq.export(stored.folder, tmp_path / "out", store=stored.location)
    assert (made.n_trials, made.n_participants) == (len(rows), 4)
    eq.import_data(tmp_path / "out", tmp_path / "trials.csv")
    assert data_digest(read_trials(tmp_path / "trials.csv")) == data_digest(tidy_trials(rows))
    sessions = pd.read_csv(tmp_path / "out" / "sessions.csv")
    assert set(sessions["session"]) == set(stored.sessions.values())
    content = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert not any(name.encode() in content for name in (FORMULA, "of-anna"))
