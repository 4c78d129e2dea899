"""The formats of exports: where each table and each other file of an export is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from analysis.exports.bids import BidsTrials, letters_and_digits, with_participant_id, write_bids_documents
from analysis.exports.codebook import ABOUT_TABLES, Column
from analysis.exports.documents import About
from analysis.exports.psych_ds import write_psych_ds_documents
from analysis.exports.spss import SpssFile
from analysis.exports.table_files import CsvFile, JsonLinesFile, ParquetFile, TableFile, TsvFile

Participants = tuple[Sequence[Column], pd.DataFrame]
Documents = Callable[[Path, About, dict[str, Sequence[Column]], dict[str, str]], None]


def _unchanged(columns: Sequence[Column], table: pd.DataFrame) -> Participants:
    return columns, table


def _no_documents(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Format:
    """A format of exports."""

    name: str
    table_file: type[TableFile]
    table_path: str
    """The path of the file of a table. `{study}` and `{table}` are replaced by names of letters and digits."""
    trials_file: type[TableFile] | None = None
    """The writer of the trials, if they are in several files."""
    folders: dict[str, str] = field(default_factory=dict)
    """The folder of each file that is not at the top of the export."""
    package: str | None = None
    """The package that this format needs."""
    write_documents: Documents = _no_documents
    """Function that writes the files that only this format has, such as `dataset_description.json`."""
    participants: Callable[[Sequence[Column], pd.DataFrame], Participants] = _unchanged
    """Function that adds the columns which only this format has to the table of participants."""
    is_in_portions: bool = True
    """False if all trials are in memory together."""
    is_data_frame_of_trials: bool = True
    """False if the trials are not a table."""
    about_trials: str = ABOUT_TABLES["trials"]
    """The content of the files with trials."""

    def path_of_table(self, table: str, study: str) -> str:
        """Return the path of the file of a table in the folder of the export."""
        return self.table_path.format(table=table, study=letters_and_digits(study))

    def path_of(self, file: str) -> str:
        """Return the path of another file in the folder of the export."""
        return self.folders.get(file, "") + file


FORMATS = {
    one.name: one
    for one in (
        Format("csv", CsvFile, "{table}.csv"),
        Format("parquet", ParquetFile, "{table}.parquet", package="pyarrow"),
        Format("jsonl", JsonLinesFile, "{table}.jsonl"),
        Format(
            "psych-ds",
            CsvFile,
            "data/study-{study}_description-{table}_data.csv",
            folders={
                "items.jsonl": "materials/",
                "study.json": "materials/",
                "analysis-plan.yaml": "analysis/",
                "codebook.csv": "documentation/",
                "codebook.json": "documentation/",
                "provenance.json": "documentation/",
            },
            write_documents=write_psych_ds_documents,
        ),
        Format(
            "bids",
            TsvFile,
            "{table}.tsv",
            trials_file=BidsTrials,
            folders={"items.jsonl": "stimuli/", "analysis-plan.yaml": "code/"},
            write_documents=write_bids_documents,
            participants=with_participant_id,
        ),
        Format(
            "inspect",
            CsvFile,
            "{table}.csv",
            package="inspect_ai",
            is_in_portions=False,
            is_data_frame_of_trials=False,
            about_trials="logs of Inspect, with one sample for each test trial that has a response",
        ),
        Format("spss", SpssFile, "{table}.sav", package="pyreadstat", is_in_portions=False),
    )
}
"""The formats by their names."""
