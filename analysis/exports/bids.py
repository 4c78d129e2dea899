"""A BIDS dataset of behavioural data without imaging (https://bids-specification.readthedocs.io).

Each session has the file `sub-<participant>[_ses-<number>]_task-<study>_beh.tsv`. All sessions share one file with the
descriptions of the columns, `task-<study>_beh.json`, by the inheritance principle. The tests use the official
validator.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.exports.codebook import Column
from analysis.exports.documents import About, as_json_text
from analysis.exports.table_files import NOT_AVAILABLE, TableFile, TsvFile
from batteries.files.csv_files import unguarded

BIDS_VERSION = "1.10.0"
PARTICIPANT_ID = "participant_id"
"""The first column of `participants.tsv`."""


def letters_and_digits(name: str) -> str:
    """Return a name with only letters and digits of ASCII, as BIDS and Psych-DS require in file names."""
    return re.sub(r"[^A-Za-z0-9]", "", name) or "study"


def subject_label(participant: str) -> str:
    """Return the label of a participant or run."""
    return letters_and_digits(participant)


class BidsTrials(TableFile):
    """The trials of all participants, in one file for each session. `path` is the folder of the dataset."""

    def _open(self) -> None:
        self._task = ""

    def write(self, rows: pd.DataFrame) -> None:
        """Append rows, with all trials of each participant."""
        for participant, of_participant in rows.groupby(rows["participant"].astype("str"), sort=False):
            names = of_participant["session"].astype("str")
            sessions = list(dict.fromkeys(names))
            for number, session in enumerate(sessions, start=1):
                visit = number if len(sessions) > 1 else None
                path = self.path / trials_path(str(participant), visit, str(of_participant["study"].iloc[0]))
                with TsvFile(path, self.columns) as file:
                    file.write(of_participant[names == session])

    def close(self) -> None:
        """Do nothing: each file is closed already."""


def trials_path(participant: str, visit: int | None, study: str) -> str:
    """Return the path of the trials of a session. `visit` is its number if the participant has several sessions."""
    subject, task = f"sub-{subject_label(participant)}", f"task-{letters_and_digits(study)}"
    if visit is None:
        return f"{subject}/beh/{subject}_{task}_beh.tsv"
    session = f"ses-{visit:02}"
    return f"{subject}/{session}/beh/{subject}_{session}_{task}_beh.tsv"


def with_participant_id(columns: Sequence[Column], table: pd.DataFrame) -> tuple[list[Column], pd.DataFrame]:
    """Return the participants with `participant_id` as the first column, as BIDS requires."""
    labels = [f"sub-{subject_label(str(name))}" for name in table["participant"]]
    column = Column(PARTICIPANT_ID, "text", "Name of the participant's folder")
    return [column, *columns], table.assign(**{PARTICIPANT_ID: pd.Series(labels, dtype="str")})


def write_bids_documents(
    folder: Path, about: About, codebook: dict[str, Sequence[Column]], tables: dict[str, str]
) -> None:
    """Write `dataset_description.json`, the descriptions of the columns, `CHANGES` and `.bidsignore`."""
    description = {
        "Name": f"Data of the study {about.title}",
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "raw",
        "HowToAcknowledge": "Please cite the data as CITATION.cff says.",
        "GeneratedBy": [{"Name": "Equipoise", "Version": about.software_version}],
    }
    _write_json(folder / "dataset_description.json", description)
    task = letters_and_digits(about.study)
    beh = {"TaskName": about.study, "TaskDescription": about.title} | _descriptions(codebook["trials"])
    _write_json(folder / f"task-{task}_beh.json", beh)
    for table in ("participants",):
        _write_json((folder / tables[table]).with_suffix(".json"), _descriptions(codebook[table]))
    (folder / "CHANGES").write_text(
        f"1.0.0 {about.made_at[:10]}\n  - Exported from the store of the study.\n", encoding="utf-8"
    )
    others = [name for table, name in tables.items() if table not in {"trials", "participants"}]
    ignored = ["codebook.csv", "codebook.json", "provenance.json", "study.json", "SHA256SUMS", *others]
    (folder / ".bidsignore").write_text("\n".join(ignored) + "\n", encoding="utf-8")


def _descriptions(columns: Sequence[Column]) -> dict[str, dict[str, Any]]:
    described: dict[str, dict[str, Any]] = {}
    for column in columns:
        about: dict[str, Any] = {"Description": column.label}
        if column.unit and column.type in {
            "number",
            "whole number",
        }:  # The validator expects numbers if there is a unit.
            about["Units"] = column.unit
        if column.levels:
            about["Levels"] = {level: label or level for level, label in column.levels.items()}
        described[column.name] = about
    return described


def _write_json(path: Path, value: Any) -> None:
    path.write_text(as_json_text(value), encoding="utf-8")


def tsv_text(cell: str) -> str | None:
    """Return the text that `tsv_cell` wrote; None for a missing value."""
    if cell == NOT_AVAILABLE:
        return None
    text = unguarded(cell)
    return json.loads(text) if text.startswith('"') else text
